"""The data term of variational models."""

import torch
from torch import Tensor, nn

from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.types import Image


class QuadraticFidelity(nn.Module):
    r"""The data term :math:`D(u, f) = \frac12 \sum w\, (u - f)^2` of equation (4).

    It pulls the flow towards the data :math:`f` with the force :math:`-w (u - f)`. The largest weight adds to the norm
    that limits explicit steps: :math:`\tau \le 2 / (\max w + \|K\|^2 g_{\max})`.

    Parameters
    ----------
    data : Tensor
        The data :math:`f`, an image or a volume.
    weight : float or Tensor
        One number for all pixels, or a tensor that broadcasts to the data, one number for each: 0 where nothing is
        known, much where the data are sure.

    >>> term = QuadraticFidelity(torch.zeros(1, 1, 2, 2), weight=0.5)
    >>> term(torch.ones(1, 1, 2, 2)), term.gradient(torch.ones(1, 1, 2, 2)).sum()
    (tensor(1.), tensor(2.))
    """

    def __init__(self, data: Image, weight: float | Tensor) -> None:
        super().__init__()
        self.weight: float
        """The largest weight."""
        data = validation.finite(validation.image(data, "QuadraticFidelity"), "QuadraticFidelity")
        self.register_buffer("data", data)
        if not isinstance(weight, Tensor) or weight.dim() == 0:
            self.register_buffer("weights", None)
            self.weight = validation.number(weight, "weight", "QuadraticFidelity", 0.0)
            return
        self.register_buffer("weights", _checked(weight, data))
        self.weight = float(weight.max())

    def forward(self, u: Image) -> Tensor:
        """The value of the data term."""
        return 0.5 * (self._weights(u) * self._difference(u).square()).sum()

    def gradient(self, u: Image) -> Image:
        """Its derivative."""
        return self._weights(u) * self._difference(u)

    def on(self, u: Image) -> tuple[Tensor, Tensor]:
        """Data and weights for an image, the weights ``(n or 1, c or 1, y, x)``, in the image's type."""
        self._difference(u)
        data = self.get_buffer("data").to(u.dtype)
        weights = torch.as_tensor(self._weights(u), dtype=u.dtype, device=u.device)
        weights = weights.reshape((1,) * (u.dim() - weights.dim()) + tuple(weights.shape))
        return data, weights.expand(*weights.shape[:2], *u.shape[2:])

    def _weights(self, u: Image) -> Tensor | float:
        weights = self._buffers["weights"]
        return self.weight if weights is None else weights.to(u.dtype)

    def _difference(self, u: Image) -> Tensor:
        data = self.get_buffer("data")
        if u.shape != data.shape:
            raise ShapeError(
                f"QuadraticFidelity: the image has shape {tuple(u.shape)}, its data {tuple(data.shape)}. Crop one."
            )
        return u - data.to(u.dtype)


def _checked(weight: Tensor, data: Image) -> Tensor:
    """Weights that are finite, not negative, and broadcast to the data."""
    validation.broadcasting(weight, data, "weights", "QuadraticFidelity")
    validation.finite(weight.to(data.dtype), "QuadraticFidelity")
    if float(weight.min()) < 0:
        raise ValueError(f"QuadraticFidelity: weights must not be negative, got {float(weight.min()):g}.")
    return weight.to(data.dtype)
