"""Where two spatial transformers look, what they see there, and what they come to read."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from torch import Tensor

from nmu.images.transformer import control_grid, thin_plate_basis, warp
from nmu.plots.style import MARKERS, PALETTE

INKS = ("#0072B2", "#D55E00")
"""Of the digit in the first channel, and of that in the second."""
OUTSIDE = 0.82
"""Grey of what lies outside a canvas."""


def canvas_picture(canvas: Tensor) -> np.ndarray:
    """Mix the two channels of a canvas as two inks on white paper.

    Parameters
    ----------
    canvas : Tensor
        ``(2, h, w)``, 0 is the ground.

    Returns
    -------
    numpy.ndarray
        ``(h, w, 3)``: blue where the first digit is, orange where the second is, dark where both are.
    """
    missing = 1 - torch.tensor([to_rgb(ink) for ink in INKS])  # what an ink takes away from white
    light = 1 - canvas.clamp(0, 1).float().permute(1, 2, 0).unsqueeze(-1) * missing
    return light.prod(2).numpy()


def canvas_grid(canvases: Tensor, titles: Sequence[str], *, columns: int = 4) -> Figure:
    """Canvases with two overlapping digits each, one in blue and the other in orange.

    Parameters
    ----------
    canvases : Tensor
        ``(n, 2, h, w)``.
    titles : sequence of str
        What stands above each.
    columns : int, optional
        How many stand side by side.

    Returns
    -------
    matplotlib.figure.Figure
        One panel a canvas.
    """
    rows = -(-len(canvases) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(1.3 * columns, 1.6 * rows), squeeze=False)
    for axis, canvas, title in zip(axes.flat, canvases, titles, strict=False):
        _show(axis, canvas)
        axis.set_title(title, fontsize=12)
    for axis in axes.flat[len(canvases) :]:
        axis.set_visible(False)
    return figure


def transformer_looks(
    canvases: Tensor, points: Tensor, titles: Sequence[Sequence[str]], *, columns: int = 2
) -> Figure:
    """Where control points look on canvases, and what the thin-plate spline through them shows.

    Parameters
    ----------
    canvases : Tensor
        ``(n, 2, h, w)``, 0 is the ground.
    points : Tensor
        ``(n, looks, 16, 2)``, where each look's control points lie; the canvas's outermost pixels have their
        centres at -1 and 1.
    titles : sequence of sequence of str
        For each canvas what stands above each of its looks.
    columns : int, optional
        How many looks stand side by side.

    Returns
    -------
    matplotlib.figure.Figure
        For each look two panels, one above the other: the canvas with the mesh of control points, and what
        is seen.
    """
    basis = _basis(canvases.shape[-1])
    looks = [
        (canvas, mesh, title)
        for canvas, meshes, names in zip(canvases, points, titles, strict=True)
        for mesh, title in zip(meshes, names, strict=True)
    ]
    rows = -(-len(looks) // columns)
    figure, axes = plt.subplots(
        2 * rows, columns, figsize=(2.1 * columns, 4.5 * rows), squeeze=False, sharex="row", sharey="row"
    )
    for i, (canvas, mesh, title) in enumerate(looks):
        above, below = axes[2 * (i // columns) : 2 * (i // columns) + 2, i % columns]
        _show(above, canvas)
        for line in (*mesh.unflatten(0, (4, 4)), *mesh.unflatten(0, (4, 4)).transpose(0, 1)):
            above.plot(*line.T, "-", color="black", linewidth=1, marker="o", markersize=3)
        above.plot(*mesh[0], "o", color="white", markeredgecolor="black", markeredgewidth=1.5, markersize=7)
        above.set_title(title, fontsize=12)
        with_edge = torch.cat((canvas, torch.ones_like(canvas[:1])))
        seen = warp(with_edge[None].to(basis), basis, mesh[None].to(basis))[0]
        _show(below, seen[:2], inside=seen[2])
    for row, axis in enumerate(axes[:, 0]):
        axis.set_ylabel("sees" if row % 2 else "looks", fontsize=12)
    for axis in axes.flat:
        axis.set_visible(axis.has_data())
    return figure


def stored_looks(looks: pd.DataFrame, canvases: pd.DataFrame) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Put what a network's transformers looked at, as stored in tables, back into tensors.

    Parameters
    ----------
    looks : pandas.DataFrame
        Rows of one network in ``looks.csv.gz``, as :func:`nmu.experiments.static_mnist.tables` describes.
    canvases : pandas.DataFrame
        Rows of the same network in ``canvases.csv.gz``.

    Returns
    -------
    canvases, labels, points, reads : Tensor
        ``(n, 2, h, w)``, in [0, 1]; ``(n, 2)``, the digits of the two channels; ``(n, 2, 16, 2)``; and
        ``(n, 2)``, what each transformer read.
    """
    pixels = canvases.sort_values(["row", "channel", "y", "x"])
    shape = [pixels[name].nunique() for name in ("row", "channel", "y", "x")]
    images = torch.tensor(pixels["value"].to_numpy()).view(shape) / 255
    labels = torch.tensor(pixels["label"].to_numpy()).view(*shape[:2], -1)[..., 0]
    at = looks.sort_values(["row", "transformer", "point"])
    shape = [at[name].nunique() for name in ("row", "transformer", "point")]
    points = torch.tensor(at[["x", "y"]].to_numpy()).view(*shape, 2).float()
    reads = torch.tensor(at["read"].to_numpy()).view(shape)[..., 0]
    return images.float(), labels, points, reads


def reading_curves(curves: pd.DataFrame) -> Figure:
    """How far what each transformer reads goes along with each digit, against the rows met in training.

    Parameters
    ----------
    curves : pandas.DataFrame
        Columns ``rows``, ``transformer``, ``channel`` and ``correlation``.

    Returns
    -------
    matplotlib.figure.Figure
        One panel a transformer, with one line a channel.
    """
    panels = list(curves.groupby("transformer"))
    figure, axes = plt.subplots(1, len(panels), figsize=(2.7 * len(panels), 3.5), sharex=True, sharey=True)
    for axis, (transformer, panel) in zip(np.atleast_1d(axes), panels, strict=True):
        for i, (channel, line) in enumerate(panel.groupby("channel")):
            axis.plot(
                line["rows"] / 1000,
                line["correlation"],
                color=INKS[i],
                linestyle=("-", "--")[i],
                marker=MARKERS[i],
                markersize=5,
                label=f"digit in channel {channel}",
            )
        axis.axhline(0, color=PALETTE[-1], linewidth=0.8)
        axis.set(title=f"transformer {transformer}", xlabel="rows met (thousands)")
    np.atleast_1d(axes)[0].set_ylabel("correlation")
    handles, labels = np.atleast_1d(axes)[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, fontsize=11)
    return figure


def _basis(side: int) -> Tensor:
    steps = torch.linspace(-1, 1, side, dtype=torch.float64)
    return thin_plate_basis(torch.cartesian_prod(steps, steps).flip(-1), control_grid())


def _show(axis: Axes, canvas: Tensor, inside: Tensor | None = None) -> None:
    """Draw a canvas, the first digit with a solid outline and the second with a dashed one."""
    side = canvas.shape[-1]
    edge = side / (side - 1)  # of the outermost pixels, whose centres are at -1 and 1
    picture = canvas_picture(canvas)
    if inside is not None:
        share = inside.clamp(0, 1).unsqueeze(-1).numpy()
        picture = picture * share + OUTSIDE * (1 - share)
    axis.imshow(np.clip(picture, 0, 1), extent=(-edge, edge, edge, -edge))
    centres = np.linspace(-1, 1, side)
    for channel, ink, style in zip(canvas, INKS, ("solid", "dashed"), strict=True):
        if channel.max() > 0.4:
            axis.contour(
                centres, centres, channel, levels=[0.4], colors=[ink], linestyles=[style], linewidths=1
            )
    axis.set(xticks=[], yticks=[], xlim=(-edge, edge), ylim=(edge, -edge))
    axis.grid(visible=False)
