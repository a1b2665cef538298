"""How the book is found, shared and cited; and what appears once the site's address is configured."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.test_book import HTML, PAGES, ROOT, article, each_page, soup

ADDRESS = "https://example.org/multiply/"


def meta(path):
    """Content of the meta elements of a page by their name or property."""
    return {tag.get("name") or tag.get("property"): tag.get("content") for tag in soup(path).find_all("meta")}


@pytest.mark.built
@each_page
def test_page_says_what_it_is_about(name):
    found = meta(HTML / name)
    assert 40 <= len(found["description"]) <= 300
    assert found["og:description"] == found["description"]
    assert found["og:title"] == article(name).find("h1").get_text().rstrip("#").strip()
    address = yaml.safe_load((ROOT / "_config.yml").read_text())["html"].get("baseurl")
    absolute = [found.get("og:url"), found.get("og:image"), soup(HTML / name).find("link", rel="canonical")]
    assert [value is not None for value in absolute] == [bool(address)] * 3


@pytest.mark.built
def test_titles_and_descriptions_are_all_different():
    titles = [soup(HTML / name).title.get_text() for name in PAGES]
    descriptions = [meta(HTML / name)["description"] for name in PAGES]
    assert len(set(titles)) == len(set(descriptions)) == len(PAGES)


@pytest.mark.built
def test_the_page_for_wrong_addresses_links_from_the_root():
    page = soup(HTML / "404.html")
    assert "There is no page at this address" in page.get_text()
    assert all(
        link["href"].startswith(("/", "#", "https:"))
        for link in page.select("link[href], .bd-sidebar a[href]")
    )


@pytest.mark.built
def test_the_citation_on_the_page_is_that_of_the_file():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    text = article("book/cite.html").get_text()
    for value in (citation["title"], citation["version"], citation["references"][0]["title"]):
        assert text.count(str(value)) >= 2
    assert f"year    = {{{citation['date-released']:%Y}}}" in text
    assert "Permission is hereby granted" in text


def test_the_version_is_the_same_everywhere():
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    assert str(yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]) == version
    assert f"## Version {version} (" in (ROOT / "book/changes.md").read_text()


@pytest.mark.slow
def test_an_address_appears_in_all_that_needs_it(tmp_path):
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    config["html"]["baseurl"] = ADDRESS
    config["execute"]["execute_notebooks"] = "off"
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(config))
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/index\nchapters: [{file: book/other}]\n")
    shutil.copytree(ROOT / "book/_static", tmp_path / "book/_static")
    shutil.copytree(ROOT / "book/_ext", tmp_path / "book/_ext")
    shutil.copy(ROOT / "book/references.bib", tmp_path / "book")
    front = "---\nmyst:\n  html_meta:\n    description: About multiplying.\n---\n# A page\n\nText.\n"
    (tmp_path / "book/index.md").write_text(front)
    (tmp_path / "book/other.md").write_text("# Another page\n\nText.\n")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "-W", "-n", "--keep-going", tmp_path]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr

    html = tmp_path / "_build/html"
    found = meta(html / "book/index.html")
    assert found["og:url"] == f"{ADDRESS}book/index.html"
    assert found["og:image"] == f"{ADDRESS}_static/teaser.png"
    assert found["og:description"] == found["description"] == "About multiplying."
    assert soup(html / "book/other.html").find("link", rel="canonical")["href"] == f"{ADDRESS}book/other.html"
    assert soup(html / "404.html").find("link", rel="stylesheet")["href"].startswith("/multiply/_static/")
    locations = [element.text for element in ElementTree.parse(html / "sitemap.xml").iter() if element.text]
    assert {f"{ADDRESS}book/index.html", f"{ADDRESS}book/other.html"} <= set(locations)
