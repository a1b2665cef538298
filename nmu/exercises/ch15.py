"""Checks of the exercises of chapter 15, "What is still open"."""

import torch
from torch import Tensor

from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _moved(weight: Tensor, noise: float) -> Tensor:
    return noise * weight / (noise * weight + 1 - weight)


def _below(sums: Tensor, low: float, high: float) -> Tensor:
    """Tell which sums of two weights lie below the edge of the trap's basin, if there is a trap."""
    middle = (low + high) / 2
    return (sums < 2 / (1 - middle)) & (middle < -1)


_STARTS = torch.tensor([[0.25, 0.3], [0.3, 0.6], [0.45, 0.5], [0.26, 0.74], [0.7, 0.75]])

CHECKS = {
    "ex-open-line": Check(
        lambda weight, low, high, noise: _below(_moved(weight, noise).sum(-1), low, high),
        [
            (_STARTS, -1.2, -1.1, 1.0),
            (_STARTS, -2.0, -1.9, 1.0),
            (_STARTS, -1.2, -1.1, 1.5),
            (_STARTS, -1.2, -1.1, 0.5),
            (_STARTS, -0.2, -0.1, 1.0),
            (_STARTS, 1.1, 1.2, 3.0),
        ],
        {
            "these are the starts that are saved; the lost ones lie below the line.": (
                lambda weight, low, high, noise: ~_below(_moved(weight, noise).sum(-1), low, high)
            ),
            "the noise is not used: it moves the weights before you ask on which side they are.": (
                lambda weight, low, high, noise: _below(weight.sum(-1), low, high)
            ),
            "the noise multiplies the odds W / (1 - W) of a weight, not the weight.": (
                lambda weight, low, high, noise: _below(noise * weight.sum(-1), low, high)
            ),
            "a narrow range whose middle is -1 or above has no trap at the origin: no start is lost there.": (
                lambda weight, low, high, noise: _moved(weight, noise).sum(-1) < 2 / (1 - (low + high) / 2)
            ),
            "one factor on the wrong side is not enough: the sum of the two weights decides.": (
                lambda weight, low, high, noise: _below(2 * _moved(weight, noise).amin(-1), low, high)
            ),
            "it is lost before both factors are on the wrong side: the sum of the two weights decides.": (
                lambda weight, low, high, noise: _below(2 * _moved(weight, noise).amax(-1), low, high)
            ),
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
