"""The cell form is exactly the stencil family of Weickert, Welk and Wickert (2013)."""

import pytest
import torch

from whorl.operators import CellGradient
from whorl.operators.boundary import mirror


def nine_weights(u: torch.Tensor, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, alpha: float, gamma: float):
    """div(D grad u) by the explicit 9-weight stencil; a, b, c live on the (H+1) x (W+1) cells."""
    beta = gamma * (1 - 2 * alpha) * torch.sign(b)
    delta = alpha * (a + c) + beta * b
    height, width = u.shape

    def cell(f: torch.Tensor, right: int, down: int) -> torch.Tensor:
        """The value of f at the cell to the right/left and below/above of every pixel."""
        return f[down : down + height, right : right + width]

    weights = {}
    for side in (0, 1):
        weights[(2 * side - 1, 0)] = 0.5 * (cell(a - delta, side, 0) + cell(a - delta, side, 1))
        weights[(0, 2 * side - 1)] = 0.5 * (cell(c - delta, 0, side) + cell(c - delta, 1, side))
    for right in (0, 1):
        for down in (0, 1):
            sign = 1 if right == down else -1
            weights[(2 * right - 1, 2 * down - 1)] = 0.5 * cell(delta + sign * b, right, down)
    extended = mirror(u[None, None], 1)[0, 0]
    result = torch.zeros_like(u)
    for (dx, dy), weight in weights.items():
        result += weight * (extended[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width] - u)
    return result


@pytest.mark.parametrize("alpha", [0.0, 0.13, 0.41, 0.5])
@pytest.mark.parametrize("gamma", [0.0, 0.6, 1.0])
def test_cell_form_equals_the_nine_weights(alpha, gamma, rng):
    height, width = 7, 9
    u = torch.randn(height, width, dtype=torch.float64, generator=rng)
    root = torch.randn(2, 2, height + 1, width + 1, dtype=torch.float64, generator=rng)
    D = torch.einsum("ikyx,jkyx->ijyx", root, root)
    # A tensor field on a mirrored image is mirror symmetric: no off-diagonal entry where a cell meets its mirror image.
    a, b, c = D[0, 0], D[0, 1].clone(), D[1, 1]
    b[0], b[-1], b[:, 0], b[:, -1] = 0, 0, 0, 0
    K = CellGradient(alpha)
    p, q, r_x, r_y = K(u[None, None])[0, 0, 0]
    across = gamma * b.abs()
    flux = torch.stack([a * p + b * q, b * p + c * q, a * r_x - across * r_y, c * r_y - across * r_x])
    cells = -K.adjoint(flux[None, None, None])[0, 0]
    assert torch.allclose(cells, nine_weights(u, a, b, c, alpha, gamma), rtol=0, atol=1e-12 * D.abs().max())


def test_fast_form_of_the_adjoint_for_mirror_symmetric_fluxes(rng):
    """For fluxes built from K u the weighted adjoint is the plain transposed filter, cropped."""
    from whorl.activations import Anisotropic
    from whorl.blocks import literal_stencils
    from whorl.diffusivities import Exponential

    K, phi = CellGradient(0.3), Anisotropic(Exponential(5.0))
    u = 10 * torch.randn(1, 1, 6, 8, dtype=torch.float64, generator=rng)
    flux = phi(K(u))
    cropped = torch.nn.functional.conv_transpose2d(flux[:, 0, 0], literal_stencils(K)[0][:, None], padding=1)
    assert torch.allclose(K.adjoint(flux), cropped, rtol=0, atol=1e-12)
