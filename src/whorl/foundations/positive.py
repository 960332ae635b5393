"""Positive parameters, fixed or trainable."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from whorl.foundations import validation

SMALLEST, LARGEST = 1e-15, 1e15
"""Positive numbers stay in this range, so that their squares neither vanish nor overflow in float32."""


Numbers: TypeAlias = float | Sequence[float] | Sequence[Sequence[float]]


class Positive(nn.Module):
    """A positive number (or vector, or matrix) that stays positive under training.

    Fixed, it is kept as it is, so that ``Positive(0.1)`` is 0.1 to the last bit; trainable, its logarithm is the
    parameter. Values are float64; in a product with an image of any precision the image keeps its dtype.

    >>> Positive(12.0)()
    tensor(12., dtype=torch.float64)
    """

    fixed: Tensor

    def __init__(self, value: Numbers, *, trainable: bool = False, name: str = "value") -> None:
        super().__init__()
        tensor = torch.tensor(_checked(value, name), dtype=torch.float64)
        self.trainable = trainable
        if trainable:
            self.log = nn.Parameter(tensor.log())
        else:
            self.register_buffer("fixed", tensor, persistent=True)

    def forward(self) -> Tensor:
        return self.log.exp() if self.trainable else self.fixed

    def extra_repr(self) -> str:
        shown = self.forward().detach()
        return (f"{shown.item():g}" if shown.dim() == 0 else f"{shown.tolist()}") + (
            ", trainable" if self.trainable else ""
        )


def _checked(value: Any, name: str) -> Any:
    """The numbers as they are nested, each within the range."""
    if validation.single(value):
        return validation.number(value, name, "Positive", SMALLEST, LARGEST)
    several = isinstance(value, Iterable) and not isinstance(value, str)
    parts = [_checked(part, name) for part in value] if several else []
    if not parts or len({len(part) if isinstance(part, list) else 0 for part in parts}) > 1:
        raise ValueError(
            f"Positive: {name} must be a number, a list of numbers, or rows of equal length; got {value!r}."
        )
    return parts


def geometric(first: float, last: float, count: int) -> list[float]:
    """``count + 1`` numbers from ``first`` to ``last`` with a constant ratio.

    >>> [round(value, 2) for value in geometric(0.1, 10, 8)]
    [0.1, 0.18, 0.32, 0.56, 1.0, 1.78, 3.16, 5.62, 10.0]
    """
    return [first * math.exp(math.log(last / first) * step / count) for step in range(count + 1)]
