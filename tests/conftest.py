"""What all tests share: fixed seeds, so that a failure comes back when it is run again."""

import os
from contextlib import ExitStack, contextmanager

import matplotlib
import matplotlib.pyplot as plt
import pytest
import torch
from hypothesis import settings
from playwright.sync_api import sync_playwright

from nmu import plots
from tests.browser import watched_page
from tests.explorable_pages import page_of
from tools import chromium

matplotlib.use("Agg")

settings.register_profile("book", derandomize=True, deadline=None, database=None, max_examples=60)
settings.load_profile("book")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(20221121)


@contextmanager
def _threads(count):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def one_thread():
    """For tensors so small that they only wait for a second thread."""
    with _threads(1):
        yield


@pytest.fixture
def two_threads():
    """More threads than training uses, and the former number back at the end."""
    with _threads(2):
        yield


@pytest.fixture
def book_style():
    """Draw in the book's style, and leave matplotlib as it was."""
    with plt.rc_context():
        plots.use_style()
        yield
    plt.close("all")


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests that drive one."""
    with sync_playwright() as playwright:
        running = chromium.launch(playwright)
        if running is None:
            stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            stop(chromium.MISSING)
        yield running
        running.close()


@pytest.fixture
def explorable_page(browser, tmp_path):
    """Open a page with explorables and no kernel: ``explorable_page(*widgets, theme, width)``.

    Nothing may be written to the console as an error, and nothing asked of another host.
    """
    with ExitStack() as stack:

        def show(*widgets, theme="light", width=900, **options):
            file = tmp_path / f"{theme}-{width}.html"
            file.write_text(page_of(*widgets, theme=theme))
            page, _ = stack.enter_context(watched_page(browser, tmp_path.as_uri(), width=width, **options))
            page.goto(file.as_uri())
            page.wait_for_function(
                "n => document.querySelectorAll('figure.explorable.live').length === n", arg=len(widgets)
            )
            return page

        yield show
