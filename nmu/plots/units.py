"""Figures of one unit or a few: its weights, and its success by range."""

from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from nmu.metrics import Estimate
from nmu.plots.style import MARKERS, PALETTE


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


def factor_lines(x: Sequence[float], weight: Sequence[float]) -> Figure:
    """Draw the factors of the NMU and their product on number lines, one below the other.

    Parameters
    ----------
    x, weight : sequence of float
        The inputs and their weights.

    Returns
    -------
    matplotlib.figure.Figure
        One panel a factor, which lies between 1 and its input, and one for output and target.
    """
    factors = [w * value + (1 - w) for value, w in zip(x, weight, strict=True)]
    rows = [
        (f"factor {i} = {w:g} · {value:g} + {1 - w:g}", {"1": 1, f"$x_{i}$": value}, f"$f_{i}$", factor)
        for i, (value, w, factor) in enumerate(zip(x, weight, factors, strict=True), start=1)
    ]
    rows.append(("output, the product of the factors", {"target": np.prod(x)}, "$z$", np.prod(factors)))
    figure, axes = plt.subplots(len(rows), 1, figsize=(5.2, 1.15 * len(rows)), sharex=True)
    for axis, (title, ends, name, value) in zip(axes, rows, strict=True):
        axis.axhline(0, color="0.5", linewidth=1, zorder=0)
        for label, end in ends.items():
            axis.plot(end, 0, "D", color=PALETTE[1], markersize=9)
            axis.annotate(label, (end, 0), (0, 9), textcoords="offset points", ha="center")
        axis.plot(value, 0, "o", color=PALETTE[0], markersize=10)
        axis.annotate(name, (value, 0), (0, -20), textcoords="offset points", ha="center")
        axis.set(yticks=[], ylim=(-1, 1), xmargin=0.12)
        axis.set_title(title, loc="left")
        axis.grid(visible=False)
    return figure


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
