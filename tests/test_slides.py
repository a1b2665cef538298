"""The slides of the two classes: nothing missing, nothing from another host, and a page a slide in print."""

import io
import re
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import pytest
from pypdf import PdfReader

from tests.browser import accessibility_faults, formula_faults, served, settle, watched_page
from tests.test_book import HTML, soup

pytestmark = pytest.mark.built

SLIDES = HTML / "slides"
DECKS = ["class-1", "class-2"]
each_deck = pytest.mark.parametrize("deck", DECKS)
each_page = pytest.mark.parametrize("deck", ["index", *DECKS])


def page(deck):
    return SLIDES / f"{deck}.html"


def slides(deck):
    return soup(page(deck)).select(".slides > section > section")


def heading(slide):
    return slide.find(["h1", "h2"]).get_text().strip()


def minutes(slide):
    notes = slide.select_one("aside.notes").get_text()
    return tuple(map(int, re.match(r"\s*(?:Minutes )?(\d+)–(\d+)\.", notes).groups()))


@each_deck
def test_deck_has_enough_slides_for_a_class_and_a_heading_on_each(deck):
    assert 25 <= len(slides(deck)) <= 32
    headings = [heading(slide) for slide in slides(deck)]
    assert all(headings)
    assert len(set(headings)) == len(headings)


@each_deck
def test_notes_say_what_to_say_and_when_for_ninety_minutes(deck):
    at = 0
    for slide in slides(deck):
        (notes,) = slide.select("aside.notes")
        start, end = minutes(slide)
        assert start == at, f"{heading(slide)} begins at {start}, the slide before ends at {at}"
        assert 1 <= end - start <= 8, heading(slide)
        assert len(notes.get_text().split()) >= 25, f"{heading(slide)}: hardly anything to say"
        assert notes.select(".math") == [], "the speaker's window sets no formulas"
        at = end
    assert at == 90


def test_the_teaching_notes_have_the_minutes_of_the_slides():
    tables = [
        t for t in soup(HTML / "book" / "teaching.html").select("table") if t.th.get_text() == "minutes"
    ]
    for deck, table in zip(DECKS, tables, strict=True):
        found = [minutes(slide) for slide in slides(deck)]
        planned = 0
        for row in table.select("tbody tr"):
            cells = [cell.get_text().strip() for cell in row.select("td")]
            start, end = map(int, cells[0].split("–"))
            first, last = (int(cells[2].split("–")[i]) for i in (0, -1))
            assert first == planned + 1, cells
            assert (start, end) == (found[first - 1][0], found[last - 1][1]), cells
            planned = last
        assert planned == len(found)


@each_deck
def test_the_class_is_asked_something_every_few_slides(deck):
    asked = [i for i, slide in enumerate(slides(deck)) if "Ask" in slide.select_one("aside").get_text()]
    assert max(b - a for a, b in pairwise(asked)) <= 4


@each_deck
def test_every_slide_but_the_first_leads_to_the_book(deck):
    first, *others = slides(deck)
    assert first.find("h1")
    assert [heading(slide) for slide in others if not slide.select('a[href^="../book/"]')] == []


@each_deck
def test_every_figure_says_what_it_shows(deck):
    images = soup(page(deck)).select(".slides img")
    assert len(images) >= 10
    assert [image for image in images if len(image.get("alt", "").strip()) < 60] == []


@each_page
def test_nothing_is_missing_and_nothing_failed(deck):
    shown = soup(page(deck)).select_one(".slides")
    glued = shown.select(".pasted-text, .pasted-inline")
    assert [
        str(tag) for tag in glued if not re.fullmatch(r"[-+]?[\d.,e+-]+%?( \[.*\])?", tag.get_text())
    ] == []
    assert not re.search(r"\{(glue|ref|eq|doc)[}:]|Traceback|np\.", shown.get_text())
    assert shown.select(".output, .system-message, .problematic") == []


@each_page
def test_every_link_and_file_resolves_without_another_host(deck):
    document, broken = soup(page(deck)), []
    loaded = [tag.get("src") or tag.get("href") for tag in document.select("[src], link[href]")]
    linked = [tag["href"] for tag in document.select("a[href]")]
    assert [url for url in loaded if urlsplit(url).netloc] == []
    for url in map(urlsplit, loaded + linked):
        if url.netloc:
            continue
        target = (SLIDES / unquote(url.path)).resolve()
        if not target.exists() or (url.fragment and soup(target).find(id=unquote(url.fragment)) is None):
            broken.append(url.geturl())
    assert broken == []


def test_styles_load_nothing_from_another_host():
    for sheet in SLIDES.rglob("*.css"):
        urls = re.findall(
            r"url\(\s*[\"']?([^)\"']+)", re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.S)
        )
        assert [url for url in urls if urlsplit(url).netloc] == [], sheet


@pytest.fixture(scope="module")
def site():
    with served(HTML) as address:
        yield address


def misplaced(page):
    """What sticks out of the slides on show, or lies on the link at their foot."""
    return page.evaluate(
        """() => {
            const printed = [...document.querySelectorAll(".pdf-page > section")];
            return (printed.length ? printed : [Reveal.getCurrentSlide()]).flatMap((slide) => {
                const { left, right, bottom } = slide.getBoundingClientRect();
                const foot = slide.querySelector(":scope > p:last-of-type > a.chapter:only-child");
                const low = foot ? foot.getBoundingClientRect().top : bottom;
                const title = slide.querySelector("h1, h2").textContent;
                return [...slide.querySelectorAll("h1, h2, p, li, img, table, pre, mjx-container")]
                    .filter((e) => e.getClientRects().length && !(foot && e.contains(foot)))
                    .map((e) => [e, e.getBoundingClientRect()])
                    .filter(([, box]) => box.left < left + 60 || box.right > right - 20 || box.bottom > low)
                    .map(([e]) => `${title}: ${e.outerHTML.slice(0, 100)}`);
            });
        }"""
    )


@pytest.mark.browser
@pytest.mark.parametrize("way", ["http", "disk"])
@each_deck
def test_arrow_keys_lead_through_slides_on_which_everything_has_room(browser, site, deck, way):
    home = site if way == "http" else HTML.as_uri()
    options = {} if way == "http" else {"offline": True}
    with watched_page(browser, home, **options) as (tab, faults):
        tab.goto(f"{home}/slides/{deck}.html")
        settle(tab)
        faults += formula_faults(tab)
        for number in range(len(slides(deck))):
            assert tab.evaluate("Reveal.getSlidePastCount()") == number
            faults += misplaced(tab)
            tab.keyboard.press("ArrowRight")
        assert tab.evaluate("Reveal.isLastSlide()")
        assert tab.evaluate("Reveal.hasPlugin('notes')")


@pytest.mark.browser
@each_deck
def test_print_has_a_page_a_slide_and_no_barrier(browser, site, deck):
    with watched_page(browser, site) as (tab, faults):
        tab.goto(f"{site}/slides/{deck}.html?print-pdf")
        settle(tab)
        tab.wait_for_function(
            "n => document.querySelectorAll('.pdf-page').length === n", arg=len(slides(deck))
        )
        # reveal.js prints all slides, and leaves all but one marked as hidden
        tab.eval_on_selector_all("section[aria-hidden]", "all => all.forEach((e) => e.ariaHidden = null)")
        faults += accessibility_faults(tab) + formula_faults(tab) + misplaced(tab)
        pages = PdfReader(io.BytesIO(tab.pdf(prefer_css_page_size=True, print_background=True))).pages
        assert len(pages) == len(slides(deck))
        for slide, printed in zip(slides(deck), pages, strict=True):
            words = heading(slide).split()
            assert words[0].strip("“”") in printed.extract_text()
