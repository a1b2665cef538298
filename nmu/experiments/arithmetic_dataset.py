"""The Arithmetic Dataset Task: an NAU adds, a unit multiplies (arXiv 2211.05624, figures 5 and 7).

The target is the product of two sums over subsets of the inputs. At the paper's size there are 100 inputs and
millions of steps. The run that :func:`experiment` plans has 10 inputs and fewer steps, with the regulariser's
ramp moved to match; its options give the paper's.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from nmu import functional, metrics
from nmu.experiments import single_module
from nmu.layers import NAU
from nmu.runner import Experiment
from nmu.streams import ReplicaStreams
from nmu.tasks import RANGES, ArithmeticDatasetTask, Range, SharedInputs, weighted_sums
from nmu.training import History, initialize, train

__all__ = [
    "KINDS",
    "MODULES",
    "SEEDS",
    "Stack",
    "experiment",
    "kinds",
    "membership",
    "run",
    "solutions",
    "subset_sizes",
    "thresholds",
    "weight_arrays",
]

MODULES = {name: single_module.MODULES[name] for name in ("NMU", "sNMU", "sNMU-batch")}
"""The unit that multiplies, by name; an NAU stands before each."""
SEEDS = tuple(range(25))
IN_FEATURES = 10
STEPS = 300_000
REGULARIZER_RAMP = (100_000, 200_000)
LOG_EVERY = 2_000
EVALUATION_SIZE = 2_000
SUBSET_RATIO = 0.25
OVERLAP_RATIO = 0.5
TOLERANCE = 1e-5
"""How far each weight may be off the right one where a run is solved."""
SIMULATED_ROWS = 100_000
NEAR = 0.1
"""How near to a whole number a weight counts as decided."""
KINDS = ("right subsets", "both factors lost", "one factor lost", "wrong inputs", "undecided")
"""How the weights of a run can lie, as :func:`kinds` tells them apart."""


class Stack(nn.Module):
    """An NAU with two outputs, and a unit that multiplies them.

    Parameters
    ----------
    unit : callable
        Called as ``unit(2, 1, batch_shape=batch_shape)``.
    in_features : int
        Number of inputs of the NAU.
    batch_shape : tuple of int
        Shape of the stack of independent replicas.
    """

    def __init__(self, unit: Callable[..., nn.Module], in_features: int, batch_shape: tuple[int, ...]):
        super().__init__()
        self.nau = NAU(in_features, 2, batch_shape)
        self.product = unit(2, 1, batch_shape=batch_shape)

    def forward(self, x: Tensor | SharedInputs) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, 1)``."""
        return self.product(weighted_sums(x, self.nau.weight))


def subset_sizes(in_features: int) -> tuple[int, int]:
    """Return the size of either subset and of their overlap: a quarter of the inputs, and half of that."""
    subset = int(SUBSET_RATIO * in_features)
    return subset, int(OVERLAP_RATIO * subset)


def thresholds(ranges: Sequence[Range], in_features: int) -> Tensor:
    """Extrapolation errors below which a run is solved, one a range, in ``float64``.

    The mean squared error of the right weights, each off by 1e-5 towards the middle, on 100,000 rows.
    """
    seeds = [0] * len(ranges)
    task = ArithmeticDatasetTask(ranges, seeds, in_features, *subset_sizes(in_features))
    x = task.extrapolation_inputs(ReplicaStreams(seeds, "threshold", block=1), SIMULATED_ROWS).double()
    right = task.membership.double()
    outputs = [functional.nau(x, w).prod(-1) for w in (right, right + TOLERANCE * (1 - 2 * right))]
    return (outputs[0] - outputs[1]).square().mean(-1)


def run(
    unit: Callable[..., nn.Module],
    *,
    seeds: Sequence[int] = SEEDS,
    ranges: Sequence[Range] = RANGES,
    in_features: int = IN_FEATURES,
    steps: int = STEPS,
    regularizer_ramp: tuple[int, int] = REGULARIZER_RAMP,
    log_every: int = LOG_EVERY,
    device: str = "cpu",
    progress: bool = True,
) -> tuple[History, pd.DataFrame]:
    """Train one stack for each range and seed, all at once.

    Parameters
    ----------
    unit : callable
        The unit that multiplies; as for :func:`nmu.experiments.single_module.run`.
    seeds : sequence of int, optional
        The seeds; every range uses each of them.
    ranges : sequence of Range, optional
        The ranges.
    in_features : int, optional
        Number of inputs; the paper has 100.
    steps : int, optional
        Number of updates; the paper has 5,000,000 for the NMU and 2,000,000 for the sNMU.
    regularizer_ramp : tuple of int, optional
        First and last step of the regulariser's ramp; the paper has (1,000,000, 2,000,000).
    log_every : int, optional
        Steps between two evaluations.
    device : str, optional
        Where to compute.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    history : History
        Replica ``i * len(seeds) + j`` is seed ``j`` on range ``i``.
    runs : pandas.DataFrame
        As :func:`nmu.experiments.single_module.runs_table` makes it, with the range's own threshold in place
        of 1e-5; and ``threshold``, ``final_interpolation_error`` and ``final_extrapolation_error``.
    """
    replica_ranges = [range_ for range_ in ranges for _ in seeds]
    replica_seeds = [seed for _ in ranges for seed in seeds]
    task = ArithmeticDatasetTask(replica_ranges, replica_seeds, in_features, *subset_sizes(in_features))
    settings = single_module.training_settings() | {
        "regularizer_ramp": regularizer_ramp,
        "log_every": log_every,
        "evaluation_size": EVALUATION_SIZE,
    }
    history = train(
        initialize(Stack(unit, in_features, (len(replica_seeds),)), replica_seeds),
        task,
        replica_seeds,
        steps=steps,
        device=device,
        progress=progress,
        **settings,
    )
    threshold = thresholds(ranges, in_features).repeat_interleave(len(seeds))
    runs = single_module.runs_table(history, replica_ranges, replica_seeds, threshold)
    runs["threshold"] = threshold.numpy()
    for name in ("interpolation_error", "extrapolation_error"):
        runs[f"final_{name}"] = getattr(history, name)[-1].double().numpy()
    return history, runs


def experiment(
    modules: Mapping[str, Callable[..., nn.Module]] = MODULES,
    *,
    name: str = "arithmetic_dataset",
    seeds: Sequence[int] = SEEDS,
    ranges: Sequence[Range] = RANGES,
    in_features: int = IN_FEATURES,
    steps: int = STEPS,
    regularizer_ramp: tuple[int, int] | None = REGULARIZER_RAMP,
    log_every: int = LOG_EVERY,
    device: str = "cpu",
) -> Experiment:
    """Plan the task for :func:`nmu.runner.run`, one shard a module and 25 seeds.

    Parameters
    ----------
    modules : mapping of str to callable, optional
        The units that multiply, by name.
    name : str, optional
        Name of the experiment.
    seeds, ranges, in_features, steps, log_every, device : optional
        As for :func:`run`.
    regularizer_ramp : tuple of int, optional
        As for :func:`run`; None for the second half of the steps.

    Returns
    -------
    Experiment
        Its tables are ``runs.csv``, one row a replica; ``weights.csv.gz``, each weight before training, at
        the best step and at the end; and ``curves.csv.gz``, the errors at the logged steps, to five digits.
    """
    options = {
        "in_features": in_features,
        "steps": steps,
        "regularizer_ramp": list(regularizer_ramp or (steps // 2, steps)),
        "log_every": log_every,
        "device": device,
    }
    settings = single_module.training_settings() | {
        "subset": list(subset_sizes(in_features)),
        "evaluation_size": EVALUATION_SIZE,
        **options,
    }
    tables = partial(_tables, ranges=tuple(ranges), **options)
    return single_module.plan(name, modules, seeds, ranges, settings, tables)


def _tables(module: str, unit: Callable[..., nn.Module], **options) -> dict[str, pd.DataFrame]:
    history, runs = run(unit, **options)
    if history.interrupted:
        raise KeyboardInterrupt
    runs.insert(0, "module", module)
    replica = runs[["module", "interpolation_range", "seed"]]
    return {
        "runs.csv": runs,
        "weights.csv.gz": _weights_table(history, replica),
        "curves.csv.gz": single_module.curves_table(history, replica),
    }


def _weights_table(history: History, replica: pd.DataFrame) -> pd.DataFrame:
    """One row a replica and weight, to six digits."""
    best, replicas = metrics.best_step(history), torch.arange(len(replica))
    pieces = []
    for name, values in history.weights.items():
        stages = {"initial": values[0], "best": values[best, replicas], "final": values[-1]}
        for out, in_ in np.ndindex(*values.shape[2:]):
            columns = {stage: stack[:, out, in_].double().numpy().round(6) for stage, stack in stages.items()}
            pieces.append(replica.assign(unit=name, output=out, input=in_, **columns))
    return pd.concat(pieces).sort_index(kind="stable").reset_index(drop=True)


def membership(seeds: Sequence[int], in_features: int = IN_FEATURES) -> Tensor:
    """Which inputs the two subsets of each seed hold, 0 or 1: ``(seeds, 2, in_features)``."""
    seeds = [int(seed) for seed in seeds]
    return ArithmeticDatasetTask(
        [RANGES[0]] * len(seeds), seeds, in_features, *subset_sizes(in_features)
    ).membership


def solutions(membership: Tensor) -> dict[str, Tensor]:
    """All weights of the NAU that solve the task, by name, where both weights of the unit are 1.

    Parameters
    ----------
    membership : Tensor
        As :func:`membership` gives it, ``(..., 2, in_features)``.

    Returns
    -------
    dict of str to Tensor
        Four, of the same shape: the rows as the task has them or swapped, with their signs or both negated.
    """
    swapped = membership.flip(-2)
    return {"plain": membership, "swapped": swapped, "negated": -membership, "swapped, negated": -swapped}


def weight_arrays(weights: pd.DataFrame, stage: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Unfold the table of weights.

    Parameters
    ----------
    weights : pandas.DataFrame
        ``weights.csv.gz`` of the experiment, or whole replicas of it.
    stage : str
        ``"initial"``, ``"best"`` or ``"final"``.

    Returns
    -------
    replica : pandas.DataFrame
        Module, range and seed, one row a replica.
    nau : numpy.ndarray
        ``(replicas, 2, in_features)``.
    product : numpy.ndarray
        ``(replicas, 2)``, the weights of the unit that multiplies.
    """
    each = 2 * weights["input"].max() + 4
    values = weights[stage].to_numpy().reshape(-1, each)
    replica = weights[["module", "interpolation_range", "seed"]].iloc[::each].reset_index(drop=True)
    return replica, values[:, :-2].reshape(len(values), 2, -1), values[:, -2:]


def kinds(weights: pd.DataFrame, stage: str) -> pd.DataFrame:
    """Sort runs by where their weights lie.

    Parameters
    ----------
    weights : pandas.DataFrame
        As for :func:`weight_arrays`.
    stage : str
        As for :func:`weight_arrays`.

    Returns
    -------
    pandas.DataFrame
        Module, range and seed; the nearest of the :func:`solutions`; the largest ``distance`` of a weight
        from it; and the ``kind``, the first of these that holds. Right subsets: no weight is farther than
        0.1 from the nearest solution. Both factors lost, one factor lost: weights of the unit below 0.1,
        whose sums it ignores. Wrong inputs: each weight is within 0.1 of a whole number. Else undecided.
    """
    replica, nau, product = weight_arrays(weights, stage)
    right = solutions(membership(replica["seed"], nau.shape[-1]))
    away = np.stack([np.abs(nau - solution.numpy()).max((1, 2)) for solution in right.values()])
    distance = np.maximum(away.min(0), np.abs(1 - product).max(1))
    lost = (product < NEAR).sum(1)
    whole = [np.abs(values - values.round()).reshape(len(values), -1).max(1) for values in (nau, product)]
    tests = [distance <= NEAR, lost == 2, lost == 1, np.maximum(*whole) <= NEAR]
    return replica.assign(
        solution=np.array(list(right))[away.argmin(0)],
        distance=distance,
        kind=np.select(tests, KINDS[:-1], KINDS[-1]),
    )
