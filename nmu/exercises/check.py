"""Try an answer to an exercise, and say what is wrong with it."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

__all__ = ["Check", "Wrong"]


class Wrong(AssertionError):
    """An answer that is not right; the message says what is wrong with it.

    IPython shows the message alone, without the traceback.
    """

    def _render_traceback_(self) -> list[str]:
        return [f"Not yet: {self}"]


@dataclass(frozen=True)
class Check:
    """What an exercise asks of a function.

    Parameters
    ----------
    expected : callable
        A right answer. It returns numbers, truth values or a tensor of them.
    cases : sequence of tuple
        Arguments to try, simple ones first.
    mistakes : mapping of str to callable, optional
        Wrong answers that a reader may well give, under what is to be said about them.
    tolerance : float, optional
        Relative, and absolute for values below 1.
    """

    expected: Callable
    cases: Sequence[tuple]
    mistakes: Mapping[str, Callable] = field(default_factory=dict)
    tolerance: float = 1e-6

    def __call__(self, answer: Callable) -> str:
        """Try an answer on all cases.

        Parameters
        ----------
        answer : callable
            The reader's function.

        Returns
        -------
        str
            How many cases are right: all.

        Raises
        ------
        Wrong
            With the first case that is not right, and the mistake that would explain all of them.
        """
        if not callable(answer):
            raise Wrong(f"a function is wanted; this is {_text(answer)}.")
        given = [_call(answer, case) for case in self.cases]
        wanted = [torch.as_tensor(self.expected(*copy.deepcopy(case))) for case in self.cases]
        for case, value, right in zip(self.cases, given, wanted, strict=True):
            if value.shape != right.shape:
                shapes = f"the shape {tuple(value.shape)}; {tuple(right.shape)} is wanted"
                raise Wrong(f"{_called(answer, case)} has {shapes}.")
        wrong = [not self._alike(value, right) for value, right in zip(given, wanted, strict=True)]
        if not any(wrong):
            return f"Right, on {len(self.cases)} cases."
        for explanation, mistake in self.mistakes.items():
            made = [torch.as_tensor(mistake(*copy.deepcopy(case))) for case in self.cases]
            if all(self._alike(value, other) for value, other in zip(given, made, strict=True)):
                raise Wrong(explanation)
        first = wrong.index(True)
        values = f"{_text(given[first])}; {_text(wanted[first])} is right"
        counts = f"{sum(wrong)} of {len(wrong)} cases are wrong"
        raise Wrong(f"{_called(answer, self.cases[first])} is {values} ({counts}).")

    def _alike(self, value: torch.Tensor, right: torch.Tensor) -> bool:
        options = {"rtol": self.tolerance, "atol": self.tolerance, "equal_nan": True}
        return value.shape == right.shape and torch.allclose(value.double(), right.double(), **options)


def _call(answer: Callable, case: tuple) -> torch.Tensor:
    arguments = copy.deepcopy(case)
    try:
        value = answer(*arguments)
    except Exception as error:
        raise Wrong(f"{_called(answer, case)} raised {type(error).__name__}: {error}") from error
    if value is None or value is ...:
        raise Wrong(f"{_called(answer, case)} returns nothing yet.")
    if any(map(_changed, arguments, case)):
        raise Wrong(f"{_called(answer, case)} changes its arguments.")
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Wrong(f"{_called(answer, case)} is {_text(value)}, which is no number or tensor.") from error


def _changed(argument: object, before: object) -> bool:
    if not isinstance(argument, torch.Tensor):
        return False
    return not torch.allclose(argument.double(), before.double(), rtol=0, atol=0, equal_nan=True)


def _called(function: Callable, arguments: tuple) -> str:
    return f"{getattr(function, '__name__', 'the answer')}({', '.join(map(_text, arguments))})"


def _text(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return _text(value.tolist()) if value.numel() <= 8 else f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value)
