"""The data term of variational models."""

from torch import Tensor, nn

from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.types import Image

__all__ = ["QuadraticFidelity"]


class QuadraticFidelity(nn.Module):
    r"""The data term :math:`D(u, f) = \frac{w}{2} \|u - f\|^2` of equation (4).

    It pulls the flow towards the data :math:`f` with the force :math:`-w (u - f)` and adds :math:`w` to the norm that
    limits explicit steps: :math:`\tau \le 2 / (w + \|K\|^2 g_{\max})`.

    >>> import torch
    >>> term = QuadraticFidelity(torch.zeros(1, 1, 2, 2), weight=0.5)
    >>> term(torch.ones(1, 1, 2, 2)), term.gradient(torch.ones(1, 1, 2, 2)).sum()
    (tensor(1.), tensor(2.))
    """

    def __init__(self, data: Image, weight: float) -> None:
        super().__init__()
        self.weight = validation.number(weight, "weight", "QuadraticFidelity", 0.0)
        self.register_buffer(
            "data", validation.finite(validation.image(data, "QuadraticFidelity"), "QuadraticFidelity")
        )

    def forward(self, u: Image) -> Tensor:
        """The value of the data term."""
        return 0.5 * self.weight * self._difference(u).square().sum()

    def gradient(self, u: Image) -> Image:
        """Its derivative."""
        return self.weight * self._difference(u)

    def _difference(self, u: Image) -> Tensor:
        data = self.get_buffer("data")
        if u.shape != data.shape:
            raise ShapeError(
                f"QuadraticFidelity: the image has shape {tuple(u.shape)}, its data {tuple(data.shape)}. Crop one."
            )
        return u - data.to(u.dtype)
