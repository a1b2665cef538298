"""Checks of the exercises of chapter 7, "Inductive bias: stacked units"."""

import itertools
from collections.abc import Callable, Iterable

import torch

from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _any_signs(rows: int) -> Iterable[tuple[int, ...]]:
    return itertools.product((1, -1), repeat=rows)


def _even_signs(rows: int) -> Iterable[tuple[int, ...]]:
    return (signs for signs in _any_signs(rows) if signs.count(-1) % 2 == 0)


def _errors(signs: Callable, orders: Callable = itertools.permutations) -> Callable:
    """Return what gives the distances of all weights from all solutions, ``(solutions, O, I)``."""

    def errors(weight: torch.Tensor, subsets: torch.Tensor) -> torch.Tensor:
        chosen = [torch.tensor(row_signs)[:, None] for row_signs in signs(len(weight))]
        return (
            weight - torch.stack([s * torch.stack(rows) for rows in orders(tuple(subsets)) for s in chosen])
        ).abs()

    return errors


def _nearest(*options: Callable) -> Callable:
    return lambda weight, subsets: _errors(*options)(weight, subsets).amax((1, 2)).amin()


TWO = torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
THREE = torch.tensor([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])

CHECKS = {
    "ex-stacked-distance": Check(
        _nearest(_even_signs),
        [
            (TWO, TWO),
            (TWO.flip(0), TWO),
            (torch.tensor([[-0.875, -1.0, 0.0], [0.0, -1.0, -1.0]]), TWO),
            (torch.tensor([[1.0, 1.0, 0.0], [0.0, -1.0, -1.0]]), TWO),
            (torch.tensor([[0.75, 0.0, -0.5], [1.0, 1.0, 1.0]]), TWO),
            (torch.tensor([1.0, -1.0, -1.0])[:, None] * THREE[[1, 2, 0]], THREE),
            (-THREE, THREE),
            (0.5 * THREE - 0.25, THREE),
        ],
        {
            "the rows of the NAU may come in another order than the subsets.": (
                _nearest(_even_signs, lambda subsets: [subsets])
            ),
            "a solution may have minus signs: ask which of them the product does not show.": (
                _nearest(lambda rows: [(1,) * rows])
            ),
            "you flip all rows or none; look at three rows, where that is not what keeps the product.": (
                _nearest(lambda rows: [(1,) * rows, (-1,) * rows])
            ),
            "you let each row choose its sign; some of those choices turn the sign of the product.": (
                _nearest(_any_signs)
            ),
            "each weight is compared with the solution nearest to it; all must be near the same one.": (
                lambda weight, subsets: _errors(_even_signs)(weight, subsets).amin(0).max()
            ),
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
