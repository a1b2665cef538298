"""The figures of two transformers show the canvases, looks and readings they were given."""

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_rgb

from nmu.experiments import digit_products, static_mnist
from nmu.images.digits import load_bundled
from nmu.images.heads import ExactProduct
from nmu.images.networks import OverlappingProduct
from nmu.images.transformer import control_grid
from nmu.plots import looks

pytestmark = pytest.mark.usefixtures("book_style", "one_thread")
CONTROL = control_grid().float()


def canvas_with_a_square():
    canvas = torch.zeros(2, 12, 12)
    canvas[0, 2:5, 2:5] = 1
    return canvas


def pictures(figure):
    return [axis.images[0].get_array() for axis in figure.axes if axis.images]


def test_two_channels_are_two_inks():
    canvas = torch.zeros(2, 1, 4)
    canvas[0, 0, 1] = canvas[1, 0, 2] = 1
    canvas[:, 0, 3] = 1
    (white, first, second, both) = looks.canvas_picture(canvas)[0]
    np.testing.assert_allclose(white, 1)
    np.testing.assert_allclose(first, to_rgb(looks.INKS[0]), atol=1e-6)
    np.testing.assert_allclose(second, to_rgb(looks.INKS[1]), atol=1e-6)
    np.testing.assert_allclose(both, first * second, atol=1e-6)


def test_canvas_grid_has_a_panel_a_canvas():
    figure = looks.canvas_grid(canvas_with_a_square().expand(3, 2, 12, 12), ["2 × 3", "b", "c"], columns=2)
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title() for axis in shown] == ["2 × 3", "b", "c"]


def test_a_look_at_itself_sees_the_canvas_and_a_shifted_one_sees_it_shifted():
    canvas = canvas_with_a_square()
    shifted = CONTROL + torch.tensor([2.0, 0.0]) * 2 / 11  # two pixels to the right
    figure = looks.transformer_looks(
        canvas[None], torch.stack((CONTROL, shifted))[None], [["as it is", "shifted"]]
    )
    figure.canvas.draw()
    above, _, below, moved = pictures(figure)
    np.testing.assert_allclose(below, above, atol=1e-4)
    np.testing.assert_allclose(moved[:, :10], above[:, 2:], atol=1e-4)
    np.testing.assert_allclose(moved[:, 10:], looks.OUTSIDE, atol=1e-4)
    mesh = figure.axes[1].get_lines()
    assert len(mesh) == 4 + 4 + 1
    np.testing.assert_allclose(mesh[0].get_xydata(), shifted[:4], atol=1e-6)
    assert [axis.get_title() for axis in figure.axes[:2]] == ["as it is", "shifted"]


def test_stored_looks_are_those_of_the_network():
    _, digits = load_bundled()
    sample = static_mnist.draw("overlapping", digits, torch.tensor([[2, 3], [4, 5]]), 3, "bundled", 0, "test")
    network = digit_products.build(OverlappingProduct, ExactProduct, "bundled", 0)
    tables = static_mnist._looks(network, sample)
    shuffled = [tables[name].sample(frac=1, random_state=0) for name in ("looks.csv.gz", "canvases.csv.gz")]
    canvases, labels, points, reads = looks.stored_looks(*shuffled)
    rows = torch.linspace(0, len(sample) - 1, static_mnist.LOOKS).long()
    torch.testing.assert_close(canvases, sample.images(rows), atol=0.5 / 255, rtol=0)
    assert torch.equal(labels, sample.labels[rows])
    with torch.no_grad():
        torch.testing.assert_close(points, network.control_points(sample.images(rows)))
        torch.testing.assert_close(reads.float(), network.eval()(sample.images(rows))[1])


def test_reading_curves_have_a_panel_a_transformer_and_a_line_a_channel():
    curves = pd.DataFrame(
        [(rows, t, c, rows / 1e4 + t + 10 * c) for rows in (0, 5000) for t in (1, 2) for c in (1, 2)],
        columns=["rows", "transformer", "channel", "correlation"],
    )
    figure = looks.reading_curves(curves)
    assert [axis.get_title() for axis in figure.axes] == ["transformer 1", "transformer 2"]
    line = figure.axes[1].get_lines()[0]
    np.testing.assert_allclose(line.get_xydata(), [(0, 12), (5, 12.5)])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "digit in channel 1",
        "digit in channel 2",
    ]
