"""The printed book: complete, in order, and its links lead to its own pages."""

import unicodedata
from functools import cache

import pytest
from pypdf import PdfReader

from tests.test_book import HTML, ROOT, article
from tools.course import PDF as NAME
from tools.pdf import printed as printed_parts

pytestmark = pytest.mark.built

PDF = HTML / "downloads" / NAME


@cache
def printed():
    return PdfReader(PDF)


@cache
def text(page):
    return unicodedata.normalize("NFKC", printed().pages[page].extract_text())  # fi is one letter in print


def outline():
    """Captions and the titles below each; what is deeper is left out."""
    found, items = {}, iter(printed().outline)
    for item in items:
        if isinstance(item, list):
            found[list(found)[-1]] = [entry for entry in item if not isinstance(entry, list)]
        else:
            found[item.title] = []
    return found


def titles(names):
    return [article(f"{name}.html").find("h1").get_text().rstrip("#").strip() for name in names]


def test_the_outline_has_all_parts_and_pages_in_order():
    (_, first), *others = printed_parts(ROOT)
    found = outline()
    assert list(found) == ["Contents", *(caption for caption, _ in others)]
    assert [entry.title for entry in next(iter(found.values()))] == titles(first)
    for caption, names in others:
        assert [entry.title for entry in found[caption]] == titles(names)


def test_the_contents_name_the_pages_on_which_chapters_begin():
    contents = " ".join(text(1).split())
    for entries in outline().values():
        for entry in entries:
            page = printed().get_destination_page_number(entry)
            assert f"{entry.title} {page + 1}" in contents
            assert " ".join(entry.title.split()) in " ".join(text(page).split())


def test_every_page_has_its_number():
    for number in range(0, len(printed().pages), 10):
        assert text(number).split()[-1] == str(number + 1)


def test_links_lead_to_pages_of_the_book_or_to_the_web():
    known, inside = set(printed().named_destinations), 0
    for page in printed().pages:
        for annotation in page.get("/Annots", []):
            link = annotation.get_object()
            target = link.get("/A", {}).get("/URI")
            if target is None:
                destination = link.get("/Dest") or link["/A"]["/D"]
                assert not isinstance(destination, str) or destination in known
                inside += 1
            else:
                assert target.startswith(("https://", "http://", "mailto:")), target
    assert inside > 500


def test_the_figures_are_printed():
    images = sum(len(page.images) for page in printed().pages[:200])
    assert images >= 30
