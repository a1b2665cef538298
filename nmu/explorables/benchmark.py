"""Modules and ranges: success, metrics and learning curves."""

import math

import anywidget
import numpy as np
import pandas as pd
import traitlets

from nmu import metrics
from nmu.experiments import single_module
from nmu.explorables._files import STYLE, script

__all__ = ["Benchmark"]

METRICS = ("success", "solved_at", "sparsity_error")
ERRORS = ("interpolation_error", "extrapolation_error")
QUANTILES = (0.1, 0.5, 0.9)
ZERO = -18
"""Logarithm that stands for an error of 0 and for all below 1e-18."""


class Benchmark(anywidget.AnyWidget):
    """Modules against ranges: choose a cell, see its metrics and learning curves.

    Parameters
    ----------
    runs, curves : pandas.DataFrame
        ``runs.csv`` and ``curves.csv.gz`` of :func:`nmu.experiments.single_module.experiment`: every module
        on every range.
    traits : optional
        Initial values of ``metric``, ``selected`` and ``pinned``, by these names.

    Attributes
    ----------
    metric : {"success", "solved_at", "sparsity_error"}
        What the cells show.
    selected : tuple of str
        Module and interpolation range of the chosen cell; at first the first module's worst range.
    pinned : str or None
        Module whose metrics and curves are shown for comparison.
    modules, ranges, extrapolation_ranges : list of str
        What the table's columns and rows are; both kinds of ranges in the same order.
    estimates : dict
        ``estimates[module][range]`` holds ``"runs"`` and ``"solved"``, and for each metric value, low, high
        and note of its :class:`nmu.metrics.Estimate`, with None for NaN.
    steps : list of int
        The logged steps.
    curves : dict
        ``curves[module][range]["interpolation_error"]`` and ``["extrapolation_error"]`` hold three lists: the
        decimal logarithms of the 10 % quantile, the median and the 90 % quantile over the runs, to three
        decimals, not below -18; None for what is not finite. A list ends where its value stays the same.
    threshold : float
        Extrapolation error below which a run is solved.

    Raises
    ------
    ValueError
        If a module has no runs on some range, or the curves are of other modules or ranges.
    """

    _esm = script("benchmark")
    _css = STYLE

    modules = traitlets.List(traitlets.Unicode()).tag(sync=True)
    ranges = traitlets.List(traitlets.Unicode()).tag(sync=True)
    extrapolation_ranges = traitlets.List(traitlets.Unicode()).tag(sync=True)
    estimates = traitlets.Dict().tag(sync=True)
    steps = traitlets.List(traitlets.Int()).tag(sync=True)
    curves = traitlets.Dict().tag(sync=True)
    threshold = traitlets.Float(metrics.THRESHOLD).tag(sync=True)
    metric = traitlets.Enum(METRICS, "success").tag(sync=True)
    selected = traitlets.Tuple(traitlets.Unicode(), traitlets.Unicode()).tag(sync=True)
    pinned = traitlets.Unicode(None, allow_none=True).tag(sync=True)

    def __init__(self, runs: pd.DataFrame, curves: pd.DataFrame, **traits):
        modules = list(runs["module"].unique())
        pairs = runs[["interpolation_range", "extrapolation_range"]].drop_duplicates()
        ranges = list(pairs["interpolation_range"])
        wanted = pd.MultiIndex.from_product([modules, ranges])
        for name, table in {"runs": runs, "curves": curves}.items():
            found = pd.MultiIndex.from_frame(table[["module", "interpolation_range"]].drop_duplicates())
            if odd := list(wanted.symmetric_difference(found)):
                raise ValueError(f"{name} must hold every module on every range; missing or foreign: {odd}")
        estimates = {name: _estimates(group) for name, group in runs.groupby("module", sort=False)}
        worst = min(ranges, key=lambda range_: estimates[modules[0]][range_]["success"][0])
        super().__init__(
            modules=modules,
            ranges=ranges,
            extrapolation_ranges=list(pairs["extrapolation_range"]),
            estimates=estimates,
            steps=sorted(curves["step"].unique().tolist()),
            curves={
                module: {
                    range_: {error: _quantiles(cell, error) for error in ERRORS}
                    for range_, cell in group.groupby("interpolation_range", sort=False)
                }
                for module, group in curves.groupby("module", sort=False)
            },
            **{"selected": (modules[0], worst), **traits},
        )

    @traitlets.validate("selected")
    def _selected_exists(self, proposal: dict) -> tuple[str, str]:
        module, range_ = proposal["value"]
        if module not in self.modules or range_ not in self.ranges:
            raise traitlets.TraitError(
                f"selected must be a module of {self.modules} and a range of {self.ranges}; "
                f"got {proposal['value']}"
            )
        return proposal["value"]

    @traitlets.validate("pinned")
    def _pinned_exists(self, proposal: dict) -> str | None:
        if proposal["value"] not in [None, *self.modules]:
            raise traitlets.TraitError(
                f"pinned must be None or one of {self.modules}; got {proposal['value']!r}"
            )
        return proposal["value"]


def _estimates(runs: pd.DataFrame) -> dict[str, dict]:
    summary = single_module.summarize(runs)
    solved = runs.groupby("interpolation_range")["solved"].agg(["size", "sum"])
    return {
        range_: {
            "runs": int(solved.loc[range_, "size"]),
            "solved": int(solved.loc[range_, "sum"]),
            **{metric: _plain(summary.loc[range_, metric]) for metric in METRICS},
        }
        for range_ in summary.index
    }


def _plain(estimate: metrics.Estimate) -> list:
    numbers = (estimate.value, estimate.low, estimate.high)
    return [*(float(number) if math.isfinite(number) else None for number in numbers), estimate.note]


def _quantiles(cell: pd.DataFrame, error: str) -> list[list[float | None]]:
    """Quantiles over the runs, observed values all, so that one that is not finite spoils no other."""
    values = cell.pivot(index="seed", columns="step", values=error).fillna(np.inf)
    logarithms = np.log10(values.clip(lower=10.0**ZERO)).to_numpy()
    rows = np.quantile(logarithms, QUANTILES, axis=0, method="inverted_cdf").round(3).tolist()
    return [_shortened([value if math.isfinite(value) else None for value in row]) for row in rows]


def _shortened(row: list) -> list:
    while len(row) > 1 and row[-1] == row[-2]:
        row = row[:-1]
    return row
