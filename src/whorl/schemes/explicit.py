"""The explicit scheme: equal steps, each of them a residual block."""

import math
from collections.abc import Callable

from whorl.errors import StabilityError

MOST_STEPS = 1_000_000
"""The most steps of a filter: a larger number comes from a mistaken unit."""

Progress = Callable[[int, int], None]
"""Called after every step with the number of steps done and the number of steps in all."""


def equal_steps(time: float, largest: float) -> list[float]:
    """The fewest equal steps, none above ``largest``, that sum to ``time``.

    >>> equal_steps(1.0, 0.4)
    [0.3333333333333333, 0.3333333333333333, 0.3333333333333333]
    """
    if time > MOST_STEPS * largest:
        raise ValueError(
            f"time = {time:g} needs {time / largest:.3g} steps of at most {largest:.3g}, more than {MOST_STEPS:,} are "
            "refused. Ask for less time, or raise the contrast (with total variation) or the spacing."
        )
    count = math.ceil(time / largest * (1 - 1e-12))
    return [time / count] * count if count else []


def check_step(tau: float, limit: float, caller: str, *, insist: bool = False) -> None:
    """Refuse a step above the L2 limit, unless the user insists.

    >>> check_step(0.3, limit=0.25, caller="step")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    whorl.errors.StabilityError: step: tau = 0.3 is above the L2 stability limit 0.25. ...
    """
    # Limits are quotients of rounded numbers: a step given as the limit itself must pass.
    if tau > limit * (1 + 1e-12) and not insist:
        raise StabilityError(
            f"{caller}: tau = {tau:g} is above the L2 stability limit {limit:.4g}. Lower tau, leave it out for the "
            "automatic step, or pass insist=True to go on regardless."
        )
