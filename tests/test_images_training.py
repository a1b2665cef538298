"""Training from products alone: resumable epoch by epoch, and what the experiments on images make of it."""

import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import torch

from nmu.experiments import (
    bundled_isolated,
    bundled_overlapping,
    bundled_sequential,
    digit_products,
    sequential_mnist,
    static_mnist,
    static_mnist_isolated,
    static_mnist_overlapping,
)
from nmu.images.digits import load_bundled
from nmu.images.heads import HEADS
from nmu.images.networks import IsolatedProduct, OverlappingProduct, SequentialProduct
from nmu.images.sampling import sample_sequences
from nmu.images.sizes import BUNDLED
from nmu.images.training import outputs, train
from nmu.runner import run
from nmu.store import StoreError, read_results
from nmu.streams import generator

SETTINGS = dict(batch_size=32, regularizer_scale=10.0, regularizer_ramp=(0, 2), progress=False)
STATIC = dict(size="bundled", epochs=2, folds=10, images_a_pair=2, progress=False) | {
    name: SETTINGS[name] for name in ("batch_size", "regularizer_scale", "regularizer_ramp")
}
NETWORKS = pytest.mark.parametrize("network", [IsolatedProduct, SequentialProduct])


def few(length=2, count=100):
    return sample_sequences(load_bundled()[0], length, count, generator(3, "test"))


def trained(network, head, epochs, **options):
    made = digit_products.build(network, HEADS[head], "bundled", 5)
    logged = train(made, few(), digit_products.head_weights, seed=5, epochs=epochs, **SETTINGS | options)
    return made, logged


@NETWORKS
@pytest.mark.parametrize("head", ["exact", "sNMU"])
def test_a_run_that_goes_on_ends_with_the_same_numbers(network, head, tmp_path):
    checkpoint = tmp_path / "folder" / "a.checkpoint"
    whole, logged = trained(network, head, 4)
    trained(network, head, 2, checkpoint=checkpoint)
    torch.manual_seed(99)  # the state of torch's own generator is of no consequence
    resumed, again = trained(network, head, 4, checkpoint=checkpoint)
    assert pd.DataFrame(again).equals(pd.DataFrame(logged))
    for name, value in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], value)
    _, nothing_left = trained(network, head, 4, checkpoint=checkpoint)
    assert len(nothing_left) == 5


@NETWORKS
def test_threads_and_other_draws_make_no_difference(network, two_threads):
    first, _ = trained(network, "sNMU-batch", 1)
    state = torch.get_rng_state()
    second, _ = trained(network, "sNMU-batch", 1)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)
    third, _ = trained(network, "sNMU-batch", 1)
    for name, value in first.state_dict().items():
        assert torch.equal(second.state_dict()[name], value)
        assert torch.equal(third.state_dict()[name], value)


def test_the_loss_is_that_of_the_products_and_both_regularizers():
    """One step, of a whole epoch, against the gradient written out."""
    sample = few(count=20)
    network, twin = (digit_products.build(SequentialProduct, HEADS["NMU"], "bundled", 1) for _ in range(2))
    settings = dict(SETTINGS, batch_size=20, regularizer_ramp=(-1, 1), input_regularizer_scale=3.0)
    train(network, sample, lambda network: {}, seed=1, epochs=1, **settings)
    products, numbers = twin(sample.images())
    weight, before = twin.head.weight, torch.stack((torch.ones(20), products[:, 0]), 1)
    loss = ((products - sample.products.float()) ** 2).sum() / 40
    loss = loss + 10 * 0.5 * torch.minimum(weight, 1 - weight).mean()
    means = torch.stack((numbers.mean(), before.mean()))
    (loss + 3 * ((1 - weight) * (1 - means) ** 2).mean()).backward()
    for parameter, expected in zip(network.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, expected.grad, rtol=1e-4, atol=1e-5)


def test_the_heads_weights_are_clamped_and_the_ramp_is_in_epochs():
    network, logged = trained(IsolatedProduct, "NMU", 3, regularizer_scale=1e5, regularizer_ramp=(1, 1.01))
    weights = pd.DataFrame(logged)[["weight_1", "weight_2"]]
    assert weights.loc[1:].to_numpy() != pytest.approx(weights.loc[0].to_numpy(), abs=1e-4)
    assert network.head.weight.min() >= 0
    assert network.head.weight.max() <= 1


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_checkpoint_is_refused_by_name(damage, tmp_path):
    checkpoint = tmp_path / "a.checkpoint"
    trained(IsolatedProduct, "NMU", 1, checkpoint=checkpoint)
    checkpoint.write_bytes(checkpoint.read_bytes()[:-100] if damage == "cut" else b"<html>not found</html>")
    with pytest.raises(StoreError, match=r"a\.checkpoint is no checkpoint"):
        trained(IsolatedProduct, "NMU", 2, checkpoint=checkpoint)


def test_outputs_are_those_of_evaluation_in_the_order_of_the_rows():
    network, _ = trained(IsolatedProduct, "sNMU", 1)
    sample = few(count=1_100)
    products, digits = outputs(network, sample)
    last, _ = network.eval()(sample.images(slice(1_090, None)))
    torch.testing.assert_close(products[1_090:], last.detach())
    assert products.shape == (1_100,)
    assert digits.shape == (1_100, 2)
    assert not products.requires_grad


def test_accuracies_by_hand():
    found = digit_products.accuracies(
        torch.tensor([6.4, 5.0, 0.6]),
        torch.tensor([6.0, 5.0, 0.0]),
        torch.tensor([[2.0, 3.4], [5.0, 1.6], [0.4, 9.0]]),
        torch.tensor([[2, 3], [5, 1], [0, 8]]),
    )
    assert found == pytest.approx(
        {"error": (0.4**2 + 0.6**2) / 3, "label_accuracy": 4 / 6, "output_accuracy": 2 / 3}, rel=1e-5
    )


def test_either_transformer_may_read_either_digit():
    class Swapped(OverlappingProduct):
        def forward(self, canvases):
            return canvases[:, 0, 0, 0], read.float()

    pairs = torch.tensor([[1, 2], [3, 4], [5, 5]])
    sample = static_mnist.draw("overlapping", load_bundled()[1], pairs, 4, "bundled", 0, "test")
    network = Swapped(HEADS["exact"](2, 1), BUNDLED)
    for read in (sample.labels, sample.labels.flip(1)):
        assert torch.equal(static_mnist._read(network, sample)[2], read)


@pytest.mark.parametrize("task", ["isolated", "overlapping"])
def test_the_tables_of_a_static_run(task):
    found = static_mnist.tables("sNMU", HEADS["sNMU"], seed=10, task=task, **STATIC)
    assert set(found) == {"runs.csv", "curves.csv.gz", "reads.csv.gz", "pairs.csv.gz"}
    for table in found.values():
        assert table[["module", "seed", "fold"]].drop_duplicates().values.tolist() == [["sNMU", 10, 0]]
    runs, curves, reads, pairs = found.values()
    assert curves["epoch"].tolist() == [0, 0, 1, 1, 2, 2]
    assert runs["pairs"].tolist() == ["held out", "trained"]
    assert reads["images"].sum() == 2 * (10 * 100 + 90 * 10)
    assert pairs.groupby("pairs")["rows"].agg(["size", "sum"]).values.tolist() == [[10, 1000], [90, 900]]
    assert not pairs.duplicated(["label_1", "label_2"]).any()
    for kind, group in runs.groupby("pairs"):
        counted, read = pairs[pairs["pairs"] == kind], reads[reads["pairs"] == kind]
        right = read.loc[read["label"] == read["read"], "images"].sum()
        assert right / read["images"].sum() == pytest.approx(group["label_accuracy"].item())
        assert counted["output_right"].sum() / counted["rows"].sum() == group["output_accuracy"].item()
        assert (counted["both_read_right"] <= counted["rows"]).all()


def test_what_the_transformers_look_at_can_be_drawn_from_the_tables():
    options = dict(STATIC, epochs=0, task="overlapping")
    found = static_mnist.tables("exact", HEADS["exact"], seed=0, **options)
    looks, canvases = found["looks.csv.gz"], found["canvases.csv.gz"]
    assert len(looks) == 4 * 2 * 16
    assert len(canvases) == 4 * 2 * 12 * 12
    result = static_mnist.run(HEADS["exact"], seed=0, **options)
    rows = torch.linspace(0, 999, 4).long()
    images = torch.tensor(canvases["value"].to_numpy()).view(4, 2, 12, 12) / 255
    torch.testing.assert_close(images, result.test["held out"].images(rows), atol=1 / 255, rtol=0)
    points = torch.tensor(looks[["x", "y"]].to_numpy()).view(4, 2, 16, 2).float()
    with torch.no_grad():
        expected = result.network.control_points(result.test["held out"].images(rows))
    torch.testing.assert_close(points, expected)
    labels = canvases.drop_duplicates(["row", "channel"])["label"].to_numpy().reshape(4, 2)
    assert (labels == result.test["held out"].labels[rows].numpy()).all()


def test_no_test_image_and_no_held_out_pair_is_trained_on(monkeypatch):
    seen = {}
    original = static_mnist.train

    def noted(network, sample, *arguments, **options):
        seen["sample"] = sample
        return original(network, sample, *arguments, **options)

    monkeypatch.setattr(static_mnist, "train", noted)
    result = static_mnist.run(HEADS["exact"], task="isolated", seed=13, **STATIC)
    train_digits, test_digits = load_bundled()
    assert torch.equal(seen["sample"].digits.images, train_digits.images)
    pairs = {tuple(row) for row in seen["sample"].labels.tolist()}
    held_out = {tuple(row) for row in result.test["held out"].labels.tolist()}
    assert len(pairs) == 90
    assert len(held_out) == 10
    assert not pairs & held_out
    assert {tuple(row) for row in result.test["trained"].labels.tolist()} == pairs
    for sample in result.test.values():
        assert torch.equal(sample.digits.images, test_digits.images)


def test_the_lengths_of_a_sequential_run_by_hand():
    options = {name: value for name, value in sequential_mnist.SETTINGS["bundled"].items() if name != "seeds"}
    options |= dict(epochs=1, sequences=64, size="bundled", progress=False)
    result = sequential_mnist.run(HEADS["exact"], seed=2, **options)
    lengths = sequential_mnist.lengths(result)
    assert lengths["length"].tolist() == list(range(1, 21))
    products, _ = outputs(result.network, result.test)
    true = np.cumprod(result.test.labels.numpy().astype(float), 1)
    np.testing.assert_allclose(lengths["error"], ((products.numpy() - true) ** 2).mean(0), rtol=1e-5)
    ratio = np.abs(products.numpy() / true - 1)
    np.testing.assert_allclose(lengths["close"], (ratio < 0.01).mean(0))
    np.testing.assert_allclose(lengths["median_relative_error"], np.sort(ratio, 0)[499], rtol=1e-5)
    found = sequential_mnist.tables("exact", HEADS["exact"], seed=2, **options)
    pd.testing.assert_frame_equal(found["lengths.csv"].drop(columns=["module", "seed"]), lengths)
    assert found["runs.csv"]["epoch"].tolist() == [1]


@pytest.mark.parametrize(
    ("experiment", "modules", "size"),
    [
        (static_mnist_isolated, 5, "small"),
        (static_mnist_overlapping, 5, "tiny"),
        (sequential_mnist, 4, "small"),
        (bundled_isolated, 5, "bundled"),
        (bundled_overlapping, 5, "bundled"),
        (bundled_sequential, 4, "bundled"),
    ],
)
def test_the_plans(experiment, modules, size):
    plan = experiment.experiment()
    assert plan.spec["size"] == size
    assert plan.name == experiment.__name__.rpartition(".")[2]
    assert len(plan.shards) == modules * len(plan.spec["seeds"])
    assert len(plan.spec["seeds"]) >= 5
    short = experiment.experiment(modules={"mine": HEADS["NMU"]}, seeds=[7], epochs=3)
    assert [shard.spec["seeds"] for shard in short.shards] == [[7]]
    assert short.spec["epochs"] == 3
    assert short.shards[0].resumable


def test_an_unknown_size_is_refused():
    with pytest.raises(ValueError, match="size must be one of paper, small, bundled; got 'large'"):
        static_mnist_isolated.experiment(size="large")


def test_a_killed_run_goes_on_from_its_last_epoch(tmp_path):
    """The same bytes as an undisturbed run, and the first epochs are not computed again."""
    command = [sys.executable, "-m", "nmu", "run", "bundled_isolated", "--seeds", "1", "--modules", "sNMU"]
    command += ["--epochs", "6", "--output"]
    shards = tmp_path / "killed" / "bundled_isolated" / "shards"
    with subprocess.Popen([*command, str(tmp_path / "killed")], stderr=subprocess.DEVNULL) as process:
        while not list(shards.glob("*.checkpoint")):
            assert process.poll() is None, "the run ended before it kept a checkpoint"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    (checkpoint,) = shards.glob("*.checkpoint")
    assert not list(shards.glob("*.zip"))
    kept = torch.load(checkpoint, weights_only=True)["logged"]
    assert 1 <= len(kept) < 7
    plan = bundled_isolated.experiment(modules={"sNMU": HEADS["sNMU"]}, seeds=[0], epochs=6)
    for folder in ("killed", "whole"):
        run(plan, tmp_path / folder / "bundled_isolated", progress=False)
    assert not checkpoint.exists()
    killed, whole = (
        read_results(tmp_path / f / "bundled_isolated")[1]["tables"] for f in ("killed", "whole")
    )
    assert killed == whole
