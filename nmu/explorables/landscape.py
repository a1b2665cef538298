"""The landscape of the expected loss, and balls that roll on it."""

import math

import anywidget
import traitlets

from nmu.explorables._files import STYLE, script
from nmu.tasks import RANGES

__all__ = ["Landscape"]

_Weight = traitlets.Float(min=0, max=1)


class Landscape(anywidget.AnyWidget):
    """The expected loss of the NMU over its two weights, and balls that training rolls down.

    A ball is a pair of weights. Each follows the training of the Single Module Task from its own start: Adam
    with the rate 1e-3, or plain descent; on the expected gradient, or on 128 fresh rows a step. It stops
    after 50,000 steps, or once it has moved by less than 1e-9 a step for 1,000. A change of a setting puts
    all balls back to their starts.

    Attributes
    ----------
    interpolation_range : tuple of float
        ``(low, high)``: the inputs come from U[low, high].
    noise : {"none", "fixed", "batch"}
        No noise (the NMU), U[1, 5], or the batch rule U[1, 1 + 1/s]. It needs the clamp.
    optimizer : {"adam", "descent"}
        Adam, or plain gradient descent at half the inverse of the largest curvature on the map.
    gradient : {"expected", "minibatch"}
        The gradient of the expected loss, or of 128 rows, the same for all balls.
    clamp : bool
        Whether the weights are clamped to [0, 1] after each step; without, to [-10, 10].
    regularizer : bool
        Whether the sparsity regulariser acts, with its ramp from step 20,000 to 35,000. It needs the clamp.
    seed : int
        Seed of the minibatches and of the starts that the page draws.
    box : {"initial", "square"}
        Where the page draws 200 starts: in [0.25, 0.75]^2, as the initialisation does, or in [0, 1]^2.
    cursor : tuple of float
        Weights at the cross hair.
    edge : bool
        Whether the edge of the trap's basin for a narrow range, W1 + W2 = 2 / (1 - mean), is drawn.
    starts : list of tuple of float
        The starts, two weights a ball. Balls that are appended leave the others where they are.
    weights : list of tuple of float
        Where the balls are; brought up to date by the page when it stops.
    fates : list of {"solution", "origin", "elsewhere", "moving"}
        What became of the balls: within 0.01 of (1, 1); at rest within 0.01 of (0, 0); at rest elsewhere.
    step : int
        Steps since the last ball was dropped. Set it to have the balls taken there.
    running : bool
        Whether the balls roll.
    memory : list of dict
        What the page remembers of each ball: its start and steps, and the state of Adam.
    presets : list of tuple of float
        The ranges to choose from.
    """

    _esm = script("landscape")
    _css = STYLE

    interpolation_range = traitlets.Tuple(
        traitlets.Float(), traitlets.Float(), default_value=(-2.0, -1.0)
    ).tag(sync=True)
    noise = traitlets.Enum(["none", "fixed", "batch"], "none").tag(sync=True)
    optimizer = traitlets.Enum(["adam", "descent"], "adam").tag(sync=True)
    gradient = traitlets.Enum(["expected", "minibatch"], "expected").tag(sync=True)
    clamp = traitlets.Bool(True).tag(sync=True)
    regularizer = traitlets.Bool(True).tag(sync=True)
    seed = traitlets.Int(0, min=0, max=2**31 - 1).tag(sync=True)
    box = traitlets.Enum(["initial", "square"], "initial").tag(sync=True)
    cursor = traitlets.Tuple(_Weight, _Weight, default_value=(0.4, 0.3)).tag(sync=True)
    edge = traitlets.Bool(False).tag(sync=True)
    starts = traitlets.List(traitlets.Tuple(_Weight, _Weight)).tag(sync=True)
    weights = traitlets.List(traitlets.Tuple(traitlets.Float(), traitlets.Float())).tag(sync=True)
    fates = traitlets.List(traitlets.Enum(["solution", "origin", "elsewhere", "moving"])).tag(sync=True)
    step = traitlets.Int(0, min=0, max=50_000).tag(sync=True)
    running = traitlets.Bool(False).tag(sync=True)
    memory = traitlets.List(traitlets.Dict()).tag(sync=True)
    presets = traitlets.List(
        traitlets.Tuple(traitlets.Float(), traitlets.Float()),
        default_value=[tuple(map(float, range_.interpolation)) for range_ in RANGES],
    ).tag(sync=True)

    @traitlets.validate("interpolation_range")
    def _check_range(self, proposal):
        low, high = proposal["value"]
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise traitlets.TraitError(
                f"interpolation_range must be finite with low < high; got {proposal['value']}"
            )
        return proposal["value"]
