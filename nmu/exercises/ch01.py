"""Checks of the exercises of chapter 1, "Why a network cannot multiply"."""

import torch

from nmu.exercises.check import Check

__all__ = ["CHECKS"]


def _final_slope(A, B, c, start, direction):
    """Difference of two outputs beyond the last kink, which the exercise does without."""
    level, slope = B @ start + c, B @ direction
    kinks = -level[slope != 0] / slope[slope != 0]
    beyond = 1 + max([0.0, *kinks.tolist()])
    near, far = (A @ (level + t * slope).clamp(min=0) for t in (beyond, beyond + 1))
    return far - near


def _ray(A, B, c, start, direction):
    return tuple(torch.tensor(value, dtype=torch.float64) for value in (A, B, c, start, direction))


CHECKS = {
    "ex-why-final-slope": Check(
        _final_slope,
        [
            _ray([2.0], [[3.0]], [1.0], [0.0], [1.0]),
            _ray([2.0], [[3.0]], [1.0], [0.0], [-1.0]),  # on at the start, off for good
            _ray([2.0], [[3.0]], [-30.0], [0.0], [2.0]),  # off at the start, on for good
            _ray([1.0, -2.0], [[1.0, 0.0], [0.5, -1.0]], [0.5, 4.0], [1.0, 2.0], [3.0, 4.0]),
            _ray(
                [5.0, 1.0], [[1.0, -1.0], [1.0, 1.0]], [2.0, 0.0], [0.0, 0.0], [1.0, 1.0]
            ),  # one never changes
            _ray([1.0, 1.0], [[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0], [0.0, 0.0], [1.5, 0.0]),
        ],
        {
            "you count every hidden unit; some are off far out, and a unit that is off has no slope.": (
                lambda A, B, c, start, direction: A @ (B @ direction)
            ),
            "you count the units that are on at the start; on the way some go off, and others on.": (
                lambda A, B, c, start, direction: A @ ((B @ start + c > 0) * (B @ direction))
            ),
            "you put the direction into the network, biases and all; a bias moves a kink along the ray.": (
                lambda A, B, c, start, direction: A @ (B @ direction + c).clamp(min=0)
            ),
            "you divide by the length of the direction; the slope in t is wanted, and t is no length.": (
                lambda A, B, c, start, direction: A @ (B @ direction).clamp(min=0) / direction.norm()
            ),
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
