"""How long a step of training takes, and how near that is to the time its random numbers take."""

import os
import time
from collections.abc import Callable
from itertools import cycle, islice

import pandas as pd
from torch import nn

from nmu.experiments import single_module
from nmu.experiments.single_module import BATCH_SIZE
from nmu.layers import StochasticNMU
from nmu.runner import process_pool
from nmu.tasks import RANGES, ReplicaStreams, SingleModuleTask
from nmu.training import initialize, train

__all__ = ["MODULES", "growth", "measure"]

MODULES = {name: single_module.MODULES[name] for name in ("NMU", "sNMU")}
REPLICAS = 225


def measure(module: str, *, replicas: int = REPLICAS, processes: int | None = None) -> dict:
    """Time the training of one module on two inputs, in as many processes as there are cores.

    Parameters
    ----------
    module : str
        A name of ``MODULES``.
    replicas : int, optional
        How many each process trains at once.
    processes : int, optional
        How many train beside each other.

    Returns
    -------
    dict
        ``module``, ``replicas`` and ``processes``; ``microseconds_per_step`` of one process;
        ``replica_steps_per_second`` of all together; ``bound_microseconds_per_step``, the time to draw
        the same random numbers alone; and ``share_of_bound``, the bound divided by the step.
    """
    processes = processes or os.cpu_count()
    steps = max(20, 600_000 // replicas)
    with process_pool(processes) as pool:
        list(
            pool.map(
                _step_time, [module] * processes, [replicas] * processes, [2] * processes, [10] * processes
            )
        )
        times = list(
            pool.map(
                _step_time, [module] * processes, [replicas] * processes, [2] * processes, [steps] * processes
            )
        )
        bounds = list(
            pool.map(
                _bound, [module] * processes, [replicas] * processes, [2] * processes, [steps] * processes
            )
        )
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
    replicas: tuple[int, ...] = (1, 9, 225, 2_250, 22_500), in_features: tuple[int, ...] = (2, 10, 100)
) -> pd.DataFrame:
    """Time one process for stacks of different height, and for different numbers of inputs.

    Parameters
    ----------
    replicas, in_features : tuple of int, optional
        What to combine.

    Returns
    -------
    pandas.DataFrame
        Columns ``module``, ``in_features``, ``replicas``, ``microseconds_per_step``,
        ``microseconds_per_replica_step`` and ``bound_microseconds_per_step``.
    """
    rows = []
    for module in MODULES:
        for inputs in in_features:
            for count in replicas:
                steps = max(3, min(2_000, 2_000_000 // (count * inputs)))
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

    return _difference(seconds, steps)


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

    return _difference(seconds, steps)


def _difference(seconds: Callable[[int], float], steps: int) -> float:
    return (seconds(3 * steps) - seconds(steps)) / (2 * steps)
