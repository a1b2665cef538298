"""How long a step of training takes, and how near that is to the time its random numbers take."""

import inspect
import os
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice, product

import pandas as pd
from torch import nn
from tqdm import tqdm

from nmu.experiments import single_module
from nmu.experiments.single_module import BATCH_SIZE
from nmu.layers import StochasticNMU
from nmu.provenance import provenance
from nmu.runner import process_pool
from nmu.streams import ReplicaStreams
from nmu.tasks import RANGES, SingleModuleTask
from nmu.training import initialize, train

__all__ = ["MODULES", "growth", "growth_manifest", "measure"]

MODULES = {name: single_module.MODULES[name] for name in ("NMU", "sNMU")}
REPLICAS = 225
BLOCK = inspect.signature(ReplicaStreams).parameters["block"].default


def measure(
    module: str, *, replicas: int = REPLICAS, processes: int | None = None, steps: int | None = None
) -> dict:
    """Time the training of one module on two inputs, in as many processes as there are cores.

    Parameters
    ----------
    module : str
        A name of ``MODULES``.
    replicas : int, optional
        How many each process trains at once.
    processes : int, optional
        How many train beside each other.
    steps : int, optional
        How many updates to time; by default enough for some seconds.

    Returns
    -------
    dict
        ``module``, ``replicas`` and ``processes``; ``microseconds_per_step`` of one process;
        ``replica_steps_per_second`` of all together; ``bound_microseconds_per_step``, the time to draw
        the same random numbers alone; and ``share_of_bound``, the bound divided by the step.
    """
    processes = processes or os.cpu_count()
    steps = steps or max(20, 600_000 // replicas)
    with process_pool(processes) as pool:

        def everywhere(function: Callable[..., float], steps: int) -> list[float]:
            futures = [pool.submit(function, module, replicas, 2, steps) for _ in range(processes)]
            return [future.result() for future in futures]

        everywhere(_step_time, 10)  # so that none of what is timed waits for a process to start
        times, bounds = everywhere(_step_time, steps), everywhere(_bound, steps)
    step, bound = sum(times) / processes, sum(bounds) / processes
    return {
        "module": module,
        "replicas": replicas,
        "processes": processes,
        "microseconds_per_step": round(step * 1e6, 1),
        "replica_steps_per_second": round(sum(replicas / seconds for seconds in times)),
        "bound_microseconds_per_step": round(bound * 1e6, 1),
        "share_of_bound": round(bound / step, 3),
    }


def growth(
    replicas: Sequence[int] = (1, 9, 225, 2_250, 22_500),
    in_features: Sequence[int] = (2, 10, 100),
    *,
    updates: int = 2_000_000,
    progress: bool = False,
) -> pd.DataFrame:
    """Time one process for stacks of different height, and for different numbers of inputs.

    Parameters
    ----------
    replicas, in_features : sequence of int, optional
        What to combine.
    updates : int, optional
        About how many weights to update in each timing, but 3 to 2,000 steps.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    pandas.DataFrame
        Columns ``module``, ``in_features``, ``replicas``, ``microseconds_per_step``,
        ``microseconds_per_replica_step`` and ``bound_microseconds_per_step``.
    """
    rows = []
    combinations = list(product(MODULES, in_features, replicas))
    for module, inputs, count in tqdm(combinations, disable=not progress, unit="timing"):
        steps = max(3, min(2_000, updates // (count * inputs)))
        step, bound = (f(module, count, inputs, steps) * 1e6 for f in (_step_time, _bound))
        rows.append(
            {
                "module": module,
                "in_features": inputs,
                "replicas": count,
                "microseconds_per_step": round(step, 1),
                "microseconds_per_replica_step": round(step / count, 4),
                "bound_microseconds_per_step": round(bound, 1),
            }
        )
    return pd.DataFrame(rows)


def growth_manifest(table: pd.DataFrame, seconds: float) -> dict:
    """Say how the table of :func:`growth` came about, as the manifest of a run does.

    Parameters
    ----------
    table : pandas.DataFrame
        The table, just made.
    seconds : float
        How long that took.

    Returns
    -------
    dict
        ``experiment``, ``spec``, ``commits``, ``versions``, ``hardware`` and ``seconds``.
    """
    origin = provenance()
    return {
        "experiment": "growth",
        "spec": {name: table[name].unique().tolist() for name in ("module", "in_features", "replicas")},
        "commits": [origin["commit"]] if origin["commit"] else None,
        "versions": origin["versions"],
        "hardware": origin["hardware"],
        "seconds": round(seconds, 1),
    }


def _step_time(module: str, replicas: int, in_features: int, steps: int) -> float:
    """Seconds a step: of a long run less a short one, so that the preparations drop out."""
    unit: Callable[..., nn.Module] = MODULES[module]
    seeds = list(range(replicas))
    task = SingleModuleTask(list(islice(cycle(RANGES), replicas)), in_features=in_features)

    def seconds(steps: int) -> float:
        model = initialize(unit(in_features, 1, batch_shape=(replicas,)), seeds)
        start = time.perf_counter()
        train(
            model,
            task,
            seeds,
            steps=steps,
            batch_size=BATCH_SIZE,
            log_every=steps,
            evaluation_size=1,
            progress=False,
        )
        return time.perf_counter() - start

    return _difference(seconds, _whole_refills(steps, in_features))


def _bound(module: str, replicas: int, in_features: int, steps: int) -> float:
    """Seconds a step to draw its data and, for a stochastic unit, its noise."""
    draws = 2 if MODULES[module] is StochasticNMU else 1
    shape = (replicas, in_features, BATCH_SIZE)

    def seconds(steps: int) -> float:
        streams = [ReplicaStreams(range(replicas), f"stream {i}") for i in range(draws)]
        start = time.perf_counter()
        for _ in range(steps):
            for stream in streams:
                stream.uniform(shape)
        return time.perf_counter() - start

    return _difference(seconds, _whole_refills(steps, in_features))


def _whole_refills(steps: int, in_features: int) -> int:
    """Round up to steps after which the random numbers that were drawn are used up."""
    refill = max(BLOCK // (in_features * BATCH_SIZE), 1)
    return -(-steps // refill) * refill


def _difference(seconds: Callable[[int], float], steps: int) -> float:
    """Seconds a step, of a long run less a short one."""
    return (seconds(3 * steps) - seconds(steps)) / (2 * steps)
