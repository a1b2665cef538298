"""What is learned, and on which numbers: ranges and two tasks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nmu import functional
from nmu.streams import ReplicaStreams

__all__ = [
    "RANGES",
    "ArithmeticDatasetTask",
    "Range",
    "SharedInputs",
    "SingleModuleTask",
    "weighted_sums",
]


@dataclass(frozen=True)
class Range:
    """Where the inputs of training lie, and where those of the extrapolation test lie.

    Parameters
    ----------
    interpolation : tuple of float
        ``(low, high)`` of the uniform distribution of the training inputs.
    extrapolation : tuple of tuple of float
        One or more intervals; each input comes from one of them, all equally likely.

    Raises
    ------
    ValueError
        If an interval is not finite or has ``low >= high``.
    """

    interpolation: tuple[float, float]
    extrapolation: tuple[tuple[float, float], ...]

    def __post_init__(self):
        for low, high in (self.interpolation, *self.extrapolation):
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ValueError(f"an interval must be finite with low < high; got [{low}, {high}]")
        if not self.extrapolation:
            raise ValueError("extrapolation must hold at least one interval; got none")

    def __str__(self) -> str:
        return _interval_text(self.interpolation)

    @property
    def extrapolation_text(self) -> str:
        """The extrapolation intervals as text, such as ``U[-6,-2] or U[2,6]``."""
        return " or ".join(map(_interval_text, self.extrapolation))


def _interval_text(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"U[{low:g},{high:g}]"


RANGES: tuple[Range, ...] = (
    Range((-20, -10), ((-40, -20),)),
    Range((-2, -1), ((-6, -2),)),
    Range((-1.2, -1.1), ((-6.1, -1.2),)),
    Range((-0.2, -0.1), ((-2, -0.2),)),
    Range((-2, 2), ((-6, -2), (2, 6))),
    Range((0.1, 0.2), ((0.2, 2),)),
    Range((1, 2), ((2, 6),)),
    Range((1.1, 1.2), ((1.2, 6),)),
    Range((10, 20), ((20, 40),)),
)
"""The nine ranges of the Single Module Task (Mistry, Farrahi and Hare, arXiv 2101.09530)."""


@dataclass(frozen=True)
class SharedInputs:
    """Inputs ``low + span * numbers`` of replicas of which those with one seed share the numbers.

    A sum over many inputs needs no more than the numbers, so the inputs themselves are never made.

    Attributes
    ----------
    numbers : Tensor
        ``(groups, in_features, n)``, from U[0, 1).
    members : Tensor
        The replicas of each group, ``(groups, replicas / groups)``.
    low, span : Tensor
        One a replica, ``(replicas, 1, 1)``.
    """

    numbers: Tensor
    members: Tensor
    low: Tensor
    span: Tensor

    def to(self, device: torch.device | str) -> "SharedInputs":
        """Move to a device."""
        return SharedInputs(*(part.to(device) for part in vars(self).values()))

    def weighted_sums(self, weight: Tensor) -> Tensor:
        """Sum the inputs with ``weight``, as :func:`nmu.functional.nau`: ``(replicas, n, out_features)``.

        One matrix product for all replicas of a group.
        """
        grouped = weight[self.members]
        sums = (grouped.flatten(1, 2) @ self.numbers).view(*grouped.shape[:3], -1)
        order = self.members.flatten().argsort()
        sums = sums.flatten(0, 1)[order]
        return (self.span * sums + self.low * weight.sum(-1, keepdim=True)).mT


class _Task:
    """Inputs of which each is uniform on its replica's range: from ``low``, ``span`` wide."""

    def __init__(self, ranges: Sequence[Range], in_features: int):
        if len(ranges) == 0:
            raise ValueError("ranges must hold one range a replica; got none")
        self.ranges = tuple(ranges)
        self.in_features = in_features
        low, high = torch.tensor([r.interpolation for r in self.ranges]).T[..., None, None]
        self.low, self.span = low, high - low

    def interpolation_inputs(self, streams: ReplicaStreams, n: int) -> Tensor:
        """Draw ``(replicas, n, in_features)`` inputs of the training distribution."""
        return self._uniform(streams, n).mul_(self.span).add_(self.low)

    def extrapolation_inputs(self, streams: ReplicaStreams, n: int) -> Tensor:
        """Draw ``(replicas, n, in_features)`` inputs of the extrapolation distribution."""
        rows = []
        for numbers, range_ in zip(self._uniform(streams, n), self.ranges, strict=True):
            intervals = torch.tensor(range_.extrapolation)
            position = numbers * len(intervals)
            which = position.long()
            low, high = intervals[which].unbind(-1)
            rows.append((low + (high - low) * (position - which)).mT.contiguous().mT)
        return torch.stack(rows)

    def _uniform(self, streams: ReplicaStreams, n: int) -> Tensor:
        return streams.uniform((len(self.ranges), self.in_features, n)).mT


class SingleModuleTask(_Task):
    """Learn the product of the first inputs of one unit, for one range a replica.

    Parameters
    ----------
    ranges : sequence of Range
        One a replica.
    in_features : int, optional
        Number of inputs.
    relevant : int, optional
        How many of them, from the first on, the target multiplies.

    Raises
    ------
    ValueError
        If there is no range, or ``relevant`` is not between 1 and ``in_features``.
    """

    def __init__(self, ranges: Sequence[Range], in_features: int = 2, relevant: int = 2):
        if not 1 <= relevant <= in_features:
            raise ValueError(f"relevant must be between 1 and in_features = {in_features}; got {relevant}")
        super().__init__(ranges, in_features)
        self.relevant = relevant

    def target(self, x: Tensor) -> Tensor:
        """Product of the relevant inputs: ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, 1)``."""
        columns = x[..., : self.relevant].unbind(-1)
        product = columns[0]
        for column in columns[1:]:
            product = product * column
        return product.unsqueeze(-1)


class ArithmeticDatasetTask(_Task):
    """Learn the product of two sums over neighbouring inputs, ``(a + b + c) * (c + d + e)``.

    The two subsets are equally large, share the last inputs of the one and the first of the other, and begin
    at a place that the replica's seed draws.

    Parameters
    ----------
    ranges : sequence of Range
        One a replica.
    seeds : sequence of int
        One a replica.
    in_features : int, optional
        Number of inputs.
    subset : int, optional
        Number of inputs of either subset.
    overlap : int, optional
        How many of them both subsets share.

    Attributes
    ----------
    membership : Tensor
        Which input belongs to which subset, 0 or 1, ``(replicas, 2, in_features)``: the weights of an NAU
        that has solved the first half of the task.

    Raises
    ------
    ValueError
        If there is no range, or not one a seed, or the subsets do not fit into the inputs.
    """

    def __init__(
        self,
        ranges: Sequence[Range],
        seeds: Sequence[int],
        in_features: int = 100,
        subset: int = 25,
        overlap: int = 12,
    ):
        super().__init__(ranges, in_features)
        if len(seeds) != len(ranges):
            raise ValueError(f"there must be one range a seed; got {len(ranges)} and {len(seeds)}")
        if not 0 <= overlap <= subset or not 1 <= subset <= (in_features + overlap) / 2:
            raise ValueError(
                f"two subsets of {subset} inputs that share {overlap} do not fit into {in_features} inputs"
            )
        places = in_features - (2 * subset - overlap) + 1
        draw = ReplicaStreams(seeds, "subsets", block=1).uniform((len(seeds), 1))
        first = (draw * places).long()
        inputs = torch.arange(in_features)
        starts = torch.stack([first, first + subset - overlap], dim=1)
        self.membership = ((inputs >= starts) & (inputs < starts + subset)).float()

    def interpolation_inputs(self, streams: ReplicaStreams, n: int) -> SharedInputs:
        """Draw ``n`` rows of the training distribution for each replica.

        Raises
        ------
        ValueError
            If the seeds of ``streams`` do not occur equally often.
        """
        members = streams.members
        numbers = streams.distinct((len(self.ranges), self.in_features, n))
        return SharedInputs(numbers, members, self.low, self.span)

    def target(self, x: Tensor | SharedInputs) -> Tensor:
        """Product of the two sums, ``(replicas, n, 1)``."""
        first, second = weighted_sums(x, self.membership).split(1, dim=-1)
        return first * second


def weighted_sums(x: Tensor | SharedInputs, weight: Tensor) -> Tensor:
    """Sum inputs of either kind with ``weight``, ``(*batch_shape, out_features, in_features)``."""
    if isinstance(x, SharedInputs):
        return x.weighted_sums(weight.to(x.numbers))
    return functional.nau(x, weight.to(x))
