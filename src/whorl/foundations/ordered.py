"""Sums whose order does not depend on where a pixel lies.

``torch.sum`` orders its additions by the position in memory, so that the same pixel can differ in its last bit between
a window and the whole image. Models add up scales and channels with :func:`ordered_sum` instead; it costs no more.
"""

from collections.abc import Iterable
from functools import reduce

from torch import Tensor


def ordered_sum(terms: Iterable[Tensor]) -> Tensor:
    """The sum of the terms, first to last.

    >>> import torch
    >>> ordered_sum(torch.arange(6.0).view(3, 2).unbind(0))
    tensor([6., 9.])
    """
    return reduce(lambda total, term: total + term, terms)


def combined(weights: Iterable[Tensor | float], fields: Iterable[Tensor]) -> Tensor:
    """The sum of the fields, each times its weight, first to last."""
    return ordered_sum(weight * field for weight, field in zip(weights, fields, strict=True))
