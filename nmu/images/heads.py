"""What multiplies the digits that a network read: an exact product, or one that has to be learned.

A head is made as ``head(2, 1)``, as every unit is.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from nmu.layers import NMU, StochasticNMU

__all__ = ["HEADS", "ExactProduct", "ProductAggregator", "RecurrentProduct", "input_regularizer"]


class ExactProduct(nn.Module):
    """The product of the inputs, with nothing to learn: what the other heads are held against.

    Parameters
    ----------
    in_features : int
        How many inputs.
    out_features : int
        Must be 1.

    Raises
    ------
    ValueError
        If it is not.
    """

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.in_features = in_features
        if out_features != 1:
            raise ValueError(f"out_features must be 1, there is one product; got {out_features}")

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(n, in_features)`` to ``(n, 1)``."""
        return x.prod(-1, keepdim=True)


class ProductAggregator(ExactProduct):
    r"""Learned product aggregator, :math:`\prod_i w_i z_i`.

    It can scale a product, and cannot leave an input out. The weights start where an NMU's do and are
    not clamped.

    Attributes
    ----------
    weight : torch.nn.Parameter
        ``(1, in_features)``.
    """

    def __init__(self, in_features: int, out_features: int):
        super().__init__(in_features, out_features)
        self.weight = nn.Parameter(torch.empty(1, in_features).uniform_(0.25, 0.75))

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(n, in_features)`` to ``(n, 1)``."""
        return (x * self.weight).prod(-1, keepdim=True)


HEADS: dict[str, Callable[..., nn.Module]] = {
    "exact": ExactProduct,
    "aggregator": ProductAggregator,
    "NMU": NMU,
    "sNMU": partial(StochasticNMU, noise=(1.0, 5.0)),
    "sNMU-batch": partial(StochasticNMU, noise="batch"),
}
"""The heads by name.

:meta hide-value:
"""


class RecurrentProduct(nn.Module):
    """Recurrent cell that multiplies a state, which starts at 1, by one number a step.

    Parameters
    ----------
    head : torch.nn.Module
        Maps ``(n, 2)``, the new number and the state, to the next state, ``(n, 1)``.
    """

    def __init__(self, head: nn.Module):
        super().__init__()
        self.head = head

    def forward(self, numbers: Tensor) -> Tensor:
        """Map ``(n, length)`` to the state after each step, ``(n, length)``."""
        states = [torch.ones_like(numbers[:, :1])]
        for number in numbers.split(1, dim=-1):
            states.append(self.head(torch.cat((number, states[-1]), -1)))
        return torch.cat(states[1:], -1)


def input_regularizer(weight: Tensor, numbers: Tensor, states: Tensor) -> Tensor:
    r"""Input regulariser of the recurrent cell, the mean of :math:`(1 - W_{oi}) (1 - \bar x_i)^2`.

    An input that is left out makes no error if it is always 1, and the network that reads the digits could
    learn to say so; this makes it costly to leave out an input whose mean is not 1.

    Parameters
    ----------
    weight : Tensor
        Of the cell's head, ``(1, 2)``.
    numbers, states : Tensor
        What the cell took and what it returned, each ``(n, length)``. The mean is over rows and steps,
        and a gradient flows through it.

    Returns
    -------
    Tensor
        A scalar.

    References
    ----------
    Code of Mistry, Farrahi and Hare, arXiv 2211.05624.
    """
    before = torch.cat((torch.ones_like(states[:, :1]), states[:, :-1]), -1)
    mean = torch.stack((numbers.mean(), before.mean()))
    return ((1 - weight) * (1 - mean).square()).mean()
