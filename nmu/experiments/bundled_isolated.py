"""Two digits side by side, of those that come with scikit-learn."""

from functools import partial

from nmu.experiments import static_mnist_isolated

__all__ = ["MODULES", "experiment"]

MODULES = static_mnist_isolated.MODULES

experiment = partial(static_mnist_isolated.experiment, name="bundled_isolated", size="bundled")
