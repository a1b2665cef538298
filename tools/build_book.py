"""Build the book strictly, and run again whatever the code beneath the chapters has outdated.

The execution cache of Jupyter Book knows a chapter by its text alone. What the chapter imports
and reads is watched here: when the package, the stored results, the requirements or ``QUICK``
change, everything that was built is thrown away. A build that fails leaves no page behind that the
next one would take for good.

Jupyter Book runs one chapter after the other; so they are run beforehand, as many at a time as there are
cores, into the cache that it reads.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor
from myst_nb.core.read import is_myst_markdown_notebook
from sphinx_external_toc.parsing import parse_toc_yaml

from tools import course, notebooks, slides
from tools.files import files

WATCHED = ["nmu", "book/results", "requirements.txt"]
TIMEOUT = 900  # seconds a cell may take, as in _config.yml


def code_key(root):
    """SHA-256 over all that a chapter's output depends on, apart from its own text.

    Parameters
    ----------
    root : pathlib.Path
        The folder of ``_config.yml``.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256(f"QUICK={os.environ.get('QUICK', '')}".encode())
    for watched in WATCHED:
        for file in files(root / watched):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(f"{file.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def run_chapters(root):
    """Run the chapters of the book in `root` that are not in the cache; the build tells what failed."""
    cache = get_cache(str(root / "_build" / ".jupyter_cache"))
    for name in parse_toc_yaml(root / "_toc.yml"):
        chapter = root / f"{name}.md"
        if chapter.exists() and is_myst_markdown_notebook(chapter.read_text()):
            cache.add_nb_to_project(str(chapter), read_data={"type": "plugin", "name": "myst_nb_md"})
    waiting = [Path(record.uri).stem for record in cache.list_unexecuted()]
    if waiting:
        print(f"Running {len(waiting)} pages, {os.cpu_count()} at a time:", *waiting, flush=True)
        load_executor("local-parallel", cache).run_and_cache(timeout=TIMEOUT)


def build(root):
    """Build the book in `root` into ``_build/html``.

    Parameters
    ----------
    root : pathlib.Path
        The folder of ``_config.yml``.

    Returns
    -------
    int
        0, or the exit status of the build that failed.
    """
    output = root / "_build"
    key_file = output / "code-key"  # what the cached executions were made with
    complete = output / "complete"  # there only after a build without any error or warning

    key = code_key(root)
    if not key_file.exists() or key_file.read_text() != key:
        shutil.rmtree(output, ignore_errors=True)
    output.mkdir(exist_ok=True)
    key_file.write_text(key)
    if not complete.exists():  # read every page again; finished executions stay in the cache
        shutil.rmtree(output / ".doctrees", ignore_errors=True)
        shutil.rmtree(output / "html", ignore_errors=True)
    complete.unlink(missing_ok=True)

    run_chapters(root)
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [jupyter_book, "build", "-W", "-n", "--keep-going", root]
    status = subprocess.run(command).returncode
    if code_key(root) != key:  # edited while the chapters ran: no telling which of them saw it
        key_file.unlink()
    if status == 0:
        complete.touch()
    return status


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[1]
    for what, make in {"book": build, "slides": slides.build}.items():
        status = make(root)
        if status:
            sys.exit(f"No {what}: see the error or warning above (exit status {status}).")
    notebooks.build(root)
    course.build(root)
    print(f"The book is built. Open {root / '_build' / 'html' / 'index.html'}")
