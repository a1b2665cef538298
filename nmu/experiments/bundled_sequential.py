"""One digit a step, of those that come with scikit-learn."""

from functools import partial

from nmu.experiments import sequential_mnist

__all__ = ["MODULES", "experiment"]

MODULES = sequential_mnist.MODULES

experiment = partial(sequential_mnist.experiment, name="bundled_sequential", size="bundled")
