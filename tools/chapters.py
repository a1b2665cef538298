"""A built chapter, read back: its text from its page, its code from the cache of what was executed."""

import re
from dataclasses import dataclass, field
from itertools import takewhile

import nbformat
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tools.prose import Prose

RECORD = "application/papermill.record/"  # what `glue` keeps without showing it
FIGURE = re.compile(r"\{glue:figure\}\s*(\S+)\n(?:[:\w-]+:.*\n)*?:name:\s*(\S+)")
WIDGET = "application/vnd.jupyter.widget-view+json"
ASLEEP = "Run this cell, and what is drawn below can be operated."  # no notebook shows a widget unasked
FOLDED = "# @title Code that is folded on the page\n"  # Colab folds what has a title


@dataclass
class Part:
    """A cell of a chapter, and where it stands."""

    cell: nbformat.NotebookNode
    exercise: str = ""  # the label of the exercise that it belongs to
    solution: bool = False
    heading: bool = False  # whether it begins a cell of its own
    figures: dict = field(default_factory=dict)  # what it has made and does not show: outputs, by key

    @property
    def tags(self):
        """The tags of the cell."""
        return self.cell.metadata.get("tags", [])


def code_part(cell, exercise=""):
    """Make the part for an executed cell: no progress bars, no records, folded where the page folds it."""
    tags = {tag.replace("_", "-") for tag in cell.metadata.get("tags", [])}
    part = Part(new_code_cell(cell.source.strip("\n")), exercise, bool(exercise))
    metadata = part.cell.metadata
    if tags:
        metadata["tags"] = sorted(tags)
    if tags & {"hide-input", "hide-cell", "remove-input", "remove-cell"}:
        metadata |= {"jupyter": {"source_hidden": True}, "cellView": "form"}
        part.cell.source = FOLDED + part.cell.source
    if tags & {"hide-output", "hide-cell", "remove-output"}:
        metadata.setdefault("jupyter", {})["outputs_hidden"] = True
    for output in cell.outputs:
        glued = output.get("metadata", {}).get("scrapbook")
        if glued and glued["mime_prefix"] == RECORD:
            data = {kind.removeprefix(RECORD): value for kind, value in output.data.items()}
            if "image/png" in data:
                metadata_of = {key: value for key, value in output.metadata.items() if key != "scrapbook"}
                part.figures[glued["name"]] = new_output("display_data", data=data, metadata=metadata_of)
        elif WIDGET in output.get("data", {}):
            part.cell.outputs.append(new_output(output.output_type, data={"text/plain": ASLEEP}))
        elif output.get("name") != "stderr" and "remove-cell" not in tags:
            part.cell.outputs.append(output)
    return part


def show(part, key):
    """Let a cell show the figure that it keeps under `key`; returns whether it can."""
    call = re.compile(rf"""(glue\(\s*(["']){re.escape(key)}\2,[^()]*?),\s*display=False\s*\)""")
    part.cell.source, count = call.subn(r"\1)", part.cell.source)
    if count:
        part.cell.outputs.append(part.figures.pop(key))
    return count > 0


def coded(cells):
    """Return the parts of the code among `cells`, in order, each with whether the page shows it."""
    solution, found = "", []
    for cell in cells:
        if cell.cell_type == "markdown":
            for solution in re.findall(r"\{solution-start\}\s*(\S+)|\{solution-end\}", cell.source):  # noqa: B007
                pass
        else:
            part = code_part(cell, solution)
            shown = "remove-cell" not in part.tags and not {"remove-input", "remove-output"} <= {*part.tags}
            found.append((part, shown))
    return found


class Chapter:
    """A built chapter: its `title`, its `address` on the web if it has one, and its `parts`.

    Parameters
    ----------
    root : pathlib.Path
        The folder of ``_config.yml``.
    name : str
        Its document, such as ``"book/01-why-a-network-cannot-multiply"``.
    site : str
        The address of the book on the web; "" if it has none.
    cache : jupyter_cache.cache.main.JupyterCacheBase
        The executed chapters.
    """

    def __init__(self, root, name, site, cache):
        page = root / "_build" / "html" / f"{name}.html"
        self.name = name
        self.address = f"{site}/{name}.html" if site else ""
        self.prose = Prose(page, self.address)
        source = nbformat.read(root / "_build" / "jupyter_execute" / f"{name}.ipynb", 4)
        _, executed = cache.merge_match_into_notebook(source)
        text = "\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
        self.figure_keys = {label: key for key, label in FIGURE.findall(text)}
        self.waiting = coded(executed.cells)
        self.parts = []
        article = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").select_one(
            "article.bd-article"
        )
        for junk in article.select("script, .headerlink"):
            junk.decompose()
        self.title = self.prose.markdown(article.h1.extract()).removeprefix("# ")
        self._walk(article)
        self._take(len(self._left_out()))
        if self.waiting:
            raise ValueError(f"{name}: the page shows fewer code cells than were executed")

    def _left_out(self):
        """Return the parts at hand that the page does not show."""
        return [part for part, _ in takewhile(lambda waiting: not waiting[1], self.waiting)]

    def _take(self, count):
        self.parts += [part for part, _ in self.waiting[:count]]
        del self.waiting[:count]

    def _add(self, text, exercise="", solution=False, heading=False):
        if text:
            self.parts.append(Part(new_markdown_cell(text), exercise, solution, heading))

    def _walk(self, node, solution=""):
        """Add the parts of what `node` holds; `solution` is the exercise that it solves."""
        exercise = solution
        for tag in node.find_all(True, recursive=False):
            classes = tag.get("class", [])
            if "exercise" in classes:
                exercise = tag["id"]
                self._add(f"### {self._title(tag.p)}", exercise, heading=True)
                self._add(self.prose.markdown(*tag.find("section").contents), exercise)
            elif "solution" in classes:
                label = tag.select_one(".admonition-title a")["href"].partition("#")[2]
                self._add("#### Solution", label, solution=True, heading=True)
                self._walk(tag.find("section"), label)
                self._take(sum(part.exercise == label for part in self._left_out()))
            elif "hint" in classes and exercise:
                self._add(self.prose.markdown(tag), exercise)
            elif "cell" in classes:
                self._take(len(self._left_out()))
                self._cell(tag, solution)
                exercise = solution
            elif tag.select_one("div.cell, div.exercise, div.solution"):
                self._walk(tag, solution)
                exercise = solution
            else:
                shown = tag.name == "figure" and self._figure(tag)
                text = self.prose.caption(tag) if shown else self.prose.markdown(tag)
                self._add(text, solution, bool(solution), heading=tag.name in {"h2", "h3"})
                exercise = solution

    def _title(self, tag):
        number = tag.select_one(".caption-number").get_text().strip()
        name = re.sub(r"^\((.*)\)$", r"\1", self.prose.markdown(tag).removeprefix(number).strip())
        return f"{number}. {name}".rstrip(". ")

    def _cell(self, tag, solution):
        part, _ = self.waiting[0]
        shown = tag.select_one(".cell_input pre")
        if part.exercise != solution or (shown and not part.cell.source.endswith(shown.get_text().strip())):
            raise ValueError(f"{self.name}: page and executed cells differ at {part.cell.source[:60]!r}")
        self._take(1)

    def _figure(self, tag):
        """Let the cell that made a figure show it, if it stands right before it; returns whether it does."""
        key = self.figure_keys.get(tag.get("id"))
        for index, part in enumerate(self._left_out()):
            if key in part.figures:
                self._take(index + 1)
                break
        before = takewhile(lambda part: part.cell.cell_type == "code", reversed(self.parts))
        return any(key in part.figures and show(part, key) for part in before)
