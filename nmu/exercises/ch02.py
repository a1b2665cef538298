"""Checks of the exercises of chapter 2, "From gates to the NMU"."""

import torch

from nmu import functional
from nmu.exercises.check import Check

__all__ = ["CHECKS"]


class _Unit:
    """An NMU with one output that shows nothing but its outputs."""

    def __init__(self, *weights: float):
        self._weights = weights

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return functional.nmu(x, torch.tensor([self._weights]))

    def __repr__(self) -> str:
        return f"the unit of the weights {list(self._weights)}"


CHECKS = {
    "ex-gates-ask": Check(
        lambda unit, inputs: torch.tensor(unit._weights),
        [
            (_Unit(0.25), 1),
            (_Unit(0.25, 0.75), 2),
            (_Unit(0.5, 0.125, 0.9, 0.3), 4),
            (_Unit(1.0, 0.0, 1.0), 3),  # two factors are 0 where the inputs are
            (_Unit(-0.2, 1.3), 2),  # nothing clamps it
        ],
        {
            "your other inputs are 0, and their factors of 1 - W stay in the product.": (
                lambda unit, inputs: unit(torch.eye(inputs))[:, 0]
            ),
            "that is the slope at the origin: each weight times all other factors, which are not 1 there.": (
                lambda unit, inputs: (unit(torch.eye(inputs)) - unit(torch.zeros(inputs, inputs)))[:, 0]
            ),
            "you return the factor of an input of 0, and not the weight that made it.": (
                lambda unit, inputs: unit(1 - torch.eye(inputs))[:, 0]
            ),
            "you return the factor of an input of 2, and not the weight that made it.": (
                lambda unit, inputs: unit(1 + torch.eye(inputs))[:, 0]
            ),
        },
        tolerance=1e-4,
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
