r"""Functions of symmetric 2x2 matrices, with values and gradients exact at equal eigenvalues.

For :math:`J` with eigenvalues :math:`\nu_{1,2} = t \pm \delta`, a function in the sense of a power series is

.. math:: g(J) = \tfrac12 \big(g(\nu_1) + g(\nu_2)\big) I + g[\nu_2, \nu_1]\, (J - t I)

with the divided difference :math:`g[\nu_2, \nu_1]`: no eigenvectors, and nothing is divided by a difference of
eigenvalues. On flat images :math:`\delta = 0` and the root has no derivative; there its two directions cancel, and
zero is the right one.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from whorl.diffusivities import Diffusivity

__all__ = ["SymmetricMatrix", "eigenvalues", "matrix_diffusivity"]


class SymmetricMatrix(NamedTuple):
    r"""The fields :math:`\begin{pmatrix} a & b \\ b & c \end{pmatrix}`."""

    a: Tensor
    b: Tensor
    c: Tensor


def eigenvalues(J: SymmetricMatrix) -> tuple[Tensor, Tensor]:
    """The larger and the smaller eigenvalue; of a positive semidefinite matrix neither is negative.

    >>> one, two = eigenvalues(SymmetricMatrix(torch.tensor(2.0), torch.tensor(2.0), torch.tensor(5.0)))
    >>> one, two
    (tensor(6.), tensor(1.))
    """
    mean, half = 0.5 * (J.a + J.c), 0.5 * (J.a - J.c)
    radius = _safe_hypotenuse(half, J.b)
    small = mean - radius
    # Rounding may leave a small eigenvalue just below zero: mend its value, but let gradients pass.
    return mean + radius, small + (small.clamp_min(0) - small).detach()


def matrix_diffusivity(g: Diffusivity, J: SymmetricMatrix) -> SymmetricMatrix:
    """The diffusion tensor ``g(J)`` of a structure tensor ``J``."""
    large, small = eigenvalues(J)
    mean = 0.5 * (g(large) + g(small))
    secant = g.divided_difference(small, large)
    half = 0.5 * (J.a - J.c)
    return SymmetricMatrix(mean + secant * half, secant * J.b, mean - secant * half)


def _safe_hypotenuse(x: Tensor, y: Tensor) -> Tensor:
    """The length of ``(x, y)`` without overflow, with derivative zero at the origin."""
    origin = (x == 0) & (y == 0)
    return torch.where(origin, 0, torch.hypot(torch.where(origin, 1, x), y))
