"""How large the networks are, and which images they take."""

from dataclasses import dataclass, replace

__all__ = ["BUNDLED", "PAPER", "SMALL", "TINY", "Sizes"]


@dataclass(frozen=True)
class Sizes:
    """Sizes of the networks for one set of images.

    Attributes
    ----------
    side, canvas : int
        Height and width of an image and of the canvas on which digits overlap, in pixels.
    pixels : tuple of float
        Mean and standard deviation of a pixel, to standardise the images with.
    classifier, localizer, regression : tuple of int
        For each of the three kinds of network the channels of its two convolutions and the units of its
        hidden layer.
    kernel, padding : int
        Of the convolutions of the localisation and regression networks, in pixels; the classifier's have a
        kernel of 3 and no padding.
    shrink : int
        Factor by which pooling shrinks a canvas before the localisation network and the classifier.
    """

    side: int
    canvas: int
    pixels: tuple[float, float]
    classifier: tuple[int, int, int]
    localizer: tuple[int, int, int]
    regression: tuple[int, int, int]
    kernel: int
    padding: int
    shrink: int


PAPER = Sizes(
    side=28,
    canvas=42,
    pixels=(0.1307, 0.3081),
    classifier=(32, 64, 128),
    localizer=(20, 20, 32),
    regression=(20, 50, 500),
    kernel=5,
    padding=0,
    shrink=2,
)
"""MNIST, as the paper's code has it."""

SMALL = replace(PAPER, classifier=(8, 16, 64), localizer=(8, 8, 32), regression=(8, 16, 64))
"""MNIST on two cores."""

BUNDLED = Sizes(
    side=8,
    canvas=12,
    pixels=(0.3053, 0.3760),
    classifier=SMALL.classifier,
    localizer=SMALL.localizer,
    regression=SMALL.regression,
    kernel=3,
    padding=1,
    shrink=1,
)
"""The 8 by 8 digits that come with scikit-learn."""

TINY = replace(BUNDLED, pixels=(0.1288, 0.2272))
"""MNIST made as small as those."""
