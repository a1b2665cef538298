"""The shape of the package: what imports what, how long a file is, what is documented."""

import ast
import importlib
import inspect
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nmu"
FILES = sorted(PACKAGE.rglob("*.py"))

# In the order in which a reader meets them; a module may import what stands before it.
ORDER = [
    "functional",
    "streams",
    "layers",
    "baselines",
    "variants",
    "tasks",
    "training",
    "theory",
    "metrics",
    "store",
    "provenance",
    "runner",
    "images",
    "experiments",
    "plots",
    "explorables",
    "exercises",
    "bench",
    "_arguments",
    "__main__",
]
# Packages whose module has another name.
IMPORTED_AS = {"scikit-learn": "sklearn"}
# The foundations may import even less.
ONLY = {
    "functional": set(),
    "layers": {"functional"},
    "baselines": {"functional", "layers"},
    "variants": {"functional", "layers"},
    "streams": set(),
    "tasks": {"functional", "streams"},
    "training": {"streams", "tasks"},
    "images": {"layers", "streams", "training", "store"},
    "theory": {"functional"},
    "exercises": set(ORDER[:9]),  # what computes in a moment
}


def name_of(path):
    """Dotted module name below ``nmu``, such as ``experiments.single_module``."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def imported(path):
    """Names of the modules that a file imports, wherever in the file."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import in line {node.lineno}"
            if node.module == "nmu":
                names |= {f"nmu.{alias.name}" for alias in node.names}
            else:
                names.add(node.module)
    return names


def public_modules():
    """Every module but private ones and ``__main__``, as a parameter named after itself."""
    names = ["nmu", *(f"nmu.{name_of(path)}" for path in FILES if path.name[0] != "_")]
    return pytest.mark.parametrize("name", names)


def test_the_order_names_every_module():
    present = {name_of(path).split(".")[0] for path in FILES} - {"__init__"}
    assert {"functional", "layers", "tasks", "training", "metrics", "plots"} <= present
    assert present <= set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_imports_upwards(path):
    own = name_of(path).split(".")[0]
    used = {name.split(".")[1] for name in imported(path) if name.startswith("nmu.")} - {own}
    if own == "__init__":  # the front door re-exports the units and nothing else
        assert used == {"layers"}
    elif own in ONLY:
        assert used <= ONLY[own]
    else:
        assert used <= set(ORDER[: ORDER.index(own)])


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_declared_dependencies_are_imported(path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {})
    declared = project["dependencies"] + [
        requirement for name, group in extras.items() if name != "test" for requirement in group
    ]
    names = [re.match(r"[\w-]+", requirement)[0] for requirement in declared]
    allowed = {IMPORTED_AS.get(name, name) for name in names}
    foreign = {name.split(".")[0] for name in imported(path)} - sys.stdlib_module_names - {"nmu"}
    assert foreign <= allowed


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_are_short(path):
    assert len(path.read_text().splitlines()) <= 350


@public_modules()
def test_public_names_exist_and_are_sorted(name):
    module = importlib.import_module(name)
    public = getattr(module, "__all__", [])
    assert public == sorted(public, key=lambda n: (not n.isupper(), n.startswith("_"), n))
    assert len(set(public)) == len(public)
    assert all(hasattr(module, attribute) for attribute in public)
    if name.count(".") == 1 and not hasattr(module, "__path__"):
        assert public


def documented(name):
    """Public functions, classes and methods of a module, with the names they go by."""
    module = importlib.import_module(name)
    for attribute in getattr(module, "__all__", []):
        thing = getattr(module, attribute)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            yield f"{name}.{attribute}", thing
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if not method.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{attribute}.{method}", function


@public_modules()
def test_public_things_are_documented(name):
    assert inspect.getdoc(importlib.import_module(name))
    for label, thing in documented(name):
        own = thing.__doc__ or ""
        assert len(own.split()) >= 3, f"{label} has no docstring"
        assert own.strip().splitlines()[0].endswith((".", "``", ":")), f"{label}: {own!r}"


@public_modules()
def test_documented_parameters_are_the_real_ones(name):
    for label, thing in documented(name):
        section = re.search(r"\nParameters\n-+\n(.*?)(\n\n\w|\Z)", inspect.getdoc(thing), re.DOTALL)
        if section is None:
            continue
        listed = re.findall(r"^(\w[\w, ]*) : ", section[1], re.MULTILINE) + re.findall(
            r"^(\w[\w, ]*)$", section[1], re.MULTILINE
        )
        listed = [parameter for names in listed for parameter in names.split(", ")]
        real = [p for p in inspect.signature(thing).parameters if p not in ("self", "args")]
        assert sorted(listed) == sorted(real), label


def test_the_version_is_the_projects():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert importlib.import_module("nmu").__version__ == project["version"]
