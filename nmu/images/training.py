"""Training an image network from products alone: epoch after epoch, and on from the last one after a stop."""

import io
import pickle
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm

from nmu.images.heads import input_regularizer
from nmu.images.sampling import Sample
from nmu.store import StoreError, write_atomic
from nmu.streams import seeded
from nmu.training import one_thread

__all__ = ["outputs", "train"]

CHUNK = 512
"""How many rows are evaluated at a time."""


def train(
    network: nn.Module,
    sample: Sample,
    evaluate: Callable[[nn.Module], dict],
    *,
    seed: int,
    epochs: int,
    batch_size: int,
    regularizer_scale: float,
    regularizer_ramp: tuple[float, float],
    learning_rate: float = 1e-3,
    input_regularizer_scale: float = 0.0,
    checkpoint: Path | None = None,
    progress: bool = True,
) -> list[dict]:
    r"""Train a network in place, with Adam, on the mean squared error of its products.

    A head with a ``regularizer`` has it added, times
    :math:`\lambda_\max \operatorname{clip}((t - \text{start}) / (\text{end} - \text{start}), 0, 1)` with
    :math:`t` in epochs; one with ``clamp_`` is clamped after each step. What is drawn in an epoch depends on
    the seed and the epoch's number alone, and everything runs on one thread, so a run that was stopped and
    goes on ends with the same numbers.

    Parameters
    ----------
    network : torch.nn.Module
        One of :mod:`nmu.images.networks`, on the device where to compute.
    sample : Sample
        The rows to train on; each epoch takes them all, in another order.
    evaluate : callable
        Called with the network before training and after each epoch; it returns numbers by name.
    seed : int
        Of the order, of dropout and of the head's noise.
    epochs, batch_size : int
        How often all rows are met, and how many make a step.
    regularizer_scale : float
        :math:`\lambda_\max`.
    regularizer_ramp : tuple of float
        Start and end, in epochs.
    learning_rate : float, optional
        Adam's.
    input_regularizer_scale : float, optional
        Factor of :func:`~nmu.images.heads.input_regularizer`, for heads with a ``regularizer``.
    checkpoint : Path, optional
        File in which the state after each epoch is kept; if it exists, training goes on from there.
    progress : bool, optional
        Whether to show how many epochs are done.

    Returns
    -------
    list of dict
        What ``evaluate`` returned, with ``epoch`` and ``training_error``, the epoch's mean squared error.

    Raises
    ------
    StoreError
        If the checkpoint cannot be read.
    """
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    device = next(network.parameters()).device
    targets = sample.products.to(device, torch.float32)
    start, end = regularizer_ramp
    head = network.head
    regularized = hasattr(head, "regularizer")

    def step(rows: Tensor, time: float) -> Tensor:
        """Make one step and return its mean squared error."""
        products, digits = network(sample.images(rows))
        target = targets[rows] if products.dim() == 2 else targets[rows, -1]
        error = (products - target).square().mean()
        loss = error
        if regularized:
            scale = regularizer_scale * min(max((time - start) / (end - start), 0.0), 1.0)
            loss = loss + scale * head.regularizer()
            if input_regularizer_scale:
                loss = loss + input_regularizer_scale * input_regularizer(head.weight, digits, products)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if hasattr(head, "clamp_"):
            head.clamp_()
        return error.detach()

    def epoch(number: int) -> float:
        network.train()
        total = torch.zeros((), device=device)
        with seeded(seed, f"epoch {number}"):
            batches = torch.randperm(len(sample)).split(batch_size)
            for i, rows in enumerate(batches):
                total += step(rows, number - 1 + i / len(batches)) * len(rows)
        return total.item() / len(sample)

    logged: list[dict] = []
    if checkpoint is not None and checkpoint.exists():
        state = _load(checkpoint, device)
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        logged = state["logged"]
    with (
        one_thread(),
        tqdm(total=epochs + 1, initial=len(logged), disable=not progress, unit="epoch", leave=False) as bar,
    ):
        for number in range(len(logged), epochs + 1):
            error = epoch(number) if number else float("nan")
            logged.append({"epoch": number, "training_error": error, **evaluate(network)})
            if checkpoint is not None:
                _save(checkpoint, network, optimizer, logged)
            bar.update()
    return logged


@one_thread()
@torch.no_grad()
def outputs(network: nn.Module, sample: Sample) -> tuple[Tensor, Tensor]:
    """Return what a network in evaluation mode makes of all rows of a sample, on the CPU.

    Returns
    -------
    products, digits : Tensor
        As the network returns them.
    """
    network.eval()
    parts = [network(sample.images(rows)) for rows in torch.arange(len(sample)).split(CHUNK)]
    products, digits = (torch.cat(part).cpu() for part in zip(*parts, strict=True))
    return products, digits


def _save(path: Path, network: nn.Module, optimizer: torch.optim.Optimizer, logged: list[dict]) -> None:
    file = io.BytesIO()
    state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "logged": logged}
    torch.save(state, file)
    write_atomic(path, file.getvalue())


def _load(path: Path, device: torch.device) -> dict:
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise StoreError(
            f"{path} is no checkpoint ({error}). Delete it and run the experiment again."
        ) from None
