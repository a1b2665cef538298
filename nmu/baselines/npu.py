"""The Neural Power Unit, with complex and with real weights."""

import math

import torch
from torch import Tensor

from nmu import functional
from nmu.baselines._base import _Baseline, _draw_uniform_, _weighted_sum

__all__ = ["NPU", "RealNPU"]

EPSILON = torch.finfo(torch.float32).eps
"""What is added to :math:`|x|`, whatever the precision."""


class _PowerUnit(_Baseline):
    """What the two share: the relevance gate, the initial values and the settings of training."""

    learning_rate = 5e-3
    """Adam's, in place of the experiment's."""

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"real_weight": (self.out_features, self.in_features), "gate": (self.in_features,)}

    @torch.no_grad()
    def reset_parameters(self, generator=None) -> None:
        """Draw the real weights anew and set the other parameters to their initial constants.

        Parameters
        ----------
        generator : torch.Generator or ReplicaStreams, optional
            Where the random numbers come from; torch's global generator by default.
        """
        _draw_uniform_(self.real_weight, self._xavier_bound(), generator)
        self.gate.fill_(0.5)

    def weights(self) -> dict[str, Tensor]:
        """Weights that ought to become discrete, by name."""
        return {"real_weight": self.real_weight}

    def regularizer(self) -> Tensor:
        """Sum of the magnitudes of all parameters, one value a replica: ``batch_shape``."""
        return sum(self._per_replica(parameter).abs().sum(-1) for parameter in self.parameters())

    def regularizer_scale(self, step: int, interpolation_error: Tensor) -> float:
        r"""Weight of the regulariser: :math:`10^{-7}`, tenfold at steps 10,000 and 20,000.

        Parameters
        ----------
        step : int
            Number of updates so far.
        interpolation_error : Tensor
            Not used.

        Returns
        -------
        float
            The same for all replicas.
        """
        return (1e-7, 1e-6, 1e-5)[min(step // 10_000, 2)]

    def _polar(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logarithm of the gated magnitude, and gated angle, of each input."""
        functional._check(x, self.real_weight)
        gate = self.gate.clamp(0, 1).unsqueeze(-2)
        log_magnitude = torch.log(gate * (x.abs() + EPSILON) + (1 - gate))
        return log_magnitude, (math.pi * gate) * (x < 0)


class NPU(_PowerUnit):
    r"""Neural Power Unit: a product of complex powers of the inputs, of which the real part is returned.

    .. math::

        z_o &= \exp \Bigl(\sum_i W^{\mathrm{re}}_{oi} \log r_i - W^{\mathrm{im}}_{oi} k_i\Bigr)
               \cos \Bigl(\sum_i W^{\mathrm{re}}_{oi} k_i + W^{\mathrm{im}}_{oi} \log r_i\Bigr) \\
        r_i &= g_i (|x_i| + \epsilon) + 1 - g_i, \qquad k_i = \pi g_i [x_i < 0]

    with :math:`\epsilon = 2^{-23}` and the relevance gates :math:`g` clamped to :math:`[0, 1]` at every
    call; the parameter itself is not clamped. A gate of 0 replaces its input by 1. Where an input is 0
    its gradient is 0, as that of ``abs``.

    :math:`W^{\mathrm{re}}` starts Xavier-uniform, in :math:`U[-b, b]` with :math:`b = \sqrt{6 / (I +
    O)}` for ``I`` inputs and ``O`` outputs, :math:`W^{\mathrm{im}}` at 0 and the gates at 0.5.

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
    real_weight, imaginary_weight : torch.nn.Parameter
        :math:`W^{\mathrm{re}}` and :math:`W^{\mathrm{im}}`, ``(*batch_shape, out_features,
        in_features)``.
    gate : torch.nn.Parameter
        :math:`g`, ``(*batch_shape, in_features)``.

    Raises
    ------
    ValueError
        If a size is not a positive integer.

    References
    ----------
    Heim, Pevný and Šmídl, "Neural Power Units", NeurIPS 2020.
    """

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {**super()._shapes(), "imaginary_weight": (self.out_features, self.in_features)}

    @torch.no_grad()
    def reset_parameters(self, generator=None) -> None:
        """Draw the real weights anew and set the other parameters to their initial constants.

        Parameters
        ----------
        generator : torch.Generator or ReplicaStreams, optional
            Where the random numbers come from; torch's global generator by default.
        """
        super().reset_parameters(generator)
        self.imaginary_weight.zero_()

    def weights(self) -> dict[str, Tensor]:
        """Weights that ought to become discrete, by name: the real and the imaginary ones."""
        return {"real_weight": self.real_weight, "imaginary_weight": self.imaginary_weight}

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, out_features)``.

        Parameters
        ----------
        x : Tensor
            Inputs, ``(*batch_shape, n, in_features)``.

        Returns
        -------
        Tensor
            Products, ``(*batch_shape, n, out_features)``.

        Raises
        ------
        TypeError
            If ``x`` is not a floating-point tensor.
        ValueError
            If the last dimension of ``x`` is not ``in_features``, or ``x`` is empty or has fewer than
            two dimensions.
        """
        log_magnitude, angle = self._polar(x)
        real, imaginary = self.real_weight, self.imaginary_weight
        exponent = _weighted_sum(log_magnitude, real) - _weighted_sum(angle, imaginary)
        phase = _weighted_sum(angle, real) + _weighted_sum(log_magnitude, imaginary)
        return torch.exp(exponent) * torch.cos(phase)


class RealNPU(_PowerUnit):
    r"""Neural Power Unit with real weights: the :class:`NPU` with :math:`W^{\mathrm{im}} = 0`.

    .. math::

        z_o &= \exp \Bigl(\sum_i W_{oi} \log r_i\Bigr) \cos \Bigl(\sum_i W_{oi} k_i\Bigr) \\
        r_i &= g_i (|x_i| + \epsilon) + 1 - g_i, \qquad k_i = \pi g_i [x_i < 0]

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
    real_weight : torch.nn.Parameter
        :math:`W`, ``(*batch_shape, out_features, in_features)``.
    gate : torch.nn.Parameter
        :math:`g`, ``(*batch_shape, in_features)``.

    Raises
    ------
    ValueError
        If a size is not a positive integer.

    References
    ----------
    Heim, Pevný and Šmídl, "Neural Power Units", NeurIPS 2020.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, out_features)``.

        Parameters
        ----------
        x : Tensor
            Inputs, ``(*batch_shape, n, in_features)``.

        Returns
        -------
        Tensor
            Products, ``(*batch_shape, n, out_features)``.

        Raises
        ------
        TypeError
            If ``x`` is not a floating-point tensor.
        ValueError
            If the last dimension of ``x`` is not ``in_features``, or ``x`` is empty or has fewer than
            two dimensions.
        """
        log_magnitude, angle = self._polar(x)
        exponent = _weighted_sum(log_magnitude, self.real_weight)
        return torch.exp(exponent) * torch.cos(_weighted_sum(angle, self.real_weight))
