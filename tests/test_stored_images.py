"""The stored tables on images: complete, consistent, and still what the code computes."""

from pathlib import Path

import numpy as np
import pytest
import torch

from nmu.experiments import EXPERIMENTS, digit_products, sequential_mnist, static_mnist
from nmu.images.sampling import pair_folds
from nmu.plots.looks import stored_looks
from nmu.store import read_results

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
STATIC = ("static_mnist_isolated", "bundled_isolated", "static_mnist_overlapping", "bundled_overlapping")
SEQUENTIAL = ("sequential_mnist", "bundled_sequential")
NAMES = (*STATIC, *SEQUENTIAL)


@pytest.fixture(scope="module")
def stored():
    return {name: read_results(RESULTS / name) for name in NAMES}


def settings(name, manifest):
    """What a run of the experiment takes beside its head and its seed."""
    spec = dict(manifest["spec"])
    del spec["modules"], spec["seeds"]
    return spec | {"progress": False}


@pytest.mark.parametrize("name", NAMES)
def test_no_run_is_missing(stored, name):
    tables, manifest = stored[name]
    spec = manifest["spec"]
    kinds = [("held out",), ("trained",)] if name in STATIC else [()]
    expected = [
        (module, seed, *kind)
        for module in EXPERIMENTS[name].MODULES
        for seed in spec["seeds"]
        for kind in kinds
    ]
    columns = ["module", "seed", "pairs"][: 2 + len(kinds[0])]
    runs, curves = tables["runs.csv"], tables["curves.csv.gz"]
    assert list(runs[columns].itertuples(index=False, name=None)) == expected
    assert (runs["epoch"] == spec["epochs"]).all()
    assert curves.groupby(columns, sort=False)["epoch"].agg(list).tolist() == [
        list(range(spec["epochs"] + 1))
    ] * len(runs)
    last = curves[curves["epoch"] == spec["epochs"]]
    for quantity in ("label_accuracy", "output_accuracy"):
        assert runs[quantity].between(0, 1).all()
        np.testing.assert_allclose(last[quantity], runs[quantity], atol=1e-5)
    heads = runs.set_index("module")[["weight_1", "weight_2"]]
    assert heads.loc["exact"].isna().all(axis=None)
    assert (
        heads.drop(index=["exact", "aggregator"], errors="ignore")
        .apply(lambda w: w.between(0, 1))
        .all(axis=None)
    )


@pytest.mark.parametrize("name", STATIC)
def test_pairs_and_reads_are_those_of_the_runs(stored, name):
    tables, manifest = stored[name]
    folds = pair_folds(manifest["spec"]["folds"])
    run = ["module", "seed", "pairs"]
    runs = tables["runs.csv"].set_index(run)
    pairs, reads = tables["pairs.csv.gz"], tables["reads.csv.gz"]
    sums = pairs.groupby(run)[["rows", "output_right"]].sum()
    right = (sums["output_right"] / sums["rows"]).reindex(runs.index)
    np.testing.assert_allclose(right, runs["output_accuracy"], atol=1e-12)
    reads = reads.assign(right=reads["images"].where(reads["label"] == reads["read"], 0))
    sums = reads.groupby(run)[["images", "right"]].sum()
    right = (sums["right"] / sums["images"]).reindex(runs.index)
    np.testing.assert_allclose(right, runs["label_accuracy"], atol=1e-12)
    for (seed, kind), group in pairs.groupby(["seed", "pairs"]):
        trained, held_out = folds[seed % len(folds)]
        expected = {tuple(pair) for pair in (held_out if kind == "held out" else trained).tolist()}
        assert set(zip(group["label_1"], group["label_2"], strict=True)) == expected


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_lengths_are_complete(stored, name):
    tables, _ = stored[name]
    lengths = tables["lengths.csv"]
    runs = len(tables["runs.csv"])
    assert lengths["length"].tolist() == list(sequential_mnist.LENGTHS) * runs
    assert lengths["close"].between(0, 1).all()
    beginning = lengths[lengths["length"] <= 2].groupby(["module", "seed"], sort=False)["error"].mean()
    np.testing.assert_allclose(beginning, tables["runs.csv"]["error"], rtol=1e-4)


def again(stored, name, module, seed, epochs):
    """Train one run of a stored table for some epochs: its curves, and those of all stored seeds."""
    tables, manifest = stored[name]
    run = static_mnist.run if name in STATIC else sequential_mnist.run
    options = settings(name, manifest) | {"epochs": epochs}
    here = run(EXPERIMENTS[name].MODULES[module], seed=seed, **options).curves
    return here, tables["curves.csv.gz"].query(f"module == {module!r} and epoch <= {epochs}")


@pytest.mark.parametrize(
    ("name", "module"),
    [
        (name, module)
        for name in ("bundled_isolated", "bundled_sequential")
        for module in EXPERIMENTS[name].MODULES
    ],
)
def test_the_first_epochs_computed_again(stored, name, module):
    """Two epochs of one seed; more would let the rounding of another processor grow."""
    here, curves = again(stored, name, module, seed=3, epochs=2)
    there = curves[curves["seed"] == 3]
    np.testing.assert_allclose(here["error"], there["error"], rtol=2e-2)
    for quantity in ("label_accuracy", "output_accuracy"):
        np.testing.assert_allclose(here[quantity], there[quantity], atol=0.02)
    weights = ["weight_1", "weight_2"]
    np.testing.assert_allclose(here[weights], there[weights], atol=2e-3)


LONG = [
    ("bundled_isolated", "sNMU", 60),
    ("bundled_sequential", "NMU", 60),
    ("bundled_overlapping", "exact", 1),
    ("bundled_overlapping", "sNMU", 1),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "module", "epochs"), LONG)
def test_a_long_run_computed_again(stored, name, module, epochs):
    """From the first epoch to the last, and overlapping digits for 879 steps.

    Before the first step a run must be the stored one. So many steps make a difference in rounding large:
    with another instruction set the same machine ends elsewhere among the outcomes that other seeds have. So
    then it must be no farther off than seeds are: four of their standard deviations.
    """
    here, curves = again(stored, name, module, seed=1, epochs=epochs)
    weights = [] if module == "exact" else ["weight_1", "weight_2"]
    for epoch in (0, epochs):
        found, seeds = here[here["epoch"] == epoch], curves[curves["epoch"] == epoch]
        there = seeds[seeds["seed"] == 1]
        kind = seeds["pairs"] if name in STATIC else seeds["epoch"]
        for quantity in ["error", "label_accuracy", "output_accuracy", *weights]:
            spread = seeds.groupby(kind, sort=False)[quantity].std().to_numpy()
            allowed = 1e-3 + 4 * spread if epoch > 0 else 1e-3 * np.maximum(1, there[quantity])
            off = np.abs(found[quantity].to_numpy() - there[quantity].to_numpy())
            assert (off <= allowed).all(), f"{quantity} of epoch {epoch} is off by {off}; allowed: {allowed}"


@pytest.mark.parametrize("name", ["static_mnist_overlapping", "bundled_overlapping"])
def test_the_looks_are_those_of_held_out_canvases(stored, name):
    tables, manifest = stored[name]
    _, pairs = pair_folds(manifest["spec"]["folds"])[0]
    held_out = {tuple(pair) for pair in pairs.tolist()}
    _, digits = digit_products.load("bundled")
    images_a_pair = static_mnist.TEST_IMAGES_A_PAIR["held out"]
    sample = static_mnist.draw(
        "overlapping", digits, pairs, images_a_pair, "bundled", 0, "test, held out pairs"
    )
    drawn = sample.images(torch.linspace(0, len(sample) - 1, static_mnist.LOOKS).long()) * 255
    for module in EXPERIMENTS[name].MODULES:
        of = [tables[table] for table in ("looks.csv.gz", "canvases.csv.gz")]
        images, labels, points, reads = stored_looks(*(rows[rows["module"] == module] for rows in of))
        assert images.shape == (static_mnist.LOOKS, 2, 12, 12)
        assert points.shape == (static_mnist.LOOKS, 2, 16, 2)
        assert reads.shape == (static_mnist.LOOKS, 2)
        assert {tuple(pair) for pair in labels.tolist()} <= held_out
        assert images.amax((-1, -2)).min() > 0.2  # both channels hold ink
        assert points.abs().max() < 3
        if "bundled" in name:  # MNIST may not be at hand
            torch.testing.assert_close(images * 255, drawn, rtol=0, atol=0.51)
