"""What the book offers for download: the wheel of its package, its stored tables, and the whole course."""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from tools.files import files

PDF = "learning-to-multiply.pdf"
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file in an archive, so that the same files give the same bytes
SOURCES = ["nmu", "pyproject.toml", "README.md", "LICENSE"]
OFFERED = {"binder", "downloads", "notebooks"}  # folders of the built book that are no pages
FOLDERS = {"": "chapters", "-exercises": "exercises", "-solutions": "solutions"}  # by the end of a name

README = """\
Learning to Multiply: the course
================================

chapters/    the chapters, executed
exercises/   their exercises, with room for your answers and a check for each that asks for code
solutions/   the same exercises with their solutions
pages/       the book as web pages: open index.html in a browser, no network needed; what its links to
             downloads and notebooks lead to lies in this folder
pages/slides for two classes: open class-1.html and class-2.html (s shows the speaker's notes)
results/     the stored tables that the notebooks read
{wheel}
             the package nmu
{pdf}
Start
-----

Python 3.11, 3.12 or 3.13, and in this folder:

    python3 -m venv .venv
    . .venv/bin/activate                (Windows: .venv\\Scripts\\activate)
    pip install {wheel} jupyterlab myst-nb "{anywidget}"
    jupyter lab

Open a notebook of one of the three folders and run it from the top. Its first cell finds the tables, gets
what is still missing, and does nothing if all is there.

The text and the code are under the MIT licence (LICENSE). To cite them: CITATION.cff.
"""


def wheel_name(root):
    """Return the file name of the wheel of the package in `root`."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return f"{project['name']}-{project['version']}-py3-none-any.whl"


def tables(root):
    """Return what the chapters read, by the path that they read it by.

    Parameters
    ----------
    root : pathlib.Path
        The folder of ``_config.yml``.

    Returns
    -------
    dict of str to pathlib.Path
    """
    book = root / "book"
    found = [*book.glob("*.csv"), *files(book / "results")]
    return {file.relative_to(book).as_posix(): file for file in found if file.suffix != ".tmp"}


def pack(archive, files):
    """Write a ZIP file that depends on nothing but `files`.

    Parameters
    ----------
    archive : pathlib.Path
    files : dict of str to pathlib.Path or bytes
        What it holds, by name.
    """
    with zipfile.ZipFile(archive, "w") as opened:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            opened.writestr(entry, content if isinstance(content, bytes) else content.read_bytes())


def build_wheel(root, folder):
    """Build the wheel of the package in `root` into `folder`, with nothing from the network.

    Parameters
    ----------
    root, folder : pathlib.Path

    Returns
    -------
    pathlib.Path
        The wheel.
    """
    with tempfile.TemporaryDirectory() as work:  # setuptools leaves its intermediate files beside the sources
        for name in SOURCES:
            copy = shutil.copytree if (root / name).is_dir() else shutil.copy2
            copy(root / name, Path(work) / name)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
        options = ["--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder]
        environment = os.environ | {"SOURCE_DATE_EPOCH": "315532800"}  # 1980, as in the archives
        subprocess.run([*pip, *options, work], check=True, env=environment)
    return folder / wheel_name(root)


def course(root):
    """Return what the archive of the course holds, by name.

    Parameters
    ----------
    root : pathlib.Path
        The folder of ``_config.yml``, with a built book, its notebooks and its wheel.

    Returns
    -------
    dict of str to pathlib.Path or bytes
    """
    html = root / "_build" / "html"
    wheel = html / "downloads" / wheel_name(root)
    pdf = html / "downloads" / PDF
    held = {wheel.name: wheel} | tables(root) | {name: root / name for name in ["LICENSE", "CITATION.cff"]}
    for file in (html / "notebooks").glob("*.ipynb"):
        end = next(end for end in reversed(FOLDERS) if file.stem.endswith(end))
        held[f"{FOLDERS[end]}/{file.name}"] = file
    if pdf.exists():
        held[pdf.name] = pdf
    for file in files(html):
        name = file.relative_to(html)
        if name.parts[0] not in OFFERED:
            held[f"pages/{name.as_posix()}"] = file
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]["book"]
    anywidget = next(text for text in extras if text.startswith("anywidget"))
    listed = f"{pdf.name}\n             the book but for its API, to print\n" if pdf.exists() else ""
    held["README.txt"] = README.format(wheel=wheel.name, pdf=listed, anywidget=anywidget).encode()
    return {f"learning-to-multiply/{name}": content for name, content in held.items()}


def build(root):
    """Put the wheel, the tables and the course into the built book in `root`, and what Binder needs.

    Parameters
    ----------
    root : pathlib.Path
        The folder of ``_config.yml``, with a built book and its notebooks.
    """
    html = root / "_build" / "html"
    downloads = html / "downloads"
    downloads.mkdir(exist_ok=True)
    build_wheel(root, downloads)
    pack(downloads / "results.zip", tables(root))
    pack(downloads / "course.zip", course(root))
    shutil.copytree(root / ".binder", html / "binder", dirs_exist_ok=True)
