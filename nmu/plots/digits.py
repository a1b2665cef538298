"""Digits multiplied from their images: how many are read right, and how many products."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nmu import metrics
from nmu.plots.style import MARKERS, PALETTE

QUANTITIES = {"label_accuracy": "digits read right", "output_accuracy": "products right"}


def accuracies(runs: pd.DataFrame) -> Figure:
    """Accuracies after rounding of each head: a dot a seed, and the mean with its interval of 95 %.

    Parameters
    ----------
    runs : pandas.DataFrame
        Columns ``module``, ``label_accuracy`` and ``output_accuracy``; if there is a column ``pairs``, its
        kinds have a row of panels each.

    Returns
    -------
    matplotlib.figure.Figure
        Digits to the left, products to the right.
    """
    groups = dict(list(runs.groupby("pairs", sort=False))) if "pairs" in runs else {"": runs}
    modules = list(runs["module"].unique())
    figure, axes = plt.subplots(
        len(groups),
        2,
        figsize=(7.4, 1 + 0.34 * len(modules) * len(groups)),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for row, (kind, group) in zip(axes, groups.items(), strict=True):
        for axis, (quantity, label) in zip(row, QUANTITIES.items(), strict=True):
            for i, module in enumerate(modules):
                values = group.loc[group["module"] == module, quantity].to_numpy()
                estimate = metrics.mean(values)
                spread = np.linspace(-0.18, 0.18, len(values)) if len(values) > 1 else 0
                style = {"color": PALETTE[i % len(PALETTE)], "marker": MARKERS[i % len(MARKERS)]}
                axis.scatter(values, i + spread, s=14, alpha=0.5, linewidths=0, **style)
                around = [[estimate.value - estimate.low], [estimate.high - estimate.value]]
                axis.errorbar([estimate.value], [i], xerr=around, capsize=4, markersize=8, **style)
            axis.set_title(f"{label}, pairs {kind}" if kind else label)
    axes[0, 0].set_yticks(range(len(modules)), modules)
    axes[0, 0].invert_yaxis()
    figure.supxlabel("share after rounding, dots: single runs", fontsize="medium")
    return figure
