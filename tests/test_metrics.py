"""The metrics by hand-made histories, the intervals by closed forms, brute force and coverage."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from nmu import metrics
from nmu.metrics import Estimate
from nmu.training import History

NAN, INF = float("nan"), float("inf")
STEPS = [0, 1000, 2000, 3000]
GAMMA_SAMPLE = stats.gamma(4, scale=2500).rvs(25, random_state=1)
BETA_SAMPLE = 0.5 * stats.beta(0.8, 40).rvs(25, random_state=1)


def history(interpolation, extrapolation, weights=None):
    """History of the given errors, one row a replica."""
    interpolation, extrapolation = torch.tensor(interpolation).T, torch.tensor(extrapolation).T
    if weights is None:
        weights = {"weight": torch.zeros(*interpolation.shape, 1, 2)}
    return History(torch.tensor(STEPS), interpolation, extrapolation, weights, interrupted=False)


@pytest.mark.parametrize(
    ("interpolation", "best"),
    [
        ([4.0, 3, 2, 1], 3),
        ([4.0, 1, 2, 3], 1),
        ([1.0, 1, 1, 1], 0),  # the first of equals
        ([NAN, 3, 2, NAN], 2),
        ([NAN, NAN, INF, 5], 3),
        ([INF, 3, NAN, INF], 1),
        ([NAN, NAN, NAN, NAN], 0),
    ],
)
def test_best_step_is_the_lowest_interpolation_error(interpolation, best):
    other = [1.0, 2, 3, 4]
    result = metrics.best_step(history([interpolation, other], [other, other]))
    assert result.tolist() == [best, 0]


@pytest.mark.parametrize(
    ("interpolation", "extrapolation", "solved", "solved_at"),
    [
        ([4.0, 3, 2, 1], [9.0, 9, 1e-6, 1e-6], True, 2000),
        ([4.0, 1, 2, 3], [9.0, 9, 1e-6, 1e-6], False, 2000),  # best step before it extrapolates
        ([4.0, 3, 2, 1], [1e-6, 9, 9, 1e-6], True, 0),  # first below the threshold counts
        ([4.0, 3, 2, 1], [9.0, 9, 9, 9], False, NAN),
        ([4.0, 3, 2, 1], [9.0, 9, 9, 1e-5], False, NAN),  # the threshold itself is not below
        ([4.0, 3, 2, 1], [NAN, 9, NAN, 1e-6], True, 3000),
        ([4.0, 3, 2, 1], [1e-6, 9, 9, NAN], False, 0),
        ([NAN, NAN, NAN, NAN], [NAN, NAN, NAN, NAN], False, NAN),
    ],
)
def test_solved_and_solved_at(interpolation, extrapolation, solved, solved_at):
    log = history([interpolation, [4.0] * 4], [extrapolation, [8.0] * 4])
    assert metrics.solved(log).tolist() == [solved, False]
    np.testing.assert_equal(metrics.solved_at(log).tolist(), [solved_at, NAN])


def test_the_threshold_can_be_chosen():
    log = history([[4.0, 3, 2, 1]], [[9.0, 0.5, 0.2, 0.1]])
    assert metrics.solved(log, threshold=0.15).tolist() == [True]
    assert metrics.solved(log, threshold=0.1).tolist() == [False]
    assert metrics.solved_at(log, threshold=0.3).tolist() == [2000]


def test_sparsity_error_is_that_of_the_best_step_over_all_units():
    first, second = torch.zeros(4, 2, 1, 2), torch.ones(4, 2, 1, 2)
    first[2, 0, 0, 1] = 0.125  # replica 0 has its best step at index 2
    second[2, 0, 0, 0] = -0.75
    first[0, 1] = 0.375  # replica 1 at index 0
    first[3] = 0.5  # nobody's best step
    log = history([[4.0, 3, 1, 2], [1.0, 2, 3, NAN]], [[9.0] * 4] * 2, {"a": first, "b": second})
    assert metrics.sparsity_error(log).tolist() == [0.25, 0.375]


@pytest.mark.parametrize(("wins", "runs"), [(0, 25), (1, 25), (13, 25), (25, 25), (1, 1), (0, 1)])
def test_success_rate_has_the_wilson_interval(wins, runs):
    estimate = metrics.success_rate([True] * wins + [False] * (runs - wins))
    z, share = stats.norm.ppf(0.975), wins / runs
    centre = (share + z**2 / (2 * runs)) / (1 + z**2 / runs)
    half = z * np.sqrt(share * (1 - share) / runs + z**2 / (4 * runs**2)) / (1 + z**2 / runs)
    assert estimate.value == share
    assert estimate.low == pytest.approx(centre - half, abs=1e-12)
    assert estimate.high == pytest.approx(centre + half, abs=1e-12)
    assert estimate.note == ""


def test_success_rate_takes_tensors_and_arrays():
    outcomes = [True, False, True, True]
    expected = metrics.success_rate(outcomes)
    assert metrics.success_rate(torch.tensor(outcomes)) == expected
    assert metrics.success_rate(np.array(outcomes)) == expected


def gamma_profile(values, means):
    """Highest Gamma log-likelihood at each mean, by brute force over the shape."""
    shape = np.exp(np.linspace(-3, 8, 4000))
    values, means = np.asarray(values), np.asarray(means)[:, None]
    scale = means / shape
    likelihood = (shape - 1) * np.log(values).sum() - values.sum() / scale
    likelihood = likelihood - len(values) * (special.gammaln(shape) + shape * np.log(scale))
    return likelihood.max(axis=1)


def beta_profile(values, means):
    """Highest Beta log-likelihood on [0, 1/2] at each mean, by brute force over the precision."""
    precision = np.exp(np.linspace(-3, 10, 4000))
    scaled, a = 2 * np.asarray(values), 2 * np.asarray(means)[:, None] * precision
    b = precision - a
    likelihood = (a - 1) * np.log(scaled).sum() + (b - 1) * np.log1p(-scaled).sum()
    return (likelihood - len(values) * special.betaln(a, b)).max(axis=1)


@pytest.mark.parametrize(
    ("function", "profile", "sample"),
    [
        (metrics.solved_at_mean, gamma_profile, GAMMA_SAMPLE),
        (metrics.solved_at_mean, gamma_profile, [1000.0, 3000.0]),
        (metrics.solved_at_mean, gamma_profile, [1000.0] * 10 + [2000.0]),
        (metrics.sparsity_error_mean, beta_profile, BETA_SAMPLE),
        (metrics.sparsity_error_mean, beta_profile, [0.1, 0.2, 0.4]),
    ],
    ids=["Gamma", "Gamma of two", "Gamma nearly equal", "Beta", "Beta of three"],
)
def test_intervals_invert_the_likelihood_ratio_test(function, profile, sample):
    estimate = function(sample)
    assert estimate.note == ""
    width = estimate.high - estimate.low
    upper = min(estimate.high + width / 2, 0.4999 if profile is beta_profile else INF)
    means = np.linspace(max(estimate.low - width / 2, width / 1000), upper, 2001)
    likelihoods = profile(sample, means)
    inside = means[likelihoods > likelihoods.max() - stats.chi2.ppf(0.95, df=1) / 2]
    # The grid's step is a thousandth of the width; its profile is right to about 1e-5.
    assert inside.min() == pytest.approx(estimate.low, abs=2e-3 * width)
    assert inside.max() == pytest.approx(estimate.high, abs=2e-3 * width)
    # The maximum is flat: 1e-5 in the likelihood is 0.3 % of the width.
    assert means[likelihoods.argmax()] == pytest.approx(estimate.value, abs=5e-3 * width)


def test_the_gamma_estimate_is_the_sample_mean():
    assert metrics.solved_at_mean(GAMMA_SAMPLE).value == pytest.approx(GAMMA_SAMPLE.mean(), rel=1e-5)


def test_the_gamma_interval_scales_with_its_unit():
    one, other = metrics.solved_at_mean(GAMMA_SAMPLE), metrics.solved_at_mean(GAMMA_SAMPLE / 1000)
    for attribute in ["value", "low", "high"]:
        thousandth = getattr(one, attribute) / 1000
        assert getattr(other, attribute) == pytest.approx(thousandth, rel=1e-5)


@pytest.mark.parametrize(
    ("function", "truth", "draw"),
    [
        (metrics.solved_at_mean, 10_000, stats.gamma(4, scale=2500)),
        (metrics.sparsity_error_mean, 0.1, stats.beta(2, 8, scale=0.5)),
    ],
    ids=["Gamma", "Beta"],
)
@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say(function, truth, draw):
    samples = draw.rvs((100, 25), random_state=2)
    covered = sum(e.low <= truth <= e.high for e in map(function, samples))
    # 95 asymptotically, about one less for 25 runs a sample; the standard deviation is 2.2.
    assert 88 <= covered <= 99


@settings(max_examples=15)
@given(st.lists(st.integers(1, 50), min_size=2, max_size=25).map(lambda n: [1000.0 * i for i in n]))
def test_estimates_lie_within_their_intervals(steps):
    for estimate in [
        metrics.solved_at_mean(steps),
        metrics.sparsity_error_mean([step / 200_000 for step in steps]),
    ]:
        assert estimate.low <= estimate.value <= estimate.high
        assert (estimate.low < estimate.high) == (len(set(steps)) > 1)


@pytest.mark.parametrize(
    ("function", "family", "edges"),
    [(metrics.solved_at_mean, "Gamma", [0.0]), (metrics.sparsity_error_mean, "Beta", [0.0, 0.5])],
)
def test_degenerate_likelihoods_fall_back_with_a_reason(function, family, edges):
    empty = function([])
    assert np.isnan([empty.value, empty.low, empty.high]).all()
    assert empty.note == "no solved run"
    assert function([0.25]) == Estimate(0.25, 0.25, 0.25, "a single solved run: observed range")
    assert function([0.25] * 3) == Estimate(0.25, 0.25, 0.25, "all solved runs equal: observed range")
    assert function([0.0] * 3).note == "all solved runs equal: observed range"
    for edge in edges:
        note = f"a value on the edge of the {family} distribution's support: observed range"
        low, high = sorted((0.25, edge))
        assert function([0.25, edge]) == Estimate((low + high) / 2, low, high, note)


def test_estimates_format_as_text():
    estimate = Estimate(0.5, 0.25, 1234.5)
    assert f"{estimate:.2f}" == "0.50 [0.25, 1234.50]"
    assert f"{estimate:,.0f}" == "0 [0, 1,234]"


@pytest.mark.parametrize(
    ("function", "values", "message"),
    [
        (metrics.solved_at_mean, [1000.0, NAN], r"steps must be finite .* got \[1000\.0, nan\]"),
        (metrics.solved_at_mean, [1000.0, INF], r"steps must be finite .* got \[1000\.0, inf\]"),
        (metrics.solved_at_mean, [1000.0, -1.0], "steps must be .* between 0 and inf"),
        (metrics.sparsity_error_mean, [0.1, NAN], r"errors must be finite .* got \[0\.1, nan\]"),
        (metrics.sparsity_error_mean, [0.1, 0.6], r"errors must be .* between 0 and 0\.5; got"),
        (metrics.sparsity_error_mean, [0.1, -0.1], r"errors must be .* between 0 and 0\.5; got"),
        (metrics.success_rate, [], "at least one run; got none"),
    ],
)
def test_bad_values_are_refused(function, values, message):
    with pytest.raises(ValueError, match=message):
        function(values)


@pytest.mark.parametrize("solved", [[1.0, NAN], [0, 1], ["True"]])
def test_outcomes_must_be_booleans(solved):
    with pytest.raises(TypeError, match="solved must hold booleans; got"):
        metrics.success_rate(solved)


def test_paired_outcomes():
    changed, before = [True, True, True, False, True, True], [True, False, False, True, False, False]
    assert metrics.paired(changed, before) == metrics.Paired(4, 1, pytest.approx(2 * 6 / 32))
    assert metrics.paired([True, False], [True, False]) == metrics.Paired(0, 0, 1)
    with pytest.raises(ValueError, match="equally many"):
        metrics.paired([True], [True, False])


def test_the_interval_of_a_mean_covers_as_often_as_it_says():
    source = np.random.default_rng(5)
    found = [metrics.mean(source.normal(3, 2, 5)) for _ in range(4_000)]
    covered = np.mean([estimate.low <= 3 <= estimate.high for estimate in found])
    assert abs(covered - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 4_000)
    assert np.mean([estimate.value for estimate in found]) == pytest.approx(3, abs=0.05)


def test_the_mean_of_a_single_run_has_no_interval():
    estimate = metrics.mean([0.25])
    assert (estimate.value, estimate.note) == (0.25, "a single run")
    assert np.isnan([estimate.low, estimate.high]).all()
    assert metrics.mean([2.0, 2.0]) == metrics.Estimate(2, 2, 2)


@pytest.mark.parametrize("values", [[], [1.0, np.nan], [np.inf]])
def test_the_mean_of_nothing_is_refused(values):
    with pytest.raises(ValueError, match="values must be finite, and one or more"):
        metrics.mean(values)
