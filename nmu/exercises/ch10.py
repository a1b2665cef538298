"""Checks of the exercises of chapter 10, "Does it work?"."""

import math

import torch
from torch import Tensor

from nmu import metrics
from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _outcomes(*ranges: str) -> Tensor:
    """Whether each replica is solved: 1 or 0, one text a range."""
    return torch.tensor([[letter == "1" for letter in text] for text in ranges])


def _tosses(changed: Tensor, before: Tensor) -> tuple[int, int]:
    """How many seeds differ, and how many of them on the rarer side."""
    changed, before = changed.all(0), before.all(0)
    repaired, broken = int((changed & ~before).sum()), int((before & ~changed).sum())
    return repaired + broken, min(repaired, broken)


def _tail(tosses: int, most: int) -> float:
    """Chance of at most so many heads."""
    return sum(math.comb(tosses, heads) for heads in range(most + 1)) / 2**tosses


CHECKS = {
    "ex-works-seeds": Check(
        lambda changed, before: metrics.paired(changed.all(0), before.all(0)).p,
        [
            (_outcomes("11111111"), _outcomes("00000011")),
            (_outcomes("00000011"), _outcomes("11111111")),
            (_outcomes("1111111", "1111111"), _outcomes("0011111", "0001111")),
            (_outcomes("1111100", "1111111"), _outcomes("0000000", "1111111")),
            (_outcomes("1111111100"), _outcomes("0000000110")),
            (_outcomes("1110", "1110"), _outcomes("1110", "1110")),
            (_outcomes("110011"), _outcomes("001111")),
            (_outcomes("1" * 100, "1" * 100), _outcomes("0" * 5 + "1" * 95, "0" * 3 + "1" * 97)),
        ],
        {
            "each replica is a toss; the ranges of one seed are to be a single outcome.": (
                lambda changed, before: metrics.paired(changed.flatten(), before.flatten()).p
            ),
            "a seed counts as solved if any range is; every one must be.": (
                lambda changed, before: metrics.paired(changed.any(0), before.any(0)).p
            ),
            "only one side is counted: a split as lopsided the other way is missing.": (
                lambda *outcomes: _tail(*_tosses(*outcomes))
            ),
            "p exceeds 1 where the split is even: both sides then contain the middle.": (
                lambda *outcomes: 2 * _tail(*_tosses(*outcomes))
            ),
            "all seeds are tossed; those with the same outcome on both sides say nothing.": (
                lambda *outcomes: min(1, 2 * _tail(outcomes[0].shape[1], _tosses(*outcomes)[1]))
            ),
            "only the split that was found is counted; more lopsided ones belong to the tail as well.": (
                lambda *outcomes: min(1, 2 * math.comb(*_tosses(*outcomes)) / 2 ** _tosses(*outcomes)[0])
            ),
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
