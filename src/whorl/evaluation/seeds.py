"""One number from several training runs."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Summary", "summarise"]

# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom; the normal one beyond.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


@dataclass(frozen=True)
class Summary:
    """Median, mean and 95 % confidence interval of the mean (Student) over training seeds; every value is kept."""

    values: tuple[float, ...]
    median: float
    mean: float
    low: float
    high: float


def summarise(values: Sequence[float]) -> Summary:
    """Summarise a figure over seeds; from a single seed no interval follows (NaN).

    >>> summarise([28.1, 28.4, 28.2]).median
    28.2
    """
    if not values:
        raise ValueError("summarise: got no values. Give one per seed.")
    mean = statistics.fmean(values)
    half = math.nan
    if len(values) > 1:
        freedom = len(values) - 1
        quantile = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else 1.96
        half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return Summary(tuple(values), statistics.median(values), mean, mean - half, mean + half)
