"""Notebooks from the built book: each chapter, its exercises, and the exercises with their solutions.

Their text is that of the page, where every number and reference stands in full, as Markdown that JupyterLab
and Colab show without knowing MyST. Their code is what was executed, with what it gave.
"""

import re
import shutil
from dataclasses import replace

import nbformat
import yaml
from jupyter_cache import get_cache
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx_external_toc.parsing import parse_toc_yaml

from tools.chapters import Chapter, Part
from tools.course import wheel_name
from tools.slices import cells_for, names, requirements, stub

CHAPTER = re.compile(r"book/\d\d-.*")
SPOKEN_OF = re.compile(r"`([A-Za-z_]\w+)")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SET_UP = """\
# @title Set-up: gets what is missing; does nothing where all is there
import importlib.util
import io
import os
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

SITE = "{site}"  # of the book
if not Path("results").exists() and Path("../results").exists():
    os.chdir("..")
packages = {packages}
missing = [name for name in packages if importlib.util.find_spec(name) is None]
wheel = next(map(str, Path().glob("nmu-*.whl")), SITE and f"{{SITE}}/downloads/{wheel}")
if {absent}:
    raise FileNotFoundError(
        "This notebook needs files of the book. Download course.zip from its page Downloads, unzip it, "
        "and open the notebook that is in there."
    )
if missing:
    wanted = [packages[name] or wheel for name in missing]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wanted], check=True)
    importlib.invalidate_caches()
{tables}"""
TABLES = """\
if not Path("results").exists():
    with urllib.request.urlopen(f"{SITE}/downloads/results.zip") as answer:
        zipfile.ZipFile(io.BytesIO(answer.read())).extractall()
"""


def set_up(root, site, sources):
    """Make the cell that lets a notebook run anywhere.

    Parameters
    ----------
    root : pathlib.Path
        The folder of ``pyproject.toml``.
    site : str
        The address of the book on the web; "" if it has none.
    sources : list of str
        The code of the notebook.

    Returns
    -------
    nbformat.NotebookNode
    """
    wheel = wheel_name(root)
    reads = any(re.search(r"\bresults/|read_csv", source) for source in sources)
    absent = '"nmu" in missing and not wheel'
    if reads:
        absent = f'({absent}) or not (SITE or Path("results").exists())'
    packages = {"nmu": None} | requirements(sources, root / "pyproject.toml")
    source = SET_UP.format(
        site=site, packages=packages, wheel=wheel, absent=absent, tables=TABLES if reads else ""
    )
    metadata = {"tags": ["set-up"], "jupyter": {"source_hidden": True}, "cellView": "form"}
    return new_code_cell(source.strip(), metadata=metadata)


def whole(chapter):
    """Return the parts of a chapter's notebook: all of it."""
    where = f"[*Learning to Multiply*]({chapter.address})" if chapter.address else "*Learning to Multiply*"
    intro = f"A chapter of {where}. What its text calls measured was measured when the book was built."
    return [Part(new_markdown_cell(f"# {chapter.title}\n\n{intro}")), *folded(chapter.parts)]


def folded(parts):
    """Let JupyterLab fold the solutions that end at a heading; others would take along what follows them."""
    found = []
    for index, part in enumerate(parts):
        after = next((later for later in parts[index:] if not later.solution), None)
        if part.solution and part.heading and (after is None or after.heading):
            metadata = {"jp-MarkdownHeadingCollapsed": True}
            part = replace(part, cell=new_markdown_cell(part.cell.source, metadata=metadata))
        found.append(part)
    return found


def exercises(chapter, solved):
    """Return the parts of the notebook of a chapter's exercises.

    Parameters
    ----------
    chapter : tools.chapters.Chapter
    solved : bool
        With the solutions, or with room for answers in their place.

    Returns
    -------
    list of tools.chapters.Part
    """
    where = f"[a chapter]({chapter.address})" if chapter.address else "a chapter"
    kind = "Solved exercises" if solved else "Exercises"
    intro = (
        f"{kind} of {where} of *Learning to Multiply*. The figures, propositions and equations that they "
        f"name are in its notebook, `{_file(chapter.name)}`."
    )
    if not solved:
        intro += (
            " Run the set-up first. A `check` says whether an answer is right, and if not, what is wrong."
        )
    title = f"# Solutions: {chapter.title}" if solved else f"# Exercises: {chapter.title}"
    parts = [Part(new_markdown_cell(f"{title}\n\n{intro}")), *needed(chapter)]
    for label in dict.fromkeys(part.exercise for part in chapter.parts if part.exercise):
        own = [part for part in chapter.parts if part.exercise == label]
        solution = [part for part in own if part.solution]
        parts += [part for part in own if not part.solution] + (solution if solved else room(solution))
    return parts


def needed(chapter):
    """Return the cells of a chapter that its solutions need, or that give what its exercises speak of."""
    code = [part for part in chapter.parts if part.cell.cell_type == "code"]
    own = [part for part in code if not part.exercise]
    has = set().union(*(names(part.cell.source)[1] for part in own))
    given, wanted = set(), set()
    for part in chapter.parts:
        if part.exercise and part.cell.cell_type == "markdown":
            wanted |= has & {*SPOKEN_OF.findall(part.cell.source)}
        elif part.exercise:
            uses, gives = names(part.cell.source)
            wanted |= uses - given
            given |= gives
    chosen = [own[index] for index in cells_for(wanted, [part.cell.source for part in own])]
    title = new_markdown_cell("## Set-up\n\nWhat the exercises use from the chapter.")
    return [Part(title, heading=True), *chosen, Part(new_markdown_cell("## Exercises"), heading=True)]


def room(solution):
    """Return what stands in the place of a solution: an outline and its check, or an empty cell."""
    code = [part for part in solution if part.cell.cell_type == "code"]
    answers = [part.cell.source for part in code if "answer" in part.tags]
    checks = [part for part in code if "check" in part.tags]
    if answers:
        return [Part(new_code_cell(stub("\n\n".join(answers)), metadata={"tags": ["answer"]})), *checks]
    if code:
        return [Part(new_code_cell("# your work"))]
    return [Part(new_markdown_cell("*Your answer:*"))]


def assembled(parts, executed):
    """Return the notebook of `parts`, with the text between two headings or two pieces of code in one cell.

    Parameters
    ----------
    parts : list of tools.chapters.Part
    executed : bool
        Whether the cells keep their outputs.

    Returns
    -------
    nbformat.NotebookNode
    """
    cells, before, count = [], None, 0
    for part in parts:
        kinds = {part.cell.cell_type, before.cell.cell_type if before else "code"}
        same = before and (part.exercise, part.solution) == (before.exercise, before.solution)
        if kinds == {"markdown"} and same and not part.heading and not (before.heading and before.solution):
            cells[-1].source += f"\n\n{part.cell.source}"
        else:
            cells.append(nbformat.from_dict(part.cell))
        before = part
    for index, cell in enumerate(cells):
        cell.id = f"cell-{index}"
        if cell.cell_type == "code":
            cell.outputs = cell.outputs if executed else []
            if executed and "set-up" not in cell.metadata.get("tags", []):
                cell.execution_count = count = count + 1
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count
    notebook = new_notebook(cells=cells, metadata=METADATA)
    nbformat.validate(notebook)
    return notebook


def notebooks(chapter, root, site):
    """Make the notebooks of a chapter.

    Parameters
    ----------
    chapter : tools.chapters.Chapter
    root : pathlib.Path
        The folder of ``pyproject.toml``.
    site : str
        The address of the book on the web; "" if it has none.

    Returns
    -------
    dict of str to nbformat.NotebookNode
        By the end of their names.
    """
    found = {}
    for end, parts in {
        "": whole(chapter),
        "-exercises": exercises(chapter, solved=False),
        "-solutions": exercises(chapter, solved=True),
    }.items():
        sources = [part.cell.source for part in parts if part.cell.cell_type == "code"]
        parts.insert(1, Part(set_up(root, site, sources), heading=True))
        found[end] = assembled(parts, executed=end != "-exercises")
    return found


def build(root):
    """Write the notebooks of the built book in `root` to ``_build/html/notebooks``.

    Parameters
    ----------
    root : pathlib.Path
        The folder of ``_config.yml``.
    """
    config = yaml.safe_load((root / "_config.yml").read_text())
    site = (config.get("html", {}).get("baseurl") or "").rstrip("/")
    folder = root / "_build" / "html" / "notebooks"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    cache = get_cache(str(root / "_build" / ".jupyter_cache"))
    for name in filter(CHAPTER.fullmatch, parse_toc_yaml(root / "_toc.yml")):
        chapter = Chapter(root, name, site, cache)
        for end, notebook in notebooks(chapter, root, site).items():
            nbformat.write(notebook, folder / _file(name, end))


def _file(name, end=""):
    return f"{name.removeprefix('book/')}{end}.ipynb"
