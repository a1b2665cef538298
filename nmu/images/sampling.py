"""What is drawn from the digits: pairs and their folds, sequences, and places on a canvas.

Each function draws all its samples at once, from the generator it is given.
"""

import math
from dataclasses import dataclass

import torch
from sklearn.model_selection import KFold
from torch import Tensor
from torch.nn import functional as F

from nmu.images.digits import Digits

__all__ = [
    "Overlapping",
    "Placement",
    "Sample",
    "draw_images",
    "draw_placement",
    "pair_folds",
    "place",
    "sample_pairs",
    "sample_sequences",
]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of ``k`` digits whose product is to be learned; the images are copied only when asked for.

    Attributes
    ----------
    digits : Digits
        Where the images come from.
    index : Tensor
        ``(n, k)``, int64: which image stands where.
    """

    digits: Digits
    index: Tensor

    def __len__(self) -> int:
        return len(self.index)

    def images(self, rows: Tensor | slice = slice(None)) -> Tensor:
        """Copy the images of some rows, ``(rows, k, h, w)``."""
        return self.digits.images[self.index[rows], 0]

    @property
    def labels(self) -> Tensor:
        """The digits shown, ``(n, k)``, int64."""
        return self.digits.labels[self.index]

    @property
    def products(self) -> Tensor:
        """Running products along each row, ``(n, k)``, float64: exact as long as they are below 2^53."""
        return self.labels.double().cumprod(-1)


def pair_folds(folds: int, seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Divide the 100 ordered pairs of digits so that each is tested once, by a network that never met it.

    Parameters
    ----------
    folds : int
        From 2 to 100; the paper's code has 10 for isolated and 3 for overlapping digits.
    seed : int, optional
        Of the shuffling; the paper's code has 0.

    Returns
    -------
    list of tuple of Tensor
        For each fold the pairs to train on and the pairs to test on, each ``(pairs, 2)``.
    """
    pairs = torch.cartesian_prod(torch.arange(10), torch.arange(10))
    parts = KFold(folds, shuffle=True, random_state=seed).split(pairs)
    return [(pairs[train], pairs[test]) for train, test in parts]


def draw_images(labels: Tensor, wanted: Tensor, generator: torch.Generator) -> Tensor:
    """Draw for each wanted digit one of its images, each of them equally likely, with replacement.

    Parameters
    ----------
    labels : Tensor
        ``(n,)``, what each image shows.
    wanted : Tensor
        Digits, of any shape.
    generator : torch.Generator
        Where the random numbers come from.

    Returns
    -------
    Tensor
        Indices into ``labels``, of the shape of ``wanted``.

    Raises
    ------
    ValueError
        If there is no image of a wanted digit.
    """
    counts = labels.bincount(minlength=10)
    missing = wanted[counts[wanted] == 0].unique().tolist()
    if missing:
        raise ValueError(f"there is no image of the digits {missing} to draw")
    first = counts.cumsum(0) - counts
    which = torch.rand(wanted.shape, dtype=torch.float64, generator=generator) * counts[wanted]
    return labels.argsort(stable=True)[first[wanted] + which.long()]


def sample_pairs(digits: Digits, pairs: Tensor, per_pair: int, generator: torch.Generator) -> Sample:
    """Draw images for pairs of digits.

    Parameters
    ----------
    digits : Digits
        The images to draw from.
    pairs : Tensor
        ``(m, 2)``, as from :func:`pair_folds`.
    per_pair : int
        How many rows to draw for each pair.
    generator : torch.Generator
        Where the random numbers come from.

    Returns
    -------
    Sample
        ``m * per_pair`` rows of two images, pair after pair.
    """
    wanted = pairs.repeat_interleave(per_pair, dim=0)
    return Sample(digits, draw_images(digits.labels, wanted, generator))


def sample_sequences(digits: Digits, length: int, count: int, generator: torch.Generator) -> Sample:
    """Draw sequences of the digits 1 to 9, all equally likely; a 0 would end every product at 0.

    Parameters
    ----------
    digits : Digits
        The images to draw from.
    length, count : int
        How many digits a sequence has, and how many sequences to draw.
    generator : torch.Generator
        Where the random numbers come from.

    Returns
    -------
    Sample
        ``count`` rows of ``length`` images.
    """
    wanted = torch.randint(1, 10, (count, length), generator=generator)
    return Sample(digits, draw_images(digits.labels, wanted, generator))


@dataclass(frozen=True, eq=False)
class Placement:
    """How each digit lies on its canvas.

    Attributes
    ----------
    angle : Tensor
        ``(...)``, radians, counted from the horizontal axis, which points right, to the vertical one,
        which points down.
    scale : Tensor
        ``(...)``, size relative to the original's.
    shift : Tensor
        ``(..., 2)``, how far right and how far down: -1 and 1 are where the frame of the unrotated,
        unscaled image touches the canvas's edges, and 0 is the middle.
    """

    angle: Tensor
    scale: Tensor
    shift: Tensor


def draw_placement(shape: tuple[int, ...], generator: torch.Generator) -> Placement:
    """Draw uniform placements: angles of -45 to 45 degrees, scales of 0.7 to 1.2, anywhere on the canvas.

    Parameters
    ----------
    shape : tuple of int
        How many to draw, such as ``(n, 2)`` for pairs of digits.
    generator : torch.Generator
        Where the random numbers come from.

    Returns
    -------
    Placement
        Of tensors ``shape``, ``shape`` and ``(*shape, 2)``.
    """
    angle, scale, right, down = torch.rand((4, *shape), generator=generator)
    shift = torch.stack((right, down), -1) * 2 - 1
    return Placement((angle - 0.5) * math.pi / 2, 0.7 + 0.5 * scale, shift)


@dataclass(frozen=True, eq=False)
class Overlapping(Sample):
    """Rows of digits that lie over one another, each in a channel of its own.

    Attributes
    ----------
    size : int
        Height and width of a canvas, in pixels of the digits.
    placement : Placement
        Of tensors ``(n, k)``, ``(n, k)`` and ``(n, k, 2)``.
    """

    size: int
    placement: Placement

    def images(self, rows: Tensor | slice = slice(None)) -> Tensor:
        """Draw the canvases of some rows, ``(rows, k, size, size)``."""
        where = Placement(*(getattr(self.placement, name)[rows] for name in ("angle", "scale", "shift")))
        return place(super().images(rows), self.size, where)


def place(images: Tensor, size: int, placement: Placement) -> Tensor:
    """Put each digit, rotated, scaled and shifted, onto an empty canvas of its own.

    Pixels between those of the image are interpolated linearly; what leaves the canvas is cut off.

    Parameters
    ----------
    images : Tensor
        ``(n, k, h, h)``.
    size : int
        Height and width of a canvas, in pixels of the image.
    placement : Placement
        Of tensors ``(n, k)``, ``(n, k)`` and ``(n, k, 2)``.

    Returns
    -------
    Tensor
        ``(n, k, size, size)``: the canvases of one row are the channels of one picture.

    Raises
    ------
    ValueError
        If the canvas is smaller than the image, or the placement is for other images.
    """
    side = images.shape[-1]
    if size < side:
        raise ValueError(f"the canvas must be at least as large as the images, {side} pixels; got {size}")
    angle, scale, shift = (x.to(images) for x in (placement.angle, placement.scale, placement.shift))
    if angle.shape != images.shape[:2]:
        raise ValueError(f"placement must be for images {tuple(images.shape[:2])}; got {tuple(angle.shape)}")
    # A canvas is sampled from the image, so each of its points has to be taken back: the inverse of
    # rotation, scale and shift. Both pictures reach from -1 to 1.
    cosine, sine = angle.cos(), angle.sin()
    inverse = torch.stack((cosine, sine, -sine, cosine), -1).unflatten(-1, (2, 2))
    inverse = inverse * (size / side / scale)[..., None, None]
    centre = shift.unsqueeze(-1) * (1 - side / size)
    maps = torch.cat((inverse, -inverse @ centre), -1).flatten(0, 1)
    grid = F.affine_grid(maps, (len(maps), 1, size, size), align_corners=False)
    canvases = F.grid_sample(images.flatten(0, 1).unsqueeze(1), grid, align_corners=False)
    return canvases.view(*images.shape[:2], size, size)
