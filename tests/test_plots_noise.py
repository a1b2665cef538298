"""The figures of the noise show the weights, shares and basins they were given."""

import numpy as np
import pytest
import torch

from nmu import functional, plots
from nmu.metrics import Estimate

pytestmark = pytest.mark.usefixtures("book_style")


def test_effective_weight_rows_span_the_units_own_weights():
    weights, noise = [0.1, 0.5, 0.9], (1.0, 5.0)
    figure = plots.effective_weight_rows(weights, noise)
    figure.canvas.draw()
    in_log_odds, plain = figure.axes
    for row, weight in enumerate(weights):
        ends = functional.effective_weight(
            torch.tensor(weight, dtype=torch.float64), torch.tensor(noise, dtype=torch.float64)
        )
        for axis, start, expected in [
            (in_log_odds, np.log(weight / (1 - weight)), ends.logit()),
            (plain, weight, ends),
        ]:
            curve, ring = axis.get_lines()[2 * row : 2 * row + 2]
            assert ring.get_xydata()[0] == pytest.approx((start, row))
            np.testing.assert_allclose(curve.get_xdata()[[0, -1]], expected)
            assert curve.get_ydata().max() == pytest.approx(row + 0.75)
    shapes = [line.get_xydata() for line in in_log_odds.get_lines()[::2]]
    shifted = [
        shape - [np.log(w / (1 - w)), row] for row, (shape, w) in enumerate(zip(shapes, weights, strict=True))
    ]
    np.testing.assert_allclose(shifted[1], shifted[0], atol=1e-12)
    np.testing.assert_allclose(shifted[2], shifted[0], atol=1e-12)


def test_effective_weight_rows_draw_the_density():
    weight, noise = 0.3, (1.0, 5.0)
    figure = plots.effective_weight_rows([weight], noise)
    drawn = torch.linspace(*noise, 200_001, dtype=torch.float64)
    effective = functional.effective_weight(torch.tensor(weight, dtype=torch.float64), drawn)
    for axis, values in [(figure.axes[0], effective.logit()), (figure.axes[1], effective)]:
        place, top = axis.get_lines()[0].get_xydata().T
        counts, edges = np.histogram(values, bins=20)
        middles = (edges[1:] + edges[:-1]) / 2
        np.testing.assert_allclose(counts / counts.max(), np.interp(middles, place, top) / 0.75, atol=0.1)


def test_shares_have_a_marker_a_range_and_a_row_a_condition():
    estimates = {
        "plain": {"A": Estimate(0.2, 0.1, 0.3), "B": Estimate(0.5, 0.4, 0.6)},
        "noisy": {"A": Estimate(0.0, 0.0, 0.1), "B": Estimate(1.0, 0.9, 1.0)},
    }
    figure = plots.shares(estimates, label="share of runs")
    figure.canvas.draw()
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["plain", "noisy"]
    for name, bars in zip("AB", axis.containers, strict=True):
        assert bars.get_label() == name
        points, _, (intervals,) = bars.lines
        np.testing.assert_allclose(points.get_xdata(), [row[name].value for row in estimates.values()])
        ends = [[x for x, _ in segment] for segment in intervals.get_segments()]
        np.testing.assert_allclose(ends, [[row[name].low, row[name].high] for row in estimates.values()])
    assert axis.containers[0].lines[0].get_marker() != axis.containers[1].lines[0].get_marker()


def test_nested_basins_outline_each_basin():
    values = torch.linspace(0, 1, 11, dtype=torch.float64)
    total = values[:, None] + values
    failed = {"A": {"NMU": total < 0.85, "sNMU": total < 0.35}, "B": {"NMU": total < 0.55, "sNMU": total < 0}}
    figure = plots.nested_basins(values, failed, box=(0.25, 0.75))
    figure.canvas.draw()
    first, second = figure.axes
    assert [axis.get_title() for axis in figure.axes] == ["A", "B"]
    assert len(second.collections) == 2, "an empty basin is not drawn"
    outlines = [path.vertices.sum(1) for c in first.collections[1::2] for path in c.get_paths()]
    assert [round(outline.max(), 2) for outline in outlines] == [0.85, 0.35]
    (dotted,) = [line for line in first.get_lines() if line.get_linestyle() == ":"]
    assert (dotted.get_xydata().min(), dotted.get_xydata().max()) == (0.25, 0.75)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["NMU", "sNMU", "initial weights"]
