"""The JavaScript arithmetic of the explorables against the package's, on shared numbers."""

import pytest
import torch

from nmu import functional, theory
from nmu.explorables._files import FOLDER
from nmu.tasks import RANGES

pytestmark = pytest.mark.browser

NOISES = [None, (1.0, 5.0), (0.2, 1.0), (3.0, 3.0), (1.0, 35.6)]
TORCH_NOISES = [torch.tensor([3.0], dtype=torch.float64) if n == (3.0, 3.0) else n for n in NOISES]
EXACT = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(scope="module")
def javascript(browser):
    """Run the body of a function of `m`, the module, and `given`, some data; returns what it returns."""
    page = browser.new_page()
    source = (FOLDER / "arithmetic.js").read_text()

    def run(body, given=None):
        return page.evaluate(
            f"""async ([source, given]) => {{
                const blob = new Blob([source], {{ type: "text/javascript" }});
                const m = await import(URL.createObjectURL(blob));
                {body}
            }}""",
            [source, given],
        )

    yield run
    page.close()


def draw(*shape, low=0.0, high=1.0, seed=8):
    generator = torch.Generator().manual_seed(seed)
    return low + (high - low) * torch.rand(shape, dtype=torch.float64, generator=generator)


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def weights_with_ends():
    """Weights of two inputs: random ones, the corners, and some very near to them."""
    near = tensor([0, 1e-12, 1e-6, 0.004, 0.5, 1 - 1e-6, 1])
    return torch.cat([draw(200, 2), torch.cartesian_prod(near, near)])


def test_units(javascript):
    x, weight, noise = draw(50, 3, low=-3, high=3), draw(50, 3, seed=1), draw(50, 3, low=0.2, high=5, seed=2)
    given = [x.tolist(), weight.tolist(), noise.tolist()]
    plain = javascript("return given[0].map((x, i) => m.nmu(x, given[1][i]))", given)
    stochastic = javascript("return given[0].map((x, i) => m.snmu(x, given[1][i], given[2][i]))", given)
    torch.testing.assert_close(tensor(plain), functional.nmu(x[:, None], weight[:, None])[:, 0, 0], **EXACT)
    expected = functional.snmu(x[:, None], weight[:, None], noise[:, None])[:, 0, 0]
    torch.testing.assert_close(tensor(stochastic), expected, **EXACT)


def test_ranges(javascript):
    for range_ in RANGES:
        low, high = range_.interpolation
        moments, noise = javascript(
            "return [m.uniformMoments(...given), m.batchNoise(...given)]", [low, high]
        )
        assert moments == pytest.approx(theory.uniform_moments(low, high), rel=1e-12)
        assert noise == pytest.approx(theory.batch_noise(low, high), rel=1e-12)
        gradient, change = javascript(
            "return [m.originGradient(...given, 3), m.signChange(given[0], 3)]", moments
        )
        assert gradient == pytest.approx(theory.origin_gradient(*moments, 3), rel=1e-12)
        assert change == pytest.approx(theory.sign_change(moments[0], 3), rel=1e-12)


@pytest.mark.parametrize("noise", range(len(NOISES)))
def test_moments_of_the_effective_weight_and_their_slopes(javascript, noise):
    weight = torch.cat([torch.logspace(-14, 0, 300, dtype=torch.float64), draw(300), tensor([0, 1])])
    names = ["first", "second", "firstSlope", "secondSlope"]
    found = javascript(
        "return given[0].map((w) => given[2].map((name) => m.effectiveMoments(w, given[1])[name]))",
        [weight.tolist(), NOISES[noise], names],
    )
    weight.requires_grad_()
    moments = theory.effective_moments(weight, TORCH_NOISES[noise])
    slopes = [torch.autograd.grad(moment.sum(), weight, retain_graph=True)[0] for moment in moments]
    expected = torch.stack([*moments, *slopes], dim=-1).detach()
    torch.testing.assert_close(tensor(found), expected, **EXACT)


@pytest.mark.parametrize("noise", range(len(NOISES)))
@pytest.mark.parametrize("range_", RANGES, ids=str)
def test_expected_loss_and_gradient(javascript, noise, range_):
    weight = weights_with_ends()
    moments = theory.uniform_moments(*range_.interpolation)
    losses, gradients = javascript(
        """const [weights, mean, second, noise] = given;
        const all = (f) => weights.map((weight) => f(weight, mean, second, noise));
        return [all(m.expectedLoss), all(m.expectedGradient)]""",
        [weight.tolist(), *moments, NOISES[noise]],
    )
    size = moments[1] ** 2  # of the terms, which cancel near the solution
    expected = theory.expected_loss(weight, *moments, TORCH_NOISES[noise])
    torch.testing.assert_close(tensor(losses) / size, expected / size, **EXACT)
    expected = theory.expected_gradient(weight, *moments, TORCH_NOISES[noise])
    torch.testing.assert_close(tensor(gradients) / size, expected / size, **EXACT)


@pytest.mark.parametrize("stochastic", [False, True])
def test_gradient_of_a_minibatch(javascript, stochastic):
    x = draw(128, 2, low=-2, high=1)
    noise = draw(128, 2, low=1, high=5, seed=3) if stochastic else None
    weight = weights_with_ends()
    found = javascript(
        "return given[0].map((weight) => m.minibatchGradient(weight, given[1], given[2]))",
        [weight.tolist(), x.flatten().tolist(), None if noise is None else noise.flatten().tolist()],
    )
    rows = weight[:, None].clone().requires_grad_()
    batch = x.expand(len(rows), 128, 2)
    output = (
        functional.snmu(batch, rows, noise.expand_as(batch)) if stochastic else functional.nmu(batch, rows)
    )
    loss = (output[..., 0] - batch.prod(-1)).square().mean(-1)
    expected = torch.autograd.grad(loss.sum(), rows)[0][:, 0]
    torch.testing.assert_close(tensor(found), expected, **EXACT)


def test_gradient_of_the_regulariser(javascript):
    weight = draw(100, 1, 2).requires_grad_()
    functional.sparsity_regularizer(weight).sum().backward()
    found = javascript("return given.map(m.regularizerGradient)", weight[:, 0].tolist())
    torch.testing.assert_close(tensor(found), weight.grad[:, 0], **EXACT)
    ramp = javascript("return given.map((t) => m.ramp(t, 10, 20000, 35000))", [0, 20_000, 27_500, 50_000])
    assert ramp == [0, 0, 5, 10]


@pytest.mark.parametrize("clamped", [False, True])
def test_adam_is_torchs(javascript, clamped):
    gradients = draw(400, 3, low=-1, high=2) * torch.logspace(-6, 3, 400, dtype=torch.float64)[:, None]
    start = [0.2, 0.5, 0.9]
    path = javascript(
        """const [gradients, weight, clamped] = given;
        const state = m.adamState(weight);
        return gradients.map((gradient) => {
          m.adamStep(weight, gradient, state, 1e-2);
          if (clamped) m.clamp(weight);
          return [...weight];
        })""",
        [gradients.tolist(), start, clamped],
    )
    parameter = torch.nn.Parameter(tensor(start))
    optimizer = torch.optim.Adam([parameter], lr=1e-2)
    for gradient, found in zip(gradients, path, strict=True):
        parameter.grad = gradient.clone()
        optimizer.step()
        if clamped:
            parameter.data.clamp_(0, 1)
        torch.testing.assert_close(tensor(found), parameter.detach(), **EXACT)


def test_plain_descent(javascript):
    found = javascript("const w = [0.25, 0.5]; m.descentStep(w, [1, -2], 0.125); return w")
    assert found == [0.125, 0.75]


def test_random_numbers_repeat_and_are_uniform(javascript):
    draws = javascript(
        "return given.map((seed) => { const next = m.randomNumbers(seed); "
        "return Array.from({ length: 20000 }, next) })",
        [1, 1, 2],
    )
    first, again, other = map(tensor, draws)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert ((first >= 0) & (first < 1)).all()
    counts = torch.histc(first, 20, 0, 1)
    assert ((counts - 1000).square() / 1000).sum() < 45  # chi squared with 19 degrees of freedom, p = 0.001
    lagged = torch.corrcoef(torch.stack([first[1:], first[:-1]]))[0, 1]
    assert abs(lagged) < 0.025
