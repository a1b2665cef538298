"""What the browser tests share: the site served, a page that is watched, and what can be wrong with it."""

import textwrap
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from axe_playwright_python.sync_playwright import Axe

AXE_OPTIONS = {
    "resultTypes": ["violations"],
    # What is read aloud contains what is to be seen; axe-core leaves this out while it is experimental.
    "rules": {"label-content-name-mismatch": {"enabled": True}},
    # Else the stylesheets are fetched again, one from a wrong address, for rules about other things.
    "preload": False,
}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextmanager
def served(folder):
    """Serve a folder; yields its address."""
    with ThreadingHTTPServer(("localhost", 0), partial(QuietHandler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


@contextmanager
def watched_page(browser, home, *, width=1280, **options):
    """A page that can reach nothing outside the address `home`, and the list of faults seen on it.

    Leaving the block asserts that the list is empty; a test may add to it.
    """
    faults = []
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)

    def gate(route):
        if route.request.url.startswith((home, "data:", "blob:")):
            route.continue_()
        else:
            faults.append(f"request to the outside: {route.request.url}")
            route.abort()

    context.route("**/*", gate)
    page = context.new_page()
    page.on(
        "console",
        lambda m: faults.append(f"console: {m.text} ({m.location['url']})") if m.type == "error" else None,
    )
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.on("requestfailed", lambda request: faults.append(f"request failed: {request.url}"))
    try:
        yield page, faults
        assert not faults, "\n".join([f"{page.url}: {len(faults)} faults", *faults])
    finally:
        context.close()


def settle(page):
    """Wait until formulas are set and nothing moves: a colour read amid a transition is neither."""
    page.wait_for_load_state("networkidle")
    page.evaluate("globalThis.MathJax?.startup.promise.then(() => null)")
    page.wait_for_timeout(350)  # what scrolls becomes a stop of the Tab key 300 ms after the last change
    page.evaluate("Promise.allSettled(document.getAnimations().map((a) => a.finished)).then(() => null)")


def formula_faults(page):
    """The formulas that MathJax has not set, or only as an error."""
    texts = page.eval_on_selector_all(
        ".math:not(:has(mjx-container)), .math:has(mjx-merror)", "found => found.map((e) => e.textContent)"
    )
    return [f"formula not set: {text.strip()}" for text in texts]


def width_faults(page):
    """Whether the page scrolls sideways, and the first elements that stick out."""
    content, window, wide = page.evaluate(
        """() => {
            const { scrollWidth, clientWidth } = document.documentElement;
            const wide = [...document.body.querySelectorAll("*")].filter(
                (e) => e.getBoundingClientRect().right > clientWidth + 1
            );
            return [scrollWidth, clientWidth, wide.slice(0, 3).map((e) => e.outerHTML.slice(0, 200))];
        }"""
    )
    return [f"{content} px of content in a window of {window} px: {wide}"] if content > window else []


def accessibility_faults(page, **options):
    """What axe-core finds critical or serious: rule, target, HTML and what to do."""
    violations = Axe().run(page, options=AXE_OPTIONS | options).response["violations"]
    return [
        f"axe: {violation['id']} ({violation['impact']}) at {node['target']}: {node['html'][:300]}\n"
        + textwrap.indent(node["failureSummary"], "    ")
        for violation in violations
        if violation["impact"] in {"critical", "serious"}
        for node in violation["nodes"]
    ]
