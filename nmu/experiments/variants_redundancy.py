"""The variants with ten inputs, of which the first two are to be multiplied.

Variants that lose ranges with two inputs already are left out.
"""

from functools import partial

from nmu.experiments import redundancy, variants

__all__ = ["LOST_WITH_TWO", "MODULES", "experiment"]

LOST_WITH_TWO = ("not-undone", "weight-noise", "dropout")
"""Variants that solve fewer ranges with two inputs than the NMU does."""
MODULES = {name: unit for name, unit in variants.MODULES.items() if name not in LOST_WITH_TWO}

experiment = partial(redundancy.experiment, modules=MODULES, name="variants_redundancy")
