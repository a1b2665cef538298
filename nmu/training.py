r"""The training loop, for one replica or hundreds at once.

What it asks of a unit
----------------------
A unit is a :class:`torch.nn.Module` made as ``unit(in_features, out_features, batch_shape=(R,))``; it maps
``(R, n, in_features)`` to ``(R, n, out_features)`` and has ``reset_parameters(generator)``, which draws
its parameters from ``generator.uniform((R, ...))``. What follows is used wherever a unit has it:

``generator``
    set to the stream of random numbers that the unit draws its noise from.
``clamp_()``
    called after each update.
``observe(error)``
    called after each forward pass in training with what the model's output lacks, ``(R, n, out_features)``.
``regularizer()``
    a penalty, ``(R,)``, added to the loss times the experiment's :math:`\lambda(t)`.
``regularizer_scale(step, interpolation_error)``
    a factor, a float or ``(R,)``, in place of :math:`\lambda(t)`.
``learning_rate``, ``gradient_limit``
    Adam's rate in place of the experiment's; the bound to which each gradient is clipped.
``restarts(step, interpolation_error)``
    boolean, ``(R,)``: the replicas to be initialised anew after this update.
``weights()``
    by name, the weights that ought to become discrete, where these are not the parameters themselves.

``interpolation_error`` is the error, ``(R,)``, that was logged last.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from tqdm import tqdm

from nmu.streams import ReplicaStreams
from nmu.tasks import SingleModuleTask

__all__ = ["History", "initialize", "one_thread", "train"]


@dataclass(frozen=True)
class History:
    """What training logged, at ``T`` steps of ``R`` replicas.

    Attributes
    ----------
    steps : Tensor
        ``(T,)``, the logged steps; step 0 is before the first update.
    interpolation_error, extrapolation_error : Tensor
        ``(T, R)``, mean squared errors on the fixed evaluation sets.
    weights : dict of str to Tensor
        By name the weights that ought to become discrete, ``(T, R, ...)``.
    interrupted : bool
        Whether the run was stopped before its last step.
    """

    steps: Tensor
    interpolation_error: Tensor
    extrapolation_error: Tensor
    weights: dict[str, Tensor]
    interrupted: bool


def initialize(model: nn.Module, seeds: Sequence[int]) -> nn.Module:
    """Reset the parameters of all units in ``model``, each replica from its own seed.

    Parameters
    ----------
    model : nn.Module
        A unit, or a network of units, with ``batch_shape=(len(seeds),)``.
    seeds : sequence of int
        One a replica.

    Returns
    -------
    nn.Module
        ``model`` itself.

    Raises
    ------
    ValueError
        If a unit has not one replica a seed, or a parameter belongs to no unit that can reset it.
    """
    _check_replicas(model, seeds)
    units = _units(model, "reset_parameters")
    reset = {parameter for unit in units for parameter in unit.parameters(recurse=False)}
    for name, parameter in model.named_parameters():
        if parameter not in reset:
            raise ValueError(
                f"{name} would not depend on the seed: its unit needs a method reset_parameters(generator)"
            )
    _reset(model, ReplicaStreams(seeds, "initial weights"))
    return model


def train(
    model: nn.Module,
    task: SingleModuleTask,
    seeds: Sequence[int],
    *,
    steps: int,
    learning_rate: float = 1e-3,
    batch_size: int = 128,
    regularizer_scale: float = 10.0,
    regularizer_ramp: tuple[int, int] = (20_000, 35_000),
    log_every: int = 1_000,
    evaluation_size: int = 10_000,
    device: torch.device | str = "cpu",
    progress: bool = True,
) -> History:
    r"""Train all replicas of ``model`` on ``task`` with Adam, on fresh data at each step.

    The loss is the sum over replicas of each one's mean squared error plus
    :math:`\lambda(t)` times its regulariser, with
    :math:`\lambda(t) = \lambda_\max \operatorname{clip}((t - \text{start}) / (\text{end} -
    \text{start}), 0, 1)`. Adam works element by element, so no replica sees another. Data and noise of
    a replica come from its own seed. The weights are clamped after each step.

    On the CPU everything runs on one thread: the tensors are too small for more to help. Ctrl-C stops
    the run and returns what was logged so far.

    Parameters
    ----------
    model : nn.Module
        A unit, or a network of units, that maps ``(R, n, in_features)`` to ``(R, n, out_features)``;
        trained in place. The top of this module says what a unit may bring along.
    task : SingleModuleTask
        One range a replica.
    seeds : sequence of int
        One a replica.
    steps : int
        Number of updates.
    learning_rate : float, optional
        Adam's.
    batch_size : int, optional
        Rows drawn afresh for each step and replica.
    regularizer_scale : float, optional
        :math:`\lambda_\max`.
    regularizer_ramp : tuple of int, optional
        First step of the ramp, and the step at which it reaches :math:`\lambda_\max`.
    log_every : int, optional
        Steps between two evaluations.
    evaluation_size : int, optional
        Rows of each of the two fixed evaluation sets.
    device : torch.device or str, optional
        Where to compute; the random numbers are drawn on the CPU in any case.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    History
        On the CPU.

    Raises
    ------
    ValueError
        If seeds, replicas and ranges differ in number, a count is not positive, a rate is negative
        or not finite, the ramp is reversed, or the model's output has not the target's shape.
    """
    if len(seeds) != len(task.ranges):
        raise ValueError(
            f"seeds and the task's ranges must be equally many; got {len(seeds)} and {len(task.ranges)}"
        )
    for name, count in [
        ("steps", steps),
        ("batch_size", batch_size),
        ("log_every", log_every),
        ("evaluation_size", evaluation_size),
    ]:
        if count < 1:
            raise ValueError(f"{name} must be at least 1; got {count}")
    for name, rate in [("learning_rate", learning_rate), ("regularizer_scale", regularizer_scale)]:
        if not 0 <= rate < math.inf:
            raise ValueError(f"{name} must be finite and not negative; got {rate}")
    start, end = regularizer_ramp
    if not start < end:
        raise ValueError(f"regularizer_ramp must be (start, end) with start < end; got {regularizer_ramp}")

    _check_replicas(model, seeds)
    model.to(device).train()
    noise = ReplicaStreams(seeds, "noise")
    for unit in _units(model, "generator"):
        unit.generator = noise
    data = ReplicaStreams(seeds, "data")
    evaluation = ReplicaStreams(seeds, "evaluation", block=1)
    evaluation_inputs = [
        task.interpolation_inputs(evaluation, evaluation_size).to(device),
        task.extrapolation_inputs(evaluation, evaluation_size).to(device),
    ]
    evaluation_sets = [(x, task.target(x)) for x in evaluation_inputs]
    clamped, regularized, observing, restarting, limited = (
        list(_units(model, method))
        for method in ("clamp_", "regularizer", "observe", "restarts", "gradient_limit")
    )
    parameters = list(model.parameters())
    optimizer = _optimizer(model, learning_rate)
    restarted = torch.zeros(len(seeds), dtype=torch.long)

    logged_steps: list[int] = []
    errors: list[list[Tensor]] = []
    weights: dict[str, list[Tensor]] = {name: [] for name in _weights(model)}
    interrupted = False
    with one_thread(), tqdm(total=steps, disable=not progress, unit="step", mininterval=1) as bar:
        try:
            for step in range(steps + 1):
                if step % log_every == 0 or step == steps:
                    logged_steps.append(step)
                    errors.append(_evaluate(model, evaluation_sets))
                    for name, weight in _weights(model).items():
                        weights[name].append(weight.detach().cpu().clone())
                    logged_error = errors[-1][0].to(device)
                    bar.update(step - bar.n)
                if step == steps:
                    break
                x = task.interpolation_inputs(data, batch_size).to(device)
                output = model(x)
                error = _error(output, task.target(x))
                for unit in observing:
                    unit.observe(error.detach())
                # The gradient of the mean squared error is known: differentiate from the output on.
                outputs, output_gradients = [output], [error * (2 / error[0].numel())]
                ramp = regularizer_scale * min(max((step - start) / (end - start), 0.0), 1.0)
                for unit in regularized:
                    own_scale = getattr(unit, "regularizer_scale", None)
                    scale = ramp if own_scale is None else own_scale(step, logged_error)
                    if isinstance(scale, Tensor) or scale > 0:
                        outputs.append((scale * unit.regularizer()).sum())
                        output_gradients.append(None)
                gradients = torch.autograd.grad(outputs, parameters, output_gradients, allow_unused=True)
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter.grad = gradient
                for unit in limited:
                    nn.utils.clip_grad_value_(unit.parameters(), unit.gradient_limit, foreach=False)
                optimizer.step()
                for unit in clamped:
                    unit.clamp_()
                for unit in restarting:
                    chosen = unit.restarts(step, logged_error)
                    if bool(chosen.any()):
                        _restart(unit, seeds, chosen.cpu(), restarted)
        except KeyboardInterrupt:
            if not all(weights.values()):  # not even step 0 is logged: there is nothing to return
                raise
            interrupted = True
    logged = min(len(errors), *(len(values) for values in weights.values()))
    interpolation_error, extrapolation_error = (
        torch.stack([pair[i] for pair in errors[:logged]]) for i in range(2)
    )
    return History(
        steps=torch.tensor(logged_steps[:logged]),
        interpolation_error=interpolation_error,
        extrapolation_error=extrapolation_error,
        weights={name: torch.stack(values[:logged]) for name, values in weights.items()},
        interrupted=interrupted,
    )


def _units(model: nn.Module, method: str) -> Iterable[nn.Module]:
    return (unit for unit in model.modules() if hasattr(unit, method))


def _check_replicas(model: nn.Module, seeds: Sequence[int]) -> None:
    for unit in _units(model, "batch_shape"):
        if unit.batch_shape != (len(seeds),):
            raise ValueError(
                f"model must have batch_shape=({len(seeds)},), one replica a seed; got {unit.batch_shape}"
            )


def _optimizer(model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
    """Adam, each unit with its own learning rate if it has one.

    Neither ``foreach`` nor ``fused``: the fused kernel rounds otherwise at the end of a tensor, and then a
    replica's numbers would depend on how many stand beside it.
    """
    groups = [
        {"params": own, "lr": getattr(unit, "learning_rate", learning_rate)}
        for unit in model.modules()
        if (own := list(unit.parameters(recurse=False)))
    ]
    return torch.optim.Adam(groups, foreach=False)


def _error(output: Tensor, target: Tensor) -> Tensor:
    """Subtract ``(R, n, out_features)`` from the same shape, and from no other."""
    if output.shape != target.shape:
        raise ValueError(f"the model must return {tuple(target.shape)}; got {tuple(output.shape)}")
    return output - target


def _weights(model: nn.Module) -> dict[str, Tensor]:
    weights = {}
    for path, unit in model.named_modules():
        own = unit.weights() if hasattr(unit, "weights") else dict(unit.named_parameters(recurse=False))
        weights |= {f"{path}.{name}" if path else name: weight for name, weight in own.items()}
    return weights


def _reset(model: nn.Module, streams: ReplicaStreams) -> None:
    for unit in _units(model, "reset_parameters"):
        unit.reset_parameters(streams)


@torch.no_grad()
def _restart(unit: nn.Module, seeds: Sequence[int], chosen: Tensor, restarted: Tensor) -> None:
    """Initialise the chosen replicas anew; the k-th time, a seed draws from its k-th stream."""
    for count in restarted[chosen].unique().tolist():
        now = chosen & (restarted == count)
        before = [parameter.clone() for parameter in unit.parameters()]
        _reset(unit, ReplicaStreams(seeds, f"initial weights, restart {count + 1}"))
        for parameter, old in zip(unit.parameters(), before, strict=True):
            parameter[~now] = old[~now]
    restarted[chosen] += 1


@torch.no_grad()
def _evaluate(model: nn.Module, evaluation_sets: list[tuple[Tensor, Tensor]]) -> list[Tensor]:
    model.eval()
    errors = [_error(model(x), y).square().mean(dim=(-2, -1)).cpu() for x, y in evaluation_sets]
    model.train()
    return errors


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on one thread, as sums depend on how they are divided among several."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
