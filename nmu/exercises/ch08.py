"""Checks of the exercises of chapter 8, "Reversible stochasticity"."""

import torch

from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _border(weight: torch.Tensor, x: float) -> torch.Tensor:
    """Noise at which the odds of the effective weight are those of the crossing, -1 / x."""
    return -1 / x * (1 - weight) / weight


def _unlimited_share(weight: torch.Tensor, x: float, low: float, high: float) -> torch.Tensor:
    if x >= 0:
        return torch.zeros_like(weight)
    border = _border(weight, x)
    return (border < low).to(weight) if low == high else (high - border) / (high - low)


def _negative_share(weight: torch.Tensor, x: float, low: float, high: float) -> torch.Tensor:
    return _unlimited_share(weight, x, low, high).clamp(0, 1)


def _of_any_sign(weight: torch.Tensor, x: float, low: float, high: float) -> torch.Tensor:
    return _negative_share(weight, x, low, high) if x < 0 else torch.ones_like(weight)


def _never_constant(weight: torch.Tensor, x: float, low: float, high: float) -> torch.Tensor:
    if x >= 0:
        return torch.zeros_like(weight)
    return ((high - _border(weight, x)) / (high - low)).clamp(0, 1)


def _even_in_the_weight(weight: torch.Tensor, x: float, low: float, high: float) -> torch.Tensor:
    if x >= 0 or low == high:
        return _negative_share(weight, x, low, high)
    first, last = 1 / (1 - high * x), 1 / (1 - low * x)
    return ((weight - first) / (last - first)).clamp(0, 1)


def _of_the_mean(weight: torch.Tensor, x: float, low: float, high: float) -> torch.Tensor:
    middle = (low + high) / 2
    return _negative_share(weight, x, middle, middle)


WEIGHTS = torch.tensor([0.05, 0.15, 0.25, 0.5, 0.75], dtype=torch.float64)
ENDS = torch.tensor([0.0, 1.0], dtype=torch.float64)

CHECKS = {
    "ex-rev-negative": Check(
        _negative_share,
        [
            (WEIGHTS[2:3], -1.5, 1.0, 5.0),
            (WEIGHTS, -1.5, 1.0, 5.0),
            (WEIGHTS, -1.2, 0.2, 1.0),
            (ENDS, -15.0, 1.0, 5.0),
            (WEIGHTS, 1.5, 1.0, 5.0),
            (WEIGHTS, 0.0, 1.0, 5.0),
            (WEIGHTS, -1.5, 3.0, 3.0),
            (WEIGHTS[3:4], -1.0, 1.0, 1.0),
        ],
        {
            "a share lies between 0 and 1: what if no noise of the interval, or all of it, does it?": (
                _unlimited_share
            ),
            "that is the share of positive factors.": (
                lambda weight, x, low, high: 1 - _negative_share(weight, x, low, high)
            ),
            "for an input of 0 or more no term of the factor is negative.": _of_any_sign,
            "constant noise spans no interval; ask whether its one value does it.": _never_constant,
            "it is the noise that is spread evenly, not the weight at which the factor changes sign.": (
                _even_in_the_weight
            ),
            "you look at the mean of the noise alone; the rows differ.": _of_the_mean,
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
