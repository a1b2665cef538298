"""Ranges, random streams and the single-module task."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nmu.streams import ReplicaStreams, generator, seeded
from nmu.tasks import RANGES, Range, SingleModuleTask

NINE = {
    "U[-20,-10]": [(-40, -20)],
    "U[-2,-1]": [(-6, -2)],
    "U[-1.2,-1.1]": [(-6.1, -1.2)],
    "U[-0.2,-0.1]": [(-2, -0.2)],
    "U[-2,2]": [(-6, -2), (2, 6)],
    "U[0.1,0.2]": [(0.2, 2)],
    "U[1,2]": [(2, 6)],
    "U[1.1,1.2]": [(1.2, 6)],
    "U[10,20]": [(20, 40)],
}


def uniforms(seeds, purpose="data", count=1000, **options):
    return ReplicaStreams(seeds, purpose, **options).uniform((len(seeds), count))


def test_the_nine_ranges():
    assert {str(range_): list(range_.extrapolation) for range_ in RANGES} == NINE
    for range_ in RANGES:
        assert str(range_) == "U[{:g},{:g}]".format(*range_.interpolation)


@pytest.mark.parametrize("range_", RANGES, ids=str)
@pytest.mark.parametrize("kind", ["interpolation", "extrapolation"])
def test_inputs_are_uniform_on_their_range(range_, kind):
    task = SingleModuleTask([range_, range_], in_features=3)
    x = getattr(task, f"{kind}_inputs")(ReplicaStreams([1, 2], kind), 2000)
    assert x.shape == (2, 2000, 3)
    assert x.dtype == torch.float32
    intervals = range_.extrapolation if kind == "extrapolation" else [range_.interpolation]
    x = x.double().flatten().numpy()
    slack = 1e-6 * np.abs(intervals).max()  # the bounds themselves are rounded to float32
    inside = [(low - slack <= x) & (x <= high + slack) for low, high in intervals]
    assert np.any(inside, axis=0).all()
    for (low, high), chosen in zip(intervals, inside, strict=True):
        assert stats.kstest(x[chosen], stats.uniform(low, high - low).cdf).pvalue > 0.01
        # Each interval equally likely: six standard deviations of a binomial share.
        share = 1 / len(intervals)
        assert abs(chosen.mean() - share) <= 6 * np.sqrt(share * (1 - share) / x.size)


def test_the_side_of_an_extrapolation_input_is_drawn_for_each_element():
    task = SingleModuleTask([RANGES[4]])
    x = task.extrapolation_inputs(ReplicaStreams([1], "evaluation"), 4000)[0]
    first, second = (x > 0).double().T.numpy()
    assert set(zip(first, second, strict=True)) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert stats.pearsonr(first, second).pvalue > 0.01


def test_each_replica_has_its_own_range():
    task = SingleModuleTask(RANGES)
    streams = ReplicaStreams(range(9), "data")
    for kind in ["interpolation", "extrapolation"]:
        x = getattr(task, f"{kind}_inputs")(streams, 500)
        for replica, range_ in zip(x, RANGES, strict=True):
            bounds = np.ravel(getattr(range_, kind))
            # 1,000 numbers come within 2 % of both ends, and the ends are rounded to float32.
            margin = 0.02 * np.ptp(bounds)
            assert replica.min().item() == pytest.approx(bounds.min(), abs=margin)
            assert replica.max().item() == pytest.approx(bounds.max(), abs=margin)


@pytest.mark.parametrize(("in_features", "relevant"), [(2, 2), (3, 2), (4, 4), (3, 1)])
def test_the_target_is_the_product_of_the_relevant_inputs(in_features, relevant):
    task = SingleModuleTask([RANGES[0]], in_features=in_features, relevant=relevant)
    x = torch.randn(5, 7, in_features, dtype=torch.float64)
    copy = x.clone()
    y = task.target(x)
    assert y.shape == (5, 7, 1)
    np.testing.assert_allclose(y[..., 0].numpy(), x.numpy()[..., :relevant].prod(axis=-1), rtol=1e-14)
    assert x.equal(copy)


def test_a_stream_does_not_depend_on_its_neighbours():
    together = uniforms([5, 0, 11])
    for i, seed in enumerate([5, 0, 11]):
        assert together[i].equal(uniforms([seed])[0])
    assert uniforms([11, 5]).equal(together[[2, 0]])


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.sampled_from([1, 2, 7, 32, 8192]))
def test_numbers_do_not_depend_on_how_many_are_drawn_at_a_time(counts, block):
    streams = ReplicaStreams([3, 4], "data", block=block)
    pieces = [streams.uniform((2, count)) for count in counts]
    assert torch.cat(pieces, dim=1).equal(uniforms([3, 4], count=sum(counts)))


@pytest.mark.parametrize("shape", [(2, 12), (2, 3, 4), (2, 4, 3, 1)])
def test_shape_only_folds_the_numbers(shape):
    numbers = ReplicaStreams([3, 4], "data").uniform(shape)
    assert numbers.shape == shape
    assert numbers.flatten(1).equal(uniforms([3, 4], count=12))


def test_streams_go_on_and_never_repeat():
    streams = ReplicaStreams([3], "data", block=100)
    first, second = streams.uniform((1, 70)), streams.uniform((1, 70))
    assert not torch.isin(first, second).any()


def test_seeds_and_purposes_give_independent_streams():
    drawn = [uniforms([seed], purpose)[0] for seed in (0, 1) for purpose in ("data", "noise", "dat")]
    drawn += [uniforms([2**40], "data")[0]]
    correlations = np.corrcoef(torch.stack(drawn).double().numpy())
    off_diagonal = correlations[~np.eye(len(drawn), dtype=bool)]
    assert np.abs(off_diagonal).max() < 5 / np.sqrt(1000)  # five standard deviations


def test_streams_are_uniform():
    for numbers in uniforms(range(3), count=5000).double().numpy():
        assert 0 <= numbers.min()
        assert numbers.max() < 1
        assert stats.kstest(numbers, "uniform").pvalue > 0.01
    # Across seeds, too: the first number of each of 2,000 streams.
    first = uniforms(range(2000), count=1, block=1).double().flatten().numpy()
    assert stats.kstest(first, "uniform").pvalue > 0.01


def test_streams_leave_torchs_global_generator_alone():
    state = torch.get_rng_state()
    uniforms([1, 2])
    assert torch.get_rng_state().equal(state)


def test_streams_never_change():
    """The first numbers, pinned: a change here changes every result of the book."""
    pinned = [[0.93416494, 0.42270881, 0.66256839], [0.51239026, 0.05442977, 0.94263172]]
    assert uniforms([0, 1], "data", count=3).equal(torch.tensor(pinned))


@pytest.mark.parametrize(
    ("interpolation", "extrapolation", "message"),
    [
        ((2, 1), ((3, 4),), r"finite with low < high; got \[2, 1\]"),
        ((1, 1), ((3, 4),), r"finite with low < high; got \[1, 1\]"),
        ((1, 2), ((3, 4), (6, 5)), r"finite with low < high; got \[6, 5\]"),
        ((float("nan"), 2), ((3, 4),), r"finite with low < high; got \[nan, 2\]"),
        ((1, 2), ((3, float("nan")),), r"finite with low < high; got \[3, nan\]"),
        ((1, float("inf")), ((3, 4),), r"finite with low < high; got \[1, inf\]"),
        ((1, 2), ((-float("inf"), 4),), r"finite with low < high; got \[-inf, 4\]"),
        ((1, 2), (), "at least one interval; got none"),
    ],
)
def test_bad_ranges_are_refused(interpolation, extrapolation, message):
    with pytest.raises(ValueError, match=message):
        Range(interpolation, extrapolation)


def test_bad_tasks_are_refused():
    with pytest.raises(ValueError, match="one range a replica; got none"):
        SingleModuleTask([])
    for relevant in (0, 3):
        with pytest.raises(ValueError, match=f"between 1 and in_features = 2; got {relevant}"):
            SingleModuleTask([RANGES[0]], relevant=relevant)


@pytest.mark.parametrize("n", [0, -1])
@pytest.mark.parametrize("kind", ["interpolation", "extrapolation"])
def test_empty_batches_are_refused(kind, n):
    task = SingleModuleTask([RANGES[0]])
    with pytest.raises(ValueError, match=rf"positive sizes; got \(1, 2, {n}\)"):
        getattr(task, f"{kind}_inputs")(ReplicaStreams([1], "data"), n)


def test_as_many_streams_as_ranges():
    task = SingleModuleTask([RANGES[0]] * 3)
    with pytest.raises(ValueError, match=r"shape must begin with 2, one a seed; got \(3, 2, 5\)"):
        task.interpolation_inputs(ReplicaStreams([1, 2], "data"), 5)


@pytest.mark.parametrize("seeds", [[], [-1], [3, -2], [0.5], [float("nan")]])
def test_bad_seeds_are_refused(seeds):
    with pytest.raises(ValueError, match="one or more non-negative integers; got"):
        ReplicaStreams(seeds, "data")


def test_a_seed_that_occurs_twice_has_its_numbers_twice():
    streams, alone = ReplicaStreams([3, 1, 3], "x"), ReplicaStreams([3], "x")
    for size in (7, 5_000, 2):
        numbers = streams.uniform((3, size))
        assert torch.equal(numbers[0], numbers[2])
        assert not torch.equal(numbers[0], numbers[1])
        assert torch.equal(numbers[:1], alone.uniform((1, size)))
        numbers.zero_()  # the caller's own


def test_seeded_draws_are_their_own_and_leave_no_trace():
    def draw(seed, purpose):
        with seeded(seed, purpose):
            return torch.rand(3).tolist()

    state = torch.get_rng_state()
    first = draw(1, "order")
    assert torch.equal(torch.get_rng_state(), state)
    assert draw(1, "order") == first == torch.rand(3, generator=generator(1, "order")).tolist()
    assert len({tuple(draw(*key)) for key in [(1, "order"), (2, "order"), (1, "noise")]}) == 3
    assert ReplicaStreams([1], "order").uniform((1, 3))[0].tolist() == first
