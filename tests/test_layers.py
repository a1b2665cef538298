"""The units as modules: parameters, copies, initialisation, clamp, noise, modes, bad input."""

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import nn

import nmu
from nmu import NAU, NMU, StochasticNMU, functional
from nmu.streams import ReplicaStreams

UNITS = pytest.mark.parametrize("unit", [NMU, StochasticNMU, NAU])


@UNITS
@pytest.mark.parametrize("batch_shape", [(), (5,), (2, 3)])
def test_shapes_and_parameters(unit, batch_shape):
    layer = unit(3, 2, batch_shape=batch_shape)
    assert isinstance(layer.weight, nn.Parameter)
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    assert layer.weight.shape == (*batch_shape, 2, 3)
    assert layer(torch.randn(*batch_shape, 7, 3)).shape == (*batch_shape, 7, 2)
    assert layer.regularizer().shape == batch_shape


@pytest.mark.parametrize("noise", [(1.0, 5.0), "batch"])
@pytest.mark.parametrize("unit", [NMU, StochasticNMU, NAU])
def test_a_batch_of_replicas_equals_a_loop_of_layers(unit, noise):
    options = {"noise": noise} if unit is StochasticNMU else {}
    stack = unit(3, 2, batch_shape=(4,), **options)
    x = torch.randn(4, 20, 3)
    drawn = stack.sample_noise(x) if options else None
    arguments = (x, drawn) if options else (x,)
    together = stack(*arguments)
    for r in range(4):
        single = unit(3, 2, **options)
        single.load_state_dict({"weight": stack.weight[r]})
        alone = single(*(tensor[r] for tensor in arguments))
        if unit is NAU:  # a matrix product may sum in another order when batched
            torch.testing.assert_close(together[r], alone, rtol=1e-6, atol=1e-6)
        else:
            assert together[r].equal(alone)
        assert stack.regularizer()[r].item() == pytest.approx(single.regularizer().item(), rel=1e-6)


@UNITS
def test_forward_is_the_pure_function(unit):
    layer = unit(3, 2).eval()
    x = torch.randn(7, 3)
    function = functional.nau if unit is NAU else functional.nmu
    assert layer(x).equal(function(x, layer.weight))
    assert layer.regularizer().equal(functional.sparsity_regularizer(layer.weight))


@UNITS
@pytest.mark.parametrize("how", ["state_dict", "deepcopy", "pickle"])
def test_copies_are_equal_and_independent(unit, how):
    options = {"noise": (2.0, 3.0)} if unit is StochasticNMU else {}
    layer = unit(3, 2, batch_shape=(4,), **options)
    if how == "state_dict":
        assert set(layer.state_dict()) == {"weight"}
        twin = unit(3, 2, batch_shape=(4,), **options)
        assert not twin.weight.equal(layer.weight)
        twin.load_state_dict(layer.state_dict())
    else:
        twin = copy.deepcopy(layer) if how == "deepcopy" else pickle.loads(pickle.dumps(layer))
    x = torch.randn(4, 7, 3)
    assert repr(twin) == repr(layer)
    assert twin.eval()(x).equal(layer.eval()(x))
    with torch.no_grad():
        twin.weight.add_(1)
    assert not twin.weight.equal(layer.weight)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
@pytest.mark.parametrize(
    "generator",
    [lambda: torch.Generator().manual_seed(3), lambda: ReplicaStreams([3, 4], "noise")],
    ids=["Generator", "ReplicaStreams"],
)
def test_copies_go_on_where_the_original_generator_stands(how, generator):
    layer = StochasticNMU(3, 2, batch_shape=(2,), generator=generator())
    x = torch.randn(2, 7, 3)
    layer(x)
    twin = how(layer)
    noise = layer.sample_noise(x)
    assert twin.sample_noise(x).equal(noise)
    assert not twin.sample_noise(x).equal(noise)


def test_repr():
    assert repr(NMU(3, 2)) == "NMU(in_features=3, out_features=2)"
    assert repr(NAU(3, 2, batch_shape=(4,))) == ("NAU(in_features=3, out_features=2, batch_shape=(4,))")
    assert repr(StochasticNMU(3, 2)) == ("StochasticNMU(in_features=3, out_features=2, noise=(1.0, 5.0))")
    assert "noise='batch'" in repr(StochasticNMU(3, 2, noise="batch"))


@pytest.mark.parametrize(
    ("unit", "in_features", "out_features", "low", "high"),
    [
        (NMU, 2, 1, 0.25, 0.75),
        (StochasticNMU, 2, 1, 0.25, 0.75),
        (NAU, 2, 1, -0.5, 0.5),  # sqrt(6 / 3) is above the cap of 1/2
        (NAU, 100, 2, -np.sqrt(6 / 102), np.sqrt(6 / 102)),
    ],
)
def test_initial_weights_are_uniform(unit, in_features, out_features, low, high):
    layer = unit(in_features, out_features, batch_shape=(4000 // in_features,))
    weight = layer.weight.detach().double().flatten().numpy()
    assert low <= weight.min()
    assert weight.max() <= high
    # Kolmogorov-Smirnov at a fixed seed: a wrong distribution gives far less than 1 %.
    assert stats.kstest(weight, stats.uniform(low, high - low).cdf).pvalue > 0.01


@UNITS
def test_reset_follows_its_generator(unit):
    layer = unit(3, 2, batch_shape=(4,))
    drawn = []
    for seed in [1, 1, 2]:
        layer.reset_parameters(torch.Generator().manual_seed(seed))
        drawn.append(layer.weight.detach().clone())
    assert drawn[0].equal(drawn[1])
    assert not drawn[0].equal(drawn[2])
    streams = [ReplicaStreams(seeds, "w") for seeds in ([5, 6, 7, 8], [8, 5, 6, 7])]
    for i in range(2):
        layer.reset_parameters(streams[i])
        drawn[i] = layer.weight.detach().clone()
    assert drawn[1].equal(drawn[0].roll(1, dims=0))


@UNITS
def test_default_randomness_is_torchs_own(unit):
    drawn = []
    for seed in [1, 1, 2]:
        torch.manual_seed(seed)
        drawn.append(unit(3, 2).weight.detach())
    assert drawn[0].equal(drawn[1])
    assert not drawn[0].equal(drawn[2])


@pytest.mark.parametrize(("unit", "low"), [(NMU, 0), (StochasticNMU, 0), (NAU, -1)])
def test_clamp(unit, low):
    layer = unit(5, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[-3.0, -0.25, 0.5, 1.0, 2.0]]))
    before = layer.weight
    layer.clamp_()
    assert layer.weight is before
    assert layer.weight.tolist() == [[low, max(low, -0.25), 0.5, 1.0, 1.0]]
    assert layer.weight.requires_grad


@UNITS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtype(unit, dtype):
    layer = unit(3, 2, dtype=dtype)
    x = torch.randn(7, 3, dtype=dtype)
    layer(x).sum().backward()
    assert layer.weight.dtype == layer.weight.grad.dtype == layer(x).dtype == dtype
    assert unit(3, 2).weight.dtype == torch.get_default_dtype()
    assert unit(3, 2).to(dtype)(x).dtype == dtype


@UNITS
def test_device(unit):
    layer = unit(3, 2, device="meta")
    assert layer.weight.device.type == "meta"
    assert layer(torch.ones(7, 3, device="meta")).device.type == "meta"


@given(st.integers(1, 5), st.integers(1, 3), st.sampled_from([(), (1,), (3,)]))
def test_evaluation_mode_is_exactly_the_nmu(in_features, out_features, batch_shape):
    stochastic = StochasticNMU(in_features, out_features, batch_shape=batch_shape)
    plain = NMU(in_features, out_features, batch_shape=batch_shape)
    plain.load_state_dict(stochastic.state_dict())
    x = torch.randn(*batch_shape, 6, in_features)
    assert stochastic.eval()(x).equal(plain(x))
    assert stochastic(x, noise=2 + torch.rand_like(x)).equal(plain(x))


def test_evaluation_mode_draws_nothing():
    generator = torch.Generator().manual_seed(1)
    layer = StochasticNMU(2, 1, generator=generator).eval()
    state = generator.get_state()
    layer(torch.randn(7, 2))
    assert generator.get_state().equal(state)


def test_training_mode_uses_fresh_noise_or_the_given_one():
    layer = StochasticNMU(2, 1, generator=torch.Generator().manual_seed(1))
    x = torch.randn(7, 2)
    first, second = layer(x), layer(x)
    assert not first.equal(second)
    layer.generator.manual_seed(1)
    noise = layer.sample_noise(x)
    assert layer(x, noise).equal(first)
    assert first.equal(functional.snmu(x, layer.weight, noise))


@pytest.mark.parametrize("batch_shape", [(), (3,)])
def test_fixed_noise_is_uniform_on_its_interval(batch_shape):
    layer = StochasticNMU(2, 1, batch_shape=batch_shape, noise=(0.5, 4.0))
    x = torch.randn(*batch_shape, 1000, 2)
    low, high = layer.noise_bounds(x)
    assert (low.item(), high.item()) == (0.5, 4.0)
    noise = layer.sample_noise(x)
    assert noise.shape == x.shape
    assert not noise.requires_grad
    assert noise.unique().numel() > 0.99 * noise.numel()  # a number of its own for each element
    assert noise.min() >= 0.5
    assert noise.max() <= 4.0
    sample = noise.double().flatten().numpy()
    assert stats.kstest(sample, stats.uniform(0.5, 3.5).cdf).pvalue > 0.01


def test_batch_noise_follows_the_batch_at_hand():
    layer = StochasticNMU(2, 1, batch_shape=(3,), noise="batch")
    x = torch.randn(3, 1000, 2) * torch.tensor([0.1, 1.0, 10.0])[:, None, None]
    low, high = layer.noise_bounds(x)
    deviations = x.numpy().reshape(3, -1).std(axis=1, ddof=1)
    np.testing.assert_allclose(high.flatten().numpy(), 1 + 1 / deviations, rtol=1e-5)
    assert low.unique().tolist() == [1]
    noise = layer.sample_noise(x)
    for sample, end in zip(noise.double().flatten(1).numpy(), high.flatten().tolist(), strict=True):
        assert 1 <= sample.min()
        assert sample.max() <= end
        assert stats.kstest(sample, stats.uniform(1, end - 1).cdf).pvalue > 0.01


def test_no_gradient_flows_through_the_batch_noise():
    layer = StochasticNMU(2, 1, noise="batch", generator=torch.Generator().manual_seed(1))
    x = torch.randn(7, 2, requires_grad=True)
    layer(x).sum().backward()
    gradient = x.grad.clone()
    x.grad = None
    layer.generator.manual_seed(1)
    layer(x, layer.sample_noise(x.detach())).sum().backward()
    assert x.grad.equal(gradient)


def test_constant_noise_is_allowed():
    layer = StochasticNMU(2, 1, noise=(3, 3))
    assert layer.sample_noise(torch.randn(7, 2)).unique().tolist() == [3]


@UNITS
@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 1), "in_features must be made of positive integers; got 0"),
        ((2, -1), "out_features must be made of positive integers; got -1"),
        ((2.0, 1), r"in_features must be made of positive integers; got 2\.0"),
        ((2, 1, (3, 0)), "batch_shape must be made of positive integers; got 0"),
    ],
)
def test_sizes_must_be_positive_integers(unit, sizes, message):
    with pytest.raises(ValueError, match=message):
        unit(*sizes)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ((5, 1), r"low <= high; got \(5, 1\)"),
        ((1, float("nan")), r"low <= high; got \(1, nan\)"),
        ((1, float("inf")), r"low <= high; got \(1, inf\)"),
        ((-1, 1), r"must be positive.*; got \(-1, 1\)"),
        ((0, 1), r"must be positive.*; got \(0, 1\)"),
        ((-2, 0), r"must be positive.*; got \(-2, 0\)"),
        ((-2, -1), r"must be positive.*; got \(-2, -1\)"),
        ((1, 2, 3), r'an interval \(low, high\) or "batch"; got \(1, 2, 3\)'),
        ("batches", r"an interval \(low, high\) or \"batch\"; got 'batches'"),
        (3.0, r'an interval \(low, high\) or "batch"; got 3\.0'),
        (None, r'an interval \(low, high\) or "batch"; got None'),
    ],
)
def test_noise_must_be_a_positive_interval(noise, message):
    with pytest.raises(ValueError, match=message):
        StochasticNMU(2, 1, noise=noise)


@UNITS
def test_bad_batches_are_refused(unit):
    layer = unit(3, 2)
    with pytest.raises(ValueError, match=r"x must have 3 in its last dimension.* got 2"):
        layer(torch.randn(7, 2))
    with pytest.raises(TypeError, match="x must have a floating-point dtype"):
        layer(torch.ones(7, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"must not be empty; got \(0, 3\)"):
        layer(torch.ones(0, 3))


def test_constant_batch_is_refused_for_batch_noise():
    layer = StochasticNMU(3, 2, noise="batch")
    with pytest.raises(ValueError, match="a batch that varies and is finite"):
        layer(torch.ones(7, 3))
    layer.eval()(torch.ones(7, 3))


def test_streams_must_be_as_many_as_the_replicas():
    layer = StochasticNMU(2, 1, batch_shape=(3,), generator=ReplicaStreams([1, 2], "noise"))
    with pytest.raises(ValueError, match="shape must begin with 2, one a seed"):
        layer(torch.randn(3, 7, 2))


def test_the_package_offers_the_units():
    assert nmu.__all__ == ["NAU", "NMU", "StochasticNMU", "__version__"]
    assert nmu.NMU is NMU
