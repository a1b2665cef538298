"""The stored runs of the Arithmetic Dataset Task: whole, what the code computes, and sorted into kinds."""

from pathlib import Path

import numpy as np
import pytest

from nmu.experiments import EXPERIMENTS, arithmetic_dataset
from nmu.store import read_results
from nmu.tasks import RANGES

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
NAMES = ("arithmetic_dataset", "hundred_inputs", "variants_stacked")
REPLICA = ["module", "interpolation_range", "seed"]
ERRORS = ["interpolation_error", "extrapolation_error"]


@pytest.fixture(scope="module")
def stored():
    return {name: read_results(RESULTS / name) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_no_run_is_missing(stored, name):
    tables, manifest = stored[name]
    spec = manifest["spec"]
    runs = tables["runs.csv"]
    expected = [
        (module, str(range_), seed)
        for module in EXPERIMENTS[name].MODULES
        for range_ in RANGES
        for seed in spec["seeds"]
    ]
    assert list(runs[REPLICA].itertuples(index=False, name=None)) == expected
    assert (runs["solved"] == (runs["extrapolation_error"] < runs["threshold"])).all()
    limits = arithmetic_dataset.thresholds(RANGES, spec["in_features"]).numpy()
    each = np.repeat(limits, len(spec["seeds"]))
    np.testing.assert_allclose(runs["threshold"], np.tile(each, len(runs) // len(each)))
    steps = range(0, spec["steps"] + 1, spec["log_every"])
    assert tables["curves.csv.gz"]["step"].tolist() == list(steps) * len(runs)


@pytest.mark.parametrize("name", NAMES)
def test_the_runs_agree_with_their_curves(stored, name):
    tables, manifest = stored[name]
    runs, curves = tables["runs.csv"], tables["curves.csv.gz"].fillna(np.inf)
    best = curves.loc[curves.groupby(REPLICA, sort=False)["interpolation_error"].idxmin()]
    last = curves[curves["step"] == manifest["spec"]["steps"]]
    for table, prefix in ((best, ""), (last, "final_")):
        assert (table[REPLICA].to_numpy() == runs[REPLICA].to_numpy()).all()
        np.testing.assert_allclose(
            table["interpolation_error"],
            runs[f"{prefix}interpolation_error"].fillna(np.inf),
            rtol=1e-4,
            atol=1e-30,
        )
    curves["passes"] = curves["extrapolation_error"].to_numpy() < np.repeat(
        runs["threshold"], len(curves) // len(runs)
    ).to_numpy(float)
    first = curves[curves["passes"]].groupby(REPLICA)["step"].min()
    solved = runs[runs["solved"]].set_index(REPLICA)["solved_at"]
    close = np.isclose(runs["extrapolation_error"], runs["threshold"], rtol=1e-3).sum()
    assert (first.reindex(solved.index) != solved).sum() <= close, "but for rounding at the threshold"


@pytest.mark.parametrize("name", NAMES)
def test_the_kinds_are_the_outcomes(stored, name):
    """Weights within 0.1 of a solution belong to every solved run, and to no run that is far off."""
    tables, _ = stored[name]
    runs = tables["runs.csv"]
    best = arithmetic_dataset.kinds(tables["weights.csv.gz"], "best")
    assert (best[REPLICA] == runs[REPLICA]).all(axis=None)
    assert (best.loc[runs["solved"], "kind"] == "right subsets").all()
    far = runs["extrapolation_error"] > 1_000 * runs["threshold"]
    assert (best.loc[far, "kind"] != "right subsets").all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "module"), [(name, module) for name in NAMES for module in EXPERIMENTS[name].MODULES]
)
def test_the_start_computed_again(stored, name, module):
    """One seed on U[-2,2], where runs are solved early if at all, and on U[1,2].

    Errors far below the threshold consist of rounding, which the order of additions decides.
    """
    tables, manifest = stored[name]
    spec = manifest["spec"]
    history, again = arithmetic_dataset.run(
        EXPERIMENTS[name].MODULES[module],
        seeds=[2],
        ranges=[RANGES[4], RANGES[6]],
        in_features=spec["in_features"],
        steps=max(4_000, spec["log_every"]),
        log_every=spec["log_every"],
        progress=False,
    )
    for replica, range_ in enumerate(again["interpolation_range"]):
        curve, weights, run = (
            tables[table].query(f"module == {module!r} and interpolation_range == {range_!r} and seed == 2")
            for table in ("curves.csv.gz", "weights.csv.gz", "runs.csv")
        )
        for error in ERRORS:
            found = getattr(history, error)[:, replica]
            rounding = 1e-2 * run["threshold"].item()
            np.testing.assert_allclose(found, curve[error].iloc[: len(found)], rtol=2e-2, atol=rounding)
        initial = np.concatenate([values[0, replica].flatten() for values in history.weights.values()])
        np.testing.assert_allclose(initial, weights["initial"], atol=1e-6)
        if run["solved_at"].item() <= history.steps[-1]:
            assert again["solved_at"].iloc[replica] == run["solved_at"].item()
