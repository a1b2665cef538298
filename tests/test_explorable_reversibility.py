"""The reversibility explorable, driven."""

import math
import re

import numpy as np
import pytest
import torch
import traitlets

from nmu import functional, theory
from nmu.explorables import Reversibility

BOX = (12, 332)  # the plot's left and right ends in its own units


def shown(page, name):
    return float(page.locator(f'[data-value="{name}"]').get_attribute("data-number"))


def outline(page, domain):
    """The drawn density of V as values on its axis and heights."""
    path = page.locator('[data-value="density-v"]').get_attribute("d")
    x, y = np.array(re.findall(r"[ML]([\d.]+) ([\d.]+)", path), dtype=float).T
    low, high = domain
    return low + (x - BOX[0]) / (BOX[1] - BOX[0]) * (high - low), y.max() - y


@pytest.mark.parametrize("noise", [(0.0, 1.0), (-1.0, 2.0), (3.0, 2.0), (1.0, math.inf), (math.nan, 2.0)])
def test_noise_is_checked(noise):
    with pytest.raises(traitlets.TraitError, match="0 < low <= high"):
        Reversibility(noise=noise)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("weight", "x", "noise"),
    [(0.3, -1.5, (1.0, 5.0)), (0.85, 2.5, (0.2, 1.0)), (0.05, -3.0, (1 / 3, 3.0)), (0.6, 0.5, (2.0, 2.0))],
)
def test_numbers_are_the_theorys(explorable_page, weight, x, noise):
    page = explorable_page(Reversibility(weight=weight, x=x, noise=noise))
    at = torch.tensor([weight], dtype=torch.float64)
    first, _ = theory.effective_moments(at, noise)
    row = torch.tensor([[x]], dtype=torch.float64)
    assert shown(page, "mean-v") == pytest.approx(first.item(), abs=1e-9)
    assert shown(page, "shift") == pytest.approx(theory.log_odds_shift(noise), abs=1e-9)
    assert shown(page, "factor") == pytest.approx(functional.nmu(row, at[None]).item(), abs=1e-9)
    assert shown(page, "mean-factor") == pytest.approx(functional.nmu(row, first[None]).item(), abs=1e-9)
    variance = theory.output_variance(at, row[0], noise).item()
    assert shown(page, "deviation") ** 2 == pytest.approx(variance, abs=1e-9)


@pytest.mark.browser
def test_the_drawn_density_is_that_of_v(explorable_page):
    page = explorable_page(Reversibility(weight=0.3))
    v, height = outline(page, (0, 1))
    mass = np.cumsum((height[1:] + height[:-1]) / 2 * np.diff(v))
    n = np.linspace(1, 5, 100_001)
    expected = np.quantile(functional.effective_weight(torch.tensor(0.3), torch.tensor(n)), [0.1, 0.5, 0.9])
    assert np.interp([0.1, 0.5, 0.9], mass / mass[-1], v[1:]) == pytest.approx(expected, abs=0.003)


@pytest.mark.browser
def test_on_log_odds_the_density_keeps_its_shape(explorable_page):
    page = explorable_page(Reversibility(weight=0.2, scale="log-odds"))
    before, height_before = outline(page, (-7, 7))
    page.get_by_role("slider", name="W").fill("0.8")
    after, height_after = outline(page, (-7, 7))
    assert after - before == pytest.approx(2 * math.log(4), abs=1e-3)
    assert height_after == pytest.approx(height_before, abs=0.011)


@pytest.mark.browser
def test_both_ends_are_exact(explorable_page):
    page = explorable_page(Reversibility(), width=360)
    slider = page.get_by_role("slider", name="W")
    slider.focus()
    for key, weight in [("Home", 0.0), ("End", 1.0)]:
        page.keyboard.press(key)
        assert shown(page, "mean-v") == weight
        assert shown(page, "deviation") == 0
        assert shown(page, "factor") == shown(page, "mean-factor")
        assert f"V = {weight:g} whatever the noise" in page.get_by_role("status").inner_text()
    page.get_by_role("combobox", name="Scale").select_option("log-odds")
    assert page.get_by_text("+∞").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.browser
def test_ends_of_the_noise_push_each_other(explorable_page):
    page = explorable_page(Reversibility())
    low, high = (page.get_by_role("slider", name=name) for name in ("n from", "n to"))
    box = low.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    assert (low.input_value(), high.input_value()) == ("10", "10")
    high.focus()
    page.keyboard.press("Home")
    assert (low.input_value(), high.input_value()) == ("0.1", "0.1")
    assert shown(page, "shift") == pytest.approx(math.log(0.1), abs=1e-12)
    page.get_by_role("button", name="U[⅓,3]").click()
    assert shown(page, "shift") == pytest.approx(theory.log_odds_shift((1 / 3, 3.0)), abs=1e-9)


@pytest.mark.browser
def test_the_weight_slides_and_stops(explorable_page):
    page = explorable_page(Reversibility())
    words = page.get_by_role("status")
    before = words.inner_text()
    page.get_by_role("button", name="Slide W").press("Enter")
    page.wait_for_function("document.querySelector('[data-value=mean-v]').dataset.number > 0.1")
    assert words.inner_text() == before
    page.get_by_role("button", name="Stop").press("Enter")
    stopped = shown(page, "mean-v")
    assert 0.1 < stopped < 1
    assert words.inner_text() != before
    page.wait_for_timeout(100)
    assert shown(page, "mean-v") == stopped
    page.get_by_role("button", name="Slide W").click()
    page.get_by_role("slider", name="W").fill("0.5")
    page.get_by_role("button", name="Slide W").wait_for()
    assert page.get_by_role("slider", name="W").input_value() == "0.5"


@pytest.mark.browser
def test_less_motion_is_a_step_at_a_time(explorable_page):
    page = explorable_page(Reversibility(weight=0.85), reduced_motion="reduce")
    step = page.get_by_role("button", name="Move W by 0.1")
    reached = []
    for _ in range(3):
        step.click()
        reached.append(shown(page, "factor"))
    assert reached == pytest.approx([1 - 2.5 * 0.9, -1.5, 1])


@pytest.mark.browser
def test_two_views_of_one_model(explorable_page):
    widget = Reversibility()
    page = explorable_page(widget, widget)
    first, second = page.get_by_role("slider", name="W").all()
    first.fill("0.7")
    assert second.input_value() == "0.7"
