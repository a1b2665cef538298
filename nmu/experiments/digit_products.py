"""What the experiments on images share: the sizes they come in, the digits, and the parts of a run."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from nmu import metrics
from nmu.experiments.single_module import unit_class, unit_text
from nmu.images.digits import Digits, load_bundled, load_mnist
from nmu.images.sizes import BUNDLED, PAPER, SMALL, TINY, Sizes
from nmu.runner import Experiment, Shard
from nmu.streams import seeded

__all__ = [
    "SIZES",
    "accuracies",
    "build",
    "experiment",
    "head_weights",
    "labelled",
    "load",
    "read_right",
    "summarize",
]

SIZES: dict[str, Sizes] = {"paper": PAPER, "small": SMALL, "tiny": TINY, "bundled": BUNDLED}
"""The paper's networks on MNIST, smaller ones, smaller ones on smaller images, and the digits of the book.

:meta hide-value:
"""


def load(size: str, device: str = "cpu") -> tuple[Digits, Digits]:
    """Return the digits to train on and those to test on, their images in the size and on the device."""
    parts = load_bundled() if size == "bundled" else load_mnist(progress=False)
    side = SIZES[size].side
    train, test = (
        Digits(interpolate(part.images, (side, side), mode="area").to(device), part.labels) for part in parts
    )
    return train, test


def build(
    network: Callable[[nn.Module, Sizes], nn.Module],
    head: Callable[..., nn.Module],
    size: str,
    seed: int,
    device: str = "cpu",
) -> nn.Module:
    """Make a network with its head; the initial weights come from the seed."""
    with seeded(seed, "initial weights"):
        made = network(head(2, 1), SIZES[size])
    return made.to(device, memory_format=torch.channels_last)


def read_right(numbers: Tensor, true: Tensor) -> Tensor:
    """Tell which numbers, rounded, are the true ones."""
    return numbers.double().round() == true


def accuracies(products: Tensor, true: Tensor, digits: Tensor, labels: Tensor) -> dict[str, float]:
    """Compare what a network made of a sample with what is true.

    Parameters
    ----------
    products, true : Tensor
        Of one shape.
    digits, labels : Tensor
        Of one shape.

    Returns
    -------
    dict of str to float
        ``error``, the mean squared error of the products; ``label_accuracy`` and ``output_accuracy``, the
        shares of digits and of products that are right after rounding.
    """
    return {
        "error": (products - true).square().mean().item(),
        "label_accuracy": read_right(digits, labels).double().mean().item(),
        "output_accuracy": read_right(products, true).double().mean().item(),
    }


def head_weights(network: nn.Module) -> dict[str, float]:
    """Return the two weights of the head, NaN if it has none, as ``weight_1`` and ``weight_2``."""
    weight = getattr(network.head, "weight", torch.full((1, 2), torch.nan))
    return {f"weight_{i}": value for i, value in enumerate(weight[0].tolist(), 1)}


def summarize(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracies of each head, with intervals over its seeds.

    Parameters
    ----------
    runs : pandas.DataFrame
        Rows as in ``runs.csv``.

    Returns
    -------
    pandas.DataFrame
        One row a head, and kind of pairs where there are two; ``label_accuracy`` and ``output_accuracy`` hold
        :class:`nmu.metrics.Estimate`.
    """
    kinds = [name for name in ("pairs", "module") if name in runs]
    measured = ["label_accuracy", "output_accuracy"]
    return runs.groupby(kinds, sort=False)[measured].agg(metrics.mean)


def labelled(table: pd.DataFrame, columns: Mapping[str, object]) -> pd.DataFrame:
    """Put columns that say which run a table is of before the others."""
    return pd.concat([pd.DataFrame(columns, index=range(len(table))), table.reset_index(drop=True)], axis=1)


def experiment(
    *,
    modules: Mapping[str, Callable[..., nn.Module]],
    name: str,
    settings: Mapping[str, dict],
    tables: Callable[..., dict[str, pd.DataFrame]],
    size: str = "small",
    seeds: Sequence[int] | None = None,
    epochs: int | None = None,
    device: str = "cpu",
) -> Experiment:
    """Plan a run for :func:`nmu.runner.run`, one resumable shard a head and seed.

    Parameters
    ----------
    modules : mapping of str to callable
        Heads by name, each made as ``head(2, 1)``.
    name : str
        Of the experiment.
    settings : mapping of str to dict
        For each size the ``seeds``, and what is passed to ``tables``.
    tables : callable
        Called as ``tables(module, head, seed=, size=, device=, checkpoint=, progress=, **settings[size])``.
    size : str, optional
        A key of :data:`~nmu.experiments.digit_products.SIZES`.
    seeds, epochs : optional
        In place of those of the settings.
    device : str, optional
        Where to compute.

    Raises
    ------
    ValueError
        If there is no such size.
    """
    if size not in settings:
        raise ValueError(f"size must be one of {', '.join(settings)}; got {size!r}")
    chosen = {"size": size, **settings[size], "device": device}
    usual = chosen.pop("seeds")
    seeds = list(usual if seeds is None else seeds)
    if epochs is not None:
        chosen["epochs"] = epochs
    units = {module: unit_text(head) for module, head in modules.items()}
    shards = tuple(
        Shard(
            spec={"module": module, "unit": units[module], "seeds": [seed], **chosen},
            compute=partial(tables, module, head, seed=seed, **chosen),
            units=(unit_class(head),),
            resumable=True,
        )
        for module, head in modules.items()
        for seed in seeds
    )
    return Experiment(name, {"modules": units, "seeds": seeds, **chosen}, shards)
