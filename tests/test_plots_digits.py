"""The figures of digits show the accuracies, curves, counts and pictures they were given."""

import numpy as np
import pandas as pd
import pytest

from nmu import metrics, plots

pytestmark = pytest.mark.usefixtures("book_style")
HEADS = ("exact", "NMU", "sNMU")


def runs(pairs):
    table = pd.DataFrame(
        [
            {"module": head, "seed": seed, "pairs": kind, "place": i}
            for i, head in enumerate(HEADS)
            for seed in range(4)
            for kind in ("held out", "trained")
        ]
    )
    table["label_accuracy"] = 0.5 + 0.1 * table["place"] + 0.01 * table["seed"]
    table["output_accuracy"] = table["label_accuracy"] ** 2
    return table if pairs else table[table["pairs"] == "trained"].drop(columns="pairs")


@pytest.mark.parametrize("pairs", [True, False])
def test_accuracies_have_a_dot_a_run_and_an_interval_a_head(pairs):
    table = runs(pairs)
    figure = plots.accuracies(table)
    figure.canvas.draw()
    assert len(figure.axes) == (4 if pairs else 2)
    last = table[table["pairs"] == "trained"] if pairs else table
    for axis, quantity in zip(figure.axes[-2:], ("label_accuracy", "output_accuracy"), strict=True):
        assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == list(HEADS)
        for place, (head, bars) in enumerate(zip(HEADS, axis.containers, strict=True)):
            values = last.loc[last["module"] == head, quantity].to_numpy()
            estimate = metrics.mean(values)
            assert bars.lines[0].get_xydata()[0] == pytest.approx((estimate.value, place))
            ends = bars.lines[2][0].get_segments()[0][:, 0]
            assert ends == pytest.approx((estimate.low, estimate.high))
            np.testing.assert_allclose(axis.collections[2 * place].get_offsets()[:, 0], values)
    markers = {bars.lines[0].get_marker() for bars in figure.axes[0].containers}
    assert len(markers) == 3


def test_epoch_curves_are_means_with_the_range_of_the_seeds():
    table = pd.DataFrame(
        [
            (head, seed, epoch, epoch * (seed + 1.0))
            for head in HEADS
            for seed in range(3)
            for epoch in range(4)
        ],
        columns=["module", "seed", "epoch", "value"],
    )
    figure = plots.epoch_curves(table, {"value": "the value"}, ramp=(1, 2))
    figure.canvas.draw()
    (axis,) = figure.axes
    for line in axis.get_lines():
        np.testing.assert_allclose(line.get_xydata(), [(epoch, 2 * epoch) for epoch in range(4)])
    assert len({line.get_linestyle() for line in axis.get_lines()}) == 3
    band = axis.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == 9
    assert band[band[:, 0] == 3, 1].min() == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(HEADS)
    assert axis.get_ylabel() == "the value"
    assert axis.patches[0].get_x() == 1
    assert axis.patches[0].get_width() == 1


def test_confusion_shows_shares_of_each_digit():
    table = pd.DataFrame(
        [
            ("NMU", 3, 3, 1, 30),
            ("NMU", 3, 8, 1, 10),
            ("NMU", 3, 8, 2, 10),
            ("NMU", 7, 1, 1, 5),
            ("exact", 0, 0, 1, 2),
        ],
        columns=["module", "label", "read", "place", "images"],
    )
    figure = plots.confusion(table)
    figure.canvas.draw()
    first, second = (axis.collections[0].get_array().reshape(10, 10) for axis in figure.axes[:2])
    np.testing.assert_allclose(first[3, [3, 8]], [0.6, 0.4])
    assert first[7, 1] == 1
    assert second[0, 0] == 1
    assert second[3].mask.all()  # no image of a 3 was shown
    assert [axis.get_title() for axis in figure.axes[:2]] == ["NMU", "exact"]


def test_class_accuracies_are_shares_of_each_digit():
    table = pd.DataFrame(
        [("NMU", 3, 3, 30), ("NMU", 3, 8, 10), ("NMU", 7, 1, 5), ("exact", 3, 3, 2), ("exact", 7, 7, 2)],
        columns=["module", "label", "read", "images"],
    )
    figure = plots.class_accuracies(table)
    figure.canvas.draw()
    first, second = figure.axes[0].get_lines()
    assert (first.get_label(), second.get_label()) == ("NMU", "exact")
    np.testing.assert_allclose(first.get_xydata(), [(3, 0.75), (7, 0)])
    np.testing.assert_allclose(second.get_ydata(), [1, 1])
    assert first.get_marker() != second.get_marker()


def test_image_grid_shows_each_picture_as_it_is():
    pictures = np.random.default_rng(0).random((2, 3, 5, 4))
    figure = plots.image_grid(pictures, [list("abc"), list("def")], rows=["one", "two"])
    shown = [axis.images[0].get_array() for axis in figure.axes]
    np.testing.assert_array_equal(shown, pictures.reshape(6, 5, 4))
    assert [axis.get_title() for axis in figure.axes] == list("abcdef")
    assert [axis.get_ylabel() for axis in figure.axes] == ["one", "", "", "two", "", ""]


def test_errors_by_length_are_medians_with_the_range_of_the_seeds():
    table = pd.DataFrame(
        [(head, seed, n, 10.0 ** (n + seed)) for head in HEADS for seed in range(3) for n in range(1, 21)],
        columns=["module", "seed", "length", "error"],
    )
    figure = plots.errors_by_length(table, "error", "the error")
    figure.canvas.draw()
    (axis,) = figure.axes
    for line in axis.get_lines()[:3]:
        np.testing.assert_allclose(line.get_ydata(), 10.0 ** np.arange(2, 22))
    assert axis.get_yscale() == "log"
    assert axis.get_ylabel() == "the error"
