"""Where the notebooks are linked: in each chapter's header and in a table; Colab and Binder if configured."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
EXTENSIONS = str(ROOT / "book" / "_ext")
CHAPTERS = [path.stem for path in sorted((ROOT / "book").glob("[0-9][0-9]-*.md"))]
OURS = {
    "Notebook": "../notebooks/08-noise.ipynb",
    "Exercises": "../notebooks/08-noise-exercises.ipynb",
    "Solutions": "../notebooks/08-noise-solutions.ipynb",
}
COLAB = "https://colab.research.google.com/github/someone/multiply/blob/gh-pages/notebooks/08-noise"
BINDER = "https://mybinder.org/v2/gh/someone/multiply/gh-pages?urlpath=lab/tree/notebooks/08-noise"
INDEX = """# Start

```{toctree}
08-noise
```

```{notebook-table}
```

:::{launched}
In your browser.
:::
"""


@pytest.fixture
def launch(monkeypatch):
    monkeypatch.syspath_prepend(EXTENSIONS)
    import launch

    return launch


@pytest.fixture
def header(launch):
    """Return the menus of the header of a page: links by text, by label of the menu."""

    def menus(page, url=None):
        config = SimpleNamespace(html_theme_options={"repository_url": url}, published_branch="gh-pages")
        downloads = {"label": "download-buttons", "buttons": [launch.link(".md", "source.md", "", "")]}
        context = {"header_buttons": [downloads], "pathto": lambda path, resource: f"../{path}"}
        launch.add_buttons(SimpleNamespace(config=config), page, "page.html", context, None)
        return {
            menu["label"]: {button["text"]: button["url"] for button in menu["buttons"]}
            for menu in context["header_buttons"]
        }

    return menus


def test_a_chapter_offers_its_notebooks_beside_its_source(header):
    assert header("book/08-noise") == {"download-buttons": {**OURS, ".md": "source.md"}}


def test_a_page_without_notebooks_offers_none(header):
    assert header("book/glossary") == {"download-buttons": {".md": "source.md"}}


@pytest.mark.parametrize("end", ["", "/", ".git"])
def test_a_repository_adds_colab_and_binder_for_what_is_to_be_run(header, end):
    menu = header("book/08-noise", f"https://github.com/someone/multiply{end}")["launch-buttons"]
    assert menu == {
        "Colab: notebook": f"{COLAB}.ipynb",
        "Binder: notebook": f"{BINDER}.ipynb",
        "Colab: exercises": f"{COLAB}-exercises.ipynb",
        "Binder: exercises": f"{BINDER}-exercises.ipynb",
    }


def test_a_repository_elsewhere_adds_nothing(header):
    assert "launch-buttons" not in header("book/08-noise", "https://gitlab.com/someone/multiply")


def test_a_theme_without_the_menu_stops_the_build(launch):
    with pytest.raises(launch.ExtensionError, match="menu of downloads"):
        launch.add_buttons(None, "book/08-noise", "page.html", {"header_buttons": []}, None)


@pytest.mark.slow
def test_a_configured_book_shows_the_links(tmp_path):
    book = tmp_path / "source" / "book"
    book.mkdir(parents=True)
    (book.parent / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {EXTENSIONS!r})\n"
        'extensions = ["myst_parser", "launch"]\nmyst_enable_extensions = ["colon_fence"]\n'
        'project, root_doc, html_theme = "Small", "book/index", "sphinx_book_theme"\n'
        'html_theme_options = {"repository_url": "https://github.com/someone/multiply"}\n'
    )
    (book / "index.md").write_text(INDEX)
    (book / "08-noise.md").write_text("# 8 Noise\n")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", book.parent, tmp_path / "html"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""

    def links(page, selector):
        soup = BeautifulSoup((tmp_path / "html" / page).read_text(), "html.parser")
        return {tag.get_text().strip(): tag["href"] for tag in soup.select(selector)}

    assert links("book/index.html", "article table a") == {
        "8 Noise": "08-noise.html",
        **{kind.lower(): url for kind, url in OURS.items()},
        "Colab": f"{COLAB}.ipynb",
        "Binder": f"{BINDER}.ipynb",
    }
    assert "In your browser." in (tmp_path / "html" / "book/index.html").read_text()
    assert OURS.items() <= links("book/08-noise.html", ".dropdown-download-buttons a").items()
    assert links("book/08-noise.html", ".dropdown-launch-buttons a")["Binder: notebook"] == f"{BINDER}.ipynb"


def test_binder_gets_what_the_package_depends_on():
    """The ranges of pyproject.toml, under the names that conda has for it."""
    names = {"matplotlib": "matplotlib-base", "seaborn": "seaborn-base", "torch": "pytorch-cpu"}
    depends = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    environment = yaml.safe_load((ROOT / ".binder" / "environment.yml").read_text())["dependencies"]
    for requirement in depends:
        name, least = requirement.split(">=")
        assert f"{names.get(name, name)}>={least}" in environment


@pytest.mark.built
@pytest.mark.parametrize("name", CHAPTERS)
def test_every_chapter_links_its_notebooks(name):
    soup = BeautifulSoup((HTML / "book" / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
    links = [tag["href"] for tag in soup.select(".dropdown-download-buttons a[href$='.ipynb']")]
    assert links == [f"../notebooks/{name}{end}.ipynb" for end in ("", "-exercises", "-solutions")]
    assert all((HTML / "book" / link).exists() for link in links)


@pytest.mark.built
def test_the_table_has_every_chapter_and_binder_all_it_installs():
    soup = BeautifulSoup((HTML / "book" / "downloads.html").read_text(encoding="utf-8"), "html.parser")
    rows = [row.a["href"] for row in soup.select("article table tbody tr")]
    assert rows == [f"{name}.html" for name in CHAPTERS]
    assert {path.name for path in (HTML / "binder").iterdir()} == {"environment.yml", "postBuild"}
    assert [*(HTML / "downloads").glob("nmu-*.whl"), HTML / "downloads" / "results.zip"]


@pytest.mark.built
@pytest.mark.parametrize("path", sorted((HTML / "book").glob("*.html")), ids=lambda path: path.stem)
def test_hosts_of_notebooks_are_sent_to_the_configured_repository_or_nowhere(path):
    url = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    found = re.findall(
        r"(?:colab\.research\.google\.com/github|mybinder\.org/v2/gh)/([^/]+/[^/]+)/", path.read_text()
    )
    assert {f"https://github.com/{repository}" for repository in found} <= {url}
