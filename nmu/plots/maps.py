"""Contour maps of functions of two inputs."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from torch import Tensor


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
