r"""The spatial transformer: a network that chooses what part of an image to look at.

The thin-plate spline is the smoothest map of the plane that takes given control points :math:`c_k` where
they are wanted, :math:`p_k`. It is linear in the :math:`p_k`,

.. math::

    f(x) = \sum_k B_k(x) \, p_k,

so for a fixed grid of control points and of pixels all :math:`B_k(x)` are computed once, and warping an
image costs one matrix product.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmu.images.sizes import Sizes

__all__ = ["SpatialTransformer", "control_grid", "shrink", "thin_plate_basis", "warp"]


def control_grid(points: int = 4, span: float = 0.9) -> Tensor:
    """Return a square grid of control points.

    Parameters
    ----------
    points : int, optional
        How many along each axis.
    span : float, optional
        The outermost lie at -span and span; the image's corners lie at -1 and 1.

    Returns
    -------
    Tensor
        ``(points**2, 2)``, float64: to the right, then down.
    """
    steps = torch.linspace(-span, span, points, dtype=torch.float64)
    return torch.cartesian_prod(steps, steps).flip(-1)


def thin_plate_basis(where: Tensor, control: Tensor) -> Tensor:
    r"""Return :math:`B_k(x)`, the share of each control point in where the spline takes a point.

    Parameters
    ----------
    where : Tensor
        Points :math:`x`, ``(m, 2)``.
    control : Tensor
        Control points :math:`c_k`, ``(K, 2)``, not all on one line.

    Returns
    -------
    Tensor
        ``(m, K)``: the spline takes ``where`` to ``basis @ targets``, for targets ``(K, 2)``.

    References
    ----------
    Bookstein, "Principal Warps: Thin-Plate Splines and the Decomposition of Deformations", 1989.
    """

    def terms(points):
        squared = (points.unsqueeze(1) - control).square().sum(-1)
        radial = torch.special.xlogy(squared, squared) / 2  # r^2 log r, which is 0 where r is
        return torch.cat((radial, torch.ones_like(points[:, :1]), points), -1)

    count = len(control)
    system = torch.zeros(count + 3, count + 3, dtype=control.dtype)
    system[:count] = terms(control)
    system[count:, :count] = system[:count, count:].T  # no bending may look like an affine map
    return torch.linalg.solve(system, terms(where), left=False)[:, :count]


def warp(images: Tensor, basis: Tensor, points: Tensor) -> Tensor:
    """Warp images by the thin-plate spline.

    Parameters
    ----------
    images : Tensor
        ``(n, channels, h, w)``; -1 and 1 are the centres of the outermost pixels.
    basis : Tensor
        ``(h * w, K)``, :func:`thin_plate_basis` of the centres of the pixels, row by row.
    points : Tensor
        ``(n, K, 2)``, where in the image the control points look.

    Returns
    -------
    Tensor
        ``(n, channels, h, w)``, interpolated linearly, and 0 outside the image.
    """
    # As a linear layer: one matrix product for all images, and not one an image.
    grid = F.linear(points.mT, basis).unflatten(-1, images.shape[-2:]).permute(0, 2, 3, 1)
    return F.grid_sample(images, grid, align_corners=True)


class SpatialTransformer(nn.Module):
    """Spatial transformer with a thin-plate spline of 4 by 4 control points.

    A localisation network says from the image where each control point looks. At first that is near where
    it is; not exactly, as two transformers that look at the same would read the same.

    Parameters
    ----------
    channels : int
        Channels of an image.
    sizes : Sizes
        Of the canvas and the localisation network.

    References
    ----------
    Jaderberg, Simonyan, Zisserman and Kavukcuoglu, "Spatial Transformer Networks", 2015; layers as in the
    code of Mistry, Farrahi and Hare, arXiv 2211.05624.
    """

    def __init__(self, channels: int, sizes: Sizes):
        super().__init__()
        first, second, hidden = sizes.localizer
        features = nn.Sequential(
            shrink(sizes),
            nn.Conv2d(channels, first, sizes.kernel, padding=sizes.padding),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, sizes.kernel, padding=sizes.padding),
            nn.ReLU(),
            nn.Flatten(),
        )
        control = control_grid()
        last = nn.Linear(hidden, control.numel())
        with torch.no_grad():
            last.bias.copy_(control.atanh().flatten())
        self.localizer = nn.Sequential(
            features, nn.Linear(_width(features, channels, sizes.canvas), hidden), nn.ReLU(), last
        )
        steps = torch.linspace(-1, 1, sizes.canvas, dtype=torch.float64)
        pixels = torch.cartesian_prod(steps, steps).flip(-1)
        self.register_buffer("basis", thin_plate_basis(pixels, control).to(last.weight), persistent=False)

    def control_points(self, images: Tensor) -> Tensor:
        """Return where in the images ``(n, channels, h, w)`` the control points look, ``(n, 16, 2)``."""
        return self.localizer(images).tanh().unflatten(-1, (-1, 2))

    def forward(self, images: Tensor) -> Tensor:
        """Map images ``(n, channels, h, w)`` to what is looked at, of the same shape."""
        return warp(images, self.basis, self.control_points(images))


def shrink(sizes: Sizes) -> nn.Module:
    """Return what makes a canvas smaller: average pooling, or nothing where the factor is 1."""
    return nn.AvgPool2d(sizes.shrink) if sizes.shrink > 1 else nn.Identity()


@torch.no_grad()
def _width(features: nn.Module, channels: int, side: int) -> int:
    """How many numbers the features of one square image are."""
    return features(torch.zeros(1, channels, side, side)).shape[1]
