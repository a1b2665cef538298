"""The landscape's explorable, driven; its numbers are those of nmu.theory and of torch's optimisers."""

import json

import pytest
import torch
import traitlets
from torch.autograd.functional import hessian

from nmu import functional, theory
from nmu.explorables import Landscape

pytestmark = pytest.mark.browser

STARTS = [(0.3, 0.35), (0.6, 0.45), (0.7, 0.2), (0.02, 0.97), (0.999, 0.4)]
INTERVALS = {"none": None, "fixed": (1.0, 5.0)}


def number(page, name):
    return float(page.locator(f'[data-value="{name}"]').first.get_attribute("data-number"))


def count(page, name):
    return int(page.locator(f'[data-value="{name}"]').first.inner_text())


def settled(page, balls, map_=0):
    """Wait until the balls have stopped; their weights and fates."""
    picture = page.locator(".nmu-map").nth(map_)
    page.wait_for_function(
        """([i, n]) => {
            const { fates } = document.querySelectorAll(".nmu-map")[i].dataset;
            return fates && JSON.parse(fates).length === n && !fates.includes("moving");
        }""",
        arg=[map_, balls],
    )
    return stopped(picture)


def stopped(picture):
    return [json.loads(picture.get_attribute(f"data-{name}")) for name in ("weights", "fates")]


def at(page, weight, low=0.0, high=1.0):
    """Where the map shows a pair of weights."""
    box = page.locator(".nmu-map").bounding_box()
    across, up = ((w - low) / (high - low) * 286 for w in weight)
    zoom = box["width"] / 340
    return box["x"] + zoom * (46 + across), box["y"] + zoom * (296 - up)


def trained(low, high, noise, steps, optimizer):
    weight = torch.tensor(STARTS, dtype=torch.float64, requires_grad=True)
    optimizer = optimizer([weight])
    for _ in range(steps):
        weight.grad = theory.expected_gradient(weight, *theory.uniform_moments(low, high), noise)
        optimizer.step()
        weight.detach().clamp_(0, 1)
    return weight.detach()


@pytest.mark.parametrize("noise", ["none", "fixed", "batch"])
@pytest.mark.parametrize("interval", [(-2.0, -1.0), (-1.2, -1.1)])
def test_adam_is_torchs(explorable_page, interval, noise):
    interval_of_noise = INTERVALS.get(noise, theory.batch_noise(*interval))
    expected = trained(*interval, interval_of_noise, 500, lambda p: torch.optim.Adam(p, lr=1e-3))
    widget = Landscape(interpolation_range=interval, noise=noise, starts=STARTS, step=500)
    weights, _ = stopped(explorable_page(widget).locator(".nmu-map"))
    torch.testing.assert_close(torch.tensor(weights, dtype=torch.float64), expected, rtol=0, atol=1e-9)


def test_descent_is_torchs(explorable_page):
    page = explorable_page(Landscape(optimizer="descent", noise="fixed", starts=STARTS, step=300))
    rate = number(page, "rate")
    expected = trained(-2.0, -1.0, (1.0, 5.0), 300, lambda p: torch.optim.SGD(p, lr=rate))
    weights, _ = stopped(page.locator(".nmu-map"))
    torch.testing.assert_close(torch.tensor(weights, dtype=torch.float64), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("clamp", "low", "high"), [(True, 0.0, 1.0), (False, -0.5, 1.5)])
def test_rate_of_descent_is_half_the_inverse_of_the_largest_curvature(explorable_page, clamp, low, high):
    page = explorable_page(Landscape(optimizer="descent", clamp=clamp))
    moments = theory.uniform_moments(-2.0, -1.0)
    axis = torch.linspace(low, high, 21, dtype=torch.float64)
    curvature = max(
        hessian(lambda w: theory.expected_loss(w, *moments), w).abs().sum(1).max()
        for w in torch.cartesian_prod(axis, axis)
    )
    assert number(page, "rate") == pytest.approx(0.5 / curvature.item(), rel=1e-2)


def test_regularizer_and_its_ramp(explorable_page):
    page = explorable_page(
        Landscape(interpolation_range=(-0.2, -0.1), starts=[(0.6, 0.7)], step=20_000), width=360
    )
    before, fates = stopped(page.locator(".nmu-map"))
    assert fates == ["moving"]
    assert max(before[0]) < 0.8
    page.get_by_role("button", name="Run").click()
    weights, fates = settled(page, 1)
    assert weights == [[1, 1]]
    assert fates == ["solution"]


@pytest.mark.parametrize("noise", ["none", "fixed"])
def test_fates_are_the_predicted_ones(explorable_page, noise):
    starts = 0.25 + 0.5 * torch.rand(200, 2, dtype=torch.float64)
    predicted = theory.predict_success(starts, -2.0, -1.0, INTERVALS[noise], steps=3_000)
    page = explorable_page(Landscape(noise=noise, starts=starts.tolist(), step=5_000))
    _, fates = stopped(page.locator(".nmu-map"))
    assert [fate == "solution" for fate in fates] == predicted.tolist()
    assert set(fates) <= {"solution", "origin"}
    assert count(page, "solution") == predicted.sum()


def uniform_numbers(seed, step):
    """The generator called mulberry32, as the page has it."""
    state = seed * 0x9E3779B1 + step * 0x85EBCA6B
    while True:
        state = (state + 0x6D2B79F5) % 2**32
        t = (state ^ state >> 15) * (state | 1) % 2**32
        t ^= (t + (t ^ t >> 7) * (t | 61)) % 2**32
        yield (t ^ t >> 14) / 2**32


@pytest.mark.parametrize("noise", ["none", "fixed", "batch"])
def test_minibatches_are_those_of_training(explorable_page, noise):
    widget = Landscape(gradient="minibatch", noise=noise, starts=STARTS[:1], seed=7, step=20)
    weight = torch.tensor(STARTS[:1], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=1e-3)
    for step in range(20):
        numbers = uniform_numbers(7, step)
        x, n = (
            torch.tensor([next(numbers) for _ in range(256)], dtype=torch.float64).view(128, 2)
            for _ in range(2)
        )
        x = x - 2
        low, high = functional.batch_noise_bounds(x) if noise == "batch" else (1, 1 if noise == "none" else 5)
        z = functional.snmu(x, weight, low + (high - low) * n)
        optimizer.zero_grad()
        (z - x.prod(1, keepdim=True)).square().mean().backward()
        optimizer.step()
    weights, _ = stopped(explorable_page(widget).locator(".nmu-map"))
    torch.testing.assert_close(torch.tensor(weights, dtype=torch.float64), weight.detach(), rtol=0, atol=1e-9)


def test_minibatches_lead_to_the_predicted_ends(explorable_page):
    starts = torch.tensor(STARTS[:3], dtype=torch.float64)
    predicted = theory.predict_success(starts, -2.0, -1.0, steps=3_000)
    page = explorable_page(Landscape(gradient="minibatch", starts=STARTS[:3], step=3_000))
    _, fates = stopped(page.locator(".nmu-map"))
    assert [fate == "solution" for fate in fates] == predicted.tolist() == [False, True, True]


def test_loss_at_the_cross_hair_moved_by_keys(explorable_page):
    page = explorable_page(Landscape(noise="fixed", cursor=(0.4, 0.3)))
    page.get_by_role("slider", name="W₁").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('[data-value=loss]').textContent")
    weight = torch.tensor([0.41, 0.3], dtype=torch.float64)
    expected = theory.expected_loss(weight, *theory.uniform_moments(-2.0, -1.0), (1.0, 5.0)).item()
    page.wait_for_timeout(50)
    assert number(page, "loss") == pytest.approx(expected, abs=1e-9)


def test_a_ball_is_dropped_and_rolled_by_keys(explorable_page):
    page = explorable_page(Landscape(cursor=(0.3, 0.3)))
    page.get_by_role("slider", name="W₂").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    weights, fates = settled(page, 1)
    assert fates == ["origin"]
    assert weights == [[0, 0]]
    assert "1 at the origin" in page.get_by_role("status").inner_text()
    page.get_by_role("button", name="Clear").focus()
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelector('[data-value=origin]').textContent === '0'")
    assert "No ball" in page.get_by_role("status").inner_text()


@pytest.mark.parametrize("touch", [False, True])
def test_a_ball_is_dropped_where_the_map_is_pointed_at(explorable_page, touch):
    page = explorable_page(Landscape(), width=360, has_touch=touch)
    (page.touchscreen.tap if touch else page.mouse.click)(*at(page, (0.6, 0.5)))
    _, fates = settled(page, 1)
    assert fates == ["solution"]
    values = [float(page.get_by_role("slider", name=name).input_value()) for name in ("W₁", "W₂")]
    assert values == pytest.approx([0.6, 0.5], abs=0.02)


def test_steps_one_by_one_and_back(explorable_page):
    page = explorable_page(Landscape(starts=STARTS))
    for _ in range(3):
        page.get_by_role("button", name="Step").click()
    page.wait_for_function("document.querySelector('[data-value=step]').textContent === '3'")
    expected = trained(-2.0, -1.0, None, 3, lambda p: torch.optim.Adam(p, lr=1e-3))
    weights, _ = stopped(page.locator(".nmu-map"))
    torch.testing.assert_close(torch.tensor(weights, dtype=torch.float64), expected, rtol=0, atol=1e-12)
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function("document.querySelector('[data-value=step]').textContent === '0'")
    assert stopped(page.locator(".nmu-map"))[0] == [list(start) for start in STARTS]


def test_many_balls_from_a_box_then_with_noise(explorable_page):
    page = explorable_page(Landscape())
    page.get_by_role("button", name="Drop 200").click()
    _, fates = settled(page, 200)
    assert 20 < fates.count("origin") < 60
    page.get_by_label("Noise").select_option(label="U[1, 5] (sNMU)")
    page.get_by_role("button", name="Run").click()
    page.wait_for_function("document.querySelector('[data-value=solution]').textContent === '200'")


def test_a_range_of_the_readers_own(explorable_page):
    page = explorable_page(Landscape())
    low, high = page.get_by_label("from", exact=True), page.get_by_label("to", exact=True)
    low.fill("0.5")
    low.press("Enter")
    assert low.get_attribute("aria-invalid") == "true"
    high.fill("-1.5")
    high.press("Enter")
    assert page.get_by_label("Range").input_value() == "your own"
    page.get_by_label("Range").select_option(index=8)
    assert (low.input_value(), high.input_value()) == ("10", "20")
    assert low.get_attribute("aria-invalid") == "false"


def test_without_the_clamp_balls_leave_the_square(explorable_page):
    page = explorable_page(Landscape(clamp=False, noise="fixed", starts=[(0.2, 0.2)], step=1_000))
    weights, _ = stopped(page.locator(".nmu-map"))
    assert max(weights[0]) < -0.1
    assert page.get_by_label("Noise").is_disabled()
    assert "Noise and regulariser need the clamp" in page.locator(".nmu-explorable").inner_text()


def test_two_views_of_one_model_agree(explorable_page):
    widget = Landscape()
    page = explorable_page(widget, widget)
    page.get_by_role("button", name="Drop a ball").nth(1).click()
    first, second = (settled(page, 1, map_) for map_ in (0, 1))
    assert first == second


def test_with_reduced_motion_the_balls_arrive_as_well(explorable_page):
    page = explorable_page(Landscape(starts=STARTS), reduced_motion="reduce")
    page.get_by_role("button", name="Run").click()
    _, fates = settled(page, len(STARTS))
    assert fates[:2] == ["origin", "solution"]


@pytest.mark.parametrize("bad", [(1.0, 1.0), (2.0, -1.0), (0.0, float("inf"))])
def test_python_refuses_a_range_that_is_none(bad):
    with pytest.raises(traitlets.TraitError, match="low < high"):
        Landscape(interpolation_range=bad)
