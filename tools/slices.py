"""What code needs: its names, the cells that give them, the packages it imports; and its bare outline."""

import ast
import builtins
import functools
import re
import symtable
import sys
import textwrap
import tomllib
from importlib.metadata import packages_distributions


def names(source):
    """Tell what a cell uses and what it gives.

    Parameters
    ----------
    source : str
        Python, without magics.

    Returns
    -------
    needed : set of str
        The names that it uses before it gives them itself, without those that Python has.
    given : set of str
        The names that exist after it.
    """
    given = set()
    needed = _flow(ast.parse(source).body, given) - set(dir(builtins)) - {"get_ipython"}
    return needed, given


def _flow(statements, given):
    """Follow `statements` in order; returns what they need, and adds to `given`."""
    needed = set()
    for statement in statements:
        match statement:
            case ast.For():
                needed |= _used(statement.iter) - given
                given |= _bound(statement.target)
                needed |= _flow(statement.body + statement.orelse, given)
            case ast.With():
                for item in statement.items:
                    needed |= _used(item.context_expr) - given
                    given |= _bound(item.optional_vars) if item.optional_vars else set()
                needed |= _flow(statement.body, given)
            case ast.If() | ast.While():
                needed |= _used(statement.test) - given
                given |= _bound(statement.test)
                needed |= _flow(statement.body + statement.orelse, given)
            case ast.Try():
                needed |= _flow(statement.body, given)
                for handler in statement.handlers:
                    given |= {handler.name} - {None}
                    needed |= (_used(handler.type) if handler.type else set()) - given
                    needed |= _flow(handler.body, given)
                needed |= _flow(statement.orelse + statement.finalbody, given)
            case ast.FunctionDef() | ast.ClassDef():
                needed |= _used(statement) - given - {statement.name}
                given.add(statement.name)
            case _:
                needed |= _used(statement) - given
                given |= _bound(statement)
    return needed


def _used(node):
    """Return the names of the notebook that `node` reads, in the functions within it too."""
    table = symtable.symtable(ast.unparse(node), "<cell>", "exec")
    loaded = {found.id for found in ast.walk(node) if isinstance(found, ast.Name) and not _is_store(found)}
    updated = _bound(node) if isinstance(node, ast.AugAssign) else set()

    def globals_of(scope):
        own = {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global()}
        return own.union(*map(globals_of, scope.get_children()))

    top = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    inner = set().union(*map(globals_of, table.get_children()))
    return (top & loaded) | inner | updated


def _is_store(name):
    return isinstance(name.ctx, ast.Store | ast.Del)


def _bound(node):
    """Return the names that `node` gives to the notebook."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, ast.expr):  # the target of a loop, or a condition
        return {found.id for found in ast.walk(node) if isinstance(found, ast.Name) and _is_store(found)}
    table = symtable.symtable(ast.unparse(node), "<cell>", "exec")
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()}


def cells_for(wanted, cells):
    """Choose those of `cells` that give the names `wanted`, and what these need in turn.

    Parameters
    ----------
    wanted : set of str
    cells : list of str
        Sources, in their order.

    Returns
    -------
    list of int
        Their indices, in order; the first cell, with the chapter's imports and settings, is always one.
    """
    chosen, wanted = [], set(wanted)
    for index in reversed(range(len(cells))):
        needed, given = names(cells[index])
        if given & wanted or index == 0:
            chosen.append(index)
            wanted = (wanted - given) | needed
    return chosen[::-1]


def stub(source):
    """Leave of an answer its imports, and of each definition the head and the docstring."""
    nodes = ast.parse(source).body
    imports = [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    outlines = [_outline(n, source) for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return "\n\n\n".join(filter(None, ["\n".join(imports), *outlines]))


def _outline(node, source):
    lines = source.splitlines()
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    body = node.body
    if body[0].lineno == node.lineno:  # all in one line
        head = lines[first].split(":", 1)[0] if not isinstance(node, ast.FunctionDef) else _head(node)
        return f"{head}\n{' ' * (node.col_offset + 4)}..."
    documented = ast.get_docstring(node) is not None
    last = body[0].end_lineno if documented else body[0].lineno - 1
    parts = ["\n".join(lines[first:last])]
    methods = [_outline(child, source) for child in body if isinstance(child, ast.FunctionDef)]
    if isinstance(node, ast.ClassDef) and methods:
        return "\n\n".join([*parts, *methods])
    return "\n".join([*parts, " " * (node.col_offset + 4) + "..."])


def _head(node):
    bare = ast.FunctionDef(
        node.name, node.args, [ast.Expr(ast.Constant(...))], node.decorator_list, node.returns
    )
    return ast.unparse(ast.fix_missing_locations(bare)).rsplit("\n", 1)[0]


def requirements(sources, pyproject):
    """Name the distributions that `sources` import and the package does not bring along.

    Parameters
    ----------
    sources : list of str
    pyproject : pathlib.Path
        Of the package: what it depends on, and the ranges of its extras.

    Returns
    -------
    dict of str to str
        Requirement by the name that is imported, such as ``{"anywidget": "anywidget>=0.9.13"}``.
    """
    project = tomllib.loads(pyproject.read_text())["project"]
    ranges = {_name(text): text for extra in project["optional-dependencies"].values() for text in extra}
    brought = {_name(text) for text in project["dependencies"]} | {project["name"], "ipython"}
    found, distributions = {}, _distributions()
    for module in sorted(set().union(*map(_imported, sources))):
        distribution = distributions.get(module, [module])[0]
        if module not in sys.stdlib_module_names and _name(distribution) not in brought:
            found[module] = ranges.get(_name(distribution), distribution)
    return found


@functools.cache
def _distributions():
    return packages_distributions()  # reads all that is installed


def _imported(source):
    """Return the top-level modules that `source` imports; the explorables are widgets."""
    modules = set()
    for node in ast.walk(ast.parse(textwrap.dedent(source))):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules.add(node.module.split(".")[0])
            if "explorables" in {*node.module.split("."), *(alias.name for alias in node.names)}:
                modules.add("anywidget")
    return modules


def _name(requirement):
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")
