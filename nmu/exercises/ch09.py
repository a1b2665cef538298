"""Checks of the exercises of chapter 9, "Choosing the noise"."""

import torch

from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _mean_rule(x: torch.Tensor) -> torch.Tensor:
    noise = torch.ones_like(x)
    batches = x.reshape(-1, *x.shape[-2:])
    for batch, values in zip(batches, noise.view_as(batches), strict=True):
        mean = batch.mean().item()
        values.fill_(min(max(-3 / mean, 1), 25) if mean < 0 else 1)
    return noise


def _rule(x: torch.Tensor, middle: torch.Tensor, low: float = 1, high: float = 25) -> torch.Tensor:
    return torch.where(middle < 0, (3 / middle.abs()).clamp(low, high), 1.0).expand_as(x)


def _batch_mean(x: torch.Tensor) -> torch.Tensor:
    return x.mean((-2, -1), keepdim=True)


CHECKS = {
    "ex-noise-mean": Check(
        _mean_rule,
        [
            (torch.tensor([[-1.0, -2.0], [-1.5, -1.5]]),),
            (torch.tensor([[1.0, 2.0], [1.5, 1.5]]),),
            (torch.tensor([[-3.0, -6.0], [-4.5, -4.5]]),),
            (torch.tensor([[-0.01, -0.03], [-0.02, -0.02]]),),
            (torch.tensor([[-4.0, 1.0], [-2.0, 1.0]]),),
            (torch.tensor([[-1.0, 1.0], [2.0, -2.0]]),),
            (torch.tensor([[[-1.0, -2.0], [-1.5, -1.5]], [[1.0, 2.0], [3.0, 2.0]]]),),
        ],
        {
            "the mean is taken over all replicas together; each has a batch, and so a mean, of its own.": (
                lambda x: _rule(x, x.mean())
            ),
            "each row has a mean of its own; the rule asks for that of the whole batch.": (
                lambda x: _rule(x, x.mean(-1, keepdim=True))
            ),
            "each input has a mean of its own; the rule asks for that of the whole batch.": (
                lambda x: _rule(x, x.mean(-2, keepdim=True))
            ),
            "each element is judged by itself; sign and size are those of the batch's mean.": (
                lambda x: _rule(x, x)
            ),
            "the size is that of the mean, but the sign is asked of each element.": (
                lambda x: torch.where(x < 0, (3 / _batch_mean(x).abs()).clamp(1, 25), 1.0)
            ),
            "far below 0 the noise falls below 1, and shifts towards the trap.": (
                lambda x: _rule(x, _batch_mean(x), low=0)
            ),
            "close to 0 the noise grows without a bound.": (
                lambda x: _rule(x, _batch_mean(x), high=torch.inf)
            ),
            "batches with a positive mean are shifted too; they are to be left alone.": (
                lambda x: (3 / _batch_mean(x).abs()).clamp(1, 25).expand_as(x)
            ),
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
