"""The Arithmetic Dataset Task at the paper's size: 100 inputs (arXiv 2211.05624, figure 7).

For the NMU alone, and less than the paper has: 25 seeds, two sNMUs as well, 5,000,000 steps for the NMU and
2,000,000 for these, with the regulariser's ramp from step 1,000,000 to 2,000,000.
"""

from functools import partial

from nmu.experiments import arithmetic_dataset
from nmu.layers import NMU

__all__ = ["IN_FEATURES", "MODULES", "SEEDS", "STEPS", "experiment"]

MODULES = {"NMU": NMU}
IN_FEATURES = 100
SEEDS = tuple(range(10))
STEPS = 1_000_000

experiment = partial(
    arithmetic_dataset.experiment,
    modules=MODULES,
    name="hundred_inputs",
    seeds=SEEDS,
    in_features=IN_FEATURES,
    steps=STEPS,
    regularizer_ramp=None,
    log_every=5_000,
)
