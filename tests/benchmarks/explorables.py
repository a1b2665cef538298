"""The landscape's work per frame with 200 balls: ``python tests/benchmarks/explorables.py``."""

import statistics
import sys
import tempfile
from itertools import product
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from nmu.explorables import Landscape
from tests.explorable_pages import page_of
from tools import chromium

FRAMES = 200
COLLECT = """async (frames) => {
    const times = [];
    const map = document.querySelector(".nmu-map");
    while (times.length < frames) {
        await new Promise(requestAnimationFrame);
        times.push(Number(map.dataset.frame));
    }
    return times;
}"""


def main():
    """Print the median and the 95th percentile of the milliseconds of work per frame."""
    print(f"work per frame of 200 balls, over {FRAMES} frames; a frame has 16.7 ms")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = chromium.launch(playwright)
        for gradient, noise in product(["expected", "minibatch"], ["none", "fixed"]):
            file = Path(folder) / "page.html"
            file.write_text(page_of(Landscape(gradient=gradient, noise=noise)))
            page = browser.new_page()
            page.goto(file.as_uri())
            page.get_by_role("button", name="Drop 200").click()
            times = page.evaluate(COLLECT, FRAMES)
            step = page.locator('[data-value="step"]').inner_text()
            median, high = statistics.median(times), statistics.quantiles(times, n=20)[-1]
            print(f"{gradient:9}  noise {noise:5}  median {median:4.1f} ms  95 % {high:4.1f} ms  step {step}")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
