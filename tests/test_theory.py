"""The closed forms: derived again by sympy, and measured by drawing."""

import math

import numpy as np
import pytest
import sympy as sp
import torch

from nmu import functional, theory
from nmu.layers import NMU, StochasticNMU
from nmu.tasks import RANGES, ReplicaStreams, SingleModuleTask
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
    assert theory.predict_success(start, -1.2, -1.1, steps=6_000).tolist() == [False, True]
    assert theory.predict_success(start, -1.2, -1.1, (1.0, 5.0), steps=6_000).tolist() == [True, True]
    assert theory.predict_success(start[1:], 0.5, 1.5, relevant=1, steps=9_000).tolist() == [True]


@pytest.mark.parametrize("unit", [NMU, StochasticNMU])
def test_prediction_is_of_each_start_alone(unit):
    weight = initial_weights(unit, range(6))
    together = theory.predict_success(weight, -2, -1, steps=3_000)
    alone = [theory.predict_success(weight[i : i + 1], -2, -1, steps=3_000).item() for i in range(6)]
    assert together.tolist() == alone


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.uniform_moments(1, 1), "low < high"),
        (lambda: theory.uniform_moments(0, math.inf), "finite"),
        (lambda: theory.expected_loss(torch.ones(2), 1, 1, relevant=3), "between 1 and 2"),
        (lambda: theory.predict_success(torch.ones(2), 1, 2), r"\(n, I\)"),
        (lambda: theory.predict_success(torch.full((1, 2), 1.5), 1, 2), r"\[0, 1\]"),
        (lambda: theory.predict_success(torch.full((1, 2), np.nan), 1, 2), r"\[0, 1\]"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
