"""The improved NALU, with its regulariser and its re-initialisation."""

import numpy as np
import torch
from torch import Tensor

from nmu import functional
from nmu.baselines._base import _Baseline, _draw_normal_, _nac_weight, _sigmoid, _weighted_sum

__all__ = ["INALU"]

EPSILON = 1e-7
"""What :math:`|x|` is at least, before the logarithm."""
LARGEST_EXPONENT = 20.0
"""What the exponent of the multiplicative path is at most."""
INITIAL = {
    "sum_w_hat": (0.88, 0.2),
    "sum_m_hat": (0.5, 0.2),
    "product_w_hat": (0.88, 0.2),
    "product_m_hat": (0.5, 0.2),
    "gate": (0.0, 0.2),
}
"""Mean and standard deviation from which each parameter starts."""


class INALU(_Baseline):
    r"""iNALU, the improved NALU: separate weights for sum and product, and a product with a sign.

    .. math::

        z_o &= g_o \sum_i A_{oi} x_i + (1 - g_o) m_o s_o, \qquad g = \sigma(\hat g) \\
        m_o &= \exp \min \Bigl(\sum_i M_{oi} \log \max(|x_i|, 10^{-7}), 20\Bigr) \\
        s_o &= \prod_i \bigl(|M_{oi}| \operatorname{sign}(x_i) + 1 - |M_{oi}|\bigr)

    with :math:`A = \tanh(\hat W_a) \odot \sigma(\hat M_a)` and :math:`M = \tanh(\hat W_m) \odot
    \sigma(\hat M_m)`. The gate does not depend on the input. No gradient flows through an input below
    :math:`10^{-7}` or an exponent above 20.

    :math:`\hat W` starts in :math:`N(0.88, 0.2)`, :math:`\hat M` in :math:`N(0.5, 0.2)` and
    :math:`\hat g` in :math:`N(0, 0.2)`, the second number being the standard deviation. Training is
    part of the unit: gradients are clipped, the parameters are driven to saturation once the error is
    small, and a replica that does not get better starts again.

    Parameters
    ----------
    in_features, out_features : int
        Number of inputs and of outputs.
    batch_shape : tuple of int, optional
        Shape of the stack of independent replicas; ``()`` is an ordinary layer.
    device, dtype : optional
        As for :class:`torch.nn.Linear`.

    Attributes
    ----------
    sum_w_hat, sum_m_hat : torch.nn.Parameter
        :math:`\hat W_a` and :math:`\hat M_a`, ``(*batch_shape, out_features, in_features)``.
    product_w_hat, product_m_hat : torch.nn.Parameter
        :math:`\hat W_m` and :math:`\hat M_m`, of the same shape.
    gate : torch.nn.Parameter
        :math:`\hat g`, ``(*batch_shape, out_features)``.

    Raises
    ------
    ValueError
        If a size is not a positive integer.

    References
    ----------
    Schlör, Ring and Hotho, "iNALU: Improved Neural Arithmetic Logic Unit", Frontiers in Artificial
    Intelligence 3, 2020. Settings of training as in the single-module benchmark of Mistry, Farrahi
    and Hare, arXiv 2211.05624.
    """

    gradient_limit = 0.1
    """Each number of a gradient is clipped to this magnitude."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        batch_shape: tuple[int, ...] = (),
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__(in_features, out_features, batch_shape, device=device, dtype=dtype)
        self._stored: _StoredErrors | None = None
        self._last_step = -1

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        matrix = (self.out_features, self.in_features)
        return {name: matrix if name != "gate" else (self.out_features,) for name in INITIAL}

    @torch.no_grad()
    def reset_parameters(self, generator=None) -> None:
        """Draw the parameters anew.

        Parameters
        ----------
        generator : torch.Generator or ReplicaStreams, optional
            Where the random numbers come from; torch's global generator by default.
        """
        for name, (mean, deviation) in INITIAL.items():
            parameter = self.get_parameter(name)
            matrix = parameter.unsqueeze(-1) if name == "gate" else parameter
            _draw_normal_(matrix, mean, deviation, generator)

    def weights(self) -> dict[str, Tensor]:
        """Weights that ought to become discrete: ``"sum_weight"`` and ``"product_weight"``."""
        return {
            "sum_weight": _nac_weight(self.sum_w_hat, self.sum_m_hat),
            "product_weight": _nac_weight(self.product_w_hat, self.product_m_hat),
        }

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, out_features)``.

        Parameters
        ----------
        x : Tensor
            Inputs, ``(*batch_shape, n, in_features)``.

        Returns
        -------
        Tensor
            Outputs, ``(*batch_shape, n, out_features)``.

        Raises
        ------
        TypeError
            If ``x`` is not a floating-point tensor.
        ValueError
            If the last dimension of ``x`` is not ``in_features``, or ``x`` is empty or has fewer than
            two dimensions.
        """
        functional._check(x, self.sum_w_hat)
        sum_weight, product_weight = self.weights().values()
        exponent = _weighted_sum(torch.log(x.abs().clamp(min=EPSILON)), product_weight)
        magnitude = torch.exp(exponent.clamp(max=LARGEST_EXPONENT))
        sign = functional.nmu(x.detach().sign(), product_weight.abs())
        gate = _sigmoid(self.gate).unsqueeze(-2)
        return gate * _weighted_sum(x, sum_weight) + (1 - gate) * magnitude * sign

    def regularizer(self) -> Tensor:
        r"""Sum over the five parameters of the mean of :math:`\max(\min(p, -p) + 20, 0)`.

        It pushes every parameter away from 0, up to a magnitude of 20, so that tanh and sigmoid saturate.

        Returns
        -------
        Tensor
            One value a replica, ``batch_shape``.
        """
        return sum(
            (20 - self._per_replica(parameter).abs()).clamp(min=0).mean(-1) for parameter in self.parameters()
        )

    def regularizer_scale(self, step: int, interpolation_error: Tensor) -> Tensor:
        """Weight of the regulariser: 0.05 after step 10 where the error is below 1, else 0.

        Parameters
        ----------
        step : int
            Number of updates so far.
        interpolation_error : Tensor
            The last known error of each replica; one that is not a number counts as not below 1.

        Returns
        -------
        Tensor
            One value a replica, of the shape of ``interpolation_error``.
        """
        return 0.05 * ((interpolation_error < 1) & (step > 10)).to(interpolation_error)

    def restarts(self, step: int, interpolation_error: Tensor) -> Tensor:
        r"""Say which replicas are to be re-initialised after this step.

        Every call stores the current error. At each tenth step, a replica with more than 5,000 stored
        errors starts again if the mean of their older half is not above mean plus standard deviation of
        the newer half, and the newer half's mean exceeds 1; its store is then emptied. Of an odd number
        the newer half has one more. The standard deviation is that of the population.

        A replica with an infinite error or one that is no number in its store never starts again: with
        these no comparison holds. The store takes 8 bytes for each replica and each *change* of the
        errors, so for errors logged every 1,000 steps 400 bytes a replica in 50,000 steps.

        Parameters
        ----------
        step : int
            Number of updates before the one just made. One that does not follow the last call's begins
            a new training, with an empty store.
        interpolation_error : Tensor
            The last known error of each replica.

        Returns
        -------
        Tensor
            ``bool``, of the shape of ``interpolation_error``.
        """
        if self._stored is None or step <= self._last_step:
            self._stored = _StoredErrors(tuple(interpolation_error.shape))
        self._last_step = step
        self._stored.append(interpolation_error.detach().cpu().double().numpy())
        chosen = self._stored.stuck() & (self._stored.lengths() > 5_000) if step % 10 == 0 < step else None
        if chosen is None or not chosen.any():
            return torch.zeros_like(interpolation_error, dtype=torch.bool)
        self._stored.forget(chosen)
        return torch.from_numpy(chosen).to(interpolation_error.device)


class _StoredErrors:
    """Errors of all replicas after every step, equal ones that follow each other kept once."""

    def __init__(self, shape: tuple[int, ...]):
        self.count = 0
        self.first = np.zeros(shape, dtype=np.int64)  # where each replica's store begins
        self.ends: list[int] = []  # errors[k] was current before position ends[k]
        self.errors: list[np.ndarray] = []

    def append(self, errors: np.ndarray) -> None:
        self.count += 1
        if self.errors and np.array_equal(self.errors[-1], errors, equal_nan=True):
            self.ends[-1] = self.count
        else:
            self.ends.append(self.count)
            self.errors.append(errors.copy())

    def lengths(self) -> np.ndarray:
        return self.count - self.first

    def forget(self, chosen: np.ndarray) -> None:
        self.first[chosen] = self.count

    def stuck(self) -> np.ndarray:
        """Whether the newer half is no better than the older one, and bad; by replica."""
        middle = self.first + self.lengths() // 2
        shape = (-1, *(1 for _ in self.first.shape))
        starts, ends = (np.reshape(edges, shape) for edges in ([0, *self.ends[:-1]], self.ends))
        newest = self.errors[-1]
        with np.errstate(all="ignore"):
            # Relative to the newest, so that equal errors have equal means to the last bit.
            relative = np.stack(self.errors) - newest
            shares = [
                np.maximum(np.minimum(ends, high) - np.maximum(starts, low), 0) / (high - low)
                for low, high in [(self.first, middle), (middle, self.count)]
            ]
            older, newer = ((share * relative).sum(axis=0) for share in shares)
            deviation = np.sqrt((shares[1] * (relative - newer) ** 2).sum(axis=0))
            return (older <= newer + deviation) & (newest + newer > 1)
