"""Division whose derivatives keep in range."""

import torch
from torch import Tensor

from whorl.foundations.traced import primitive

__all__ = ["quotient"]


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
