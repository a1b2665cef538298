"""The units as pure functions.

Shapes: ``x`` is ``(*batch_shape, n, in_features)``, ``weight`` is ``(*batch_shape, out_features,
in_features)`` and every unit returns ``(*batch_shape, n, out_features)``. Leading dimensions
broadcast. All functions are differentiable twice, work from ``float16`` to ``float64`` and leave
their arguments as they found them.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

__all__ = [
    "batch_noise_bounds",
    "columns",
    "effective_weight",
    "gated_product",
    "nau",
    "nmu",
    "rows",
    "snmu",
    "sparsity_error",
    "sparsity_regularizer",
]


def nmu(x: Tensor, weight: Tensor) -> Tensor:
    r"""Neural Multiplication Unit: :math:`z_o = \prod_i (W_{oi} x_i + 1 - W_{oi})`.

    A weight of 1 multiplies its input in; a weight of 0 replaces it by 1. Both are exact in floating
    point. The gradient is right where inputs or factors are zero.

    Parameters
    ----------
    x : Tensor
        Inputs, ``(*batch_shape, n, in_features)``.
    weight : Tensor
        Weights, ``(*batch_shape, out_features, in_features)``.

    Returns
    -------
    Tensor
        Products, ``(*batch_shape, n, out_features)``.

    Raises
    ------
    TypeError
        If ``x`` or ``weight`` is not a floating-point tensor.
    ValueError
        If the last dimensions differ, the batch is empty or a tensor has fewer than two dimensions.

    References
    ----------
    Madsen and Johansen, "Neural Arithmetic Units", ICLR 2020, section on the NMU.
    """
    _check(x, weight)
    return gated_product(x, columns(weight))


def snmu(x: Tensor, weight: Tensor, noise: Tensor) -> Tensor:
    r"""Stochastic NMU: scale the inputs by noise, then divide the noise out again.

    .. math::

        z_o = \frac{\prod_i (W_{oi} n_i x_i + 1 - W_{oi})}{\prod_i (W_{oi} n_i + 1 - W_{oi})}

    Computed factor by factor, as an NMU with the weights of :func:`effective_weight`: one product
    instead of two, and for weights of 0 and 1 the noise cancels to the last bit.

    Parameters
    ----------
    x : Tensor
        Inputs, ``(*batch_shape, n, in_features)``.
    weight : Tensor
        Weights, ``(*batch_shape, out_features, in_features)``.
    noise : Tensor
        Positive multipliers, one an input, of the shape of ``x``.

    Returns
    -------
    Tensor
        Denoised products, ``(*batch_shape, n, out_features)``.

    Raises
    ------
    TypeError
        If an argument is not a floating-point tensor.
    ValueError
        If the shapes do not fit together or the batch is empty.

    References
    ----------
    Mistry, Farrahi and Hare, arXiv 2211.05624.
    """
    _check(x, weight)
    _check_floating(noise=noise)
    if noise.shape != x.shape:
        raise ValueError(f"noise must have the shape of x, {tuple(x.shape)}; got {tuple(noise.shape)}")
    effective_weights = (
        effective_weight(weight_i, noise_i)
        for weight_i, noise_i in zip(columns(weight), rows(noise), strict=True)
    )
    return gated_product(x, effective_weights)


def effective_weight(weight: Tensor, noise: Tensor | float) -> Tensor:
    r"""Weight that the sNMU uses in place of ``weight``: :math:`V = nW / (nW + 1 - W)`.

    The odds :math:`V / (1 - V)` are the odds of :math:`W` times :math:`n`; 0 and 1 are fixed points.

    Parameters
    ----------
    weight : Tensor
        Any shape.
    noise : Tensor or float
        Broadcasts with ``weight``.

    Returns
    -------
    Tensor
        The effective weight, of the broadcast shape.
    """
    scaled = noise * weight
    return scaled / (scaled + (1 - weight))


def gated_product(x: Tensor, weights: Iterable[Tensor]) -> Tensor:
    r"""Product :math:`\prod_i (v_i x_i + 1 - v_i)` with weights that may differ from row to row.

    Factor by factor: unlike ``torch.prod``, this needs no division or case for zeros.

    Parameters
    ----------
    x : Tensor
        Inputs, ``(*batch_shape, n, in_features)``.
    weights : iterable of Tensor
        One an input, each broadcasting to ``(*batch_shape, n, out_features)``.

    Returns
    -------
    Tensor
        Products, ``(*batch_shape, n, out_features)``.
    """
    factors = (v_i * x_i + (1 - v_i) for x_i, v_i in zip(rows(x), weights, strict=True))
    product = next(factors)
    for factor in factors:
        product = product * factor
    return product


def rows(x: Tensor) -> list[Tensor]:
    """Split ``(..., n, in_features)`` into ``in_features`` tensors ``(..., n, 1)``."""
    return [column.unsqueeze(-1) for column in x.unbind(-1)]


def columns(weight: Tensor) -> list[Tensor]:
    """Split ``(..., out_features, in_features)`` into ``in_features`` tensors ``(..., 1, out_features)``."""
    return [column.unsqueeze(-2) for column in weight.unbind(-1)]


def nau(x: Tensor, weight: Tensor) -> Tensor:
    r"""Neural Addition Unit: :math:`z_o = \sum_i W_{oi} x_i`.

    Parameters
    ----------
    x : Tensor
        Inputs, ``(*batch_shape, n, in_features)``.
    weight : Tensor
        Weights, ``(*batch_shape, out_features, in_features)``.

    Returns
    -------
    Tensor
        Sums, ``(*batch_shape, n, out_features)``.

    Raises
    ------
    TypeError
        If ``x`` or ``weight`` is not a floating-point tensor.
    ValueError
        If the last dimensions differ, the batch is empty or a tensor has fewer than two dimensions.

    References
    ----------
    Madsen and Johansen, "Neural Arithmetic Units", ICLR 2020, section on the NAU.
    """
    _check(x, weight)
    return (weight @ x.mT).mT  # much faster than x @ weight.mT where x has its columns in one piece


def batch_noise_bounds(x: Tensor) -> tuple[Tensor, Tensor]:
    r"""Bounds of the sNMU's batch noise, :math:`U[1, 1 + 1/s]`.

    ``s`` is the sample standard deviation of all elements of one replica's batch. It is a statistic
    of the data, so no gradient flows through the bounds.

    Parameters
    ----------
    x : Tensor
        Inputs to the unit, ``(*batch_shape, n, in_features)``.

    Returns
    -------
    low, high : Tensor
        Both ``(*batch_shape, 1, 1)``.

    Raises
    ------
    TypeError
        If ``x`` is not a floating-point tensor.
    ValueError
        If a batch has a single element or is constant: then ``s`` is undefined or 0.
    """
    _check_floating(x=x)
    if x.dim() < 2 or x.shape[-2] * x.shape[-1] < 2:
        raise ValueError(
            "batch noise needs x of shape (*batch_shape, n, in_features) with at least two elements "
            f"a batch; got shape {tuple(x.shape)}"
        )
    with torch.no_grad():
        deviation = x.std(dim=(-2, -1), keepdim=True)
        if not bool((deviation > 0).all()):
            raise ValueError(
                "batch noise needs a batch that varies and is finite: its bound is 1 + 1/s, and the "
                f"standard deviation s here has minimum {deviation.min().item()}"
            )
        return torch.ones_like(deviation), 1 + 1 / deviation


def sparsity_regularizer(weight: Tensor) -> Tensor:
    r"""Mean over each weight matrix of :math:`\min(|W|, |1 - |W||)`.

    It is 0 exactly when every weight is -1, 0 or 1, and largest halfway between.

    Parameters
    ----------
    weight : Tensor
        Weights, ``(*batch_shape, out_features, in_features)``.

    Returns
    -------
    Tensor
        One value a replica, ``batch_shape``.

    References
    ----------
    Madsen and Johansen, "Neural Arithmetic Units", ICLR 2020, sparsity regularisers of the NAU and the NMU.
    """
    return _distance_to_discrete(weight).mean(dim=(-2, -1))


def sparsity_error(weight: Tensor) -> Tensor:
    r"""Largest distance of a weight from -1, 0 or 1.

    .. math::

        \max_{oi} \min(|W_{oi}|, |1 - |W_{oi}||)

    Parameters
    ----------
    weight : Tensor
        Weights, ``(*batch_shape, out_features, in_features)``.

    Returns
    -------
    Tensor
        One value a replica, ``batch_shape``.

    References
    ----------
    Madsen and Johansen, arXiv 1910.01888.
    """
    return _distance_to_discrete(weight).amax(dim=(-2, -1))


def _distance_to_discrete(weight: Tensor) -> Tensor:
    _check_floating(weight=weight)
    if weight.dim() < 2 or weight.numel() == 0:
        raise ValueError(
            "weight must be a non-empty tensor of shape (*batch_shape, out_features, in_features); "
            f"got {tuple(weight.shape)}"
        )
    magnitude = weight.abs()
    return torch.minimum(magnitude, (1 - magnitude).abs())


def _check_floating(**tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor; got {type(tensor).__name__}")
        if not tensor.is_floating_point():
            raise TypeError(f"{name} must have a floating-point dtype; got {tensor.dtype}")


def _check(x: Tensor, weight: Tensor) -> None:
    _check_floating(x=x, weight=weight)
    if x.dim() < 2 or weight.dim() < 2:
        raise ValueError(
            "x must be (*batch_shape, n, in_features) and weight (*batch_shape, out_features, "
            f"in_features); got {tuple(x.shape)} and {tuple(weight.shape)}"
        )
    if x.shape[-1] != weight.shape[-1]:
        raise ValueError(
            f"x must have {weight.shape[-1]} in its last dimension, the weight's in_features; "
            f"got {x.shape[-1]}"
        )
    if x.numel() == 0 or weight.numel() == 0:
        raise ValueError(f"x and weight must not be empty; got {tuple(x.shape)} and {tuple(weight.shape)}")
