r"""Fast semi-iterative scheme (Hafner, Ochs, Weickert, Reißel and Grewenig 2016): explicit steps, extrapolated.

.. math:: u^{k+1} = a_k \big(u^k + \tau F(u^k)\big) + (1 - a_k)\, u^{k-1}, \qquad a_k = \frac{4k+2}{2k+3}, \quad
          u^{-1} = u^0

reaches the same result as a cycle of fast explicit diffusion in a linear flow, but through states that are themselves
diffused images: the nonlinearity may follow every step, and rounding errors never grow.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def extrapolation(k: int) -> float:
    """The weight ``a_k`` of step ``k``.

    >>> [round(extrapolation(k), 3) for k in range(3)]
    [0.667, 1.2, 1.429]
    """
    return (4 * k + 2) / (2 * k + 3)


def fsi_steps(lengths: Iterable[int], tau: float) -> tuple[list[float], list[float]]:
    """Sizes and weights of all steps of several cycles, for engines that take them in one go.

    Every cycle starts with the weight 1, so that nothing of the cycle before enters. Its first step is shorter instead,
    which gives the same as the weight :math:`a_0` with :math:`u^{-1} = u^0`.

    >>> fsi_steps((1, 2), 0.75)
    ([0.5, 0.5, 0.75], [1.0, 1.0, 1.2])
    """
    taus: list[float] = []
    mixes: list[float] = []
    for length in lengths:
        taus += [tau * extrapolation(0)] + [tau] * (length - 1)
        mixes += [1.0, *map(extrapolation, range(1, length))]
    return taus, mixes


def fsi_cycle(step: Callable[[Tensor], Tensor], u: Tensor, length: int) -> Tensor:
    """The image after one cycle; ``step`` is an explicit step of size tau.

    >>> import torch
    >>> fsi_cycle(lambda u: 0.9 * u, torch.ones(1), length=2)
    tensor([0.8080])
    """
    before = u
    for k in range(length):
        before, u = u, torch.lerp(before, step(u), extrapolation(k))
    return u
