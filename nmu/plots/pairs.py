"""Figures of pairs of digits: what is right pair by pair, and what each digit is read as."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from nmu.plots.style import MARKERS, PALETTE

LIGHT = 0.48  # from here on a cell is light enough for dark figures


def pair_grid(shares: pd.DataFrame, label: str) -> Figure:
    """Draw a share for each ordered pair of digits, as shade and in percent.

    Parameters
    ----------
    shares : pandas.DataFrame
        Values from 0 to 1, NaN where there is none; the index holds the first digit of a pair, the columns
        the second.
    label : str
        What the shares are of.

    Returns
    -------
    matplotlib.figure.Figure
        One panel, first digit downwards, second to the right.
    """
    figure, axis = plt.subplots(figsize=(5.2, 5.8))
    values = shares.to_numpy(dtype=float)
    image = axis.imshow(values, cmap="cividis", norm=Normalize(0, 1))
    for (row, column), share in np.ndenumerate(values):
        if np.isfinite(share):
            color = "black" if share >= LIGHT else "white"
            axis.text(column, row, f"{100 * share:.0f}", color=color, ha="center", va="center", fontsize=11)
    axis.set_xticks(range(values.shape[1]), shares.columns)
    axis.set_yticks(range(values.shape[0]), shares.index)
    axis.set(xlabel="second digit", ylabel="first digit")
    axis.grid(visible=False)
    axis.tick_params(length=0)
    figure.colorbar(image, ax=axis, location="bottom", shrink=0.8, aspect=30, label=label)
    return figure


def readings(
    measured: Mapping[str, Mapping[str, Sequence[float]]],
    predicted: Mapping[str, Mapping[str, Sequence[float]]],
) -> Figure:
    """Draw what each digit is read as: marks for what was measured, lines for what was predicted.

    Parameters
    ----------
    measured, predicted : mapping of str to mapping
        For the title of each panel and the name of each reading the numbers as which 0, 1, 2, ... are read.
        The n-th mark and the n-th line of a panel share their colour. Both have the same panels; either
        may be empty in a panel.

    Returns
    -------
    matplotlib.figure.Figure
        The panels side by side. A thin line shows the right reading.
    """
    figure, axes = plt.subplots(
        1, len(predicted), figsize=(3.5 * len(predicted), 4.3), sharey=True, squeeze=False
    )
    for axis, (title, lines) in zip(axes[0], predicted.items(), strict=True):
        for i, (name, values) in enumerate(lines.items()):
            style = {"color": PALETTE[i], "linestyle": ("-", "--", "-.", ":")[i % 4]}
            axis.plot(values, linewidth=2, label=name, **style)
        for i, (name, values) in enumerate(measured[title].items()):
            style = {"marker": MARKERS[i], "color": PALETTE[i], "markeredgecolor": "black"}
            axis.plot(values, linestyle="none", markersize=8, label=name, **style)
        axis.plot([0, 9], [0, 9], color="0.4", linewidth=0.8, zorder=0)
        axis.set(title=title, xlabel="digit shown", xticks=range(10), yticks=range(10), ylim=(-0.4, 9.4))
        axis.legend(fontsize=10, loc="lower right", borderpad=0.2)
    axes[0, 0].set_ylabel("number read")
    return figure
