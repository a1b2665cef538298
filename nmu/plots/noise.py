"""What the sNMU's noise does: to a weight, to an outcome, to a basin."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit, logit
from torch import Tensor

from nmu.metrics import Estimate
from nmu.plots.style import MARKERS, PALETTE

BASIN_FILLS = ("#F3DFB5", "#E69F00", "#A9542B")
BASIN_LINES = ("-", "--", "-.")


def effective_weight_rows(weights: Sequence[float], noise: tuple[float, float]) -> Figure:
    """Where uniform noise moves a weight, on the log-odds scale and on the plain one, a row a weight.

    Parameters
    ----------
    weights : sequence of float
        Weights between 0 and 1, both excluded.
    noise : tuple of float
        Interval ``(low, high)`` of the noise.

    Returns
    -------
    matplotlib.figure.Figure
        Two panels: the density of the effective weight's log-odds, and that of the effective weight
        itself, each scaled to the same height; a ring marks the weight without noise.
    """
    figure, axes = plt.subplots(1, 2, figsize=(5.6, 0.62 * len(weights) + 1.4), sharey=True)
    values = np.linspace(*noise, 400)
    for row, weight in enumerate(weights):
        moved = logit(weight) + np.log(values)
        effective = expit(moved)
        height = {0: values, 1: 1 / (1 - effective) ** 2}  # densities, up to a constant
        for axis, place, start in [(axes[0], moved, logit(weight)), (axes[1], effective, weight)]:
            density = height[0 if axis is axes[0] else 1]
            top = row + 0.75 * density / density.max()
            axis.fill_between(place, row, top, color=PALETTE[1], alpha=0.35, linewidth=0)
            axis.plot(place, top, color=PALETTE[1], linewidth=1.5)
            axis.plot(
                start,
                row,
                "o",
                markerfacecolor="white",
                markeredgecolor=PALETTE[0],
                markeredgewidth=2,
                zorder=3,
            )
    axes[0].set(xlabel="log-odds of $V$", ylabel="weight $W$", xlim=(-4.5, 5), xticks=[-4, -2, 0, 2, 4])
    axes[1].set(xlabel="effective weight $V$", xlim=(-0.03, 1.03), xticks=[0, 0.5, 1])
    axes[1].set_xticklabels(["0", "0.5", "1"])
    axes[0].set_yticks(range(len(weights)), [f"{weight:g}" for weight in weights])
    axes[0].set_ylim(-0.3, len(weights))
    handles = [
        plt.Line2D([], [], linestyle="none", marker="o", markerfacecolor="white", markeredgecolor=PALETTE[0]),
        plt.Rectangle((0, 0), 1, 1, facecolor=PALETTE[1], alpha=0.35, edgecolor=PALETTE[1]),
    ]
    handles[0].set_markeredgewidth(2)
    figure.legend(handles, ["without noise", "with noise"], loc="outside upper center", ncols=2)
    return figure


def shares(estimates: Mapping[str, Mapping[str, Estimate]], *, label: str) -> Figure:
    """Shares with their intervals, a row a condition and a marker a range.

    Parameters
    ----------
    estimates : mapping of str to mapping of str to Estimate
        For each condition and range the share, between 0 and 1.
    label : str
        What the share is of.

    Returns
    -------
    matplotlib.figure.Figure
        One panel, the conditions down.
    """
    ranges = list(next(iter(estimates.values())))
    height = 0.1 + 0.2 * len(ranges)  # of a row, in inches
    figure, axis = plt.subplots(figsize=(5.2, height * len(estimates) + 1.6))
    for row in range(0, len(estimates), 2):
        axis.axhspan(row - 0.5, row + 0.5, color="0.95", zorder=0)
    for i, name in enumerate(ranges):
        found = [row[name] for row in estimates.values()]
        value, low, high = np.array([(e.value, e.low, e.high) for e in found]).T
        axis.errorbar(
            value,
            np.arange(len(found)) + 0.12 / height * (i - (len(ranges) - 1) / 2),
            xerr=np.clip([value - low, high - value], 0, None),
            fmt=MARKERS[i],
            color=PALETTE[i],
            markersize=6,
            capsize=2,
            label=name,
        )
    axis.set(xlabel=label, xlim=(-0.03, 1.03), ylim=(len(estimates) - 0.5, -0.5))
    axis.set_yticks(range(len(estimates)), list(estimates))
    axis.grid(visible=False, axis="y")
    figure.legend(loc="outside upper center", ncols=len(ranges))
    return figure


def nested_basins(
    axis_values: Tensor,
    failed: Mapping[str, Mapping[str, Tensor]],
    *,
    box: tuple[float, float],
) -> Figure:
    """Basins of several units over the square of starting weights, drawn into each other.

    Parameters
    ----------
    axis_values : Tensor
        ``(K,)``, the values of either initial weight.
    failed : mapping of str to mapping of str to Tensor
        For each title, and in it for each unit, which starts fail, boolean, ``(K, K)``; the larger basin
        first, at most three.
    box : tuple of float
        ``(low, high)`` of the initial weights, drawn as a dashed square.

    Returns
    -------
    matplotlib.figure.Figure
        The panels side by side, with one legend.
    """
    figure, axes = plt.subplots(
        1, len(failed), figsize=(2.7 * len(failed), 3.6), sharex=True, sharey=True, squeeze=False
    )
    grid = (axis_values.numpy(), axis_values.numpy())
    low, high = box
    for axis, (title, units) in zip(axes[0], failed.items(), strict=True):
        for i, values in enumerate(units.values()):
            if values.any():
                area = values.T.numpy().astype(float)
                axis.contourf(*grid, area, levels=[0.5, 1.5], colors=[BASIN_FILLS[i]])
                axis.contour(*grid, area, levels=[0.5], colors="black", linestyles=[BASIN_LINES[i]])
        axis.plot([low, high, high, low, low], [low, low, high, high, low], ":", color="black", linewidth=2)
        axis.set(title=title, xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$W_1$")
        axis.set(xticks=[0, 0.5, 1], xticklabels=["0", "0.5", "1"], yticks=[0, 0.5, 1])
        axis.set_yticklabels(["0", "0.5", "1"])
    axes[0, 0].set_ylabel("$W_2$")
    names = list(dict.fromkeys(name for units in failed.values() for name in units))
    handles = [
        plt.Rectangle((0, 0), 1, 1, facecolor=BASIN_FILLS[i], edgecolor="black", linestyle=BASIN_LINES[i])
        for i in range(len(names))
    ]
    handles.append(plt.Line2D([], [], color="black", linestyle=":", linewidth=2))
    figure.legend(handles, [*names, "initial weights"], loc="outside upper center", ncols=2)
    return figure
