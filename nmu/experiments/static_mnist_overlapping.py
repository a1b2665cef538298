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
REDUCED = {
    **PAPER,
    "seeds": range(5),
    "epochs": 10,
    "folds": 5,
    "images_a_pair": 1_250,
    "batch_size": 128,
    "regularizer_ramp": [6, 8],
}
SETTINGS = {
    "paper": PAPER,
    "tiny": {**REDUCED, "epochs": 15, "regularizer_ramp": [9, 12]},
    "bundled": REDUCED,
}
"""Seeds and settings for each size.

The reduced ones meet many canvases in few epochs.
"""

experiment = partial(
    digit_products.experiment,
    modules=MODULES,
    name="static_mnist_overlapping",
    size="tiny",
    settings=SETTINGS,
    tables=static_mnist.tables,
)
