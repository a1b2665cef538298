"""Figures from tables and histories, in one style.

Colours are Okabe and Ito's, told apart by colour-blind readers; markers or line styles always repeat
what a colour says. Figures keep a light ground, so that they read in dark mode and in print.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["MARKERS", "PALETTE", "comparison", "use_style"]

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


def comparison(summaries: Mapping[str, pd.DataFrame]) -> Figure:
    """Success rate, solved-at step and sparsity error by range, with 95 % intervals.

    Parameters
    ----------
    summaries : mapping of str to pandas.DataFrame
        For each unit's name its table from :func:`nmu.experiments.single_module.summarize`.

    Returns
    -------
    matplotlib.figure.Figure
        Three panels that share the ranges as their vertical axis.
    """
    figure, axes = plt.subplots(1, 3, sharey=True, figsize=(9, 4.2))
    labels = {
        "success": "success rate",
        "solved_at": "solved at (thousand steps)",
        "sparsity_error": "sparsity error",
    }
    for axis, (column, label) in zip(axes, labels.items()):
        scale = 1e-3 if column == "solved_at" else 1.0
        for i, (name, summary) in enumerate(summaries.items()):
            offset = 0.28 * (i - (len(summaries) - 1) / 2)
            _estimates(axis, summary[column], offset, scale, PALETTE[i], MARKERS[i], name)
        axis.set_xlabel(label)
    first = next(iter(summaries.values()))
    axes[0].set_xlim(-0.05, 1.05)
    axes[0].set_yticks(range(len(first)), first.index)
    axes[0].invert_yaxis()
    axes[0].set_ylabel("training range")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(summaries))
    return figure


def _estimates(
    axis: Axes,
    estimates: Sequence,
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
