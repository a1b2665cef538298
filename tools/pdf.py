"""Print the built book as one PDF, with an outline, page numbers, and links that work within it.

The pages of ``_build/html`` are put into one document, in the order of the table of contents. Chromium
prints it twice: the first print tells on which page each chapter begins, and these numbers go into the
contents of the second. Folded code stays out, which the notebooks have, and the API, which is for looking up.
"""

import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright
from pypdf import PdfReader

from tools import chromium, course

FOOTER = (
    '<p style="font: 8pt sans-serif; width: 100%; text-align: center"><span class="pageNumber"></span></p>'
)
API = "book/api"
MARGIN = {"top": "18mm", "bottom": "18mm", "left": "18mm", "right": "18mm"}
TIMEOUT = 600_000  # milliseconds until all formulas are set, or the print is made
FILL = """numbers => {
    for (const link of document.querySelectorAll(".contents a"))
        link.nextSibling.textContent = numbers[link.hash.slice(1)];
}"""
PRINT = """
html { font-size: 11pt; }
.page, .part, .contents-title { break-before: page; }
.cover, .part { padding-top: 35%; text-align: center; }
.cover .title { font-size: 30pt; font-weight: bold; }
.contents-title { padding-top: 1px; } /* else it stands twice in the outline */
.contents p { display: flex; margin: 0.2rem 0; }
.contents a { flex: 1; }
.contents .caption { font-weight: bold; margin-top: 0.8rem; }
.contents .number { min-width: 3rem; text-align: right; }
.page > section > h2 { font-size: 22pt; }
.headerlink, .copybtn { display: none !important; }
h1, h2, h3, h4 { break-after: avoid; }
figure, table, .cell_output, .self-check, div.math { break-inside: avoid; }
td, th { padding: 0.1rem 0.5rem; }
pre { white-space: pre-wrap !important; }
a:not([href]) { color: inherit; text-decoration: none; }
"""


def parts(root):
    """Return the parts of the book: the caption, None for the first page, and the names of the pages."""
    toc = yaml.safe_load((root / "_toc.yml").read_text())
    chapters = [(part["caption"], [chapter["file"] for chapter in part["chapters"]]) for part in toc["parts"]]
    return [(None, [toc["root"]]), *chapters]


def printed(root):
    """Return the parts of the book that are printed."""
    return [(caption, [name for name in names if name != API]) for caption, names in parts(root)]


def anchor(name, fragment=""):
    """Return the id, in the one document, of a page or of something on it."""
    return f"{name.replace('/', '-')}--{fragment}"


def soup(text):
    """Return HTML as a tree."""
    return BeautifulSoup(text, "html.parser")


def article(html, name, names):
    """Return a page's text, with ids and links made those of the one document.

    Parameters
    ----------
    html : pathlib.Path
        The folder of the built book.
    name : str
        Of the page, such as ``book/index``.
    names : set of str
        Of all pages that the document holds.

    Returns
    -------
    bs4.Tag
        An article, with headings one level below those of the page.
    """
    page = html / f"{name}.html"
    text = page.read_text(encoding="utf-8").replace("✅", "✓")  # no font for print has the first
    found = soup(text).select_one("article.bd-article")
    for tag in found.select("script, details.above-input"):
        tag.decompose()
    for level in range(5, 0, -1):
        for tag in found.find_all(f"h{level}"):
            tag.name = f"h{level + 1}"
    for tag in found.find_all(id=True):
        tag["id"] = anchor(name, tag["id"])
    for tag in found.find_all(src=True):
        tag["src"] = (page.parent / unquote(tag["src"])).resolve().relative_to(html).as_posix()
    for tag in found.find_all("a", href=True):
        url = urlsplit(tag["href"])
        if not url.scheme and not url.netloc:
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            inside = target.relative_to(html).with_suffix("").as_posix()
            if inside in names:
                tag["href"] = f"#{anchor(inside, unquote(url.fragment))}"
            else:  # a file beside the book, or an index that is not printed
                del tag["href"]
    found["id"] = anchor(name)
    found["class"] = ["bd-article", "page"]
    return found


def contents(articles):
    """Return the table of contents of `articles`, with room for the numbers of the pages where they begin."""
    lines = []
    for caption, pages in articles:
        if caption:
            lines.append(f'<p class="caption">{caption}</p>')
        for name, page in pages.items():
            title = page.find("h2").get_text().removesuffix("#").strip()
            lines.append(f'<p><a href="#{anchor(name)}">{title}</a><span class="number"></span></p>')
    return f'<h1 class="contents-title">Contents</h1><div class="contents">{"".join(lines)}</div>'


def document(root):
    """Return the book as one HTML document.

    Parameters
    ----------
    root : pathlib.Path
        The folder of ``_toc.yml``; the book is built in ``_build/html``.

    Returns
    -------
    str
        To be stored in ``_build/html``, whose styles, scripts and images it uses.
    """
    html = root / "_build" / "html"
    config = yaml.safe_load((root / "_config.yml").read_text())
    captioned = printed(root)
    names = {name for _, pages in captioned for name in pages}
    articles = [
        (caption, {name: article(html, name, names) for name in pages}) for caption, pages in captioned
    ]

    (_, (first, *_)), *_ = captioned
    head = soup((html / f"{first}.html").read_text(encoding="utf-8")).head
    kept = [str(tag) for tag in head.select('link[rel="stylesheet"]')]
    kept += [str(tag) for tag in head.find_all("script") if "mathjax" in str(tag).lower()]
    title, author, year = (config[key] for key in ("title", "author", "copyright"))
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    lines = "".join(f"<p>{line}</p>" for line in (f"{author}, {year}", f"Version {version}"))
    cover = f'<div class="cover"><p class="title">{title}</p>{lines}</div>'
    body = [cover, contents(articles)]
    for caption, pages in articles:
        body += [f'<h1 class="part">{caption}</h1>'] if caption else []
        body += [str(page) for page in pages.values()]
    styles = f"{''.join(kept).replace('../_static', '_static')}<style>{PRINT}</style>"
    return (
        f'<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>{title}</title>{styles}</head><body>{''.join(body)}</body></html>"
    )


def print_page(page, output):
    """Print a page of the browser as a PDF; return the number of the page on which each of its ids stands."""
    page.pdf(
        path=output,
        format="A4",
        margin=MARGIN,
        scale=0.85,
        outline=True,
        tagged=True,
        print_background=True,
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=FOOTER,
    )
    reader = PdfReader(output)
    return {
        name.removeprefix("/"): reader.get_destination_page_number(destination) + 1
        for name, destination in reader.named_destinations.items()
    }


def build(root):
    """Print the book built in ``_build/html`` into its folder ``downloads``.

    Parameters
    ----------
    root : pathlib.Path
        The folder of ``_toc.yml``.

    Returns
    -------
    pathlib.Path
        The PDF.
    """
    html = root / "_build" / "html"
    output = html / "downloads" / course.PDF
    output.parent.mkdir(exist_ok=True)
    file = html / "print.html"
    file.write_text(document(root), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        if browser is None:
            sys.exit(chromium.MISSING)
        page = browser.new_page()
        page.set_default_timeout(TIMEOUT)
        page.goto(file.as_uri(), timeout=TIMEOUT)
        page.evaluate("MathJax.startup.promise.then(() => null)")
        page.evaluate(FILL, print_page(page, output))
        print_page(page, output)
        browser.close()
    file.unlink()
    return output


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[1]
    print(f"The book is printed: {build(root)}")
    course.build(root)
