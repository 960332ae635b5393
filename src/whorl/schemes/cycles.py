r"""How many cycles, and how long: both fast schemes cover the time :math:`\tau\, n(n+1)/3` with a cycle of ``n`` steps.

Cycles grow in length because the image changes fast at first, while noise is removed, and slowly later. The number of
cycles grows with the logarithm of the time, the number of steps with its square root. The error of a cycle is mostly of
high frequency and decays in the cycles after it, so the last cycle matters most: it is cut to the time that is left,
which changes no other cycle.
"""

import math
from typing import NamedTuple

GROWTH = 1.17
"""By how much a cycle is longer than the one before it, unless the number of cycles is given.

Of the values tried the largest that keeps Weickert–Brox and Gerig within twice the error of explicit steps on clean
photographs, at t = 50 and t = 500 (``python -m benchmarks schedules``).
"""


MOST_STEPS = 5_000
"""No filter needs more of these long steps: they reach a time of 100,000, a Gaussian of 450 pixels."""


class Cycles(NamedTuple):
    """The lengths of the cycles and the step ``tau`` of an explicit scheme they are built on.

    >>> Cycles(lengths=(3, 3), tau=0.25).time
    2.0
    """

    lengths: tuple[int, ...]
    tau: float

    @property
    def time(self) -> float:
        """The time all cycles cover."""
        return self.tau * sum(n * (n + 1) / 3 for n in self.lengths)


def growing_cycles(time: float, limit: float, growth: float = GROWTH) -> Cycles:
    """Cycles whose length grows by a constant factor, from a single step on; the last is cut to the time left.

    >>> growing_cycles(10.0, 0.5).lengths
    (1, 1, 1, 2, 2, 2, 3, 3, 3)
    """
    lengths: list[int] = []
    length, left = 1.0, time / limit
    _check(_fewest(left), time)  # even a single cycle needs this many
    while left > 1e-12 * time / limit:
        lengths.append(min(round(length), _fewest(left)))
        left -= lengths[-1] * (lengths[-1] + 1) / 3
        length *= growth
    return _fitted(lengths, time)


def equal_cycles(time: float, limit: float, count: int) -> Cycles:
    """A number of cycles of the same, smallest possible length.

    >>> equal_cycles(10.0, 0.5, 2).lengths
    (5, 5)
    """
    if count < 1:
        raise ValueError(f"cycles must be at least 1, got {count}.")
    _check(count * _fewest(time / (count * limit)), time)
    return _fitted([_fewest(time / (count * limit))] * count, time)


def _fewest(limits: float) -> int:
    """The length of the shortest cycle that covers so many step limits."""
    return max(1, math.ceil(math.sqrt(3 * limits + 0.25) - 0.5 - 1e-12))


def _check(steps: int, time: float) -> None:
    if steps > MOST_STEPS:
        raise ValueError(
            f"time = {time:g} needs {steps:,} steps of a fast scheme; more than {MOST_STEPS:,} are refused. Ask for "
            "less time, or shrink the image first."
        )


def _fitted(lengths: list[int], time: float) -> Cycles:
    _check(sum(lengths), time)
    total = sum(n * (n + 1) / 3 for n in lengths)
    return Cycles(tuple(lengths), time / total if lengths else 0.0)
