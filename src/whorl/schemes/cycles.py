r"""How many cycles, and how long: both fast schemes cover the time :math:`\tau\, n(n+1)/3` with a cycle of ``n`` steps.

Cycles of growing length follow the flow: noise goes within the first units of time, when the nonlinearity changes
fast and short cycles are needed; later it changes slowly. Their number grows with the square root of the time only.
"""

import math
from typing import NamedTuple

__all__ = ["Cycles", "equal_cycles", "growing_cycles"]

GROWTH = 1.15
"""By how much a cycle is longer than the one before it, unless the number of cycles is given."""


class Cycles(NamedTuple):
    """The lengths of the cycles and the step ``tau`` of an explicit scheme they are built on."""

    lengths: tuple[int, ...]
    tau: float

    @property
    def time(self) -> float:
        """The time all cycles cover."""
        return self.tau * sum(n * (n + 1) / 3 for n in self.lengths)


def growing_cycles(time: float, limit: float, growth: float = GROWTH) -> Cycles:
    """Cycles whose length grows by a constant factor, from a single step on.

    >>> growing_cycles(10.0, 0.5).lengths
    (1, 1, 1, 2, 2, 2, 2, 3, 3, 4)
    """
    lengths: list[int] = []
    length = 1.0
    while limit * sum(n * (n + 1) / 3 for n in lengths) < time:
        lengths.append(round(length))
        length *= growth
    return _fitted(lengths, time)


def equal_cycles(time: float, limit: float, count: int) -> Cycles:
    """So many cycles of the same, smallest possible length.

    >>> equal_cycles(10.0, 0.5, 2).lengths
    (5, 5)
    """
    if count < 1:
        raise ValueError(f"cycles must be at least 1, got {count}.")
    length = math.ceil(math.sqrt(3 * time / (count * limit) + 0.25) - 0.5 - 1e-12)
    return _fitted([max(length, 1)] * count, time)


def _fitted(lengths: list[int], time: float) -> Cycles:
    total = sum(n * (n + 1) / 3 for n in lengths)
    return Cycles(tuple(lengths), time / total if lengths else 0.0)
