"""Two digits side by side, their product as the only label (arXiv 2211.05624, figure 8)."""

from functools import partial

from nmu.experiments import digit_products, static_mnist
from nmu.images.heads import HEADS

__all__ = ["MODULES", "SETTINGS", "experiment"]

MODULES = HEADS
PAPER = {
    "task": "isolated",
    "seeds": range(10),
    "epochs": 1_000,
    "folds": 10,
    "images_a_pair": 1_000,
    "batch_size": 128,
    "regularizer_scale": 100.0,
    "regularizer_ramp": [30, 40],
}
SETTINGS = {
    "paper": PAPER,
    "small": {**PAPER, "seeds": range(5), "epochs": 50, "images_a_pair": 100},
    "bundled": {**PAPER, "epochs": 60, "images_a_pair": 100},
}
"""Seeds and settings for each size."""

experiment = partial(
    digit_products.experiment,
    modules=MODULES,
    name="static_mnist_isolated",
    settings=SETTINGS,
    tables=static_mnist.tables,
)
