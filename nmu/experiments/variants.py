"""The variants of :mod:`nmu.variants` on the Single Module Task."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import pandas as pd

from nmu import metrics
from nmu.experiments import single_module
from nmu.variants import variants

__all__ = ["MODULES", "compare", "experiment"]

MODULES = variants(until=single_module.REGULARIZER_RAMP[0])

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
