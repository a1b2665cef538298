"""The figures show what they were given: every number, label and outcome."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.collections import LineCollection
from matplotlib.colors import same_color

from nmu import plots
from nmu.metrics import Estimate

pytestmark = pytest.mark.usefixtures("book_style")


def summary(shares, steps):
    """Table as ``single_module.summarize`` makes it, of the ranges A, B, ..."""
    return pd.DataFrame(
        {
            "success": [Estimate(share, share / 2, (1 + share) / 2) for share in shares],
            "solved_at": [Estimate(step, step - 500, step + 1500) for step in steps],
            "sparsity_error": [Estimate(1e-6, 0, 2e-6) for _ in shares],
        },
        index=pd.Index(list("ABC")[: len(shares)], name="range"),
    )


def points(container):
    """Markers ``(x, y)`` and bars ``(low, high)`` of an errorbar container."""
    line, _, (bars,) = container.lines
    assert isinstance(bars, LineCollection)
    return line, np.array([ends[:, 0] for ends in bars.get_segments() if len(ends)])


def test_comparison_shows_every_estimate_with_its_interval():
    tables = {
        "NMU": summary([1.0, 0.2, 0.0], [2000, 3000, np.nan]),
        "sNMU": summary([1.0, 0.9, 0.8], [2500, 3500, 4000]),
    }
    figure = plots.comparison(tables)
    figure.canvas.draw()
    success, solved_at = figure.axes
    for axis, column, scale in [(success, "success", 1), (solved_at, "solved_at", 1e-3)]:
        assert len(axis.containers) == 2
        for container, table in zip(axis.containers, tables.values(), strict=True):
            line, bars = points(container)
            values = [e.value * scale for e in table[column]]
            np.testing.assert_allclose(line.get_xdata(), values)
            np.testing.assert_allclose(np.round(line.get_ydata()), [0, 1, 2])
            intervals = [[e.low * scale, e.high * scale] for e in table[column]]
            np.testing.assert_allclose(bars, np.array(intervals)[np.isfinite(values)])
    assert not np.intersect1d(*(c.lines[0].get_ydata() for c in success.containers)).size


def test_comparison_is_labelled():
    figure = plots.comparison(
        {"NMU": summary([1.0, 0.2], [2000, 3000]), "sNMU": summary([1.0, 0.9], [2500, 3500])}
    )
    figure.canvas.draw()
    success, solved_at = figure.axes
    assert success.get_xlabel() == "success rate"
    assert solved_at.get_xlabel() == "solved at (thousand steps)"
    assert success.get_ylabel() == "training range"
    assert [label.get_text() for label in success.get_yticklabels()] == ["A", "B"]
    assert success.yaxis_inverted()  # the first range on top
    assert success.get_xlim()[0] < 0 < 1 < success.get_xlim()[1]
    assert solved_at.get_xlim()[0] == 0
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["NMU", "sNMU"]


def test_units_differ_by_more_than_colour():
    figure = plots.comparison({name: summary([0.5], [2000]) for name in ["a", "b", "c"]})
    lines = [container.lines[0] for container in figure.axes[0].containers]
    assert len({line.get_marker() for line in lines}) == 3
    assert len({line.get_color() for line in lines}) == 3
    assert len(set(plots.MARKERS)) == len(plots.MARKERS) == len(plots.PALETTE)


def test_palette_is_okabe_and_itos():
    """Their set is made for colour-blind readers; its yellow is too pale for lines on white."""
    published = "000000 E69F00 56B4E9 009E73 F0E442 0072B2 D55E00 CC79A7".split()
    assert sorted(plots.PALETTE) == sorted(f"#{color}" for color in published if color != "F0E442")


def test_style_is_light_and_text_stays_text():
    assert same_color(plt.rcParams["figure.facecolor"], "white")
    assert same_color(plt.rcParams["axes.facecolor"], "white")
    assert plt.rcParams["svg.fonttype"] == "none"
    cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    assert all(same_color(*pair) for pair in zip(cycle, plots.PALETTE, strict=True))


def paths():
    """Weights ``(T, R, 1, 2)`` of two replicas: one to (1, 1), one to (0, 0)."""
    ends = torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    start = torch.tensor([[0.6, 0.7], [0.3, 0.4]])
    return torch.stack([start, (start + ends) / 2, ends])[:, :, None]


def outcome_styles(lines):
    """What tells solved and failed apart: line style and marker."""
    return [(line.get_linestyle(), line.get_marker()) for line in lines]


def test_weight_paths_lead_from_start_to_end():
    _, axis = plt.subplots()
    plots.weight_paths(axis, paths(), [True, False])
    drawn = [line for line in axis.lines if len(line.get_xdata()) == 3]
    for replica, line in enumerate(drawn):
        np.testing.assert_allclose(line.get_xydata(), paths()[:, replica, 0])
    assert [line.get_linestyle() for line in drawn] == ["-", "--"]
    ends = [line for line in axis.lines if len(line.get_xdata()) == 1]
    np.testing.assert_allclose([line.get_xydata()[0] for line in ends], paths()[-1, :, 0])
    assert [line.get_marker() for line in ends] == ["o", "X"]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("$W_1$", "$W_2$")
    assert axis.get_aspect() == 1
    for low, high in [axis.get_xlim(), axis.get_ylim()]:
        assert low < 0
        assert high > 1


def test_factor_lines_put_each_factor_between_one_and_its_input():
    figure = plots.factor_lines([2.0, -1.5], [0.25, 0.8])
    drawn = [
        [line.get_xdata()[0] for line in axis.lines if line.get_marker() != "None"] for axis in figure.axes
    ]
    assert drawn == [[1, 2, 1.25], [1, -1.5, pytest.approx(-1)], [-3, pytest.approx(-1.25)]]


def test_weight_path_panels_have_a_title_each_and_one_legend():
    figure = plots.weight_path_panels(
        {"NMU": paths(), "sNMU": paths()}, {"NMU": [True, False], "sNMU": [True, True]}
    )
    figure.canvas.draw()
    assert [axis.get_title() for axis in figure.axes] == ["NMU", "sNMU"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["start", "solved", "failed"]
    dashed = [sum(line.get_linestyle() == "--" for line in axis.lines) for axis in figure.axes]
    assert dashed == [1, 0]
    starts = figure.axes[0].lines[-1]
    np.testing.assert_allclose(starts.get_xydata(), paths()[0, :, 0])


def test_surface_grid_draws_every_surface_on_the_same_levels():
    values = torch.linspace(-2, 2, 9)
    product = values[:, None] * values
    surfaces = {"a": product, "b": 2 * product, "c": -product}
    levels = [-4, -2, 2, 4]
    figure = plots.surface_grid(values, surfaces, levels, box=(-1, 0.5), label="output")
    figure.canvas.draw()
    panels = [axis for axis in figure.axes if axis.get_title()]
    assert [axis.get_title() for axis in panels] == ["a", "b", "c"]
    for axis in panels:
        filled, lines = axis.collections
        assert list(lines.levels) == levels
        assert list(filled.levels)[1:-1] == levels or list(filled.levels) == levels
        (box,) = axis.patches
        assert (box.get_xy(), box.get_width(), box.get_height()) == ((-1, -1), 1.5, 1.5)
    assert "output" in {axis.get_xlabel() for axis in figure.axes}


def test_surface_grid_puts_the_first_input_on_the_horizontal_axis():
    values = torch.linspace(0, 1, 5)
    only_first = values[:, None].expand(5, 5)
    figure = plots.surface_grid(values, {"x1": only_first}, [0.4, 0.5, 0.6], box=(0, 1), label="y")
    lines = figure.axes[0].collections[1]
    middle = lines.get_paths()[1].vertices
    np.testing.assert_allclose(middle[:, 0], 0.5, atol=1e-6)
    assert np.ptp(middle[:, 1]) == pytest.approx(1)


def test_success_grid_shows_how_many_runs_of_each_module_solved_each_range():
    runs = pd.DataFrame(
        [
            (module, range_, seed, seed < count)
            for module, counts in [("sNMU", (3, 0)), ("NMU", (2, 1))]
            for range_, count in zip(["U[1,2]", "U[-2,2]"], counts, strict=True)
            for seed in range(3)
        ],
        columns=["module", "interpolation_range", "seed", "solved"],
    )
    figure = plots.success_grid(runs)
    figure.canvas.draw()
    (axis,) = figure.axes
    texts = [text.get_text() for text in axis.texts]
    assert texts == ["3/3", "2/3", "0/3", "1/3"]  # rows from the top: ranges as they come
    assert [label.get_text() for label in axis.get_xticklabels()] == ["sNMU", "NMU"]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["U[1,2]", "U[-2,2]"]
    assert axis.yaxis_inverted()
    shades = axis.collections[0]
    np.testing.assert_allclose(shades.get_array().ravel(), [1, 2 / 3, 0, 1 / 3])
    assert shades.get_clim() == (0, 1)
    assert axis.get_ylabel() == "training range"


def test_success_grid_keeps_every_label_inside_the_figure():
    names = ["a module of a long name", "sNMU-batch", "NMU"]
    ranges = [f"U[-1.2,-1.{i}]" for i in range(9)]
    runs = pd.DataFrame(
        {"module": names * 9, "interpolation_range": np.repeat(ranges, 3), "seed": 0, "solved": True}
    )
    figure = plots.success_grid(runs)
    figure.canvas.draw()
    whole = figure.get_tightbbox()
    assert whole.x0 >= 0
    assert whole.y0 >= 0
    assert whole.x1 <= figure.get_figwidth()
    assert whole.y1 <= figure.get_figheight()


def test_surfaces_show_the_product_and_every_module():
    values = np.linspace(-10, 10, 5)
    x_1, x_2 = np.meshgrid(values, values, indexing="ij")
    table = pd.DataFrame({"x_1": x_1.ravel(), "x_2": x_2.ravel()})
    learned = {"NMU": table["x_1"] * table["x_2"], "MLP": 8 * table["x_1"]}
    stored = pd.concat([table.assign(module=module, output=output) for module, output in learned.items()])
    figure = plots.surfaces(stored)
    figure.canvas.draw()
    panels = {axis.get_title(): axis for axis in figure.axes if axis.get_title()}
    assert list(panels) == ["target $x_1 x_2$", "NMU", "MLP"]
    lines = {title: axis.collections[1] for title, axis in panels.items()}
    for one, other in zip(lines["target $x_1 x_2$"].get_paths(), lines["NMU"].get_paths(), strict=True):
        np.testing.assert_allclose(one.vertices, other.vertices)
    for level, path in zip(lines["MLP"].levels, lines["MLP"].get_paths(), strict=True):
        np.testing.assert_allclose(path.vertices[:, 0], level / 8, atol=1e-9)  # x_1 is on the horizontal axis
    for axis in panels.values():
        (box,) = axis.patches
        assert (box.get_xy(), box.get_width(), box.get_height()) == ((1, 1), 1, 1)
