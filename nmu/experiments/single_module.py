"""The Single Module Task: one unit learns ``a * b`` on nine ranges (arXiv 2211.05624, figure 2)."""

from collections.abc import Callable, Sequence

import pandas as pd
from torch import nn

from nmu import metrics
from nmu.tasks import RANGES, Range, SingleModuleTask
from nmu.training import History, initialize, train

__all__ = ["SEEDS", "STEPS", "format_summary", "run", "runs_table", "summarize"]

SEEDS = tuple(range(25))
STEPS = 50_000
LEARNING_RATE = 1e-3
BATCH_SIZE = 128
REGULARIZER_SCALE = 10.0
REGULARIZER_RAMP = (20_000, 35_000)
LOG_EVERY = 1_000
EVALUATION_SIZE = 10_000


def run(
    unit: Callable[..., nn.Module],
    *,
    seeds: Sequence[int] = SEEDS,
    ranges: Sequence[Range] = RANGES,
    steps: int = STEPS,
    device: str = "cpu",
    progress: bool = True,
) -> tuple[History, pd.DataFrame]:
    """Train one replica for each range and seed, all at once.

    Parameters
    ----------
    unit : callable
        Called as ``unit(2, 1, batch_shape=(replicas,))``: a layer class, or a
        :func:`functools.partial` of one.
    seeds : sequence of int, optional
        The seeds; every range uses each of them.
    ranges : sequence of Range, optional
        The ranges.
    steps : int, optional
        Number of updates.
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
    model = initialize(unit(2, 1, batch_shape=(len(replica_seeds),)), replica_seeds)
    history = train(
        model,
        SingleModuleTask(replica_ranges),
        replica_seeds,
        steps=steps,
        learning_rate=LEARNING_RATE,
        batch_size=BATCH_SIZE,
        regularizer_scale=REGULARIZER_SCALE,
        regularizer_ramp=REGULARIZER_RAMP,
        log_every=LOG_EVERY,
        evaluation_size=EVALUATION_SIZE,
        device=device,
        progress=progress,
    )
    return history, runs_table(history, replica_ranges, replica_seeds)


def runs_table(history: History, ranges: Sequence[Range], seeds: Sequence[int]) -> pd.DataFrame:
    """Tidy table of the runs: one row a replica.

    Parameters
    ----------
    history : History
        Of ``R`` replicas.
    ranges, seeds : sequence
        The range and the seed of each replica, ``R`` of either.

    Returns
    -------
    pandas.DataFrame
        Columns ``range``, ``seed``, ``solved``, ``solved_at`` (step; NaN where not solved),
        ``sparsity_error`` (NaN where not solved), ``interpolation_error`` and
        ``extrapolation_error`` (both at the best step).
    """
    best = metrics.best_step(history)[None]
    runs = pd.DataFrame(
        {
            "range": [str(range_) for range_ in ranges],
            "seed": list(seeds),
            "solved": metrics.solved(history).numpy(),
            "solved_at": metrics.solved_at(history).numpy(),
            "sparsity_error": metrics.sparsity_error(history).double().numpy(),
            "interpolation_error": history.interpolation_error.gather(0, best)[0].numpy(),
            "extrapolation_error": history.extrapolation_error.gather(0, best)[0].numpy(),
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
        Index ``range``; columns ``success``, ``solved_at`` and ``sparsity_error``, each holding a
        :class:`nmu.metrics.Estimate`.
    """
    rows = {}
    for name, group in runs.groupby("range", sort=False):
        winners = group[group["solved"]]
        rows[name] = {
            "success": metrics.success_rate(group["solved"]),
            "solved_at": metrics.solved_at_mean(winners["solved_at"]),
            "sparsity_error": metrics.sparsity_error_mean(winners["sparsity_error"]),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("range")


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
