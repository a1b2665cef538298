"""The built book, page by page: nothing missing, nothing broken, nothing from another host."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from tools.pdf import parts

pytestmark = pytest.mark.built

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"


PAGES = [f"{name}.html" for _, names in parts(ROOT) for name in names]
each_page = pytest.mark.parametrize("name", PAGES)


@cache
def soup(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def article(name):
    found = soup(HTML / name).select_one("article.bd-article")
    assert found is not None, f"{name} has no article"
    return found


def test_the_book_is_built_and_complete():
    assert (HTML.parent / "complete").exists(), "no finished build in _build: run `make book` first"
    assert [name for name in PAGES if not (HTML / name).exists()] == []


@each_page
def test_page_has_a_title(name):
    heading = article(name).find("h1").get_text().rstrip("#").strip()
    assert heading
    assert heading in soup(HTML / name).title.get_text()


@each_page
def test_page_shows_no_error(name):
    text = article(name).get_text()
    assert "Traceback (most recent call last)" not in text
    assert article(name).select(".output.traceback, .output.stderr, .system-message") == []


@each_page
def test_every_glued_value_arrived(name):
    glued = article(name).select(".pasted-text, .pasted-inline")
    assert [str(tag) for tag in glued if tag.get_text().strip() in {"", "None", "nan"}] == []
    assert not re.search(r"\{(glue|numref|ref|cite|eq)[}:]", article(name).get_text())


@each_page
def test_every_image_says_what_it_shows(name):
    for image in article(name).find_all("img"):
        alt = image.get("alt", "").strip()
        assert len(alt) >= 20, f"{image.get('src')}: alt text {alt!r}"
        assert not re.search(r"\.(png|svg|jpe?g)$|^_?images/", alt), f"a file name: {alt!r}"


@each_page
def test_every_figure_has_a_caption(name):
    for image in article(name).select(".cell_output img, figure img"):
        figure = image.find_parent("figure")
        assert figure is not None, f"{image.get('src')} stands in no figure"
        caption = figure.find("figcaption")
        assert caption is not None, f"{image.get('src')} has no caption"
        words = caption.select_one(".caption-text")
        assert len(words.get_text().split()) >= 3, f"{image.get('src')}: {caption.get_text()!r}"


@each_page
def test_every_exercise_has_a_solution(name):
    exercises = {tag["id"] for tag in article(name).select("div.exercise")}
    solved = {
        urlsplit(link["href"]).fragment
        for link in article(name).select("div.solution .admonition-title a[href]")
    }
    assert exercises == solved
    if re.match(r"book/\d\d-", name):
        assert len(exercises) >= 2


@each_page
def test_every_internal_link_resolves(name):
    page = HTML / name
    broken = []
    for link in soup(page).find_all("a", href=True):
        url = urlsplit(link["href"])
        if url.scheme or url.netloc:
            continue
        target = (page.parent / unquote(url.path)).resolve() if url.path else page
        anchor = unquote(url.fragment)
        if not target.exists():
            broken.append(link["href"])
        elif anchor and target.suffix == ".html" and soup(target).find(id=anchor) is None:
            broken.append(link["href"])
    assert broken == []


@each_page
def test_page_loads_nothing_from_another_host(name):
    loaded = [
        tag.get("src") or tag.get("href")
        for tag in soup(HTML / name).select("script[src], img[src], iframe[src], link[href]")
        if tag.get("rel") != ["canonical"]
    ]
    assert [url for url in loaded if urlsplit(url).netloc] == []
