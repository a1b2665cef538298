"""Digits multiplied from their images: what is seen, what is read, and how many products are right."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from nmu import metrics
from nmu.plots.style import MARKERS, PALETTE

QUANTITIES = {"label_accuracy": "digits read right", "output_accuracy": "products right"}
LINES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))


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


def image_grid(
    images: Sequence[Sequence[np.ndarray]], titles: Sequence[Sequence[str]], *, rows: Sequence[str] = ()
) -> Figure:
    """Pictures in rows and columns, dark on a light ground.

    Parameters
    ----------
    images : sequence of sequence of numpy.ndarray
        Row by row; each ``(h, w)``, 0 is the ground.
    titles : sequence of sequence of str
        What stands above each picture.
    rows : sequence of str, optional
        What stands beside each row.

    Returns
    -------
    matplotlib.figure.Figure
        One panel a picture.
    """
    size = (len(images), len(images[0]))
    figure, axes = plt.subplots(*size, figsize=(1.15 * size[1] + 0.3, 1.4 * size[0]), squeeze=False)
    for places, pictures, names in zip(axes, images, titles, strict=True):
        for axis, picture, name in zip(places, pictures, names, strict=True):
            axis.imshow(picture, cmap="gray_r")
            axis.set_title(name, fontsize=10)
            axis.set(xticks=[], yticks=[])
            axis.grid(visible=False)
    for axis, name in zip(axes[:, 0], rows, strict=False):
        axis.set_ylabel(name, fontsize=10)
    return figure


def epoch_curves(
    curves: pd.DataFrame, quantities: Mapping[str, str], *, ramp: Sequence[float] | None = None
) -> Figure:
    """Quantities against the epoch: of each head the mean over seeds, and the range of the seeds.

    Parameters
    ----------
    curves : pandas.DataFrame
        Columns ``module``, ``seed``, ``epoch`` and those of ``quantities``.
    quantities : mapping of str to str
        For each column its label.
    ramp : sequence of float, optional
        Epochs between which the regulariser sets in; they are shaded.

    Returns
    -------
    matplotlib.figure.Figure
        One panel a quantity.
    """
    figure, axes = plt.subplots(
        1, len(quantities), figsize=(3.7 * len(quantities), 3.6), sharex=True, squeeze=False
    )
    modules = list(curves["module"].unique())
    for axis, (quantity, label) in zip(axes[0], quantities.items(), strict=True):
        for i, module in enumerate(modules):
            group = curves[curves["module"] == module]
            values = group.pivot(index="epoch", columns="seed", values=quantity)
            color = PALETTE[i % len(PALETTE)]
            axis.plot(values.mean(axis=1), color=color, linestyle=LINES[i % len(LINES)], label=module)
            low, high = values.min(axis=1), values.max(axis=1)
            axis.fill_between(values.index, low, high, color=color, alpha=0.15, linewidth=0)
        if ramp is not None:
            axis.axvspan(*ramp, color="0.88", zorder=0)
        axis.set(xlabel="epoch", ylabel=label)
    handles, _ = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, modules, loc="outside lower center", ncols=3, fontsize=10)
    return figure


def confusion(reads: pd.DataFrame) -> Figure:
    """Which digit was read as which, in shares of the images of each digit; a panel a head.

    Parameters
    ----------
    reads : pandas.DataFrame
        Columns ``module``, ``label``, ``read`` and ``images``.

    Returns
    -------
    matplotlib.figure.Figure
        Labels downwards, what was read to the right.
    """
    modules = list(reads["module"].unique())
    size = (-(-len(modules) // 2), min(2, len(modules)))
    figure, axes = plt.subplots(
        *size, figsize=(3.2 * size[1] + 0.6, 3.1 * size[0]), sharex=True, sharey=True, squeeze=False
    )
    for axis, module in zip(axes.flat, modules, strict=False):
        counts = reads[reads["module"] == module].pivot_table(
            index="label", columns="read", values="images", aggfunc="sum", fill_value=0
        )
        counts = counts.reindex(index=range(10), columns=range(10), fill_value=0)
        shares = counts.div(counts.sum(axis=1), axis=0)
        sns.heatmap(shares, ax=axis, vmin=0, vmax=1, cmap="cividis", square=True, cbar=False)
        axis.set(title=module, xlabel="", ylabel="")
        axis.tick_params(rotation=0, labelbottom=True)
    for axis in axes.flat[len(modules) :]:
        axis.set_visible(False)
    figure.supxlabel("read", fontsize="medium")
    figure.supylabel("label", fontsize="medium")
    figure.colorbar(axes[0, 0].collections[0], ax=axes, label="share of the digit's images", shrink=0.5)
    return figure


def class_accuracies(reads: pd.DataFrame) -> Figure:
    """Share of the images of each digit that were read right; a line a head.

    Parameters
    ----------
    reads : pandas.DataFrame
        As for :func:`confusion`.

    Returns
    -------
    matplotlib.figure.Figure
        One panel.
    """
    right = reads["images"].where(reads["label"] == reads["read"], 0)
    keys = [reads["module"], reads["label"]]
    shares = right.groupby(keys).sum() / reads["images"].groupby(keys).sum()
    figure, axis = plt.subplots(figsize=(6.4, 4.2))
    for i, module in enumerate(reads["module"].unique()):
        style = {"color": PALETTE[i % len(PALETTE)], "linestyle": LINES[i % len(LINES)]}
        axis.plot(shares[module], marker=MARKERS[i % len(MARKERS)], label=module, **style)
    axis.set(xlabel="digit", ylabel="share read right", xticks=range(10), ylim=(0, 1.02))
    axis.legend()
    return figure


def errors_by_length(lengths: pd.DataFrame, quantity: str, label: str) -> Figure:
    """Errors against the length of the sequence: each head's median over seeds, and their range.

    Parameters
    ----------
    lengths : pandas.DataFrame
        Columns ``module``, ``seed``, ``length`` and ``quantity``.
    quantity, label : str
        The column, drawn on a logarithmic axis, and its name.

    Returns
    -------
    matplotlib.figure.Figure
        One panel.
    """
    figure, axis = plt.subplots(figsize=(6.4, 4.2))
    for i, (module, group) in enumerate(lengths.groupby("module", sort=False)):
        values = group.pivot(index="length", columns="seed", values=quantity)
        style = {"color": PALETTE[i % len(PALETTE)], "linestyle": LINES[i % len(LINES)]}
        axis.plot(values.median(axis=1), marker=MARKERS[i % len(MARKERS)], label=module, **style)
        low, high = values.min(axis=1), values.max(axis=1)
        axis.fill_between(values.index, low, high, color=style["color"], alpha=0.15, linewidth=0)
    axis.axvline(2, color="0.5", linewidth=1)
    axis.annotate(
        "trained on", (2, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=9
    )
    axis.set(xlabel="digits multiplied", ylabel=label, yscale="log", xticks=[1, 2, 5, 10, 15, 20])
    axis.legend()
    return figure
