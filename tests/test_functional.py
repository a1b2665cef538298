"""The pure functions: against NumPy oracles, by finite differences, by properties, at bad input."""

import numpy as np
import oracles
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from nmu import functional

NUMBERS = st.integers(-10_000, 10_000).map(lambda thousandths: thousandths / 1000)
PARTS = st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)
NOISES = st.integers(1, 100_000).map(lambda thousandths: thousandths / 1000)
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def table(elements, rows, columns):
    """Strategy for a float64 tensor ``(rows, columns)``."""
    row = st.lists(elements, min_size=columns, max_size=columns)
    return st.lists(row, min_size=rows, max_size=rows).map(lambda t: torch.tensor(t).double())


@st.composite
def problems(draw, weights=PARTS):
    """Inputs, weights and positive noise whose shapes fit together."""
    n, in_features, out_features = (draw(st.integers(1, high)) for high in (4, 6, 3))
    x = draw(table(NUMBERS, n, in_features))
    weight = draw(table(weights, out_features, in_features))
    return x, weight, draw(table(NOISES, n, in_features))


def with_zeros(n=6, in_features=3, out_features=2):
    """A problem with zero inputs, and with one, two and all factors of a product zero.

    Row 0 holds plain numbers; in row 1 an input that weight 1 selects is 0; in rows 2 and 3 two and
    all inputs are 0; in rows 4 and 5 a weight of 1/2 meets an input of -1.
    """
    generator = torch.Generator().manual_seed(7)
    draw = dict(generator=generator, dtype=torch.float64)
    x = 4 * torch.rand(n, in_features, **draw) - 2
    x[1, 0] = 0
    x[2, :2] = 0
    x[3] = 0
    x[4, 1] = -1
    x[5, :2] = torch.tensor([0.0, -1.0])
    weight = torch.rand(out_features, in_features, **draw)
    weight[0, :2] = torch.tensor([1.0, 0.5])
    weight[1, 0] = 0
    noise = 1 + 4 * torch.rand(n, in_features, **draw)
    noise[4:] = 1  # keeps the factor of weight 1/2 and input -1 at exactly 0
    return x, weight, noise


def arguments(name, x, weight, noise):
    return (x, weight, noise) if name == "snmu" else (x, weight)


UNITS = pytest.mark.parametrize("name", ["nmu", "snmu", "nau"])


@UNITS
def test_values_and_gradients_match_the_oracle(name):
    args = arguments(name, *with_zeros())
    upstream = torch.randn(6, 2, dtype=torch.float64)
    leaves = [tensor.clone().requires_grad_() for tensor in args]
    values = getattr(functional, name)(*leaves)
    (upstream * values).sum().backward()
    expected, gradients = getattr(oracles, name)(*(t.numpy() for t in args), upstream.numpy())
    # About 20 roundings of numbers below 100; 1e-12 is 50 times that in float64.
    np.testing.assert_allclose(values.detach().numpy(), expected, rtol=1e-12, atol=1e-12)
    for leaf, gradient in zip(leaves, gradients, strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), gradient, rtol=1e-12, atol=1e-12)


def test_the_problem_with_zeros_has_zero_factors():
    x, weight, noise = with_zeros()
    for inputs in (x, x * noise):
        factors = weight * inputs[:, None] + 1 - weight
        zeros = (factors == 0).sum(dim=-1)[:, 0].tolist()
        assert zeros == [0, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("name", ["nmu", "snmu"])
def test_gradient_at_a_single_zero_factor_is_the_product_of_the_others(name):
    x = torch.tensor([[0.0, 3.0, 5.0]], dtype=torch.float64, requires_grad=True)
    noise = torch.tensor([[2.0, 3.0, 4.0]], dtype=torch.float64)
    unit = getattr(functional, name)
    value = unit(*arguments(name, x, torch.ones(1, 3, dtype=torch.float64), noise))
    value.sum().backward()
    assert value.item() == 0
    assert x.grad.tolist() == [[15, 0, 0]]


@UNITS
@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_derivatives_agree_with_finite_differences(name, check):
    leaves = [t.clone().requires_grad_() for t in arguments(name, *with_zeros())]
    assert check(getattr(functional, name), leaves)


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_regulariser_derivatives_agree_with_finite_differences(check):
    # Away from 0, 1/2 and 1, where the regulariser has its kinks.
    weight = torch.tensor([[[0.1, -0.3, 0.7]], [[-0.9, 0.4, 0.2]]], dtype=torch.float64)
    assert check(functional.sparsity_regularizer, weight.requires_grad_())


@UNITS
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_is_kept_and_accuracy_is_that_of_the_dtype(name, dtype):
    args = [tensor.to(dtype) for tensor in arguments(name, *with_zeros())]
    values = getattr(functional, name)(*args)
    exact = [tensor.double().numpy() for tensor in args]
    expected, _ = getattr(oracles, name)(*exact, np.ones((6, 2)))
    assert values.dtype == dtype
    # At most 30 roundings, of numbers up to 10.
    tolerance = 300 * torch.finfo(dtype).eps
    np.testing.assert_allclose(values.double().numpy(), expected, rtol=0, atol=tolerance)


@UNITS
def test_arguments_are_left_alone(name):
    args = arguments(name, *with_zeros())
    copies = [tensor.clone() for tensor in args]
    leaves = [tensor.requires_grad_() for tensor in args]
    getattr(functional, name)(*leaves).sum().backward()
    assert all(tensor.equal(copy) for tensor, copy in zip(args, copies, strict=True))


def test_regularisers_and_bounds_leave_their_arguments_alone():
    weight = torch.randn(3, 2, 4)
    copy = weight.clone()
    functional.sparsity_regularizer(weight)
    functional.sparsity_error(weight)
    functional.batch_noise_bounds(weight)
    assert weight.equal(copy)


@UNITS
def test_memory_layout_does_not_matter(name):
    args = [torch.rand(4, 7, 5), torch.rand(4, 3, 5), 1 + torch.rand(4, 7, 5)]
    strided = [torch.stack([t.mT, t.mT], dim=-1)[..., 0].mT for t in args]
    assert not any(tensor.is_contiguous() for tensor in strided)
    unit = getattr(functional, name)
    assert unit(*arguments(name, *strided)).equal(unit(*arguments(name, *args)))


@UNITS
@pytest.mark.parametrize("batch_shape", [(), (3,), (2, 3)])
def test_a_batch_of_replicas_equals_a_loop(name, batch_shape):
    args = arguments(
        name,
        torch.randn(*batch_shape, 50, 3, dtype=torch.float64),
        torch.rand(*batch_shape, 2, 3, dtype=torch.float64),
        1 + torch.rand(*batch_shape, 50, 3, dtype=torch.float64),
    )
    unit = getattr(functional, name)
    together = unit(*args)
    assert together.shape == (*batch_shape, 50, 2)
    for index in np.ndindex(*batch_shape):
        alone = unit(*(tensor[index] for tensor in args))
        if name == "nau":  # a matrix product may sum in another order when batched
            torch.testing.assert_close(together[index], alone, rtol=1e-14, atol=1e-14)
        else:
            assert together[index].equal(alone)


@pytest.mark.parametrize("name", ["nmu", "nau"])
def test_leading_dimensions_broadcast(name):
    x, weight = torch.randn(7, 3), torch.rand(4, 2, 3)
    unit = getattr(functional, name)
    repeated = unit(x.expand(4, 7, 3), weight)
    torch.testing.assert_close(unit(x, weight), repeated)


@given(problems(weights=st.sampled_from([0, 1])), st.sampled_from(DTYPES))
@example((torch.tensor([[20.0, -30, -7]]), torch.ones(1, 3), torch.ones(1, 3)), torch.float64)
def test_discrete_weights_select_exactly(problem, dtype):
    x, weight, noise = (tensor.to(dtype) for tensor in problem)
    expected = torch.ones(len(x), len(weight), dtype=dtype)
    for o, row in enumerate(weight.bool().tolist()):
        for column, selected in zip(x.unbind(-1), row, strict=True):
            if selected:
                expected[:, o] *= column
    assert functional.nmu(x, weight).equal(expected)
    assert functional.snmu(x, weight, noise).equal(expected)


@given(problems())
def test_snmu_agrees_with_its_definition(problem):
    x, weight, noise = problem
    values = functional.snmu(x, weight, noise)
    expected, _ = oracles.snmu(*(t.numpy() for t in problem), np.ones(values.shape))
    # The definition cancels digits where W n x is close to W - 1; each of six factors is below 11
    # after division, so an error of 1e-13 in one of them grows to at most 1e-13 * 6 * 11**5.
    np.testing.assert_allclose(values.numpy(), expected, rtol=1e-12, atol=1e-7)


@given(problems())
def test_without_noise_the_snmu_is_the_nmu(problem):
    x, weight, _ = problem
    assert functional.effective_weight(weight, torch.ones_like(weight)).allclose(weight, rtol=1e-15)
    values = functional.snmu(x, weight, torch.ones_like(x))
    torch.testing.assert_close(values, functional.nmu(x, weight), rtol=1e-12, atol=1e-7)


@given(PARTS, NOISES)
def test_the_odds_of_the_effective_weight_are_scaled_by_the_noise(weight, noise):
    args = torch.tensor([weight, noise], dtype=torch.float64)
    effective = functional.effective_weight(*args)
    assert 0 <= effective <= 1
    if 0 < weight < 1:
        odds = noise * weight / (1 - weight)
        # 1 - V loses digits in proportion to the odds, which reach 1e5: some 1e-16 * 1e5.
        assert (effective / (1 - effective)).item() == pytest.approx(odds, rel=1e-10)
    else:
        assert effective.item() == weight


@given(problems(), st.data())
def test_the_order_of_the_inputs_does_not_matter(problem, data):
    x, weight, noise = problem
    order = data.draw(st.permutations(range(x.shape[-1])))
    for name in ["nmu", "snmu"]:
        unit = getattr(functional, name)
        values = unit(*arguments(name, x, weight, noise))
        shuffled = unit(*arguments(name, *(tensor[:, order] for tensor in problem)))
        # The same six factors multiplied in another order: ten roundings at most.
        torch.testing.assert_close(shuffled, values, rtol=1e-14, atol=0)


@given(table(st.integers(-1000, 1000).map(lambda thousandths: thousandths / 1000), 2, 3))
def test_sparsity_is_zero_only_at_discrete_weights(weight):
    discrete = bool(torch.isin(weight, torch.tensor([-1.0, 0.0, 1.0])).all())
    regularizer = functional.sparsity_regularizer(weight)
    error = functional.sparsity_error(weight)
    distances = [min(abs(w), abs(1 - abs(w))) for w in weight.flatten().tolist()]
    assert (regularizer == 0) == (error == 0) == discrete
    assert 0 <= regularizer <= error <= 0.5
    assert error.item() == max(distances)
    assert regularizer.item() == pytest.approx(sum(distances) / 6, rel=1e-14)


def test_sparsity_is_one_value_a_replica():
    weight = torch.tensor([[[0.5, 1.0]], [[0.0, 0.1]], [[-0.9, -0.3]]], dtype=torch.float64)
    expected = torch.tensor([0.25, 0.05, 0.2], dtype=torch.float64)
    torch.testing.assert_close(functional.sparsity_regularizer(weight), expected)
    expected = torch.tensor([0.5, 0.1, 0.3], dtype=torch.float64)
    torch.testing.assert_close(functional.sparsity_error(weight), expected)


def test_batch_noise_bounds_follow_each_replicas_deviation():
    x = torch.randn(3, 8, 2, dtype=torch.float64, requires_grad=True)
    low, high = functional.batch_noise_bounds(x)
    deviations = x.detach().numpy().reshape(3, 16).std(axis=1, ddof=1)
    assert low.shape == high.shape == (3, 1, 1)
    assert low.unique().tolist() == [1]
    np.testing.assert_allclose(high.flatten().numpy(), 1 + 1 / deviations, rtol=1e-12)
    assert not low.requires_grad
    assert not high.requires_grad


BAD = {
    "last dimension": (ValueError, "x must have 3 .* got 2", (4, 2), (1, 3)),
    "no batch dimension": (ValueError, r"x must be \(\*batch_shape.* got \(2,\)", (2,), (1, 2)),
    "weight a vector": (ValueError, r"x must be \(\*batch_shape.* and \(2,\)", (4, 2), (2,)),
    "empty batch": (ValueError, r"must not be empty; got \(0, 2\)", (0, 2), (1, 2)),
    "no input": (ValueError, r"must not be empty; got \(4, 0\)", (4, 0), (1, 0)),
    "no output": (ValueError, r"must not be empty; got .* and \(0, 2\)", (4, 2), (0, 2)),
}


@UNITS
@pytest.mark.parametrize("case", BAD)
def test_bad_shapes_are_refused(name, case):
    error, message, x_shape, weight_shape = BAD[case]
    x, weight = torch.ones(x_shape), torch.ones(weight_shape)
    with pytest.raises(error, match=message):
        getattr(functional, name)(*arguments(name, x, weight, torch.ones_like(x)))


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
@pytest.mark.parametrize(
    ("name", "culprit"),
    [
        *(("nmu", argument) for argument in ["x", "weight"]),
        *(("nau", argument) for argument in ["x", "weight"]),
        *(("snmu", argument) for argument in ["x", "weight", "noise"]),
    ],
)
def test_only_floating_point_is_accepted(name, culprit, dtype):
    args = list(arguments(name, torch.ones(4, 2), torch.ones(1, 2), torch.ones(4, 2)))
    position = ["x", "weight", "noise"].index(culprit)
    args[position] = args[position].to(dtype)
    with pytest.raises(TypeError, match=f"{culprit} must have a floating-point dtype; got {dtype}"):
        getattr(functional, name)(*args)
    args[position] = args[position].tolist()
    with pytest.raises(TypeError, match=f"{culprit} must be a torch.Tensor; got list"):
        getattr(functional, name)(*args)


def test_noise_must_have_the_shape_of_x():
    with pytest.raises(ValueError, match=r"noise must have the shape of x, \(4, 2\); got \(4, 1\)"):
        functional.snmu(torch.ones(4, 2), torch.ones(1, 2), torch.ones(4, 1))


@pytest.mark.parametrize("function", [functional.sparsity_regularizer, functional.sparsity_error])
def test_sparsity_refuses_what_is_no_weight_matrix(function):
    with pytest.raises(ValueError, match=r"weight must be a non-empty .* got \(3,\)"):
        function(torch.ones(3))
    with pytest.raises(ValueError, match=r"weight must be a non-empty .* got \(0, 2\)"):
        function(torch.ones(0, 2))
    with pytest.raises(TypeError, match="weight must have a floating-point dtype"):
        function(torch.ones(1, 2, dtype=torch.int64))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.full((2, 4, 2), 3.0), "a batch that varies .* minimum 0"),
        (torch.stack([torch.ones(4, 2), torch.randn(4, 2)]), "a batch that varies .* minimum 0"),
        (torch.tensor([[1.0, float("nan")]]), "varies and is finite.* minimum nan"),
        (torch.tensor([[1.0, float("inf")]]), "varies and is finite.* minimum nan"),
        (torch.ones(3, 1, 1), r"at least two elements a batch; got shape \(3, 1, 1\)"),
        (torch.ones(0, 2), r"at least two elements a batch; got shape \(0, 2\)"),
        (torch.ones(4), r"at least two elements a batch; got shape \(4,\)"),
    ],
)
def test_batch_noise_needs_a_batch_that_varies(x, message):
    with pytest.raises(ValueError, match=message):
        functional.batch_noise_bounds(x)
