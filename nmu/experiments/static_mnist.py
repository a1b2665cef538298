"""Two digits in one picture, and their product as the only label: what both such tasks share.

The 100 ordered pairs of digits are divided into folds. A network is trained on the pairs of all folds but
one, with images of the training set, and tested with images of the test set: on the pairs it was trained on
and on those of the fold left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from nmu.experiments import digit_products
from nmu.experiments.digit_products import SIZES, read_right
from nmu.images.digits import Digits
from nmu.images.networks import IsolatedProduct, OverlappingProduct
from nmu.images.sampling import Overlapping, Sample, draw_placement, pair_folds, sample_pairs
from nmu.images.training import outputs, train
from nmu.streams import generator

__all__ = ["NETWORKS", "Run", "draw", "run", "tables"]

NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "isolated": IsolatedProduct,
    "overlapping": OverlappingProduct,
}
"""The network of each task.

:meta hide-value:
"""
TEST_IMAGES_A_PAIR = {"held out": 100, "trained": 10}
"""Rows of the test for each pair of the fold left out, and for each of the others."""
LOOKS = 4
"""How many canvases are stored with what the transformers look at."""


@dataclass(frozen=True, eq=False)
class Run:
    """A trained network.

    Attributes
    ----------
    network : torch.nn.Module
        After the last epoch.
    test : dict of str to Sample
        The rows it was tested on: those of the pairs ``"held out"``, and of the pairs ``"trained"``.
    curves : pandas.DataFrame
        One row an epoch and kind of pairs: ``epoch``, ``pairs``, ``training_error``, ``error`` (mean squared
        error), ``label_accuracy`` and ``output_accuracy`` (after rounding), and the head's weights. Which
        transformer reads which of two overlapping digits is left open: the better order counts.
    """

    network: nn.Module
    test: dict[str, Sample]
    curves: pd.DataFrame


def draw(task: str, digits: Digits, pairs: Tensor, images: int, size: str, seed: int, purpose: str) -> Sample:
    """Draw the rows of a task for pairs of digits.

    Parameters
    ----------
    task : str
        ``"isolated"`` or ``"overlapping"``.
    digits : Digits
        The images to draw from.
    pairs : Tensor
        ``(m, 2)``.
    images : int
        How many rows a pair has.
    size : str
        Of the canvas: a key of :data:`~nmu.experiments.digit_products.SIZES`.
    seed, purpose : int and str
        Where the random numbers come from.

    Returns
    -------
    Sample
        ``m * images`` rows, pair after pair.
    """
    source = generator(seed, purpose)
    sample = sample_pairs(digits, pairs, images, source)
    if task == "isolated":
        return sample
    placement = draw_placement(tuple(sample.index.shape), source)
    return Overlapping(sample.digits, sample.index, SIZES[size].canvas, placement)


def run(
    head: Callable[..., nn.Module],
    *,
    task: str,
    seed: int,
    size: str,
    epochs: int,
    folds: int,
    images_a_pair: int,
    batch_size: int,
    regularizer_scale: float,
    regularizer_ramp: Sequence[float],
    device: str = "cpu",
    checkpoint: Path | None = None,
    progress: bool = True,
) -> Run:
    """Train and test one network.

    Parameters
    ----------
    head : callable
        Makes the head, as ``head(2, 1)``.
    task : str
        ``"isolated"`` or ``"overlapping"``.
    seed : int
        Of the initial weights and of all that is drawn; the fold left out is the seed modulo ``folds``.
    size : str
        A key of :data:`~nmu.experiments.digit_products.SIZES`.
    epochs, batch_size, regularizer_scale, regularizer_ramp, checkpoint, progress
        As for :func:`nmu.images.training.train`.
    folds : int
        Into how many the 100 pairs are divided.
    images_a_pair : int
        Rows of the training set for each pair.
    device : str, optional
        Where to compute.
    """
    digits, test_digits = digit_products.load(size, device)
    trained, held_out = pair_folds(folds)[seed % folds]
    sample = draw(task, digits, trained, images_a_pair, size, seed, "training pairs")
    test = {
        kind: draw(task, test_digits, pairs, TEST_IMAGES_A_PAIR[kind], size, seed, f"test, {kind} pairs")
        for kind, pairs in {"held out": held_out, "trained": trained}.items()
    }
    network = digit_products.build(NETWORKS[task], head, size, seed, device)
    logged = train(
        network,
        sample,
        lambda network: (
            {kind: _accuracies(network, part) for kind, part in test.items()}
            | digit_products.head_weights(network)
        ),
        seed=seed,
        epochs=epochs,
        batch_size=batch_size,
        regularizer_scale=regularizer_scale,
        regularizer_ramp=tuple(regularizer_ramp),
        checkpoint=checkpoint,
        progress=progress,
    )
    rows = [{**row, "pairs": kind, **row[kind]} for row in logged for kind in test]
    return Run(network, test, pd.DataFrame(rows).drop(columns=[*test]))


def tables(
    module: str, head: Callable[..., nn.Module], *, seed: int, folds: int, **options
) -> dict[str, pd.DataFrame]:
    """Train one network and return its tables.

    Parameters
    ----------
    module : str
        Name of the head.
    head : callable
        Makes it.
    seed, folds : int
        Of all that is drawn; how many folds there are.
    options
        As for :func:`run`.

    Returns
    -------
    dict of str to pandas.DataFrame
        ``runs.csv``, the last row of the curves for each kind of pairs; ``curves.csv.gz``; ``reads.csv.gz``,
        how often each digit was read as which, by kind of pairs and place; ``pairs.csv.gz``, for each pair
        how many of its products are right. For seed 0 of overlapping digits also ``canvases.csv.gz``, some
        of those held out, in 255ths, and ``looks.csv.gz``, where in them each control point looks.
    """
    result = run(head, seed=seed, folds=folds, **options)
    columns = {"module": module, "seed": seed, "fold": seed % folds}
    read = {kind: _read(result.network, part) for kind, part in result.test.items()}
    found = {
        "runs.csv": result.curves.groupby("pairs", sort=False).tail(1),
        "curves.csv.gz": result.curves.drop(columns="training_error").round(5),
        "reads.csv.gz": pd.concat([_reads(kind, *read[kind][1:]) for kind in read]),
        "pairs.csv.gz": pd.concat([_pairs(kind, part, *read[kind]) for kind, part in result.test.items()]),
    }
    if options["task"] == "overlapping" and seed == 0:
        found |= _looks(result.network, result.test["held out"])
    return {name: digit_products.labelled(table, columns) for name, table in found.items()}


def _read(network: nn.Module, sample: Sample) -> tuple[Tensor, Tensor, Tensor]:
    """Return the products, the digits read, and the digits that ought to be read.

    A product does not say which of two transformers is to look for which of two digits that overlap: the
    order is the one in which more digits are read right.
    """
    products, digits = outputs(network, sample)
    labels = sample.labels
    if isinstance(network, OverlappingProduct):
        labels = max(labels, labels.flip(1), key=lambda order: read_right(digits, order).sum())
    return products, digits, labels


def _accuracies(network: nn.Module, sample: Sample) -> dict[str, float]:
    products, digits, labels = _read(network, sample)
    return digit_products.accuracies(products, sample.products[:, -1], digits, labels)


def _reads(kind: str, digits: Tensor, labels: Tensor) -> pd.DataFrame:
    places = torch.arange(2).expand(len(digits), 2)
    table = pd.DataFrame(
        {
            "pairs": kind,
            "place": places.flatten().numpy() + 1,
            "label": labels.flatten().numpy(),
            "read": digits.round().long().flatten().numpy(),
        }
    )
    return table.value_counts(sort=False).rename("images").reset_index()


def _pairs(kind: str, sample: Sample, products: Tensor, digits: Tensor, labels: Tensor) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "pairs": kind,
            "label_1": sample.labels[:, 0].numpy(),
            "label_2": sample.labels[:, 1].numpy(),
            "both_read_right": read_right(digits, labels).all(-1).numpy(),
            "output_right": read_right(products, sample.products[:, -1]).numpy(),
        }
    )
    grouped = table.groupby(["pairs", "label_1", "label_2"])
    return grouped.agg(
        rows=("output_right", "size"),
        both_read_right=("both_read_right", "sum"),
        output_right=("output_right", "sum"),
    ).reset_index()


@torch.no_grad()
def _looks(network: OverlappingProduct, sample: Sample) -> dict[str, pd.DataFrame]:
    rows = torch.linspace(0, len(sample) - 1, LOOKS).long()
    canvases = sample.images(rows)
    _, digits = network.eval()(canvases)
    points = network.control_points(canvases).cpu()
    at = dict(zip(("row", "transformer", "point"), np.indices(points.shape[:3]), strict=True))
    looks = {name: values.ravel() for name, values in at.items()}
    looks |= {"x": points[..., 0].flatten().numpy(), "y": points[..., 1].flatten().numpy()}
    looks |= {"read": digits.cpu()[at["row"].ravel(), at["transformer"].ravel()].numpy()}
    pixels = (canvases.cpu() * 255).round().long()
    at = dict(zip(("row", "channel", "y", "x"), np.indices(pixels.shape), strict=True))
    shown = {name: values.ravel() for name, values in at.items()}
    shown |= {"label": sample.labels[rows][at["row"].ravel(), at["channel"].ravel()].numpy()}
    shown |= {"value": pixels.flatten().numpy()}
    return {"looks.csv.gz": pd.DataFrame(looks), "canvases.csv.gz": pd.DataFrame(shown)}
