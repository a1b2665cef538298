"""The figures of stacked units show the weights, errors and curvatures they were given."""

import numpy as np
import pandas as pd
import pytest

from nmu import plots

pytestmark = pytest.mark.usefixtures("book_style")


def test_stack_weights_repeat_each_weight_as_a_sign():
    nau = np.array([[0.0, 1.0, -0.7, 0.02], [0.5, 0.0, 0.0, -1.0]])
    product = np.array([1.0, 0.0])
    subsets = np.array([[1, 0, 0, 0], [0, 1, 1, 0]])
    figure = plots.stack_weights({"a run": (nau, product)}, [subsets])
    figure.canvas.draw()
    axis = figure.axes[0]
    assert axis.get_title(loc="left") == "a run"
    (image,) = axis.images
    np.testing.assert_array_equal(image.get_array()[:, :4], nau)
    np.testing.assert_array_equal(image.get_array()[:, -1], product)
    signs = {text.get_position(): text.get_text() for text in axis.texts}
    minus = "\N{MINUS SIGN}"
    assert signs == {(1, 0): "+", (2, 0): minus, (0, 1): "+", (3, 1): minus, (5, 0): "+"}
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "2", "3", "4", "W"]
    cells, frames = axis.patches[:-2], axis.patches[-2:]
    assert len(cells) == 2 * 5, "each weight has a cell, also where it is 0"
    ends = [(patch.get_x(), patch.get_x() + patch.get_width(), patch.get_y()) for patch in frames]
    np.testing.assert_allclose(ends, [[-0.44, 0.44, 0.58], [0.56, 2.44, -0.42]])  # each in the row that fits
    assert [patch.get_edgecolor() for patch in frames] == [(0, 0, 0, 1)] * 2
    assert frames[0].get_linestyle() != frames[1].get_linestyle()


def test_stack_errors_mark_the_best_step():
    curve = pd.DataFrame(
        {
            "step": [0, 1_000, 2_000, 3_000],
            "interpolation_error": [1.0, 1e-3, 1e-5, 1e-4],
            "extrapolation_error": [10.0, 1e-2, 1e-3, 1e-1],
        }
    )
    figure = plots.stack_errors({"one": curve, "two": curve}, [1e-2, 1e-4], (1_500, 2_500))
    figure.canvas.draw()
    for axis, threshold in zip(figure.axes, [1e-2, 1e-4], strict=True):
        extrapolation, interpolation, limit, *best = axis.get_lines()
        np.testing.assert_array_equal(extrapolation.get_ydata(), curve["extrapolation_error"])
        np.testing.assert_array_equal(interpolation.get_ydata(), curve["interpolation_error"])
        np.testing.assert_array_equal(interpolation.get_xdata(), [0, 1, 2, 3])
        assert limit.get_ydata()[0] == threshold
        assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in best] == [(2, 1e-5), (2, 1e-3)]
        assert axis.get_yscale() == "log"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "ramp of the regulariser",
        "extrapolation error",
        "interpolation error",
        "threshold",
        "best step",
    ]


def test_curvature_rows_divide_by_the_steepest():
    figure = plots.curvature_rows({"A": np.array([0.1, 5.0]), "B": np.array([1.0, 2.0, 8.0])})
    figure.canvas.draw()
    (axis,) = figure.axes
    first, second = axis.get_lines()
    np.testing.assert_allclose(first.get_xdata(), [0.02, 1])
    np.testing.assert_allclose(second.get_xdata(), [0.125, 0.25, 1])
    assert [label.get_text() for label in axis.get_yticklabels()] == ["A", "B"]
    assert set(second.get_ydata()) == {1}
