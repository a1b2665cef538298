"""The multilayer perceptron of figure 1, as a module with the interface of the units."""

import math

import torch
from torch import Tensor, nn

from nmu import functional
from nmu.layers import _check_sizes, _uniform

__all__ = ["MLP"]


class MLP(nn.Module):
    r"""Multilayer perceptron with one hidden ReLU layer, :math:`z = A \max(B x + c, 0) + d`.

    It is ``Linear``, ``ReLU``, ``Linear`` with biases, for a stack of independent replicas. All
    parameters start as :class:`torch.nn.Linear` starts them, in :math:`U[-1/\sqrt{k}, 1/\sqrt{k}]`,
    ``k`` being the number of inputs of their layer.

    Parameters
    ----------
    in_features, out_features : int
        Number of inputs and of outputs.
    hidden_features : int
        Number of hidden ReLU units.
    batch_shape : tuple of int, optional
        Shape of the stack of independent replicas; ``()`` is an ordinary network.
    device, dtype : optional
        As for :class:`torch.nn.Linear`.

    Attributes
    ----------
    hidden_weight : torch.nn.Parameter
        :math:`B`, ``(*batch_shape, hidden_features, in_features)``.
    hidden_bias : torch.nn.Parameter
        :math:`c`, ``(*batch_shape, hidden_features)``.
    output_weight : torch.nn.Parameter
        :math:`A`, ``(*batch_shape, out_features, hidden_features)``.
    output_bias : torch.nn.Parameter
        :math:`d`, ``(*batch_shape, out_features)``.

    Raises
    ------
    ValueError
        If a size is not a positive integer.

    References
    ----------
    Mistry, Farrahi and Hare, arXiv 2211.05624, figure 1, uses 1 and 100 hidden units.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        hidden_features: int,
        batch_shape: tuple[int, ...] = (),
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        batch_shape = tuple(batch_shape)
        _check_sizes(
            in_features=[in_features],
            out_features=[out_features],
            hidden_features=[hidden_features],
            batch_shape=batch_shape,
        )
        self.in_features = in_features
        self.out_features = out_features
        self.hidden_features = hidden_features
        self.batch_shape = batch_shape

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty((*batch_shape, *shape), device=device, dtype=dtype))

        self.hidden_weight = parameter(hidden_features, in_features)
        self.hidden_bias = parameter(hidden_features)
        self.output_weight = parameter(out_features, hidden_features)
        self.output_bias = parameter(out_features)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generator=None) -> None:
        """Draw all weights and biases anew.

        Parameters
        ----------
        generator : torch.Generator or ReplicaStreams, optional
            Where the random numbers come from; torch's global generator by default.
        """
        for weight, bias in [
            (self.hidden_weight, self.hidden_bias),
            (self.output_weight, self.output_bias),
        ]:
            bound = 1 / math.sqrt(weight.shape[-1])
            for parameter in (weight, bias.unsqueeze(-1)):
                parameter.copy_(bound * (2 * _uniform(parameter, generator) - 1))

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
        functional._check(x, self.hidden_weight)
        hidden = torch.relu(x @ self.hidden_weight.mT + self.hidden_bias.unsqueeze(-2))
        return hidden @ self.output_weight.mT + self.output_bias.unsqueeze(-2)

    def extra_repr(self) -> str:
        """Return what ``repr`` shows between the brackets."""
        text = (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"hidden_features={self.hidden_features}"
        )
        return f"{text}, batch_shape={self.batch_shape}" if self.batch_shape else text
