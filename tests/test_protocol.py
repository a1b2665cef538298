"""What training asks of a unit, and what it does with what a unit brings along: by units of a few lines."""

import numpy as np
import pytest
import torch
from torch import nn

from nmu import NAU, NMU, runner
from nmu.experiments import single_module
from nmu.metrics import solved
from nmu.streams import ReplicaStreams
from nmu.tasks import RANGES, SingleModuleTask
from nmu.training import initialize, train

SEEDS = [8, 3, 21]
TASK_RANGES = [RANGES[6], RANGES[4], RANGES[5]]
STEPS = 12
SHORT = dict(steps=STEPS, log_every=1, evaluation_size=50, batch_size=16, progress=False)


class Toy(nn.Module):
    """A weighted sum: a reader's module, with nothing that it need not have."""

    def __init__(self, in_features, out_features, batch_shape=()):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(*batch_shape, out_features, in_features))

    @torch.no_grad()
    def reset_parameters(self, generator):
        self.weight.copy_(generator.uniform(self.weight.shape))

    def forward(self, x):
        return sum(x[..., i, None] * self.weight[..., None, :, i] for i in range(x.shape[-1]))


def fit(model, which=(0, 1, 2), task=SingleModuleTask, **options):
    """Train ``model`` as the replicas ``which`` of SEEDS and TASK_RANGES."""
    seeds = [SEEDS[i] for i in which]
    return train(initialize(model, seeds), task([TASK_RANGES[i] for i in which]), seeds, **(SHORT | options))


def fresh(seed, purpose="initial weights"):
    """The weights that a seed draws: ``(2,)``, in double precision."""
    return ReplicaStreams([seed], purpose).uniform((1, 1, 2)).flatten().double().numpy()


def by_hand(i, *, rate=1e-3, limit=np.inf, penalty=lambda step: 0.0, restarts=()):
    """Path of the weights of one Toy, replica ``i``: Adam and its gradient written out in NumPy.

    ``penalty`` gives the factor of the sum of squares, ``restarts`` the steps after which to start again.
    """
    low, high = TASK_RANGES[i].interpolation
    data = ReplicaStreams([SEEDS[i]], "data")
    weight, first, second = fresh(SEEDS[i]), np.zeros(2), np.zeros(2)
    path = [weight]
    for step in range(STEPS):
        x = low + (high - low) * data.uniform((1, 2, 16))[0].double().numpy()
        error = weight @ x - x[0] * x[1]
        gradient = 2 * (x * error).mean(axis=1) + penalty(step) * 2 * weight
        gradient = gradient.clip(-limit, limit)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        mean, square = first / (1 - 0.9 ** (step + 1)), second / (1 - 0.999 ** (step + 1))
        weight = weight - rate * mean / (np.sqrt(square) + 1e-8)
        if step in restarts:
            count = sorted(restarts).index(step) + 1
            weight = fresh(SEEDS[i], f"initial weights, restart {count}")
        path.append(weight)
    return np.array(path)


def assert_by_hand(history, **options):
    """Compare all replicas; an option may be a list with one value a replica."""
    for i in range(3):
        chosen = {k: v[i] if isinstance(v, list) else v for k, v in options.items()}
        # float32 against double: some roundings of weights below 2 a step.
        np.testing.assert_allclose(history.weights["weight"][:, i, 0], by_hand(i, **chosen), atol=3e-6)


def test_a_unit_needs_nothing_more():
    assert_by_hand(fit(Toy(2, 1, (3,))))
    assert_by_hand(fit(Toy(2, 1, (3,)), learning_rate=0.03), rate=0.03)


def test_the_learning_rate_is_the_units():
    class Eager(Toy):
        learning_rate = 0.05

    assert_by_hand(fit(Eager(2, 1, (3,)), learning_rate=0.2), rate=0.05)


def test_each_unit_of_a_network_keeps_its_learning_rate():
    class Resting(Toy):
        learning_rate = 0.0

    model = nn.Sequential(Resting(2, 2, (3,)), Toy(2, 1, (3,)))
    history = fit(model)
    assert history.weights["0.weight"][-1].equal(history.weights["0.weight"][0])
    moved = (history.weights["1.weight"][1] - history.weights["1.weight"][0]).abs()
    torch.testing.assert_close(moved, torch.full_like(moved, 1e-3), rtol=1e-3, atol=1e-6)


def test_the_gradient_is_limited():
    class Careful(Toy):
        gradient_limit = 0.3

    history = fit(Careful(2, 1, (3,)))
    assert_by_hand(history, limit=0.3)
    assert np.abs(by_hand(0, limit=0.3) - by_hand(0)).max() > 1e-4  # the limit was met


class Penalised(Toy):
    """Keeps what it was asked."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.asked = []

    def regularizer(self):
        return self.weight.square().sum(dim=(-2, -1))


def test_the_experiments_scale_ramps_up():
    history = fit(Penalised(2, 1, (3,)), regularizer_scale=40.0, regularizer_ramp=(2, 6))
    assert_by_hand(history, penalty=lambda step: 40 * min(max((step - 2) / 4, 0), 1))


def test_the_regularizer_scale_may_be_the_units_own_number():
    class Own(Penalised):
        def regularizer_scale(self, step, interpolation_error):
            self.asked.append((step, interpolation_error.clone()))
            return 2.0 * (step >= 4)

    model = Own(2, 1, (3,))
    history = fit(model, log_every=5, regularizer_ramp=(0, 1))
    reference = np.stack([by_hand(i, penalty=lambda step: 2.0 * (step >= 4)) for i in range(3)], axis=1)
    np.testing.assert_allclose(history.weights["weight"][:, :, 0], reference[[0, 5, 10, 12]], atol=3e-6)
    steps, errors = zip(*model.asked, strict=True)
    assert steps == tuple(range(STEPS))
    for step, error in model.asked:
        assert error.equal(history.interpolation_error[step // 5])
    assert len(errors) == STEPS


def test_the_regularizer_scale_may_differ_by_replica():
    class Own(Penalised):
        def regularizer_scale(self, step, interpolation_error):
            return torch.tensor([0.0, 3.0, 0.1 * step])

    penalties = [lambda step: 0.0, lambda step: 3.0, lambda step: 0.1 * step]
    assert_by_hand(fit(Own(2, 1, (3,)), regularizer_scale=0.0), penalty=penalties)


RESTARTS = {8: {2, 9}, 3: set(), 21: {4, 5, 9}}
"""After which steps each seed starts again."""


class Restarting(Toy):
    def __init__(self, which):
        super().__init__(2, 1, (len(which),))
        self.which = which
        self.asked = []

    def restarts(self, step, interpolation_error):
        self.asked.append((step, interpolation_error.clone()))
        return torch.tensor([step in RESTARTS[SEEDS[i]] for i in self.which])


def test_restarts_draw_the_chosen_replicas_anew_and_keep_adams_state():
    """The k-th restart of a seed has the k-th stream; the replica that never restarts goes on."""
    model = Restarting([0, 1, 2])
    history = fit(model)
    assert_by_hand(history, restarts=[RESTARTS[seed] for seed in SEEDS])
    weights = history.weights["weight"]
    for count, step in enumerate(sorted(RESTARTS[21]), start=1):
        drawn = fresh(21, f"initial weights, restart {count}")
        np.testing.assert_array_equal(weights[step + 1, 2, 0], drawn)
        assert (fresh(21) != drawn).all()
    assert weights[:, 1].equal(fit(Toy(2, 1, (3,))).weights["weight"][:, 1])
    assert [step for step, _ in model.asked] == list(range(STEPS))
    assert all(error.equal(history.interpolation_error[step]) for step, error in model.asked)


@pytest.mark.parametrize("which", [[0], [1], [2], [2, 0]])
def test_staggered_restarts_do_not_depend_on_what_runs_beside(which):
    together, apart = fit(Restarting([0, 1, 2])), fit(Restarting(which), which)
    assert together.weights["weight"][:, which].equal(apart.weights["weight"])
    assert together.extrapolation_error[:, which].equal(apart.extrapolation_error)


def test_a_restart_leaves_the_other_units_of_a_network_alone():
    still = nn.Sequential(Toy(2, 2, (3,)), Toy(2, 1, (3,)))
    restarting = nn.Sequential(Toy(2, 2, (3,)), Restarting([0, 1, 2]))
    one, other = fit(still, steps=3), fit(restarting, steps=3)
    assert one.weights["0.weight"].equal(other.weights["0.weight"])
    different = (one.weights["1.weight"] != other.weights["1.weight"]).flatten(2).any(dim=2)
    assert different.nonzero().tolist() == [[3, 0]]  # seed 8, after the last of three steps


class Squared(Toy):
    def weights(self):
        return {"square": self.weight**2}


def test_weights_are_logged_by_the_units_names():
    history = fit(Squared(2, 1, (3,)))
    assert list(history.weights) == ["square"]
    squares = np.stack([by_hand(i) ** 2 for i in range(3)], axis=1)
    np.testing.assert_allclose(history.weights["square"][:, :, 0], squares, atol=1e-5)


def test_weights_of_a_network_bear_the_path_of_their_unit():
    model = nn.Sequential(Squared(2, 2, (3,)), nn.Sequential(NAU(2, 2, (3,)), NMU(2, 1, (3,))))
    history = fit(model, steps=2)
    assert list(history.weights) == ["0.square", "1.0.weight", "1.1.weight"]
    assert history.weights["0.square"].shape == (3, 3, 2, 2)


def test_a_parameter_that_no_unit_can_reset_is_refused():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.unit = Toy(2, 1, (3,))
            self.scale = nn.Parameter(torch.ones(3, 1, 1))

    message = r"^scale would not depend on the seed: its unit needs a method reset_parameters\(generator\)$"
    with pytest.raises(ValueError, match=message):
        initialize(Scaled(), SEEDS)
    with pytest.raises(ValueError, match=r"^0\.scale would not depend"):
        initialize(nn.Sequential(Scaled()), SEEDS)


class TwoTargets(SingleModuleTask):
    """The product, and the sum."""

    def target(self, x):
        return torch.cat([super().target(x), x.sum(dim=-1, keepdim=True)], dim=-1)


@pytest.mark.parametrize(("outputs", "task"), [(1, SingleModuleTask), (2, TwoTargets)])
@pytest.mark.parametrize("unit", [Toy, NMU])
def test_the_gradient_is_that_of_the_mean_squared_error(unit, outputs, task):
    model = unit(2, outputs, (3,))
    history = fit(model, task=task, steps=1)
    weight = history.weights["weight"][0].requires_grad_()
    model.weight.data.copy_(weight.detach())
    chosen = task(TASK_RANGES)
    x = chosen.interpolation_inputs(ReplicaStreams(SEEDS, "data"), 16)
    loss = (model(x) - chosen.target(x)).square().mean(dim=(-2, -1)).sum()
    (expected,) = torch.autograd.grad(loss, model.weight)
    # Sums of 16 rows, in float32, that may be added in another order.
    torch.testing.assert_close(model.weight.grad, expected, rtol=1e-5, atol=1e-6)


class Reader(nn.Module):
    """Ten lines, and no more than the protocol asks for: the product of two powers, by its logarithm."""

    def __init__(self, in_features, out_features, batch_shape=()):
        super().__init__()
        self.power = nn.Parameter(torch.empty(*batch_shape, out_features, in_features))

    @torch.no_grad()
    def reset_parameters(self, generator):
        self.power.copy_(0.9 + 0.2 * generator.uniform(self.power.shape))

    def forward(self, x):
        return (x.abs().log().unsqueeze(-2) * self.power.unsqueeze(-3)).sum(dim=-1).exp()


def test_a_readers_module_runs_in_the_benchmark(tmp_path):
    options = dict(seeds=[0, 4], ranges=RANGES[5:8], steps=300)
    history, runs = single_module.run(Reader, **options, progress=False)
    assert list(history.weights) == ["power"]
    assert (history.interpolation_error[-1] < history.interpolation_error[0]).all()
    assert solved(history).tolist() == runs["solved"].tolist()
    plan = single_module.experiment({"my unit": Reader, "NMU": NMU}, **options)
    tables = runner.run(plan, tmp_path, progress=False)
    assert plan.spec["modules"] == {"my unit": "test_protocol.Reader", "NMU": "nmu.layers.NMU"}
    mine = tables["runs.csv"].query("module == 'my unit'").drop(columns="module")
    assert mine.equals(runs)
    assert set(tables["weights.csv.gz"]["weight"]) == {
        "power[0,0]",
        "power[0,1]",
        "weight[0,0]",
        "weight[0,1]",
    }


@pytest.mark.parametrize("name", single_module.MODULES)
def test_replicas_of_every_module_train_together_as_alone(name, monkeypatch):
    """Bit for bit, on three ranges, with the regularisers at work."""
    monkeypatch.setattr(single_module, "REGULARIZER_RAMP", (5, 40))
    monkeypatch.setattr(single_module, "EVALUATION_SIZE", 999)
    unit, options = single_module.MODULES[name], dict(steps=60, progress=False)
    chosen = RANGES[4:7]
    together, runs = single_module.run(unit, seeds=[11], ranges=chosen, **options)
    exactly = dict(rtol=0, atol=0, equal_nan=True)
    for i, range_ in enumerate(chosen):
        alone, alone_runs = single_module.run(unit, seeds=[11], ranges=[range_], **options)
        assert together.weights.keys() == alone.weights.keys()
        for weight, values in alone.weights.items():
            assert values[0].isfinite().all()
            torch.testing.assert_close(together.weights[weight][:, [i]], values, **exactly)
        for errors in ("interpolation_error", "extrapolation_error"):
            torch.testing.assert_close(getattr(together, errors)[:, [i]], getattr(alone, errors), **exactly)
        assert runs.iloc[[i]].reset_index(drop=True).equals(alone_runs)
    first, last = (torch.cat([v[t].flatten() for v in together.weights.values()]) for t in (0, -1))
    assert (first != last).any()
