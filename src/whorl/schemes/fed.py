r"""Fast explicit diffusion (Grewenig, Weickert and Bruhn 2010): explicit steps of varying size.

.. math:: \tau_i = \frac{\tau}{2 \cos^2\!\big(\pi \frac{2i+1}{4n+2}\big)}, \qquad i = 0, \dots, n-1

sum up to :math:`\tau\, n(n+1)/3`. Some of them are far above the stability limit. With the nonlinearity kept fixed
within a cycle, the whole cycle is stable all the same: in one dimension, with :math:`\tau = 1/2`, it is a box filter.
"""

import math


def fed_steps(length: int, tau: float) -> list[float]:
    """The steps of one cycle, in an order that keeps rounding errors small in long cycles.

    >>> round(sum(fed_steps(5, 0.5)), 12)
    5.0
    """
    steps = [tau / (2 * math.cos(math.pi * (2 * i + 1) / (4 * length + 2)) ** 2) for i in range(length)]
    return [steps[i] for i in _spread_order(length)]


def _spread_order(length: int) -> list[int]:
    """Leja order: each next factor is the one farthest from those taken, so that products of factors stay small."""
    # The factors 1 - tau_i z vanish at the Chebyshev-like nodes z_i = 1 / tau_i.
    nodes = [2 * math.cos(math.pi * (2 * i + 1) / (4 * length + 2)) ** 2 for i in range(length)]
    order = [0]
    rest = set(range(1, length))
    logs = [0.0] * length
    while rest:
        for i in rest:
            logs[i] += math.log(abs(nodes[i] - nodes[order[-1]]))
        best = max(sorted(rest), key=lambda i: logs[i])
        order.append(best)
        rest.remove(best)
    return order
