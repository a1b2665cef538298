"""The stored runs of the Arithmetic Dataset Task: whole, what the code computes, and sorted into kinds."""

from pathlib import Path

import numpy as np
import pytest

from nmu.experiments import arithmetic_dataset
from nmu.store import read_results
from nmu.tasks import RANGES

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results" / "arithmetic_dataset"
REPLICA = ["module", "interpolation_range", "seed"]
ERRORS = ["interpolation_error", "extrapolation_error"]


@pytest.fixture(scope="module")
def stored():
    return read_results(RESULTS)[0]


def test_no_run_is_missing(stored):
    runs = stored["runs.csv"]
    expected = [
        (module, str(range_), seed)
        for module in arithmetic_dataset.MODULES
        for range_ in RANGES
        for seed in arithmetic_dataset.SEEDS
    ]
    assert list(runs[REPLICA].itertuples(index=False, name=None)) == expected
    assert (runs["solved"] == (runs["extrapolation_error"] < runs["threshold"])).all()
    limits = arithmetic_dataset.thresholds(RANGES, arithmetic_dataset.IN_FEATURES).numpy()
    np.testing.assert_allclose(runs["threshold"], np.tile(np.repeat(limits, 25), 3))
    steps = range(0, arithmetic_dataset.STEPS + 1, arithmetic_dataset.LOG_EVERY)
    assert stored["curves.csv.gz"]["step"].tolist() == list(steps) * len(runs)


def test_the_runs_agree_with_their_curves(stored):
    runs, curves = stored["runs.csv"], stored["curves.csv.gz"].fillna(np.inf)
    best = curves.loc[curves.groupby(REPLICA, sort=False)["interpolation_error"].idxmin()]
    last = curves[curves["step"] == arithmetic_dataset.STEPS]
    for table, prefix in ((best, ""), (last, "final_")):
        assert (table[REPLICA].to_numpy() == runs[REPLICA].to_numpy()).all()
        np.testing.assert_allclose(
            table["interpolation_error"], runs[f"{prefix}interpolation_error"], rtol=1e-4, atol=1e-30
        )
    curves["passes"] = curves["extrapolation_error"].to_numpy() < np.repeat(
        runs["threshold"], len(curves) // len(runs)
    ).to_numpy(float)
    first = curves[curves["passes"]].groupby(REPLICA)["step"].min()
    solved = runs[runs["solved"]].set_index(REPLICA)["solved_at"]
    close = np.isclose(runs["extrapolation_error"], runs["threshold"], rtol=1e-3).sum()
    assert (first.reindex(solved.index) != solved).sum() <= close, "but for rounding at the threshold"


def test_the_kinds_are_the_outcomes(stored):
    """Weights within 0.1 of a solution belong to every solved run, and to no run that is far off."""
    runs = stored["runs.csv"]
    best = arithmetic_dataset.kinds(stored["weights.csv.gz"], "best")
    assert (best[REPLICA] == runs[REPLICA]).all(axis=None)
    assert (best.loc[runs["solved"], "kind"] == "right subsets").all()
    assert (best.loc[runs["solved"], "distance"] < 0.01).all()
    far = runs["extrapolation_error"] > 1_000 * runs["threshold"]
    assert (best.loc[far, "kind"] != "right subsets").all()


@pytest.mark.slow
@pytest.mark.parametrize("module", arithmetic_dataset.MODULES)
def test_rows_computed_again(stored, module):
    """A run on U[-2,2] that is solved early, and one on U[1,2], up to step 6,000."""
    history, again = arithmetic_dataset.run(
        arithmetic_dataset.MODULES[module],
        seeds=[2],
        ranges=[RANGES[4], RANGES[6]],
        steps=6_000,
        progress=False,
    )
    for replica, range_ in enumerate(again["interpolation_range"]):
        chosen = f"module == {module!r} and interpolation_range == {range_!r} and seed == 2"
        curve = stored["curves.csv.gz"].query(chosen).iloc[:4]
        for name in ERRORS:
            found = getattr(history, name)[:, replica]
            np.testing.assert_allclose(found, curve[name], rtol=1e-2, atol=1e-11)
        weights = stored["weights.csv.gz"].query(chosen)
        initial = np.concatenate([values[0, replica].flatten() for values in history.weights.values()])
        np.testing.assert_allclose(initial, weights["initial"], atol=1e-6)
    wide = stored["runs.csv"].query(
        f"module == {module!r} and interpolation_range == 'U[-2,2]' and seed == 2"
    )
    assert wide["solved"].item() == again["solved"].iloc[0]
    if wide["solved"].item():
        assert wide["solved_at"].item() == again["solved_at"].iloc[0]
