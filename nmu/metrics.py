"""Whether a run has learned, when, how cleanly, and how sure we are.

The three metrics and their likelihoods are those of Madsen and Johansen, "Measuring Arithmetic
Extrapolation Performance", arXiv 1910.01888.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import optimize, stats
from torch import Tensor

from nmu import functional
from nmu.training import History

__all__ = [
    "Estimate",
    "Paired",
    "best_step",
    "mean",
    "paired",
    "solved",
    "solved_at",
    "solved_at_mean",
    "sparsity_error",
    "sparsity_error_mean",
    "success_rate",
]

THRESHOLD = 1e-5
"""Extrapolation error below which a run of the single-module task counts as solved."""


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval.

    Attributes
    ----------
    value, low, high : float
        The estimate and the bounds of its interval; NaN where there is nothing to estimate.
    note : str
        Empty, or why the interval is not the likelihood's.
    """

    value: float
    low: float
    high: float
    note: str = ""

    def __format__(self, spec: str) -> str:
        """Format as ``value [low, high]``, each number by ``spec``."""
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"


def best_step(history: History) -> Tensor:
    """Index, into the logged steps, of each replica's lowest interpolation error: ``(R,)``."""
    return history.interpolation_error.nan_to_num(nan=torch.inf, posinf=torch.inf).argmin(dim=0)


def solved(history: History, threshold: float | Tensor = THRESHOLD) -> Tensor:
    """Whether the extrapolation error at the best step is below ``threshold``: boolean, ``(R,)``."""
    best = best_step(history)
    return history.extrapolation_error.gather(0, best[None])[0] < threshold


def solved_at(history: History, threshold: float | Tensor = THRESHOLD) -> Tensor:
    """First logged step whose extrapolation error is below ``threshold``; NaN if none: ``(R,)``."""
    below = history.extrapolation_error < threshold
    first = history.steps[below.int().argmax(dim=0)].to(torch.float64)
    return torch.where(below.any(dim=0), first, torch.nan)


def sparsity_error(history: History) -> Tensor:
    """Largest distance of a weight from -1, 0 or 1 at the best step, over all units: ``(R,)``."""
    best = best_step(history)
    replicas = torch.arange(len(best))
    return torch.stack(
        [functional.sparsity_error(values[best, replicas]) for values in history.weights.values()]
    ).amax(dim=0)


def success_rate(solved: Sequence[bool]) -> Estimate:
    """Share of solved runs with its Wilson interval.

    Parameters
    ----------
    solved : sequence of bool
        One a run.

    Raises
    ------
    TypeError
        If an outcome is no boolean.
    ValueError
        If there is no run.

    References
    ----------
    Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    outcomes = np.asarray(solved)
    if outcomes.size == 0:
        raise ValueError("solved must hold at least one run; got none")
    if outcomes.dtype != bool:
        raise TypeError(f"solved must hold booleans; got {outcomes.dtype}")
    result = stats.binomtest(int(outcomes.sum()), outcomes.size)
    interval = result.proportion_ci(0.95, method="wilson")
    return Estimate(result.statistic, float(interval.low), float(interval.high))


@dataclass(frozen=True)
class Paired:
    """What a change did to the same replicas: how many it repaired, how many it broke.

    Attributes
    ----------
    repaired, broken : int
        Replicas that succeed with the change only, and without it only.
    p : float
        Exact McNemar test: the two-sided chance of a split at least as lopsided, if the change did nothing.
    """

    repaired: int
    broken: int
    p: float


def paired(changed: Sequence[bool], before: Sequence[bool]) -> Paired:
    """Compare outcomes replica by replica.

    Parameters
    ----------
    changed, before : sequence of bool
        Whether each replica succeeds, in the same order.

    Returns
    -------
    Paired
        The two counts and their McNemar test.

    Raises
    ------
    ValueError
        If the two are not equally long.
    """
    changed, before = np.asarray(changed, dtype=bool), np.asarray(before, dtype=bool)
    if changed.shape != before.shape:
        raise ValueError(f"outcomes must be equally many; got {changed.shape} and {before.shape}")
    repaired, broken = int((changed & ~before).sum()), int((before & ~changed).sum())
    split = repaired + broken
    return Paired(repaired, broken, float(stats.binomtest(repaired, split).pvalue) if split else 1.0)


def mean(values: Sequence[float]) -> Estimate:
    """Mean of a few runs, or of their differences, with its interval from Student's t.

    Parameters
    ----------
    values : sequence of float
        One a run.

    Raises
    ------
    ValueError
        If there is no value, or one is not finite.
    """
    values = np.asarray(values, dtype=float)
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"values must be finite, and one or more; got {values.tolist()}")
    average = float(values.mean())
    if values.size == 1:
        return Estimate(average, np.nan, np.nan, "a single run")
    half = float(stats.t.ppf(0.975, values.size - 1) * stats.sem(values))
    return Estimate(average, average - half, average + half)


def solved_at_mean(steps: Sequence[float]) -> Estimate:
    """Mean of the solved-at steps of solved runs, with its Gamma profile-likelihood interval.

    Parameters
    ----------
    steps : sequence of float
        One a solved run, in steps, not negative.

    Raises
    ------
    ValueError
        If a value is NaN, infinite or negative.
    """

    def log_likelihood(values: np.ndarray, mean: float, shape: float) -> float:
        return stats.gamma.logpdf(values, shape, scale=mean / shape).sum()

    return _mean_with_interval(_checked(steps, "steps", np.inf), np.inf, log_likelihood, "Gamma")


def sparsity_error_mean(errors: Sequence[float]) -> Estimate:
    """Mean sparsity error of solved runs, with its Beta profile-likelihood interval on [0, 0.5].

    Parameters
    ----------
    errors : sequence of float
        One a solved run, between 0 and 0.5.

    Raises
    ------
    ValueError
        If a value is NaN or outside [0, 0.5].
    """

    def log_likelihood(values: np.ndarray, mean: float, precision: float) -> float:
        mean = 2 * mean
        a, b = mean * precision, (1 - mean) * precision
        return stats.beta.logpdf(2 * values, a, b).sum()

    return _mean_with_interval(_checked(errors, "errors", 0.5), 0.5, log_likelihood, "Beta")


def _checked(values: Sequence[float], name: str, upper: float) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if not np.isfinite(values).all() or (values < 0).any() or (values > upper).any():
        raise ValueError(f"{name} must be finite and between 0 and {upper}; got {values.tolist()}")
    return values


def _mean_with_interval(
    values: np.ndarray,
    upper: float,
    log_likelihood: Callable[[np.ndarray, float, float], float],
    family: str,
) -> Estimate:
    """Invert the likelihood-ratio test of the mean, the second parameter profiled out.

    Where the likelihood is degenerate the interval is the observed range, with the reason.
    """
    if values.size == 0:
        return Estimate(np.nan, np.nan, np.nan, "no solved run")
    average = float(values.mean())
    reason = None
    if values.size < 2:
        reason = "a single solved run"
    elif np.ptp(values) <= 1e-12 * average:
        reason = "all solved runs equal"
    elif values.min() <= 0 or values.max() >= upper:
        reason = f"a value on the edge of the {family} distribution's support"
    if reason is not None:
        return Estimate(average, float(values.min()), float(values.max()), f"{reason}: observed range")

    def profile(mean: float) -> float:
        """Highest log-likelihood at this mean."""
        result = optimize.minimize_scalar(
            lambda log_second: -log_likelihood(values, mean, np.exp(log_second)),
            bounds=(-10, 40),
            method="bounded",
        )
        return -result.fun

    def mean_at(position: float) -> float:
        """Map the real line to the support: logarithm, or log-odds where it is bounded above."""
        return np.exp(position) if np.isinf(upper) else upper / (1 + np.exp(-position))

    centre = np.log(average) if np.isinf(upper) else np.log(average / (upper - average))
    best = optimize.minimize_scalar(
        lambda position: -profile(mean_at(position)), bracket=(centre - 0.1, centre + 0.1)
    )
    level = -best.fun - stats.chi2.ppf(0.95, df=1) / 2

    def crossing(direction: int) -> float:
        step = 1e-3
        while profile(mean_at(best.x + direction * step)) > level:
            step *= 2
        ends = sorted((best.x, best.x + direction * step))
        return float(mean_at(optimize.brentq(lambda p: profile(mean_at(p)) - level, *ends)))

    return Estimate(float(mean_at(best.x)), crossing(-1), crossing(1))
