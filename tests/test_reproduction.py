"""The central result in small: where its initial weights make the NMU fail, the sNMU does not.

On U[-1.2,-1.1] a factor W x + 1 - W is positive for every x of the range while W < 1 / 2.2, and
negative for every x once W > 1 / 2.1: its sign changes at W = 1 / (1 - x). The rule that chooses
the seeds looks at nothing but that, and so at no outcome.
"""

import functools

import pytest
import torch

from nmu import NMU, StochasticNMU, metrics
from nmu.tasks import RANGES, SingleModuleTask
from nmu.training import initialize, train

RANGE = RANGES[2]
ALWAYS_POSITIVE, ALWAYS_NEGATIVE = 1 / 2.2, 1 / 2.1
CANDIDATES = range(60)
UNITS = {
    "NMU": NMU,
    "sNMU": StochasticNMU,
    "batch sNMU": functools.partial(StochasticNMU, noise="batch"),
}


def seeds_where(rule):
    """Seeds whose two initial weights both follow the rule."""
    model = initialize(NMU(2, 1, batch_shape=(len(CANDIDATES),)), CANDIDATES)
    chosen = rule(model.weight.detach()[:, 0]).all(dim=-1)
    return [seed for seed, follows in zip(CANDIDATES, chosen.tolist(), strict=True) if follows]


DOOMED = seeds_where(lambda weight: weight < ALWAYS_POSITIVE)
SAFE = seeds_where(lambda weight: weight > ALWAYS_NEGATIVE)


def outcome(unit, seeds):
    """Train for a tenth of the book's 50,000 steps, which the regulariser's ramp leaves alone."""
    model = initialize(unit(2, 1, batch_shape=(len(seeds),)), seeds)
    history = train(
        model,
        SingleModuleTask([RANGE] * len(seeds)),
        seeds,
        steps=5_000,
        evaluation_size=1_000,
        progress=False,
    )
    return metrics.solved(history), history.weights["weight"][-1, :, 0]


def test_the_rule_picks_seeds_of_both_kinds():
    assert str(RANGE) == "U[-1.2,-1.1]"
    assert len(DOOMED) >= 5
    assert len(SAFE) >= 5


@pytest.mark.slow
def test_the_nmu_ends_at_the_origin_where_both_factors_start_positive():
    solved, weights = outcome(NMU, DOOMED)
    assert not solved.any()
    assert weights.max() < 0.05


@pytest.mark.slow
def test_the_nmu_learns_where_both_factors_start_negative():
    solved, weights = outcome(NMU, SAFE)
    assert solved.all()
    assert weights.min() > 0.999


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sNMU", "batch sNMU"])
def test_the_snmu_learns_on_the_very_seeds_where_the_nmu_fails(name):
    solved, weights = outcome(UNITS[name], DOOMED)
    assert solved.all()
    assert weights.min() > 0.999


def test_the_trap_is_still_there_for_the_snmu():
    """The repair is where training starts, not a landscape without the trap."""
    model = StochasticNMU(2, 1, batch_shape=(5,))
    torch.nn.init.constant_(model.weight, 0.01)
    history = train(
        model,
        SingleModuleTask([RANGE] * 5),
        range(5),
        steps=500,
        evaluation_size=1_000,
        progress=False,
    )
    assert not metrics.solved(history).any()
    assert history.weights["weight"][-1].max() == 0
