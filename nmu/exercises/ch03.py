"""Checks of the exercises of chapter 3, "The NMU derived"."""

import torch

from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _all_but_one(factors: torch.Tensor) -> torch.Tensor:
    others = 1 - torch.eye(factors.shape[-1], dtype=factors.dtype)
    return torch.where(others.bool(), factors[..., None, :], 1.0).prod(-1)


CHECKS = {
    "ex-ch3-all-but-one": Check(
        _all_but_one,
        [
            (torch.tensor([2.0, 3.0, 5.0]),),
            (torch.tensor([[1.5, -2.0], [0.5, 4.0]]),),
            (torch.tensor([0.0, 3.0, 5.0]),),
            (torch.tensor([0.0, 3.0, 0.0, 2.0]),),
            (torch.tensor([7.0]),),
        ],
        {
            "you divide by each factor; a factor of 0 makes that 0 / 0.": lambda factors: (
                factors.prod(-1, keepdim=True) / factors
            ),
            "each entry contains its own factor: shift the cumulative products by one.": lambda factors: (
                factors.cumprod(-1) * factors.flip(-1).cumprod(-1).flip(-1)
            ),
            "only the factors to the left are multiplied; those to the right are missing.": lambda factors: (
                torch.cat((torch.ones_like(factors[..., :1]), factors[..., :-1].cumprod(-1)), -1)
            ),
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
