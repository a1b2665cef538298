"""The units as ``torch.nn.Module``.

``batch_shape=()`` is an ordinary layer; ``batch_shape=(225,)`` is 225 independent replicas that one
call evaluates together.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from nmu import functional

__all__ = ["NAU", "NMU", "StochasticNMU"]


class _Unit(nn.Module):
    """What the units share: a weight clamped to ``[low, 1]``, and the sparsity regulariser."""

    low: float

    def __init__(
        self,
        in_features: int,
        out_features: int,
        batch_shape: tuple[int, ...] = (),
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        batch_shape = tuple(batch_shape)
        _check_sizes(in_features=[in_features], out_features=[out_features], batch_shape=batch_shape)
        self.in_features = in_features
        self.out_features = out_features
        self.batch_shape = batch_shape
        shape = (*batch_shape, out_features, in_features)
        self.weight = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.reset_parameters()

    def _initial_bounds(self) -> tuple[float, float]:
        raise NotImplementedError

    @torch.no_grad()
    def reset_parameters(self, generator=None) -> None:
        """Draw the weights anew.

        Parameters
        ----------
        generator : torch.Generator or ReplicaStreams, optional
            Where the random numbers come from; torch's global generator by default.
        """
        low, high = self._initial_bounds()
        self.weight.copy_(low + (high - low) * _uniform(self.weight, generator))

    def _uniform(self, like: Tensor) -> Tensor:
        """Numbers from U[0, 1) of the shape of ``like``, from the unit's own generator."""
        return _uniform(like, self.generator)

    @torch.no_grad()
    def clamp_(self) -> None:
        """Clamp the weights in place; call it after each optimiser step."""
        self.weight.clamp_(self.low, 1)

    def regularizer(self) -> Tensor:
        """Sparsity regulariser, one value a replica: ``batch_shape``."""
        return functional.sparsity_regularizer(self.weight)

    def extra_repr(self) -> str:
        """Return what ``repr`` shows between the brackets."""
        text = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{text}, batch_shape={self.batch_shape}" if self.batch_shape else text


class NMU(_Unit):
    r"""Neural Multiplication Unit, :math:`z_o = \prod_i (W_{oi} x_i + 1 - W_{oi})`.

    Weights start in :math:`U[0.25, 0.75]` and are clamped to :math:`[0, 1]`.

    Parameters
    ----------
    in_features, out_features : int
        Number of inputs and of products.
    batch_shape : tuple of int, optional
        Shape of the stack of independent replicas; ``()`` is an ordinary layer.
    device, dtype : optional
        As for :class:`torch.nn.Linear`.

    Attributes
    ----------
    weight : torch.nn.Parameter
        ``(*batch_shape, out_features, in_features)``.

    Raises
    ------
    ValueError
        If a size is not a positive integer.

    References
    ----------
    Madsen and Johansen, "Neural Arithmetic Units", ICLR 2020, section on the NMU.
    """

    low = 0.0

    def _initial_bounds(self) -> tuple[float, float]:
        return 0.25, 0.75

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, out_features)``."""
        return functional.nmu(x, self.weight)


class StochasticNMU(NMU):
    r"""NMU whose inputs are scaled by noise in training, and the noise divided out again.

    In evaluation mode it is exactly the NMU.

    Parameters
    ----------
    in_features, out_features : int
        Number of inputs and of products.
    batch_shape : tuple of int, optional
        Shape of the stack of independent replicas; ``()`` is an ordinary layer.
    noise : tuple of float or "batch", optional
        Interval ``(low, high)`` of the uniform noise, or ``"batch"`` for :math:`U[1, 1 + 1/s]`, ``s``
        being the standard deviation of the batch at hand.
    generator : torch.Generator or ReplicaStreams, optional
        Where the noise comes from; torch's global generator by default.
    device, dtype : optional
        As for :class:`torch.nn.Linear`.

    Raises
    ------
    ValueError
        If a size is not a positive integer, or the noise interval is reversed or not positive.

    References
    ----------
    Mistry, Farrahi and Hare, arXiv 2211.05624.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        batch_shape: tuple[int, ...] = (),
        *,
        noise: tuple[float, float] | str = (1.0, 5.0),
        generator=None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__(in_features, out_features, batch_shape, device=device, dtype=dtype)
        self.noise = _checked_noise(noise)
        self.generator = generator

    def noise_bounds(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Bounds of the noise for the batch ``x``; each broadcasts against ``x``."""
        if self.noise == "batch":
            return functional.batch_noise_bounds(x)
        low, high = self.noise
        return x.new_tensor(low), x.new_tensor(high)

    def sample_noise(self, x: Tensor) -> Tensor:
        """Draw the noise for the batch ``x``: one number a row and input, of the shape of ``x``."""
        functional._check(x, self.weight)
        low, high = self.noise_bounds(x)
        return low + (high - low) * self._uniform(x)

    def forward(self, x: Tensor, noise: Tensor | None = None) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, out_features)``.

        Parameters
        ----------
        x : Tensor
            Inputs, ``(*batch_shape, n, in_features)``.
        noise : Tensor, optional
            Noise to use in training mode, of the shape of ``x``; drawn when not given.

        Returns
        -------
        Tensor
            Denoised products in training mode, plain products in evaluation mode.
        """
        if not self.training:
            return functional.nmu(x, self.weight)
        return functional.snmu(x, self.weight, self.sample_noise(x) if noise is None else noise)

    def extra_repr(self) -> str:
        """Return what ``repr`` shows between the brackets."""
        return f"{super().extra_repr()}, noise={self.noise!r}"


class NAU(_Unit):
    r"""Neural Addition Unit, :math:`z_o = \sum_i W_{oi} x_i`.

    Weights start in :math:`U[-r, r]` with :math:`r = \min(1/2, \sqrt{3} \sqrt{2 / (I + O)})` and are
    clamped to :math:`[-1, 1]`.

    Parameters
    ----------
    in_features, out_features : int
        Number of inputs :math:`I` and of sums :math:`O`.
    batch_shape : tuple of int, optional
        Shape of the stack of independent replicas; ``()`` is an ordinary layer.
    device, dtype : optional
        As for :class:`torch.nn.Linear`.

    Attributes
    ----------
    weight : torch.nn.Parameter
        ``(*batch_shape, out_features, in_features)``.

    Raises
    ------
    ValueError
        If a size is not a positive integer.

    References
    ----------
    Madsen and Johansen, "Neural Arithmetic Units", ICLR 2020, section on the NAU.
    """

    low = -1.0

    def _initial_bounds(self) -> tuple[float, float]:
        bound = min(0.5, math.sqrt(6 / (self.in_features + self.out_features)))
        return -bound, bound

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, out_features)``."""
        return functional.nau(x, self.weight)


def _check_sizes(**sizes: Iterable[int]) -> None:
    for name, values in sizes.items():
        for size in values:
            if not isinstance(size, int) or size < 1:
                raise ValueError(f"{name} must be made of positive integers; got {size!r}")


def _uniform(like: Tensor, generator) -> Tensor:
    """Numbers from U[0, 1) of the shape of ``like``; each column is contiguous, as the units read it."""
    shape = (*like.shape[:-2], like.shape[-1], like.shape[-2])
    if generator is None or isinstance(generator, torch.Generator):
        numbers = torch.rand(shape, generator=generator, dtype=like.dtype, device=like.device)
    else:
        numbers = generator.uniform(shape).to(like)
    return numbers.mT


def _checked_noise(noise: tuple[float, float] | str) -> tuple[float, float] | str:
    if noise == "batch":
        return noise
    try:
        low, high = (float(bound) for bound in noise)
    except (TypeError, ValueError):
        raise ValueError(f'noise must be an interval (low, high) or "batch"; got {noise!r}') from None
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"noise must be an interval (low, high) with low <= high; got {noise!r}")
    if low <= 0:
        raise ValueError(
            "the noise must be positive, as 0 erases its input and a negative number can make the "
            f"denominator 0; got {noise!r}"
        )
    return low, high
