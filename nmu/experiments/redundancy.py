"""The Single Module Task with ten inputs, of which the first two are to be multiplied.

The paper's figure 2 has no input that is to be left out. Here eight of ten are: a weight has to fall to 0
as well as to rise to 1.
"""

from functools import partial

from nmu.experiments import single_module

__all__ = ["IN_FEATURES", "MODULES", "experiment"]

MODULES = {name: single_module.MODULES[name] for name in ("NMU", "sNMU", "sNMU-batch")}
IN_FEATURES = 10

experiment = partial(single_module.experiment, modules=MODULES, name="redundancy", in_features=IN_FEATURES)
