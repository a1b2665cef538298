"""The training loop: against a plain one, replica by replica, interrupted, at bad input."""

import copy
import functools

import numpy as np
import pytest
import torch
from torch import nn

from nmu import NAU, NMU, StochasticNMU, functional
from nmu.streams import ReplicaStreams
from nmu.tasks import RANGES, SingleModuleTask
from nmu.training import initialize, train

UNITS = {
    "NMU": NMU,
    "sNMU": StochasticNMU,
    "batch sNMU": functools.partial(StochasticNMU, noise="batch"),
}
SEEDS = [8, 3, 3, 0, 21, 5, 1, 2, 13, 34, 4]
REPLICA_RANGES = [RANGES[i % 9] for i in range(11)]
SHORT = dict(steps=30, log_every=10, evaluation_size=200, regularizer_ramp=(5, 20), progress=False)


def fit(unit, which=range(11), **options):
    """Train the replicas ``which`` of SEEDS and REPLICA_RANGES."""
    seeds = [SEEDS[i] for i in which]
    model = initialize(unit(2, 1, batch_shape=(len(seeds),)), seeds)
    task = SingleModuleTask([REPLICA_RANGES[i] for i in which])
    return train(model, task, seeds, **(SHORT | options))


def assert_same(one, other):
    """Equal bit for bit, whatever was logged."""
    assert one.steps.equal(other.steps)
    assert one.interpolation_error.equal(other.interpolation_error)
    assert one.extrapolation_error.equal(other.extrapolation_error)
    assert one.weights.keys() == other.weights.keys()
    assert all(one.weights[name].equal(other.weights[name]) for name in one.weights)


def assert_same_replicas(together, which, apart):
    """The replicas ``which`` of ``together`` are those of ``apart``, bit for bit."""
    for attribute in ["interpolation_error", "extrapolation_error"]:
        assert getattr(together, attribute)[:, which].equal(getattr(apart, attribute))
    assert together.weights["weight"][:, which].equal(apart.weights["weight"])


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize(("batch_size", "evaluation_size"), [(128, 1000), (7, 97)])
def test_replicas_train_together_as_they_do_alone(name, batch_size, evaluation_size):
    """Bit for bit, also where the sizes leave a rest to the vector units of the CPU."""
    options = dict(batch_size=batch_size, evaluation_size=evaluation_size)
    together = fit(UNITS[name], **options)
    for i in range(11):
        assert_same_replicas(together, [i], fit(UNITS[name], [i], **options))
    assert_same_replicas(together, [9, 2, 5], fit(UNITS[name], [9, 2, 5], **options))


@pytest.mark.parametrize("name", UNITS)
def test_the_number_of_threads_changes_nothing(name, two_threads):
    options = dict(evaluation_size=10_000)  # enough elements for PyTorch to split them
    on_two = fit(UNITS[name], **options)
    torch.set_num_threads(1)
    assert_same(on_two, fit(UNITS[name], **options))


def test_training_is_reproducible_and_seeds_matter():
    one, other = fit(StochasticNMU), fit(StochasticNMU)
    assert_same(one, other)
    weights = one.weights["weight"]
    assert not weights[0, 0].equal(weights[0, 1])  # seeds 8 and 3
    assert weights[0, 1].equal(weights[0, 2])  # seed 3 on two ranges
    assert not weights[-1, 1].equal(weights[-1, 2])


def plain_loop(range_, seed, stochastic, steps, ramp):
    """Train one NMU or sNMU with nothing of the package but its random numbers."""
    first = ReplicaStreams([seed], "initial weights").uniform((1, 2, 1)).flatten()
    weight = nn.Parameter(0.25 + 0.5 * first)
    optimizer = torch.optim.Adam([weight], lr=1e-3)
    data, noise = ReplicaStreams([seed], "data"), ReplicaStreams([seed], "noise")
    low, high = range_.interpolation
    for step in range(steps):
        x = low + (high - low) * data.uniform((1, 2, 128))[0].T
        output = (weight * x + 1 - weight).prod(dim=-1)
        if stochastic:
            n = 1 + 4 * noise.uniform((1, 2, 128))[0].T
            output = (weight * n * x + 1 - weight).prod(dim=-1)
            output = output / (weight * n + 1 - weight).prod(dim=-1)
        loss = (output - x[:, 0] * x[:, 1]).pow(2).mean()
        scale = 10 * np.clip((step - ramp[0]) / (ramp[1] - ramp[0]), 0, 1)
        loss = loss + scale * torch.minimum(weight.abs(), (1 - weight.abs()).abs()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        weight.data.clamp_(0, 1)
    return weight.detach()


@pytest.mark.parametrize("unit", [NMU, StochasticNMU])
def test_each_replica_follows_a_plain_loop(unit):
    ramp = (20, 120)
    history = fit(unit, steps=150, log_every=50, regularizer_ramp=ramp)
    for i in range(11):
        weight = plain_loop(REPLICA_RANGES[i], SEEDS[i], unit is StochasticNMU, 150, ramp)
        # Roundings of 1e-7 in weights below 1, over 150 steps; most replicas agree to the last bit.
        torch.testing.assert_close(history.weights["weight"][-1, i, 0], weight, rtol=0, atol=2e-6)


def test_errors_are_those_of_the_logged_weights_on_fixed_sets():
    history = fit(StochasticNMU)
    task, streams = SingleModuleTask(REPLICA_RANGES), ReplicaStreams(SEEDS, "evaluation")
    for errors, kind in [
        (history.interpolation_error, "interpolation"),
        (history.extrapolation_error, "extrapolation"),
    ]:
        x = getattr(task, f"{kind}_inputs")(streams, 200).double()
        for t in range(len(history.steps)):
            output = functional.nmu(x, history.weights["weight"][t].double())
            expected = (output - task.target(x)).square().mean(dim=(-2, -1))
            # Output and target are rounded to float32: 1e-7 of the largest target, squared.
            largest = task.target(x).square().amax(dim=(-2, -1))
            deviation = (errors[t] - expected).abs()
            assert (deviation <= 1e-5 * expected + 1e-12 * largest).all()


@pytest.mark.parametrize(
    ("steps", "log_every", "expected"),
    [(30, 10, [0, 10, 20, 30]), (25, 10, [0, 10, 20, 25]), (3, 10, [0, 3]), (1, 1, [0, 1])],
)
def test_logged_steps_include_the_first_and_the_last(steps, log_every, expected):
    history = fit(NMU, [0, 1, 2], steps=steps, log_every=log_every)
    assert history.steps.tolist() == expected
    assert history.interpolation_error.shape == (len(expected), 3)
    assert history.extrapolation_error.shape == (len(expected), 3)
    assert history.weights["weight"].shape == (len(expected), 3, 1, 2)
    assert history.interrupted is False


def test_step_0_is_before_the_first_update():
    model = initialize(NMU(2, 1, batch_shape=(1,)), [0])
    initial = model.weight.detach().clone()
    history = train(model, SingleModuleTask([RANGES[6]]), [0], **SHORT)
    assert history.weights["weight"][0].equal(initial)
    assert history.weights["weight"][-1].equal(model.weight.detach())


def test_logging_more_often_changes_nothing():
    often, seldom = fit(StochasticNMU, log_every=1), fit(StochasticNMU, log_every=30)
    assert len(often.steps) == 31
    assert often.weights["weight"][[0, -1]].equal(seldom.weights["weight"])
    assert often.extrapolation_error[[0, -1]].equal(seldom.extrapolation_error)


def test_the_regulariser_is_off_before_its_ramp_and_on_after():
    without = fit(NMU, regularizer_scale=0.0, log_every=1)
    with_it = fit(NMU, regularizer_ramp=(10, 20), log_every=1)
    same = (without.weights["weight"] == with_it.weights["weight"]).flatten(1).all(dim=1)
    # At step 10 the scale is still 0, step 11 is the first to feel it: weights after 12 updates.
    assert same.nonzero().flatten().tolist() == list(range(12))


def test_the_regulariser_drives_weights_to_discrete_values():
    # A scale of 1,000 drowns the error of a replica on U[-1.2,-1.1].
    options = dict(steps=150, learning_rate=0.01, regularizer_ramp=(0, 1), regularizer_scale=1e3)
    weights = fit(NMU, [2], **options).weights["weight"]
    assert functional.sparsity_error(weights[0]).item() > 0.1
    assert functional.sparsity_error(weights[-1]).item() < 0.02
    assert weights[-1].round().equal(weights[0].round())  # each went to the nearer one


def network(replicas):
    return nn.Sequential(
        NAU(2, 2, batch_shape=(replicas,)), nn.Sequential(NMU(2, 1, batch_shape=(replicas,)))
    )


def test_units_inside_a_network_are_clamped():
    seeds = [0, 1, 2]
    options = SHORT | dict(steps=60, learning_rate=0.05, log_every=1)
    history = train(initialize(network(3), seeds), SingleModuleTask([RANGES[6]] * 3), seeds, **options)
    assert set(history.weights) == {"0.weight", "1.0.weight"}
    for name, low in [("0.weight", -1), ("1.0.weight", 0)]:
        weights = history.weights[name]
        assert weights.shape[:2] == (61, 3)
        assert low <= weights.min()
        assert weights.max() == 1  # some weight was held by the clamp


def test_units_inside_a_network_are_regularised():
    """At a scale that drowns the error, Adam's first step takes each weight towards the nearest
    of -1, 0 and 1 by the learning rate."""
    seeds = [0, 1, 2]
    options = SHORT | dict(steps=1, regularizer_ramp=(-1, 0), regularizer_scale=1e12)
    history = train(initialize(network(3), seeds), SingleModuleTask([RANGES[6]] * 3), seeds, **options)
    for before, after in history.weights.values():
        towards = before.round() - before
        torch.testing.assert_close(after - before, 1e-3 * towards.sign(), rtol=0, atol=1e-6)


def test_each_unit_of_a_network_draws_its_own_initial_weights():
    seeds = [0, 1]
    model = nn.Sequential(NMU(2, 2, batch_shape=(2,)), NMU(2, 2, batch_shape=(2,)))
    assert initialize(model, seeds) is model
    first, second = (unit.weight.detach() for unit in model)
    assert not torch.isin(first, second).any()
    alone = initialize(nn.Sequential(*(NMU(2, 2, batch_shape=(1,)) for _ in range(2))), [1])
    assert alone[0].weight[0].equal(first[1])
    assert alone[1].weight[0].equal(second[1])


def test_a_network_trains_its_replicas_independently():
    seeds, task_ranges = [4, 7, 9], [RANGES[6], RANGES[7], RANGES[5]]
    together = train(initialize(network(3), seeds), SingleModuleTask(task_ranges), seeds, **SHORT)
    for i in range(3):
        task = SingleModuleTask(task_ranges[i : i + 1])
        alone = train(initialize(network(1), seeds[i : i + 1]), task, seeds[i : i + 1], **SHORT)
        for name, values in alone.weights.items():
            # The NAU's matrix product may sum in another order when batched: float32 roundings
            # over 30 steps of 1e-3.
            torch.testing.assert_close(together.weights[name][:, [i]], values, rtol=0, atol=1e-5)


def test_progress(capsys):
    fit(NMU, [0], steps=4, progress=True)
    assert "4/4" in capsys.readouterr().err
    fit(NMU, [0], steps=4, progress=False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be at least 1; got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1; got 0"),
        ({"log_every": -1}, "log_every must be at least 1; got -1"),
        ({"evaluation_size": 0}, "evaluation_size must be at least 1; got 0"),
        ({"regularizer_ramp": (20, 5)}, r"start < end; got \(20, 5\)"),
        ({"regularizer_ramp": (5, 5)}, r"start < end; got \(5, 5\)"),
        ({"regularizer_scale": float("nan")}, "regularizer_scale must be finite .* got nan"),
        ({"regularizer_scale": -1.0}, r"regularizer_scale must be finite .* got -1\.0"),
        ({"learning_rate": float("inf")}, "learning_rate must be finite .* got inf"),
        ({"learning_rate": -1e-3}, r"learning_rate must be finite .* got -0\.001"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fit(NMU, [0], **options)


@pytest.mark.parametrize(
    ("model", "seeds", "message"),
    [
        (NMU(2, 1, batch_shape=(2,)), [0], "equally many; got 1 and 2"),
        (NMU(2, 1), [0, 1], r"batch_shape=\(2,\), one replica a seed; got \(\)"),
        (NMU(2, 1, batch_shape=(3,)), [0, 1], r"batch_shape=\(2,\), .* got \(3,\)"),
        (NMU(2, 2, batch_shape=(2,)), [0, 1], r"must return \(2, 200, 1\); got \(2, 200, 2\)"),
        (NMU(3, 1, batch_shape=(2,)), [0, 1], "x must have 3 in its last dimension.* got 2"),
        (NMU(2, 1, batch_shape=(2,)), [0, -1], r"non-negative integers; got \[0, -1\]"),
    ],
)
def test_model_seeds_and_ranges_must_fit(model, seeds, message):
    task = SingleModuleTask([RANGES[6]] * 2)
    with pytest.raises(ValueError, match=message):
        train(copy.deepcopy(model), task, seeds, **SHORT)


def test_initialize_wants_one_replica_a_seed():
    for model in [NMU(2, 1), NMU(2, 1, batch_shape=(3,))]:
        with pytest.raises(ValueError, match=r"batch_shape=\(2,\), one replica a seed"):
            initialize(model, [0, 1])
