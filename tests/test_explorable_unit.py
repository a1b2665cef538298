"""The unit's explorable, driven."""

import pytest
import torch

from nmu import functional
from nmu.explorables import Unit

pytestmark = pytest.mark.browser


def shown(page, name):
    return float(page.locator(f'[data-value="{name}"]').get_attribute("data-number"))


def test_numbers_are_the_units(explorable_page):
    page = explorable_page(Unit(x=(-1.7, 2.9), weight=(0.35, 0.85)))
    x = torch.tensor([[-1.7, 2.9]], dtype=torch.float64)
    weight = torch.tensor([[0.35, 0.85]], dtype=torch.float64)
    assert shown(page, "output") == pytest.approx(functional.nmu(x, weight).item(), abs=1e-12)
    assert shown(page, "factor-1") == pytest.approx(0.35 * -1.7 + 0.65, abs=1e-12)


def test_keys_move_a_weight(explorable_page):
    page = explorable_page(Unit(weight=(0.3, 0.8)))
    slider = page.get_by_role("slider", name="W₁")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert slider.input_value() == "0.35"
    assert shown(page, "factor-1") == pytest.approx(0.35 * 2 + 0.65, abs=1e-12)
    page.keyboard.press("End")
    assert shown(page, "factor-1") == 2


def test_pointer_moves_an_input(explorable_page):
    page = explorable_page(Unit())
    slider = page.get_by_role("slider", name="x₂")
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    assert slider.input_value() == "3"
    assert "target" in page.get_by_role("status").inner_text()
