"""Checks of the exercises of chapter 13, "Sequences"."""

import torch

from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _meant(read: torch.Tensor, digit_weight: float) -> torch.Tensor:
    digits = torch.arange(1, 10)
    code = 1 + (digits - 1) / digit_weight  # what a reader on the floor of the valley says
    return digits[(read[:, None] - code).abs().argmin(-1)]


def _factor(read: torch.Tensor, digit_weight: float) -> torch.Tensor:
    return 1 + digit_weight * (read - 1)


def _coded_again(read: torch.Tensor, digit_weight: float) -> torch.Tensor:
    return (1 + (read - 1) / digit_weight).round().clamp(1, 9)


def _scaled(read: torch.Tensor, digit_weight: float) -> torch.Tensor:
    return (digit_weight * read).round().clamp(1, 9)


def _unbounded(read: torch.Tensor, digit_weight: float) -> torch.Tensor:
    return _factor(read, digit_weight).round()


def _rounded_first(read: torch.Tensor, digit_weight: float) -> torch.Tensor:
    return _factor(read.round(), digit_weight).round().clamp(1, 9)


def _at_their_word(read: torch.Tensor, digit_weight: float) -> torch.Tensor:
    return read.round().clamp(1, 9)


CHECKS = {
    "ex-seq-code": Check(
        _meant,
        [
            (torch.tensor([1.0, 3.0, 17.0]), 0.5),
            (torch.tensor([1.2, 4.9, 8.6]), 1.0),
            (torch.tensor([1.3, 4.6, 5.6, 12.1, 30.2]), 0.25),
            (torch.tensor([1.9, 2.6, 3.4, 6.75]), 0.8),
            (torch.tensor([-4.0, 0.1, 21.0]), 0.5),
        ],
        {
            "this writes the digits in the code once more. Ask for the factor that the head makes of a "
            "reading.": _coded_again,
            "you scale the readings about 0. The code stretches about another point: which reading "
            "is the same at every weight?": _scaled,
            "this is the factor that the head multiplies with, and not yet a digit: which whole "
            "number from 1 to 9 is nearest?": _factor,
            "some of your digits are below 1 or above 9; the network has seen no such digit.": _unbounded,
            "you round before you decode. The digits are whole, and not the readings.": _rounded_first,
            "you take the readings at their word. The weight says how to understand them.": _at_their_word,
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
