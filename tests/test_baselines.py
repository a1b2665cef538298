"""The modules that the units are compared with."""

import copy
import math
import pickle

import baseline_oracles as oracles
import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from nmu.baselines import GNALU, INALU, MLP, MNAC, NALU, NPU, RealNPU
from nmu.baselines._base import _sigmoid
from nmu.streams import ReplicaStreams
from nmu.tasks import RANGES, SingleModuleTask
from nmu.training import initialize, train

ORACLES = {
    MNAC: oracles.mnac,
    NALU: oracles.nalu,
    GNALU: oracles.gnalu,
    INALU: oracles.inalu,
    NPU: oracles.npu,
    RealNPU: oracles.npu,
}
UNITS = pytest.mark.parametrize("unit", list(ORACLES), ids=lambda unit: unit.__name__)
INPUTS = {
    "signed": lambda x: 3 * x,
    "negative": lambda x: -x.abs() - 0.1,
    "small": lambda x: 1e-6 * x,
    "below epsilon": lambda x: 1e-8 * x,
    "zeros": lambda x: x * (x > 0),
    "large": lambda x: 1e25 * x,
}


def linear_layers(mlp, index=()):
    """Build one replica of an MLP out of PyTorch's own layers."""
    hidden = nn.Linear(mlp.in_features, mlp.hidden_features)
    output = nn.Linear(mlp.hidden_features, mlp.out_features)
    with torch.no_grad():
        hidden.weight.copy_(mlp.hidden_weight[index])
        hidden.bias.copy_(mlp.hidden_bias[index])
        output.weight.copy_(mlp.output_weight[index])
        output.bias.copy_(mlp.output_bias[index])
    return nn.Sequential(hidden, nn.ReLU(), output)


@pytest.mark.parametrize("batch_shape", [(), (3,), (2, 3)])
def test_mlp_equals_pytorchs_layers(batch_shape):
    mlp = MLP(2, 3, 5, batch_shape=batch_shape)
    x = torch.randn(*batch_shape, 7, 2)
    output = mlp(x)
    assert output.shape == (*batch_shape, 7, 3)
    for index in np.ndindex(*batch_shape):
        alone = linear_layers(mlp, index)(x[index])
        # A batched matrix product may sum in another order: a few float32 roundings below 10.
        torch.testing.assert_close(output[index], alone, rtol=0, atol=5e-6)


def test_mlp_starts_as_pytorchs_layers_do():
    mlp = MLP(4, 1, 9, batch_shape=(500,))
    for parameter, bound in [
        (mlp.hidden_weight, 1 / 2),
        (mlp.hidden_bias, 1 / 2),
        (mlp.output_weight, 1 / 3),
        (mlp.output_bias, 1 / 3),
    ]:
        assert -bound <= parameter.min() < -0.98 * bound
        assert 0.98 * bound < parameter.max() <= bound
        assert parameter.mean().abs() < 0.1 * bound
        assert parameter.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)


def test_mlp_copies_and_describes_itself():
    mlp = MLP(2, 1, 5, batch_shape=(3,))
    x = torch.randn(3, 7, 2)
    twins = [copy.deepcopy(mlp), pickle.loads(pickle.dumps(mlp)), MLP(2, 1, 5, batch_shape=(3,))]
    assert not twins[2](x).equal(mlp(x))
    twins[2].load_state_dict(mlp.state_dict())
    assert all(twin(x).equal(mlp(x)) for twin in twins)
    assert repr(MLP(2, 1, 5)) == "MLP(in_features=2, out_features=1, hidden_features=5)"
    assert "batch_shape=(3,)" in repr(mlp)


def test_mlp_replicas_are_defined_by_their_seeds():
    mlp, alone = MLP(2, 1, 5, batch_shape=(3,)), MLP(2, 1, 5, batch_shape=(1,))
    mlp.reset_parameters(ReplicaStreams([4, 5, 6], "initial weights"))
    alone.reset_parameters(ReplicaStreams([5], "initial weights"))
    for name, parameter in alone.named_parameters():
        assert mlp.get_parameter(name)[1].equal(parameter[0])


def test_mlp_trains_in_the_common_loop():
    seeds = [0, 1]
    model = initialize(MLP(2, 1, 8, batch_shape=(2,)), seeds)
    task = SingleModuleTask([RANGES[6]] * 2)
    options = dict(steps=200, log_every=200, learning_rate=0.01, progress=False)
    history = train(model, task, seeds, **options)
    assert (history.interpolation_error[-1] < 0.5 * history.interpolation_error[0]).all()
    assert history.weights["hidden_bias"].shape == (2, 2, 8)


def test_mlp_refuses_bad_input():
    with pytest.raises(ValueError, match="hidden_features must be made of positive integers; got 0"):
        MLP(2, 1, 0)
    with pytest.raises(ValueError, match=r"x must have 2 in its last dimension.* got 3"):
        MLP(2, 1, 5)(torch.ones(7, 3))
    with pytest.raises(TypeError, match="x must have a floating-point dtype"):
        MLP(2, 1, 5)(torch.ones(7, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match="must not be empty"):
        MLP(2, 1, 5)(torch.ones(0, 2))


def arrays(unit, index):
    """Parameters of one replica as NumPy arrays."""
    return {name: p[index].detach().numpy() for name, p in unit.named_parameters()}


@UNITS
@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("batch_shape", [(), (3,), (2, 3)])
def test_values_and_gradients_are_those_of_the_definition(unit, inputs, batch_shape):
    layer = unit(3, 2, batch_shape=batch_shape, dtype=torch.float64)
    with torch.no_grad():
        for parameter in layer.parameters():  # both signs, and gates of the NPU beyond [0, 1]
            parameter.copy_(0.8 * torch.randn_like(parameter))
    x = INPUTS[inputs](torch.randn(*batch_shape, 5, 3, dtype=torch.float64)).requires_grad_()
    upstream = torch.randn(*batch_shape, 5, 2, dtype=torch.float64)
    values = layer(x)
    assert values.shape == upstream.shape
    (upstream * values).sum().backward()
    for index in np.ndindex(*batch_shape):
        expected, gradients = ORACLES[unit](
            x[index].detach().numpy(), arrays(layer, index), upstream[index].numpy()
        )
        np.testing.assert_allclose(values[index].detach().numpy(), expected, rtol=1e-9)
        assert gradients.keys() == {"x", *(name for name, _ in layer.named_parameters())}
        for name, gradient in gradients.items():
            computed = (x if name == "x" else layer.get_parameter(name)).grad[index].numpy()
            assert np.isfinite(computed).all()
            # A sum over rows may cancel: relative to the largest number of the array.
            atol = 1e-10 * np.abs(gradient).max()
            np.testing.assert_allclose(computed, gradient, rtol=1e-8, atol=atol, err_msg=name)


@UNITS
def test_zero_inputs_have_finite_values_and_gradients(unit):
    layer = unit(2, 1)
    if "gate" in dict(layer.named_parameters()) and unit is not INALU:
        nn.init.ones_(layer.gate)
    x = torch.zeros(4, 2, requires_grad=True)
    layer(x).sum().backward()
    assert layer(x).isfinite().all()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


@UNITS
@pytest.mark.parametrize("in_features", [2, 5])
def test_replicas_together_equal_each_alone(unit, in_features):
    seeds = list(range(37))  # no multiple of a vector's length
    ranges = [RANGES[seed % 9] for seed in seeds]

    def evaluated(seeds, ranges):
        layer = initialize(unit(in_features, 1, batch_shape=(len(seeds),)), seeds)
        task = SingleModuleTask(ranges, in_features)
        x = task.interpolation_inputs(ReplicaStreams(seeds, "data"), 128)
        output = layer(x)
        (output - task.target(x)).square().mean(dim=(-2, -1)).sum().backward()
        found = {"output": output, **layer.weights()}
        for name, parameter in layer.named_parameters():
            found |= {name: parameter, f"gradient of {name}": parameter.grad}
        if hasattr(layer, "regularizer"):
            found["regularizer"] = layer.regularizer()
        return found

    together = evaluated(seeds, ranges)
    for r in seeds[::3]:
        for name, alone in evaluated([r], [ranges[r]]).items():
            assert alone[0].equal(together[name][r]), name


@UNITS
def test_training_together_equals_training_alone(unit):
    seeds, ranges = [3, 4, 5], [RANGES[6], RANGES[4], RANGES[1]]
    options = dict(steps=30, log_every=15, evaluation_size=100, progress=False)

    def trained(chosen):
        layer = initialize(unit(2, 1, batch_shape=(len(chosen),)), [seeds[r] for r in chosen])
        task = SingleModuleTask([ranges[r] for r in chosen])
        return train(layer, task, [seeds[r] for r in chosen], **options).interpolation_error

    together = trained([0, 1, 2])
    assert not together[0].equal(together[-1])
    for r in range(3):
        assert trained([r])[:, 0].equal(together[:, r])


@UNITS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtypes(unit, dtype):
    layer = unit(3, 2, dtype=dtype)
    x = torch.randn(7, 3, dtype=dtype, requires_grad=True)
    layer(x).sum().backward()
    assert layer(x).dtype == x.grad.dtype == dtype
    assert all(p.grad.isfinite().all() and p.isfinite().all() for p in layer.parameters())


def test_sigmoid_does_not_depend_on_the_place_in_a_tensor():
    numbers, gradients = 3 * torch.randn(1001), torch.randn(1001)

    def evaluated(part):
        x = numbers[part].requires_grad_()
        y = _sigmoid(x)
        return torch.stack([y, *torch.autograd.grad(y, x, gradients[part])])

    alone = torch.cat([evaluated(slice(i, i + 1)) for i in range(1001)], dim=1)
    assert evaluated(slice(None)).equal(alone)


def test_sigmoid_is_exact_and_its_gradient_finite_everywhere():
    for dtype, rtol in [(torch.float32, 1e-6), (torch.float64, 1e-14)]:
        x = torch.tensor([-1e4, -60, -20, -1, 0, 1, 20, 60, 1e4], dtype=dtype, requires_grad=True)
        exact = x.detach().double().requires_grad_()
        torch.sigmoid(exact).sum().backward()
        _sigmoid(x).sum().backward()
        assert x.grad.isfinite().all()
        torch.testing.assert_close(
            _sigmoid(x).double(), torch.sigmoid(exact), rtol=rtol, atol=1e-37, check_dtype=False
        )
        torch.testing.assert_close(x.grad.double(), exact.grad, rtol=10 * rtol, atol=rtol / 10)


@pytest.mark.parametrize("unit", [MNAC, NALU, GNALU])
@pytest.mark.parametrize(("in_features", "out_features"), [(2, 1), (100, 2)])
def test_nac_weights_start_with_the_wanted_variance(unit, in_features, out_features):
    layer = unit(in_features, out_features, batch_shape=(40_000 // in_features,))
    bound = oracles.nac_bound(in_features + out_features)
    for parameter in (layer.w_hat, layer.m_hat):
        sample = parameter.detach().double().flatten().numpy()
        assert stats.kstest(sample, stats.uniform(-bound, 2 * bound).cdf).pvalue > 0.01
    if unit is not GNALU:  # the bound is that of base e
        variance = layer.weights()["weight"].var().item()
        # 40,000 or more numbers: a standard error of less than 1 %.
        assert variance == pytest.approx(2 / max(in_features + out_features, 5), rel=0.03)


@pytest.mark.parametrize(
    ("unit", "name"),
    [(NALU, "gate_weight"), (GNALU, "gate_weight"), (NPU, "real_weight"), (RealNPU, "real_weight")],
)
@pytest.mark.parametrize(("in_features", "out_features"), [(2, 1), (100, 2)])
def test_xavier_weights(unit, name, in_features, out_features):
    layer = unit(in_features, out_features, batch_shape=(40_000 // in_features,))
    like_torch = torch.empty(out_features, in_features)
    bound = math.sqrt(6 / (in_features + out_features))
    nn.init.xavier_uniform_(like_torch, gain=nn.init.calculate_gain("sigmoid"))
    assert like_torch.abs().max() <= bound
    sample = layer.get_parameter(name).detach().double().flatten().numpy()
    assert stats.kstest(sample, stats.uniform(-bound, 2 * bound).cdf).pvalue > 0.01


@pytest.mark.parametrize(
    ("name", "mean"),
    [
        ("sum_w_hat", 0.88),
        ("sum_m_hat", 0.5),
        ("product_w_hat", 0.88),
        ("product_m_hat", 0.5),
        ("gate", 0),
    ],
)
def test_inalu_starts_normally_distributed(name, mean):
    layer = INALU(2, 3, batch_shape=(5000,))
    sample = layer.get_parameter(name).detach().double().flatten().numpy()
    assert stats.kstest(sample, stats.norm(mean, 0.2).cdf).pvalue > 0.01
    others = [p for n, p in layer.named_parameters() if n != name and p.shape == layer.sum_w_hat.shape]
    if name != "gate":
        assert all(abs(np.corrcoef(sample, p.detach().flatten())[0, 1]) < 0.05 for p in others)


class Constant:
    """Stands in for streams of random numbers that yield one number for ever."""

    def __init__(self, number):
        self.number = number

    def uniform(self, shape):
        return torch.full(shape, self.number)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_normal_numbers_are_finite_at_the_ends_of_the_uniform_ones(dtype):
    layer = INALU(2, 1, batch_shape=(3,), dtype=dtype)
    for number, quantile in [(0.0, 2**-25), (0.5, 0.5), (1 - 2**-24, 1 - 2**-24)]:
        layer.reset_parameters(Constant(number))
        expected = stats.norm(0.88, 0.2).ppf(quantile)
        torch.testing.assert_close(
            layer.sum_w_hat.detach().double(),
            torch.full((3, 1, 2), expected, dtype=torch.float64),
            rtol=2e-3,
            atol=1e-3,
        )


@pytest.mark.parametrize("unit", [NPU, RealNPU])
def test_power_units_start_with_half_open_gates(unit):
    layer = unit(3, 2, batch_shape=(4,))
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(7)
    layer.reset_parameters()
    assert layer.gate.unique().tolist() == [0.5]
    assert layer.gate.shape == (4, 3)
    if unit is NPU:
        assert layer.imaginary_weight.unique().tolist() == [0]


@UNITS
def test_reset_follows_its_generator(unit):
    layer = unit(3, 2, batch_shape=(4,))
    random = [name for name, p in layer.named_parameters() if p.unique().numel() > 1]
    drawn = []
    for seed in [1, 1, 2]:
        layer.reset_parameters(torch.Generator().manual_seed(seed))
        drawn.append({name: layer.get_parameter(name).detach().clone() for name in random})
    assert random
    for name in random:
        assert drawn[0][name].equal(drawn[1][name])
        assert not drawn[0][name].equal(drawn[2][name])


@pytest.mark.parametrize("unit", [NALU, GNALU])
def test_a_saturated_gate_leaves_one_path(unit):
    layer, product = unit(2, 3), MNAC(2, 3)
    rate = math.log(oracles.PHI) if unit is GNALU else 1.0
    with torch.no_grad():
        product.w_hat.copy_(rate * layer.w_hat)
        product.m_hat.copy_(rate * layer.m_hat)
    x = 1 + torch.rand(7, 2)
    with torch.no_grad():
        layer.gate_weight.fill_(1e3)
    torch.testing.assert_close(layer(x), x @ layer.weights()["weight"].mT)
    with torch.no_grad():
        layer.gate_weight.fill_(-1e3)
    assert layer(x).equal(product(x))


def test_gnalu_is_a_nalu_with_parameters_times_the_logarithm_of_the_golden_ratio():
    golden, plain = GNALU(3, 2, dtype=torch.float64), NALU(3, 2, dtype=torch.float64)
    with torch.no_grad():
        for name, parameter in plain.named_parameters():
            parameter.copy_(math.log(oracles.PHI) * golden.get_parameter(name))
    x = torch.randn(7, 3, dtype=torch.float64)
    torch.testing.assert_close(golden(x), plain(x), rtol=1e-14, atol=0)


@pytest.mark.parametrize("unit", [NALU, GNALU])
def test_far_parameters_and_inputs_keep_finite_gradients(unit):
    layer = unit(2, 1)
    with torch.no_grad():
        for name, sign in [("w_hat", 1), ("m_hat", -1), ("gate_weight", 1)]:
            layer.get_parameter(name).fill_(sign * 300.0)  # the golden ratio to the 600th overflows
    layer(torch.tensor([[30.0, 20.0], [-30.0, -20.0]])).sum().backward()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


@pytest.mark.parametrize("unit", [NPU, RealNPU])
def test_power_units_multiply_and_divide_signed_numbers(unit):
    layer = unit(3, 2)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.real_weight.copy_(torch.tensor([[1.0, 1, 1], [1, -1, 1]]))
        layer.gate.copy_(torch.tensor([1.0, 2.0, -1.0]))  # clamped to 1, 1 and 0
    x = torch.randn(50, 3)
    expected = torch.stack([x[:, 0] * x[:, 1], x[:, 0] / x[:, 1]], dim=-1)
    torch.testing.assert_close(layer(x), expected, rtol=1e-4, atol=1e-5)
    assert layer.gate.tolist() == [1, 2, -1]  # the parameter itself is not


def test_inalu_product_has_the_sign_and_the_cap():
    layer = INALU(2, 1)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(20.0)
        layer.gate.fill_(-100.0)
    x = torch.tensor([[2.0, 3.0], [-2.0, 3.0], [-2.0, -3.0], [-1e6, 1e6]])
    expected = torch.tensor([[6.0], [-6.0], [6.0], [-math.exp(20)]])
    torch.testing.assert_close(layer(x), expected, rtol=1e-5, atol=0)


def test_settings_of_training():
    assert NPU.learning_rate == RealNPU.learning_rate == 5e-3
    assert INALU.gradient_limit == 0.1
    for unit in (MLP, MNAC, NALU, GNALU):
        for name in ("regularizer", "regularizer_scale", "learning_rate", "gradient_limit", "restarts"):
            assert not hasattr(unit, name)
    assert not any(hasattr(unit, "clamp_") for unit in [*ORACLES, MLP])


@UNITS
def test_weights_are_those_that_ought_to_be_discrete(unit):
    names = {
        INALU: ["sum_weight", "product_weight"],
        NPU: ["real_weight", "imaginary_weight"],
        RealNPU: ["real_weight"],
    }
    layer = unit(3, 2, batch_shape=(4,))
    weights = layer.weights()
    assert list(weights) == names.get(unit, ["weight"])
    assert all(weight.shape == (4, 2, 3) for weight in weights.values())
    values = arrays(layer, slice(None))
    if unit in (NPU, RealNPU):
        expected = {name: values[name] for name in weights}
    elif unit is INALU:
        expected = {
            f"{path}_weight": oracles.nac_weight(values[f"{path}_w_hat"], values[f"{path}_m_hat"])[0]
            for path in ("sum", "product")
        }
    else:
        base = oracles.PHI if unit is GNALU else None
        expected = {"weight": oracles.nac_weight(values["w_hat"], values["m_hat"], base)[0]}
    for name, weight in weights.items():
        np.testing.assert_allclose(weight.detach().numpy(), expected[name], rtol=1e-5, atol=1e-7)
    before = layer(torch.ones(4, 7, 3) * 1.5)
    with torch.no_grad():  # derived at every call
        next(layer.parameters()).add_(0.5)
    assert not layer(torch.ones(4, 7, 3) * 1.5).equal(before)


@pytest.mark.parametrize("unit", [NPU, RealNPU, INALU])
@pytest.mark.parametrize("batch_shape", [(), (3,), (2, 3)])
def test_regularizer(unit, batch_shape):
    layer = unit(3, 2, batch_shape=batch_shape, dtype=torch.float64)
    with torch.no_grad():
        for parameter in layer.parameters():  # some beyond 20
            parameter.copy_(15 * torch.randn_like(parameter))
    values = layer.regularizer()
    assert values.shape == batch_shape
    values.sum().backward()
    for index in np.ndindex(*batch_shape):
        parameters = arrays(layer, index)
        if unit is INALU:
            expected = oracles.inalu_penalty(parameters)
        else:
            expected = sum(np.abs(p).sum() for p in parameters.values())
        assert values[index].item() == pytest.approx(expected, rel=1e-12)
    for parameter in layer.parameters():
        gradient = parameter.detach().sign()
        if unit is INALU:
            gradient = -gradient * (parameter.abs() < 20) / (parameter[index].numel())
        torch.testing.assert_close(parameter.grad, gradient)


@pytest.mark.parametrize("unit", [NPU, RealNPU])
@pytest.mark.parametrize(
    ("step", "scale"),
    [(0, 1e-7), (9_999, 1e-7), (10_000, 1e-6), (19_999, 1e-6), (20_000, 1e-5), (49_999, 1e-5)],
)
def test_power_units_regularizer_grows_tenfold(unit, step, scale):
    assert unit(2, 1).regularizer_scale(step, torch.ones(3)) == scale


def test_inalu_regularizer_is_on_where_the_error_is_small():
    error = torch.tensor([0.5, 1.0, 2.0, math.nan, math.inf, 0.999])
    layer = INALU(2, 1, batch_shape=(6,))
    assert layer.regularizer_scale(10, error).tolist() == [0] * 6
    expected = torch.tensor([0.05, 0, 0, 0, 0, 0.05])
    assert layer.regularizer_scale(11, error).equal(expected)


def errors_of_training(steps, every):
    """Errors of seven replicas as training hands them over: kept between two evaluations."""
    rng = np.random.default_rng(7)
    logged = np.arange(-(-steps // every))
    columns = [
        5 + rng.normal(size=len(logged)),  # starts again and again
        np.where(logged < 2, 13.0 - 2 * logged, 8 + 3 * rng.random(len(logged))),  # better, then not
        0.5 * rng.random(len(logged)),  # good
        np.where(logged == 3, np.nan, 5.0),
        np.where(logged == 12, np.inf, 5.0),
        np.full(len(logged), 1.2345),  # equal means
        1e15 * np.exp(-(logged // 8) * 30.0) + 2 + rng.random(len(logged)),  # huge, then small
    ]
    return torch.tensor(np.stack(columns, axis=1), dtype=torch.float32)[torch.arange(steps) // every]


def test_restarts_follow_the_rule_written_with_lists():
    steps = 11_000
    errors = errors_of_training(steps, 700)
    layer = INALU(2, 1, batch_shape=(7,))
    rules = [oracles.Restarts() for _ in range(7)]
    when = [[] for _ in range(7)]
    for step in range(steps):
        found = layer.restarts(step, errors[step])
        assert found.dtype == torch.bool
        expected = [rule(step, error) for rule, error in zip(rules, errors[step].tolist(), strict=True)]
        assert found.tolist() == expected, step
        for r in np.flatnonzero(found):
            when[r].append(step)
    assert when[0] == [5000, 10_010]
    assert when[5] == [5000, 10_010]
    assert when[2] == when[3] == []
    assert 5000 < when[1][0]
    assert len({tuple(steps) for steps in when}) >= 4, when


@pytest.mark.parametrize(("place", "expected"), [(2_499, False), (2_500, True)])
def test_the_error_in_the_middle_counts_as_newer(place, expected):
    layer = INALU(2, 1, batch_shape=(1,))
    for step in range(5_001):  # only with the one larger error the mean of the newer half exceeds 1
        found = layer.restarts(step, torch.tensor([2.0 if step == place else 1.0]))
    assert found.tolist() == [expected]


def test_restarts_begin_anew_with_a_new_training():
    layer = INALU(2, 1, batch_shape=(2,))
    error = torch.tensor([3.0, 0.1])
    for _ in range(2):
        chosen = [step for step in range(5_020) if layer.restarts(step, error).tolist() == [True, False]]
        assert chosen == [5_000]
    assert layer.restarts(0, torch.ones(2)).tolist() == [False, False]
    layer.reset_parameters()
    assert layer.restarts(1, torch.ones(2)).tolist() == [False, False]


@pytest.mark.parametrize("how", [copy.deepcopy, lambda unit: pickle.loads(pickle.dumps(unit))])
def test_copies_remember_the_stored_errors(how):
    layer = INALU(2, 1, batch_shape=(2,))
    error = torch.tensor([3.0, 0.1])
    for step in range(4_990):
        layer.restarts(step, error)
    twin = how(layer)
    for unit in (layer, twin):
        assert [s for s in range(4_990, 5_020) if unit.restarts(s, error).any()] == [5_000]


@UNITS
@pytest.mark.parametrize("how", ["state_dict", "deepcopy", "pickle"])
def test_copies_are_equal_and_independent(unit, how):
    layer = unit(3, 2, batch_shape=(4,))
    if how == "state_dict":
        twin = unit(3, 2, batch_shape=(4,))
        twin.load_state_dict(layer.state_dict())
    else:
        twin = copy.deepcopy(layer) if how == "deepcopy" else pickle.loads(pickle.dumps(layer))
    x = torch.rand(4, 7, 3)
    assert repr(twin) == repr(layer) == f"{unit.__name__}(in_features=3, out_features=2, batch_shape=(4,))"
    assert repr(unit(3, 2)) == f"{unit.__name__}(in_features=3, out_features=2)"
    assert twin(x).equal(layer(x))
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(0.1)
    assert not twin(x).equal(layer(x))


@UNITS
def test_bad_sizes_and_batches_are_refused(unit):
    for sizes, message in [
        ((0, 1), "in_features must be made of positive integers; got 0"),
        ((2, -1), "out_features must be made of positive integers; got -1"),
        ((2, 1, (3, 0)), "batch_shape must be made of positive integers; got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            unit(*sizes)
    layer = unit(3, 2)
    with pytest.raises(ValueError, match=r"x must have 3 in its last dimension.* got 2"):
        layer(torch.randn(7, 2))
    with pytest.raises(ValueError, match="x must be"):
        layer(torch.randn(3))
    with pytest.raises(TypeError, match="x must have a floating-point dtype"):
        layer(torch.ones(7, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"must not be empty; got \(0, 3\)"):
        layer(torch.ones(0, 3))
