"""The benchmark's explorable, driven: its numbers are those of the tables it was given."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import traitlets

from nmu.experiments import single_module
from nmu.explorables import Benchmark
from nmu.store import read_results
from nmu.tasks import RANGES

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"

pytestmark = pytest.mark.browser

METRICS = {"success": "success rate", "solved_at": "solved at", "sparsity_error": "sparsity error"}


@pytest.fixture(scope="module")
def tables():
    """Two modules of the stored benchmark: runs and curves."""
    stored, _ = read_results(RESULTS / "single_module")
    return [stored[name].query("module in ['NMU', 'NPU']") for name in ("runs.csv", "curves.csv.gz")]


@pytest.fixture(scope="module")
def widget(tables):
    return Benchmark(*tables)


@pytest.fixture
def benchmark(widget):
    """Set traits of the stored benchmark's explorable, the others as they were at first."""

    def with_traits(**traits):
        start = {"metric": "success", "selected": ("NMU", "U[-1.2,-1.1]"), "pinned": None}
        for name, value in (start | traits).items():
            setattr(widget, name, value)
        return widget

    return with_traits


def summarize_all(runs):
    return {module: single_module.summarize(group) for module, group in runs.groupby("module", sort=False)}


@pytest.fixture(scope="module")
def summaries(tables):
    return summarize_all(tables[0])


def small(modules=single_module.MODULES, size=3):
    """Tables of `size` runs of each module on each range: all solved at step 1,000, but none of the last."""
    runs = pd.DataFrame(
        [(m, str(r), r.extrapolation_text, seed) for m in modules for r in RANGES for seed in range(size)],
        columns=["module", "interpolation_range", "extrapolation_range", "seed"],
    )
    runs["solved"] = runs["module"] != list(modules)[-1]
    runs["solved_at"] = np.where(runs["solved"], 1_000.0, np.nan)
    runs["sparsity_error"] = np.where(runs["solved"], 2e-7, np.nan)
    curves = runs.merge(pd.DataFrame({"step": [0, 1_000, 2_000]}), how="cross")
    curves["interpolation_error"] = np.where(curves["step"] == 0, 3.0, 0.0)
    curves["extrapolation_error"] = np.where(curves["solved"], 1e-6, 50.0)
    return runs, curves


def cell(page, module, range_):
    """Return the cell of the grid under and beside these heads."""
    grid = page.get_by_role("grid")
    column = grid.get_by_role("columnheader").all_inner_texts().index(module)
    row = grid.get_by_role("row").filter(has=page.get_by_role("rowheader", name=range_.replace("-", "−")))
    return row.get_by_role("gridcell").nth(column - 1)


def shown(page, name):
    """Value and interval of an estimate in the details."""
    entry = page.locator(f'[data-value="{name}"]')
    numbers = [entry.get_attribute(f"data-{part}") for part in ("number", "low", "high")]
    return [np.nan if number is None else float(number) for number in numbers]


def selected(page):
    """Return the chosen cell: only one is marked, and it is the one that Tab stops at."""
    (chosen,) = page.locator('[aria-selected="true"]').all()
    assert chosen.get_attribute("tabindex") == "0"
    return chosen


def assert_cells(page, metric, summaries):
    """Compare the numbers of all cells with the modules' summaries."""
    assert page.get_by_role("grid").get_attribute("aria-label").startswith(METRICS[metric])
    values = page.get_by_role("gridcell").evaluate_all("cells => cells.map(c => c.dataset.number)")
    wanted = np.array([[estimate.value for estimate in summary[metric]] for summary in summaries.values()]).T
    got = np.array([float(value or "nan") for value in values]).reshape(wanted.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert np.isnan(got).any() == (metric != "success")


@pytest.mark.parametrize("metric", METRICS)
def test_the_cells_hold_the_summary_of_the_runs(explorable_page, benchmark, summaries, metric):
    assert_cells(explorable_page(benchmark(metric=metric)), metric, summaries)


def test_the_redundancy_tables_are_shown_as_well(explorable_page):
    stored, _ = read_results(RESULTS / "redundancy")
    runs = stored["runs.csv"]
    page = explorable_page(Benchmark(runs, stored["curves.csv.gz"]))
    assert_cells(page, "success", summarize_all(runs))


def test_the_details_hold_the_intervals(explorable_page, benchmark, summaries):
    page = explorable_page(benchmark(selected=("NMU", "U[-2,-1]"), pinned="NPU"))
    for i, summary in enumerate(summaries.values()):
        for metric in METRICS:
            estimate = summary.loc["U[-2,-1]", metric]
            wanted = [estimate.value, estimate.low, estimate.high]
            np.testing.assert_allclose(shown(page, f"{metric}-{i}"), wanted, rtol=1e-12)
    assert page.locator('[data-value="success-0"]').inner_text() == "0.84 [0.65, 0.94]"
    assert page.get_by_role("status").inner_text() == (
        "Trained on U[−2,−1], tested on U[−6,−2]. Runs solved: NMU 21 of 25, NPU 0 of 25."
    )
    assert "all solved runs equal" in page.locator(".nmu-explorable").inner_text()


def test_the_curves_are_quantiles_of_the_table(explorable_page, benchmark, tables):
    widget = benchmark(selected=("NPU", "U[1,2]"))
    page = explorable_page(widget)
    errors = tables[1].query("module == 'NPU' and interpolation_range == 'U[1,2]'")
    median = errors.groupby("step")["extrapolation_error"].median()
    stored = widget.curves["NPU"]["U[1,2]"]["extrapolation_error"][1]
    np.testing.assert_allclose(stored, np.log10(median)[: len(stored)], atol=5e-4)
    path = page.locator('[data-curve="extrapolation_error-0"]').get_attribute("d")
    heights = -np.array([float(y) for y in re.findall(r" ([\d.]+)", path)])
    assert len(heights) == 51
    assert np.corrcoef(heights[: len(stored)], stored)[0, 1] > 1 - 1e-6, "drawn to scale"
    assert "NPU: median" in page.get_by_role("img").last.get_attribute("aria-label")


def test_keys_move_the_choice(explorable_page, benchmark):
    page = explorable_page(benchmark(selected=("NMU", "U[-20,-10]")))
    page.get_by_label("Compare with").focus()
    page.keyboard.press("Tab")
    for key, range_, module in [
        ("ArrowDown", "U[-2,-1]", "NMU"),
        ("ArrowRight", "U[-2,-1]", "NPU"),
        ("ArrowRight", "U[-2,-1]", "NPU"),
        ("ArrowUp", "U[-20,-10]", "NPU"),
        ("ArrowUp", "U[-20,-10]", "NPU"),
        ("Home", "U[-20,-10]", "NMU"),
        ("Control+End", "U[10,20]", "NPU"),
        ("ArrowLeft", "U[10,20]", "NMU"),
    ]:
        page.keyboard.press(key)
        place = f"Trained on {range_}".replace("-", "−")
        assert place in page.get_by_role("status").inner_text()
        assert f"solved: {module} " in page.get_by_role("status").inner_text()
        assert selected(page).evaluate("cell => cell === document.activeElement")
        assert cell(page, module, range_).get_attribute("aria-selected") == "true"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('[role=grid]')") is None, "one tab stop"


def test_the_pointer_looks_and_chooses(explorable_page, benchmark):
    page = explorable_page(benchmark(selected=("NMU", "U[1,2]")))
    status = page.get_by_role("status")
    other = cell(page, "NPU", "U[-2,2]")
    other.hover()
    assert "NPU 9 of 25" in status.inner_text()
    assert status.get_attribute("aria-live") == "off", "a passing pointer is not announced"
    assert selected(page).inner_text() == "1.00"
    page.mouse.move(5, 5)
    assert "NMU 25 of 25" in status.inner_text()
    assert status.get_attribute("aria-live") == "polite"
    other.click()
    page.mouse.move(5, 5)
    assert "NPU 9 of 25" in status.inner_text()
    assert selected(page).inner_text() == "0.36"


def test_two_views_of_one_model(explorable_page, benchmark):
    page = explorable_page(benchmark(), benchmark())
    first, second = page.locator(".nmu-explorable").all()
    first.get_by_label("Show").select_option("sparsity error, to a power of ten")
    first.get_by_label("Compare with").select_option("NPU")
    first.get_by_role("gridcell").nth(17).click()
    page.mouse.move(5, 5)
    for view in (first, second):
        assert view.get_by_role("grid").get_attribute("aria-label").startswith("sparsity error")
        assert view.get_by_role("gridcell").nth(17).get_attribute("aria-selected") == "true"
        assert view.locator('[data-value="success-0"]').inner_text() == "0.88 [0.70, 0.96]"
    second.get_by_label("Compare with").select_option("NMU")
    assert "NMU 25 of 25" in first.get_by_role("status").inner_text()


def test_nine_modules_fit_a_phone(explorable_page):
    page = explorable_page(Benchmark(*small(), pinned="NMU"), width=360, has_touch=True)
    page.get_by_label("Show").select_option("sparsity error, to a power of ten")
    cells = page.get_by_role("gridcell")
    assert cells.all_inner_texts() == (["10⁻⁷"] * 8 + ["–"]) * 9
    cells.last.tap()
    assert "RealNPU 0 of 3, NMU 3 of 3" in page.get_by_role("status").inner_text()
    for box in (cells.nth(i).bounding_box() for i in (0, 80)):
        assert min(box["width"], box["height"]) >= 24
    assert not cells.evaluate_all("cells => cells.some(c => c.scrollWidth > c.clientWidth)"), "texts fit"


def test_a_curve_that_is_not_finite_stands_at_the_top(explorable_page):
    runs, curves = small(["NMU", "sNMU"])
    curves.loc[(curves["step"] == 2_000) & (curves["module"] == "sNMU"), "extrapolation_error"] = np.inf
    curves.loc[(curves["step"] == 1_000) & (curves["seed"] == 2), "extrapolation_error"] = np.nan
    widget = Benchmark(runs, curves, selected=("sNMU", "U[1,2]"))
    curve = widget.curves["sNMU"]["U[1,2]"]["extrapolation_error"]
    assert curve == [[1.699, 1.699, None], [1.699, 1.699, None], [1.699, None]]
    json.dumps(widget.get_state(), allow_nan=False)
    page = explorable_page(widget)
    picture = page.get_by_role("img").last
    assert "at the end not finite" in picture.get_attribute("aria-label")
    assert "∞" in picture.text_content()
    points = re.findall(r"([\d.]+) ([\d.]+)", page.locator(".nmu-band").last.get_attribute("d"))
    assert min(float(y) for _, y in points) == 10


def test_the_state_is_small(widget):
    assert len(json.dumps(widget.get_state()["curves"])) < 150_000 * 2 / 9, "two modules of nine"


def test_the_choice_must_exist():
    widget = Benchmark(*small())
    assert widget.selected == ("NMU", "U[-20,-10]")
    for trait, value in {"selected": ("NMU", "U[0,9]"), "pinned": "MLP", "metric": "speed"}.items():
        with pytest.raises(traitlets.TraitError, match=trait):
            setattr(widget, trait, value)
    widget.set_state({"selected": ["sNMU", "U[1,2]"], "pinned": "NPU"})
    assert (widget.selected, widget.pinned) == (("sNMU", "U[1,2]"), "NPU")


def test_the_first_choice_is_the_first_modules_worst_range(tables):
    runs, curves = (table.query("module == 'NMU'") for table in tables)
    assert Benchmark(runs, curves).selected == ("NMU", "U[-1.2,-1.1]")


def test_tables_with_gaps_are_refused():
    runs, curves = small()
    with pytest.raises(ValueError, match=r"runs must hold every module.*sNMU.*U\[1,2\]"):
        Benchmark(runs.query("module != 'sNMU' or interpolation_range != 'U[1,2]'"), curves)
    with pytest.raises(ValueError, match=r"curves must hold every module.*NALU"):
        Benchmark(runs, curves.query("module != 'NALU'"))
