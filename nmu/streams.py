"""Random numbers: a stream for each seed and purpose."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from numbers import Integral

import numpy as np
import torch
from torch import Tensor

__all__ = ["ReplicaStreams", "generator", "seeded", "stream_seed"]


def stream_seed(seed: int, purpose: str) -> int:
    """Return a number of 63 bits to seed a generator with; other seeds and purposes give independent ones.

    Parameters
    ----------
    seed : int
        Not negative.
    purpose : str
        What the random numbers are for, such as ``"data"``.
    """
    sequence = np.random.SeedSequence(int(seed), spawn_key=tuple(purpose.encode()))
    return int(sequence.generate_state(1, np.uint64)[0] >> 1)


def generator(seed: int, purpose: str) -> torch.Generator:
    """Return a generator on the CPU, seeded with :func:`stream_seed`."""
    return torch.Generator().manual_seed(stream_seed(seed, purpose))


@contextmanager
def seeded(seed: int, purpose: str) -> Iterator[None]:
    """Seed torch's own generators with :func:`stream_seed`, and leave them afterwards as they were."""
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(seed, purpose))
        yield


class ReplicaStreams:
    """One stream of random numbers a seed, read side by side.

    What a seed's stream yields depends on the seed and ``purpose`` alone: not on the seeds beside it,
    not on how many numbers are drawn at a time. The numbers are drawn on the CPU in blocks that serve
    many calls, so that hundreds of generators cost little more than one; a seed that occurs several times
    is drawn once.

    Parameters
    ----------
    seeds : sequence of int
        One non-negative seed a replica.
    purpose : str
        Name of the stream, such as ``"data"``; different names give independent streams.
    block : int, optional
        About how many numbers to draw at a time and seed. It changes the speed, never the numbers.

    Attributes
    ----------
    rows : Tensor
        For each replica, which of the different seeds it has, in the order in which they occur.

    Raises
    ------
    ValueError
        If there is no seed, or one is negative or no integer.
    """

    def __init__(self, seeds: Sequence[int], purpose: str, block: int = 8192):
        if len(seeds) == 0 or not all(isinstance(seed, Integral) and seed >= 0 for seed in seeds):
            raise ValueError(f"seeds must be one or more non-negative integers; got {list(seeds)}")
        different = {seed: row for row, seed in enumerate(dict.fromkeys(seeds))}
        self.rows = torch.tensor([different[seed] for seed in seeds])
        self._generators = [generator(seed, purpose) for seed in different]
        self._block = block
        self._numbers = torch.empty(len(different), 0)

    @cached_property
    def members(self) -> Tensor:
        """The replicas of each different seed, ``(different seeds, replicas / different seeds)``."""
        counts = self.rows.bincount()
        if (counts != counts[0]).any():
            raise ValueError(f"each seed must occur equally often; got them {counts.tolist()} times")
        return self.rows.argsort(stable=True).view(len(counts), -1)

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Draw the next numbers from U[0, 1) of every stream.

        Parameters
        ----------
        shape : tuple of int
            ``(replicas, ...)``; each stream yields ``shape[1:]``.

        Returns
        -------
        Tensor
            ``float32``, of the given shape; the caller may write into it.

        Raises
        ------
        ValueError
            If ``shape[0]`` is not the number of seeds, or nothing is to be drawn.
        """
        numbers = self.distinct(shape)
        return numbers if len(numbers) == len(self.rows) else numbers.index_select(0, self.rows)

    def distinct(self, shape: tuple[int, ...]) -> Tensor:
        """Draw what :meth:`uniform` does, but each seed's numbers once: ``(different seeds, ...)``."""
        replicas = len(self.rows)
        if len(shape) < 2 or min(shape) < 1:
            raise ValueError(f"shape must be (replicas, ...), of positive sizes; got {tuple(shape)}")
        if shape[0] != replicas:
            raise ValueError(f"shape must begin with {replicas}, one a seed; got {tuple(shape)}")
        count = math.prod(shape[1:])
        if self._numbers.shape[1] < count:
            fresh = torch.empty(len(self._generators), max(self._block // count, 1) * count)
            for row, generator in zip(fresh.unbind(0), self._generators, strict=True):
                row.uniform_(generator=generator)
            left = self._numbers.shape[1]  # nothing, where all draws are of one size: then nothing is copied
            self._numbers = torch.cat([self._numbers, fresh], dim=1) if left else fresh
        numbers, self._numbers = self._numbers.tensor_split([count], dim=1)
        return numbers.unflatten(1, shape[1:])
