"""Laws that are given: fields of diffusion tensors, laws in Python, and another law on the diagonal alone."""

import itertools

import pytest
import torch

import whorl
from catalogue import noise
from whorl.activations import (
    Anisotropic,
    AxisAligned,
    CoherenceEnhancing,
    CustomLaw,
    EdgeEnhancing,
    SymmetricMatrix,
    TensorField,
)
from whorl.activations.tensors import upper
from whorl.diffusivities import Rational
from whorl.errors import ShapeError
from whorl.operators import CellGradient

SIZES = {2: (4, 5), 3: (3, 4, 5)}
spaces = pytest.mark.parametrize("d", [2, 3], ids=["plane", "space"])


def field(d, rng):
    """Positive definite matrices, as entries of the upper triangle on pixels."""
    A = torch.randn(d, d, *SIZES[d], dtype=torch.float64, generator=rng)
    D = torch.einsum("ik...,jk...->ij...", A, A)
    return torch.stack([D[i, j] for i, j in upper(d)])


@spaces
def test_a_cell_has_the_mean_of_its_corners_in_the_mirrored_picture(d, rng):
    """Behind a border the picture is mirrored, and with it the sign of a mixed entry of the direction across."""
    tensors = field(d, rng)
    extended = []
    for (i, j), entry in zip(upper(d), tensors, strict=True):
        index = torch.meshgrid(*(torch.arange(-1, n + 1) for n in SIZES[d]), indexing="ij")
        inside = [place.clamp(0, n - 1) for place, n in zip(index, SIZES[d], strict=True)]
        value = entry[tuple(inside)]
        for axis, (place, within) in enumerate(zip(index, inside, strict=True)):
            direction = d - 1 - axis  # x is the last axis
            if i != j and direction in (i, j):
                value = torch.where(place == within, value, -value)
        extended.append(value)
    whole = torch.stack(extended)
    corners = [
        whole[(slice(None), *(slice(end, n + 1 + end) for end, n in zip(corner, SIZES[d], strict=True)))]
        for corner in itertools.product((0, 1), repeat=d)
    ]
    expected = sum(corners) / len(corners)
    torch.testing.assert_close(TensorField.on_pixels(tensors).tensors, expected, rtol=1e-13, atol=1e-13)


@spaces
def test_a_field_of_identities_is_homogeneous_diffusion(d, rng):
    u = noise(rng, 1, 1, *SIZES[d])
    identity = torch.tensor([float(i == j) for i, j in upper(d)]).view(-1, *[1] * d)
    law = TensorField.on_pixels(identity.expand(-1, *SIZES[d]))
    plain = whorl.models.build("perona-malik", diffusivity="homogeneous")
    found = whorl.models.Model(CellGradient(), Anisotropic(law)).rhs(u)
    torch.testing.assert_close(found, plain.rhs(u), rtol=0, atol=1e-12)
    assert law.maximum() == pytest.approx(1)
    assert float(law.contrast) == 1  # it has none


def test_a_field_of_zeros_still_has_a_step():
    assert 0 < TensorField(torch.zeros(3, 4, 4)).maximum() < 1e-20


@pytest.mark.parametrize("wrong", ["text", torch.zeros(6, 4, 4), torch.zeros(3, 4, 4, 4), torch.zeros(7, 3, 3, 3)])
def test_what_is_no_field_is_refused(wrong):
    with pytest.raises(ShapeError, match=r"expected a tensor \(3"):
        TensorField(wrong)


def constant(*values):
    """A law whose tensor is the diagonal matrix of these values everywhere."""

    def function(J):
        return SymmetricMatrix(*(values[i] + 0 * J.a if i == j else 0 * J.a for i, j in upper(len(values))))

    return function


@pytest.mark.parametrize("maximum", [1.0, 100.0])
@pytest.mark.parametrize(
    ("low", "high", "fine"),
    [
        (0.0, 1.0, True),
        (-0.5, 0.5, False),
        (0.2, 1.5, False),
        (-9.5e-4, 1 + 9.5e-4, True),
        (0.0, 1 + 1.04e-3, False),
        (-1.04e-3, 0.5, False),
    ],
)
def test_a_law_in_python_keeps_within_a_thousandth_of_its_bounds(maximum, low, high, fine, rng):
    model = whorl.models.Model(
        CellGradient(), Anisotropic(CustomLaw(constant(maximum * low, maximum * high), maximum=maximum))
    )
    u = noise(rng, 1, 1, 5, 6)
    if fine:
        assert torch.isfinite(model.rhs(u)).all()
    else:
        with pytest.raises(ValueError, match="outside"):
            model.rhs(u)


def test_a_law_in_python_is_transformed_by_torch(rng):
    """Where tensors stand for many, their eigenvalues cannot be looked at, even if only some entries do."""

    def function(J):
        return SymmetricMatrix(1 / (1 + J.a.square()), torch.zeros((), dtype=J.a.dtype), 1 / (1 + J.c.square()))

    model = whorl.models.Model(CellGradient(), Anisotropic(CustomLaw(function)))
    u = noise(rng, 3, 1, 5, 6, scale=1.0)
    each = torch.func.vmap(lambda one: model.rhs(one[None])[0])(u)
    torch.testing.assert_close(each, model.rhs(u))


@pytest.mark.parametrize("law", [EdgeEnhancing(Rational(2.0)), CoherenceEnhancing(1.0)], ids=lambda law: law.name)
@spaces
def test_a_law_on_the_diagonal_is_the_law_of_a_diagonal_matrix(law, d):
    entries = [torch.full((1,) * (d + 4), value) for value in (9.0, 0.0, 0.0, 4.0, 0.0, 1.0)[: d * (d + 1) // 2]]
    J = SymmetricMatrix(*entries)
    for found, expected in zip(AxisAligned(law).tensor(J), law.tensor(J), strict=True):
        assert torch.equal(found, expected)
        assert torch.isfinite(found).all()
