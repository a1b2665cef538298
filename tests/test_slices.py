"""What code needs, its outline, and the cell that lets a notebook run anywhere."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import course, notebooks
from tools.slices import cells_for, names, requirements, stub

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("source", "needed", "given"),
    [
        ("a = b + 1", {"b"}, {"a"}),
        ("import x.y as z, u.v", set(), {"z", "u"}),
        ("a += 1", {"a"}, {"a"}),
        ("for i, j in c:\n    d = [k for k in i if k > e]", {"c", "e"}, {"i", "j", "d"}),
        ("def f(x, y=g):\n    t = x + h\n    return t", {"g", "h"}, {"f"}),
        ("class A(B):\n    n = 1\n    def m(self):\n        return self.n + o", {"B", "o"}, {"A"}),
        ("f = lambda r: r + s", {"s"}, {"f"}),
        ("with p() as q:\n    print(q)", {"p"}, {"q"}),
        ("if (n := w):\n    v = n", {"w"}, {"n", "v"}),
        ("try:\n    a = b\nexcept ValueError as e:\n    print(e)", {"b"}, {"a", "e"}),
        ("o.field = 1\nl[i] = f'{x:.2f}'", {"o", "l", "i", "x"}, set()),
    ],
)
def test_what_a_cell_needs_and_gives(source, needed, given):
    assert names(source) == (needed, given)


def test_the_cells_for_a_name_are_those_it_comes_from():
    cells = ["import torch", "a = 1", "b = 2", "c = a + 1", "a = 5"]
    assert cells_for({"c"}, cells) == [0, 1, 3]
    assert cells_for(set(), cells) == [0]


def test_a_stub_keeps_imports_heads_and_docstrings():
    answer = (
        'import math\nLIMIT = 3\n\n@cache\ndef f(a,\n      b=2):\n    """Say a.\n\n    More.\n    """\n'
        "    return a\n"
        "\ndef g(x): return x\n\nclass K(B):\n    def m(self):\n        return 1\n"
    )
    assert stub(answer) == (
        'import math\n\n\n@cache\ndef f(a,\n      b=2):\n    """Say a.\n\n    More.\n    """\n    ...'
        "\n\n\ndef g(x):\n    ...\n\n\nclass K(B):\n\n    def m(self):\n        ..."
    )


def test_a_notebook_asks_for_what_it_imports_and_the_package_does_not_bring():
    found = requirements(
        ["import math, torch, sympy", "from myst_nb import glue", "from nmu import NMU, explorables"],
        ROOT / "pyproject.toml",
    )
    assert set(found) == {"anywidget", "myst_nb", "sympy"}
    assert found["myst_nb"] == "myst-nb"
    assert found["anywidget"].startswith("anywidget>=")


def run_set_up(folder, source, found=()):
    """Run a set-up cell where only the modules `found` are installed; returns what pip was asked for."""
    program = f"""
import importlib.util, json, subprocess
importlib.util.find_spec = lambda name: name if name in {set(found)!r} else None
asked = []
subprocess.run = lambda command, check: asked.extend(command[5:])
exec({source!r})
import os
print(json.dumps([asked, os.getcwd()]))
"""
    command = [sys.executable, "-S", "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_set_up_finds_all_in_the_course(tmp_path):
    (tmp_path / "exercises").mkdir()
    (tmp_path / "results").mkdir()
    cell = notebooks.set_up(ROOT, "", ["from myst_nb import glue\nread_results('results/surface')"])
    done = run_set_up(tmp_path / "exercises", cell.source, found=["nmu", "myst_nb"])
    assert json.loads(done.stdout) == [[], str(tmp_path)]
    (tmp_path / "nmu-0.1.0-py3-none-any.whl").touch()
    done = run_set_up(tmp_path / "exercises", cell.source)
    assert json.loads(done.stdout)[0] == ["nmu-0.1.0-py3-none-any.whl", "myst-nb"]


def test_the_set_up_asks_for_the_course_where_there_is_no_site(tmp_path):
    cell = notebooks.set_up(ROOT, "", ["read_results('results/surface')"])
    done = run_set_up(tmp_path, cell.source, found=["nmu"])
    assert "Download course.zip from its page Downloads" in done.stderr


def test_the_set_up_gets_what_is_missing_from_the_site(tmp_path):
    site = tmp_path / "site"
    (site / "downloads").mkdir(parents=True)
    course.pack(site / "downloads" / "results.zip", {"results/a.csv": b"seed\n"})
    away = tmp_path / "away"
    away.mkdir()
    cell = notebooks.set_up(ROOT, site.as_uri(), ["read_results('results/a')"])
    done = run_set_up(away, cell.source)
    wheel = course.wheel_name(ROOT)
    assert json.loads(done.stdout)[0] == [f"{site.as_uri()}/downloads/{wheel}"]
    assert (away / "results" / "a.csv").read_text() == "seed\n"
