"""Where the origin is a trap, and where it is one that training reaches."""

import anywidget
import pandas as pd
import traitlets

from nmu.explorables._files import STYLE, script
from nmu.tasks import RANGES

__all__ = ["TrapLine"]


class TrapLine(anywidget.AnyWidget):
    """The trap at the origin over mean and half-width of the inputs' range, and what became of the runs.

    Parameters
    ----------
    runs : pandas.DataFrame, optional
        Runs of one module on the nine ranges, with the columns ``interpolation_range`` and ``solved``, as
        :func:`nmu.experiments.single_module.runs_table` makes it. Without it the ranges are shown, but no
        failures.
    traits : optional
        Initial values of the attributes, by name.

    Attributes
    ----------
    mean, half_width : float
        The range that the probe stands for, U[mean - half_width, mean + half_width]; in [-20, 20] and
        [0.02, 10].
    view : {"all", "near"}
        All ranges, on a scale that is widened about 0, or those near a mean of -1.
    points : list of dict
        The ranges: ``name``, ``low``, ``high``, and how many ``runs`` there were and how many ``failed``.

    Raises
    ------
    ValueError
        If ``runs`` is of several modules or of an unknown range.
    """

    _esm = script("trap_line")
    _css = STYLE

    mean = traitlets.Float(-2.0, min=-20, max=20).tag(sync=True)
    half_width = traitlets.Float(0.1, min=0.02, max=10).tag(sync=True)
    view = traitlets.Enum(["all", "near"], "all").tag(sync=True)
    points = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "name": traitlets.Unicode(),
                "low": traitlets.Float(),
                "high": traitlets.Float(),
                "runs": traitlets.Int(),
                "failed": traitlets.Int(),
            }
        )
    ).tag(sync=True)

    def __init__(self, runs: pd.DataFrame | None = None, **traits):
        super().__init__(**{"points": _points(runs), **traits})


def _points(runs: pd.DataFrame | None) -> list[dict]:
    solved: dict[str, pd.Series] = {}
    if runs is not None:
        if "module" in runs and runs["module"].nunique() > 1:
            raise ValueError(f"runs must be of one module; got {', '.join(runs['module'].unique())}")
        solved = dict(list(runs.groupby("interpolation_range")["solved"]))
        unknown = sorted(solved.keys() - {str(range_) for range_ in RANGES})
        if unknown:
            raise ValueError(f"runs must be on the nine ranges of nmu.tasks; got {', '.join(unknown)}")
    points = []
    for range_ in RANGES:
        low, high = range_.interpolation
        outcomes = solved.get(str(range_), pd.Series(dtype=bool))
        failed = int((~outcomes).sum())
        points.append(
            {"name": str(range_), "low": low, "high": high, "runs": len(outcomes), "failed": failed}
        )
    return points
