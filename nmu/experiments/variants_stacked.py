"""Intervals of the noise, and the variants of the sNMU, on the Arithmetic Dataset Task.

The intervals are those of arXiv 2211.05624, figure 5. Variants that lose ranges with two inputs already are
left out. A third of the steps of :mod:`nmu.experiments.arithmetic_dataset`; the regulariser's ramp takes the
second half of them.
"""

from functools import partial

from nmu.experiments import arithmetic_dataset
from nmu.experiments.variants_redundancy import LOST_WITH_TWO
from nmu.layers import StochasticNMU
from nmu.variants import variants

__all__ = ["INTERVALS", "MODULES", "STEPS", "experiment"]

STEPS = 100_000
INTERVALS = {
    "sNMU-0.01-0.05": (0.01, 0.05),
    "sNMU-0.1-0.5": (0.1, 0.5),
    "sNMU-1-2": (1.0, 2.0),
    "sNMU-5-10": (5.0, 10.0),
}
"""The noise of figure 5 but for U[1, 5] and the batch rule, by name."""
MODULES = {
    **arithmetic_dataset.MODULES,
    **{name: partial(StochasticNMU, noise=interval) for name, interval in INTERVALS.items()},
    **{name: unit for name, unit in variants(until=STEPS // 2).items() if name not in LOST_WITH_TWO},
}


experiment = partial(
    arithmetic_dataset.experiment,
    modules=MODULES,
    name="variants_stacked",
    steps=STEPS,
    regularizer_ramp=None,
)
