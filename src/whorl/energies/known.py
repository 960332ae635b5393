"""Hard masks: pixels that are known and keep their values, whatever the flow does to the others."""

import torch
from torch import Tensor, nn

from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.types import Image


class KnownPixels(nn.Module):
    r"""The constraint :math:`u = f` where pixels are known; the limit of a data term whose weight there is infinite.

    A flow :math:`\partial_t u = F(u)` becomes :math:`\partial_t u = (1 - c)\, F(u)` with :math:`c = 1` where known. On
    the others it is the flow of the same energy, and its matrix is a principal submatrix of the whole one: eigenvalues
    stay within the same bounds, so that all step limits hold as they are.

    Parameters
    ----------
    data : Tensor
        The values :math:`f`, an image or a volume; what stands where nothing is known has no effect.
    known : Tensor of bool
        Broadcasts to the data; at least one pixel of every image must be known.

    Examples
    --------
    >>> kept = KnownPixels(torch.ones(1, 1, 2, 2), torch.tensor([[True, False], [False, False]]))
    >>> kept(torch.zeros(1, 1, 2, 2))
    tensor([[[[1., 0.],
              [0., 0.]]]])
    """

    def __init__(self, data: Image, known: Tensor) -> None:
        super().__init__()
        data = validation.image(data, "KnownPixels")
        known = _checked(known, data)
        if not bool(torch.isfinite(data).all()):
            data = validation.finite(torch.where(known, data, 0), "KnownPixels")
        self.register_buffer("data", data)
        self.register_buffer("known", known)

    def forward(self, u: Image) -> Image:
        """The image with the known values put in."""
        data = self.get_buffer("data")
        if u.shape != data.shape:
            raise ShapeError(
                f"KnownPixels: the image has shape {tuple(u.shape)}, the known pixels {tuple(data.shape)}. Crop one."
            )
        return torch.where(self.get_buffer("known"), data.to(u.dtype), u)

    def free(self, change: Image) -> Image:
        """The change of an image, where it is free to change."""
        return torch.where(self.get_buffer("known"), 0, change)


def _checked(known: Tensor, data: Image) -> Tensor:
    """The mask as bool, with as many axes as the data."""
    if known.dtype != torch.bool:
        raise ValueError(f"KnownPixels: the mask must be of type bool, got {known.dtype}. Compare with a threshold.")
    validation.broadcasting(known, data, "a mask", "KnownPixels")
    known = known.reshape((1,) * (data.dim() - known.dim()) + tuple(known.shape))
    known = known.expand(*known.shape[:2], *data.shape[2:])
    if not bool(known.flatten(2).any(2).all()):
        raise ValueError("KnownPixels: an image without any known pixel has nothing to be filled from.")
    return known.contiguous()
