"""The figures of the benchmark show every module, range and number they were given."""

import numpy as np
import pandas as pd
import pytest

from nmu import plots
from nmu.metrics import Estimate

pytestmark = pytest.mark.usefixtures("book_style")


def runs(counts, size=3):
    """Table with ``counts[module]`` solved runs on each of the ranges A, B, ..."""
    rows = [
        (module, "ABC"[i], seed, seed < solved)
        for module, numbers in counts.items()
        for i, solved in enumerate(numbers)
        for seed in range(size)
    ]
    return pd.DataFrame(rows, columns=["module", "interpolation_range", "seed", "solved"])


def test_success_grid_without_denominators_says_them_once():
    figure = plots.success_grid(runs({"NMU": (3, 0), "sNMU": (2, 1)}), denominators=False)
    figure.canvas.draw()
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.texts] == ["3", "2", "0", "1"]
    assert axis.get_title(loc="left") == "solved runs of 3"


def test_success_grid_refuses_to_leave_out_denominators_that_differ():
    table = runs({"NMU": (3, 0), "sNMU": (2, 1)}).iloc[:-1]
    with pytest.raises(ValueError, match="not equally many"):
        plots.success_grid(table, denominators=False)
    assert "1/2" in [text.get_text() for text in plots.success_grid(table).axes[0].texts]


def estimates(**values):
    """Tables by module, of as many ranges as there are values; NaN where no run is solved."""
    return {
        module: pd.DataFrame(
            {"solved_at": [Estimate(v, v / 2, 2 * v) for v in numbers]}, index=list("ABCDE")[: len(numbers)]
        )
        for module, numbers in values.items()
    }


def drawn(axis):
    """Value, low and high of each module that has a marker, by its row."""
    bars, markers = axis.lines[::2], axis.lines[1::2]
    return {
        int(marker.get_ydata()[0]): (marker.get_xdata()[0], *bar.get_xdata())
        for bar, marker in zip(bars, markers, strict=True)
    }


def test_module_estimates_have_a_panel_a_range_and_a_row_a_module():
    tables = estimates(NMU=[2e3, 3e3, 4e3, 5e3], sNMU=[2.5e3, np.nan, 4e3, 5e3])
    figure = plots.module_estimates(tables, "solved_at", label="steps", limits=(1e3, 1e5))
    figure.canvas.draw()
    panels = [axis for axis in figure.axes if axis.axison]
    assert [axis.get_title() for axis in panels] == list("ABCD")
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["NMU", "sNMU"]
    assert panels[0].yaxis_inverted()
    assert panels[0].get_xscale() == "log"
    assert drawn(panels[0]) == {0: (2e3, 1e3, 4e3), 1: (2.5e3, 1.25e3, 5e3)}
    assert list(drawn(panels[1])) == [0]
    assert [text.get_text() for text in panels[1].texts] == ["none"]
    assert figure.get_supxlabel() == "steps"


def test_module_estimates_draw_zero_where_the_axis_says_so():
    tables = estimates(NMU=[0.0], other=[1e-4])
    figure = plots.module_estimates(tables, "solved_at", label="error", limits=(5e-9, 1e-2), zero=1e-8)
    figure.canvas.draw()
    axis = figure.axes[0]
    assert drawn(axis)[0] == (1e-8, 1e-8, 1e-8)
    ticks = dict(zip(axis.get_xticks(), (t.get_text() for t in axis.get_xticklabels()), strict=True))
    assert ticks[1e-8] == "0"
    assert ticks[1e-4] == "$10^{-4}$"


def test_modules_of_module_estimates_differ_by_more_than_colour():
    tables = estimates(**{f"m{i}": [2e3] for i in range(len(plots.PALETTE))})
    figure = plots.module_estimates(tables, "solved_at", label="steps", limits=(1e3, 1e5))
    assert len({line.get_marker() for line in figure.axes[0].lines[1::2]}) == len(plots.MARKERS)


def test_outcome_bars_stack_to_the_number_of_runs():
    counts = pd.DataFrame({"solved": [80, 3], "near": [20, 90], "no fit": [0, 7]}, index=["NMU", "MLP"])
    figure = plots.outcome_bars(counts, label="runs")
    figure.canvas.draw()
    (axis,) = figure.axes
    widths = np.array([[bar.get_width() for bar in bars] for bars in axis.containers])
    np.testing.assert_array_equal(widths.T, counts)
    starts = np.array([[bar.get_x() for bar in bars] for bars in axis.containers])
    np.testing.assert_array_equal(starts[1:], np.cumsum(widths, axis=0)[:-1])
    texts = [text.get_text() for text in axis.texts if text.get_text()]
    assert texts == ["80", "20", "90", "7"]  # no room for 3 of 100
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(counts)
    assert axis.yaxis_inverted()
    assert len({(b[0].get_hatch(), b[0].get_facecolor()) for b in axis.containers}) == 3


def test_weight_rows_shade_every_weight_and_part_the_relevant_inputs():
    weights = {"a": np.array([[0.0, 1.0, 0.5], [0.2, 0.3, 0.4]]), "b": np.ones((1, 3))}
    figure = plots.weight_rows(weights, relevant=2)
    figure.canvas.draw()
    panels = [axis for axis in figure.axes if axis.get_title()]
    assert [axis.get_title() for axis in panels] == ["a", "b"]
    for axis, values in zip(panels, weights.values(), strict=True):
        (image,) = axis.images
        np.testing.assert_array_equal(image.get_array(), values)
        assert image.get_clim() == (0, 1)
        assert axis.lines[0].get_xdata()[0] == 2.5
        left, right, bottom, top = image.get_extent()
        assert (left, right, top, bottom) == (0.5, 3.5, 0.5, len(values) + 0.5)
        assert axis.get_ylim() == (2.5, 0.5)  # the same height a run in both panels
