"""Where a number computed now comes from."""

import importlib.metadata
import os
import platform
import subprocess
from functools import cache
from pathlib import Path

__all__ = ["provenance"]

PACKAGE = Path(__file__).parent
VERSIONS = ("torch", "numpy", "pandas", "nmu")


@cache
def provenance() -> dict:
    """Return where a number computed now comes from: ``commit``, ``versions`` and ``hardware``."""
    versions = {name: importlib.metadata.version(name) for name in VERSIONS}
    return {
        "commit": _commit(),
        "versions": {"python": platform.python_version(), **versions},
        "hardware": {"processor": _processor(), "cores": os.cpu_count(), "memory_gib": _memory()},
    }


def _commit() -> str | None:
    """Git commit of the package, marked if its files have changed since; None outside git."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", PACKAGE, *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None
