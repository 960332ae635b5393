r"""Which taps of a steerable stencil on 5x5 pixels are equal up to a sign.

A kernel of 25 taps is a sum over functions that are even or odd along either axis. With :math:`e_0 = u(x)`,
:math:`e_d = u(x + d) + u(x - d)` and :math:`o_d = u(x + d) - u(x - d)` for d = 1, 2, stencils of angular order 0 are
sums of :math:`e_i(y)\, e_j(x)` that are equal for (i, j) and (j, i); order 1 is made of :math:`e_i(y)\, o_j(x)` and the
same with the axes exchanged; order 2 of :math:`e_i(y)\, e_j(x)` with opposite signs for (i, j) and (j, i), and of
:math:`o_i(y)\, o_j(x)`. So a stencil has three to six different numbers.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.operators.fields import Fielded
from whorl.operators.steerable import SteerableMap

RADIUS = 2

GROUP = 4
"""Outputs of a mixing that kernels compute together: each input that is read serves all of them."""

EQUAL = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # (i, j) and (j, i) with one coefficient
ODD = tuple((i, j) for i in (0, 1, 2) for j in (1, 2))
OPPOSITE = ((0, 1), (0, 2), (1, 2))
TWICE_ODD = ((1, 1), (2, 2), (1, 2))


class Factors(NamedTuple):
    """An operator in two factors: few stencils, the same for all channels, and a mixing of their responses.

    ``taps`` holds six coefficients for each stencil of a picture, or those of volumes as they are, ``(k, 3, 3, 3)``;
    ``mixing`` the numbers ``(fields, channels, profiles)`` of every order.
    """

    taps: NDArray[np.float32]
    mixing: list[Tensor]

    @property
    def profiles(self) -> tuple[int, ...]:
        """Stencils of each order."""
        return tuple(weight.shape[2] for weight in self.mixing)


def factors(K: Fielded) -> Factors | None:
    """The factors of an operator; None where there are none, as of large stencils in space and streams of fields."""
    if not isinstance(K, SteerableMap) or (K.dimension == 3 and K.size != 3):
        return None
    each = [K.taps(order) for order in range(len(K.fields))]
    whole = K.dimension == 3
    taps = np.concatenate([_numbers(part) for part in each]) if whole else coefficients(each)
    return None if taps is None else Factors(taps, [weight.detach() for weight in K.mixing])


def _numbers(taps: Tensor) -> NDArray[np.float32]:
    """The stencils of volumes, one behind the other."""
    numbers: NDArray[np.float32] = taps.detach().flatten(0, 1).float().cpu().numpy()
    return numbers


def padded(count: int) -> int:
    """The number of outputs, rounded up to whole groups."""
    return -(-count // GROUP) * GROUP


def places(fields: Sequence[int], filled: Callable[[int], int]) -> list[int]:
    """Where fields lie behind each other if those of every order are filled up to so many."""
    begins = accumulate(map(filled, fields), initial=0)
    return [begin + f for begin, count in zip(begins, fields, strict=False) for f in range(count)]


def grouped(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """A matrix ``(outputs, inputs)`` as kernels read it: group by group of outputs, the numbers of an input first.

    Missing outputs of the last group are zeros.
    """
    outputs, inputs = matrix.shape
    whole = np.zeros((padded(outputs), inputs), np.float32)
    whole[:outputs] = matrix
    return np.ascontiguousarray(whole.reshape(-1, GROUP, inputs).transpose(0, 2, 1)).reshape(-1)


def coefficients(taps: list[Tensor]) -> NDArray[np.float32] | None:
    """The coefficients of stencils ``(p, k, size, size)`` of the orders 0, 1, 2: six for each profile.

    None where the stencils are larger than 5x5 or of a higher order, or do not have the symmetry of their order.
    """
    found: list[float] = []
    for order, kernels in enumerate(taps):
        margin = RADIUS - kernels.shape[-1] // 2
        if order > 2 or margin < 0 or not _symmetric(kernels, order):
            return None
        cosine, sine = torch.nn.functional.pad(kernels.detach().double(), [margin] * 4)[
            :, [0, -1], RADIUS:, RADIUS:
        ].unbind(1)
        for c, s in zip(cosine.tolist(), sine.tolist(), strict=True):
            if order == 0:
                found += [c[i][j] for i, j in EQUAL]
            elif order == 1:
                found += [c[i][j] for i, j in ODD]
            else:
                found += [c[i][j] for i, j in OPPOSITE] + [s[i][j] for i, j in TWICE_ODD]
    return np.array(found, np.float32)


def _symmetric(kernels: Tensor, order: int) -> bool:
    """Whether a quarter turn multiplies cosine and sine by the power of i, and a mirror image conjugates them."""
    values = kernels.detach().double()
    together = torch.complex(values[:, 0], values[:, -1] if order else torch.zeros_like(values[:, 0]))
    turned = together.rot90(1, (-2, -1)) - 1j**order * together
    mirrored = together.flip(-2) - together.conj()
    return max(float(turned.abs().max()), float(mirrored.abs().max())) < 1e-6
