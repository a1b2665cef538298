"""The baselines and their gradients in plain NumPy loops, straight from the definitions.

Each function takes one replica's ``x`` (n, I), its parameters by name and ``upstream`` (n, O), and
returns the values (n, O) and the gradients of ``(upstream * values).sum()``, by name. Nothing here
knows how the package computes: the G-NALU raises the golden ratio to powers.
"""

import numpy as np

PHI = (1 + np.sqrt(5)) / 2


def exponential(u, base):
    with np.errstate(over="ignore"):
        return np.exp(u) if base is None else base**u


def nac_weight(w_hat, m_hat, base=None):
    """Weight, and its derivatives with respect to both parameters."""
    log_base = 1 if base is None else np.log(base)
    t = (exponential(2 * w_hat, base) - 1) / (exponential(2 * w_hat, base) + 1)
    s = 1 / (1 + exponential(-m_hat, base))
    return t * s, log_base * (1 - t**2) * s, log_base * t * s * (1 - s)


def through_weight(gradients, names, weight_gradient, derivatives):
    for name, derivative in zip(names, derivatives, strict=True):
        gradients[name] = weight_gradient * derivative


def zeros(x, parameters):
    return {"x": np.zeros(x.shape), **{name: np.zeros(p.shape) for name, p in parameters.items()}}


def mnac(x, parameters, upstream):
    weight, *derivatives = nac_weight(parameters["w_hat"], parameters["m_hat"])
    gradients = zeros(x, parameters)
    values, weight_gradient = np.zeros(upstream.shape), np.zeros(weight.shape)
    for row, o in np.ndindex(*values.shape):
        for i in range(x.shape[1]):
            values[row, o] += weight[o, i] * np.log(abs(x[row, i]) + 1e-7)
        values[row, o] = np.exp(values[row, o])
        down = upstream[row, o] * values[row, o]
        for i in range(x.shape[1]):
            weight_gradient[o, i] += down * np.log(abs(x[row, i]) + 1e-7)
            gradients["x"][row, i] += down * weight[o, i] * np.sign(x[row, i]) / (abs(x[row, i]) + 1e-7)
    through_weight(gradients, ["w_hat", "m_hat"], weight_gradient, derivatives)
    return values, gradients


def nalu(x, parameters, upstream, base=None):
    weight, *derivatives = nac_weight(parameters["w_hat"], parameters["m_hat"], base)
    g_weight = parameters["gate_weight"]
    log_base = 1 if base is None else np.log(base)
    gradients = zeros(x, parameters)
    values, weight_gradient = np.zeros(upstream.shape), np.zeros(weight.shape)
    for row, o in np.ndindex(*values.shape):
        total = exponent = logit = 0.0
        logs = np.log(abs(x[row]) + 1e-7)
        for i in range(x.shape[1]):
            total += weight[o, i] * x[row, i]
            exponent += weight[o, i] * logs[i] / log_base
            logit += g_weight[o, i] * x[row, i]
        product = exponential(exponent, base)
        gate = 1 / (1 + exponential(-logit, base))
        values[row, o] = gate * total + (1 - gate) * product
        up = upstream[row, o]
        to_logit = up * (total - product) * gate * (1 - gate) * log_base
        for i in range(x.shape[1]):
            weight_gradient[o, i] += up * (gate * x[row, i] + (1 - gate) * product * logs[i])
            gradients["gate_weight"][o, i] += to_logit * x[row, i]
            slope = weight[o, i] * np.sign(x[row, i]) / (abs(x[row, i]) + 1e-7)
            gradients["x"][row, i] += up * (gate * weight[o, i] + (1 - gate) * product * slope)
            gradients["x"][row, i] += to_logit * g_weight[o, i]
    through_weight(gradients, ["w_hat", "m_hat"], weight_gradient, derivatives)
    return values, gradients


def gnalu(x, parameters, upstream):
    return nalu(x, parameters, upstream, base=PHI)


def inalu(x, parameters, upstream):
    sums, *sum_derivatives = nac_weight(parameters["sum_w_hat"], parameters["sum_m_hat"])
    powers, *power_derivatives = nac_weight(parameters["product_w_hat"], parameters["product_m_hat"])
    gradients = zeros(x, parameters)
    values = np.zeros(upstream.shape)
    sums_gradient, powers_gradient = np.zeros(sums.shape), np.zeros(powers.shape)
    n_in = x.shape[1]
    for row, o in np.ndindex(*values.shape):
        total, exponent, sign = 0.0, 0.0, 1.0
        others = np.ones(n_in)
        for i in range(n_in):
            total += sums[o, i] * x[row, i]
            exponent += powers[o, i] * np.log(max(abs(x[row, i]), 1e-7))
            factor = np.sign(x[row, i]) * abs(powers[o, i]) + 1 - abs(powers[o, i])
            sign *= factor
            others[np.arange(n_in) != i] *= factor
        magnitude = np.exp(min(exponent, 20))
        gate = 1 / (1 + np.exp(-parameters["gate"][o]))
        values[row, o] = gate * total + (1 - gate) * magnitude * sign
        up = upstream[row, o]
        gradients["gate"][o] += up * (total - magnitude * sign) * gate * (1 - gate)
        for i in range(n_in):
            sums_gradient[o, i] += up * gate * x[row, i]
            gradients["x"][row, i] += up * gate * sums[o, i]
            through_sign = magnitude * others[i] * (np.sign(x[row, i]) - 1) * np.sign(powers[o, i])
            powers_gradient[o, i] += up * (1 - gate) * through_sign
            if exponent < 20:
                through_power = up * (1 - gate) * magnitude * sign
                powers_gradient[o, i] += through_power * np.log(max(abs(x[row, i]), 1e-7))
                if abs(x[row, i]) > 1e-7:
                    gradients["x"][row, i] += through_power * powers[o, i] / x[row, i]
    through_weight(gradients, ["sum_w_hat", "sum_m_hat"], sums_gradient, sum_derivatives)
    through_weight(gradients, ["product_w_hat", "product_m_hat"], powers_gradient, power_derivatives)
    return values, gradients


def npu(x, parameters, upstream):
    real = parameters["real_weight"]
    imaginary = parameters.get("imaginary_weight", np.zeros(real.shape))
    epsilon = 2.0**-23
    gradients = zeros(x, {**parameters, "imaginary_weight": imaginary})
    values = np.zeros(upstream.shape)
    gate = np.minimum(np.maximum(parameters["gate"], 0), 1)
    moves = (parameters["gate"] >= 0) & (parameters["gate"] <= 1)
    for row, o in np.ndindex(*values.shape):
        radius = gate * (abs(x[row]) + epsilon) + (1 - gate)
        angle = gate * np.pi * (x[row] < 0)
        exponent = phase = 0.0
        for i in range(x.shape[1]):
            exponent += np.log(radius[i]) * real[o, i] - angle[i] * imaginary[o, i]
            phase += angle[i] * real[o, i] + np.log(radius[i]) * imaginary[o, i]
        values[row, o] = np.exp(exponent) * np.cos(phase)
        cosine = upstream[row, o] * np.exp(exponent) * np.cos(phase)  # derivative by the exponent
        sine = -upstream[row, o] * np.exp(exponent) * np.sin(phase)  # derivative by the phase
        for i in range(x.shape[1]):
            gradients["real_weight"][o, i] += cosine * np.log(radius[i]) + sine * angle[i]
            gradients["imaginary_weight"][o, i] += -cosine * angle[i] + sine * np.log(radius[i])
            by_log = cosine * real[o, i] + sine * imaginary[o, i]
            by_angle = -cosine * imaginary[o, i] + sine * real[o, i]
            gradients["x"][row, i] += by_log * gate[i] * np.sign(x[row, i]) / radius[i]
            by_gate = by_log * (abs(x[row, i]) + epsilon - 1) / radius[i] + by_angle * np.pi * (x[row, i] < 0)
            gradients["gate"][i] += moves[i] * by_gate
    return values, {name: gradients[name] for name in ["x", *parameters]}


def nac_bound(fan):
    """Bound r of the uniform parameters, by halving an interval and by adding up a fine grid."""
    low, high = 1e-3, 10.0
    for _ in range(60):
        r = (low + high) / 2
        u = r * ((np.arange(4000) + 0.5) / 2000 - 1)
        variance = np.mean(np.tanh(u) ** 2) * np.mean(1 / (1 + np.exp(-u)) ** 2)
        low, high = (r, high) if variance < 2 / max(fan, 5) else (low, r)
    return r


def inalu_penalty(parameters):
    return sum(np.mean([max(min(p, -p) + 20, 0) for p in array.ravel()]) for array in parameters.values())


class Restarts:
    """The rule of re-initialisation for one replica, with a plain list of all errors."""

    def __init__(self):
        self.errors = []

    def __call__(self, step, error):
        self.errors.append(error)
        if step % 10 != 0 or step == 0 or len(self.errors) <= 5000:
            return False
        half = len(self.errors) // 2
        older, newer = np.array(self.errors[:half]), np.array(self.errors[half:])
        with np.errstate(invalid="ignore"):
            again = older.mean() <= newer.mean() + newer.std() and newer.mean() > 1
        if again:
            self.errors = []
        return bool(again)
