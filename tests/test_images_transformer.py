"""The thin-plate spline reproduces what it must, and gradients flow through what is looked at."""

import pytest
import torch

from nmu.images import transformer
from nmu.images.sizes import BUNDLED, PAPER, SMALL

pytestmark = pytest.mark.usefixtures("one_thread")
CONTROL = transformer.control_grid()
AFFINE = [
    ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]),
    ([[0.7, 0.0], [0.0, 1.3]], [0.2, -0.1]),
    ([[0.6, -0.8], [0.8, 0.6]], [0.0, 0.3]),
    ([[1.0, 0.4], [-0.2, 0.5]], [-0.3, 0.1]),
]


@pytest.fixture
def double():
    """A transformer of the bundled digits' size in float64, with its basis as exact as that."""
    module = transformer.SpatialTransformer(2, BUNDLED).double()
    steps = torch.linspace(-1, 1, BUNDLED.canvas, dtype=torch.float64)
    pixels = torch.cartesian_prod(steps, steps).flip(-1)
    module.basis = transformer.thin_plate_basis(pixels, CONTROL)
    return module


def test_the_control_grid():
    assert CONTROL.shape == (16, 2)
    assert CONTROL.dtype == torch.float64
    torch.testing.assert_close(CONTROL[0].tolist(), [-0.9, -0.9])
    torch.testing.assert_close(CONTROL[1].tolist(), [-0.3, -0.9])  # first to the right
    torch.testing.assert_close(CONTROL[-1].tolist(), [0.9, 0.9])


# The spline


@pytest.mark.parametrize(("matrix", "offset"), AFFINE)
def test_affine_maps_are_reproduced(matrix, offset):
    where = 3 * torch.rand(200, 2, dtype=torch.float64) - 1.5
    matrix, offset = torch.tensor(matrix).double(), torch.tensor(offset).double()
    basis = transformer.thin_plate_basis(where, CONTROL)
    taken = basis @ (CONTROL @ matrix.T + offset)
    torch.testing.assert_close(taken, where @ matrix.T + offset, atol=1e-10, rtol=0)


def test_control_points_go_where_they_are_wanted():
    wanted = torch.rand(16, 2, dtype=torch.float64)
    basis = transformer.thin_plate_basis(CONTROL, CONTROL)
    torch.testing.assert_close(basis @ wanted, wanted, atol=1e-10, rtol=0)
    near = transformer.thin_plate_basis(CONTROL + 1e-7, CONTROL)  # and the spline is continuous there
    torch.testing.assert_close(near @ wanted, wanted, atol=1e-5, rtol=0)


def test_the_spline_is_the_sum_of_a_plane_and_of_radial_terms():
    """An oracle that finds the coefficients for one set of targets, as the textbooks do."""
    wanted, where = torch.rand(16, 2).double(), torch.rand(50, 2).double()

    def radial(a, b):
        distance = torch.cdist(a, b)
        return torch.where(distance > 0, distance**2 * distance.clamp(min=1e-300).log(), 0.0)

    plane = torch.cat((torch.ones(16, 1), CONTROL), 1).double()
    system = torch.cat(
        (
            torch.cat((radial(CONTROL, CONTROL), plane), 1),
            torch.cat((plane.T, torch.zeros(3, 3).double()), 1),
        )
    )
    solution = torch.linalg.solve(system, torch.cat((wanted, torch.zeros(3, 2).double())))
    bending, affine = solution[:16], solution[16:]
    expected = radial(where, CONTROL) @ bending + affine[0] + where @ affine[1:]
    basis = transformer.thin_plate_basis(where, CONTROL)
    torch.testing.assert_close(basis @ wanted, expected, atol=1e-9, rtol=0)
    torch.testing.assert_close(basis.sum(1), torch.ones(50).double())


# The transformer


@pytest.mark.parametrize("sizes", [PAPER, SMALL, BUNDLED], ids=["paper", "small", "bundled"])
def test_a_new_transformer_changes_little_and_without_weights_nothing(sizes):
    module = transformer.SpatialTransformer(2, sizes)
    images = torch.randn(3, 2, sizes.canvas, sizes.canvas)
    assert (module.control_points(images) - CONTROL.float()).square().mean().sqrt() < 0.2
    module.localizer[-1].weight.data.zero_()
    points = module.control_points(images)
    torch.testing.assert_close(points, CONTROL.float().expand(3, 16, 2), atol=1e-6, rtol=0)
    torch.testing.assert_close(module(images), images, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("matrix", "offset"), AFFINE)
def test_affine_control_points_sample_an_affine_image(double, matrix, offset):
    """On an image that is linear in its coordinates, linear interpolation makes no error."""
    matrix, offset = torch.tensor(matrix).double(), torch.tensor(offset).double()
    steps = torch.linspace(-1, 1, 12, dtype=torch.float64)
    down, right = torch.meshgrid(steps, steps, indexing="ij")
    image = torch.stack((right, 2 * right - 3 * down))[None]
    warped = transformer.warp(image, double.basis, (CONTROL @ matrix.T + offset)[None])
    target = torch.stack((right, down), -1) @ matrix.T + offset
    expected = torch.stack((target[..., 0], 2 * target[..., 0] - 3 * target[..., 1]))
    inside = (target.abs() <= 1).all(-1)
    assert inside.sum() > 50
    torch.testing.assert_close(warped[0][:, inside], expected[:, inside], atol=1e-5, rtol=0)
    outside = (target.abs() > 1 + 2 / 11).any(-1)  # more than a pixel away there is nothing
    assert (warped[0][:, outside] == 0).all()


def test_a_shifted_look_is_a_shifted_image(double):
    image = torch.rand(1, 1, 12, 12, dtype=torch.float64)
    points = CONTROL + torch.tensor([3.0, -2.0]) * 2 / 11  # three pixels to the right, two up
    seen = transformer.warp(image, double.basis, points[None])
    torch.testing.assert_close(seen[0, 0, 2:, :9], image[0, 0, :10, 3:], atol=1e-5, rtol=0)


def test_the_gradient_of_sampling():
    images = torch.rand(2, 1, 4, 4, dtype=torch.float64, requires_grad=True)
    steps = torch.linspace(-1, 1, 4, dtype=torch.float64)
    basis = transformer.thin_plate_basis(torch.cartesian_prod(steps, steps).flip(-1), CONTROL)
    # The points are moved, as linear interpolation has kinks at the centres of pixels.
    points = (0.8 * CONTROL + 0.05 * torch.rand(2, 16, 2) + 0.02).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda image, where: transformer.warp(image, basis, where), (images, points)
    )


def test_every_parameter_learns_after_the_first_step():
    module = transformer.SpatialTransformer(2, BUNDLED)
    images = torch.rand(4, 2, 12, 12)
    optimizer = torch.optim.Adam(module.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        module(images).square().sum().backward()
        optimizer.step()
    assert all(parameter.grad.abs().sum() > 0 for parameter in module.parameters())
    assert not torch.equal(module(images), images)
    assert module.control_points(images).abs().max() < 1


def test_the_basis_follows_the_module_and_is_not_stored():
    module = transformer.SpatialTransformer(1, BUNDLED)
    assert "basis" not in module.state_dict()
    assert module.double().basis.dtype == torch.float64
