"""Denoising for people: an array in, the same kind of array out."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from whorl.automatic import NoiseModel, samples_of
from whorl.automatic.answer import Answer, answer
from whorl.automatic.believed import model_to_remove, volume_to_remove
from whorl.automatic.between import common
from whorl.automatic.labels import labels
from whorl.automatic.policy import Samples, noise_to_remove
from whorl.automatic.variance import noise_model
from whorl.engines.selection import undisturbed
from whorl.foundations import validation
from whorl.foundations.arrays import device_of, from_tensor, placed, to_tensor
from whorl.foundations.other_libraries import any_array
from whorl.foundations.types import SpacingLike
from whorl.networks.adaptation import adapted
from whorl.networks.cards import shared
from whorl.networks.common import CommonDenoiser, common_denoiser
from whorl.networks.denoiser import Denoiser, Partly, each_page, value_range
from whorl.networks.real_noise import RealDenoiser, real_denoiser
from whorl.networks.trained import TrainedNetwork, check_dimension, levels_told

__all__ = ["COLOUR", "GREY", "Denoising", "denoise"]

GREY, COLOUR = "photo-grey", "photo-colour"
"""The networks for pictures with one channel and with three."""

VOLUME = "volume-5k"  # volume-30k is better and takes three times as long

SECOND = {GREY: "photo-grey-real", COLOUR: "photo-colour-real"}
"""The networks that take over where the noise is weak or not white."""

LEAST_GAIN = 0.05
"""In decibels: the image is copied where the result is not expected to be better by so much."""

CAMERA = "The noise went through a camera: how strong it was cannot be told from the picture, nor how much is gained."
"""What is said of noise whose level was chosen, not measured."""

UNSURE = 0.5
"""The uncertainty of the noise from which on nothing is said of the gain."""

Array = TypeVar("Array", bound=Any)
Channels = Literal["separate", "joint"]


def _unwatched(step: int) -> None:
    """Take a report of progress, and do nothing with it."""


@dataclass(frozen=True)
class Remover:
    """The denoiser of a picture, None where it is to be copied, and the gain expected of it, if measured."""

    apply: Denoiser | CommonDenoiser | RealDenoiser | Partly | None
    expected: Answer | None = None
    adapted: bool = False
    model: NoiseModel | None = None

    @property
    def why(self) -> str:
        """Why the picture is copied though there is noise; empty where it is not."""
        if self.apply is not None or self.expected is None:
            return ""
        return f"the result would not be better than the image (expected gain {self.expected.gain:.1f} dB): copied."

    @property
    def doubt(self) -> str:
        """One sentence that says what contradicts the noise model; empty where nothing does."""
        if self.model is not None and self.model.coarse:
            return CAMERA
        if self.model is not None and self.model.uncertainty > UNSURE:
            return f"The strength of the noise may be wrong by {self.model.uncertainty:.0%}: the gain cannot be told."
        return self.expected.fit.doubt if self.expected is not None and self.expected.fit is not None else ""


@dataclass(frozen=True)
class Denoising:
    """The settings of denoising by a network, as the user told them; None means: measure it on the picture.

    ``noise`` is a standard deviation, a ``NoiseModel``, or ``"rician"`` for such noise of a level that is measured.
    ``channels`` says whether channels are colours of one picture, ``"joint"``, or dyes that have nothing in common,
    ``"separate"``. ``dimension`` is 3 for volumes, whose channels are always separate. ``adapt`` lets the network adapt
    to the picture, and ``watch`` is called with the number of every step of that. ``strength`` is the share of the
    change that is made, from 0 to 1; ``spacing`` are the sides of a voxel, of which the ratio counts.

    >>> told = Denoising(noise=15.0)
    >>> told.name(channels=3), told.level(lambda: [])
    ('photo-colour', 15.0)
    """

    network: str | Path | TrainedNetwork | None = None
    noise: float | NoiseModel | str | None = None
    caller: str = "denoise"
    channels: Channels | None = None
    adapt: bool = False
    watch: Callable[[int], None] = _unwatched
    strength: float = 1.0
    dimension: int = 2
    spacing: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.spacing)) == 1:
            object.__setattr__(self, "spacing", ())
        validation.number(self.strength, "strength", self.caller, 0.0, 1.0)
        if self.channels not in (None, "separate", "joint"):
            raise ValueError(f"{self.caller}: channels = {self.channels!r}: choose 'separate' or 'joint'.")
        if isinstance(self.noise, str) and (self.noise != "rician" or self.network is not None):
            raise ValueError(
                f"{self.caller}: noise = {self.noise!r}: expected a standard deviation, a NoiseModel, or 'rician' "
                "without a network: networks that are named are for white noise."
            )
        if self.noise is not None and not isinstance(self.noise, NoiseModel | str):
            self.level(list)

    def level(self, samples: Samples) -> float:
        """The noise to remove, measured on the samples where it was not told; 0 where the picture is to be copied."""
        assert not isinstance(self.noise, NoiseModel | str)
        return noise_to_remove(self.noise, samples, self.caller)

    def measured(self, samples: Samples) -> float | NoiseModel:
        """The noise to remove, as a model where no network was named: the default networks take models."""
        if isinstance(self.noise, NoiseModel):
            return 0.0 if labels(list(samples()), self.caller) else self.noise
        if isinstance(self.noise, str):
            return noise_model(list(samples()), self.noise)
        if self.noise is None and self.network is None:
            parts = list(samples())
            if self.dimension == 3:
                return volume_to_remove(parts, self.caller)
            colours = bool(parts) and self.name(parts[0].shape[1]) == COLOUR
            return model_to_remove(lambda: parts, self.caller, colours=colours) or 0.0
        return self.level(samples)

    def name(self, channels: int) -> str | Path | TrainedNetwork:
        """The network told, or the one for colour or for grey photographs, as the picture asks for."""
        if self.network is None and self.dimension == 3:
            return VOLUME
        joint = channels == 3 and self.channels != "separate"
        return (COLOUR if joint else GREY) if self.network is None else self.network

    def loaded(self, channels: int) -> TrainedNetwork:
        """The network of that name."""
        name = self.name(channels)
        return name if isinstance(name, TrainedNetwork) else shared(name)

    def second(self, channels: int) -> TrainedNetwork | None:
        """The network for noise that is weak or not white, where the choice is left to the picture."""
        if self.dimension == 3:
            if self.loaded(channels).dimension != 3:
                raise ValueError(f"{self.caller}: {self.network} is for pictures. Use volume-5k or volume-30k.")
            return shared(SECOND[GREY]) if self.spacing else None
        second = SECOND.get(str(self.name(channels))) if self.network is None else None
        return None if second is None else shared(second)

    def remover(
        self, noise: float | NoiseModel, samples: Sequence[Tensor], *, eight_bits: bool, device: torch.device
    ) -> Remover:
        """The denoiser for this noise and the pictures of these samples; checked where the noise is a model."""
        found = self._remover(noise, samples, eight_bits, device)
        if self.strength == 1 or found.apply is None:
            return found
        return replace(found, apply=Partly(found.apply, self.strength, found.apply.reach))

    def _remover(
        self, noise: float | NoiseModel, samples: Sequence[Tensor], eight_bits: bool, device: torch.device
    ) -> Remover:
        channels = samples[0].shape[1]
        if noise == 0:
            return Remover(None)
        network, other = placed(self.loaded(channels), device), self.second(channels)
        second = None if other is None else placed(other, device)
        joint = self.network is None and self.name(channels) == COLOUR

        def grey() -> tuple[TrainedNetwork, TrainedNetwork]:
            return placed(shared(GREY), device), placed(shared(SECOND[GREY]), device)

        if not isinstance(noise, NoiseModel):
            ends = value_range(torch.cat([part.flatten() for part in samples]), eight_bits)
            apart = self.channels == "separate"
            alone = Denoiser(network, noise, *ends, second=second, spacing=self.spacing, apart=apart)
            return Remover(common_denoiser(alone, grey, common(samples, noise)) if joint else alone)
        separate = channels > 1 and self.name(channels) != COLOUR and self.channels != "joint"
        found = real_denoiser(
            network, second, noise, samples, eight_bits=eight_bits, separate=separate, grey=grey if joint else None,
            spacing=self.spacing,
        )  # fmt: skip
        if self.dimension == 3:
            return Remover(found)
        expected = answer(found, noise, [part.to(device) for part in samples])
        if expected.gain < LEAST_GAIN:
            return Remover(None, expected)
        taught = found
        if self.adapt and expected.fit is not None and not expected.fit.doubt:
            taught = adapted(found, [part.to(device) for part in samples], self.watch)
        return Remover(taught, expected, taught is not found, noise)


@any_array(least_axes=3)
def denoise(
    image: Array,
    noise: float | NoiseModel | str | ArrayLike | None = None,
    *,
    channel_axis: int | None = None,
    page_axis: int | None = None,
    channels: Channels | None = None,
    network: str | Path | TrainedNetwork | None = None,
    adapt: bool = False,
    strength: float = 1.0,
    spacing: SpacingLike | None = None,
    device: str | torch.device | None = None,
) -> Array:
    """Remove the noise of a photograph, a micrograph or a volume with trained networks.

    With nothing told, a model of the noise is measured: how its variance depends on the grey value, and whether
    neighbours are correlated. The picture is transformed so that its noise has one level, denoised, and transformed
    back without bias. The result is checked before it is given; where it would be worse than the image, the image comes
    back with a warning.

    Parameters
    ----------
    image : array
        Of any library, as for :func:`whorl.diffuse`: ``(y, x)``, or colour with a ``channel_axis``; ``(z, y, x)`` is a
        volume. Integers come back rounded, in the type of the image.
    noise : float, array, NoiseModel or "rician", optional
        Standard deviation of white noise in the image's own units, as one number, one for each page, or a map with one
        for each pixel; a model of the noise, or ``"rician"`` for magnitudes of magnetic resonance; measured by default.
    channel_axis : int, optional
        The axis of the channels; None for a grey image.
    page_axis : int, optional
        The axis of the pages of a stack, film or batch, which have one noise together unless told otherwise.
    channels : "separate" or "joint", optional
        Whether channels are dyes with noise of their own, or colours; by default three are colours, others are not.
    network : str, Path or network, optional
        The name of a network of the package, a file, or a network of ``whorl.load``, for white noise; by default
        ``photo-grey`` or ``photo-colour``, and ``photo-grey-real`` or ``photo-colour-real`` where noise is not white;
        ``volume-5k`` for volumes.
    adapt : bool
        Whether the gates of the network adapt to the picture, which takes a while: 20 steps by Stein's estimate. The
        result is used where the noise is white, its model fits, and parts of the picture that were held back gain.
    strength : float
        How much of the change is made, from 0, the image as it is, to 1: some like a little grain.
    spacing : float or tuple of float
        The sides ``(h_z, h_y, h_x)`` of a voxel; by default those that the image knows, or cubes. Where they differ, a
        network for pictures has a share, on slices.
    device : optional
        Where to compute; the result comes back to where the image was.

    Examples
    --------
    >>> import numpy as np
    >>> noisy = np.random.default_rng(0).normal(100, 25, (32, 32))
    >>> bool(denoise(noisy, noise=25).std() < 5)
    True
    """
    validation.number(strength, "strength", "denoise", 0.0, 1.0)
    told_sides = validation.spacing(1.0 if spacing is None else spacing, "denoise")
    uneven = len({*told_sides}) > 1
    if network is not None and not isinstance(noise, NoiseModel | str) and not uneven:
        # A wrong axis has no channels here, and is refused like all that is wrong with the image.
        count = [] if channel_axis is None else [*getattr(image, "shape", ())][channel_axis:][:1]
        told = Denoising(network, channels=channels, adapt=adapt).loaded(*count or [1])
        if channels != "separate" or not told.takes_colours:
            how: dict[str, Any] = {"channel_axis": channel_axis, "page_axis": page_axis, "device": device}
            return cast(Array, told.denoise(image, noise, strength=strength, **how))
    u = to_tensor(image, channel_axis, "denoise", page_axis)
    sides = validation.sides(told_sides, u.dim() - 2, "denoise")
    check_dimension(u, 3 if uneven else u.dim() - 2, image.shape)
    if adapt and u.dim() == 5:
        raise ValueError("denoise: adapt=True is for pictures. Leave it out for a volume.")
    deviation, levels = levels_told(noise, u, channel_axis, page_axis)
    policy = Denoising(network, deviation, channels=channels, adapt=adapt, dimension=u.dim() - 2, spacing=sides)
    samples = samples_of(u)
    found, target = policy.measured(lambda: samples), device_of(device, u.device)
    eight_bits = str(image.dtype).removeprefix("torch.") == "uint8"
    with undisturbed(u):
        remover = policy.remover(found, samples, eight_bits=eight_bits, device=target)
    if remover.why:
        warnings.warn(f"denoise: {remover.why}", stacklevel=validation.outside())
    elif remover.doubt and isinstance(noise, NoiseModel):
        warnings.warn(f"denoise: {remover.doubt}", stacklevel=validation.outside())
    if remover.apply is None:
        return cast(Array, image.clone() if isinstance(image, Tensor) else image.copy())
    with undisturbed(u), torch.no_grad():
        each: list[Any] = [remover.apply] * len(u)
        if levels is not None:
            removers = cast(Denoiser | CommonDenoiser, remover.apply)
            each = [removers.told(level) for level in each_page(levels.to(target))]
        shares = [Partly(apply, strength, apply.reach) for apply in each]
        pages = torch.cat([share(page.to(target)) for share, page in zip(shares, u.split(1), strict=True)])
        return from_tensor(pages, image, channel_axis, page_axis)
