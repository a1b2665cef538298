"""The Arithmetic Dataset Task at the paper's size: 100 inputs (arXiv 2211.05624, figure 7)."""

from collections.abc import Callable, Mapping, Sequence

from torch import nn

from nmu.experiments import arithmetic_dataset
from nmu.runner import Experiment
from nmu.tasks import RANGES, Range

__all__ = ["IN_FEATURES", "MODULES", "SEEDS", "experiment"]

MODULES = arithmetic_dataset.MODULES
IN_FEATURES = 100
SEEDS = tuple(range(10))
STEPS = 1_000_000
LOG_EVERY = 5_000


def experiment(
    modules: Mapping[str, Callable[..., nn.Module]] = MODULES,
    *,
    seeds: Sequence[int] = SEEDS,
    ranges: Sequence[Range] = RANGES,
    steps: int = STEPS,
    device: str = "cpu",
) -> Experiment:
    """Plan the task at the paper's size for :func:`nmu.runner.run`.

    The regulariser's ramp begins at half of the steps and ends with them. With 25 seeds and 2,000,000 steps
    that is the paper's figure 7 for the sNMU; the NMU went on to 5,000,000 steps there.

    Parameters
    ----------
    modules : mapping of str to callable, optional
        The units that multiply, by name.
    seeds, ranges, steps, device : optional
        As for :func:`nmu.experiments.arithmetic_dataset.run`.

    Returns
    -------
    Experiment
        With the tables of :func:`nmu.experiments.arithmetic_dataset.experiment`.
    """
    return arithmetic_dataset.experiment(
        modules,
        name="hundred_inputs",
        seeds=seeds,
        ranges=ranges,
        in_features=IN_FEATURES,
        steps=steps,
        regularizer_ramp=(steps // 2, steps),
        log_every=LOG_EVERY,
        device=device,
    )
