"""Variants of the sNMU, and simpler ways to the same end, on the Single Module Task."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import pandas as pd

from nmu import metrics
from nmu.experiments import single_module
from nmu.variants import variants

__all__ = [
    "LOST_BY_NMU",
    "MODULES",
    "SIGNIFICANT",
    "SOLVED_WITH_TEN",
    "STACK_SMALL",
    "STACK_WIDE",
    "compare",
    "experiment",
    "verdicts",
]

MODULES = variants(until=single_module.REGULARIZER_RAMP[0])
SIGNIFICANT = 0.05
"""A paired comparison with a larger p counts as no difference."""
LOST_BY_NMU = ("U[-2,-1]", "U[-1.2,-1.1]")
"""The ranges on which the NMU fails with two inputs."""
SOLVED_WITH_TEN = ("U[-2,2]", "U[0.1,0.2]", "U[1,2]", "U[1.1,1.2]")
"""The ranges on which the NMU succeeds with ten inputs, of which two are to be multiplied."""
STACK_WIDE = ("U[-2,2]",)
"""Where an NMU behind an NAU falls into a trap."""
STACK_SMALL = ("U[-0.2,-0.1]", "U[0.1,0.2]")
"""Where an NMU behind an NAU succeeds and the sNMU does not always."""

experiment = partial(single_module.experiment, modules=MODULES, name="variants")


def compare(runs: pd.DataFrame, ranges: Sequence[str], outcome: str = "solved") -> pd.DataFrame:
    """Compare all modules with the NMU of the same seeds, on some ranges together.

    Parameters
    ----------
    runs : pandas.DataFrame
        Columns ``module``, ``interpolation_range``, ``seed`` and the outcome; one module is ``NMU``.
    ranges : sequence of str
        The ranges that count.
    outcome : str, optional
        Name of a boolean column.

    Returns
    -------
    pandas.DataFrame
        One row a module, in the order of ``runs``: ``count`` and ``of`` how many runs succeed; ``rate``, a
        :class:`nmu.metrics.Estimate`; ``repaired``, ``broken`` and ``p`` as in :class:`nmu.metrics.Paired`.
    """
    chosen = runs[runs["interpolation_range"].isin(ranges)]
    by_module = chosen.pivot(index=["interpolation_range", "seed"], columns="module", values=outcome)
    rows = {
        module: {
            "count": int(by_module[module].sum()),
            "of": len(by_module),
            "rate": metrics.success_rate(by_module[module]),
            **asdict(metrics.paired(by_module[module], by_module["NMU"])),
        }
        for module in chosen["module"].unique()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("module")


def verdicts(two: pd.DataFrame, ten: pd.DataFrame, stack: pd.DataFrame) -> pd.DataFrame:
    """Judge modules against the NMU in the words in which the predictions are made.

    A paired difference counts where its p is below :data:`SIGNIFICANT`; then a module is better or worse than
    the NMU, else the same. With two inputs it is worse if it is so on all ranges together. If it is not,
    ``all`` says that no run fails on :data:`LOST_BY_NMU`, ``some`` that it is better there, else ``none``.

    Parameters
    ----------
    two, ten : pandas.DataFrame
        Runs of the Single Module Task with two inputs, and with ten of which two count: columns ``module``,
        ``interpolation_range``, ``seed`` and ``solved``; one module is ``NMU``.
    stack : pandas.DataFrame
        Runs of the Arithmetic Dataset Task, with the column ``rounded`` in place of ``solved``: whether a run
        ends with the right subsets.

    Returns
    -------
    pandas.DataFrame
        One row for each module of ``two`` but the NMU, in their order.
        Columns ``two inputs``: all, some, none or worse; ``ten inputs`` (on :data:`SOLVED_WITH_TEN`), ``stack
        wide`` (on :data:`STACK_WIDE`) and ``stack small`` (on :data:`STACK_SMALL`): better, same or worse,
        or ``not run`` where a module is missing.
    """
    everywhere = _words(compare(two, two["interpolation_range"].unique()))
    lost = compare(two, LOST_BY_NMU)
    repair = _words(lost).map({"better": "some", "same": "none", "worse": "worse"})
    repair = repair.mask(lost["count"] == lost["of"], "all").mask(everywhere == "worse", "worse")
    table = pd.DataFrame(
        {
            "two inputs": repair,
            "ten inputs": _words(compare(ten, SOLVED_WITH_TEN)),
            "stack wide": _words(compare(stack, STACK_WIDE, "rounded")),
            "stack small": _words(compare(stack, STACK_SMALL, "rounded")),
        }
    )
    return table.reindex(repair.index).drop(index="NMU").fillna("not run").rename_axis("variant")


def _words(against_nmu: pd.DataFrame) -> pd.Series:
    """Say of each row of :func:`compare` whether it is better than the NMU, the same or worse."""
    differs = against_nmu["p"] < SIGNIFICANT
    more = against_nmu["repaired"] > against_nmu["broken"]
    return more.map({True: "better", False: "worse"}).where(differs, "same")
