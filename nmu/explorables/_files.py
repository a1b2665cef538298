"""The files of the explorables: a script out of several, and one style."""

import re
from pathlib import Path

__all__ = ["STYLE", "script"]

FOLDER = Path(__file__).parent
STYLE = FOLDER / "explorables.css"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)


def script(name: str) -> str:
    """Return ``name.js`` with the files that it imports put in front, as one module.

    A widget's code reaches the browser as one text, in which a relative import leads nowhere. What an
    imported file imports itself, ``name.js`` must import as well.
    """
    source = (FOLDER / f"{name}.js").read_text()
    parts = [_IMPORT.sub("", (FOLDER / f"{part}.js").read_text()) for part in _IMPORT.findall(source)]
    imported = re.sub(r"^export (?!default)", "", "\n".join(parts), flags=re.MULTILINE)
    return imported + "\n" + _IMPORT.sub("", source)
