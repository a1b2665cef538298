"""What an MLP and an NMU learn of ``a * b`` outside the training range (arXiv 2211.05624, figure 1)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch import nn

from nmu.baselines import MLP
from nmu.experiments import single_module
from nmu.experiments.single_module import curves_table, unit_class, unit_text
from nmu.layers import NMU
from nmu.runner import Experiment, Shard
from nmu.tasks import RANGES, SingleModuleTask
from nmu.training import initialize, train

__all__ = ["GRID", "MODULES", "RANGE", "SEEDS", "STEPS", "experiment"]

MODULES: dict[str, Callable[..., nn.Module]] = {
    "MLP-1": partial(MLP, hidden_features=1),
    "MLP-100": partial(MLP, hidden_features=100),
    "NMU": NMU,
}
STEPS = {"MLP-1": 50_000, "MLP-100": 2_000_000, "NMU": 50_000}
SEEDS = tuple(range(5))
RANGE = RANGES[6]
"""U[1,2], extrapolating to U[2,6]."""
GRID = np.linspace(-10, 10, 41)
"""Values of either input at which the surface of the first seed is stored."""


def experiment(
    modules: Mapping[str, Callable[..., nn.Module]] = MODULES,
    *,
    seeds: Sequence[int] = SEEDS,
    steps: int | None = None,
    device: str = "cpu",
) -> Experiment:
    """Plan figure 1 for :func:`nmu.runner.run`, one shard a module.

    Parameters
    ----------
    modules : mapping of str to callable, optional
        The modules by name.
    seeds : sequence of int, optional
        The surface is that of the first; the errors are given for all.
    steps : int, optional
        Number of updates; by default that of ``STEPS``, and 50,000 for a module that is not in it.
    device : str, optional
        Where to compute.

    Returns
    -------
    Experiment
        Its tables are ``surface.csv.gz``, the output over the grid; ``runs.csv``, the errors after the
        last step; and ``curves.csv.gz``, the errors at 200 or fewer logged steps, to five digits.
    """
    shards = []
    for module, unit in modules.items():
        options = {
            "seeds": list(seeds),
            "steps": steps or STEPS.get(module, single_module.STEPS),
            "device": device,
        }
        shards.append(
            Shard(
                spec={"module": module, "unit": unit_text(unit), "range": str(RANGE), **options},
                compute=partial(_tables, module, unit, **options),
                units=(unit_class(unit),),
            )
        )
    return Experiment("surface", {"parts": [shard.spec for shard in shards]}, tuple(shards))


def _tables(
    module: str,
    unit: Callable[..., nn.Module],
    *,
    seeds: Sequence[int],
    steps: int,
    device: str,
    progress: bool,
) -> dict[str, pd.DataFrame]:
    model = initialize(unit(2, 1, batch_shape=(len(seeds),)), seeds)
    settings = single_module.training_settings()
    settings["log_every"] = max(settings["log_every"], steps // 200)
    task = SingleModuleTask([RANGE] * len(seeds))
    history = train(model, task, seeds, steps=steps, device=device, progress=progress, **settings)
    if history.interrupted:
        raise KeyboardInterrupt
    replica = pd.DataFrame({"module": module, "interpolation_range": str(RANGE), "seed": list(seeds)})
    last = {
        name: getattr(history, name)[-1].double().numpy()
        for name in ("interpolation_error", "extrapolation_error")
    }
    x_1, x_2 = np.meshgrid(GRID, GRID, indexing="ij")
    x = torch.tensor(np.stack([x_1.ravel(), x_2.ravel()], axis=1), dtype=torch.float32, device=device)
    with torch.no_grad():
        output = model.eval()(x.expand(len(seeds), -1, -1))[0, :, 0]
    surface = {
        "module": module,
        "x_1": x_1.ravel(),
        "x_2": x_2.ravel(),
        "output": output.cpu().double().numpy(),
    }
    return {
        "runs.csv": replica.assign(steps=steps, **last),
        "curves.csv.gz": curves_table(history, replica),
        "surface.csv.gz": pd.DataFrame(surface),
    }
