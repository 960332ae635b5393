"""A linear measurement as the library takes it: checked by random pictures before anything is computed with it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl.automatic.risk import signs_everywhere
from whorl.errors import ShapeError

_SHARE = 0.1  # by which the norm found may be too small
_CHANCE = 1e-6  # that it is smaller still


@dataclass(frozen=True)
class Measurement:
    r"""The map :math:`A` from pictures ``(n, c, y, x)`` to data, its adjoint, and a bound of its squared norm.

    >>> double = Measurement.of((lambda u: 2 * u, lambda v: 2 * v), torch.ones(1, 1, 4, 4))
    >>> double.shape, round(double.squared_norm, 2)
    ((1, 1, 4, 4), 4.44)
    """

    forward: Callable[[Tensor], Tensor]
    adjoint: Callable[[Tensor], Tensor]
    shape: tuple[int, ...]
    squared_norm: float

    @classmethod
    def of(cls, A: Any, y: Tensor, shape: tuple[int, ...] | None = None) -> "Measurement":
        """From a pair of functions of tensors, an operator with an ``adjoint``, a Physics of deepinv, or any linear
        function of tensors, whose adjoint autograd then finds for pictures of this shape.
        """
        if isinstance(A, type):
            raise TypeError(f"reconstruct: A is the class {A.__name__}. Give an operator, such as {A.__name__}(...).")
        if isinstance(A, tuple | list):
            forward, adjoint = A
        elif hasattr(A, "A_adjoint"):
            forward, adjoint = A.A, A.A_adjoint
        elif hasattr(A, "adjoint"):
            forward, adjoint = A, A.adjoint
        elif callable(A):
            like = torch.zeros(y.shape if shape is None else shape, dtype=y.real.dtype, device=y.device)
            forward, adjoint = A, _by_autograd(A, like)
        else:
            raise TypeError(
                f"reconstruct: A is a {type(A).__name__}. Give a pair of functions (A, its adjoint), an operator of "
                "torch, or a Physics of deepinv."
            )
        found = tuple(adjoint(y).shape) if shape is None else shape
        if len(found) != 4 or 0 in found:
            raise ShapeError(f"reconstruct: the adjoint gives shape {found}, not that of a picture (n, c, y, x).")
        _check(forward, adjoint, y, found)
        told = getattr(A, "squared_norm", None)
        norm = float(told(found)) if callable(told) else _bound(forward, adjoint, y, found)
        return cls(forward, adjoint, found, norm)

    def start(self, y: Tensor) -> Tensor:
        """The best multiple of the adjoint of the data."""
        back = self.adjoint(y)
        again = self.forward(back)
        return back * (product(back, back) / max(product(again, again), 1e-30))


def _by_autograd(A: Callable[[Tensor], Tensor], like: Tensor) -> Callable[[Tensor], Tensor]:
    def adjoint(v: Tensor) -> Tensor:
        with torch.enable_grad():
            u = torch.zeros_like(like).requires_grad_()
            try:
                return torch.autograd.grad(A(u), u, v)[0]
            except (RuntimeError, TypeError) as fault:
                raise TypeError(
                    f"reconstruct: autograd finds no adjoint of A for pictures {tuple(like.shape)} ({fault}). Give the "
                    "pair (A, its adjoint), or the picture's shape=."
                ) from fault

    return adjoint


def product(a: Tensor, b: Tensor) -> float:
    """The real part of the inner product."""
    return float((a.conj() * b).real.sum(dtype=torch.float64))


def signs(y: Tensor) -> Tensor:
    """As good as random, of variance 1, in both parts where data are complex; turned data have turned ones."""
    return torch.view_as_complex(signs_everywhere(torch.view_as_real(y))) if y.is_complex() else signs_everywhere(y)


def _check(forward: Any, adjoint: Any, y: Tensor, shape: tuple[int, ...]) -> None:
    """Random pictures and data: the map is linear, and <A u, v> = <u, A* v> to half of the digits."""
    generator = torch.Generator().manual_seed(0)
    u, w = (torch.randn(shape, generator=generator, dtype=y.real.dtype).to(y.device) for _ in range(2))
    data = forward(u)
    if data.shape != y.shape:
        raise ShapeError(
            f"reconstruct: A gives data of shape {tuple(data.shape)} for a picture {shape}, y has {tuple(y.shape)}."
        )
    if data.is_complex() != y.is_complex():
        raise ShapeError(f"reconstruct: A gives {data.dtype}, y is {y.dtype}. Both are real, or both complex.")
    if not bool(torch.isfinite(data).all()) or not bool(data.any()):
        raise ValueError("reconstruct: A gives NaN, infinity or nothing but 0 for a random picture. Look at A first.")
    tolerance = math.sqrt(torch.finfo(y.real.dtype).eps)
    bent = float((forward(u - 2 * w) - data + 2 * forward(w)).norm() / (data.norm() + 2 * forward(w).norm()))
    if bent > tolerance:
        raise ValueError(
            f"reconstruct: A is not linear: A(u - 2w) and A(u) - 2 A(w) differ by {bent:.1e} of their size."
        )
    random = torch.randn(y.shape, generator=generator, dtype=y.dtype).to(y.device)
    for v in (data, random * (data.norm() / random.norm()), forward(w)):
        back = adjoint(v)
        if tuple(back.shape) != shape:
            raise ShapeError(f"reconstruct: the adjoint gives shape {tuple(back.shape)}, pictures have {shape}.")
        left, right = product(data, v), product(u, back)
        apart = abs(left - right) / max(float(data.norm() * v.norm()), float(u.norm() * back.norm()))
        if not apart <= tolerance:
            raise ValueError(
                f"reconstruct: A and its adjoint do not match: <A u, v> = {left:.6g} and <u, A* v> = {right:.6g} for "
                f"random u and v, {apart:.1e} of their lengths apart where {tolerance:.1e} is rounding."
            )


def _bound(forward: Any, adjoint: Any, y: Tensor, shape: tuple[int, ...]) -> float:
    r"""A bound of :math:`\|A\|^2` that holds but for a chance of one in a million.

    Lanczos' method from a random start, which turns with the data here, finds the largest eigenvalue of an n by n
    matrix within the share :math:`\epsilon` after k steps, but for a chance of
    :math:`1.648 \sqrt n\, e^{-\sqrt\epsilon (2k-1)}` (Kuczyński and Woźniakowski 1992).
    """
    n = math.prod(shape)
    steps = math.ceil((math.log(1.648 * math.sqrt(n) / _CHANCE) / math.sqrt(_SHARE) + 1) / 2)
    q = adjoint(signs(y))
    if not bool(q.any()):  # where all data are equal, the adjoint may make 0 of their signs
        q = torch.randn(shape, dtype=y.real.dtype, generator=torch.Generator().manual_seed(1)).to(y.device)
    before, beta = torch.zeros_like(q), 0.0
    q = q / q.norm()
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(steps, n)):
        w = adjoint(forward(q)) - beta * before
        diagonal.append(product(w, q))
        w = w - diagonal[-1] * q
        beta = float(w.norm())
        if beta <= 1e-6 * max(diagonal):
            break
        beside.append(beta)
        before, q = q, w / beta
    inner = beside[: len(diagonal) - 1]
    matrix = np.diag(diagonal) + np.diag(inner, 1) + np.diag(inner, -1)
    return float(np.linalg.eigvalsh(matrix)[-1]) / (1 - _SHARE)
