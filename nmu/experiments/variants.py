"""The variants of :mod:`nmu.variants` on the Single Module Task."""

from functools import partial

from nmu.experiments import single_module
from nmu.variants import variants

__all__ = ["MODULES", "experiment"]

MODULES = variants(until=single_module.REGULARIZER_RAMP[0])

experiment = partial(single_module.experiment, modules=MODULES, name="variants")
