"""What all trained networks share: an architecture, the noise they were trained for, weights that files keep.

They take NumPy arrays, too.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from whorl import engines
from whorl.automatic import NoiseModel, noise_to_remove, samples_of
from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.arrays import device_of, from_tensor, placed, to_tensor
from whorl.foundations.other_libraries import any_array, opened
from whorl.foundations.types import Image
from whorl.networks.denoiser import Denoiser, each_page, value_range


class Spec(ABC):
    """The architecture of a network as a frozen dataclass; a subclass names its ``kind``, by which files know it."""

    KINDS: ClassVar[dict[str, type["Spec"]]] = {}
    kind: ClassVar[str]

    def __init_subclass__(cls, kind: str) -> None:
        cls.kind, Spec.KINDS[kind] = kind, cls

    @abstractmethod
    def build(self) -> "TrainedNetwork":
        """The network of this architecture, with the starting values of training."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as JSON gives them back."""
        given = dataclasses.asdict(self)  # type: ignore[call-overload]
        return {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Spec":
        """The inverse of :meth:`as_dict`; refuses unknown names."""
        known = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
        if not set(values) <= known:
            raise ValueError(f"{cls.__name__} has no {sorted(set(values) - known)}; it has {sorted(known)}.")
        return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})


THINNEST = 5
"""Voxels along each axis of a volume: with fewer there is no neighbourhood to tell noise from."""

REMEDY = "For colour name the channel_axis, usually -1; for a stack the page_axis."

ARCHITECTURES: dict[str, Spec] = {}
"""Architectures by name, of every kind: each kind adds its own."""


def named(name: str) -> Any:
    """The architecture that belongs to a name.

    >>> named("isotropic-0.5").alpha
    0.5
    >>> named("isotropic-0.5").omega_inside, named("isotropic-0.5-printed").omega_inside
    (True, False)
    """
    if name not in ARCHITECTURES:
        raise ValueError(f"There is no network {name!r}; there are {', '.join(ARCHITECTURES)}.")
    return ARCHITECTURES[name]


def build_network(spec: Spec) -> Any:
    """The network of this architecture, with the starting values of training.

    >>> type(build_network(named("isotropic-0.5"))).__name__
    'MultiscaleNetwork'
    """
    return spec.build()


class TrainedNetwork(nn.Module, ABC):
    """A network that removes white noise from pictures.

    ``network(tensor)`` is the network as it is trained, on ``(n, c, y, x)``. ``network(array)`` is for people: a NumPy
    array of any type and range comes back as it came, without its noise, whose level is measured unless it is given.

    >>> import whorl
    >>> isinstance(whorl.load("photo-8k"), whorl.networks.TrainedNetwork)
    True
    """

    spec: Any
    channels = 0
    """Channels of the pictures it takes; 0 stands for any number."""
    takes_colours = False
    """Whether a network for grey pictures takes those with three channels as a whole."""
    dimension = 2
    """2 for pictures, 3 for volumes."""
    floats_per_pixel = 16
    """About how many numbers the computation holds for a pixel."""
    low_precision = False
    """Whether responses are computed in bfloat16, for training."""

    @property
    @abstractmethod
    def noise_range(self) -> tuple[float, float] | None:
        """Smallest and largest standard deviation of the noise it was trained for; None where that is not known."""

    @property
    @abstractmethod
    def reach(self) -> int:
        """How many pixels around a pixel the whole network looks at, on either side."""

    @property
    def takes_level(self) -> bool:
        """Whether it was trained for a range of levels, and is told which."""
        return self.noise_range is not None and self.noise_range[0] < self.noise_range[1]

    def remove(self, u: Image, noise: float | Tensor, *, eight_bits: bool = False) -> Image:
        """The picture without noise of this level, or map of levels ``(n, 1, y, x)``, in the picture's own units.

        The picture is scaled to the noise that the network was trained for, and back; see
        :class:`~whorl.networks.Denoiser`. ``eight_bits`` says that black is 0 and white 255.
        """
        validation.finite(u, "denoise")
        ends = value_range(u, eight_bits)
        levels = each_page(noise) if isinstance(noise, Tensor) and len(noise) == len(u) else [noise] * len(u)
        return torch.cat([Denoiser(self, level, *ends)(page) for page, level in zip(u.split(1), levels, strict=True)])

    def saved(self) -> dict[str, Tensor]:
        """What a file keeps of a trained network."""
        return {name: tensor.detach().cpu().float().contiguous() for name, tensor in self.state_dict().items()}

    def restore(self, weights: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
        """Take over what a file has kept; ``data`` says what it was trained on."""
        self.load_state_dict(weights)

    @property
    def parameter_count(self) -> int:
        """How many numbers are trained."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)

    def __call__(self, picture: Any, *arguments: Any, channel_axis: int | None = None, **named: Any) -> Any:
        """Apply the network to a tensor ``(n, c, y, x)`` as it is, or denoise a NumPy array.

        An array is ``(y, x)``, or colour with a ``channel_axis``; ``noise`` is as in :func:`whorl.denoise`.
        """
        if isinstance(picture, Tensor):
            if channel_axis is not None:
                raise ShapeError("network: a tensor is (n, c, y, x); leave channel_axis out, or call whorl.denoise.")
            if not self.training and not engines.transformed(picture):
                validation.finite(picture, type(self).__name__)
            return super().__call__(picture, *arguments, **named)
        return self.denoise(picture, *arguments, channel_axis=channel_axis, **named)

    @any_array()
    def denoise(
        self,
        image: Any,
        noise: Any = None,
        *,
        channel_axis: int | None = None,
        page_axis: int | None = None,
        device: str | torch.device | None = None,
        strength: float = 1.0,
    ) -> Any:
        """What :func:`whorl.denoise` does with this network."""
        u = to_tensor(image, channel_axis, "denoise", page_axis)
        check_dimension(u, self.dimension, image.shape)
        told, levels = levels_told(noise, u, channel_axis, page_axis)
        level = noise_to_remove(told, lambda: samples_of(u), "denoise")
        if level == 0:
            return image.clone() if isinstance(image, Tensor) else image.copy()
        target = device_of(device, u.device)
        eight_bits = str(image.dtype).removeprefix("torch.") == "uint8"
        noise = level if levels is None else levels.to(target)
        with torch.no_grad():
            u = u.to(target)
            result = torch.lerp(u, placed(self, target).remove(u, noise, eight_bits=eight_bits), strength)
        return from_tensor(result, image, channel_axis, page_axis)


def check_dimension(u: Tensor, dimension: int, shape: Any) -> None:
    """Refuse pictures for a network of volumes, volumes for one of pictures, and volumes that are too thin."""
    if u.dim() != 2 + dimension:
        what = "a volume (z, y, x)" if dimension == 3 else "a picture (y, x)"
        raise ShapeError(f"denoise: expected {what}, got shape {tuple(shape)}. {REMEDY}")
    if dimension == 3:
        check_thickness(u.shape[2:], f"got shape {tuple(shape)}. {REMEDY}")


def check_thickness(shape: Sequence[int], told: str) -> None:
    """Refuse a volume that is too thin for networks; the message ends with ``told``."""
    if min(shape) < THINNEST:
        raise ShapeError(f"denoise: a volume needs at least {THINNEST} voxels along each axis, {told}")


def levels_told(noise: Any, u: Tensor, channel_axis: int | None, page_axis: int | None) -> tuple[Any, Tensor | None]:
    """The noise of a picture as told; where that is an array its root mean square, and the levels of every page.

    They are ``(n, 1, 1, 1)`` from one number for each page, or maps ``(n, 1, y, x)`` from an array like the picture
    without channels, or like one page. A level of 0 leaves a pixel as it is.
    """
    if noise is None or validation.single(noise) or isinstance(noise, str | NoiseModel):
        return noise, None
    if u.dim() == 5:
        raise ValueError("denoise: volumes take one standard deviation or a NoiseModel, and no map of the noise.")
    values = opened(np.asarray(noise) if isinstance(noise, list | tuple) else noise, "denoise").array
    levels = torch.as_tensor(values, dtype=u.dtype, device=u.device)
    if not (bool(levels.isfinite().all()) and bool((levels >= 0).all()) and bool(levels.any())):
        raise ValueError("denoise: a map of noise needs finite standard deviations, 0 or larger, and not 0 alone.")
    pages, size = len(u), tuple(u.shape[2:])
    if page_axis is not None and levels.dim() == 3:
        axes = u.dim() - (channel_axis is None)
        place = page_axis % axes
        levels = levels.movedim(place - (channel_axis is not None and channel_axis % axes < place), 0)
    if page_axis is not None and levels.shape == (pages,):
        levels = levels.view(pages, 1, 1)
    elif levels.shape not in (size, (pages, *size)):
        raise ShapeError(
            f"denoise: the noise has shape {tuple(levels.shape)}. Give one number, one for each of {pages} page(s), "
            f"or one for each pixel of {size}."
        )
    return float(levels.square().mean().sqrt()), levels.expand(pages, *levels.shape[-2:])[:, None]
