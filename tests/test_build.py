"""The build: what outdates its cache, what a failure leaves behind, and `make` without Python."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.build_book import code_key

ROOT = Path(__file__).resolve().parents[1]
CHAPTER = """---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---
# A chapter

```{code-cell} ipython3
import sys

sys.path.insert(0, "..")
from nmu.unit import answer

answer()
```
"""


def build(root):
    """Build in a process of its own: the chapters run in forks, which do not bear what pytest has set up."""
    program = "import sys, pathlib, tools.build_book as b; sys.exit(b.build(pathlib.Path(sys.argv[1])))"
    return subprocess.run([sys.executable, "-c", program, root], cwd=ROOT, timeout=300).returncode


@pytest.fixture
def book(tmp_path):
    """Make a book of two chapters and a package in the layout of the real one."""
    for folder in ["nmu", "book/results"]:
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "nmu/unit.py").write_text("def answer():\n    return 'forty-one'\n")
    (tmp_path / "book/results/table.csv").write_text("seed\n1\n")
    (tmp_path / "requirements.txt").write_text("numpy\n")
    (tmp_path / "book/index.md").write_text(CHAPTER)
    (tmp_path / "book/other.md").write_text(CHAPTER.replace("answer()", "open('runs', 'a').write('x')"))
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/index\nchapters: [{file: book/other}]\n")
    (tmp_path / "_config.yml").write_text(
        "title: Small\nonly_build_toc_files: true\n"
        "execute: {execute_notebooks: cache, allow_errors: false, raise_on_error: true}\n"
        "sphinx: {config: {suppress_warnings: [etoc.toctree]}}\n"
    )
    return tmp_path


@pytest.mark.parametrize("file", ["nmu/unit.py", "book/results/table.csv", "requirements.txt"])
def test_the_key_changes_with_one_byte(book, file):
    before = code_key(book)
    with open(book / file, "a") as opened:
        opened.write("\n")
    assert code_key(book) != before


def test_the_key_changes_with_a_new_file_a_new_name_and_quick(book, monkeypatch):
    keys = {code_key(book)}
    (book / "nmu/new.py").touch()
    keys.add(code_key(book))
    (book / "nmu/new.py").rename(book / "nmu/newer.py")
    keys.add(code_key(book))
    monkeypatch.setenv("QUICK", "1")
    keys.add(code_key(book))
    assert len(keys) == 4


def test_the_key_ignores_chapters_and_bytecode(book):
    before = code_key(book)
    (book / "book/index.md").write_text("# Another text\n")
    (book / "nmu/__pycache__").mkdir()
    (book / "nmu/__pycache__/unit.pyc").write_bytes(b"0")
    assert code_key(book) == before


@pytest.mark.slow
def test_what_depends_on_a_change_runs_again_and_nothing_else(book):
    runs = book / "book/runs"
    page = book / "_build/html/book/index.html"

    assert build(book) == 0
    assert "forty-one" in page.read_text()
    assert runs.read_text() == "x"

    text = (book / "book/index.md").read_text()
    (book / "book/index.md").write_text(text + "\nA new sentence, and `1 + 1`.\n")
    assert build(book) == 0
    assert "A new sentence" in page.read_text()
    assert runs.read_text() == "x"

    (book / "nmu/unit.py").write_text("def answer():\n    return 'forty-two'\n")
    assert build(book) == 0
    assert "forty-two" in page.read_text()
    assert runs.read_text() == "xx"


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["```{code-cell} ipython3\nraise ValueError\n```\n", "{ref}`to-nowhere`\n"])
def test_a_build_that_failed_fails_again(book, fault):
    assert build(book) == 0
    good = (book / "book/index.md").read_text()
    (book / "book/index.md").write_text(good + "\n" + fault)
    assert build(book) != 0
    assert build(book) != 0
    (book / "book/index.md").write_text(good)
    assert build(book) == 0


@pytest.mark.parametrize("python", ["/bin/false", "/bin/true", "/nowhere/python"])
def test_make_without_a_suitable_python_says_which_versions_work(tmp_path, python):
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    for name in ["Makefile", "requirements.txt", "pyproject.toml"]:
        shutil.copy(ROOT / name, tmp_path)
    result = subprocess.run(
        ["make", "book", f"PYTHON={python}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode != 0
    assert "Python 3.11, 3.12 and 3.13 work" in result.stderr
    assert python in result.stderr
    assert not (tmp_path / ".venv").exists()


def test_make_leaves_no_half_made_environment(tmp_path):
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "requirements.txt").write_text("./a-package-that-is-not-there\n")
    result = subprocess.run(["make", "book"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode != 0
    assert "Making .venv failed: installing requirements.txt" in result.stderr
    assert not (tmp_path / ".venv").exists()
