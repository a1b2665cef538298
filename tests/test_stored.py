"""The stored tables: whole, unaltered, and still what the code computes.

Errors are compared to three digits and not bit for bit: another processor may add and round in another
order.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from nmu import theory
from nmu.experiments import EXPERIMENTS, redundancy, single_module, surface
from nmu.store import read_results
from nmu.tasks import RANGES

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
FOLDERS = sorted(path.name for path in RESULTS.iterdir() if (path / "manifest.json").exists())
ERRORS = ["interpolation_error", "extrapolation_error"]


@pytest.fixture(scope="module")
def stored():
    return {name: read_results(RESULTS / name) for name in FOLDERS}


def test_every_experiment_has_its_results():
    assert set(EXPERIMENTS) <= set(FOLDERS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_was_run_is_what_the_experiment_plans(stored, name):
    tables, manifest = stored[name]
    assert manifest["experiment"] == name
    assert manifest["spec"] == EXPERIMENTS[name].experiment().spec
    assert manifest["command"].startswith(f"python -m nmu run {name} ")
    assert manifest["seconds"] > 0
    assert all(len(table) for table in tables.values())


SINGLE = ("single_module", "redundancy", "variants", "variants_redundancy")
"""Experiments on one unit."""


@pytest.mark.parametrize("name", SINGLE)
def test_no_run_is_missing(stored, name):
    tables, manifest = stored[name]
    modules = list(EXPERIMENTS[name].MODULES)
    runs = tables["runs.csv"]
    expected = [
        (module, str(range_), range_.extrapolation_text, seed)
        for module in modules
        for range_ in RANGES
        for seed in single_module.SEEDS
    ]
    found = runs[["module", "interpolation_range", "extrapolation_range", "seed"]]
    assert list(found.itertuples(index=False, name=None)) == expected
    assert (runs["solved"] == (runs["extrapolation_error"] < 1e-5)).all()
    assert runs.loc[runs["solved"], ["solved_at", "sparsity_error"]].notna().all(axis=None)

    curves = tables["curves.csv.gz"]
    assert len(curves) == len(runs) * 51
    assert curves["step"].tolist() == list(range(0, 50_001, 1_000)) * len(runs)

    nmus = [module for module in modules if module == "NMU" or "variants" in name]
    weights = tables["weights.csv.gz"].query("module in @nmus")
    assert len(weights) == 225 * manifest["spec"]["in_features"] * len(nmus)
    assert weights["best"].between(0, 1).all()
    moved = weights["module"].isin(["moved-start", "near-1-start"])
    assert weights.loc[~moved, "initial"].between(0.25, 0.75).all()
    assert weights.loc[moved, "initial"].between(0.25, 1).all()


@pytest.mark.parametrize("name", SINGLE)
def test_the_runs_agree_with_their_curves(stored, name):
    """The errors at the best step, and the step at which a run is solved, follow from the curves."""
    tables, _ = stored[name]
    replica = ["module", "interpolation_range", "seed"]
    curves = tables["curves.csv.gz"].fillna(np.inf)
    best = curves.loc[curves.groupby(replica, sort=False)["interpolation_error"].idxmin()]
    runs = tables["runs.csv"]
    assert (best[replica].to_numpy() == runs[replica].to_numpy()).all()
    np.testing.assert_allclose(best["interpolation_error"], runs["interpolation_error"], rtol=1e-4)
    first = curves[curves["extrapolation_error"] < 1e-5].groupby(replica)["step"].min()
    solved = runs[runs["solved"]].set_index(replica)["solved_at"]
    assert (first.reindex(solved.index) == solved).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "module", "range_", "seed"),
    [
        ("single_module", "NMU", RANGES[2], 9),  # it ends at the origin; chapter 10 has a row of the sNMU
        ("redundancy", "NMU", RANGES[6], 4),
    ],
)
def test_a_row_computed_again(stored, name, module, range_, seed):
    expected = stored[name][0]["runs.csv"].query(
        f"module == {module!r} and interpolation_range == {str(range_)!r} and seed == {seed}"
    )
    _, again = single_module.run(
        single_module.MODULES[module],
        seeds=[seed],
        ranges=[range_],
        in_features=redundancy.IN_FEATURES if name == "redundancy" else 2,
        progress=False,
    )
    exact = ["interpolation_range", "extrapolation_range", "seed", "solved", "solved_at"]
    pd.testing.assert_frame_equal(again[exact], expected[exact].reset_index(drop=True))
    np.testing.assert_allclose(again[ERRORS], expected[ERRORS], rtol=1e-3, atol=1e-12)
    np.testing.assert_allclose(again["sparsity_error"], expected["sparsity_error"], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "module"),
    [(name, module) for name in SINGLE if name != "redundancy" for module in EXPERIMENTS[name].MODULES],
)
def test_the_start_of_every_module_computed_again(stored, name, module):
    tables, manifest = stored[name]
    range_, seed = RANGES[6], 5
    history, _ = single_module.run(
        EXPERIMENTS[name].MODULES[module],
        seeds=[seed],
        ranges=[range_],
        steps=2_000,
        in_features=manifest["spec"]["in_features"],
        progress=False,
    )

    def of_replica(table):
        return tables[table].query(
            f"module == {module!r} and interpolation_range == {str(range_)!r} and seed == {seed}"
        )

    curve = of_replica("curves.csv.gz").iloc[:3]
    for name in ERRORS:
        np.testing.assert_allclose(getattr(history, name)[:, 0], curve[name], rtol=1e-3, atol=1e-12)
    weights = of_replica("weights.csv.gz")
    initial = np.concatenate([values[0, 0].flatten() for values in history.weights.values()])
    np.testing.assert_allclose(initial, weights["initial"], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("module", surface.MODULES)
def test_the_start_of_every_surface_computed_again(stored, module):
    tables, _ = stored["surface"]
    curve = tables["curves.csv.gz"].query(f"module == {module!r}")
    first = curve["step"].unique()[1]
    again = surface.experiment({module: surface.MODULES[module]}, steps=int(min(first, 1_000)))
    start = again.shards[0].compute(progress=False)["curves.csv.gz"]
    for step in set(start["step"]) & set(curve["step"]):
        expected, found = (table[table["step"] == step] for table in (curve, start))
        np.testing.assert_allclose(found[ERRORS], expected[ERRORS], rtol=1e-3)


def test_the_surfaces(stored):
    tables, _ = stored["surface"]
    table = tables["surface.csv.gz"]
    for _, group in table.groupby("module"):
        points = group[["x_1", "x_2"]].to_numpy()
        expected = np.stack(np.meshgrid(surface.GRID, surface.GRID, indexing="ij"), axis=-1).reshape(-1, 2)
        np.testing.assert_array_equal(points, expected)
    learned = table[table["module"] == "NMU"]
    np.testing.assert_allclose(learned["output"], learned["x_1"] * learned["x_2"], atol=1e-3)


def test_the_original_codes_runs_are_called_in_advance(stored):
    """The predictions are made again from the initial weights; the runs themselves are not ours to repeat."""
    tables, manifest = stored["original_code"]
    assert manifest["spec"]["repository"] == "github.com/bmistry4/nalm-robust-nmu"
    runs = tables["runs.csv"]
    assert (runs["solved"] == (runs["extrapolation_error"] < 1e-5)).all()
    assert runs["solved"].eq(runs["predicted"]).mean() >= 0.99
    for range_ in RANGES[1:3]:
        group = runs.query(f"interpolation_range == {str(range_)!r}")
        assert group["seed"].tolist() == list(single_module.SEEDS)
        weight = torch.tensor(group[["initial_1", "initial_2"]].to_numpy())
        again = theory.predict_success(weight, *range_.interpolation, steps=6_000)
        assert again.tolist() == group["predicted"].tolist()
