"""The units and their gradients in plain NumPy loops, straight from the definitions.

Nothing here knows how the package computes: the sNMU is its quotient of two products, and every
gradient is the product of the *other* factors, so that zeros need no care.
"""

import numpy as np


def _products(factors):
    """Product along the last axis, and for each position the product of all the others."""
    whole = np.ones(factors.shape[:-1])
    others = np.ones(factors.shape)
    for index in np.ndindex(factors.shape):
        whole[index[:-1]] *= factors[index]
        for j in range(factors.shape[-1]):
            if j != index[-1]:
                others[(*index[:-1], j)] *= factors[index]
    return whole, others


def nmu(x, weight, upstream):
    """Values ``(n, O)``, and the gradients of ``(upstream * values).sum()``."""
    n, in_features = x.shape
    out_features = len(weight)
    factors = np.empty((n, out_features, in_features))
    for row, o, i in np.ndindex(factors.shape):
        factors[row, o, i] = weight[o, i] * x[row, i] + 1 - weight[o, i]
    values, others = _products(factors)
    x_gradient, weight_gradient = np.zeros(x.shape), np.zeros(weight.shape)
    for row, o, i in np.ndindex(factors.shape):
        x_gradient[row, i] += upstream[row, o] * others[row, o, i] * weight[o, i]
        weight_gradient[o, i] += upstream[row, o] * others[row, o, i] * (x[row, i] - 1)
    return values, [x_gradient, weight_gradient]


def snmu(x, weight, noise, upstream):
    """As :func:`nmu`, with a third gradient for the noise."""
    n, in_features = x.shape
    out_features = len(weight)
    above = np.empty((n, out_features, in_features))
    below = np.empty((n, out_features, in_features))
    for row, o, i in np.ndindex(above.shape):
        above[row, o, i] = weight[o, i] * noise[row, i] * x[row, i] + 1 - weight[o, i]
        below[row, o, i] = weight[o, i] * noise[row, i] + 1 - weight[o, i]
    numerator, above_others = _products(above)
    denominator, below_others = _products(below)

    def quotient(row, o, i, above_slope, below_slope):
        up = above_slope * above_others[row, o, i] * denominator[row, o]
        down = below_slope * below_others[row, o, i] * numerator[row, o]
        return upstream[row, o] * (up - down) / denominator[row, o] ** 2

    gradients = [np.zeros(x.shape), np.zeros(weight.shape), np.zeros(noise.shape)]
    for row, o, i in np.ndindex(above.shape):
        x_, w, s = x[row, i], weight[o, i], noise[row, i]
        gradients[0][row, i] += quotient(row, o, i, w * s, 0)
        gradients[1][o, i] += quotient(row, o, i, s * x_ - 1, s - 1)
        gradients[2][row, i] += quotient(row, o, i, w * x_, w)
    return numerator / denominator, gradients


def nau(x, weight, upstream):
    """As :func:`nmu`, for the sum of weighted inputs."""
    values = np.zeros((len(x), len(weight)))
    gradients = [np.zeros(x.shape), np.zeros(weight.shape)]
    for row, o, i in np.ndindex(len(x), *weight.shape):
        values[row, o] += weight[o, i] * x[row, i]
        gradients[0][row, i] += upstream[row, o] * weight[o, i]
        gradients[1][o, i] += upstream[row, o] * x[row, i]
    return values, gradients
