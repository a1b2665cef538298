"""An explorable in a live JupyterLab: what Python sets shows, and what the reader does reaches Python."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = [
    """from ipywidgets import Checkbox, VBox
from nmu.explorables import Unit

unit = Unit(x=(2.0, -1.5), weight=(0.25, 0.75))
VBox([Checkbox(description="beside it"), unit])""",
    "unit.weight = (0.5, 1.0)",
    "print('Python has', unit.weight)",
    """from nmu.explorables import Landscape, Reversibility, TrapLine

trap_line, reversibility, landscape = TrapLine(mean=-2.0), Reversibility(), Landscape()
VBox([trap_line, reversibility, landscape])""",
    """trap_line.mean = 3.0
reversibility.weight = 1.0
landscape.starts = [(0.3, 0.35)]
landscape.step = 500""",
    "print('Python has', landscape.step, len(landscape.weights), landscape.fates)",
    # Last: after an error the kernel refuses what was already asked of it.
    "unit.weight = (1.5, 0.0)",
]
SETTINGS = [
    "--no-browser",
    "--allow-root",
    "--IdentityProvider.token=",
    "--ServerApp.port=0",
    "--LabApp.expose_app_in_browser=True",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
]


@pytest.fixture
def lab(tmp_path):
    """Start JupyterLab in a folder with the notebook; yields its address."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, tmp_path / "explorable.ipynb")
    runtime = tmp_path / "runtime"
    jupyter = Path(sys.executable).with_name("jupyter-lab")
    folders = {"JUPYTER_RUNTIME_DIR": runtime, "JUPYTER_CONFIG_DIR": tmp_path / "config", "HOME": tmp_path}
    with open(tmp_path / "log.txt", "w") as log:
        server = subprocess.Popen(
            [jupyter, *SETTINGS], cwd=tmp_path, stdout=log, stderr=log, env=os.environ | folders
        )
    try:
        yield address(runtime, server)
    finally:
        server.terminate()
        server.wait()


def address(runtime, server):
    """Wait until the server says where it is and answers."""
    for _ in range(600):
        assert server.poll() is None, "JupyterLab ended"
        for file in runtime.glob("jpserver-*.json"):
            try:
                url = json.loads(file.read_text())["url"]
                urllib.request.urlopen(f"{url}api", timeout=1).close()
                return url
            except (ValueError, OSError):
                pass
        time.sleep(0.1)
    raise TimeoutError("JupyterLab does not answer")


def test_a_trait_moves_the_view_and_the_view_a_trait(lab, browser):
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.goto(f"{lab}lab/tree/explorable.ipynb")
    page.set_default_timeout(120_000)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.evaluate("jupyterapp.shell.currentWidget.sessionContext.ready")

    def run(cell):
        page.evaluate(f"jupyterapp.shell.currentWidget.content.activeCellIndex = {cell}")
        page.evaluate("void jupyterapp.commands.execute('notebook:run-cell')")

    run(0)
    weight = page.get_by_role("group", name="The unit").get_by_role("slider", name="W₁")
    weight.wait_for()
    assert page.get_by_role("checkbox", name="beside it").is_visible()
    assert weight.input_value() == "0.25"

    run(1)
    page.get_by_text("output z = 1.50·(−1.50) = −2.25").wait_for()
    assert weight.input_value() == "0.5"

    weight.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("output z = 1.51·(−1.50)").wait_for()
    run(2)
    page.get_by_text("Python has (0.51, 1.0)").wait_for()

    run(3)
    page.get_by_text("the origin is a trap. A narrow range").wait_for()
    run(4)
    page.get_by_text("the origin is no trap").last.wait_for()
    page.get_by_text("W = 1: V = 1 whatever the noise").wait_for()
    page.get_by_text("After 500 steps, of one ball").wait_for()
    run(5)
    page.get_by_text("Python has 500 1 ['origin']").wait_for()

    run(6)
    page.get_by_text("TraitError").first.wait_for()
    assert weight.input_value() == "0.51"
    page.close()
