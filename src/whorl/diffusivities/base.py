r"""Diffusivities :math:`g` and their regularisers :math:`\Psi`, with :math:`g = \Psi'`.

Both take the *squared* magnitude :math:`s^2` as it is: a root would have infinite slope on flat images. The energies of
whorl are :math:`E = \frac12 \sum \Psi`, so that their gradient flow has no factor 2.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor, nn

from whorl.foundations.ordered import ordered_sum
from whorl.foundations.positive import Numbers, Positive
from whorl.foundations.traced import quotient

Contrast: TypeAlias = Numbers
"""One contrast, one per scale, or one per channel and scale."""

SPATIAL = 7
"""How many axes the responses of a volume have: n, c, s, k, z, y, x."""

# Nodes and weights of the five-point Gauss rule on [0, 1].
NODES = (0.04691007703066802, 0.23076534494715845, 0.5, 0.7692346550528415, 0.9530899229693319)
WEIGHTS = (0.11846344252809454, 0.23931433524968324, 0.28444444444444444, 0.23931433524968324, 0.11846344252809454)


class Contrasted(nn.Module):
    """Base of diffusivities and laws with a contrast, fixed or trained."""

    def __init__(self, contrast: Contrast = 1.0, *, trainable: bool = False) -> None:
        super().__init__()
        self._contrast = Positive(contrast, trainable=trainable, name="contrast")

    @property
    def contrast(self) -> Tensor:
        """The contrast; several are shaped ``(s, 1, 1, 1)`` or ``(c, s, 1, 1, 1)`` to meet the axes of responses."""
        value: Tensor = self._contrast()
        return value.reshape(*value.shape, 1, 1, 1) if value.dim() in (1, 2) else value


class Diffusivity(Contrasted, ABC):
    r"""Base of all diffusivities: decreasing, positive, with :math:`0 < g \le` ``maximum()``.

    Parameters
    ----------
    contrast : float, or sequence of float, or rows of them
        The paper's :math:`\lambda > 0`, in the units of the image. A sequence gives every scale a contrast of its own,
        as in the original model of Alt and Weickert; rows, one for each image channel, do so for every channel and
        scale (rows of one number for channels alone). Where scales or channels with contrasts of their own are
        coupled, the model has no energy.
    trainable : bool
        Whether the contrast is trained (through its logarithm, so that it stays positive).

    Examples
    --------
    >>> import torch
    >>> from whorl.diffusivities import Charbonnier
    >>> Charbonnier(2.0)(torch.tensor([0.0, 12.0])), Charbonnier(2.0).maximum()
    (tensor([1.0000, 0.5000]), 1.0)
    """

    name: str
    """The name that ``diffusivity=`` takes."""

    closed_form: bool = False
    r"""Whether the contrast is its one number: compiled engines, export and page then take the diffusivity, too.

    They write down ``forward``, ``slope`` and ``secant`` of ``shape``, a function :math:`h` of :math:`s^2/\lambda^2`.
    """

    amplitude: int = 0
    r"""The power p of the contrast in :math:`g(s^2) = \lambda^p\, h(s^2/\lambda^2)`."""

    shape: "type[Diffusivity] | None" = None
    """The diffusivity h, where another class with the contrast 1 computes it; by default this one."""

    if TYPE_CHECKING:  # torch leaves the type of a call open

        def __call__(self, s2: Tensor) -> Tensor: ...

    def __init_subclass__(cls) -> None:
        if {"forward", "slope"} & vars(cls).keys():  # another function than that whose closed form it inherits
            for name in ("closed_form", "divided_difference", "secant"):
                setattr(cls, name, vars(cls).get(name, vars(Diffusivity)[name]))

    @property
    def scale_adaptive(self) -> bool:
        """Whether there are several contrasts."""
        return self.contrast.dim() > 0

    @property
    def varies(self) -> tuple[str, ...]:
        """Along what the contrast differs: ``"channels"``, ``"scales"``, both or neither."""
        channels, scales = (1, 1, *self.contrast.shape[:-3])[-2:]
        return tuple(name for name, count in (("channels", channels), ("scales", scales)) if count > 1)

    @abstractmethod
    def forward(self, s2: Tensor) -> Tensor:
        """The diffusivity ``g(s2)``."""

    @abstractmethod
    def psi(self, s2: Tensor) -> Tensor:
        """The regulariser, with ``psi(0) = 0`` and ``psi' = g``."""

    @abstractmethod
    def slope(self, s2: Tensor) -> Tensor:
        """The derivative ``g'(s2)``, never positive."""

    def maximum(self) -> float:
        """The largest value, ``g(0)``."""
        return 1.0

    def check(self) -> None:
        """Refuse a diffusivity whose parts contradict each other at some points: steps could grow without bound."""
        if self.closed_form or self.contrast.is_meta:
            return
        with torch.no_grad():
            points = torch.tensor([0.0, 0.3, 0.9, 2.7], dtype=torch.float64, device=self.contrast.device)
            g, h = self(s2 := self.contrast.double().amax() ** 2 * points), 1e-4 * s2[1:]
            rises, falls = (of(s2[1:] + h) - of(s2[1:] - h) for of in (self.psi, self))
            off = (falls - 2 * h * self.slope(s2[1:])).abs().max() * 1e4  # times s2: of the size of g
        name, largest, top = type(self).__name__, float(g.max()), self.maximum()
        if not largest <= top * (1 + 1e-6):
            raise ValueError(f"{name}: g reaches {largest:g}, but maximum() says {top:g}. Let it return the largest g.")
        gap = float((rises / (2 * h) - g[..., 1:]).abs().max())
        if not gap <= 1e-3 * top:
            raise ValueError(f"{name}: psi' and g differ by {gap:g}. Let psi be the antiderivative of g.")
        if not off <= 1e-3 * top:
            raise ValueError(f"{name}: slope() is not the derivative of g. Let it return g'(s2).")

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        r"""The slope of the secant, :math:`g[x, y] = (g(y) - g(x)) / (y - x)`, and :math:`g'(x)` where both meet.

        Close arguments are handled by Gauss quadrature of the slope, so that value and gradient stay exact.
        """
        squared = self._contrast_squared(x)
        width = y - x
        near = width.abs() < 0.05 * squared
        close = ordered_sum(
            w * self.slope(x + node * torch.where(near, width, 0)) for node, w in zip(NODES, WEIGHTS, strict=True)
        )
        distant = quotient(self(y) - self(x), torch.where(near, 1, width))
        return torch.where(near, close, distant)

    def secant(self, x: Tensor, y: Tensor, at_x: Tensor, at_y: Tensor) -> Tensor:
        """The secant for ``x <= y`` as compiled engines compute it, from the values at both; without gradients."""
        return self.divided_difference(x, y)

    def _contrast_squared(self, like: Tensor) -> Tensor:
        """The squared contrast in the precision of the image, which must not be promoted."""
        return (self._contrast_like(like) ** 2).to(like.dtype)

    def _contrast_like(self, like: Tensor) -> Tensor:
        """The contrast, with one more axis for the responses of volumes."""
        contrast = self.contrast
        return contrast.unsqueeze(-1) if contrast.dim() and like.dim() == SPATIAL else contrast


class Rescaled(Diffusivity):
    r"""The diffusivity :math:`g(\kappa s^2)`, for responses that carry a quadrature weight :math:`1/\kappa`.

    >>> import torch
    >>> from whorl.diffusivities import Rational
    >>> Rescaled(Rational(2.0), 4.0)(torch.tensor(1.0))
    tensor(0.5000)
    """

    name = "rescaled"

    def __init__(self, inner: Diffusivity, factor: float) -> None:
        super().__init__()
        self.inner, self.factor = inner, float(factor)

    @property
    def contrast(self) -> Tensor:
        contrast: Tensor = self.inner.contrast / self.factor**0.5
        return contrast

    def forward(self, s2: Tensor) -> Tensor:
        value: Tensor = self.inner(self.factor * s2)
        return value

    def psi(self, s2: Tensor) -> Tensor:
        return self.inner.psi(self.factor * s2) / self.factor

    def slope(self, s2: Tensor) -> Tensor:
        return self.factor * self.inner.slope(self.factor * s2)

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        return self.factor * self.inner.divided_difference(self.factor * x, self.factor * y)

    def maximum(self) -> float:
        return self.inner.maximum()
