"""Maps: functions of two inputs, and of a unit's two weights."""

from collections.abc import Collection, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from torch import Tensor

from nmu.plots.style import PALETTE


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
    values = torch.tensor(np.sort(table["x_1"].unique()))
    levels = [-80, -60, -40, -20, -5, 5, 20, 40, 60, 80]
    target = {"target $x_1 x_2$": torch.outer(values, values)}
    return surface_grid(values, target | maps, levels, box=box, label="output")


def landscapes(
    axis_values: Tensor,
    losses: Mapping[str, Tensor],
    levels: Sequence[float],
    *,
    box: tuple[float, float],
    traps: Collection[str],
    mirrors: Mapping[str, float],
    label: str,
) -> Figure:
    """Contour maps over the square of two weights, three maps a row, all on the same levels.

    Parameters
    ----------
    axis_values : Tensor
        ``(K,)``, the values of either weight.
    losses : mapping of str to Tensor
        For each title the function's values, ``(K, K)``.
    levels : sequence of float
        The contour levels, increasing.
    box : tuple of float
        ``(low, high)`` of the initial weights, drawn as a dashed square.
    traps : collection of str
        The titles of the maps whose origin is marked by a cross.
    mirrors : mapping of str to float
        For some titles the mirror of 1, marked by a ring where it lies in the square.
    label : str
        What the colours mean.

    Returns
    -------
    matplotlib.figure.Figure
        One panel a map.
    """
    colors = plt.get_cmap("cividis")
    norm = BoundaryNorm(levels, colors.N, extend="min")
    rows = -(-len(losses) // 3)
    figure, axes = plt.subplots(
        rows, 3, figsize=(5.2, 1.0 + 1.85 * rows), sharex=True, sharey=True, squeeze=False
    )
    for axis, (title, values) in zip(axes.flat, losses.items(), strict=False):
        grid = (axis_values.numpy(), axis_values.numpy(), values.T.numpy())
        image = axis.contourf(*grid, levels=levels, cmap=colors, norm=norm, extend="min")
        axis.contour(*grid, levels=levels, colors="black", linewidths=0.4, linestyles="solid")
        _start_box(axis, box, "white")
        mark = {"markersize": 9, "markeredgecolor": "black", "clip_on": False, "zorder": 3}
        axis.plot(1, 1, "*", markerfacecolor="white", **mark)
        if title in traps:
            axis.plot(0, 0, "X", markerfacecolor=PALETTE[1], **mark)
        if 0 <= mirrors.get(title, -1) <= 1:
            axis.plot(mirrors[title], mirrors[title], "o", markerfacecolor=PALETTE[5], **mark)
        axis.set_title(title)
    _weight_axes(axes)
    bar = figure.colorbar(image, ax=axes, location="bottom", label=label, shrink=0.95, aspect=25)
    bar.set_ticks(levels[::2], labels=[f"{level:g}" for level in levels[::2]])
    return figure


def basins(
    axis_values: Tensor,
    failed: Mapping[str, Tensor],
    *,
    box: tuple[float, float],
    crossings: Mapping[str, float],
    runs: Mapping[str, tuple[Tensor, Sequence[bool]]],
) -> Figure:
    """Map the starts from which a unit fails, two maps a row, with the legend in the place of the last.

    Parameters
    ----------
    axis_values : Tensor
        ``(K,)``, the values of either initial weight.
    failed : mapping of str to Tensor
        For each title which starts fail, boolean, ``(K, K)``.
    box : tuple of float
        ``(low, high)`` of the initial weights, drawn as a dashed square.
    crossings : mapping of str to float
        For each title the weight at which a factor is 0: drawn are the lines on which either weight has this
        value, and the one on which their mean has.
    runs : mapping of str to tuple
        For each title the initial weights of runs, ``(R, 2)``, and whether each was solved.

    Returns
    -------
    matplotlib.figure.Figure
        One panel a map.
    """
    rows = -(-(len(failed) + 1) // 2)
    figure, axes = plt.subplots(
        rows, 2, figsize=(5.2, 0.2 + 2.7 * rows), sharex=True, sharey=True, squeeze=False
    )
    for axis, (title, values) in zip(axes.flat, failed.items(), strict=False):
        grid = (axis_values.numpy(), axis_values.numpy(), values.T.numpy().astype(float))
        if values.any():
            area = axis.contourf(*grid, levels=[0.5, 1.5], colors=[PALETTE[4]], alpha=0.5, hatches=["///"])
            area.set_edgecolor(PALETTE[1])
            area.set_linewidth(0)
        crossing = crossings[title]
        axis.axhline(crossing, color="black", linestyle=":", linewidth=1.2)
        axis.axvline(crossing, color="black", linestyle=":", linewidth=1.2, label="a factor is 0")
        edge = [0, 2 * crossing]
        axis.plot(edge, edge[::-1], color="black", linewidth=1.8, label=r"$W_1 + W_2 = 2c$")
        _start_box(axis, box, "black", label="initial weights")
        weights, solved = runs[title]
        solved = np.asarray(solved, dtype=bool)
        for outcome, color, marker, name in [
            (True, PALETTE[0], "o", "run, solved"),
            (False, PALETTE[1], "X", "run, failed"),
        ]:
            axis.plot(
                *weights[solved == outcome].T.numpy(),
                marker,
                color=color,
                markersize=7 if outcome else 9,
                markeredgecolor="white" if outcome else "black",
                markeredgewidth=0.7,
                label=name,
            )
        axis.set_title(title)
    _weight_axes(axes)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    patch = plt.Rectangle((0, 0), 1, 1, facecolor=PALETTE[4], alpha=0.5, hatch="///", edgecolor=PALETTE[1])
    for axis in axes.flat[len(failed) :]:
        axis.set_axis_off()
    for axis in axes.flat[max(len(failed) - 2, 0) : len(failed)]:
        axis.set_xlabel("$W_1$")
        axis.tick_params(labelbottom=True)
    axes.flat[-1].legend([patch, *handles], ["predicted to fail", *labels], loc="center", handlelength=1.6)
    return figure


def trap_map(half_widths: Tensor, edge: Tensor, points: Sequence[Mapping]) -> Figure:
    """Map the ranges whose origin is a trap over mean and half-width, and what became of the runs on some.

    Parameters
    ----------
    half_widths, edge : Tensor
        ``(K,)``: for each half-width the mean below which the origin is a trap.
    points : sequence of mapping
        The ranges: ``name``, ``low``, ``high``, and how many ``runs`` there were and how many ``failed``.

    Returns
    -------
    matplotlib.figure.Figure
        One panel; the means stand on a scale that is widened about 0.
    """
    figure, axis = plt.subplots(figsize=(5.2, 4.2))
    half_widths, edge = half_widths.numpy(), edge.numpy()
    axis.fill_betweenx(half_widths, edge, -20, color=PALETTE[4], alpha=0.3, label="origin is a trap")
    axis.plot(edge, half_widths, color=PALETTE[1], linewidth=2)
    narrow = half_widths <= 0.5
    axis.fill_betweenx(
        half_widths[narrow],
        -3,
        -1,
        facecolor="none",
        hatch="///",
        edgecolor=PALETTE[1],
        label="trap within reach",
    )
    for failed, marker, color, label in [
        (False, "o", PALETTE[0], "range, no run failed"),
        (True, "X", PALETTE[1], "range with failed runs"),
    ]:
        chosen = [point for point in points if (point["failed"] > 0) == failed]
        axis.plot(
            [(point["low"] + point["high"]) / 2 for point in chosen],
            [(point["high"] - point["low"]) / 2 for point in chosen],
            marker,
            color=color,
            markersize=10,
            markeredgecolor="white",
            label=label,
        )
    axis.set_xscale("symlog", linthresh=1)
    axis.set_yscale("log")
    axis.set(xlim=(-20, 20), ylim=(half_widths.min(), half_widths.max()), ylabel="half-width of the range")
    axis.set_xlabel(r"mean $\mu$ of the range")
    axis.set_xticks([-10, -3, -1, 0, 1, 3, 10], ["−10", "−3", "−1", "0", "1", "3", "10"])
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _start_box(axis: Axes, box: tuple[float, float], color: str, **options) -> None:
    low, high = box
    axis.plot(
        [low, high, high, low, low], [low, low, high, high, low], "--", color=color, linewidth=1.5, **options
    )


def _weight_axes(axes: np.ndarray) -> None:
    """Label the outer panels of maps over two weights."""
    for axis in axes.flat:
        axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        axis.set(xticklabels=["0", "0.5", "1"], yticklabels=["0", "0.5", "1"])
    for axis in axes[-1]:
        axis.set_xlabel("$W_1$")
    for axis in axes[:, 0]:
        axis.set_ylabel("$W_2$")
