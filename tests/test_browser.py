"""Every page of the built book in a real browser, with all hosts but this one blocked."""

import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

from tests.test_book import HTML, PAGES

pytestmark = [pytest.mark.built, pytest.mark.browser]

NAMES = ["chromium", "chromium-browser", "google-chrome"]
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def site():
    handler = partial(QuietHandler, directory=HTML)
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        found = next(filter(None, map(shutil.which, NAMES)), own if Path(own).exists() else None)
        if found is None:
            stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            stop("no browser: install Chromium, or run `python -m playwright install chromium`")
        running = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield running
        running.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_page_in_the_browser(browser, site, name, scheme):
    faults = []
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})

    def gate(route):
        if urlsplit(route.request.url).hostname == "localhost":
            route.continue_()
        else:
            faults.append(f"request to another host: {route.request.url}")
            route.abort()

    context.route("**/*", gate)
    page = context.new_page()
    page.on("console", lambda m: faults.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda request: faults.append(f"failed: {request.url}"))

    page.goto(f"{site}/{name}", wait_until="networkidle")
    if page.locator(".math").count():
        page.wait_for_selector("mjx-container")
        page.evaluate("MathJax.startup.promise")
    assert page.locator("html").get_attribute("data-theme") == scheme
    for width in [1280, 360]:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)
        sizes = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        if sizes[0] > sizes[1]:
            faults.append(f"{sizes[0]} px of content in a window of {sizes[1]} px")
    context.close()
    assert faults == []
