"""Checks of the exercises of chapter 5, "Two inputs, nine ranges"."""

import torch

from nmu import functional
from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _slopes(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    # Gauss's rule of two points is exact for polynomials of the third degree.
    points = (low + high) / 2 + torch.tensor([[-1.0], [1.0]]).double() / 3**0.5 * (high - low) / 2
    x = torch.cartesian_prod(*points.T)
    weight = torch.zeros(1, 2, dtype=x.dtype, requires_grad=True)
    loss = (functional.nmu(x, weight)[:, 0] - x.prod(-1)).square().mean()
    return torch.autograd.grad(loss, weight)[0][0]


def _moments(low: torch.Tensor, high: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean, second moment, and the other input's mean."""
    mean = (low + high) / 2
    return mean, mean**2 + (high - low) ** 2 / 12, mean.flip(0)


def _squared_mean(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    mean, _, other = _moments(low, high)
    return 2 * (mean - 1 + mean * other - mean**2 * other)


def _own_moments(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    mean, second, _ = _moments(low, high)
    return 2 * (mean - 1 + mean**2 - second * mean)


def _others_square(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    mean, second, other = _moments(low, high)
    return 2 * (mean - 1 + mean * other - second.flip(0) * mean)


def _case(low: tuple[float, float], high: tuple[float, float]) -> tuple:
    return torch.tensor(low, dtype=torch.float64), torch.tensor(high, dtype=torch.float64)


CHECKS = {
    "ex-ranges-slopes": Check(
        _slopes,
        [
            _case((1, 1), (2, 2)),
            _case((-1.2, -1.2), (-1.1, -1.1)),
            _case((-2, -2), (2, 2)),
            _case((1, -3), (2, -2)),
            _case((-0.6, -4), (-0.4, -3)),
            _case((-2.1, 10), (0.3, 20)),
        ],
        {
            "you take the square of the mean for the second moment; the width of the range is missing.": (
                _squared_mean
            ),
            "each component knows its own input only; the target holds the other one, too.": _own_moments,
            "in a weight's component it is its own input that is squared, not the other.": _others_square,
            "a factor of 2 is missing: the loss is a square.": lambda low, high: _slopes(low, high) / 2,
            "the signs are turned round: this is the direction of descent, and the gradient points uphill.": (
                lambda low, high: -_slopes(low, high)
            ),
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
