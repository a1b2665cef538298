"""Every page of the built book in a real browser that can reach nothing but the book."""

import pytest

from tests.browser import accessibility_faults, formula_faults, served, settle, watched_page, width_faults
from tests.test_book import HTML, PAGES

pytestmark = [pytest.mark.built, pytest.mark.browser]

# Those that Sphinx adds: the indices and the search. The root's index.html only leads to the first page.
GENERATED = sorted(page.name for page in HTML.glob("*.html") if page.name != "index.html")
each_page = pytest.mark.parametrize("name", [*PAGES, *GENERATED])


@pytest.fixture(scope="module")
def site():
    with served(HTML) as address:
        yield address


@each_page
def test_page_over_http(browser, site, name):
    with watched_page(browser, site, color_scheme="light") as (page, faults):
        page.goto(f"{site}/{name}")
        for scheme in ["light", "dark"]:
            page.emulate_media(color_scheme=scheme)
            settle(page)
            assert page.locator("html").get_attribute("data-theme") == scheme
            faults += [f"{scheme}: {fault}" for fault in accessibility_faults(page)]
        faults += width_faults(page) + formula_faults(page)
        assert page.locator("figure.explorable:not(.live)").count() == 0


# A server sends 404.html for any address, so its links begin at the root; from disk nobody gets there.
@pytest.mark.parametrize("name", [name for name in [*PAGES, *GENERATED] if name != "404.html"])
def test_page_from_disk_on_a_phone(browser, name):
    with watched_page(browser, HTML.as_uri(), width=360, offline=True) as (page, faults):
        page.goto((HTML / name).as_uri())
        settle(page)
        faults += width_faults(page) + formula_faults(page)
        faults += accessibility_faults(page, runOnly=["scrollable-region-focusable"], rules={})
        assert page.locator("figure.explorable:not(.live)").count() == 0


def test_explorables_have_static_figures_where_there_is_no_javascript(browser):
    found = 0
    for name in [name for name in PAGES if "widget-view" in (HTML / name).read_text()]:
        with watched_page(browser, HTML.as_uri(), java_script_enabled=False) as (page, faults):
            page.goto((HTML / name).as_uri())
            scripts = page.locator('script[type="application/vnd.jupyter.widget-view+json"]').count()
            images = page.locator("figure.explorable img")
            assert images.count() == scripts
            assert all(image.is_visible() and image.get_attribute("alt") for image in images.all())
            found += scripts
            faults.clear()  # the scripts that were not loaded
    assert found >= 5
