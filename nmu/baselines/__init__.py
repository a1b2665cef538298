"""What the units are compared with, as modules with the same interface.

Like the units they are stacks of independent replicas, and each replica computes the same bits alone
as in company. What a module needs in training beyond a loss it says itself, by the attributes and
methods that :func:`nmu.training.train` looks for.
"""

from nmu.baselines.inalu import INALU
from nmu.baselines.mlp import MLP
from nmu.baselines.nalu import GNALU, MNAC, NALU
from nmu.baselines.npu import NPU, RealNPU

__all__ = ["GNALU", "INALU", "MLP", "MNAC", "NALU", "NPU", "RealNPU"]
