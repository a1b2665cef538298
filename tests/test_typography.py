"""What the extension of the book does to numbers and formulas in a line, and to tables."""

import nmu_book
import pytest
import typography
from docutils import nodes
from docutils.utils import new_document


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("7e-05", "7\u00a0·\u00a010⁻⁵"),
        ("-1.1e+04", "−1.1\u00a0·\u00a010⁴"),
        ("1e-12", "10⁻¹²"),
        ("-0.07", "−0.07"),
        ("+5.0 [-12.8, 22.9]", "+5.0 [−12.8, 22.9]"),
        ("40%", "40\u00a0%"),
        ("1,024", "1,024"),
        ("sNMU-batch, 2-sided", "sNMU-batch, 2-sided"),
    ],
)
def test_numbers_are_set_as_in_print(given, wanted):
    assert typography.number(given) == wanted


def paragraph(*children):
    document = new_document("page")
    document += nodes.paragraph("", "", *children)
    return document


def test_names_of_ranges_among_pasted_values_stay():
    pasted = [nodes.inline(text, text, classes=["pasted-text"]) for text in ("U[-2,-1]", "-2")]
    page = paragraph(*pasted, nodes.Text(" -2"))
    typography.set_numbers(None, page, "page")
    assert page.astext() == "U[-2,-1]−2 -2"


def test_a_formula_keeps_its_punctuation_and_a_number_its_per_cent():
    page = paragraph(nodes.Text("95 % ("), nodes.math("", "x"), nodes.Text("), so "), nodes.math("", "y"))
    page[0] += [nodes.Text(" is 3 %."), nodes.literal("", "5 %")]
    typography.keep_together(None, page, "page")
    assert page.astext() == "95\u00a0% (\u2060x\u2060), so y is 3\u00a0%.5 %"


def test_names_and_intervals_in_a_table_stay_in_one_line():
    table = (
        '<table class="dataframe"><tr><th></th><td>sNMU-batch 0.5 [0.4, 0.6] †</td><td>2</td></tr></table>'
    )
    page = paragraph(nodes.raw("", table, format="html"))
    nmu_book.mend_tables(None, page, "page")
    assert page.astext() == (
        '<table class="dataframe"><tr><td></td><td><span class="nobr">sNMU-batch</span> 0.5 '
        '<span class="nobr">[0.4, 0.6] †</span></td><td>2</td></tr></table>'
    )
