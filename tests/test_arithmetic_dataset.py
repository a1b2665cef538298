"""The Arithmetic Dataset Task: its subsets, its thresholds, its runs."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

from nmu import functional
from nmu.experiments import arithmetic_dataset as task_module
from nmu.layers import NMU
from nmu.streams import ReplicaStreams
from nmu.tasks import RANGES, ArithmeticDatasetTask, SingleModuleTask, weighted_sums


def task(seeds=range(40), in_features=100, **options):
    return ArithmeticDatasetTask([RANGES[6]] * len(seeds), list(seeds), in_features, **options)


def test_subsets_are_neighbours_that_overlap():
    first, second = task().membership.unbind(1)
    assert (first.sum(1) == 25).all()
    assert (second.sum(1) == 25).all()
    assert ((first * second).sum(1) == 12).all()
    for subset in (first, second):
        changes = subset.diff(dim=1, prepend=torch.zeros(40, 1), append=torch.zeros(40, 1)).abs().sum(1)
        assert (changes == 2).all(), "each is one piece"
    assert (first.argmax(1) + 13 == second.argmax(1)).all()


def test_the_place_of_the_subsets_is_uniform_and_the_seeds():
    starts = task(range(6_300)).membership[:, 0].argmax(1)
    counts = torch.bincount(starts, minlength=63)
    assert len(counts) == 63, "38 of 100 inputs are used, so 63 places are left"
    assert ((counts - 100).square() / 100).sum() < 115  # chi squared with 62 degrees of freedom, p < 0.0001
    torch.testing.assert_close(task([7, 3]).membership, task([3, 7]).membership.flip(0))
    both = ArithmeticDatasetTask([RANGES[0], RANGES[4]], [3, 3])
    assert torch.equal(both.membership[0], both.membership[1]), "the same on every range"


def test_the_target_is_the_product_of_the_sums():
    some = task([0, 1], in_features=10, subset=3, overlap=1)
    x = some.extrapolation_inputs(ReplicaStreams([0, 1], "x"), 50)
    for replica in range(2):
        start = int(some.membership[replica, 0].argmax())
        first = x[replica, :, start : start + 3].sum(1)
        second = x[replica, :, start + 2 : start + 5].sum(1)
        torch.testing.assert_close(some.target(x)[replica, :, 0], first * second)


def test_inputs_shared_by_seeds_are_the_inputs():
    """Two ranges, two seeds that occur twice, in no order: the sums, and their gradients, of the inputs."""
    ranges, seeds = [RANGES[0], RANGES[4], RANGES[6], RANGES[7]], [5, 2, 2, 5]
    some = ArithmeticDatasetTask(ranges, seeds, 10, 3, 1)
    shared = some.interpolation_inputs(ReplicaStreams(seeds, "x"), 50)
    plain = SingleModuleTask(ranges, 10).interpolation_inputs(ReplicaStreams(seeds, "x"), 50)
    weight = torch.randn(4, 2, 10, requires_grad=True)
    sums = weighted_sums(shared, weight)
    torch.testing.assert_close(sums, functional.nau(plain, weight))
    torch.testing.assert_close(some.target(shared), some.target(plain))
    (gradient,) = torch.autograd.grad(sums.square().sum(), weight)
    (expected,) = torch.autograd.grad(functional.nau(plain, weight).square().sum(), weight)
    largest = expected.abs().amax((1, 2), keepdim=True)  # terms cancel: what rounds is of the largest's size
    torch.testing.assert_close(gradient / largest, expected / largest, rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match=r"\[1, 2\] times"):
        some.interpolation_inputs(ReplicaStreams([1, 2, 2], "x"), 50)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_features": 37}, "do not fit into 37"),
        ({"overlap": 26}, "share 26"),
        ({"overlap": -1}, "share -1"),
        ({"subset": 0, "overlap": 0}, "of 0 inputs"),
    ],
)
def test_subsets_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        task(**options)
    with pytest.raises(ValueError, match="one range a seed"):
        ArithmeticDatasetTask([RANGES[0]], [1, 2])


def test_sizes_at_the_papers_inputs():
    assert task_module.subset_sizes(100) == (25, 12)
    assert task_module.subset_sizes(10) == (2, 1)


def test_threshold_by_first_order():
    """The right weights off by e: the product is off by -e (s - S) t - e (t - T) s, S and T being the sums
    over the other inputs."""
    limits = task_module.thresholds(RANGES, 10)
    low, high = RANGES[7].extrapolation[0]
    x = low + (high - low) * torch.rand(400_000, 10, dtype=torch.float64)
    s, t = x[:, :2].sum(1), x[:, 1:3].sum(1)
    change = 1e-5 * ((x.sum(1) - 2 * s) * t + (x.sum(1) - 2 * t) * s)
    assert limits[7].item() == pytest.approx(change.square().mean().item(), rel=0.02)
    assert limits.dtype == torch.float64
    assert torch.equal(limits, task_module.thresholds(RANGES, 10)), "the same each time"


def test_the_right_weights_solve_the_task():
    some = task(range(4), in_features=10, subset=2, overlap=1)
    stack = task_module.Stack(NMU, 10, (4,))
    with torch.no_grad():
        stack.nau.weight.copy_(some.membership)
        stack.product.weight.fill_(1)
    x = some.extrapolation_inputs(ReplicaStreams(range(4), "x"), 1_000)
    torch.testing.assert_close(stack(x), some.target(x))


def test_a_short_run_and_its_tables():
    small = {"ranges": RANGES[6:8], "steps": 40, "log_every": 20, "regularizer_ramp": (10, 20)}
    plan = task_module.experiment({"NMU": NMU}, seeds=[0, 1], **small)
    (shard,) = plan.shards
    assert shard.spec["subset"] == [2, 1]
    tables = shard.compute(progress=False)
    runs, weights, curves = (tables[name] for name in ("runs.csv", "weights.csv.gz", "curves.csv.gz"))
    assert len(runs) == 4
    assert len(weights) == 4 * 22
    assert len(curves) == 4 * 3
    limits = task_module.thresholds(RANGES[6:8], 10).numpy()
    np.testing.assert_array_equal(runs["threshold"], np.repeat(limits, 2))
    assert not runs["solved"].any()
    last = curves.query("step == 40")["extrapolation_error"]
    np.testing.assert_allclose(runs["final_extrapolation_error"], last, rtol=1e-4)
    nau = weights.query("unit == 'nau.weight'")
    assert nau["initial"].abs().max() <= 0.5
    assert (nau["initial"] != nau["final"]).all()
    _, alone = task_module.run(NMU, seeds=[1], progress=False, **small)
    np.testing.assert_allclose(
        alone["final_extrapolation_error"], runs["final_extrapolation_error"][1::2], rtol=1e-4
    )


def table_of(seeds, nau, product):
    """Weights as the experiment stores them, the same at every stage."""
    rows = []
    for seed, sums, factors in zip(seeds, np.asarray(nau), np.asarray(product), strict=True):
        for unit, values in (("nau.weight", sums), ("product.weight", factors[None])):
            for (out, in_), value in np.ndenumerate(values):
                rows.append(("NMU", "U[1,2]", seed, unit, out, in_, value, value, value))
    names = ["module", "interpolation_range", "seed", "unit", "output", "input", "initial", "best", "final"]
    return pd.DataFrame(rows, columns=names)


def test_solutions_solve_the_task_and_are_all_there_are_among_whole_numbers():
    membership = task_module.membership([5])[0].double()
    x = torch.randn(40, 10, dtype=torch.float64)
    right = (x @ membership.T).prod(-1)
    solutions = task_module.solutions(membership)
    for weight in solutions.values():
        torch.testing.assert_close((x @ weight.T).prod(-1), right)
    used = membership.any(0).nonzero()[:, 0]
    found = 0
    for choice in itertools.product([-1, 0, 1], repeat=2 * len(used)):
        weight = torch.zeros(2, 10, dtype=torch.float64)
        weight[:, used] = torch.tensor(choice, dtype=torch.float64).view(2, -1)
        found += torch.allclose((x @ weight.T).prod(-1), right)
    assert found == len(solutions) == 4


def test_kinds_of_runs():
    membership = task_module.membership(range(8))
    nau, product = membership.clone(), torch.ones(8, 2)
    nau[1] = -nau[1].flip(0)  # another solution
    nau[2] += 0.09  # not sharp
    nau[3, 0] = 0
    nau[3, 0, :4] = 1  # other inputs
    nau[4, 0] *= 0.5
    product[5] = torch.tensor([0.05, 1.0])
    product[6] = 0
    product[7, 0] = 0.8
    table = table_of(range(8), nau, product)
    found = task_module.kinds(table, "best")
    assert found["kind"].tolist() == [
        "right subsets",
        "right subsets",
        "right subsets",
        "wrong inputs",
        "undecided",
        "one factor lost",
        "both factors lost",
        "undecided",
    ]
    assert set(found["kind"]) == set(task_module.KINDS)
    assert found["solution"].tolist()[:3] == ["plain", "swapped, negated", "plain"]
    assert found["distance"].iloc[[0, 2, 7]].tolist() == pytest.approx([0, 0.09, 0.2])
    assert found["seed"].tolist() == list(range(8))


def test_weight_arrays_unfold_what_a_run_stores():
    small = {"ranges": RANGES[6:8], "steps": 20, "log_every": 10, "regularizer_ramp": (5, 10)}
    history, _ = task_module.run(NMU, seeds=[0, 3], progress=False, **small)
    plan = task_module.experiment({"NMU": NMU}, seeds=[0, 3], **small)
    weights = plan.shards[0].compute(progress=False)["weights.csv.gz"]
    replica, nau, product = task_module.weight_arrays(weights, "final")
    assert replica["seed"].tolist() == [0, 3, 0, 3]
    np.testing.assert_allclose(nau, history.weights["nau.weight"][-1], atol=1e-6)
    np.testing.assert_allclose(product, history.weights["product.weight"][-1, :, 0], atol=1e-6)
    chosen = weights[weights["seed"] == 3]
    np.testing.assert_array_equal(task_module.weight_arrays(chosen, "final")[1], nau[1::2])
