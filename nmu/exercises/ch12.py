"""Checks of the exercises of chapter 12, "Overlapping digits"."""

import torch
from torch.nn import functional as F

from nmu.exercises.check import Check

__all__ = ["CHECKS"]

_ROW = torch.tensor([0.0, 0.2, 1.0, 0.6, 0.3], dtype=torch.float64)


def _look(row: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    grid = torch.stack((places, torch.zeros_like(places)), -1).view(1, 1, -1, 2)
    return F.grid_sample(row.view(1, 1, 1, -1), grid, align_corners=True).flatten()


def _interpolated(row: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    """Between positions 0 and ``len(row) - 1``; the outermost pixels go on beyond."""
    position = position.clamp(0, len(row) - 1)
    left = position.floor().clamp(max=len(row) - 2).long()
    return torch.lerp(row[left], row[left + 1], position - left)


def _position(row: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return (places + 1) * (len(row) - 1) / 2


def _edges(row: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return _interpolated(F.pad(row, (1, 1)), (places + 1) * len(row) / 2 + 0.5)


def _repeated(row: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return _interpolated(row, _position(row, places))


def _nearest(row: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    position = (_position(row, places) + 1).clamp(0, len(row) + 1)
    return F.pad(row, (1, 1))[position.round().long()]


def _backwards(row: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    padded, position = F.pad(row, (1, 1)), _position(row, places) + 1
    return _interpolated(padded, 2 * position.floor() + 1 - position)


def _within(row: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    position = _position(row, places)
    inside = (position >= 0) & (position <= len(row) - 1)
    return torch.where(inside, _interpolated(row, position), 0.0)


def _matches(read: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Which readings are right, in each order: (2, n, 2)."""
    return (read.round() == torch.stack((labels, labels.flip(1)))).double()


def _read_right(read: torch.Tensor, labels: torch.Tensor) -> float:
    right = [0, 0]
    for numbers, digits in zip(read.round().tolist(), labels.tolist(), strict=True):
        for order in range(2):
            right[order] += sum(numbers[t] == digits[t ^ order] for t in range(2))
    return max(right) / read.numel()


def _each_canvas(read: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return _matches(read, labels).mean(2).max(0).values.mean()


def _each_transformer(read: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return _matches(read, labels).mean(1).max(0).values.mean()


def _either_digit(read: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return _matches(read, labels).max(0).values.mean()


def _first_order(read: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return _matches(read, labels)[0].mean()


def _both(read: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return _matches(read, labels).prod(2).mean(1).max()


_LABELS = torch.tensor([[3, 5], [7, 2], [4, 4], [0, 8], [9, 1]])
_NEAR = torch.tensor([[0.2, -0.3], [0.4, 0.1], [-0.4, 0.3], [0.1, -0.2], [-0.1, 0.4]])

CHECKS = {
    "ex-overlap-row": Check(
        _look,
        [
            (_ROW, torch.tensor([-0.75, 0.1, 0.6], dtype=torch.float64)),
            (torch.tensor([2.0, 4.0], dtype=torch.float64), torch.tensor([-0.5], dtype=torch.float64)),
            (_ROW, torch.tensor([-1.0, -0.5, 0.0, 0.5, 1.0], dtype=torch.float64)),
            (_ROW, torch.tensor([1.2, 1.45], dtype=torch.float64)),
            (_ROW, torch.tensor([-40.0, -1.5, 1.6, 7.0], dtype=torch.float64)),
        ],
        {
            "-1 and 1 are the outer edges of your row; they should be the centres of its outermost "
            "pixels. How many steps from pixel to pixel lie between them?": _edges,
            "you repeat the outermost pixels beyond the ends, where there is empty paper.": _repeated,
            "you cut to 0 at the outermost centres. The paper beyond is a pixel of value 0, and between "
            "it and the last one of the row the value is interpolated as elsewhere.": _within,
            "you take the nearest pixel; between pixels the value has to change little by little.": _nearest,
            "your two shares are exchanged: the nearer pixel should have the larger one.": _backwards,
        },
    ),
    "ex-overlap-order": Check(
        _read_right,
        [
            (_LABELS + _NEAR, _LABELS),
            (_LABELS.flip(1) + _NEAR, _LABELS),
            (torch.tensor([[3.0, 5.0], [2.0, 7.0], [8.0, 0.0]]), torch.tensor([[3, 5], [7, 2], [0, 8]])),
            (_LABELS[:, :1] + _NEAR, _LABELS),
            (torch.tensor([[3.2, 6.0], [7.0, 1.8], [5.0, 4.0], [1.0, 1.0]]), _LABELS[:4]),
        ],
        {
            "you choose the order for each canvas. A network has one order for all of them; choosing "
            "again and again flatters readings that are right by chance.": _each_canvas,
            "only the order in which transformer 1 reads channel 1 counts for you. A network may have "
            "settled on the other.": _first_order,
            "each transformer chooses its channel by itself, so two that read the same digit do as well "
            "as two that share the digits out. The order is one choice for both.": _each_transformer,
            "you count canvases on which both digits are right; count the readings, one by one.": _both,
            "you count a reading if it is right in either order. What does a network score that names "
            "the digit of channel 1 twice?": _either_digit,
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
