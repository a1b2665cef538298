"""The figure of the choice of the noise shows the shares and predictions it was given."""

import numpy as np
import pytest

from nmu import plots
from nmu.metrics import Estimate

pytestmark = pytest.mark.usefixtures("book_style")


def test_shift_shares_have_a_line_and_a_marker_a_range_and_name_each_noise():
    shifts = {"U[0.1,0.5]": -1.3, "none": 0.0, "U[1,5]": 1.0}
    measured = {
        "A": [Estimate(0.9, 0.8, 0.95), Estimate(0.4, 0.3, 0.5), Estimate(0.0, 0.0, 0.1)],
        "B": [Estimate(1.0, 0.9, 1.0), Estimate(0.2, 0.1, 0.3), Estimate(0.1, 0.0, 0.2)],
    }
    line = np.linspace(-2, 2, 5)
    predicted = {"A": (line, line**2 / 4), "B": (line, 1 - line**2 / 4)}
    figure = plots.shift_shares(shifts, measured, predicted, label="share lost")
    figure.canvas.draw()
    (axis,) = figure.axes
    assert axis.get_ylabel() == "share lost"
    for (name, estimates), bars in zip(measured.items(), axis.containers, strict=True):
        points, _, (intervals,) = bars.lines
        np.testing.assert_allclose(points.get_xdata(), list(shifts.values()))
        np.testing.assert_allclose(points.get_ydata(), [e.value for e in estimates])
        ends = [[y for _, y in segment] for segment in intervals.get_segments()]
        np.testing.assert_allclose(ends, [[e.low, e.high] for e in estimates])
        (drawn,) = [drawn for drawn in axis.get_lines() if drawn.get_label() == f"{name}, predicted"]
        np.testing.assert_allclose(drawn.get_xydata().T, predicted[name])
    first, second = (bars.lines[0] for bars in axis.containers)
    assert first.get_marker() != second.get_marker()
    (top,) = axis.child_axes
    assert [text.get_text() for text in top.get_xticklabels()] == list(shifts)
    np.testing.assert_allclose(top.get_xticks(), list(shifts.values()))
