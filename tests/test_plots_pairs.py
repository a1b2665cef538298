"""The figures of pairs show the shares and readings they were given."""

import numpy as np
import pandas as pd
import pytest

from nmu.plots.pairs import pair_grid, readings

pytestmark = pytest.mark.usefixtures("book_style")


def test_pair_grid_has_the_first_digit_downwards_and_says_each_share():
    shares = pd.DataFrame(np.linspace(0, 1, 100).reshape(10, 10))
    shares.iloc[7, 2] = np.nan
    figure = pair_grid(shares, "products right")
    figure.canvas.draw()
    axis, bar = figure.axes
    np.testing.assert_array_equal(axis.images[0].get_array().filled(np.nan), shares)
    texts = {text.get_position(): text.get_text() for text in axis.texts}
    assert len(texts) == 99  # a cell without a share is left empty
    assert (texts[0, 0], texts[3, 5], texts[9, 9]) == ("0", "54", "100")
    assert axis.get_ylabel() == "first digit"
    assert [text.get_text() for text in axis.get_xticklabels()] == [str(digit) for digit in range(10)]
    assert bar.get_xlabel() == "products right"


def test_readings_have_marks_and_lines_of_one_colour():
    digits = np.arange(10.0)
    figure = readings(
        {"NMU": {"epoch 2": digits / 2}, "sNMU": {}},
        {"NMU": {"W = 0.5": digits / 3, "W = 1": digits}, "sNMU": {"W = 1": digits}},
    )
    figure.canvas.draw()
    first, second = figure.axes
    line, other, mark, _ = first.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), digits / 3)
    np.testing.assert_array_equal(mark.get_ydata(), digits / 2)
    assert line.get_color() == mark.get_color() != other.get_color()
    assert line.get_linestyle() != other.get_linestyle()
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["W = 0.5", "W = 1", "epoch 2"]
    assert len(second.get_lines()) == 2
    assert (first.get_title(), second.get_title()) == ("NMU", "sNMU")
