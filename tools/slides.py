"""Build the slides strictly, beside the book's pages.

The execution cache runs a deck again only when its text has changed. What the decks import and read is
watched by ``build_book.py``, which throws ``_build`` away when it changes. A build that fails leaves no page
behind that the next one would take for good.
"""

import shutil
import subprocess
import sys
from pathlib import Path


def build(root):
    """Build the slides in `root` into ``_build/html/slides``.

    Parameters
    ----------
    root : pathlib.Path
        The folder that holds ``slides``.

    Returns
    -------
    int
        0, or the exit status of the build that failed.
    """
    work = root / "_build" / ".slides"  # MyST-NB also writes beside the pages, which is no place in the site
    pages, doctrees = work / "html", work / "doctrees"
    site = root / "_build" / "html" / "slides"

    shutil.rmtree(
        pages, ignore_errors=True
    )  # written anew each time, so that nothing in it is of another time
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "revealjs", "-W", "-n", "--keep-going"]
    command += ["-d", doctrees, "-D", f"nb_execution_cache_path={work / 'cache'}", root / "slides", pages]
    status = subprocess.run(command).returncode
    shutil.rmtree(site, ignore_errors=True)
    if status:
        shutil.rmtree(doctrees, ignore_errors=True)
    else:
        shutil.copytree(pages, site, ignore=shutil.ignore_patterns(".buildinfo*", "objects.inv", "_sources"))
    return status


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[1]
    status = build(root)
    if status:
        sys.exit(f"The slides were not built: see the error or warning above (exit status {status}).")
    print(f"The slides are built. Open {root / '_build' / 'html' / 'slides' / 'index.html'}")
