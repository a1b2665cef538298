"""What holds for every explorable."""

import pandas as pd
import pytest

from nmu import explorables
from nmu.explorables import Benchmark, Landscape, Reversibility, TrapLine, Unit
from nmu.tasks import RANGES
from tests.browser import accessibility_faults, width_faults

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def tables():
    """Runs and curves of two modules, one of which fails where it is trained on negative numbers."""
    runs = pd.DataFrame(
        [
            (m, str(r), r.extrapolation_text, seed)
            for m in ("NMU", "sNMU")
            for r in RANGES
            for seed in range(3)
        ],
        columns=["module", "interpolation_range", "extrapolation_range", "seed"],
    )
    runs["solved"] = (runs["module"] == "sNMU") | ~runs["interpolation_range"].str.startswith("U[-")
    runs["solved_at"] = 1_000.0 + 500 * runs["seed"]
    runs["sparsity_error"] = 2e-7 * (1 + runs["seed"])
    runs.loc[~runs["solved"], ["solved_at", "sparsity_error"]] = float("nan")
    curves = runs.merge(pd.DataFrame({"step": [0, 1_000, 2_000]}), how="cross")
    curves["interpolation_error"] = 3.0 / (1 + curves["step"])
    curves["extrapolation_error"] = 1e-6 + ~curves["solved"] * 50.0
    return runs, curves


@pytest.fixture(scope="module")
def widgets(tables):
    runs, _ = tables
    return {
        "Benchmark": Benchmark(*tables, pinned="sNMU"),
        "Landscape": Landscape(starts=[(0.3, 0.35), (0.6, 0.45)], step=100, edge=True),
        "Reversibility": Reversibility(scale="log-odds"),
        "TrapLine": TrapLine(runs.query("module == 'NMU'")),
        "Unit": Unit(),
    }


def test_every_explorable_is_looked_at(widgets):
    assert list(widgets) == explorables.__all__


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_on_one_page_accessible_and_no_wider_than_a_phone(explorable_page, widgets, theme):
    page = explorable_page(*widgets.values(), theme=theme, width=360)
    assert accessibility_faults(page) + width_faults(page) == []
    names = page.get_by_role("group").evaluate_all("groups => groups.map((g) => g.ariaLabel)")
    assert all(names)


@pytest.mark.parametrize("name", explorables.__all__)
def test_a_view_that_ends_lets_go_of_the_model(browser, widgets, name):
    """Nothing listens to a model whose view is gone, and no other view of it is hurt."""
    widget = widgets[name]
    state = {trait: getattr(widget, trait) for trait in widget.trait_names(sync=True) if trait != "layout"}
    page = browser.new_page()
    left = page.evaluate(
        """async ([source, state]) => {
            const listeners = [];
            const model = {
                get: (name) => state[name],
                set: (name, value) => { state[name] = value; },
                save_changes() {},
                on: (event, listener) => listeners.push(`${event} ${listener}`),
                off: (event, listener) => listeners.splice(listeners.indexOf(`${event} ${listener}`), 1),
            };
            const blob = new Blob([source], { type: "text/javascript" });
            const { render } = (await import(URL.createObjectURL(blob))).default;
            const el = document.body.appendChild(document.createElement("div"));
            const end = await render({ model, el });
            const during = listeners.length;
            end();
            return [during, listeners.length];
        }""",
        [widget._esm, state],
    )
    page.close()
    assert left[0] > 0
    assert left[1] == 0
