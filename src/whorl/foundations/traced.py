"""Formulas written for tensors, noted down instead of being computed.

A :class:`Traced` value takes the place of a tensor. Arithmetic and the functions of torch in ``KNOWN`` give further
values that remember how they came about. So a formula is written once, for tensors, and engines, exports and the page
write it down in their own languages.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

F = TypeVar("F", bound=Callable[..., Any])

OPERATORS = ("add", "sub", "mul", "truediv", "pow", "lt", "gt", "eq", "and", "or")
SAME = {"rmul": "mul", "radd": "add", "div": "truediv", "rdiv": "rtruediv", "absolute": "abs", "quotient": "truediv"}
"""Names of torch that mean the same function here."""

KNOWN = {
    "add", "sub", "mul", "truediv", "pow", "neg", "lt", "gt", "eq", "and", "or", "abs", "exp", "expm1", "reciprocal",
    "sqrt", "rsqrt", "square", "clamp_min", "clamp_max", "minimum", "maximum", "where", "ones_like", "zeros_like",
}  # fmt: skip
"""The functions that can be noted down, by the names that torch has for them."""


class Traced:
    """A value of a formula: the name of a function and what it is applied to, other values, numbers or tensors.

    >>> x = Traced("symbol", "x")
    >>> torch.exp(-x / 2)
    exp(truediv(neg(x), 2))
    """

    dtype = torch.float32

    def __init__(self, name: str, *arguments: Any) -> None:
        self.name, self.arguments = name, arguments
        plain = (each.item() if isinstance(each, torch.Tensor) and not each.dim() else each for each in arguments)
        words = ", ".join(map(str, plain))
        self._words = words if name == "symbol" else f"{name}({words})"

    def dim(self) -> int:
        """The number of axes that the responses of an image have."""
        return 6

    def to(self, dtype: torch.dtype) -> "Traced":
        """The same value: each language has its own precision."""
        return self

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), options: Any = None) -> "Traced":
        name = function.__name__.strip("_")
        name = SAME.get(name, name)
        if name in ("rsub", "rtruediv"):
            name, arguments = name[1:], arguments[::-1]
        if options or name not in KNOWN:
            raise ValueError(f"torch.{name} cannot be written as a formula for compiled engines and ONNX.")
        return Traced(name, *arguments)

    def __getattr__(self, name: str) -> Callable[..., "Traced"]:
        if name not in KNOWN:
            raise AttributeError(f"{name} cannot be written as a formula for compiled engines and ONNX.")
        return lambda *arguments: Traced(name, self, *arguments)

    def __neg__(self) -> "Traced":
        return Traced("neg", self)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return self._words


def _operator(name: str, *, turned: bool = False) -> Callable[[Traced, Any], Traced]:
    def operator(self: Traced, other: Any) -> Traced:
        return Traced(name, other, self) if turned else Traced(name, self, other)

    return operator


for _name in OPERATORS:
    setattr(Traced, f"__{_name}__", _operator(_name))
    if _name in ("add", "sub", "mul", "truediv"):
        setattr(Traced, f"__r{_name}__", _operator(_name, turned=True))


def primitive(function: F) -> F:
    """A function of its own in every language: of traced values its name is noted, of tensors it is computed."""
    name = SAME.get(function.__name__, function.__name__)

    @wraps(function)
    def called(*arguments: Any) -> Any:
        noted = any(isinstance(each, Traced) for each in arguments)
        return Traced(name, *arguments) if noted else function(*arguments)

    return cast(F, called)


@primitive
def quotient(x: Tensor | float, y: Tensor) -> Tensor:
    """``x / y``, with derivatives that are right for tiny and for huge ``y``.

    The derivative by ``y`` holds ``1 / y²``, which leaves single precision for ``y`` beyond 1e-19 and 1e19. So both are
    multiplied by the power of two that brings ``y`` near one: the quotient stays the same to the last bit.

    >>> y = torch.tensor(1e-25, requires_grad=True)
    >>> (1e-30 * quotient(1.0, y)).backward()
    >>> y.grad
    tensor(-1.0000e+20)
    """
    exponent = torch.frexp(y.detach()).exponent.clamp(-120, 120)
    unit = torch.exp2(-exponent.to(y.dtype))
    return (x * unit) / (y * unit)
