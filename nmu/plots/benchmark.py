"""Figures of many modules on many ranges."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nmu.plots.style import MARKERS, PALETTE

TINTS = (PALETTE[0], PALETTE[5], PALETTE[4], "0.75")
HATCHES = ("", "////", "....", "")


def success_grid(runs: pd.DataFrame, *, denominators: bool = True) -> Figure:
    """Solved runs of each module on each range, as numbers on a shaded grid.

    Parameters
    ----------
    runs : pandas.DataFrame
        ``runs.csv`` of the single-module experiment.
    denominators : bool, optional
        Whether each cell says of how many runs. Without, the grid is narrower and its title says it once.

    Returns
    -------
    matplotlib.figure.Figure
        One panel, ranges down, modules across.

    Raises
    ------
    ValueError
        If cells without a denominator have not equally many runs.
    """
    solved = runs.groupby(["interpolation_range", "module"], sort=False)["solved"].agg(
        ["sum", "count", "mean"]
    )
    if not denominators and solved["count"].nunique() > 1:
        raise ValueError("denominators are needed: the cells have not equally many runs")
    share = solved["mean"].unstack(sort=False)
    text = solved["sum"].astype(str)
    if denominators:
        text += "/" + solved["count"].astype(str)
    width = 0.7 if denominators else 0.4
    height = 0.34 * len(share) + 0.8 + 0.08 * max(map(len, share.columns))  # the names stand at a slant
    figure, axis = plt.subplots(figsize=(width * len(share.columns) + 1.3, height))
    sns.heatmap(
        share,
        annot=text.unstack(sort=False),
        fmt="",
        vmin=0,
        vmax=1,
        cmap=sns.light_palette(PALETTE[0], as_cmap=True),
        linewidths=1,
        cbar=False,
        annot_kws={"fontsize": 10},
        ax=axis,
    )
    axis.set(xlabel="", ylabel="training range")
    if not denominators:
        axis.set_title(f"solved runs of {solved['count'].iloc[0]}", loc="left")
    axis.set_xticks(axis.get_xticks(), share.columns, rotation=45, ha="right", rotation_mode="anchor")
    axis.tick_params(labelsize=10)
    return figure


def module_estimates(
    summaries: Mapping[str, pd.DataFrame],
    column: str,
    *,
    label: str,
    limits: tuple[float, float],
    zero: float | None = None,
) -> Figure:
    """Compare one metric of many modules, one panel a range, on a logarithmic axis.

    A module without a solved run has the word "none" in place of a marker.

    Parameters
    ----------
    summaries : mapping of str to pandas.DataFrame
        For each module's name its table from :func:`nmu.experiments.single_module.summarize`.
    column : str
        ``"solved_at"`` or ``"sparsity_error"``.
    label : str
        What the axis shows.
    limits : tuple of float
        Ends of the axis.
    zero : float, optional
        Where a value of 0, or one below, is drawn; the axis says ``0`` there.

    Returns
    -------
    matplotlib.figure.Figure
        Three panels a row, the modules down.
    """
    ranges = list(next(iter(summaries.values())).index)
    rows = -(-len(ranges) // 3)
    figure, axes = plt.subplots(
        rows,
        3,
        sharex=True,
        sharey=True,
        squeeze=False,
        figsize=(5.2, 0.5 + rows * (0.5 + 0.175 * len(summaries))),
    )
    for axis in axes.flat[len(ranges) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, ranges, strict=False):
        axis.set_title(name, fontsize=10.5)
        axis.set_xscale("log")
        axis.set(xlim=limits, ylim=(len(summaries) - 0.4, -0.6))
        for row, table in enumerate(summaries.values()):
            _estimate(axis, table.loc[name, column], row, zero or limits[0])
        axis.set_yticks(range(len(summaries)), summaries, fontsize=10)
        axis.tick_params(axis="x", labelsize=10)
        axis.minorticks_off()
        if zero:
            powers = range(round(np.log10(zero)) + 2, round(np.log10(limits[1])), 2)
            ticks = {zero: "0"} | {10.0**p: f"$10^{{{p}}}$" for p in powers}
            axis.set_xticks(list(ticks), list(ticks.values()))
    figure.supxlabel(label, fontsize=11)
    return figure


def _estimate(axis: Axes, estimate, row: int, lowest: float) -> None:
    if np.isnan(estimate.value):
        axis.text(
            0.04,
            row,
            "none",
            transform=axis.get_yaxis_transform(),
            va="center",
            fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
        return
    value, low, high = (max(number, lowest) for number in (estimate.value, estimate.low, estimate.high))
    style = row % len(PALETTE)
    axis.plot([low, high], [row, row], color=PALETTE[style], linewidth=2)
    axis.plot(value, row, MARKERS[style], color=PALETTE[style], markersize=5, clip_on=False)


def outcome_bars(counts: pd.DataFrame, *, label: str) -> Figure:
    """How the runs of each module ended, as stacked bars.

    Parameters
    ----------
    counts : pandas.DataFrame
        Number of runs: one row a module, one column a way to end, at most four.
    label : str
        What is counted.

    Returns
    -------
    matplotlib.figure.Figure
        One bar a module, with its numbers where there is room for them.
    """
    figure, axis = plt.subplots(figsize=(5, 0.34 * len(counts) + 1.3))
    left = np.zeros(len(counts))
    whole = counts.sum(axis=1).max()
    for i, ending in enumerate(counts.columns):
        values = counts[ending].to_numpy()
        bars = axis.barh(
            counts.index, values, left=left, color=TINTS[i], hatch=HATCHES[i], edgecolor="white", label=ending
        )
        texts = [str(value) if value > 0.05 * whole else "" for value in values]
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axis.bar_label(bars, texts, label_type="center", fontsize=10, bbox=box)
        left += values
    axis.set(xlabel=label, xlim=(0, whole))
    axis.invert_yaxis()
    axis.grid(visible=False)
    figure.legend(loc="outside upper center", ncols=2, fontsize=10)
    return figure


def weight_rows(weights: Mapping[str, np.ndarray], *, relevant: int) -> Figure:
    """Weights of single units as shaded rows, one row a run and one panel a title.

    Parameters
    ----------
    weights : mapping of str to numpy.ndarray
        For each title ``(runs, in_features)``, between 0 and 1.
    relevant : int
        How many inputs, from the first, are to be multiplied; a line divides them from the others.

    Returns
    -------
    matplotlib.figure.Figure
        The panels side by side, with one colour bar.
    """
    height = max(len(values) for values in weights.values())
    figure, axes = plt.subplots(
        1, len(weights), squeeze=False, figsize=(1.9 * len(weights) + 0.6, 0.11 * height + 1.5)
    )
    for axis, (title, values) in zip(axes[0], weights.items(), strict=True):
        extent = (0.5, values.shape[1] + 0.5, len(values) + 0.5, 0.5)
        image = axis.imshow(
            values, cmap="cividis", vmin=0, vmax=1, aspect="auto", extent=extent, interpolation="nearest"
        )
        axis.axvline(relevant + 0.5, color="white", linewidth=2.5)
        axis.set(title=title, xlabel="input", yticks=[], ylim=(height + 0.5, 0.5))
        axis.set_xticks(range(1, values.shape[1] + 1, 1 if values.shape[1] < 6 else 3))
        axis.grid(visible=False)
    axes[0, 0].set_ylabel("run")
    figure.colorbar(image, ax=axes, label="weight", location="bottom", shrink=0.8, aspect=30)
    return figure
