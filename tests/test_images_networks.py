"""The heads and the networks: what they compute, what learns, and what makes no difference."""

import pytest
import torch
from torch import nn

from nmu import NMU, StochasticNMU
from nmu.images.heads import HEADS, RecurrentProduct, input_regularizer
from nmu.images.networks import IsolatedProduct, OverlappingProduct, SequentialProduct, expected_digit
from nmu.images.sizes import BUNDLED, PAPER, SMALL, TINY

pytestmark = pytest.mark.usefixtures("one_thread")
SIZES = pytest.mark.parametrize(
    "sizes", [PAPER, SMALL, TINY, BUNDLED], ids=["paper", "small", "tiny", "bundled"]
)
NETWORKS = pytest.mark.parametrize(
    ("network", "side", "digits"),
    [(IsolatedProduct, "side", 2), (OverlappingProduct, "canvas", 2), (SequentialProduct, "side", 3)],
)


def set_weight(head, values):
    with torch.no_grad():
        head.weight.copy_(torch.tensor([values]))
    return head


# Heads


@pytest.mark.parametrize("name", HEADS)
def test_every_head_multiplies_once_its_weights_are_one(name):
    head = HEADS[name](2, 1).double()
    if name != "exact":
        set_weight(head, [1.0, 1.0])
    x = 9 * torch.rand(50, 2, dtype=torch.float64)
    x[0] = 0
    torch.testing.assert_close(head(x), x.prod(-1, keepdim=True))
    torch.testing.assert_close(head.eval()(x), x.prod(-1, keepdim=True))


@pytest.mark.parametrize("name", HEADS)
def test_heads_start_where_an_nmu_does(name):
    weights = [parameter.detach() for _ in range(200) for parameter in HEADS[name](2, 1).parameters()]
    if name == "exact":
        assert not weights
    else:
        assert all(weight.shape == (1, 2) for weight in weights)
        assert 0.25 <= torch.cat(weights).min() < 0.26
        assert 0.74 < torch.cat(weights).max() <= 0.75


def test_what_the_heads_compute():
    x = 9 * torch.rand(50, 2, dtype=torch.float64)
    a, b = 0.3, 0.9
    expected = {
        "exact": x[:, 0] * x[:, 1],
        "aggregator": a * x[:, 0] * b * x[:, 1],
        "NMU": (a * x[:, 0] + 1 - a) * (b * x[:, 1] + 1 - b),
    }
    for name, values in expected.items():
        head = HEADS[name](2, 1).double()
        if name != "exact":
            set_weight(head, [a, b])
        torch.testing.assert_close(head(x).squeeze(-1), values)


@pytest.mark.parametrize("name", ["sNMU", "sNMU-batch"])
def test_the_snmu_heads_are_an_nmu_in_evaluation(name):
    head, unit = HEADS[name](2, 1), NMU(2, 1)
    assert isinstance(head, StochasticNMU)
    unit.load_state_dict(head.state_dict())
    x = 9 * torch.rand(50, 2)
    assert torch.equal(head.eval()(x), unit(x))
    assert not torch.allclose(head.train()(x), unit(x))
    low, high = head.noise_bounds(x)
    assert low == 1
    torch.testing.assert_close(high.squeeze(), 1 + 1 / x.std() if name == "sNMU-batch" else torch.tensor(5.0))


# The recurrent cell


@pytest.mark.parametrize("name", HEADS)
def test_the_cell_is_the_unrolled_product_once_its_weights_are_one(name):
    cell = RecurrentProduct(HEADS[name](2, 1)).double()
    if name != "exact":
        set_weight(cell.head, [1.0, 1.0])
    numbers = 1 + 8 * torch.rand(20, 12, dtype=torch.float64)
    torch.testing.assert_close(cell(numbers), numbers.cumprod(-1))


def test_the_cell_step_by_step():
    cell = RecurrentProduct(set_weight(HEADS["NMU"](2, 1), [0.4, 0.7])).double()
    numbers = torch.rand(20, 3, dtype=torch.float64)
    state = torch.ones(20, dtype=torch.float64)
    for step, states in enumerate(cell(numbers).unbind(-1)):
        state = (0.4 * numbers[:, step] + 0.6) * (0.7 * state + 0.3)
        torch.testing.assert_close(states, state, atol=1e-6, rtol=0)
    # The first steps of a long sequence are the short one's.
    torch.testing.assert_close(cell(numbers[:, :2]), cell(numbers)[:, :2])


def test_the_noise_of_each_step_is_its_own():
    torch.manual_seed(3)
    cell = RecurrentProduct(HEADS["sNMU"](2, 1))
    numbers = torch.full((500, 2), 4.0)
    states = cell(numbers)
    assert not torch.equal(cell(numbers), states)
    assert abs(torch.corrcoef(torch.stack((states[:, 0], states[:, 1] / states[:, 0])))[0, 1]) < 0.9
    torch.manual_seed(3)
    assert torch.equal(RecurrentProduct(HEADS["sNMU"](2, 1))(numbers), states)


def test_the_input_regularizer():
    numbers = (1 + torch.rand(20, 3, dtype=torch.float64)).requires_grad_()
    weight = torch.tensor([[0.2, 0.6]], dtype=torch.float64, requires_grad=True)
    states = torch.rand(20, 3, dtype=torch.float64)
    mean_state = (20 + states[:, :2].sum()) / 60  # the state that is multiplied starts at 1
    value = input_regularizer(weight, numbers, states)
    expected = (0.8 * (1 - numbers.mean()) ** 2 + 0.4 * (1 - mean_state) ** 2) / 2
    torch.testing.assert_close(value, expected)
    value.backward()
    assert (weight.grad < 0).all()  # it pushes towards multiplying in
    assert (numbers.grad > 0).all()
    assert input_regularizer(torch.ones(1, 2), numbers, states) == 0
    ones = torch.ones(5, 2)
    assert input_regularizer(torch.rand(1, 2), ones, ones) == 0


# Networks


def test_the_expected_digit_of_a_perfect_classifier():
    logits = torch.full((10, 10), -100.0).fill_diagonal_(100.0)
    torch.testing.assert_close(expected_digit(logits), torch.arange(10.0))
    torch.testing.assert_close(expected_digit(torch.zeros(2, 3, 10)), torch.full((2, 3), 4.5))
    assert expected_digit(logits.double()).dtype == torch.float64


class Told(nn.Module):
    """Stands in for a classifier that is right: the digit is the value of the image's first pixel."""

    def forward(self, images):
        return 100 * nn.functional.one_hot(images[:, 0, 0, 0].round().long(), 10).float()


@pytest.mark.parametrize("name", ["exact", "NMU"])
def test_digits_that_are_read_right_multiply_right(name):
    head = HEADS[name](2, 1)
    if name == "NMU":
        set_weight(head, [1.0, 1.0])
    network = IsolatedProduct(head, BUNDLED)
    network.classifier = Told()
    digits = torch.cartesian_prod(torch.arange(10.0), torch.arange(10.0))
    mean, deviation = BUNDLED.pixels
    images = (digits * deviation + mean)[..., None, None].expand(100, 2, 8, 8)
    products, read = network(images)
    torch.testing.assert_close(read, digits)
    torch.testing.assert_close(products, digits.prod(-1))


@SIZES
@NETWORKS
def test_shapes_and_gradients(network, side, digits, sizes):
    side = getattr(sizes, side)
    model = network(HEADS["NMU"](2, 1), sizes)
    images = torch.rand(4, digits, side, side, requires_grad=True)
    products, read = model(images)
    assert products.shape == ((4, 3) if network is SequentialProduct else (4,))
    assert read.shape == (4, digits)
    assert torch.isfinite(products).all()
    products.sum().backward()
    assert (images.grad.flatten(2).abs().sum(-1) > 0).all()
    silent = {name for name, parameter in model.named_parameters() if not parameter.grad.abs().sum() > 0}
    if (
        network is OverlappingProduct
    ):  # all but the last layer of a localisation network wait for a first step
        assert all(".localizer." in name and ".localizer.3." not in name for name in silent)
    else:
        assert not silent


def test_the_papers_layers():
    def weights(module):
        return [tuple(parameter.shape) for parameter in module.parameters() if parameter.dim() > 1]

    isolated = IsolatedProduct(HEADS["exact"](2, 1), PAPER)
    assert weights(isolated) == [(32, 1, 3, 3), (64, 32, 3, 3), (128, 9216), (10, 128)]
    overlapping = OverlappingProduct(HEADS["exact"](2, 1), PAPER)
    localizer = [(20, 2, 5, 5), (20, 20, 5, 5), (32, 320), (32, 32)]
    assert weights(overlapping) == localizer * 2 + [(32, 2, 3, 3), (64, 32, 3, 3), (128, 4096), (10, 128)]
    sequential = SequentialProduct(HEADS["exact"](2, 1), PAPER)
    assert weights(sequential) == [(20, 1, 5, 5), (50, 20, 5, 5), (500, 800), (1, 500)]
    rates = [module.p for module in isolated.modules() if isinstance(module, nn.Dropout)]
    assert rates == [0.25, 0.5]
    assert not any(isinstance(module, nn.Dropout) for module in sequential.modules())


@SIZES
@NETWORKS
def test_channels_last_makes_no_difference(network, side, digits, sizes):
    side = getattr(sizes, side)
    model = network(HEADS["NMU"](2, 1), sizes).double().eval()
    images = torch.rand(3, digits, side, side, dtype=torch.float64)
    expected = model(images)
    expected[0].sum().backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    products, read = model.to(memory_format=torch.channels_last)(images)
    products.sum().backward()
    torch.testing.assert_close((products, read), expected)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


def test_both_isolated_digits_go_through_the_same_network():
    model = IsolatedProduct(HEADS["NMU"](2, 1), BUNDLED).eval()
    images = torch.rand(5, 2, 8, 8)
    _, read = model(images)
    _, swapped = model(images.flip(1))
    torch.testing.assert_close(swapped, read.flip(1))
    torch.testing.assert_close(expected_digit(model.logits(images)), read)


def test_what_the_transformers_look_at():
    model = OverlappingProduct(HEADS["exact"](2, 1), BUNDLED).eval()
    canvases = torch.rand(5, 2, 12, 12)
    mean, deviation = BUNDLED.pixels
    first, second = model.control_points(canvases).unbind(1)
    assert not torch.allclose(first, second, atol=1e-2)
    for transformer in model.transformers:
        transformer.localizer[-1].weight.data.zero_()
    seen = model.looked_at(canvases)
    assert seen.shape == (5, 2, 2, 12, 12)
    for which in range(2):  # each looks at everything, both channels
        torch.testing.assert_close(seen[:, which] * deviation + mean, canvases, atol=1e-5, rtol=0)
    products, read = model(canvases)
    torch.testing.assert_close(read[:, 0], read[:, 1])
    model.transformers[1].localizer[-1].bias.data[0] += 0.5
    moved, _ = model(canvases)
    assert not torch.allclose(moved, products)


def test_a_sequence_of_any_length_is_read_digit_by_digit():
    model = SequentialProduct(HEADS["NMU"](2, 1), BUNDLED).eval()
    images = torch.rand(4, 20, 8, 8)
    products, read = model(images)
    assert products.shape == read.shape == (4, 20)
    first, first_read = model(images[:, :2])
    torch.testing.assert_close(first, products[:, :2])
    torch.testing.assert_close(first_read, read[:, :2])
    torch.testing.assert_close(model.cell(read), products)


@NETWORKS
def test_training_comes_from_the_seed(network, side, digits):
    def train():
        torch.manual_seed(11)
        model = network(HEADS["sNMU"](2, 1), BUNDLED)
        head = model.cell.head if network is SequentialProduct else model.head
        optimizer = torch.optim.Adam(model.parameters())
        images = torch.rand(8, digits, getattr(BUNDLED, side), getattr(BUNDLED, side))
        for _ in range(3):
            optimizer.zero_grad()
            loss = (model(images)[0] - 6).square().mean() + head.regularizer()
            loss.backward()
            optimizer.step()
            head.clamp_()
        return model.state_dict()

    first, again = train(), train()
    assert all(torch.equal(first[name], again[name]) for name in first)


@NETWORKS
def test_images_of_another_size_are_refused(network, side, digits):
    model = network(HEADS["NMU"](2, 1), BUNDLED)
    side = getattr(BUNDLED, side)
    for shape in ((2, digits, side, side + 1), (2, digits, 28, 28), (digits, side, side)):
        with pytest.raises(ValueError, match=rf"images must be \(n, digits, {side}, {side}\); got"):
            model(torch.zeros(shape))


def test_a_canvas_has_two_channels():
    with pytest.raises(ValueError, match="2 channels, one a digit; got 3"):
        OverlappingProduct(HEADS["exact"](2, 1), BUNDLED)(torch.zeros(1, 3, 12, 12))
