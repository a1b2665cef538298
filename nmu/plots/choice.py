"""How the noise of the sNMU is chosen: what became of runs, against the shift."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from nmu.metrics import Estimate
from nmu.plots.style import MARKERS, PALETTE

LINES = ("-", "--", ":", "-.")


def shift_shares(
    shifts: Mapping[str, float],
    measured: Mapping[str, Sequence[Estimate]],
    predicted: Mapping[str, tuple[np.ndarray, np.ndarray]],
    *,
    label: str,
) -> Figure:
    """Shares against the mean shift of the log-odds: measured as marks, predicted as lines.

    Parameters
    ----------
    shifts : mapping of str to float
        For each noise, by the name that stands above the panel, its shift.
    measured : mapping of str to sequence of Estimate
        For each range one share a noise, in the order of ``shifts``.
    predicted : mapping of str to tuple of numpy.ndarray
        For each range shifts and the shares predicted for them.
    label : str
        What the share is of.

    Returns
    -------
    matplotlib.figure.Figure
        One panel, a line style and a marker a range.
    """
    figure, axis = plt.subplots(figsize=(5.2, 4.2))
    places = np.array(list(shifts.values()))
    for i, (name, estimates) in enumerate(measured.items()):
        style = {"color": PALETTE[i], "zorder": 3 - i}
        axis.plot(*predicted[name], LINES[i], linewidth=1.8, label=f"{name}, predicted", **style)
        value, low, high = np.array([(e.value, e.low, e.high) for e in estimates]).T
        axis.errorbar(
            places,
            value,
            yerr=np.clip([value - low, high - value], 0, None),
            fmt=MARKERS[i],
            markersize=7,
            capsize=2,
            clip_on=False,
            label=f"{name}, measured",
            **style,
        )
    axis.set(xlabel=r"shift, $\mathbb{E}[\log\,n]$", ylabel=label, ylim=(0, 1))
    names = axis.secondary_xaxis("top")
    names.set_xticks(places, list(shifts), rotation=60, ha="left", rotation_mode="anchor", fontsize=10)
    figure.legend(loc="outside lower center", ncols=2, fontsize=10)
    return figure
