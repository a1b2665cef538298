"""The networks of the three tasks: from images to digits, and from digits to their product.

Each learns from products alone, and returns the digits it read so that they can be looked at.
"""

import torch
from torch import Tensor, nn

from nmu.images.heads import RecurrentProduct
from nmu.images.sizes import Sizes
from nmu.images.transformer import SpatialTransformer, _width, shrink

__all__ = ["IsolatedProduct", "OverlappingProduct", "SequentialProduct", "expected_digit"]


def expected_digit(logits: Tensor) -> Tensor:
    """Return the mean digit under the softmax of the logits: ``(..., 10)`` to ``(...)``."""
    return logits.softmax(-1) @ torch.arange(10, dtype=logits.dtype, device=logits.device)


class IsolatedProduct(nn.Module):
    """Two digits side by side: the same CNN reads each, and a head multiplies what it read.

    The CNN is conv 3, conv 3, max-pool 2, dropout 0.25, hidden layer, dropout 0.5, ten logits; what it read
    is its expected digit.

    Parameters
    ----------
    head : torch.nn.Module
        One of :data:`~nmu.images.heads.HEADS`, made.
    sizes : Sizes
        Of the images and the CNN.

    References
    ----------
    Code of Mistry, Farrahi and Hare, arXiv 2211.05624, Static MNIST Product with isolated digits.
    """

    def __init__(self, head: nn.Module, sizes: Sizes):
        super().__init__()
        self.sizes = sizes
        self.classifier = _classifier(1, sizes.side, sizes)
        self.head = head

    def logits(self, images: Tensor) -> Tensor:
        """Map images ``(n, 2, h, w)`` to the logits of each digit, ``(n, 2, 10)``."""
        return self.classifier(_single(images, self.sizes)).unflatten(0, images.shape[:2])

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Map images ``(n, 2, h, w)`` to their products, ``(n,)``, and to the digits read, ``(n, 2)``."""
        digits = expected_digit(self.logits(images))
        return self.head(digits).squeeze(-1), digits


class OverlappingProduct(nn.Module):
    """Two digits in the channels of one canvas: two spatial transformers look for one digit each.

    What each looks at goes, with both channels, through one shared CNN, that of :class:`IsolatedProduct`;
    a head multiplies the two expected digits.

    Parameters
    ----------
    head : torch.nn.Module
        One of :data:`~nmu.images.heads.HEADS`, made.
    sizes : Sizes
        Of the canvas, the transformers and the CNN.

    References
    ----------
    Code of Mistry, Farrahi and Hare, arXiv 2211.05624, Static MNIST Product, colour channels concatenated.
    """

    def __init__(self, head: nn.Module, sizes: Sizes):
        super().__init__()
        self.sizes = sizes
        self.transformers = nn.ModuleList(SpatialTransformer(2, sizes) for _ in range(2))
        self.classifier = nn.Sequential(shrink(sizes), _classifier(2, sizes.canvas // sizes.shrink, sizes))
        self.head = head

    def looked_at(self, canvases: Tensor) -> Tensor:
        """Map canvases ``(n, 2, h, w)`` to what each transformer looks at, ``(n, 2, 2, h, w)``, standardised.

        The first of the two dimensions of size 2 is the transformer, the second the channel.
        """
        x = self._checked(canvases)
        return torch.stack([transformer(x) for transformer in self.transformers], 1)

    def control_points(self, canvases: Tensor) -> Tensor:
        """Return where in the canvases ``(n, 2, h, w)`` each transformer looks, ``(n, 2, 16, 2)``."""
        x = self._checked(canvases)
        return torch.stack([transformer.control_points(x) for transformer in self.transformers], 1)

    def _checked(self, canvases: Tensor) -> Tensor:
        x = _standardized(canvases, self.sizes.canvas, self.sizes)
        if x.shape[1] != 2:
            raise ValueError(f"canvases must have 2 channels, one a digit; got {x.shape[1]}")
        return x

    def logits(self, canvases: Tensor) -> Tensor:
        """Map canvases ``(n, 2, h, w)`` to the logits of each digit, ``(n, 2, 10)``."""
        return self.classifier(self.looked_at(canvases).flatten(0, 1)).unflatten(0, (-1, 2))

    def forward(self, canvases: Tensor) -> tuple[Tensor, Tensor]:
        """Map canvases ``(n, 2, h, w)`` to their products, ``(n,)``, and to the digits read, ``(n, 2)``."""
        digits = expected_digit(self.logits(canvases))
        return self.head(digits).squeeze(-1), digits


class SequentialProduct(nn.Module):
    """One digit a step: LeNet reads each as a number, and a recurrent cell keeps the running product.

    LeNet is conv, max-pool 2, conv, max-pool 2, hidden layer, one number.

    Parameters
    ----------
    head : torch.nn.Module
        Of the cell: one of :data:`~nmu.images.heads.HEADS`, made.
    sizes : Sizes
        Of the images and LeNet.

    References
    ----------
    Madsen and Johansen, "Neural Arithmetic Units", ICLR 2020, sequential MNIST product task.
    """

    def __init__(self, head: nn.Module, sizes: Sizes):
        super().__init__()
        self.sizes = sizes
        first, second, hidden = sizes.regression
        features = nn.Sequential(
            nn.Conv2d(1, first, sizes.kernel, padding=sizes.padding),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, sizes.kernel, padding=sizes.padding),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.regression = nn.Sequential(
            features,
            nn.Linear(_width(features, 1, sizes.side), hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )
        self.cell = RecurrentProduct(head)

    @property
    def head(self) -> nn.Module:
        """The cell's."""
        return self.cell.head

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Map images ``(n, length, h, w)`` to running products and numbers read, each ``(n, length)``."""
        numbers = self.regression(_single(images, self.sizes)).view(images.shape[:2])
        return self.cell(numbers), numbers


def _classifier(channels: int, side: int, sizes: Sizes) -> nn.Sequential:
    first, second, hidden = sizes.classifier
    features = nn.Sequential(
        nn.Conv2d(channels, first, 3),
        nn.ReLU(),
        nn.Conv2d(first, second, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
    )
    return nn.Sequential(
        features,
        nn.Dropout(0.25),
        nn.Linear(_width(features, channels, side), hidden),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(hidden, 10),
    )


def _standardized(images: Tensor, side: int, sizes: Sizes) -> Tensor:
    if images.dim() != 4 or images.shape[-2:] != (side, side):
        raise ValueError(f"images must be (n, digits, {side}, {side}); got {tuple(images.shape)}")
    mean, deviation = sizes.pixels
    return (images - mean) / deviation


def _single(images: Tensor, sizes: Sizes) -> Tensor:
    """Images ``(n, digits, h, w)``, standardised, as ``(n * digits, 1, h, w)``."""
    return _standardized(images, sizes.side, sizes).flatten(0, 1).unsqueeze(1)
