"""Checks of the exercises of chapter 14, "What the upstream network learned"."""

from functools import partial

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components

from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _private_code(
    pairs: torch.Tensor,
    c: float,
    *,
    zeros: bool = False,
    loops: bool = True,
    each_part: bool = True,
    alone: bool = True,
) -> torch.Tensor:
    """Find the readings from the graph with two nodes a digit, one for its ratio and one for the inverse."""
    lines = np.zeros((20, 20))
    for a, b in pairs.tolist():
        if (zeros or (a and b)) and (loops or a != b):
            lines[a, 10 + b] = lines[b, 10 + a] = 1
    _, node = connected_components(lines, directed=False)
    _, part = connected_components(lines[:10, 10:], directed=False)
    free = node[:10] != node[10:]
    if not each_part:
        free[:] = free[1:].all()
    readings = torch.arange(10, dtype=torch.float64)
    for digit in range(1, 10):
        smallest = next(other for other in range(1, 10) if part[other] == part[digit])
        if free[digit] and (alone or (part == part[digit]).sum() > 1):
            readings[digit] *= c if node[digit] == node[smallest] else 1 / c
    return readings[1:]


def _two_sides(pairs: torch.Tensor, c: float) -> torch.Tensor:
    """Give every digit a side, whether or not the lines agree with it."""
    sides: dict[int, int] = {}
    for smallest in range(1, 10):
        reached = {} if smallest in sides else {smallest: 1}
        while reached:
            sides |= reached
            lines = [line for pair in pairs.tolist() if all(pair) for line in (pair, pair[::-1])]
            reached = {b: -sides[a] for a, b in lines if a in reached and b not in sides}
    return torch.tensor([digit * c ** sides[digit] for digit in range(1, 10)], dtype=torch.float64)


def _upside_down(pairs: torch.Tensor, c: float) -> torch.Tensor:
    return _private_code(pairs, 1 / c)


_with_zeros = partial(_private_code, zeros=True)
_without_loops = partial(_private_code, loops=False)
_all_or_nothing = partial(_private_code, each_part=False)
_only_with_partners = partial(_private_code, alone=False)


def _pairs(*pairs: tuple[int, int]) -> torch.Tensor:
    return torch.tensor(pairs, dtype=torch.int64)


_ACROSS = torch.cartesian_prod(torch.arange(1, 5), torch.arange(5, 10))

CHECKS = {
    "ex-private-code": Check(
        _private_code,
        [
            (_pairs(*((a, a + 1) for a in range(1, 9))), 1.1),
            (_ACROSS, 1.5),
            (torch.cat((_ACROSS.flip(1), _pairs((9, 9)))), 1.5),
            (_pairs((2, 3), (3, 5), (5, 2), (7, 8), (8, 1)), 2.0),
            (_pairs((2, 3), (3, 2), (4, 4), (4, 9)), 0.5),
            (_pairs((0, 2), (2, 3), (3, 0), (0, 0), (6, 5)), 1.25),
            (_pairs((9, 1), (9, 2), (8, 2), (8, 3), (8, 1)), 3.0),
        ],
        {
            "you read a digit without partners as it is. No label holds it, so it is a part of its own, "
            "with itself as the smallest digit.": _only_with_partners,
            "one odd cycle makes you read all digits right. It speaks for its own part.": _all_or_nothing,
            "you never ask whether a line runs within a side. If a part has the pair 9 · 9, what may its "
            "9 be read as?": _two_sides,
            "you leave out pairs of a digit with itself. How long is such a cycle?": _without_loops,
            "you take a pair with a 0 for a line. Its product is 0, whatever is read beside it.": _with_zeros,
            "your sides are exchanged: the smallest digit of a part is to be read c times too large.": (
                _upside_down
            ),
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
