r"""What training does on average, in closed form: no data are drawn here.

Inputs are independent. Input :math:`i` has the mean :math:`\mu_i` and the second moment :math:`m_i`, and the
target is the product of the relevant inputs. Each factor of the unit is :math:`1 + V_i (x_i - 1)`, with
:math:`V_i = W_i` for the NMU and the noise-shifted weight of :func:`nmu.functional.effective_weight` for the
sNMU. Squaring out and taking the mean, factor by factor,

.. math::

    \mathbb{E}[(z - y)^2] = \prod_i A_i - 2 \prod_i B_i + \prod_i C_i

with :math:`A_i = 1 + 2 (\mu_i - 1)\,\mathbb{E}[V_i] + (m_i - 2 \mu_i + 1)\,\mathbb{E}[V_i^2]` and, for a
relevant input, :math:`B_i = \mu_i + (m_i - \mu_i)\,\mathbb{E}[V_i]` and :math:`C_i = m_i`; for one that is to
be left out, :math:`B_i = 1 + (\mu_i - 1)\,\mathbb{E}[V_i]` and :math:`C_i = 1`.
"""

import math

import torch
from torch import Tensor

from nmu import functional

__all__ = [
    "batch_noise",
    "effective_moments",
    "expected_gradient",
    "expected_loss",
    "log_odds_shift",
    "origin_gradient",
    "origin_is_trap",
    "output_variance",
    "predict_success",
    "sign_change",
    "trap_corners",
    "uniform_moments",
]

Noise = tuple[float, float] | Tensor | None


def uniform_moments(low: float, high: float) -> tuple[float, float]:
    """Return the mean and the second moment of U[low, high].

    Raises
    ------
    ValueError
        If the interval is not finite or has ``low >= high``.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"low and high must be finite with low < high; got {low} and {high}")
    return (low + high) / 2, (low * low + low * high + high * high) / 3


def batch_noise(low: float, high: float) -> tuple[float, float]:
    """Return the interval of the sNMU's batch noise for inputs from U[low, high].

    It uses the distribution's standard deviation; that of a batch scatters about it.
    """
    mean, second = uniform_moments(low, high)
    return 1.0, 1 + 1 / math.sqrt(second - mean * mean)


def log_odds_shift(noise: tuple[float, float] | Tensor) -> float:
    r"""Return :math:`\mathbb{E}[\log n]`, the mean shift of a weight's log-odds under the noise.

    For :math:`n \sim U[a, b]` it is :math:`(b \log b - a \log a) / (b - a) - 1`.

    Parameters
    ----------
    noise : tuple of float or Tensor
        As for :func:`effective_moments`.
    """
    if isinstance(noise, Tensor):
        return noise.log().mean().item()
    low, high = noise
    if low == high:
        return math.log(low)
    return (high * math.log(high) - low * math.log(low)) / (high - low) - 1


def effective_moments(weight: Tensor, noise: Noise) -> tuple[Tensor, Tensor]:
    r"""Return :math:`\mathbb{E}[V]` and :math:`\mathbb{E}[V^2]`, the moments of the sNMU's effective weight.

    For :math:`n \sim U[a, b]`, with :math:`D_n = nW + 1 - W` and :math:`1 - V = (1 - W) / D_n`,

    .. math::

        \mathbb{E}[1 - V] = \frac{1 - W}{W (b - a)} \log \frac{D_b}{D_a}, \qquad
        \mathbb{E}[(1 - V)^2] = \frac{(1 - W)^2}{D_a D_b}.

    Parameters
    ----------
    weight : Tensor
        Weights in [0, 1], of any shape.
    noise : tuple of float, Tensor or None
        The interval of uniform noise; or its values, ``(K,)``, equally likely; or none, for the NMU.

    Returns
    -------
    first, second : Tensor
        Both of the shape of ``weight``.
    """
    if noise is None:
        return weight, weight * weight
    if isinstance(noise, Tensor):
        effective = functional.effective_weight(weight.unsqueeze(-1), noise)
        return effective.mean(-1), effective.square().mean(-1)
    low, high = noise
    at_low, at_high = (n * weight + (1 - weight) for n in noise)
    ratio = (high - low) * weight / at_low  # D_b / D_a - 1
    small = ratio.abs() < 1e-3
    safe = torch.where(small, 1.0, ratio)
    series = 1 - ratio * (1 / 2 - ratio * (1 / 3 - ratio * (1 / 4 - ratio / 5)))
    logarithm = torch.where(small, series, torch.log1p(safe) / safe)
    complement = (1 - weight) / at_low * logarithm
    complement_squared = (1 - weight) ** 2 / (at_low * at_high)
    return 1 - complement, 1 - 2 * complement + complement_squared


def expected_loss(
    weight: Tensor,
    mean: float | Tensor,
    second: float | Tensor,
    noise: Noise = None,
    relevant: int | None = None,
) -> Tensor:
    """Return the expected squared error of the unit in training.

    Parameters
    ----------
    weight : Tensor
        ``(..., I)``.
    mean, second : float or Tensor
        First two moments of the inputs; a number for all, or ``(I,)``.
    noise : optional
        As for :func:`effective_moments`; none for the NMU.
    relevant : int, optional
        How many inputs, from the first on, the target multiplies; all by default.

    Returns
    -------
    Tensor
        ``(...)``.

    Raises
    ------
    ValueError
        If ``relevant`` is not between 1 and the number of inputs.
    """
    inputs = weight.shape[-1]
    relevant = inputs if relevant is None else relevant
    if not 1 <= relevant <= inputs:
        raise ValueError(f"relevant must be between 1 and {inputs}, the number of inputs; got {relevant}")
    mean, second = (torch.as_tensor(m, dtype=weight.dtype).expand(inputs) for m in (mean, second))
    wanted = torch.arange(inputs) < relevant
    first, squared = effective_moments(weight, noise)
    output_squared = 1 + 2 * (mean - 1) * first + (second - 2 * mean + 1) * squared
    output_target = torch.where(wanted, mean + (second - mean) * first, 1 + (mean - 1) * first)
    target_squared = torch.where(wanted, second, 1.0)
    return output_squared.prod(-1) - 2 * output_target.prod(-1) + target_squared.prod()


def expected_gradient(
    weight: Tensor,
    mean: float | Tensor,
    second: float | Tensor,
    noise: Noise = None,
    relevant: int | None = None,
) -> Tensor:
    """Return the gradient of :func:`expected_loss` in the weights, ``(..., I)``."""
    weight = weight.detach().requires_grad_()
    loss = expected_loss(weight, mean, second, noise, relevant)
    return torch.autograd.grad(loss.sum(), weight)[0]


def origin_gradient(mean: float, second: float, noise_mean: float = 1.0) -> float:
    r"""Return the expected gradient of the two-input unit at W = (0, 0), the same in either weight.

    It is :math:`2\,\mathbb{E}[n]\,(\mu - 1 + \mu^2 - m \mu)`: at 0 the effective weight has the slope
    :math:`n`, so noise scales the NMU's gradient and never turns it.
    """
    return 2 * noise_mean * (mean - 1 + mean * mean - second * mean)


def origin_is_trap(low: float, high: float) -> bool:
    r"""Tell whether the clamped two-input unit has a local minimum at the origin on U[low, high].

    A positive gradient pushes both weights below 0, and the clamp puts them back. With the variance :math:`v`
    it is :math:`-2 [(\mu - 1)^2 (\mu + 1) + v \mu]`: a trap for every :math:`\mu < -1`, none for
    :math:`\mu \ge 0`, and between them one where the range is wide enough.
    """
    return origin_gradient(*uniform_moments(low, high)) > 0


def trap_corners(low: float, high: float, in_features: int, relevant: int | None = None) -> Tensor:
    r"""Return the corners of :math:`\{0, 1\}^I` that are traps on U[low, high], the solution left out.

    A corner is one if each component of the expected gradient points out of the cube: above 0 for a weight
    of 0, below 0 for a weight of 1. Positive noise, drawn independently of the inputs, multiplies these
    components by :math:`\mathbb{E}[n]` and :math:`\mathbb{E}[1/n]`: the sNMU has the same trap corners.

    Parameters
    ----------
    low, high : float
        The inputs come from U[low, high].
    in_features : int
        Number of inputs :math:`I`; all :math:`2^I` corners are tried.
    relevant : int, optional
        How many inputs, from the first on, the target multiplies; all by default.

    Returns
    -------
    Tensor
        ``(K, in_features)``.
    """
    corners = (torch.arange(2**in_features)[:, None] >> torch.arange(in_features) & 1).double()
    gradient = expected_gradient(corners, *uniform_moments(low, high), relevant=relevant)
    outwards = torch.where(corners == 0, gradient > 0, gradient < 0).all(-1)
    wanted = (torch.arange(in_features) < (in_features if relevant is None else relevant)).double()
    return corners[outwards & (corners != wanted).any(-1)]


def sign_change(x: float | Tensor, noise: float | Tensor = 1.0) -> float | Tensor:
    r"""Return the weight at which a factor is 0 for a negative input: :math:`1 / (1 - n x)`."""
    return 1 / (1 - noise * x)


def output_variance(weight: Tensor, x: Tensor, noise: Noise) -> Tensor:
    r"""Return the variance of the sNMU's output over its noise, for given inputs.

    With independent noise it is :math:`\prod_i \mathbb{E}[f_i^2] - \prod_i \mathbb{E}[f_i]^2` for the factors
    :math:`f_i = 1 + V_i (x_i - 1)`. It is 0 where all weights are 0 or 1.

    Parameters
    ----------
    weight, x : Tensor
        ``(..., I)``; they broadcast.
    noise : optional
        As for :func:`effective_moments`.

    Returns
    -------
    Tensor
        ``(...)``.
    """
    first, second = effective_moments(weight, noise)
    shift = x - 1
    squared = 1 + 2 * shift * first + shift * shift * second
    return squared.prod(-1) - (1 + shift * first).square().prod(-1)


def predict_success(
    weight: Tensor,
    low: float,
    high: float,
    noise: Noise = None,
    *,
    relevant: int | None = None,
    steps: int = 50_000,
    learning_rate: float = 1e-3,
    regularizer_scale: float = 10.0,
    regularizer_ramp: tuple[int, int] = (20_000, 35_000),
    tolerance: float = 0.01,
) -> Tensor:
    """Tell from the initial weights alone which runs will succeed: follow the expected gradient with Adam.

    The regulariser, its ramp and the clamp are those of :func:`nmu.training.train`. The paths are followed
    until all weights rest at 0 or 1, or to the last step.

    Parameters
    ----------
    weight : Tensor
        Initial weights, ``(n, I)``.
    low, high : float
        The inputs come from U[low, high].
    noise : optional
        As for :func:`effective_moments`; none for the NMU.
    relevant : int, optional
        How many inputs, from the first on, the target multiplies; all by default.
    steps, learning_rate, regularizer_scale, regularizer_ramp : optional
        As for :func:`nmu.training.train`.
    tolerance : float, optional
        How near a weight must come to the right one.

    Returns
    -------
    Tensor
        Boolean, ``(n,)``.

    Raises
    ------
    ValueError
        If ``weight`` is not a matrix of numbers in [0, 1].
    """
    if weight.dim() != 2 or not bool(((weight >= 0) & (weight <= 1)).all()):
        raise ValueError(f"weight must be (n, I) with values in [0, 1]; got shape {tuple(weight.shape)}")
    path = _follow(
        weight,
        *uniform_moments(low, high),
        noise,
        relevant=relevant,
        steps=steps,
        learning_rate=learning_rate,
        regularizer_scale=regularizer_scale,
        regularizer_ramp=regularizer_ramp,
    )
    inputs = weight.shape[1]
    right = (torch.arange(inputs) < (inputs if relevant is None else relevant)).double()
    return ((path - right).abs() < tolerance).all(-1)


def _follow(
    weight: Tensor,
    mean: float,
    second: float,
    noise: Noise,
    *,
    relevant: int | None,
    steps: int,
    learning_rate: float,
    regularizer_scale: float,
    regularizer_ramp: tuple[int, int],
) -> Tensor:
    """Return the weights after ``steps`` steps of Adam on the expected gradient, in ``float64``."""
    parameter = torch.nn.Parameter(weight.double().clone())
    optimizer = torch.optim.Adam([parameter], lr=learning_rate, foreach=False)
    start, end = regularizer_ramp
    for step in range(steps):
        gradient = expected_gradient(parameter, mean, second, noise, relevant)
        scale = regularizer_scale * min(max((step - start) / (end - start), 0.0), 1.0)
        with torch.no_grad():
            toward = torch.where(parameter < 0.5, 1.0, -1.0) / parameter.shape[1]
            parameter.grad = gradient + scale * toward
            before = parameter.clone()
            optimizer.step()
            parameter.clamp_(0, 1)
            if bool((parameter == before).all()) and bool(((before == 0) | (before == 1)).all()):
                break
    return parameter.detach()
