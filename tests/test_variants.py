"""The variants of the sNMU: an NMU when evaluated, what their names say when trained."""

import math
from pathlib import Path

import pandas as pd
import pytest
import torch
from scipy import stats

from nmu import functional
from nmu.experiments import single_module
from nmu.experiments.variants import compare, verdicts
from nmu.layers import NMU
from nmu.metrics import best_step
from nmu.streams import ReplicaStreams
from nmu.tasks import RANGES, SingleModuleTask
from nmu.training import initialize, train
from nmu.variants import CONSTANT, AnnealedNMU, CompetingNMU, GradientNoiseNMU, variants

VARIANTS = variants(until=40)


@pytest.fixture
def x():
    return torch.linspace(-3, 3, 2 * 500 * 3).view(2, 3, 500).mT


def made(name, seeds=(1, 2)):
    unit = initialize(VARIANTS[name](3, 1, batch_shape=(len(seeds),)), list(seeds))
    unit.generator = ReplicaStreams(seeds, "noise")
    return unit


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_an_nmu_when_evaluated(name, x):
    unit = made(name).eval()
    weight = unit.weights()["weight"] if name == "competing" else unit.weight
    torch.testing.assert_close(unit(x), functional.nmu(x, weight))


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_starts_from_the_weights_of_an_nmu(name):
    nmu = initialize(NMU(3, 1, batch_shape=(2,)), [1, 2])
    weight = made(name).weight[:, :1]
    expected = {
        "moved-start": lambda w: CONSTANT * w / (CONSTANT * w + 1 - w),
        "near-1-start": lambda w: 0.75 + (w - 0.25) / 2,
    }.get(name, lambda w: w)(nmu.weight)
    torch.testing.assert_close(weight, expected)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variants_replicas_are_independent(name):
    together, _ = single_module.run(
        VARIANTS[name], seeds=[3, 8], ranges=RANGES[1:3], steps=60, progress=False
    )
    alone, _ = single_module.run(VARIANTS[name], seeds=[8], ranges=RANGES[2:3], steps=60, progress=False)
    for key, weight in together.weights.items():
        assert torch.equal(weight[:, 3:], alone.weights[key]), "bit for bit"


@pytest.mark.parametrize("name", ["constant", "log-symmetric", "below-1", "annealed", "negative-only"])
def test_noise_that_is_undone_is_gone_at_discrete_weights(name, x):
    unit = made(name)
    unit.weight.data = torch.tensor([[[1.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]])
    torch.testing.assert_close(unit(x), functional.nmu(x, unit.weight))
    unit.weight.data = torch.full((2, 1, 3), 0.5)
    assert (unit(x) - functional.nmu(x, unit.weight)).abs().mean() > 0.05


@pytest.mark.parametrize("name", ["not-undone", "weight-noise", "dropout"])
def test_noise_that_is_not_undone_is_there_at_discrete_weights(name, x):
    unit = made(name)
    unit.weight.data = torch.tensor([[[1.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]])
    assert (unit(x) - functional.nmu(x, unit.weight)).abs().mean() > 0.05


def test_distributions_of_the_noise(x):
    big = torch.ones(2, 100_000, 3)
    noise = made("log-symmetric").sample_noise(big).log() / math.log(5)
    assert stats.kstest(noise.flatten(), stats.uniform(-1, 2).cdf).pvalue > 0.001
    dropout = made("dropout").sample_noise(big)
    assert dropout.unique().tolist() == pytest.approx([0, 1 / 0.9])
    assert dropout.mean().item() == pytest.approx(1, abs=0.005)
    negative = made("negative-only").sample_noise(x)
    assert (negative[x >= 0] == 1).all()
    assert negative[x < 0].min() >= 1
    assert negative[x < 0].max() > 4.9


def test_the_constant_shifts_as_much_as_the_noise():
    noise = torch.empty(1_000_000, dtype=torch.float64).uniform_(1, 5)
    assert noise.log().mean().exp().item() == pytest.approx(CONSTANT, rel=0.002)


def test_annealed_noise_shrinks_to_none():
    unit = AnnealedNMU(3, 1, until=10)
    high = [unit.sample_noise(torch.ones(1_000, 3)).max().item() for _ in range(12)]
    assert high[0] == pytest.approx(5, abs=0.02)
    assert high[5] == pytest.approx(3, abs=0.02)
    assert high[10:] == [1, 1]


def test_binary_weights_are_ones_and_zeros(x):
    unit = made("binary-weights")
    two = unit(x[..., :1].expand(-1, -1, 3).new_full((2, 20_000, 3), 2.0))
    counts = torch.log2(two)
    torch.testing.assert_close(counts, counts.round())
    expected = unit.weight.sum(-1)
    torch.testing.assert_close(counts.mean(1), expected, atol=0.02, rtol=0)
    (gradient,) = torch.autograd.grad(two.sum(), unit.weight)
    assert (gradient > 0).all()


def test_noise_on_the_gradient_is_normal_and_shrinks(x):
    unit = GradientNoiseNMU(100, 100)
    for step in (0, 1):
        noise = torch.autograd.grad((0 * unit.weight).sum(), unit.weight)[0]
        deviation = math.sqrt(0.3 / (1 + step) ** 0.55)
        assert stats.kstest((noise / deviation).flatten(), "norm").pvalue > 0.001


def test_the_best_of_three_is_used():
    unit = CompetingNMU(2, 1, batch_shape=(2,))
    unit.weight.data = torch.tensor(
        [[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.0], [1.0, 0.0]]]
    )
    x = torch.rand(2, 50, 2)
    target = torch.stack([x[0].prod(-1), x[1, :, 0]])[..., None]
    unit.observe(unit(x) - target)
    assert unit.leader.tolist() == [1, 2]
    torch.testing.assert_close(unit(x), target)
    (gradient,) = torch.autograd.grad(unit(x).sum(), unit.weight)
    used = torch.nn.functional.one_hot(unit.leader, 3).bool()
    assert (gradient[~used] == 0).all()
    assert (gradient[used] != 0).all()


def test_a_replica_that_learns_nothing_starts_anew():
    """At the origin the error stays; at the solution it is nothing from the start."""
    seeds, steps = [4, 4], 45
    task = SingleModuleTask([RANGES[1]] * 2)
    unit = initialize(VARIANTS["restarts"](2, 1, batch_shape=(2,)), seeds)
    unit.weight.data = torch.tensor([[[0.0, 0.0]], [[0.99, 0.99]]])
    history = train(unit, task, seeds, steps=steps, log_every=1, evaluation_size=100, progress=False)
    weight = history.weights["weight"]
    assert (weight[11, 0] > 0.2).all()
    assert (weight[1:, 1].diff(dim=0).abs() < 0.01).all()


def test_reaching_for_one_is_enough_or_not():
    """The shift alone repairs the two failing ranges; noise that is symmetric in its logarithm does not."""
    lost = {}
    for name in ("constant", "log-symmetric", "moved-start"):
        history, _ = single_module.run(
            VARIANTS[name], seeds=range(25), ranges=RANGES[1:3], steps=5_000, progress=False
        )
        weight = history.weights["weight"].gather(0, best_step(history).view(1, -1, 1, 1).expand(1, -1, 1, 2))
        lost[name] = int((weight[0] < 0.01).all(-1).sum())
    assert lost["constant"] == lost["moved-start"] == 0
    assert lost["log-symmetric"] > 0


def test_modules_are_compared_with_the_nmu():
    solved = {"NMU": [1, 1, 0, 0], "a": [1, 1, 1, 0], "b": [0, 0, 0, 0]}
    rows = [
        (module, range_, seed, bool(values[2 * i + seed]))
        for module, values in solved.items()
        for i, range_ in enumerate(["U[1,2]", "U[-2,2]"])
        for seed in (0, 1)
    ]
    runs = pd.DataFrame(rows, columns=["module", "interpolation_range", "seed", "solved"])
    both = compare(runs, ["U[1,2]", "U[-2,2]"])
    assert both.index.tolist() == ["NMU", "a", "b"]
    assert both[["count", "of", "repaired", "broken"]].to_numpy().tolist() == [
        [2, 4, 0, 0],
        [3, 4, 1, 0],
        [0, 4, 0, 2],
    ]
    assert both.loc["b", "p"] == 0.5
    assert both.loc["a", "rate"].value == 0.75
    assert compare(runs, ["U[1,2]"])["of"].tolist() == [2, 2, 2]


def table_of(outcome, successes):
    """Runs of 25 seeds on nine ranges: how many succeed, by module, on the ranges named; else all."""
    rows = [
        (module, str(range_), seed, seed < counts.get(str(range_), 25))
        for module, counts in successes.items()
        for range_ in RANGES
        for seed in range(25)
    ]
    return pd.DataFrame(rows, columns=["module", "interpolation_range", "seed", outcome])


def test_verdicts():
    lost = {"U[-2,-1]": 20, "U[-1.2,-1.1]": 20}
    two = {
        "NMU": lost,
        "repairs all": {},
        "repairs most": {"U[-1.2,-1.1]": 24},
        "repairs few": {**lost, "U[-2,-1]": 25},
        "loses more": {**lost, "U[-2,-1]": 10},
        "repairs and breaks": {"U[1,2]": 1},
        "not stacked": {},
        "two inputs only": {},
    }
    ten = {name: {} for name in two} | {
        "repairs all": {"U[1,2]": 15, "U[10,20]": 0},
        "repairs few": {"U[10,20]": 0},
    }
    stack = {name: {"U[-2,2]": 15, "U[1,2]": 10} for name in two} | {
        "repairs all": {},
        "repairs most": {"U[-2,2]": 20, "U[0.1,0.2]": 21, "U[-0.2,-0.1]": 23},
        "repairs few": {"U[-2,2]": 9, "U[0.1,0.2]": 21},
    }
    del ten["two inputs only"], stack["two inputs only"], stack["not stacked"]
    found = verdicts(table_of("solved", two), table_of("solved", ten), table_of("rounded", stack))
    assert found.T.to_dict("list") == {
        "repairs all": ["all", "worse", "better", "same"],
        "repairs most": ["some", "same", "same", "worse"],
        "repairs few": ["none", "same", "worse", "same"],
        "loses more": ["worse", "same", "same", "same"],
        "repairs and breaks": ["worse", "same", "same", "same"],
        "not stacked": ["all", "same", "not run", "not run"],
        "two inputs only": ["all", "not run", "not run", "not run"],
    }


def test_predictions_are_in_the_words_of_verdicts():
    predicted = pd.read_csv(Path(__file__).parents[1] / "book" / "09-predictions.csv", index_col="variant")
    assert list(predicted.index) == list(VARIANTS)
    runs = table_of("solved", {"NMU": {}, "a": {}})
    found = verdicts(runs, runs, runs.rename(columns={"solved": "rounded"}))
    assert list(found) == list(predicted)
    assert set(predicted["two inputs"]) <= {"all", "some", "none", "worse"}
    assert set(predicted.drop(columns="two inputs").stack()) <= {"better", "same", "worse"}
