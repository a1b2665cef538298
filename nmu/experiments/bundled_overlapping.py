"""Two overlapping digits, of those that come with scikit-learn."""

from functools import partial

from nmu.experiments import static_mnist_overlapping

__all__ = ["MODULES", "experiment"]

MODULES = static_mnist_overlapping.MODULES

experiment = partial(static_mnist_overlapping.experiment, name="bundled_overlapping", size="bundled")
