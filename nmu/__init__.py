"""The Neural Multiplication Unit, its stochastic sibling, and what is needed to study both."""

from nmu.layers import NAU, NMU, StochasticNMU

__all__ = ["NAU", "NMU", "StochasticNMU", "__version__"]
__version__ = "0.1.0"
