"""Figures from tables and histories, in one style.

Colours are Okabe and Ito's, told apart by colour-blind readers; markers or line styles always repeat
what a colour says. Figures keep a light ground, so that they read in dark mode and in print.
"""

from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from torch import Tensor

from nmu.metrics import Estimate

__all__ = [
    "MARKERS",
    "PALETTE",
    "comparison",
    "initial_weights",
    "success_grid",
    "surface_grid",
    "surfaces",
    "use_style",
    "weight_path_panels",
    "weight_paths",
]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def use_style() -> None:
    """Set matplotlib's defaults to the book's style."""
    sns.set_theme(
        context="notebook",
        style="whitegrid",
        palette=PALETTE,
        rc={
            "figure.figsize": (7, 4),
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "savefig.bbox": "tight",
            "axes.titlesize": "medium",
            "legend.frameon": False,
            "svg.fonttype": "none",
        },
    )


def success_grid(runs: pd.DataFrame) -> Figure:
    """Solved runs of each module on each range, as numbers on a shaded grid.

    Parameters
    ----------
    runs : pandas.DataFrame
        ``runs.csv`` of the single-module experiment.

    Returns
    -------
    matplotlib.figure.Figure
        One panel, ranges down, modules across.
    """
    solved = runs.groupby(["interpolation_range", "module"], sort=False)["solved"].agg(
        ["sum", "count", "mean"]
    )
    share = solved["mean"].unstack(sort=False)
    text = (solved["sum"].astype(str) + "/" + solved["count"].astype(str)).unstack(sort=False)
    figure, axis = plt.subplots(figsize=(0.8 * len(share.columns) + 1.5, 0.42 * len(share) + 1.2))
    sns.heatmap(
        share,
        annot=text,
        fmt="",
        vmin=0,
        vmax=1,
        cmap=sns.light_palette(PALETTE[0], as_cmap=True),
        linewidths=1,
        cbar=False,
        annot_kws={"fontsize": 9},
        ax=axis,
    )
    axis.set(xlabel="", ylabel="training range")
    axis.tick_params(axis="x", rotation=45)
    return figure


def comparison(summaries: Mapping[str, pd.DataFrame]) -> Figure:
    """Success rate and solved-at step by range, with 95 % intervals.

    Parameters
    ----------
    summaries : mapping of str to pandas.DataFrame
        For each unit's name its table from :func:`nmu.experiments.single_module.summarize`.

    Returns
    -------
    matplotlib.figure.Figure
        Two panels that share the ranges as their vertical axis.
    """
    figure, axes = plt.subplots(1, 2, sharey=True, figsize=(6.5, 4.2))
    for axis, column, scale in [(axes[0], "success", 1.0), (axes[1], "solved_at", 1e-3)]:
        for i, (name, summary) in enumerate(summaries.items()):
            offset = 0.28 * (i - (len(summaries) - 1) / 2)
            _estimates(axis, summary[column], offset, scale, PALETTE[i], MARKERS[i], name)
    first = next(iter(summaries.values()))
    axes[0].set(xlabel="success rate", xlim=(-0.05, 1.05), ylabel="training range")
    axes[0].set_yticks(range(len(first)), first.index)
    axes[0].invert_yaxis()
    axes[1].set(xlabel="solved at (thousand steps)", xlim=(0, None))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(summaries))
    return figure


def weight_paths(axis: Axes, weights: Tensor, solved: Sequence[bool]) -> None:
    """Draw the paths of two weights through the unit square, one a replica.

    Solved replicas are solid with a dot at their end, failed ones dashed with a cross.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
        Where to draw.
    weights : Tensor
        ``(T, R, 1, 2)``, as in :class:`nmu.training.History`.
    solved : sequence of bool
        One a replica.
    """
    for path, success in zip(weights[:, :, 0].transpose(0, 1).numpy(), solved, strict=True):
        color = PALETTE[0] if success else PALETTE[1]
        axis.plot(*path.T, color=color, linestyle="-" if success else "--", linewidth=1, alpha=0.8)
        axis.plot(*path[-1], color=color, marker="o" if success else "X", markersize=8, clip_on=False)
    _weight_square(axis)


def initial_weights(axis: Axes, weights: Tensor, solved: Sequence[bool]) -> None:
    """Draw where each replica started in the unit square, and how it ended.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
        Where to draw.
    weights : Tensor
        ``(R, 1, 2)``, the initial weights.
    solved : sequence of bool
        One a replica.
    """
    solved = np.asarray(solved, dtype=bool)
    for outcome, label in [(True, "solved"), (False, "failed")]:
        axis.plot(
            *weights[solved == outcome, 0].T.numpy(),
            linestyle="none",
            color=PALETTE[0] if outcome else PALETTE[1],
            marker="o" if outcome else "X",
            label=label,
        )
    _weight_square(axis)


def _weight_square(axis: Axes) -> None:
    axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="$W_1$", ylabel="$W_2$", aspect="equal")


def _estimates(
    axis: Axes,
    estimates: Iterable[Estimate],
    offset: float,
    scale: float,
    color: str,
    marker: str,
    label: str,
) -> None:
    value, low, high = np.array([(e.value, e.low, e.high) for e in estimates]).T * scale
    axis.errorbar(
        value,
        np.arange(len(value)) + offset,
        xerr=np.clip([value - low, high - value], 0, None),
        fmt=marker,
        color=color,
        markersize=5,
        capsize=2,
        label=label,
    )


def surface_grid(
    axis_values: Tensor,
    surfaces: Mapping[str, Tensor],
    levels: Sequence[float],
    *,
    box: tuple[float, float],
    label: str,
) -> Figure:
    """Contour maps of functions of two inputs, two maps a row, all on the same levels.

    Levels on both sides of 0 are coloured from blue (negative) to red (positive) and their negative
    lines dashed; other levels run from dark to bright.

    Parameters
    ----------
    axis_values : Tensor
        ``(K,)``, the values of either input.
    surfaces : mapping of str to Tensor
        For each title the function's values, ``(K, K)``, first input first.
    levels : sequence of float
        The contour levels, increasing.
    box : tuple of float
        ``(low, high)`` of the training range of either input, drawn as a square.
    label : str
        What the colours mean.

    Returns
    -------
    matplotlib.figure.Figure
        One panel a surface.
    """
    colors = plt.get_cmap("RdBu_r" if levels[0] < 0 < levels[-1] else "cividis")
    norm = BoundaryNorm(levels, colors.N, extend="both")
    rows = -(-len(surfaces) // 2)
    figure, axes = plt.subplots(
        rows, 2, figsize=(6.4, 0.7 + 3.0 * rows), sharex=True, sharey=True, squeeze=False
    )
    low, high = box
    for axis, (title, values) in zip(axes.flat, surfaces.items(), strict=False):
        grid = (axis_values.numpy(), axis_values.numpy(), values.T.numpy())
        image = axis.contourf(*grid, levels=levels, cmap=colors, norm=norm, extend="both")
        axis.contour(*grid, levels=levels, colors="black", linewidths=0.6)
        side = high - low
        axis.add_patch(plt.Rectangle((low, low), side, side, fill=False, edgecolor="black", linewidth=2.5))
        axis.set(title=title, aspect="equal")
    for axis in axes[-1]:
        axis.set_xlabel("$x_1$")
    for axis in axes[:, 0]:
        axis.set_ylabel("$x_2$")
    bar = figure.colorbar(image, ax=axes, location="bottom", label=label, shrink=0.9, aspect=30)
    bar.set_ticks(levels, labels=[f"{level:g}" for level in levels])
    return figure


def surfaces(table: pd.DataFrame, box: tuple[float, float] = (1, 2)) -> Figure:
    """Contour maps of the product and of what each module learned of it.

    Parameters
    ----------
    table : pandas.DataFrame
        ``surface.csv.gz`` of the surface experiment.
    box : tuple of float, optional
        ``(low, high)`` of the training range.

    Returns
    -------
    matplotlib.figure.Figure
        Two panels a row.
    """
    maps = {
        module: torch.tensor(group.pivot(index="x_1", columns="x_2", values="output").to_numpy())
        for module, group in table.groupby("module", sort=False)
    }
    values = torch.tensor(table["x_1"].unique())
    levels = [-80, -60, -40, -20, -5, 5, 20, 40, 60, 80]
    target = {"target $x_1 x_2$": torch.outer(values, values)}
    return surface_grid(values, target | maps, levels, box=box, label="output")


def weight_path_panels(paths: Mapping[str, Tensor], solved: Mapping[str, Sequence[bool]]) -> Figure:
    """Paths of two weights, one panel a unit, each replica's start marked by a small ring.

    Parameters
    ----------
    paths : mapping of str to Tensor
        For each title the weights, ``(T, R, 1, 2)``, as in :class:`nmu.training.History`.
    solved : mapping of str to sequence of bool
        For each title one outcome a replica.

    Returns
    -------
    matplotlib.figure.Figure
        The panels side by side, with one legend.
    """
    figure, axes = plt.subplots(1, len(paths), figsize=(3.2 * len(paths), 3.9), sharey=True, squeeze=False)
    for axis, (title, weights) in zip(axes[0], paths.items(), strict=True):
        weight_paths(axis, weights, solved[title])
        axis.plot(
            *weights[0, :, 0].T.numpy(),
            "o",
            markersize=4,
            markerfacecolor="white",
            markeredgecolor="black",
            zorder=3,
        )
        axis.set(title=title, xticks=[0, 0.5, 1], xticklabels=["0", "0.5", "1"])
        axis.set(yticks=[0, 0.5, 1], yticklabels=["0", "0.5", "1"])
        axis.label_outer()
    handles = [
        plt.Line2D(
            [],
            [],
            linestyle="none",
            marker="o",
            markersize=5,
            markerfacecolor="white",
            markeredgecolor="black",
            label="start",
        ),
        plt.Line2D([], [], color=PALETTE[0], marker="o", label="solved"),
        plt.Line2D([], [], color=PALETTE[1], marker="X", linestyle="--", label="failed"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure
