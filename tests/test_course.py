"""The course as it is downloaded: the notebooks of every chapter, the package, the tables; and it runs."""

import ast
import builtins
import re
import subprocess
import sys
import zipfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

from tools import course
from tools.slices import names

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
CHAPTERS = [path.stem for path in sorted((ROOT / "book").glob("[0-9][0-9]-*.md"))]
NOTEBOOKS = [f"{name}{end}" for name in CHAPTERS for end in ("", "-exercises", "-solutions")]
MYST = re.compile(
    r"\{(glue|ref|numref|term|cite|eq|doc|prf|exercise|solution)[}:-]|^:::|^```\{", re.MULTILINE
)
each_chapter = pytest.mark.parametrize("name", CHAPTERS)
each_notebook = pytest.mark.parametrize("name", NOTEBOOKS)
NO_ANSWER = "returns nothing yet"


@cache
def notebook(name):
    return nbformat.read(HTML / "notebooks" / f"{name}.ipynb", 4)


def cells(name, kind, tag=None):
    found = [cell for cell in notebook(name).cells if cell.cell_type == kind]
    return [cell for cell in found if tag is None or tag in cell.metadata.get("tags", [])]


def test_an_archive_depends_on_nothing_but_its_files(tmp_path):
    files = {"b.txt": b"b", "a/c.txt": b"c"}
    course.pack(tmp_path / "one.zip", files)
    course.pack(tmp_path / "two.zip", dict(reversed(files.items())))
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as opened:
        assert opened.namelist() == ["a/c.txt", "b.txt"]


def test_the_tables_are_those_that_are_committed(tmp_path):
    for name in [
        "plan.csv",
        "results/a/runs.csv",
        "results/a/.lock",
        "results/a/shards/1.zip",
        "results/a/b.tmp",
    ]:
        (tmp_path / "book" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "book" / name).touch()
    assert set(course.tables(tmp_path)) == {"plan.csv", "results/a/runs.csv"}


@pytest.mark.slow
def test_the_wheel_has_the_package_and_the_scripts_of_its_explorables(tmp_path):
    wheel = course.build_wheel(ROOT, tmp_path)
    with zipfile.ZipFile(wheel) as opened:
        held = set(opened.namelist())
    package = [path for path in (ROOT / "nmu").rglob("*") if path.suffix in {".py", ".js", ".css"}]
    assert {path.relative_to(ROOT).as_posix() for path in package} <= held


@pytest.mark.built
@each_notebook
def test_a_notebook_needs_no_myst_and_shows_no_error(name):
    nbformat.validate(notebook(name))
    for cell in cells(name, "markdown"):
        assert not MYST.search(cell.source), cell.source
        assert not re.search(r"<img(?![^>]* alt=\"[^\"]{20})", cell.source), "a picture without words"
    for cell in cells(name, "code"):
        assert "error" not in {output.output_type for output in cell.outputs}
    assert cells(name, "code")[0].metadata.tags == ["set-up"]


@pytest.mark.built
@each_notebook
def test_every_name_is_given_before_it_is_used(name):
    given = set(dir(builtins))
    for cell in cells(name, "code"):
        needed, new = names(cell.source)
        assert needed <= given, f"{needed - given} in {cell.source}"
        given |= new


@pytest.mark.built
@each_chapter
def test_the_chapter_has_all_code_and_says_what_its_figures_show(name):
    chapter = (ROOT / "book" / f"{name}.md").read_text()
    assert len(cells(name, "code")) - 1 == len(re.findall("^```{code-cell}", chapter, re.MULTILINE))
    text = "\n".join(cell.source for cell in cells(name, "markdown"))
    figures = len(re.findall(r"^```{glue:figure}", chapter, re.MULTILINE))
    assert text.count("<summary>What the figure shows</summary>") == figures
    shown = [
        output
        for cell in cells(name, "code")
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    assert len(shown) + text.count("<img ") >= figures


@pytest.mark.built
@each_chapter
def test_the_exercises_ask_and_the_solutions_answer(name):
    labels = re.findall(r"^:label: (ex-\S+)", (ROOT / "book" / f"{name}.md").read_text(), re.MULTILINE)
    for end in ("-exercises", "-solutions"):
        headings = [cell for cell in cells(name + end, "markdown") if cell.source.startswith("### Exercise")]
        assert len(headings) == len(labels)
    asked = "\n".join(cell.source for cell in notebook(f"{name}-exercises").cells)
    solved = [cell.source for cell in notebook(f"{name}-solutions").cells]
    answers = [after for title, after in pairwise(solved) if title == "#### Solution"]
    assert len(answers) == len(labels)
    assert [text for text in answers if text in asked] == []
    assert all(cell.outputs == [] for cell in cells(f"{name}-exercises", "code"))


@pytest.mark.built
@each_chapter
def test_each_answer_is_an_outline_and_each_check_is_kept(name):
    answers = [cell.source for cell in cells(f"{name}-solutions", "code", "answer")]
    stubs = [cell.source for cell in cells(f"{name}-exercises", "code", "answer")]
    functions = [
        [node for node in ast.walk(ast.parse("\n".join(sources))) if isinstance(node, ast.FunctionDef)]
        for sources in (answers, stubs)
    ]
    assert {node.name for node in functions[1]} <= {node.name for node in functions[0]}
    assert all(ast.unparse(node.body[-1]) == "..." for node in functions[1])
    checks = [
        [cell.source for cell in cells(name + end, "code", "check")] for end in ("-exercises", "-solutions")
    ]
    assert checks[0] == checks[1]
    assert bool(stubs) == bool(checks[0])


@pytest.mark.built
def test_the_course_holds_everything():
    with zipfile.ZipFile(HTML / "downloads" / "course.zip") as opened:
        held = {name.removeprefix("learning-to-multiply/") for name in opened.namelist()}
    assert {f"chapters/{name}.ipynb" for name in CHAPTERS} <= held
    assert {f"exercises/{name}-exercises.ipynb" for name in CHAPTERS} <= held
    assert {f"solutions/{name}-solutions.ipynb" for name in CHAPTERS} <= held
    assert {"README.txt", "LICENSE", "CITATION.cff", course.wheel_name(ROOT), *course.tables(ROOT)} <= held


@pytest.mark.built
def test_the_page_says_how_large_downloads_are_and_how_to_install_as_their_readme():
    page = (ROOT / "book" / "downloads.md").read_text()
    for name in ("course.zip", course.PDF):
        said = re.search(rf'"\.\./downloads/{name}".* about (\d+) MB', page)
        assert int(said[1]) == pytest.approx((HTML / "downloads" / name).stat().st_size / 1e6, rel=0.1)
    readme = course.course(ROOT)["learning-to-multiply/README.txt"].decode()
    assert re.search("pip install .*", readme)[0] in page


@pytest.mark.built
@pytest.mark.slow
def test_an_unpacked_course_fails_empty_answers_and_passes_the_solutions(tmp_path, monkeypatch):
    with zipfile.ZipFile(HTML / "downloads" / "course.zip") as opened:
        opened.extractall(tmp_path)
    folder = tmp_path / "learning-to-multiply"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        tmp_path / "site",
    ]
    subprocess.run([*pip, folder / course.wheel_name(ROOT)], check=True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    name = "02-from-gates-to-the-nmu"  # its exercises train nothing
    for kind in ("exercises", "solutions"):
        path = folder / kind / f"{name}-{kind}.ipynb"
        read = nbformat.read(path, 4)
        read.cells.insert(2, nbformat.v4.new_code_cell("import nmu\nprint(nmu.__file__)"))
        nbformat.write(read, path)
        command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--inplace", "--execute"]
        subprocess.run([*command, "--allow-errors", path], check=True)
        code = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
        assert str(tmp_path) in code[1].outputs[0].text
        checks = [cell for cell in code if "check" in cell.metadata.get("tags", [])]
        assert checks
        for cell in code:
            failed = [output for output in cell.outputs if output.output_type == "error"]
            assert bool(failed) == (kind == "exercises" and cell in checks), cell.source
            assert all(NO_ANSWER in output.evalue for output in failed)
