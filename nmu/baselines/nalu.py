"""The gated units before the NMU: NAC•, NALU and G-NALU."""

import math

import torch
from scipy.optimize import brentq
from torch import Tensor

from nmu import functional
from nmu.baselines._base import _Baseline, _draw_uniform_, _nac_weight, _sigmoid, _weighted_sum

__all__ = ["GNALU", "MNAC", "NALU"]

EPSILON = 1e-7
"""What is added to :math:`|x|` before the logarithm."""


class _NAC(_Baseline):
    """What the three share: a weight made of two parameters, and the product of powers."""

    _log_base = 1.0  # logarithm of the number that is raised to powers in tanh and sigmoid

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shape = (self.out_features, self.in_features)
        return {"w_hat": shape, "m_hat": shape}

    @torch.no_grad()
    def reset_parameters(self, generator=None) -> None:
        """Draw the parameters anew.

        Parameters
        ----------
        generator : torch.Generator or ReplicaStreams, optional
            Where the random numbers come from; torch's global generator by default.
        """
        bound = _nac_bound(self.in_features + self.out_features)
        for parameter in (self.w_hat, self.m_hat):
            _draw_uniform_(parameter, bound, generator)

    def weights(self) -> dict[str, Tensor]:
        """Weight that ought to become discrete: ``"weight"``, :math:`W`."""
        return {"weight": self._weight()}

    def _weight(self) -> Tensor:
        return _nac_weight(self._log_base * self.w_hat, self._log_base * self.m_hat)


class MNAC(_NAC):
    r"""NAC•, the multiplicative neural accumulator: a product of powers of the inputs' magnitudes.

    .. math::

        z_o = \exp \sum_i W_{oi} \log(|x_i| + 10^{-7}), \qquad W = \tanh(\hat W) \odot \sigma(\hat M)

    It does not see the inputs' signs. Where an input is 0 its gradient is 0, as that of ``abs``.

    :math:`\hat W` and :math:`\hat M` start in :math:`U[-r, r]`, with ``r`` such that the variance of
    :math:`W` is :math:`2 / \max(I + O, 5)` for ``I`` inputs and ``O`` outputs.

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
    w_hat, m_hat : torch.nn.Parameter
        :math:`\hat W` and :math:`\hat M`, ``(*batch_shape, out_features, in_features)``.

    Raises
    ------
    ValueError
        If a size is not a positive integer.

    References
    ----------
    Trask et al., "Neural Arithmetic Logic Units", NeurIPS 2018; Madsen and Johansen, "Neural
    Arithmetic Units", ICLR 2020, who name it and choose its initialisation.
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
        functional._check(x, self.w_hat)
        return _product_of_powers(x, self._weight())


class NALU(_NAC):
    r"""Neural Arithmetic Logic Unit: a gate between a sum and a product, with one weight for both.

    .. math::

        z_o &= g_o \sum_i W_{oi} x_i + (1 - g_o) \exp \sum_i W_{oi} \log(|x_i| + 10^{-7}) \\
        g_o &= \sigma \Bigl(\sum_i G_{oi} x_i\Bigr), \qquad W = \tanh(\hat W) \odot \sigma(\hat M)

    The gate depends on the input: one that is shut on the training range can open outside it.

    :math:`\hat W` and :math:`\hat M` start as in :class:`MNAC`, :math:`G` Xavier-uniform, in
    :math:`U[-b, b]` with :math:`b = \sqrt{6 / (I + O)}` for ``I`` inputs and ``O`` outputs.

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
    w_hat, m_hat : torch.nn.Parameter
        :math:`\hat W` and :math:`\hat M`, ``(*batch_shape, out_features, in_features)``.
    gate_weight : torch.nn.Parameter
        :math:`G`, ``(*batch_shape, out_features, in_features)``.

    Raises
    ------
    ValueError
        If a size is not a positive integer.

    References
    ----------
    Trask et al., "Neural Arithmetic Logic Units", NeurIPS 2018.
    """

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {**super()._shapes(), "gate_weight": (self.out_features, self.in_features)}

    @torch.no_grad()
    def reset_parameters(self, generator=None) -> None:
        """Draw the parameters anew.

        Parameters
        ----------
        generator : torch.Generator or ReplicaStreams, optional
            Where the random numbers come from; torch's global generator by default.
        """
        super().reset_parameters(generator)
        _draw_uniform_(self.gate_weight, self._xavier_bound(), generator)

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
        functional._check(x, self.w_hat)
        weight = self._weight()
        gate = _sigmoid(_weighted_sum(x, self._log_base * self.gate_weight))
        return gate * _weighted_sum(x, weight) + (1 - gate) * _product_of_powers(x, weight)


class GNALU(NALU):
    r"""G-NALU: the NALU with the golden ratio :math:`\varphi` in place of e.

    With :math:`\varphi^u = e^{u \log \varphi}` the functions of the NALU become

    .. math::

        \tanh_\varphi(u) = \frac{\varphi^{2u} - 1}{\varphi^{2u} + 1} = \tanh(u \log \varphi), \qquad
        \sigma_\varphi(u) = \frac{1}{1 + \varphi^{-u}} = \sigma(u \log \varphi),

    which is how they are computed: the powers would overflow where tanh and the sigmoid saturate. In
    the product the two changes cancel, :math:`\varphi^{\sum_i W_{oi} \log_\varphi(|x_i| + 10^{-7})} =
    \exp \sum_i W_{oi} \log(|x_i| + 10^{-7})`. So the multiplicative path is that of a NALU with the same
    :math:`W`; a G-NALU is a NALU whose parameters are all multiplied by :math:`\log \varphi \approx
    0.48`: it starts nearer to 0 and saturates more slowly.

    The parameters start as those of the NALU, with ``r`` chosen for the tanh and sigmoid of base e.

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
    w_hat, m_hat : torch.nn.Parameter
        :math:`\hat W` and :math:`\hat M`, ``(*batch_shape, out_features, in_features)``.
    gate_weight : torch.nn.Parameter
        :math:`G`, ``(*batch_shape, out_features, in_features)``.

    Raises
    ------
    ValueError
        If a size is not a positive integer.

    References
    ----------
    As in the single-module benchmark of Mistry, Farrahi and Hare, "A Primer for Neural Arithmetic Logic
    Modules", arXiv 2101.09530, and its public code, which writes out the powers.
    """

    _log_base = math.log((1 + math.sqrt(5)) / 2)


def _product_of_powers(x: Tensor, weight: Tensor) -> Tensor:
    return torch.exp(_weighted_sum(torch.log(x.abs() + EPSILON), weight))


def _nac_bound(fan: int) -> float:
    r"""Bound ``r`` at which :math:`\tanh(u) \sigma(v)` has variance 2 / max(fan, 5), u and v in U[-r, r].

    The mean of :math:`\tanh^2` is :math:`1 - \tanh(r) / r`, that of :math:`\sigma^2` is :math:`(r -
    \tanh(r / 2)) / 2r`, and the mean of their product is 0. The variance grows towards 1/2, which is
    why ``fan`` is at least 5.
    """

    def excess(r: float) -> float:
        variance = (1 - math.tanh(r) / r) * (r - math.tanh(r / 2)) / (2 * r)
        return variance - 2 / max(fan, 5)

    return brentq(excess, 1e-4, 10)
