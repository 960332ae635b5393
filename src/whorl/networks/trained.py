"""What all trained networks share: they know the noise they were trained for, and take NumPy arrays, too."""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from whorl.automatic import noise_to_remove, samples_of
from whorl.errors import ShapeError
from whorl.foundations.arrays import from_tensor, placed, to_tensor
from whorl.foundations.types import Image

__all__ = ["TrainedNetwork"]


class TrainedNetwork(nn.Module, ABC):
    """A network that removes white noise from pictures.

    ``network(tensor)`` is the network as it is trained, on ``(n, c, y, x)``. ``network(array)`` is for people: a NumPy
    array of any type and range comes back as it came, without its noise, whose level is measured unless it is given.
    """

    @property
    @abstractmethod
    def noise_range(self) -> tuple[float, float] | None:
        """Smallest and largest standard deviation of the noise it was trained for; None where that is not known."""

    @abstractmethod
    def remove(self, u: Image, noise: float, *, eight_bits: bool = False) -> Image:
        """The picture without noise of this level, both in the picture's own units.

        The picture is scaled to the noise that the network was trained for, and back. ``eight_bits`` says that black is
        0 and white 255.
        """

    def __call__(self, picture: Any, *arguments: Any, channel_axis: int | None = None, **named: Any) -> Any:
        """Apply the network to a tensor ``(n, c, y, x)`` as it is, or denoise a NumPy array.

        An array is ``(y, x)``, or colour with a ``channel_axis``; ``noise`` is as in :func:`whorl.denoise`.
        """
        if isinstance(picture, Tensor):
            if channel_axis is not None:
                raise ShapeError("network: a tensor is (n, c, y, x); leave channel_axis out, or call whorl.denoise.")
            return super().__call__(picture, *arguments, **named)
        return self.denoise(picture, *arguments, channel_axis=channel_axis, **named)

    def denoise(
        self,
        image: Any,
        noise: float | None = None,
        *,
        channel_axis: int | None = None,
        device: str | torch.device | None = None,
    ) -> Any:
        """What :func:`whorl.denoise` does with this network."""
        u = to_tensor(image, channel_axis, "denoise")
        if u.dim() != 4:
            raise ShapeError(
                f"denoise: expected a picture (y, x), got shape {tuple(image.shape)}. "
                "For colour name the channel_axis, usually -1."
            )
        level = noise_to_remove(noise, lambda: samples_of(u), "denoise")
        if level == 0:
            return image.clone() if isinstance(image, Tensor) else image.copy()
        target = u.device if device is None else torch.device(device)
        eight_bits = str(image.dtype).removeprefix("torch.") == "uint8"
        with torch.no_grad():
            result = placed(self, target).remove(u.to(target), level, eight_bits=eight_bits)
        return from_tensor(result, image, channel_axis)
