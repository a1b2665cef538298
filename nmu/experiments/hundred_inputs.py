"""The Arithmetic Dataset Task at the paper's size: 100 inputs (arXiv 2211.05624, figure 7).

With 25 seeds and 2,000,000 steps this is the paper's experiment for the sNMUs; its NMU goes on to 5,000,000
steps, with the same ramp of the regulariser.
"""

from functools import partial

from nmu.experiments import arithmetic_dataset

__all__ = ["IN_FEATURES", "MODULES", "SEEDS", "STEPS", "experiment"]

MODULES = arithmetic_dataset.MODULES
IN_FEATURES = 100
SEEDS = tuple(range(10))
STEPS = 1_000_000

experiment = partial(
    arithmetic_dataset.experiment,
    name="hundred_inputs",
    seeds=SEEDS,
    in_features=IN_FEATURES,
    steps=STEPS,
    regularizer_ramp=None,
    log_every=5_000,
)
