"""The experiment of Figure 2 in small: which replica is which, and what the tables say."""

import functools

import numpy as np
import pandas as pd
import pytest
import torch

from nmu import NMU, StochasticNMU
from nmu.experiments import single_module
from nmu.metrics import Estimate
from nmu.tasks import RANGES
from nmu.training import History

NAN = float("nan")


def test_settings_are_the_papers():
    assert single_module.SEEDS == tuple(range(25))
    assert single_module.STEPS == 50_000
    assert single_module.LEARNING_RATE == 1e-3
    assert single_module.BATCH_SIZE == 128
    assert single_module.REGULARIZER_SCALE == 10
    assert single_module.REGULARIZER_RAMP == (20_000, 35_000)
    assert single_module.LOG_EVERY == 1_000
    assert single_module.EVALUATION_SIZE == 10_000


@pytest.mark.parametrize("unit", [NMU, functools.partial(StochasticNMU, noise="batch")])
def test_each_range_runs_each_seed(unit):
    options = dict(steps=5, progress=False)
    history, runs = single_module.run(unit, seeds=[3, 7], ranges=RANGES[1:3], **options)
    assert runs["interpolation_range"].tolist() == ["U[-2,-1]"] * 2 + ["U[-1.2,-1.1]"] * 2
    assert runs["seed"].tolist() == [3, 7, 3, 7]
    assert history.steps.tolist() == [0, 5]
    for i, (range_, seed) in enumerate((r, s) for r in RANGES[1:3] for s in (3, 7)):
        alone, _ = single_module.run(unit, seeds=[seed], ranges=[range_], **options)
        assert alone.weights["weight"][:, 0].equal(history.weights["weight"][:, i])
        assert alone.extrapolation_error[:, 0].equal(history.extrapolation_error[:, i])


@pytest.fixture
def runs():
    """Four replicas at two logged steps: solved late, solved at once, failed, NaN."""
    history = History(
        steps=torch.tensor([0, 1000]),
        interpolation_error=torch.tensor([[3.0, 3.0, 2.0, NAN], [1e-9, 1e-9, 0.5, NAN]]),
        extrapolation_error=torch.tensor([[9.0, 1e-8, 9.0, NAN], [1e-8, 1e-9, 7.0, NAN]]),
        weights={"weight": torch.tensor([1.0, 0.875, 0.5, NAN]).expand(2, 4)[:, :, None, None]},
        interrupted=False,
    )
    return single_module.runs_table(history, [RANGES[0], RANGES[0], RANGES[6], RANGES[6]], [0, 1] * 2)


def test_runs_table(runs):
    expected = pd.DataFrame(
        {
            "interpolation_range": ["U[-20,-10]", "U[-20,-10]", "U[1,2]", "U[1,2]"],
            "extrapolation_range": ["U[-40,-20]", "U[-40,-20]", "U[2,6]", "U[2,6]"],
            "seed": [0, 1, 0, 1],
            "solved": [True, True, False, False],
            "solved_at": [1000, 0, NAN, NAN],
            "sparsity_error": [0, 0.125, NAN, NAN],
            "interpolation_error": [1e-9, 1e-9, 0.5, NAN],
            "extrapolation_error": [1e-8, 1e-9, 7, NAN],
        }
    )
    pd.testing.assert_frame_equal(runs, expected, check_dtype=False)


def test_summary_has_one_row_a_range(runs):
    summary = single_module.summarize(runs)
    assert summary.index.tolist() == ["U[-20,-10]", "U[1,2]"]
    assert summary.index.name == "interpolation_range"
    assert [e.value for e in summary["success"]] == [1, 0]
    assert summary["solved_at"].iloc[0].value == 500
    assert summary["sparsity_error"].iloc[0].value == 0.0625
    assert np.isnan(summary["solved_at"].iloc[1].value)
    assert summary["solved_at"].iloc[1].note == "no solved run"


def test_summary_as_text():
    summary = pd.DataFrame(
        {
            "success": [Estimate(0.5, 0.25, 0.75), Estimate(0, 0, 0.13)],
            "solved_at": [
                Estimate(12345.6, 10000, 15000),
                Estimate(NAN, NAN, NAN, "no solved run"),
            ],
            "sparsity_error": [
                Estimate(1e-6, 0, 2e-6, "a single run"),
                Estimate(NAN, NAN, NAN, "-"),
            ],
        },
        index=["A", "B"],
    )
    text = single_module.format_summary(summary)
    assert text.loc["A"].tolist() == [
        "0.50 [0.25, 0.75]",
        "12,346 [10,000, 15,000]",
        "1e-06 [0, 2e-06] †",
    ]
    assert text.loc["B"].tolist() == ["0.00 [0.00, 0.13]", "–", "–"]
