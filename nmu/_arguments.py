"""What the options of the command line mean; a wrong one ends with a message and exit code 2."""

import difflib
import inspect
import os
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Annotated

import torch
import typer
from torch import nn

from nmu.experiments import EXPERIMENTS, single_module
from nmu.runner import Experiment
from nmu.tasks import RANGES, Range

__all__ = [
    "Device",
    "Epochs",
    "Modules",
    "Name",
    "Ranges",
    "Seeds",
    "Size",
    "Steps",
    "check_device",
    "known",
    "plan",
]

MOST_SEEDS = 100_000

Name = Annotated[str, typer.Argument(help="The experiment; `list` shows them.", metavar="NAME")]
Seeds = Annotated[
    str | None,
    typer.Option(help="How many, as in 25, or which: 9,11,13 or 25-49.", show_default="the paper's"),
]
Modules = Annotated[
    str | None,
    typer.Option(
        help="Names, such as NMU,sNMU. A class of your own is FILE:CLASS: my_units:Mine is the class Mine "
        "of my_units.py in this folder.",
        show_default="all",
    ),
]
Ranges = Annotated[
    str | None, typer.Option(help="Training ranges, such as 'U[1,2] U[-2,2]'.", show_default="all nine")
]
Steps = Annotated[int | None, typer.Option(min=1, help="Number of updates.", show_default="the paper's")]
Size = Annotated[
    str | None,
    typer.Option(
        help="For images: paper, small or tiny networks on MNIST, or bundled digits.",
        show_default="the experiment's",
    ),
]
Epochs = Annotated[
    int | None, typer.Option(min=1, help="For images: how often all are met.", show_default="the size's")
]
Device = Annotated[str, typer.Option(help="Where to compute, as torch names it: cpu, cuda.")]


def plan(
    name: str,
    *,
    seeds: str | None,
    modules: str | None,
    ranges: str | None,
    steps: int | None,
    size: str | None,
    epochs: int | None,
    device: str,
) -> Experiment:
    """Plan an experiment with the options that were given; ``None`` for one that was not."""
    module = known(name)
    sizes = getattr(module, "SETTINGS", None)
    if size is not None and sizes is None:
        raise typer.BadParameter(f"{name} has no --size")
    given = {
        "seeds": None if seeds is None else _seeds(seeds),
        "modules": None if modules is None else _modules(modules, module),
        "ranges": None if ranges is None else _ranges(ranges),
        "steps": steps,
        "size": None if size is None else _match(size, sizes, "size"),
        "epochs": epochs,
        "device": device,
    }
    given = {option: value for option, value in given.items() if value is not None}
    accepted = inspect.signature(module.experiment).parameters
    for option in given:
        if option not in accepted:
            raise typer.BadParameter(f"{name} has no --{option}")
    return module.experiment(**given)


def known(name: str) -> ModuleType:
    """Return the experiment of this name."""
    return EXPERIMENTS[_match(name, EXPERIMENTS, "experiment")]


def _match(name: str, known: Iterable[str], kind: str) -> str:
    """Return a known name, or end with the ones that are near."""
    known = list(known)
    if name in known:
        return name
    lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), lower, cutoff=0.5)
    if name.lower() in near:  # nothing but capitals is wrong
        near = [name.lower()]
    hint = f"did you mean {' or '.join(map(lower.get, near))}?" if near else f"there are {', '.join(known)}"
    raise typer.BadParameter(f"there is no {kind} {name!r}; {hint}")


def _seeds(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(re.fullmatch("[0-9]{1,18}(-[0-9]{1,18})?", part) for part in parts):
        parts = []
    if len(parts) == 1 and "-" not in text and "," not in text:
        pieces = [range(int(parts[0]))]
    else:
        ends = [part.partition("-") for part in parts]
        pieces = [range(int(first), int(last or first) + 1) for first, _, last in ends]
    if not pieces or not all(pieces):
        raise typer.BadParameter(f"--seeds takes a number, or seeds such as 9,11,13 or 25-49; got {text!r}")
    if sum(map(len, pieces)) > MOST_SEEDS:
        raise typer.BadParameter(f"--seeds takes at most {MOST_SEEDS:,} seeds; got {text!r}")
    return _different([seed for piece in pieces for seed in piece], "seed")


def _modules(text: str, experiment: ModuleType) -> dict[str, Callable[..., nn.Module]]:
    on_numbers = "steps" in inspect.signature(experiment.experiment).parameters
    known = {**(single_module.MODULES if on_numbers else {}), **experiment.MODULES}
    names = text.replace(",", " ").split()
    if not names:
        raise typer.BadParameter("--modules takes one or more names; `list` shows them")
    units = [_own(name) if ":" in name else known[_match(name, known, "module")] for name in names]
    shown = _different([name.rpartition(":")[2] for name in names], "module")
    return dict(zip(shown, units, strict=True))


def _own(name: str) -> Callable[..., nn.Module]:
    """Import a reader's class."""
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        unit = pkgutil.resolve_name(name.replace(".py:", ":"))
    except Exception as error:  # whatever the reader's file does
        raise typer.BadParameter(f"{name} cannot be imported: {type(error).__name__}: {error}") from None
    class_ = unit.func if isinstance(unit, partial) else unit
    if not (isinstance(class_, type) and issubclass(class_, nn.Module)):
        raise typer.BadParameter(f"{name} is no class derived from torch.nn.Module")
    return unit


def _ranges(text: str) -> list[Range]:
    known = {str(range_): range_ for range_ in RANGES}
    names = [name for name in re.split(r"(?<=\])[,\s]+", text.strip(", ")) if name]
    if not names:
        raise typer.BadParameter(f"--ranges takes one or more of {', '.join(known)}")
    chosen = [_match(re.sub(r"\s", "", name), known, "range") for name in names]
    return [known[name] for name in _different(chosen, "range")]


def _different(values: list, kind: str) -> list:
    if twice := [value for value, count in Counter(values).items() if count > 1]:
        raise typer.BadParameter(f"the {kind} {twice[0]} is given twice")
    return values


def check_device(device: str) -> None:
    """End if torch cannot compute there."""
    try:
        torch.zeros(1, device=device).item()
    except Exception as error:  # torch raises many kinds
        reason = str(error).splitlines()[0]
        raise typer.BadParameter(f"torch cannot compute on --device {device} here: {reason}") from None
