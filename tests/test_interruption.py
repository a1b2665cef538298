"""A run that is stopped, or fails: what it returns and what it leaves behind."""

import pytest
import torch

from nmu import NMU
from nmu.tasks import RANGES, SingleModuleTask
from nmu.training import initialize, train

SHORT = dict(steps=30, log_every=10, evaluation_size=200, progress=False)


class TaskThatStops(SingleModuleTask):
    """Raise ``error`` when asked for the data of step ``at``; note the threads at work."""

    def __init__(self, ranges, at, error):
        super().__init__(ranges)
        self.calls_left, self.error = at + 1, error  # one more for the evaluation set
        self.threads = None

    def interpolation_inputs(self, streams, n):
        self.threads = torch.get_num_threads()
        if self.calls_left == 0:
            raise self.error
        self.calls_left -= 1
        return super().interpolation_inputs(streams, n)


class StopsWhenLogged(NMU):
    """Raise KeyboardInterrupt in a later part of logging.

    A logged step has three: two passes in evaluation mode, and reading the parameters.
    """

    parts_left = None

    def _count(self):
        self.parts_left -= 1
        if self.parts_left == 0:
            raise KeyboardInterrupt

    def forward(self, x):
        if not self.training:
            self._count()
            self.evaluated = True
        return super().forward(x)

    def named_parameters(self, *args, **kwargs):
        if getattr(self, "evaluated", False):
            self._count()
            self.evaluated = False
        return super().named_parameters(*args, **kwargs)


@pytest.mark.parametrize(("at", "steps"), [(0, [0]), (12, [0, 10]), (20, [0, 10, 20])])
def test_an_interrupted_run_returns_what_it_logged(at, steps, two_threads):
    seeds, ranges = [8, 3, 5], RANGES[:3]
    task = TaskThatStops(ranges, at, KeyboardInterrupt())
    history, whole = (
        train(initialize(NMU(2, 1, batch_shape=(3,)), seeds), t, seeds, **SHORT)
        for t in (task, SingleModuleTask(ranges))
    )
    assert history.interrupted is True
    assert history.steps.tolist() == steps
    count = len(steps)
    assert history.interpolation_error.equal(whole.interpolation_error[:count])
    assert history.extrapolation_error.equal(whole.extrapolation_error[:count])
    assert history.weights["weight"].equal(whole.weights["weight"][:count])
    assert task.threads == 1
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("parts", "steps"), [(4, [0]), (5, [0]), (6, [0]), (8, [0, 10])])
def test_an_interrupted_evaluation_leaves_no_half_logged_step(parts, steps):
    model = initialize(StopsWhenLogged(2, 1, batch_shape=(1,)), [0])
    model.parts_left = parts
    history = train(model, SingleModuleTask([RANGES[6]]), [0], **SHORT)
    assert history.interrupted is True
    assert history.steps.tolist() == steps
    lengths = map(len, [history.interpolation_error, history.extrapolation_error])
    assert [*lengths, len(history.weights["weight"])] == [len(steps)] * 3


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_an_interrupt_before_anything_is_logged_is_passed_on(parts):
    model = initialize(StopsWhenLogged(2, 1, batch_shape=(1,)), [0])
    model.parts_left = parts
    with pytest.raises(KeyboardInterrupt):
        train(model, SingleModuleTask([RANGES[6]]), [0], **SHORT)


def test_an_error_passes_through_and_the_threads_come_back(two_threads):
    model = initialize(NMU(2, 1, batch_shape=(1,)), [0])
    task = TaskThatStops([RANGES[6]], 12, RuntimeError("no more data"))
    with pytest.raises(RuntimeError, match="no more data"):
        train(model, task, [0], **SHORT)
    assert task.threads == 1
    assert torch.get_num_threads() == 2
