"""Two digits that overlap, each rotated, scaled and shifted (arXiv 2211.05624, figure 9)."""

from functools import partial

from nmu.experiments import digit_products, static_mnist
from nmu.images.heads import HEADS

__all__ = ["MODULES", "SETTINGS", "experiment"]

MODULES = HEADS
PAPER = {
    "task": "overlapping",
    "seeds": range(3),
    "epochs": 1_000,
    "folds": 3,
    "images_a_pair": 1_100,
    "batch_size": 256,
    "regularizer_scale": 100.0,
    "regularizer_ramp": [30, 40],
}
SETTINGS = {
    "paper": PAPER,
    "small": {**PAPER, "seeds": range(6), "epochs": 50, "images_a_pair": 250, "batch_size": 128},
    "bundled": {**PAPER, "seeds": range(6), "epochs": 50, "images_a_pair": 400, "batch_size": 128},
}
"""Seeds and settings for each size."""

experiment = partial(
    digit_products.experiment,
    modules=MODULES,
    name="static_mnist_overlapping",
    settings=SETTINGS,
    tables=static_mnist.tables,
)
