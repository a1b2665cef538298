"""The trap line, driven."""

import pandas as pd
import pytest
import torch
import traitlets

from nmu import theory
from nmu.explorables import TrapLine
from nmu.tasks import RANGES

RUNS = pd.DataFrame(
    {
        "interpolation_range": [str(range_) for range_ in RANGES for _ in range(4)],
        "solved": [not (i in (1, 2) and seed < i) for i in range(9) for seed in range(4)],
    }
)


def shown(page, name):
    return float(page.locator(f'[data-value="{name}"]').get_attribute("data-number"))


def probe(page):
    return page.get_by_role("slider", name="Probe")


def centre(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_failures_are_counted_from_the_runs():
    points = {point["name"]: point for point in TrapLine(RUNS).points}
    assert list(points) == [str(range_) for range_ in RANGES]
    assert {name: point["failed"] for name, point in points.items() if point["failed"]} == {
        "U[-2,-1]": 1,
        "U[-1.2,-1.1]": 2,
    }
    assert points["U[-2,-1]"] == {"name": "U[-2,-1]", "low": -2, "high": -1, "runs": 4, "failed": 1}
    assert all(point["runs"] == 0 for point in TrapLine().points)


def test_unfit_runs_are_refused():
    with pytest.raises(ValueError, match="one module; got NMU, sNMU"):
        TrapLine(pd.concat([RUNS.assign(module="NMU"), RUNS.assign(module="sNMU")]))
    with pytest.raises(ValueError, match=r"nine ranges of nmu.tasks; got U\[3,4\]"):
        TrapLine(RUNS.assign(interpolation_range="U[3,4]"))
    with pytest.raises(traitlets.TraitError):
        TrapLine(half_width=0.0)


@pytest.mark.parametrize(("half_width", "kept"), [(0.5, (0.85, 1.0)), (1.0, (0.5, 0.75))])
def test_wide_ranges_lose_less_than_the_share_shown(half_width, kept):
    grid = 0.25 + (torch.arange(20, dtype=torch.float64) + 0.5) / 40
    starts = torch.cartesian_prod(grid, grid)
    solved = theory.predict_success(starts, -1.5 - half_width, -1.5 + half_width, steps=2000)
    share = 2 * (2 / 2.5 - 0.5) ** 2
    assert kept[0] < (~solved).double().mean().item() / share < kept[1]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("mean", "half_width", "share"),
    [
        (-1.5, 0.5, 0.18),
        (-2.0, 0.1, 2 * (2 / 3 - 0.5) ** 2),
        (-15.0, 5.0, 0.0),
        (-0.5, 4.0, 0.0),
        (-0.5, 2.0, 0.0),
        (1.15, 0.05, 0.0),
    ],
)
def test_numbers_are_the_theorys(explorable_page, mean, half_width, share):
    page = explorable_page(TrapLine(mean=mean, half_width=half_width))
    low, high = mean - half_width, mean + half_width
    gradient = theory.origin_gradient(*theory.uniform_moments(low, high))
    assert shown(page, "gradient") == pytest.approx(gradient, rel=1e-12, abs=1e-9)
    assert shown(page, "trap") == theory.origin_is_trap(low, high)
    assert shown(page, "crossing") == pytest.approx(theory.sign_change(mean), abs=1e-12)
    assert shown(page, "share") == pytest.approx(share, abs=1e-12)
    assert ("a trap" in page.get_by_role("status").inner_text()) == theory.origin_is_trap(low, high)


@pytest.mark.browser
def test_the_region_drawn_is_the_traps(explorable_page):
    page = explorable_page(TrapLine(RUNS))
    for mean in (-10.0, -1.05, -0.95, -0.8, -0.3, -0.1, 0.2):
        for half_width in (0.05, 0.5, 1.0, 2.0, 4.0, 8.0):
            inside = page.evaluate(
                """([mean, halfWidth]) => {
                  const x = (value) => 189 + (Math.asinh(value / 0.3) / Math.asinh(20 / 0.3)) * 143;
                  const y = 228 - (Math.log10(halfWidth / 0.02) / Math.log10(500)) * 218;
                  const region = document.querySelector("path.nmu-fill-2");
                  return region.isPointInFill(new DOMPoint(x(mean), y));
                }""",
                [mean, half_width],
            )
            assert inside == theory.origin_is_trap(mean - half_width, mean + half_width), (mean, half_width)


@pytest.mark.browser
def test_pointer_drags_the_probe(explorable_page):
    page = explorable_page(TrapLine(RUNS), width=360, has_touch=True)
    before = page.get_by_role("status").inner_text()
    page.mouse.move(*centre(probe(page)))
    page.mouse.down()
    page.mouse.move(*centre(page.get_by_role("button", name="U[−20,−10]")), steps=4)
    assert page.get_by_role("status").inner_text() == before
    page.mouse.up()
    assert float(probe(page).get_attribute("aria-valuenow")) == pytest.approx(-15, abs=0.8)
    assert "half-width 5." in probe(page).get_attribute("aria-valuetext")
    assert "Its basin ends before the start box begins" in page.get_by_role("status").inner_text()
    page.get_by_role("button", name="U[−2,−1]").tap()
    assert shown(page, "gradient") == pytest.approx(theory.origin_gradient(*theory.uniform_moments(-2, -1)))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.browser
def test_a_click_moves_the_probe(explorable_page):
    page = explorable_page(TrapLine(RUNS, view="near"))
    x, y = centre(probe(page))
    page.mouse.click(x + 60, y - 90)
    assert centre(probe(page)) == pytest.approx((x + 60, y - 90), abs=1)


@pytest.mark.browser
def test_keys_move_the_probe(explorable_page):
    page = explorable_page(TrapLine(RUNS, mean=-1.05, half_width=0.05))
    probe(page).focus()
    page.keyboard.press("ArrowRight")
    assert shown(page, "trap") == 0
    for _ in range(60):
        page.keyboard.press("ArrowUp")
    assert shown(page, "trap") == 1
    assert page.get_by_role("slider", name="half-width", exact=True).input_value() == "10"
    page.get_by_role("slider", name="mean μ").press("End")
    assert shown(page, "trap") == 0


@pytest.mark.browser
def test_ranges_tell_their_numbers(explorable_page):
    page = explorable_page(TrapLine(RUNS))
    first = page.get_by_role("button", name="U[−20,−10]")
    first.focus()
    assert page.get_by_text("U[−20,−10]: μ = −15.00, half-width 5.00, the origin is a trap").is_visible()
    page.keyboard.press("ArrowRight")
    words = "U[−2,−1]: μ = −1.50, half-width 0.50, the origin is a trap; runs: 1 of 4 failed."
    assert page.get_by_text(words).is_visible()
    assert page.get_by_text("2 of 4 failed", exact=True).count() == 1
    page.keyboard.press("Enter")
    assert shown(page, "share") == pytest.approx(0.18)
    page.keyboard.press("Tab")
    assert probe(page).evaluate("node => node === document.activeElement")
    page.get_by_role("button", name="U[−2,2]").hover()
    assert page.get_by_text("U[−2,2]: μ = 0.00, half-width 2.00, the origin is no trap").is_visible()


@pytest.mark.browser
def test_the_other_view(explorable_page):
    widget = TrapLine(RUNS, mean=5.0)
    page = explorable_page(widget, widget)
    page.get_by_role("combobox", name="View").first.select_option("near μ = −1")
    assert page.get_by_role("button").count() == 2 * 5
    assert "outside this view" in page.get_by_role("status").last.inner_text()
    page.get_by_role("slider", name="mean μ").first.fill("-2.5")
    assert "outside" not in page.get_by_role("status").last.inner_text()
