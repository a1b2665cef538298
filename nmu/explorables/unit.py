"""The unit, factor by factor."""

import anywidget
import traitlets

from nmu.explorables._files import STYLE, script

__all__ = ["Unit"]


class Unit(anywidget.AnyWidget):
    """Two inputs, two weights and the factors of the NMU, multiplied one by one.

    Attributes
    ----------
    x : tuple of float
        The two inputs, shown from -3 to 3.
    weight : tuple of float
        The two weights, in [0, 1].
    """

    _esm = script("unit")
    _css = STYLE

    x = traitlets.Tuple(traitlets.Float(), traitlets.Float(), default_value=(2.0, -1.5)).tag(sync=True)
    weight = traitlets.Tuple(
        traitlets.Float(min=0, max=1), traitlets.Float(min=0, max=1), default_value=(0.3, 0.8)
    ).tag(sync=True)
