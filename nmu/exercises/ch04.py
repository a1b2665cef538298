"""Checks of the exercises of chapter 4, "How to measure 'learned'"."""

import torch

from nmu.exercises.check import Check

__all__ = ["CHECKS"]

STEPS = torch.tensor([0, 100, 200, 300])

SEVERAL = torch.tensor(
    [[1, 0.1, 1, 0.4, 0.1], [0.1, 0.1, 0.1, 0.4, 1], [1, 0.5, 0.1, 0.4, 1], [1, 0.1, 0.1, 0.4, 0.4]]
)


def _case(*errors: float) -> tuple:
    """One run at four logged steps."""
    return STEPS, torch.tensor(errors, dtype=torch.float64)[:, None], 1e-5


def _for_good(steps: torch.Tensor, errors: torch.Tensor, threshold: float) -> torch.Tensor:
    found = torch.full(errors.shape[1:], torch.inf, dtype=torch.float64)
    for run, column in enumerate(errors.T.tolist()):
        for step, error in zip(reversed(steps.tolist()), reversed(column), strict=True):
            if not error < threshold:
                break
            found[run] = step
    return found


def _at(steps: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    """Look up the logged step at a position; infinity one past the last."""
    return torch.cat((steps.double(), torch.tensor([torch.inf])))[position]


def _first(steps: torch.Tensor, errors: torch.Tensor, threshold: float) -> torch.Tensor:
    below = errors < threshold
    return _at(steps, torch.where(below.any(0), below.int().argmax(0), len(steps)))


def _stays(below: torch.Tensor) -> torch.Tensor:
    """Whether a run is below at this step and all later ones."""
    return below.flip(0).cumprod(0).flip(0)


CHECKS = {
    "ex-ch4-for-good": Check(
        _for_good,
        [
            _case(1, 1e-3, 1e-6, 1e-7),
            _case(1, 1e-6, 1e-3, 1e-6),
            _case(1e-6, 1e-6, 1e-7, 0),
            _case(1, 1e-6, 1e-6, 1e-3),
            _case(1, 1e-1, 1e-2, 1e-3),
            _case(1e-6, torch.nan, 1e-6, 1e-6),
            _case(1, 1e-6, 1e-7, torch.nan),
            (torch.tensor([0, 10, 1000, 5000]), SEVERAL, 0.5),
        ],
        {
            "that is the first step below the threshold; the error may rise above it again later.": _first,
            "a run that ends above the threshold gets the first step: the argmax of all-False is 0.": (
                lambda steps, errors, threshold: steps[_stays(errors < threshold).argmax(0)]
            ),
            "a run that ends above the threshold gets the last step; it is never solved for good.": (
                lambda steps, errors, threshold: steps[
                    (len(steps) - _stays(errors < threshold).sum(0)).clamp(max=len(steps) - 1)
                ]
            ),
            "NaN counts as below: any comparison with NaN is False, so its opposite is True.": (
                lambda steps, errors, threshold: _at(
                    steps, len(steps) - _stays(~(errors >= threshold)).sum(0)
                )
            ),
            "you count entries of the log; the steps at which it was written stand in `steps`.": (
                lambda steps, errors, threshold: _at(
                    torch.arange(len(steps)), len(steps) - _stays(errors < threshold).sum(0)
                )
            ),
        },
    ),
}
"""The checks, by the label of the exercise.

:meta hide-value:
"""
