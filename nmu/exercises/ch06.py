"""Checks of the exercises of chapter 6, "Input bias: the landscape"."""

import torch

from nmu import theory
from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _share(mean: float, low: float, high: float) -> float:
    """Mean, over the first weight, of the share of second weights below the line."""
    if mean >= -1:
        return 0.0
    first = low + (high - low) * (torch.arange(100_000, dtype=torch.float64) + 0.5) / 100_000
    second = 2 * theory.sign_change(mean) - first
    return ((second.clamp(low, high) - low) / (high - low)).mean().item()


def _side(mean: float, low: float, high: float) -> float:
    """How far along a side of the box the line cuts it, as a share of the side."""
    return 2 * (theory.sign_change(mean) - low) / (high - low)


def _always_trapped(mean: float, low: float, high: float) -> float:
    side = min(max(_side(mean, low, high), 0), 2)
    return side**2 / 2 if side <= 1 else 1 - (2 - side) ** 2 / 2


def _crossing(mean: float, low: float, high: float) -> float:
    share = (theory.sign_change(mean) - low) / (high - low)
    return 0.0 if mean >= -1 else min(max(share, 0), 1) ** 2


CHECKS = {
    "ex-landscape-share": Check(
        _share,
        [
            (-1.5, 0.25, 0.75),
            (-2.0, 0.0, 1.0),
            (-5.0, 0.25, 0.75),
            (-1.15, 0.5, 1.0),
            (-1.15, 0.0, 0.5),
            (-1.5, 0.0, 0.3),
            (-0.5, 0.25, 0.75),
            (-15.0, 0.0, 0.1),
        ],
        {
            "the line lies below the box in some cases and cuts off nothing; a square hides the sign.": (
                lambda mean, low, high: 0.0 if mean >= -1 else min(_side(mean, low, high) ** 2 / 2, 1)
            ),
            "once the line has passed two corners of the box, what it cuts off is no triangle any more.": (
                lambda mean, low, high: 0.0 if mean >= -1 else min(max(_side(mean, low, high), 0) ** 2 / 2, 1)
            ),
            "for a mean of -1 or above there is no trap at the origin.": _always_trapped,
            "these are the starts with both weights below c; the edge is a line of constant sum.": _crossing,
            "this is the area of what is cut off; its share of the box is asked for.": (
                lambda mean, low, high: _share(mean, low, high) * (high - low) ** 2
            ),
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
