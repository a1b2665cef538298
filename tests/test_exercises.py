"""The exercises: what is said about an answer, and that each chapter keeps to the pattern."""

import ast
import importlib
import pkgutil
import re
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import jupytext
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nmu import exercises
from nmu.exercises import CHECKS, Wrong, check
from nmu.exercises.check import Check
from tools.slices import stub

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]-*.md"))
LEVELS = ["Recall", "Derive", "Code", "Investigate"]
DIRECTIVE = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{(?P<name>[\w:-]+)\} ?(?P<argument>.*)\n"
    r"(?P<options>(?::[\w-]+:.*\n)*)(?P<body>(?:.*\n)*?)(?P=fence)[ ]*$",
    re.MULTILINE,
)

each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
each_label = pytest.mark.parametrize("label", CHECKS)


@dataclass
class Event:
    """What a reader of the source meets next: a directive, a code cell, or text (which has no name)."""

    name: str = ""
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)
    body: str = ""
    tags: tuple[str, ...] = ()


@dataclass
class Exercise:
    """An exercise, with what stands after it up to the next one, or to the end of its solution."""

    label: str
    title: str
    after: list[Event]

    @property
    def level(self):
        return self.title.partition(" · ")[0]

    @property
    def code(self):
        return [event for event in self.after if event.name == "code"]


def events_in(text):
    """Directives and texts of a cell of Markdown, in order."""
    position = 0
    for found in DIRECTIVE.finditer(text):
        if before := text[position : found.start()].strip():
            yield Event(body=before)
        options = dict(re.findall(r"^:([\w-]+): *(.*)$", found["options"], re.MULTILINE))
        yield Event(found["name"], found["argument"].strip(), options, found["body"])
        position = found.end()
    if rest := text[position:].strip():
        yield Event(body=rest)


@cache
def events(path):
    found = []
    for cell in jupytext.read(path).cells:
        if cell.cell_type == "code":
            found.append(Event("code", body=cell.source, tags=tuple(cell.metadata.get("tags", ()))))
        else:
            found.extend(events_in(cell.source))
    return found


def exercises_of(path):
    """The exercises of a chapter, by label."""
    found, current = {}, None
    for event in events(path):
        if event.name == "exercise":
            current = Exercise(event.options["label"], event.argument, [])
            found[current.label] = current
        elif current is not None:
            current.after.append(event)
            if event.name == "solution-end":
                current = None
    return found


def chapter_of(label):
    """The chapter that holds an exercise."""
    (path,) = [path for path in CHAPTERS if label in exercises_of(path)]
    return path


def answer_and_check(label):
    """What the first cell of the chapter imports, the source of the answer, and that of its check."""
    path = chapter_of(label)
    imports = next(event.body for event in events(path) if event.name == "code")
    answer, trial = (
        next(cell.body for cell in exercises_of(path)[label].code if tag in cell.tags)
        for tag in ("answer", "check")
    )
    return imports, answer, trial


def tagged(cells):
    """The tags of exercises among those of cells, in order."""
    return [tag for cell in cells for tag in cell.tags if tag in {"answer", "check"}]


def run(*cells):
    """Execute cells as those of a fresh notebook."""
    namespace = {"__name__": "notebook"}
    for cell in cells:
        exec(compile(cell, "<cell>", "exec"), namespace)
    return namespace


# What is said about an answer

DOUBLE = Check(
    lambda x: 2 * x,
    [(1.0,), (torch.tensor([3.0, 0.5]),), (-2,)],
    {"you square.": lambda x: x**2, "you add 2.": lambda x: x + 2},
)


def unwritten(x):
    """Twice ``x``."""
    ...


def failing(x):
    return [2 * x][1]


def changing(x):
    if isinstance(x, torch.Tensor):
        x *= 2
        return x
    return 2 * x


def halving(x):
    return x / 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (3, "a function is wanted; this is 3."),
        (torch.ones(2), "a function is wanted; this is [1, 1]."),
        (unwritten, "unwritten(1) returns nothing yet."),
        (lambda x: ..., "<lambda>(1) returns nothing yet."),
        (failing, "failing(1) raised IndexError: list index out of range"),
        (changing, "changing([3, 0.5]) changes its arguments."),
        (lambda x: "2", "<lambda>(1) is '2', which is no number or tensor."),
        (lambda x: torch.full((2,), 2.0) * x, "<lambda>(1) has the shape (2,); () is wanted."),
        (lambda x: x**2, "you square."),
        (lambda x: x + 2, "you add 2."),
        (halving, "halving(1) is 0.5; 2 is right (3 of 3 cases are wrong)."),
        (lambda x: 2 * abs(x), "<lambda>(-2) is 4; -4 is right (1 of 3 cases are wrong)."),
    ],
)
def test_what_is_said_about_a_wrong_answer(answer, said):
    with pytest.raises(Wrong) as caught:
        DOUBLE(answer)
    assert str(caught.value) == said


@pytest.mark.parametrize("answer", [lambda x: x + x, lambda x: 2 * (1 + 1e-8) * x, lambda x: 2 * x + 0.0])
def test_a_right_answer_is_right_whatever_its_type_and_last_digit(answer):
    assert DOUBLE(answer) == "Right, on 3 cases."


def test_a_large_argument_is_told_by_its_shape():
    with pytest.raises(Wrong, match=r"^halving\(a tensor of shape \(3, 3\)\) is a tensor of shape"):
        Check(lambda x: x, [(torch.ones(3, 3),)])(halving)


def test_an_answer_gets_copies():
    arguments = torch.tensor([3.0, 0.5])
    with pytest.raises(Wrong):
        Check(lambda x: 2 * x, [(arguments,)])(changing)
    assert arguments.tolist() == [3.0, 0.5]


def test_truth_values_and_nan_are_compared():
    Check(lambda x: x > 0, [(1.0,), (-1.0,)])(lambda x: not x <= 0)
    Check(lambda x: x / x, [(torch.zeros(1),)])(lambda x: x * float("nan"))
    with pytest.raises(Wrong, match=re.escape("is [nan]; [0] is right")):
        Check(lambda x: x, [(torch.zeros(1),)])(lambda x: x / x)


def test_the_tolerance_is_relative_and_absolute_for_small_values():
    close = Check(lambda x: x, [(1000.0,), (1e-9,)], tolerance=1e-3)
    close(lambda x: x + 5e-4 * max(x, 1))
    with pytest.raises(Wrong):
        close(lambda x: x + 5e-3 * max(x, 1))


def test_check_prints_that_the_answer_is_right(capsys):
    label, found = next(iter(CHECKS.items()))
    check(label, found.expected)
    assert capsys.readouterr().out == f"Right, on {len(found.cases)} cases.\n"


def test_an_unknown_label_is_met_with_the_nearest_ones():
    with pytest.raises(KeyError, match="no check for 'ex-ch3-all-but'; there is one for ex-ch3-all-but-one"):
        check("ex-ch3-all-but", unwritten)
    with pytest.raises(KeyError) as caught:
        check("?", unwritten)
    assert all(label in str(caught.value) for label in CHECKS)


def test_ipython_shows_the_message_alone(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # the shell puts its own there
    quiet = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell(ipython_dir=str(tmp_path), config=quiet)
    shell.run_cell("from nmu.exercises import check\ncheck('ex-ch3-all-but-one', 3)")
    assert capsys.readouterr().out.strip() == "Not yet: a function is wanted; this is 3."


# The chapters


@each_chapter
def test_exercises_are_graded(path):
    found = [exercise.level for exercise in exercises_of(path).values()]
    assert len(found) >= 4
    assert set(found) == set(LEVELS)
    assert found == sorted(found, key=LEVELS.index)


@each_chapter
def test_every_exercise_has_a_hint_and_a_solution(path):
    hidden = {"class": "dropdown"}
    for label, exercise in exercises_of(path).items():
        hint, start, *rest = exercise.after
        assert (hint.name, hint.argument) == ("admonition", "Hint"), label
        assert hint.options == {"class": "hint dropdown"}, label
        assert len(hint.body.split()) >= 5, label
        assert (start.name, start.argument, start.options) == ("solution-start", label, hidden), label
        assert rest[-1].name == "solution-end", label
        assert any(event.name == "" for event in rest), f"{label}: a solution without a word"


@each_chapter
def test_exercises_that_ask_for_code_are_checked(path):
    asked = [label for label, exercise in exercises_of(path).items() if exercise.level == "Code"]
    module = f"nmu.exercises.ch{path.stem[:2]}"
    assert set(importlib.import_module(module).CHECKS) == set(asked)
    for label, exercise in exercises_of(path).items():
        assert tagged(exercise.code) == (["answer", "check"] if label in asked else []), label
    assert tagged(events(path)) == ["answer", "check"] * len(asked)  # none outside the exercises


@each_chapter
def test_a_chapter_asks_its_reader(path):
    questions = [event for event in events(path) if event.name == "self-check"]
    assert len(questions) >= 2
    for question in questions:
        options = re.findall(r"^- ", question.body, re.MULTILINE)
        assert 3 <= len(options) <= 4
        assert 1 <= int(question.options["right"]) <= len(options)
    assert len({question.options["right"] for question in questions}) > 1  # not always in one place


def test_labels_are_unique_and_every_module_has_its_chapter():
    text = "\n".join(path.read_text() for path in CHAPTERS)
    labels = re.findall(r"^:label: (ex-\S+)", text, re.MULTILINE)
    assert len(labels) == len(set(labels)) == sum(len(exercises_of(path)) for path in CHAPTERS)
    modules = [found.name for found in pkgutil.iter_modules(exercises.__path__) if found.name[-2:].isdigit()]
    assert {name[-2:] for name in modules} <= {path.stem[:2] for path in CHAPTERS}
    tables = [importlib.import_module(f"nmu.exercises.{name}").CHECKS for name in modules]
    assert sum(map(len, tables)) == len(CHECKS)


# The checks


@each_label
def test_a_check_has_cases_and_mistakes(label):
    found = CHECKS[label]
    assert len(found.cases) >= 4
    assert len(found.mistakes) >= 2
    assert all(text.strip() == text and text[-1] in ".?" for text in found.mistakes)


@each_label
def test_the_expected_function_passes(label):
    assert CHECKS[label](CHECKS[label].expected) == f"Right, on {len(CHECKS[label].cases)} cases."


@pytest.mark.parametrize(
    ("label", "explanation"), [(label, text) for label, found in CHECKS.items() for text in found.mistakes]
)
def test_a_mistake_is_told_from_the_others(label, explanation):
    with pytest.raises(Wrong) as caught:
        check(label, CHECKS[label].mistakes[explanation])
    assert str(caught.value) == explanation


@each_label
def test_the_answer_passes_its_check(label, book_style, capsys):
    run(*answer_and_check(label))
    assert capsys.readouterr().out.endswith(f"Right, on {len(CHECKS[label].cases)} cases.\n")


@each_label
def test_the_check_names_its_exercise_and_a_documented_answer(label):
    _, answer, trial = answer_and_check(label)
    (statement,) = ast.parse(trial).body
    call = statement.value
    assert (call.func.id, call.args[0].value) == ("check", label)
    functions = {node.name: node for node in ast.parse(answer).body}
    assert all(isinstance(node, ast.FunctionDef) for node in functions.values())
    assert ast.get_docstring(functions[call.args[1].id])


@each_label
def test_an_empty_answer_is_refused(label, book_style):
    imports, answer, trial = answer_and_check(label)
    with pytest.raises(Wrong, match=r"returns nothing yet\.$"):
        run(imports, stub(answer), trial)
