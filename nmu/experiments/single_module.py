"""The Single Module Task: one unit learns ``a * b`` on nine ranges (arXiv 2211.05624, figure 2)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from torch import Tensor, nn

from nmu import metrics
from nmu.baselines import GNALU, INALU, MNAC, NALU, NPU, RealNPU
from nmu.layers import NMU, StochasticNMU
from nmu.runner import Experiment, Shard
from nmu.tasks import RANGES, Range, SingleModuleTask
from nmu.training import History, initialize, train

__all__ = [
    "MODULES",
    "SEEDS",
    "STEPS",
    "curves_table",
    "experiment",
    "format_summary",
    "plan",
    "run",
    "runs_table",
    "summarize",
    "training_settings",
    "unit_class",
    "unit_text",
]

MODULES: dict[str, Callable[..., nn.Module]] = {
    "NMU": NMU,
    "sNMU": StochasticNMU,
    "sNMU-batch": partial(StochasticNMU, noise="batch"),
    "MNAC": MNAC,
    "NALU": NALU,
    "G-NALU": GNALU,
    "iNALU": INALU,
    "NPU": NPU,
    "RealNPU": RealNPU,
}
"""The modules of figure 2 by name; MNAC is the NAC•."""
SEEDS = tuple(range(25))
STEPS = 50_000
LEARNING_RATE = 1e-3
BATCH_SIZE = 128
REGULARIZER_SCALE = 10.0
REGULARIZER_RAMP = (20_000, 35_000)
LOG_EVERY = 1_000
EVALUATION_SIZE = 10_000
SEEDS_A_SHARD = 25
"""How many seeds, on all ranges, are trained as one tensor program when the whole benchmark runs."""


def run(
    unit: Callable[..., nn.Module],
    *,
    seeds: Sequence[int] = SEEDS,
    ranges: Sequence[Range] = RANGES,
    steps: int = STEPS,
    in_features: int = 2,
    device: str = "cpu",
    progress: bool = True,
) -> tuple[History, pd.DataFrame]:
    """Train one replica for each range and seed, all at once.

    Parameters
    ----------
    unit : callable
        Called as ``unit(in_features, 1, batch_shape=(replicas,))``: a class, or a
        :func:`functools.partial` of one. :mod:`nmu.training` says what it must bring along.
    seeds : sequence of int, optional
        The seeds; every range uses each of them.
    ranges : sequence of Range, optional
        The ranges.
    steps : int, optional
        Number of updates.
    in_features : int, optional
        Number of inputs; the first two are to be multiplied, the others to be left out.
    device : str, optional
        Where to compute.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    history : History
        Replica ``i * len(seeds) + j`` is seed ``j`` on range ``i``.
    runs : pandas.DataFrame
        One row a replica, as :func:`runs_table` makes it.
    """
    replica_ranges = [range_ for range_ in ranges for _ in seeds]
    replica_seeds = [seed for _ in ranges for seed in seeds]
    model = initialize(unit(in_features, 1, batch_shape=(len(replica_seeds),)), replica_seeds)
    history = train(
        model,
        SingleModuleTask(replica_ranges, in_features=in_features),
        replica_seeds,
        steps=steps,
        device=device,
        progress=progress,
        **training_settings(),
    )
    return history, runs_table(history, replica_ranges, replica_seeds)


def experiment(
    modules: Mapping[str, Callable[..., nn.Module]] = MODULES,
    *,
    name: str = "single_module",
    seeds: Sequence[int] = SEEDS,
    ranges: Sequence[Range] = RANGES,
    steps: int = STEPS,
    in_features: int = 2,
    device: str = "cpu",
) -> Experiment:
    """Plan the benchmark for :func:`nmu.runner.run`, one shard a module and 25 seeds.

    Parameters
    ----------
    modules : mapping of str to callable, optional
        The modules by name. A class of your own, from a module file, needs nothing more than this.
    name : str, optional
        Name of the experiment.
    seeds, ranges, steps, in_features, device : optional
        As for :func:`run`.

    Returns
    -------
    Experiment
        Its tables are ``runs.csv``, one row a replica; ``weights.csv.gz``, each weight before training and
        at the best step; and ``curves.csv.gz``, the errors at the logged steps, to five digits.
    """
    settings = {
        "steps": steps,
        "in_features": in_features,
        "device": device,
        **training_settings(),
        "regularizer_ramp": list(REGULARIZER_RAMP),  # as JSON reads it back
    }
    tables = partial(_tables, ranges=tuple(ranges), steps=steps, in_features=in_features, device=device)
    return plan(name, modules, seeds, ranges, settings, tables)


def plan(
    name: str,
    modules: Mapping[str, Callable[..., nn.Module]],
    seeds: Sequence[int],
    ranges: Sequence[Range],
    settings: Mapping,
    tables: Callable[..., dict[str, pd.DataFrame]],
) -> Experiment:
    """Plan one shard a module and 25 seeds.

    Parameters
    ----------
    name, modules, seeds, ranges : str, mapping, sequence, sequence
        As for :func:`experiment`.
    settings : mapping
        JSON-able: what else determines the result.
    tables : callable
        Called as ``tables(module, unit, seeds=..., progress=...)``, it returns the tables of a shard.

    Returns
    -------
    Experiment
        The shards in the order of modules, then seeds.
    """
    settings = {**settings, "ranges": [[list(r.interpolation), *map(list, r.extrapolation)] for r in ranges]}
    blocks = [list(seeds[i : i + SEEDS_A_SHARD]) for i in range(0, len(seeds), SEEDS_A_SHARD)]
    units = {module: unit_text(unit) for module, unit in modules.items()}
    shards = tuple(
        Shard(
            spec={"module": module, "unit": units[module], "seeds": block, **settings},
            compute=partial(tables, module, unit, seeds=block),
            units=(unit_class(unit),),
        )
        for module, unit in modules.items()
        for block in blocks
    )
    return Experiment(name, {"modules": units, "seeds": list(seeds), **settings}, shards)


def runs_table(
    history: History,
    ranges: Sequence[Range],
    seeds: Sequence[int],
    threshold: float | Tensor = metrics.THRESHOLD,
) -> pd.DataFrame:
    """Tidy table of the runs: one row a replica.

    Parameters
    ----------
    history : History
        Of ``R`` replicas.
    ranges, seeds : sequence
        The range and the seed of each replica, ``R`` of either.
    threshold : float or Tensor, optional
        Extrapolation error below which a run is solved; one for all, or ``(R,)``.

    Returns
    -------
    pandas.DataFrame
        Columns ``interpolation_range``, ``extrapolation_range``, ``seed``, ``solved``, ``solved_at``
        (step; NaN where not solved), ``sparsity_error`` (NaN where not solved),
        ``interpolation_error`` and ``extrapolation_error`` (both at the best step).
    """
    best = metrics.best_step(history)[None]
    runs = pd.DataFrame(
        {
            "interpolation_range": [str(range_) for range_ in ranges],
            "extrapolation_range": [range_.extrapolation_text for range_ in ranges],
            "seed": list(seeds),
            "solved": metrics.solved(history, threshold).numpy(),
            "solved_at": metrics.solved_at(history, threshold).numpy(),
            "sparsity_error": metrics.sparsity_error(history).double().numpy(),
            "interpolation_error": history.interpolation_error.gather(0, best)[0].double().numpy(),
            "extrapolation_error": history.extrapolation_error.gather(0, best)[0].double().numpy(),
        }
    )
    runs.loc[~runs["solved"], ["solved_at", "sparsity_error"]] = float("nan")
    return runs


def summarize(runs: pd.DataFrame) -> pd.DataFrame:
    """Three metrics with their 95 % intervals, one row a range, in the order of ``runs``.

    Parameters
    ----------
    runs : pandas.DataFrame
        As :func:`runs_table` makes it.

    Returns
    -------
    pandas.DataFrame
        Index ``interpolation_range``; columns ``success``, ``solved_at`` and ``sparsity_error``, each
        holding a :class:`nmu.metrics.Estimate`.
    """
    rows = {}
    for name, group in runs.groupby("interpolation_range", sort=False):
        winners = group[group["solved"]]
        rows[name] = {
            "success": metrics.success_rate(group["solved"]),
            "solved_at": metrics.solved_at_mean(winners["solved_at"]),
            "sparsity_error": metrics.sparsity_error_mean(winners["sparsity_error"]),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("interpolation_range")


def format_summary(summary: pd.DataFrame) -> pd.DataFrame:
    """Text of :func:`summarize` for display, as ``value [low, high]``.

    A dagger marks an interval that is the observed range, the likelihood being degenerate there; a
    dash stands where no run was solved.
    """

    def text(estimate: metrics.Estimate, spec: str) -> str:
        if estimate.value != estimate.value:
            return "–"
        return f"{estimate:{spec}}" + (" †" if estimate.note else "")

    return pd.DataFrame(
        {
            "success rate": [text(e, ".2f") for e in summary["success"]],
            "solved at (steps)": [text(e, ",.0f") for e in summary["solved_at"]],
            "sparsity error": [text(e, ".2g") for e in summary["sparsity_error"]],
        },
        index=summary.index,
    )


def _tables(module: str, unit: Callable[..., nn.Module], **options) -> dict[str, pd.DataFrame]:
    history, runs = run(unit, **options)
    if history.interrupted:
        raise KeyboardInterrupt
    runs.insert(0, "module", module)
    replica = runs[["module", "interpolation_range", "seed"]]
    return {
        "runs.csv": runs,
        "weights.csv.gz": _weights_table(history, replica),
        "curves.csv.gz": curves_table(history, replica),
    }


def _weights_table(history: History, replica: pd.DataFrame) -> pd.DataFrame:
    """One row a replica and weight, named as in ``weight[0,1]``."""
    best = metrics.best_step(history)
    pieces = []
    for name, values in history.weights.items():
        for out, in_ in np.ndindex(*values.shape[2:]):
            column = values[:, :, out, in_].double()
            pieces.append(
                replica.assign(
                    weight=f"{name}[{out},{in_}]",
                    initial=column[0].numpy(),
                    best=column.gather(0, best[None])[0].numpy(),
                )
            )
    return pd.concat(pieces).sort_index(kind="stable").reset_index(drop=True)


def curves_table(history: History, replica: pd.DataFrame) -> pd.DataFrame:
    """Tidy table of the errors, to five digits: one row a replica and logged step.

    Parameters
    ----------
    history : History
        Of ``R`` replicas.
    replica : pandas.DataFrame
        ``R`` rows that say which replica is which.

    Returns
    -------
    pandas.DataFrame
        The columns of ``replica``, ``step``, ``interpolation_error`` and ``extrapolation_error``.
    """
    steps = history.steps.numpy()
    table = replica.loc[replica.index.repeat(len(steps))].reset_index(drop=True)
    errors = {
        name: [float(f"{value:.5g}") for value in getattr(history, name).T.flatten().tolist()]
        for name in ("interpolation_error", "extrapolation_error")
    }
    return table.assign(step=np.tile(steps, len(replica)), **errors)


def training_settings() -> dict:
    """Return the settings of the task for :func:`nmu.training.train`, by the names of its arguments."""
    return {
        "learning_rate": LEARNING_RATE,
        "batch_size": BATCH_SIZE,
        "regularizer_scale": REGULARIZER_SCALE,
        "regularizer_ramp": REGULARIZER_RAMP,
        "log_every": LOG_EVERY,
        "evaluation_size": EVALUATION_SIZE,
    }


def unit_class(unit: Callable[..., nn.Module]) -> type:
    """Return a class, or the class that a partial is of."""
    return unit.func if isinstance(unit, partial) else unit


def unit_text(unit: Callable[..., nn.Module]) -> str:
    """Name a class, or a partial of one with its options."""
    if isinstance(unit, partial):
        options = ", ".join(f"{name}={value!r}" for name, value in unit.keywords.items())
        return f"{unit_text(unit.func)}({options})"
    return f"{unit.__module__}.{unit.__qualname__}"
