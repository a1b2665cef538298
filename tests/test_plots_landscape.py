"""The maps over two weights show the starts, lines, marks and outcomes they were given."""

import numpy as np
import pytest
import torch

from nmu import plots

VALUES = torch.linspace(0, 1, 11, dtype=torch.float64)


pytestmark = pytest.mark.usefixtures("book_style")


def marked(axis):
    """Return the points drawn with a marker, by marker."""
    return {
        line.get_marker(): line.get_xydata().tolist()
        for line in axis.get_lines()
        if line.get_marker() != "None"
    }


def dashed(axis):
    (line,) = [line for line in axis.get_lines() if line.get_linestyle() == "--"]
    return line.get_xydata()


def test_landscapes_mark_solution_trap_and_mirror():
    losses = {name: -torch.rand(11, 11, dtype=torch.float64) - 0.01 for name in "ABCD"}
    figure = plots.landscapes(
        VALUES,
        losses,
        [-1, -0.5, 0],
        box=(0.25, 0.75),
        traps=["B"],
        mirrors={"C": 0.7, "D": -0.1},
        label="loss",
    )
    figure.canvas.draw()
    panels = {axis.get_title(): axis for axis in figure.axes if axis.get_title()}
    assert list(panels) == list("ABCD")
    star = {"*": [[1, 1]]}
    assert marked(panels["A"]) == star
    assert marked(panels["B"]) == star | {"X": [[0, 0]]}
    assert marked(panels["C"]) == star | {"o": [[0.7, 0.7]]}
    assert marked(panels["D"]) == star, "a mirror outside the square is not drawn"
    for axis in panels.values():
        assert (dashed(axis).min(), dashed(axis).max()) == (0.25, 0.75)


def test_landscapes_put_the_first_weight_on_the_horizontal_axis():
    loss = -VALUES[:, None].expand(11, 11)  # falls with the first weight
    figure = plots.landscapes(
        VALUES, {"A": loss}, [-1, -0.5, 0], box=(0, 1), traps=[], mirrors={}, label="loss"
    )
    lines = figure.axes[0].collections[-1].get_paths()
    halfway = [
        path.vertices for path in lines if len(path.vertices) and np.allclose(path.vertices[:, 0], 0.5)
    ]
    assert len(halfway) == 1


def test_basins_draw_the_lines_and_every_run():
    failed = {"A": VALUES[:, None] + VALUES < 0.5, "B": torch.zeros(11, 11, dtype=torch.bool)}
    weights = torch.tensor([[0.1, 0.2], [0.6, 0.7], [0.3, 0.1]])
    figure = plots.basins(
        VALUES,
        failed,
        box=(0.25, 0.75),
        crossings={"A": 0.25, "B": 0.4},
        runs={name: (weights, [False, True, False]) for name in "AB"},
    )
    figure.canvas.draw()
    for axis, crossing in zip(figure.axes, (0.25, 0.4), strict=False):
        points = marked(axis)
        np.testing.assert_allclose(points["o"], weights[1:2])
        np.testing.assert_allclose(points["X"], weights[[0, 2]])
        lines = {line.get_label(): line.get_xydata() for line in axis.get_lines()}
        np.testing.assert_allclose(lines["$W_1 + W_2 = 2c$"].sum(1), 2 * crossing)
        np.testing.assert_allclose(lines["a factor is 0"][:, 0], crossing)
        assert (dashed(axis).min(), dashed(axis).max()) == (0.25, 0.75)
    (legend,) = [axis.get_legend() for axis in figure.axes if axis.get_legend()]
    names = [text.get_text() for text in legend.get_texts()]
    assert names[0] == "predicted to fail"
    assert {"run, solved", "run, failed", "initial weights", "a factor is 0"} < set(names)


def test_trap_map_marks_failed_ranges_otherwise():
    points = [
        {"name": "U[-3,-1]", "low": -3, "high": -1, "runs": 25, "failed": 4},
        {"name": "U[1,2]", "low": 1, "high": 2, "runs": 25, "failed": 0},
    ]
    half_widths = torch.logspace(-1, 1, 20)
    figure = plots.trap_map(half_widths, -torch.ones(20), points)
    assert marked(figure.axes[0]) == {"o": [[1.5, 0.5]], "X": [[-2, 1]]}
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 4
