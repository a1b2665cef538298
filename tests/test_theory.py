"""The closed forms: derived again by sympy, and measured by drawing."""

import itertools
import math

import numpy as np
import pytest
import sympy as sp
import torch

from nmu import functional, theory
from nmu.layers import NMU, StochasticNMU
from nmu.streams import ReplicaStreams
from nmu.tasks import RANGES, SingleModuleTask
from nmu.training import initialize

NOISES = [None, (1.0, 5.0), (0.2, 1.0), (1.0, 1.1), torch.linspace(0.5, 3, 7, dtype=torch.float64)]


def uniform_mean(expression, variable, low, high):
    return sp.integrate(expression, (variable, low, high)) / (high - low)


@pytest.mark.parametrize("relevant", [1, 2])
def test_expected_loss_by_symbolic_integration(relevant):
    w_1, w_2, x_1, x_2, a, b = sp.symbols("w_1 w_2 x_1 x_2 a b", real=True)
    output = (w_1 * x_1 + 1 - w_1) * (w_2 * x_2 + 1 - w_2)
    target = x_1 * x_2 if relevant == 2 else x_1
    integral = uniform_mean(uniform_mean(sp.expand((output - target) ** 2), x_1, a, b), x_2, a, b)
    values = {w_1: 0.3, w_2: 0.85, a: -2.5, b: 0.75}
    expected = [float(integral.subs(values))]
    expected += [float(sp.diff(integral, w).subs(values)) for w in (w_1, w_2)]
    weight = torch.tensor([0.3, 0.85], dtype=torch.float64)
    moments = theory.uniform_moments(-2.5, 0.75)
    loss = theory.expected_loss(weight, *moments, relevant=relevant)
    assert loss.item() == pytest.approx(expected[0], 1e-12)
    gradient = theory.expected_gradient(weight, *moments, relevant=relevant)
    assert gradient.tolist() == pytest.approx(expected[1:], 1e-12)


def test_the_origin_by_symbolic_differentiation():
    w_1, w_2, x_1, x_2, m, s, v, a, b = sp.symbols("w_1 w_2 x_1 x_2 m s v a b", real=True)
    loss = sp.expand(((w_1 * x_1 + 1 - w_1) * (w_2 * x_2 + 1 - w_2) - x_1 * x_2) ** 2)
    slope = sp.expand(sp.diff(loss, w_1).subs({w_1: 0, w_2: 0}))
    in_moments = 2 * (m - 1 + m**2 - s * m)
    by_range = {m: (a + b) / 2, s: (a**2 + a * b + b**2) / 3}
    mean = uniform_mean(uniform_mean(slope, x_1, a, b), x_2, a, b)
    assert sp.simplify(mean - in_moments.subs(by_range)) == 0
    assert sp.simplify(in_moments.subs(s, m**2 + v) + 2 * ((m - 1) ** 2 * (m + 1) + v * m)) == 0
    for low, high in [(-2, -1), (-0.5, 3), (1, 2)]:
        assert theory.origin_gradient(*theory.uniform_moments(low, high)) == pytest.approx(
            float(in_moments.subs(by_range).subs({a: low, b: high}))
        )


@pytest.mark.parametrize(("low", "high"), [(1, 5), (0.2, 1), (1, 1.0001)])
@pytest.mark.parametrize("weight", [0.001, 0.3, 0.9])
def test_effective_moments_by_symbolic_integration(low, high, weight):
    n, w, a, b = sp.symbols("n w a b", positive=True)
    effective = n * w / (n * w + 1 - w)
    numbers = {w: sp.Rational(str(weight)), a: sp.Rational(str(low)), b: sp.Rational(str(high))}
    expected = []
    for power in (1, 2):
        integrand = (effective**power).subs(numbers)
        mean = sp.Integral(integrand, (n, numbers[a], numbers[b])) / (numbers[b] - numbers[a])
        expected.append(float(mean.evalf(30)))
    found = theory.effective_moments(torch.tensor([weight], dtype=torch.float64), (float(low), float(high)))
    assert [moment.item() for moment in found] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_effective_moments_are_exact_at_both_ends(noise):
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    for moment in theory.effective_moments(ends, noise):
        assert moment.tolist() == [0, 1]


def test_effective_moments_join_where_the_series_takes_over():
    weight = torch.logspace(-8, -1, 200, dtype=torch.float64)
    first, second = theory.effective_moments(weight, (1.0, 5.0))
    nodes = 1 + 4 * (torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000
    for moment, sampled in zip((first, second), theory.effective_moments(weight, nodes), strict=True):
        torch.testing.assert_close(moment, sampled, rtol=1e-7, atol=1e-14)


def sample(noise, shape, generator):
    if isinstance(noise, torch.Tensor):
        return noise[torch.randint(len(noise), shape, generator=generator)]
    low, high = noise
    return low + (high - low) * torch.rand(shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("relevant", [1, 2, 3])
def test_expected_loss_by_drawing(noise, relevant):
    generator = torch.Generator().manual_seed(3)
    low, high, draws = -1.5, 0.7, 400_000
    weight = torch.tensor([[0.6, 0.35, 0.8]], dtype=torch.float64)
    x = low + (high - low) * torch.rand((draws, 3), generator=generator, dtype=torch.float64)
    if noise is None:
        output = functional.nmu(x, weight)
    else:
        output = functional.snmu(x, weight, sample(noise, x.shape, generator))
    squared = (output[:, 0] - x[:, :relevant].prod(-1)).square()
    expected = theory.expected_loss(weight[0], *theory.uniform_moments(low, high), noise, relevant)
    standard_error = squared.std() / math.sqrt(draws)
    assert abs(squared.mean() - expected) < 5 * standard_error


@pytest.mark.parametrize("noise", NOISES)
def test_expected_gradient_is_the_mean_of_the_units_gradients(noise):
    generator = torch.Generator().manual_seed(4)
    low, high, draws = 0.5, 2.0, 200_000
    x = low + (high - low) * torch.rand((draws, 1, 2), generator=generator, dtype=torch.float64)
    weight = torch.tensor([0.7, 0.4], dtype=torch.float64).expand(draws, 1, 2).clone().requires_grad_()
    if noise is None:
        output = functional.nmu(x, weight)
    else:
        output = functional.snmu(x, weight, sample(noise, x.shape, generator))
    loss = (output[:, 0, 0] - x.prod(-1)[:, 0]).square()
    gradients = torch.autograd.grad(loss.sum(), weight)[0][:, 0]
    expected = theory.expected_gradient(weight[0, 0], *theory.uniform_moments(low, high), noise)
    standard_error = gradients.std(0) / math.sqrt(draws)
    assert ((gradients.mean(0) - expected).abs() < 5 * standard_error).all()


def test_noise_scales_the_gradient_at_the_origin():
    origin = torch.zeros(2, dtype=torch.float64)
    for range_ in RANGES:
        moments = theory.uniform_moments(*range_.interpolation)
        for noise, mean in [(None, 1), ((1.0, 5.0), 3), ((0.2, 1.0), 0.6)]:
            found = theory.expected_gradient(origin, *moments, noise)
            assert found.tolist() == pytest.approx([theory.origin_gradient(*moments, mean)] * 2, rel=1e-6)


def test_which_origins_are_traps():
    traps = [str(r) for r in RANGES if theory.origin_is_trap(*r.interpolation)]
    assert traps == ["U[-20,-10]", "U[-2,-1]", "U[-1.2,-1.1]"]


def test_a_trap_is_a_local_minimum_within_the_box_and_no_other_origin_is():
    for range_ in RANGES:
        moments = theory.uniform_moments(*range_.interpolation)
        corner = torch.cartesian_prod(*[torch.linspace(0, 1e-4, 11, dtype=torch.float64)] * 2)
        loss = theory.expected_loss(corner, *moments)
        lowest = bool((loss[0] <= loss).all())
        assert lowest == theory.origin_is_trap(*range_.interpolation)


def corner_slope(corner, i, relevant, mean, second):
    """Return the closed form of chapter 6: the slope of the expected loss in weight i at a corner."""
    kept = {j for j, weight in enumerate(corner) if weight}
    wanted = set(range(relevant))
    of_output = second - mean if i in kept else mean - 1
    of_target = second - mean if i in wanted else mean - 1
    common, one_sided = (kept & wanted) - {i}, (kept ^ wanted) - {i}
    target = second ** len(common) * mean ** len(one_sided)
    return 2 * (second ** len(kept - {i}) * of_output - target * of_target)


@pytest.mark.parametrize(("inputs", "relevant"), [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
def test_the_slope_at_a_corner_by_symbolic_differentiation(inputs, relevant):
    m, s = sp.symbols("m s", real=True)
    x, w = sp.symbols(f"x:{inputs}", real=True), sp.symbols(f"w:{inputs}", real=True)
    error = sp.prod(b * a + 1 - b for a, b in zip(x, w, strict=True)) - sp.prod(x[:relevant])
    for corner in itertools.product((0, 1), repeat=inputs):
        at_corner = dict(zip(w, corner, strict=True))
        for i in range(inputs):
            slope = sp.Poly(sp.expand((2 * error * sp.diff(error, w[i])).subs(at_corner)), *x)
            mean = sum(
                coefficient * sp.prod((1, m, s)[power] for power in powers)
                for powers, coefficient in slope.terms()
            )
            assert sp.expand(mean - corner_slope(corner, i, relevant, m, s)) == 0


def test_the_slope_at_the_origin_for_any_number_of_inputs():
    m, s = sp.symbols("m s", real=True)
    for relevant in range(1, 5):
        slopes = [corner_slope((0,) * 6, i, relevant, m, s) for i in range(6)]
        of_relevant = 2 * ((m - 1) - (s - m) * m ** (relevant - 1))
        of_the_others = 2 * (m - 1) * (1 - m**relevant)
        expected = [of_relevant] * relevant + [of_the_others] * (6 - relevant)
        assert all(sp.expand(a - b) == 0 for a, b in zip(slopes, expected, strict=True))


CORNER_NOISES = [((1.0, 5.0), 3, math.log(5) / 4), ((0.2, 1.0), 0.6, math.log(5) / 0.8), ((2.0, 2.0), 2, 0.5)]


@pytest.mark.parametrize(("noise", "mean", "mean_of_inverse"), CORNER_NOISES)
@pytest.mark.parametrize("relevant", [1, 2, 3])
def test_noise_scales_the_slopes_at_every_corner(noise, mean, mean_of_inverse, relevant):
    corners = torch.tensor(list(itertools.product((0.0, 1.0), repeat=3)), dtype=torch.float64)
    for range_ in RANGES:
        moments = theory.uniform_moments(*range_.interpolation)
        plain = theory.expected_gradient(corners, *moments, relevant=relevant)
        by_hand = [[corner_slope(c, i, relevant, *moments) for i in range(3)] for c in corners.tolist()]
        scale = plain.abs().max().item()
        assert plain.tolist() == pytest.approx(np.array(by_hand), rel=1e-9, abs=1e-13 * scale)
        factor = torch.where(corners == 0, float(mean), mean_of_inverse)
        noisy = theory.expected_gradient(corners, *moments, noise, relevant)
        torch.testing.assert_close(noisy, factor * plain, rtol=1e-6, atol=1e-12 * scale)


def test_noise_scales_the_units_own_gradients_at_every_corner():
    generator = torch.Generator().manual_seed(7)
    draws = 200_000
    x = -2 + 3 * torch.rand((draws, 1, 3), generator=generator, dtype=torch.float64)
    noise = sample((1.0, 5.0), x.shape, generator)
    for corner in itertools.product((0.0, 1.0), repeat=3):
        weight = torch.tensor(corner, dtype=torch.float64).expand(draws, 1, 3).clone().requires_grad_()
        loss = (functional.snmu(x, weight, noise)[:, 0, 0] - x[:, 0, :2].prod(-1)).square()
        gradients = torch.autograd.grad(loss.sum(), weight)[0][:, 0]
        plain = theory.expected_gradient(weight[0, 0], *theory.uniform_moments(-2, 1), relevant=2)
        factor = torch.where(weight[0, 0] == 0, 3, math.log(5) / 4)
        standard_error = gradients.std(0) / math.sqrt(draws)
        assert ((gradients.mean(0) - factor * plain).abs() <= 5 * standard_error + 1e-12).all()


def corners_of(low, high, inputs, relevant):
    return {tuple(map(int, corner)) for corner in theory.trap_corners(low, high, inputs, relevant).tolist()}


@pytest.mark.parametrize("middle", [-3.0, -1.5, -1.1, -0.9, -0.4, 0.3, 0.9, 1.1, 4.0])
@pytest.mark.parametrize(("inputs", "relevant"), [(2, 1), (2, 2), (3, 3), (5, 2), (5, 3), (6, 4)])
def test_trap_corners_of_narrow_ranges_are_those_of_the_same_sign_and_the_wrong_size(
    middle, inputs, relevant
):
    expected = {
        corner
        for corner in itertools.product((0, 1), repeat=inputs)
        if middle < 0 and (relevant - sum(corner)) % 2 == 0 and abs(middle) ** (relevant - sum(corner)) > 1
    }
    assert corners_of(middle - 1e-3, middle + 1e-3, inputs, relevant) == expected


def test_trap_corners_of_two_inputs_are_the_origins_that_are_traps():
    for range_ in RANGES:
        trap = theory.origin_is_trap(*range_.interpolation)
        assert corners_of(*range_.interpolation, 2, 2) == ({(0, 0)} if trap else set())
    assert corners_of(-2.4, 0.6, 2, None) == {(0, 0)}, "a wide range with its middle above -1"
    assert corners_of(-2.4, 0.6, 3, 2) == set(), "a third input, to be left out, opens the way"


@pytest.mark.parametrize(
    ("low", "high", "relevant"), [(-2, -1, 2), (-1.2, -1.1, 3), (-0.7, 0.2, 2), (1, 2, 2)]
)
@pytest.mark.parametrize("noise", [None, (1.0, 5.0), (0.2, 1.0)])
def test_trap_corners_are_local_minima_within_the_cube_and_the_other_corners_are_not(
    low, high, relevant, noise
):
    traps = corners_of(low, high, 3, relevant)
    moments = theory.uniform_moments(low, high)
    steps = torch.cartesian_prod(*[torch.tensor([0, 1e-6, 1e-5], dtype=torch.float64)] * 3)[1:]
    for corner in itertools.product((0, 1), repeat=3):
        at = torch.tensor(corner, dtype=torch.float64)
        nearby = theory.expected_loss((at - steps).abs(), *moments, noise, relevant)
        higher = bool((nearby > theory.expected_loss(at, *moments, noise, relevant)).all())
        solution = corner == (1,) * relevant + (0,) * (3 - relevant)
        assert solution or higher == (corner in traps)


@pytest.mark.parametrize("interval", [(1, 5), (0.2, 1), (1, sp.Rational(36))])
def test_log_odds_shift_by_symbolic_integration(interval):
    n = sp.symbols("n", positive=True)
    expected = uniform_mean(sp.log(n), n, *map(sp.nsimplify, interval))
    assert theory.log_odds_shift(tuple(map(float, interval))) == pytest.approx(float(expected), rel=1e-12)


def test_log_odds_shift_is_the_mean_of_the_units_shifts():
    noise = torch.linspace(0.3, 4, 9, dtype=torch.float64)
    weight = torch.tensor([0.1, 0.5, 0.8], dtype=torch.float64)
    moved = functional.effective_weight(weight[:, None], noise).logit() - weight.logit()[:, None]
    assert moved.mean(1).tolist() == pytest.approx([theory.log_odds_shift(noise)] * 3)
    assert theory.log_odds_shift((3.0, 3.0)) == math.log(3)
    generator = torch.Generator().manual_seed(8)
    drawn = sample((1.0, 5.0), (200_000,), generator).log()
    assert abs(drawn.mean() - theory.log_odds_shift((1.0, 5.0))) < 5 * drawn.std() / math.sqrt(200_000)


@pytest.mark.parametrize("noise", NOISES[1:])
@pytest.mark.parametrize("relevant", [1, 2, 3])
def test_the_expected_loss_is_that_of_the_mean_weight_plus_the_mean_variance(noise, relevant):
    generator = torch.Generator().manual_seed(9)
    moments = theory.uniform_moments(-1.5, 0.7)
    weight = torch.tensor([0.6, 0.2, 0.95], dtype=torch.float64)
    at_the_mean = theory.expected_loss(theory.effective_moments(weight, noise)[0], *moments, None, relevant)
    added = theory.expected_loss(weight, *moments, noise, relevant) - at_the_mean
    x = -1.5 + 2.2 * torch.rand((400_000, 3), generator=generator, dtype=torch.float64)
    variance = theory.output_variance(weight, x, noise)
    assert abs(variance.mean() - added) < 5 * variance.std() / math.sqrt(len(x))


def test_sign_change():
    x = torch.tensor([-0.5, -1.15, -20.0], dtype=torch.float64)
    for noise in (1.0, 3.0):
        weight = theory.sign_change(x, noise)
        effective = functional.effective_weight(weight, torch.tensor(noise))
        torch.testing.assert_close(1 + effective * (x - 1), torch.zeros(3, dtype=torch.float64))


@pytest.mark.parametrize("noise", NOISES[1:])
def test_output_variance_by_drawing(noise):
    generator = torch.Generator().manual_seed(5)
    draws = 200_000
    x = torch.tensor([-1.3, 2.1, 0.4], dtype=torch.float64)
    weight = torch.tensor([0.6, 0.2, 0.95], dtype=torch.float64)
    output = functional.snmu(x.expand(draws, 3), weight[None], sample(noise, (draws, 3), generator))[:, 0]
    expected = theory.output_variance(weight, x, noise)
    assert output.var().item() == pytest.approx(expected.item(), rel=0.03)


@pytest.mark.parametrize("noise", NOISES)
def test_output_variance_vanishes_at_discrete_weights_only(noise):
    corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 2)
    x = torch.tensor([-3.0, 0.7], dtype=torch.float64)
    assert theory.output_variance(corners, x, noise).abs().max() < 1e-12
    between = theory.output_variance(torch.tensor([0.5, 1.0], dtype=torch.float64), x, noise)
    assert (between.item() > 1e-6) == (noise is not None)


def test_batch_noise_is_the_units_for_a_large_batch():
    for range_ in (RANGES[2], RANGES[4]):
        x = SingleModuleTask([range_]).interpolation_inputs(ReplicaStreams([0], "x"), 100_000)
        low, high = functional.batch_noise_bounds(x)
        assert (low.item(), high.item()) == pytest.approx(theory.batch_noise(*range_.interpolation), rel=0.01)


def initial_weights(unit, seeds):
    return initialize(unit(2, 1, batch_shape=(len(seeds),)), seeds).weight.detach()[:, 0]


def test_prediction_knows_the_two_fates():
    start = torch.tensor([[0.26, 0.26], [0.74, 0.74]])
    assert theory.predict_success(start, -1.2, -1.1, steps=2_500).tolist() == [False, True]
    assert theory.predict_success(start, -1.2, -1.1, (1.0, 5.0), steps=4_000).tolist() == [True, True]
    assert theory.predict_success(start[1:], 0.5, 1.5, relevant=1, steps=6_000).tolist() == [True]


@pytest.mark.parametrize("unit", [NMU, StochasticNMU])
def test_prediction_is_of_each_start_alone(unit):
    weight = initial_weights(unit, range(4))
    together = theory.predict_success(weight, -2, -1, steps=2_000)
    alone = [theory.predict_success(weight[i : i + 1], -2, -1, steps=2_000).item() for i in range(4)]
    assert together.tolist() == alone
    assert any(alone)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.uniform_moments(1, 1), "low < high"),
        (lambda: theory.uniform_moments(0, math.inf), "finite"),
        (lambda: theory.expected_loss(torch.ones(2), 1, 1, relevant=3), "between 1 and 2"),
        (lambda: theory.trap_corners(1, 2, 3, relevant=4), "between 1 and 3"),
        (lambda: theory.trap_corners(2, 1, 3), "low < high"),
        (lambda: theory.predict_success(torch.ones(2), 1, 2), r"\(n, I\)"),
        (lambda: theory.predict_success(torch.full((1, 2), 1.5), 1, 2), r"\[0, 1\]"),
        (lambda: theory.predict_success(torch.full((1, 2), np.nan), 1, 2), r"\[0, 1\]"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
