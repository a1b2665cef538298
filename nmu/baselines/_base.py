"""What the baselines share: sizes, parameters, initial numbers and sums in a fixed order."""

import math

import torch
from torch import Tensor, nn

from nmu import functional
from nmu.layers import _check_sizes, _uniform


class _Baseline(nn.Module):
    """Unit with named parameters; a subclass says their shapes, initial values and weights."""

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
        for name, shape in self._shapes().items():
            parameter = nn.Parameter(torch.empty((*batch_shape, *shape), device=device, dtype=dtype))
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each parameter of one replica."""
        raise NotImplementedError

    def _xavier_bound(self) -> float:
        return math.sqrt(6 / (self.in_features + self.out_features))

    @torch.no_grad()
    def reset_parameters(self, generator=None) -> None:
        """Set the parameters to fresh initial values.

        Parameters
        ----------
        generator : torch.Generator or ReplicaStreams, optional
            Where the random numbers come from; torch's global generator by default.
        """
        raise NotImplementedError

    def weights(self) -> dict[str, Tensor]:
        """Weights that ought to become discrete, by name: ``(*batch_shape, out_features, in_features)``."""
        raise NotImplementedError

    def _per_replica(self, parameter: Tensor) -> Tensor:
        """Flatten what belongs to one replica: ``(*batch_shape, numbers)``."""
        return parameter.flatten(len(self.batch_shape))

    def extra_repr(self) -> str:
        """Return what ``repr`` shows between the brackets."""
        text = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{text}, batch_shape={self.batch_shape}" if self.batch_shape else text


def _weighted_sum(x: Tensor, weight: Tensor) -> Tensor:
    """Sum of weighted inputs, ``(*batch_shape, n, out_features)``.

    Added one input after the other: a matrix product may add in another order when replicas are
    stacked, and is slower for two inputs.
    """
    pairs = zip(functional.rows(x), functional.columns(weight), strict=True)
    x_i, weight_i = next(pairs)
    total = x_i * weight_i
    for x_i, weight_i in pairs:
        total = total + x_i * weight_i
    return total


def _sigmoid(x: Tensor) -> Tensor:
    """Logistic function whose last bit does not depend on where in a tensor a number stands.

    ``torch.sigmoid`` computes whole vectors and the rest of a tensor by different instructions. The
    exponent is clamped to what the precision can hold, where the function is as good as 0.
    """
    largest = math.log(torch.finfo(x.dtype).max) - 1
    return 1 / (1 + torch.exp((-x).clamp(max=largest)))


def _nac_weight(w_hat: Tensor, m_hat: Tensor) -> Tensor:
    return torch.tanh(w_hat) * _sigmoid(m_hat)


def _draw_uniform_(parameter: Tensor, bound: float, generator) -> None:
    """Fill with ``U[-bound, bound)``."""
    parameter.copy_(bound * (2 * _uniform(parameter, generator) - 1))


def _draw_normal_(parameter: Tensor, mean: float, deviation: float, generator) -> None:
    """Fill with a normal distribution, one uniform number for each of its numbers.

    The numbers go through the inverse distribution function. A uniform number of 0 would become
    minus infinity; it counts as half the smallest positive one of ``float32``, so the lowest draw is
    5.4 standard deviations below the mean.
    """
    precise = torch.promote_types(parameter.dtype, torch.float32)
    numbers = _uniform(torch.empty_like(parameter, dtype=precise), generator)
    quantile = (2 * numbers - 1).clamp(min=2**-24 - 1)
    parameter.copy_(mean + deviation * math.sqrt(2) * torch.erfinv(quantile))
