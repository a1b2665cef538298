"""Figures of stacked units: their weights, their errors over the steps, the curvatures of their loss."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator

from nmu.plots.style import MARKERS, PALETTE

SIGNED = LinearSegmentedColormap.from_list("signed", [PALETTE[1], "white", PALETTE[0]])
VISIBLE = 0.05


def stack_weights(
    panels: Mapping[str, tuple[np.ndarray, np.ndarray]], membership: Sequence[np.ndarray]
) -> Figure:
    """Weights of stacked units, one panel a run: the NAU's two rows, and beside each row the unit's weight.

    A cell's shade and its sign say the same. Frames mark the inputs of the two subsets, solid for the
    first and dashed for the second, in the row that fits the subset better.

    Parameters
    ----------
    panels : mapping of str to tuple
        For each title the weights of the NAU, ``(2, in_features)``, and of the unit, ``(2,)``.
    membership : sequence of numpy.ndarray
        The two subsets of each run, 0 or 1, ``(2, in_features)``.

    Returns
    -------
    matplotlib.figure.Figure
        One panel below the other.
    """
    figure, axes = plt.subplots(len(panels), 1, squeeze=False, figsize=(4.4, 1.0 * len(panels) + 1.1))
    for axis, (title, (nau, product)), subsets in zip(axes[:, 0], panels.items(), membership, strict=True):
        inputs = nau.shape[1]
        cells = np.full((2, inputs + 2), np.nan)
        cells[:, :inputs], cells[:, -1] = nau, product
        image = axis.imshow(cells, cmap=SIGNED, vmin=-1, vmax=1, aspect="auto")
        for (row, column), weight in np.ndenumerate(cells):
            if abs(weight) >= VISIBLE:
                color = "white" if abs(weight) > 0.6 else "black"
                sign = "+" if weight > 0 else "\N{MINUS SIGN}"
                axis.text(column, row, sign, color=color, ha="center", va="center", fontsize=12)
        for column in (*range(inputs), inputs + 1):
            for row in (0, 1):
                cell = {"fill": False, "edgecolor": "0.7", "linewidth": 0.8}
                axis.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **cell))
        fit = np.abs(nau) @ subsets.T
        rows = (0, 1) if np.trace(fit) >= np.trace(fit[::-1]) else (1, 0)
        for subset, row, line in zip(subsets, rows, ("-", "--"), strict=True):
            first, size = int(subset.argmax()), int(subset.sum())
            style = {"fill": False, "edgecolor": "black", "linestyle": line, "linewidth": 2.2, "zorder": 3}
            axis.add_patch(Rectangle((first - 0.44, row - 0.42), size - 0.12, 0.84, **style))
        axis.set_title(title, loc="left", fontsize=11)
        axis.set_xticks([*range(inputs), inputs + 1], [*range(1, inputs + 1), "W"], fontsize=10)
        axis.set_yticks([0, 1], ["sum 1", "sum 2"], fontsize=10)
        axis.grid(visible=False)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    axes[-1, 0].set_xlabel("input of the NAU, and weight W of the unit", fontsize=11)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.7, aspect=35)
    bar.ax.tick_params(labelsize=10)
    return figure


def stack_errors(
    curves: Mapping[str, pd.DataFrame], thresholds: Sequence[float], ramp: tuple[int, int]
) -> Figure:
    """Both errors of runs over the steps, one panel a run, with the step by which each is judged.

    Parameters
    ----------
    curves : mapping of str to pandas.DataFrame
        For each title the rows of ``curves.csv.gz`` of one run.
    thresholds : sequence of float
        Extrapolation error below which each run is solved.
    ramp : tuple of int
        First and last step of the regulariser's ramp, which is shaded.

    Returns
    -------
    matplotlib.figure.Figure
        One panel below the other, errors on a logarithmic axis.
    """
    figure, axes = plt.subplots(
        len(curves), 1, sharex=True, squeeze=False, figsize=(4.4, 1.8 * len(curves) + 1)
    )
    lines = {"extrapolation error": ("extrapolation_error", PALETTE[1], "-", 1.2)}
    lines["interpolation error"] = ("interpolation_error", PALETTE[0], "-", 2.2)
    for axis, (title, curve), threshold in zip(axes[:, 0], curves.items(), thresholds, strict=True):
        steps = curve["step"] / 1_000
        axis.axvspan(ramp[0] / 1_000, ramp[1] / 1_000, color="0.9", label="ramp of the regulariser")
        for label, (column, color, style, width) in lines.items():
            axis.plot(steps, curve[column], style, color=color, linewidth=width, label=label)
        axis.axhline(threshold, color="black", linestyle="--", linewidth=1.2, label="threshold")
        best = curve.loc[curve["interpolation_error"].idxmin()]
        style = {"color": PALETTE[2], "markeredgecolor": "black", "markersize": 9, "linestyle": "none"}
        for column in ("interpolation_error", "extrapolation_error"):
            axis.plot(best["step"] / 1_000, best[column], MARKERS[2], label="best step", **style)
        axis.set_yscale("log")
        axis.set_title(title, loc="left", fontsize=11)
        axis.set_ylabel("error", fontsize=11)
        axis.tick_params(labelsize=10)
        axis.minorticks_off()
        axis.yaxis.set_major_locator(LogLocator(numticks=5))
    axes[-1, 0].set_xlabel("step, in thousands", fontsize=11)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(unique.values(), unique, loc="outside upper center", ncols=2, fontsize=10)
    return figure


def curvature_rows(curvatures: Mapping[str, np.ndarray]) -> Figure:
    """Eigenvalues of Hessians, each divided by the largest, one row a range.

    Parameters
    ----------
    curvatures : mapping of str to numpy.ndarray
        For each range its eigenvalues, all positive.

    Returns
    -------
    matplotlib.figure.Figure
        One panel, logarithmic, a mark an eigenvalue.
    """
    figure, axis = plt.subplots(figsize=(4.4, 0.36 * len(curvatures) + 1))
    for row, values in enumerate(curvatures.values()):
        ratio = np.asarray(values) / np.max(values)
        axis.plot(ratio, np.full(len(ratio), row), "|", color=PALETTE[0], markersize=14, markeredgewidth=1.8)
    axis.set_xscale("log")
    axis.set_yticks(range(len(curvatures)), list(curvatures))
    axis.set(ylim=(len(curvatures) - 0.4, -0.6), xlabel="curvature, the steepest being 1")
    axis.tick_params(labelsize=10)
    axis.xaxis.set_major_locator(LogLocator(numticks=6))
    axis.minorticks_off()
    return figure
