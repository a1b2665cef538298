"""What the noise does to a weight, and to the factor that it makes."""

import math

import anywidget
import traitlets

from nmu.explorables._files import STYLE, script

__all__ = ["Reversibility"]


class Reversibility(anywidget.AnyWidget):
    """The distributions of the effective weight V and of the factor 1 + V (x - 1) as a weight slides.

    Attributes
    ----------
    weight : float
        The weight W, in [0, 1].
    x : float
        The input, in [-3, 3].
    noise : tuple of float
        The ends of the noise's interval, 0 < low <= high; equal ends are a constant, and (1, 1) is no noise.
    scale : {"linear", "log-odds"}
        The scale on which V is drawn.
    """

    _esm = script("reversibility")
    _css = STYLE

    weight = traitlets.Float(0.3, min=0, max=1).tag(sync=True)
    x = traitlets.Float(-1.5, min=-3, max=3).tag(sync=True)
    noise = traitlets.Tuple(traitlets.Float(), traitlets.Float(), default_value=(1.0, 5.0)).tag(sync=True)
    scale = traitlets.Enum(["linear", "log-odds"], "linear").tag(sync=True)

    @traitlets.validate("noise")
    def _check_noise(self, proposal):
        low, high = proposal["value"]
        if not 0 < low <= high < math.inf:
            raise traitlets.TraitError(f"noise must be finite with 0 < low <= high; got {low} and {high}")
        return proposal["value"]
