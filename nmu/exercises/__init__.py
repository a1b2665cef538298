"""The exercises that ask for code: try an answer, and hear what is wrong with it."""

import difflib
import importlib
import pkgutil
from collections.abc import Callable

from nmu.exercises.check import Check, Wrong

__all__ = ["CHECKS", "Wrong", "check"]

CHECKS: dict[str, Check] = {
    label: found
    for module in pkgutil.iter_modules(__path__, "nmu.exercises.")
    if module.name[-2:].isdigit()  # one module a chapter
    for label, found in importlib.import_module(module.name).CHECKS.items()
}
"""The check of each exercise that asks for code, by its label.

:meta hide-value:
"""


def check(label: str, answer: Callable) -> None:
    """Try an answer to an exercise, and print that it is right.

    Parameters
    ----------
    label : str
        Of the exercise, such as ``"ex-ch3-all-but-one"``.
    answer : callable
        The reader's function.

    Raises
    ------
    Wrong
        If the answer is not right; the message says what is wrong with it.
    KeyError
        If no exercise of that label asks for code.
    """
    if label not in CHECKS:
        near = difflib.get_close_matches(label, CHECKS) or sorted(CHECKS)
        raise KeyError(f"no check for {label!r}; there is one for {', '.join(near)}")
    print(CHECKS[label](answer))
