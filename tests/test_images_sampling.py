"""Pairs, folds, sequences and canvases: what is drawn is what was asked for, and nothing leaks."""

import math
from dataclasses import astuple, replace

import pytest
import torch

from nmu.images import sampling
from nmu.images.digits import Digits, load_bundled


@pytest.fixture(scope="module")
def train_and_test():
    return load_bundled()


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(7)


def as_set(pairs):
    return {tuple(pair) for pair in pairs.tolist()}


# Folds


@pytest.mark.parametrize("folds", [3, 10])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_folds_divide_the_pairs(folds, seed):
    parts = sampling.pair_folds(folds, seed)
    assert len(parts) == folds
    tested = [pair for _, test in parts for pair in test.tolist()]
    assert sorted(tested) == [[a, b] for a in range(10) for b in range(10)]
    for train, test in parts:
        assert as_set(train) | as_set(test) == {(a, b) for a in range(10) for b in range(10)}
        assert not as_set(train) & as_set(test)
        for place in range(2):  # a digit that is never met there could not be learned
            assert len(train[:, place].unique()) == 10


def test_folds_come_from_the_seed():
    first, again, other = (sampling.pair_folds(10, seed) for seed in (0, 0, 1))
    assert all(torch.equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert not all(torch.equal(a[1], b[1]) for a, b in zip(first, other, strict=True))


# Images for digits


def test_each_image_of_a_digit_is_as_likely_as_the_others(generator):
    labels = torch.tensor([3, 5, 3, 0, 3, 5])
    drawn = sampling.draw_images(labels, torch.tensor([3, 5]).expand(30_000, 2), generator)
    assert torch.equal(labels[drawn], torch.tensor([3, 5]).expand(30_000, 2))
    counts = drawn.flatten().bincount(minlength=6)
    deviation = math.sqrt(30_000 * 2 / 9)
    assert (counts[[0, 2, 4]] - 10_000).abs().max() < 5 * deviation
    assert (counts[[1, 5]] - 15_000).abs().max() < 5 * math.sqrt(30_000 / 4)
    assert counts[3] == 0


def test_a_digit_without_images_is_refused(generator):
    with pytest.raises(ValueError, match=r"no image of the digits \[2, 9\]"):
        sampling.draw_images(torch.tensor([0, 1]), torch.tensor([[0, 9], [2, 2]]), generator)


# Pairs


def test_pairs_show_what_they_should(train_and_test, generator):
    train, _ = train_and_test
    pairs, _ = sampling.pair_folds(10)[3]
    sample = sampling.sample_pairs(train, pairs, 4, generator)
    assert len(sample) == 360
    assert torch.equal(sample.labels, pairs.repeat_interleave(4, 0))
    assert torch.equal(sample.products[:, 1].long(), sample.labels.prod(1))
    images = sample.images()
    assert images.shape == (360, 2, 8, 8)
    assert torch.equal(images[11, 1], train.images[sample.index[11, 1], 0])
    rows = torch.tensor([5, 2])
    assert torch.equal(sample.images(rows), images[rows])


@pytest.mark.parametrize("folds", [3, 10])
def test_nothing_leaks_from_training_into_the_test(train_and_test, generator, folds):
    for train_pairs, test_pairs in sampling.pair_folds(folds):
        train = sampling.sample_pairs(train_and_test[0], train_pairs, 5, generator)
        test = sampling.sample_pairs(train_and_test[1], test_pairs, 20, generator)
        assert not as_set(train.labels) & as_set(test.labels)
        seen, unseen = (
            {image.numpy().tobytes() for image in part.images().flatten(0, 1)} for part in (train, test)
        )
        assert seen
        assert unseen
        assert not seen & unseen


# Sequences


def test_sequences_and_their_running_products(train_and_test, generator):
    sample = sampling.sample_sequences(train_and_test[0], 20, 500, generator)
    assert sample.images().shape == (500, 20, 8, 8)
    counts = sample.labels.flatten().bincount(minlength=10)
    assert counts[0] == 0
    assert (counts[1:] - 10_000 / 9).abs().max() < 5 * math.sqrt(10_000 * 8 / 81)
    for labels, products in zip(sample.labels[:20].tolist(), sample.products[:20].tolist(), strict=True):
        for step in range(20):
            exact = math.prod(labels[: step + 1])
            assert products[step] == pytest.approx(exact, rel=1e-15 if exact > 2**53 else 0)


def test_draws_come_from_the_generator_alone(train_and_test):
    def draw(seed):
        torch.rand(seed)  # the global generator has no say
        generator = torch.Generator().manual_seed(seed)
        pairs = sampling.pair_folds(3)[0][0]
        return (
            sampling.sample_pairs(train_and_test[0], pairs, 2, generator).index,
            sampling.sample_sequences(train_and_test[0], 3, 50, generator).index,
            *astuple(sampling.draw_placement((20, 2), generator)),
        )

    assert all(torch.equal(a, b) for a, b in zip(draw(1), draw(1), strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(draw(1), draw(2), strict=True))


# Canvases


def placement(angle=0.0, scale=1.0, shift=(0.0, 0.0), shape=(1, 1)):
    return sampling.Placement(
        torch.full(shape, angle), torch.full(shape, scale), torch.tensor(shift).expand(*shape, 2)
    )


@pytest.mark.parametrize(
    ("shift", "right", "down"),
    [((-1.0, -1.0), 0, 0), ((1.0, -1.0), 4, 0), ((-1.0, 1.0), 0, 4), ((0.0, 0.0), 2, 2), ((0.5, 1.0), 3, 4)],
)
def test_a_shifted_digit_is_copied_exactly(shift, right, down):
    image = torch.rand(1, 1, 6, 6)
    expected = torch.zeros(1, 1, 10, 10)
    expected[..., down : down + 6, right : right + 6] = image
    torch.testing.assert_close(sampling.place(image, 10, placement(shift=shift)), expected)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_quarter_turns_are_clockwise(quarters):
    image = torch.rand(1, 1, 6, 6)
    turned = sampling.place(image, 6, placement(angle=quarters * math.pi / 2))
    torch.testing.assert_close(turned, image.rot90(-quarters, (2, 3)), atol=1e-5, rtol=0)


@pytest.mark.parametrize("scale", [0.7, 1.0, 1.2])
@pytest.mark.parametrize("angle", [-0.7, 0.0, 0.5])
def test_scale_rotation_and_shift_move_the_moments(scale, angle):
    """A smooth blob keeps its shape: mass, centre and long axis are where they should be."""
    steps = torch.arange(28.0) - 13.5
    blob = torch.exp(-(steps / 5).square() / 2 - (steps / 2).square().unsqueeze(1) / 2)[None, None]
    canvas = sampling.place(blob, 42, placement(angle, scale, (0.4, -0.2)))[0, 0]
    torch.testing.assert_close(canvas.sum(), blob.sum() * scale**2, rtol=0.01, atol=0)
    steps = torch.arange(42.0) - 20.5
    down, right = torch.meshgrid(steps, steps, indexing="ij")
    share = canvas / canvas.sum()
    torch.testing.assert_close((share * right).sum().item(), 0.4 * 7, atol=0.05, rtol=0)
    torch.testing.assert_close((share * down).sum().item(), -0.2 * 7, atol=0.05, rtol=0)
    right, down = right - 0.4 * 7, down + 0.2 * 7
    second = [(share * a * b).sum() for a, b in ((right, right), (down, down), (right, down))]
    axis = 0.5 * torch.atan2(2 * second[2], second[0] - second[1])
    torch.testing.assert_close(axis.item(), angle, atol=0.02, rtol=0)


def test_each_digit_has_a_canvas_and_a_placement_of_its_own(generator):
    images = torch.rand(7, 2, 8, 8)
    drawn = sampling.draw_placement((7, 2), generator)
    canvases = sampling.place(images, 12, drawn)
    assert canvases.shape == (7, 2, 12, 12)
    assert 0 <= canvases.min() <= canvases.max() <= 1 + 1e-6
    alone = sampling.place(
        images[4:5, 1:], 12, sampling.Placement(*(part[4:5, 1:] for part in astuple(drawn)))
    )
    torch.testing.assert_close(canvases[4:5, 1:], alone)


def test_overlapping_rows_are_those_of_the_whole(train_and_test, generator):
    pairs = sampling.sample_pairs(train_and_test[0], sampling.pair_folds(10)[0][0], 1, generator)
    where = sampling.draw_placement((90, 2), generator)
    sample = sampling.Overlapping(pairs.digits, pairs.index, 12, where)
    whole = sampling.place(pairs.images(), 12, where)
    assert torch.equal(sample.images(), whole)
    rows = torch.tensor([7, 3, 88])
    torch.testing.assert_close(sample.images(rows), whole[rows])
    assert torch.equal(sample.labels, pairs.labels)


def test_placements_fill_their_ranges(generator):
    angle, scale, shift = astuple(sampling.draw_placement((4000, 2), generator))
    for numbers, low, high in ((angle, -math.pi / 4, math.pi / 4), (scale, 0.7, 1.2), (shift, -1, 1)):
        assert low <= numbers.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < numbers.max() <= high
        assert abs(numbers.mean() - (low + high) / 2) < 0.02 * (high - low)


def test_impossible_canvases_are_refused():
    with pytest.raises(ValueError, match="at least as large as the images, 8 pixels; got 7"):
        sampling.place(torch.zeros(1, 1, 8, 8), 7, placement())
    with pytest.raises(ValueError, match=r"placement must be for images \(2, 1\); got \(1, 1\)"):
        sampling.place(torch.zeros(2, 1, 8, 8), 9, placement())


def test_labels_may_stay_behind_when_images_move(train_and_test, generator):
    train, _ = train_and_test
    moved = replace(train, images=train.images.double())
    assert isinstance(moved, Digits)
    assert sampling.sample_sequences(moved, 2, 3, generator).images().dtype == torch.float64
