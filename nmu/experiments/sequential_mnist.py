"""One digit a step, the running product as the label (arXiv 2211.05624, figure 10).

A network is trained on sequences of two digits, and tested on the first 1 to 20 digits of longer ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from torch import nn

from nmu.experiments import digit_products
from nmu.experiments.digit_products import read_right
from nmu.images.heads import HEADS
from nmu.images.networks import SequentialProduct
from nmu.images.sampling import Sample, sample_sequences
from nmu.images.training import outputs, train
from nmu.streams import generator

__all__ = ["LENGTHS", "MODULES", "SETTINGS", "Run", "experiment", "lengths", "run", "tables"]

MODULES = {name: HEADS[name] for name in ("exact", "NMU", "sNMU", "sNMU-batch")}
TRAINED_LENGTH = 2
LENGTHS = range(1, 21)
TEST_SEQUENCES = 1_000
CLOSE = 0.01
"""How far from the true product a close one may be, relative to it."""
PAPER = {
    "seeds": range(10),
    "epochs": 1_000,
    "sequences": 27_500,
    "batch_size": 64,
    "regularizer_scale": 10.0,
    "regularizer_ramp": [23, 233],
    "input_regularizer_scale": 1.0,
}
SETTINGS = {
    "paper": PAPER,
    "small": {**PAPER, "seeds": range(5), "epochs": 20, "regularizer_ramp": [2, 8]},
    "bundled": {**PAPER, "epochs": 60, "sequences": 9_000, "regularizer_ramp": [5, 25]},
}
"""Seeds and settings for each size; the paper's ramp is that of its steps 10,000 to 100,000."""


@dataclass(frozen=True, eq=False)
class Run:
    """A trained network.

    Attributes
    ----------
    network : SequentialProduct
        After the last epoch.
    test : Sample
        Sequences of 20 digits.
    curves : pandas.DataFrame
        One row an epoch: ``epoch``, ``training_error``, then on the first two digits of the test's sequences
        ``error`` (mean squared error), ``label_accuracy`` and ``output_accuracy`` (after rounding, both
        running products), and the head's weights, that of the digit before that of the state.
    """

    network: SequentialProduct
    test: Sample
    curves: pd.DataFrame


def run(
    head: Callable[..., nn.Module],
    *,
    seed: int,
    size: str,
    epochs: int,
    sequences: int,
    batch_size: int,
    regularizer_scale: float,
    regularizer_ramp: Sequence[float],
    input_regularizer_scale: float,
    device: str = "cpu",
    checkpoint: Path | None = None,
    progress: bool = True,
) -> Run:
    """Train and test one network.

    Parameters
    ----------
    head : callable
        Makes the head of the recurrent cell, as ``head(2, 1)``.
    seed : int
        Of the initial weights and of all that is drawn.
    size : str
        A key of :data:`~nmu.experiments.digit_products.SIZES`.
    epochs, batch_size, regularizer_scale, regularizer_ramp, input_regularizer_scale, checkpoint, progress
        As for :func:`nmu.images.training.train`.
    sequences : int
        How many sequences of two digits there are to train on.
    device : str, optional
        Where to compute.
    """
    digits, test_digits = digit_products.load(size, device)
    sample = sample_sequences(digits, TRAINED_LENGTH, sequences, generator(seed, "training sequences"))
    test = sample_sequences(test_digits, max(LENGTHS), TEST_SEQUENCES, generator(seed, "test sequences"))
    beginning = Sample(test.digits, test.index[:, :TRAINED_LENGTH])
    network = digit_products.build(SequentialProduct, head, size, seed, device)
    logged = train(
        network,
        sample,
        lambda network: _accuracies(network, beginning) | digit_products.head_weights(network),
        seed=seed,
        epochs=epochs,
        batch_size=batch_size,
        regularizer_scale=regularizer_scale,
        regularizer_ramp=tuple(regularizer_ramp),
        input_regularizer_scale=input_regularizer_scale,
        checkpoint=checkpoint,
        progress=progress,
    )
    return Run(network, test, pd.DataFrame(logged))


def tables(module: str, head: Callable[..., nn.Module], *, seed: int, **options) -> dict[str, pd.DataFrame]:
    """Train one network and return its tables.

    Parameters
    ----------
    module : str
        Name of the head.
    head : callable
        Makes it.
    seed : int
        Of all that is drawn.
    options
        As for :func:`run`.

    Returns
    -------
    dict of str to pandas.DataFrame
        ``runs.csv``, the last row of the curves; ``curves.csv.gz``; and ``lengths.csv``, by length of the
        sequence: ``error``, the mean squared error of the product; ``median_relative_error``; ``close``, the
        share of products that are within 1 % of the true one; ``label_accuracy``, of the last digit.
    """
    result = run(head, seed=seed, **options)
    columns = {"module": module, "seed": seed}
    found = {
        "runs.csv": result.curves.tail(1),
        "curves.csv.gz": result.curves.drop(columns="training_error").round(5),
        "lengths.csv": lengths(result),
    }
    return {name: digit_products.labelled(table, columns) for name, table in found.items()}


def lengths(result: Run) -> pd.DataFrame:
    """Return the errors of a trained network by length of the sequence, as in ``lengths.csv``."""
    products, digits = outputs(result.network, result.test)
    true = result.test.products
    relative = (products.double() / true - 1).abs()
    return pd.DataFrame(
        {
            "length": np.arange(1, len(LENGTHS) + 1),
            "error": (products.double() - true).square().mean(0).numpy(),
            "median_relative_error": relative.median(0).values.numpy(),
            "close": (relative < CLOSE).double().mean(0).numpy(),
            "label_accuracy": read_right(digits, result.test.labels).double().mean(0).numpy(),
        }
    )


def _accuracies(network: SequentialProduct, sample: Sample) -> dict[str, float]:
    products, digits = outputs(network, sample)
    return digit_products.accuracies(products, sample.products, digits, sample.labels)


experiment = partial(
    digit_products.experiment, modules=MODULES, name="sequential_mnist", settings=SETTINGS, tables=tables
)
