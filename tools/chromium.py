"""The browser that the tests drive and that prints the book: Chromium of the system, or Playwright's own."""

import shutil
from pathlib import Path

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
MISSING = "no browser: install Chromium, or run `python -m playwright install chromium`"


def launch(playwright):
    """Start Chromium.

    Parameters
    ----------
    playwright : playwright.sync_api.Playwright
        Started.

    Returns
    -------
    playwright.sync_api.Browser or None
        None if there is none on this machine.
    """
    own = playwright.chromium.executable_path
    found = next(filter(None, map(shutil.which, NAMES)), own if Path(own).exists() else None)
    return playwright.chromium.launch(executable_path=found, args=ARGUMENTS) if found else None
