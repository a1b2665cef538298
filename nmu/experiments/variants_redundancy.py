"""The variants of :mod:`nmu.variants` with ten inputs, of which the first two are to be multiplied."""

from functools import partial

from nmu.experiments import redundancy, variants

__all__ = ["MODULES", "experiment"]

MODULES = variants.MODULES

experiment = partial(redundancy.experiment, modules=MODULES, name="variants_redundancy")
