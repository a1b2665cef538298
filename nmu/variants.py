"""Units that change one thing about the sNMU, and simpler ways to the same end.

Each takes the arguments of an NMU, is one in evaluation mode, and starts from an NMU's weights where nothing
else is said. Training reads their random numbers from each replica's own stream.
"""

import math
from functools import partial

import torch
from torch import Tensor

from nmu import functional
from nmu.layers import NMU, StochasticNMU, _uniform

__all__ = [
    "CONSTANT",
    "AnnealedNMU",
    "BinaryNMU",
    "CompetingNMU",
    "DropoutNMU",
    "GradientNoiseNMU",
    "LogUniformNMU",
    "MovedStartNMU",
    "NearOneNMU",
    "NegativeOnlyNMU",
    "NoisyInputNMU",
    "NoisyWeightNMU",
    "RestartingNMU",
    "variants",
]

CONSTANT = math.exp(5 * math.log(5) / 4 - 1)
"""The geometric mean of U[1, 5], about 2.75: as a constant n it shifts as much as that noise does."""


class LogUniformNMU(StochasticNMU):
    """sNMU whose noise is uniform in its logarithm, between the logarithms of the interval's ends."""

    def sample_noise(self, x: Tensor) -> Tensor:
        """Draw the noise for the batch ``x``, of the shape of ``x``."""
        low, high = self.noise
        return low * (high / low) ** self._uniform(x)


class AnnealedNMU(StochasticNMU):
    """sNMU whose noise shrinks towards 1 in proportion to the steps that are left.

    Parameters
    ----------
    until : int
        Training steps until the noise is gone.
    arguments, options
        As for :class:`~nmu.layers.StochasticNMU`.
    """

    def __init__(self, *arguments, until: int, **options):
        super().__init__(*arguments, **options)
        self.until = until
        self.step = 0

    def sample_noise(self, x: Tensor) -> Tensor:
        """Draw the noise for the batch ``x``, of the shape of ``x``, and count the step."""
        left = max(1 - self.step / self.until, 0.0)
        self.step += 1
        return 1 + left * (super().sample_noise(x) - 1)


class NegativeOnlyNMU(StochasticNMU):
    """sNMU that leaves inputs of 0 and above as they are."""

    def sample_noise(self, x: Tensor) -> Tensor:
        """Draw the noise for the batch ``x``, of the shape of ``x``."""
        return torch.where(x < 0, super().sample_noise(x), 1.0)


class MovedStartNMU(NMU):
    """NMU whose initial weights have their odds multiplied by :data:`CONSTANT`."""

    @torch.no_grad()
    def reset_parameters(self, generator=None) -> None:
        """Draw the weights anew."""
        super().reset_parameters(generator)
        self.weight.copy_(functional.effective_weight(self.weight, CONSTANT))


class NearOneNMU(NMU):
    """NMU whose weights start in U[0.75, 1]."""

    def _initial_bounds(self) -> tuple[float, float]:
        return 0.75, 1.0


class NoisyInputNMU(StochasticNMU):
    """The sNMU's noise on the inputs, never divided out."""

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, out_features)``."""
        return functional.nmu(x * self.sample_noise(x) if self.training else x, self.weight)


class DropoutNMU(NoisyInputNMU):
    """Dropout on the inputs: each is 0 with probability 0.1, else divided by 0.9.

    References
    ----------
    Srivastava et al., "Dropout", JMLR 15, 2014.
    """

    rate = 0.1

    def sample_noise(self, x: Tensor) -> Tensor:
        """Draw the multipliers for the batch ``x``, of the shape of ``x``."""
        return (self._uniform(x) >= self.rate) / (1 - self.rate)


class NoisyWeightNMU(StochasticNMU):
    """Noise from U[-0.25, 0.25] added to the weights for each row and input, also at weights of 0 and 1."""

    width = 0.25

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, out_features)``."""
        if not self.training:
            return functional.nmu(x, self.weight)
        noise = self.width * (2 * self._uniform(x) - 1)
        return functional.gated_product(
            x, (w + e for w, e in zip(functional.columns(self.weight), functional.rows(noise), strict=True))
        )


class BinaryNMU(StochasticNMU):
    """Each weight is 1 with the probability that it gives, else 0, for each row and input.

    The gradient passes straight through to the probability.

    References
    ----------
    Bengio, Leonard and Courville, arXiv 1308.3432.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, out_features)``."""
        if not self.training:
            return functional.nmu(x, self.weight)
        draws = functional.rows(self._uniform(x))
        return functional.gated_product(
            x,
            (
                w + ((u < w).to(w) - w).detach()
                for w, u in zip(functional.columns(self.weight), draws, strict=True)
            ),
        )


class GradientNoiseNMU(NMU):
    r"""NMU with Gaussian noise on its gradient, of variance :math:`0.3 / (1 + t)^{0.55}`.

    References
    ----------
    Neelakantan et al., arXiv 1511.06807.
    """

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.generator = None
        self.step = 0
        self.weight.register_hook(self._disturbed)

    def _disturbed(self, gradient: Tensor) -> Tensor:
        deviation = math.sqrt(0.3 / (1 + self.step) ** 0.55)
        self.step += 1
        middle_of_step = self._uniform(gradient) + 2**-25  # never 0, whose quantile is infinite
        return gradient + deviation * torch.special.ndtri(middle_of_step)


class CompetingNMU(NMU):
    """Three NMUs of which the one with the smallest error on the batch before is used and trained."""

    candidates = 3

    def __init__(self, in_features: int, out_features: int, batch_shape: tuple[int, ...] = (), **options):
        super().__init__(in_features, self.candidates * out_features, batch_shape, **options)
        self.register_buffer("leader", torch.zeros(batch_shape, dtype=torch.long))

    @torch.no_grad()
    def reset_parameters(self, generator=None) -> None:
        """Draw the weights anew, those of the first candidate as for an NMU."""
        low, high = self._initial_bounds()
        for weight in self.weight.tensor_split(self.candidates, dim=-2):
            weight.copy_(low + (high - low) * _uniform(weight, generator))

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(*batch_shape, n, in_features)`` to ``(*batch_shape, n, out_features)``."""
        self.outputs = functional.nmu(x, self.weight).unflatten(-1, (self.candidates, -1))
        return self._of_leader(self.outputs, -2)

    @torch.no_grad()
    def observe(self, error: Tensor) -> None:
        """Choose the candidate for the next batch by the error of this one, of the output's shape."""
        target = self._of_leader(self.outputs, -2) - error
        self.leader = (self.outputs - target.unsqueeze(-2)).square().mean((-3, -1)).argmin(-1)

    def weights(self) -> dict[str, Tensor]:
        """Return the weights of the candidate that is used."""
        return {"weight": self._of_leader(self.weight.unflatten(-2, (self.candidates, -1)), -3)}

    def _of_leader(self, values: Tensor, dim: int) -> Tensor:
        index = self.leader.view(*self.batch_shape, *[1] * (values.dim() - len(self.batch_shape)))
        return values.take_along_dim(index, dim).squeeze(dim)


class RestartingNMU(NMU):
    """NMU that starts anew where its error is not yet a tenth of what it was at first.

    Parameters
    ----------
    until : int
        The last of four steps, equally far apart, after which a replica may start anew.
    arguments, options
        As for :class:`~nmu.layers.NMU`.
    """

    def __init__(self, *arguments, until: int, **options):
        super().__init__(*arguments, **options)
        self.until = until
        self.first_error = None

    def restarts(self, step: int, interpolation_error: Tensor) -> Tensor:
        """Tell which replicas start anew after this step, ``batch_shape``."""
        if self.first_error is None:
            self.first_error = interpolation_error
        if step in range(self.until // 4, self.until + 1, self.until // 4):
            return interpolation_error > 0.1 * self.first_error
        return torch.zeros_like(interpolation_error, dtype=torch.bool)


def variants(until: int) -> dict[str, type[NMU] | partial]:
    """Return the variants by name.

    Parameters
    ----------
    until : int
        The step at which the annealed noise is gone, and after which nothing starts anew.

    Returns
    -------
    dict of str to callable
        Those of the noise first, then the ablations of reversibility and the simpler ways.
    """
    return {
        "constant": partial(StochasticNMU, noise=(CONSTANT, CONSTANT)),
        "log-symmetric": partial(LogUniformNMU, noise=(0.2, 5.0)),
        "below-1": partial(StochasticNMU, noise=(0.2, 1.0)),
        "annealed": partial(AnnealedNMU, until=until),
        "negative-only": NegativeOnlyNMU,
        "moved-start": MovedStartNMU,
        "not-undone": NoisyInputNMU,
        "weight-noise": NoisyWeightNMU,
        "dropout": DropoutNMU,
        "gradient-noise": GradientNoiseNMU,
        "binary-weights": BinaryNMU,
        "competing": CompetingNMU,
        "restarts": partial(RestartingNMU, until=until),
        "near-1-start": NearOneNMU,
    }
