"""What a verb does to the pages of a file: the stages of the filter, chosen by options and by the pages themselves."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.automatic import DEFAULT_TIME, AutomaticSettings, Filtering, NoiseModel
from whorl.denoising import Denoising
from whorl.files import Page
from whorl.files.layout import pixel_aspect
from whorl.files.volume import VolumeFile
from whorl.foundations import validation
from whorl.large import Stage, denoising_stages, stages
from whorl.large.pictures import sample_blocks
from whorl.large.volumes import sample_boxes
from whorl.networks.trained import check_thickness


class Treatment(ABC):
    """Gives the stages for pages, and says what it chose.

    What is measured is measured on all pages of a file together that show one dye, so that a film does not flicker, or
    with ``per_page`` on each of them.
    """

    device: torch.device
    per_page: bool = False
    doing: str = "filtering"
    lossless: bool = False
    """Whether samples are promised to stay as they were, which compression must not break."""

    def chosen(self, pages: Sequence[Page]) -> Iterator[tuple[Sequence[Stage], dict[str, Any]]]:
        """For each page the stages, and the numbers that describe them for a report."""
        if self.per_page:
            measured = (self._measured([page]) for page in pages)
        else:
            each = {dye: self._measured([page for page in pages if page.dye == dye]) for dye in {p.dye for p in pages}}
            measured = (each[page.dye] for page in pages)
        yield from map(self._stages, pages, measured)

    volumes: bool = False
    """Whether volumes are filtered too."""

    def volume(self, file: VolumeFile) -> tuple[Sequence[Stage], dict[str, Any]]:
        """The stages for the volumes of a file, and the numbers that describe them."""
        raise ValueError(f"{file.path}: a volume, and {self.doing} is for pictures. Use whorl filter or whorl denoise.")

    @abstractmethod
    def _measured(self, pages: Sequence[Page]) -> Any:
        """The settings that were not given, measured."""

    @abstractmethod
    def _stages(self, page: Page, measured: Any) -> tuple[Sequence[Stage], dict[str, Any]]:
        """The stages for a page and their description."""


class Spaced:
    """The size of a pixel along y and x, or of a voxel along z, y and x; the ratio counts. None is that of the file."""

    spacing: tuple[float, ...] | None

    def pixel(self, page: Page) -> tuple[float, ...]:
        """The sides of a pixel of the page, the shortest of them one."""
        if self.spacing is not None and len(self.spacing) == 3:
            raise ValueError(
                f"--spacing {_listed(self.spacing)}: a picture needs height and width of a pixel, such as 4,1."
            )
        return page.metadata.aspect if self.spacing is None else pixel_aspect(self.spacing)

    def voxel(self, file: VolumeFile) -> tuple[float, ...]:
        """The sides of a voxel of the file, the shortest of them one."""
        if self.spacing is not None and len(self.spacing) != 3:
            raise ValueError(
                f"--spacing {_listed(self.spacing)}: a volume needs depth, height and width, such as 4,1,1."
            )
        return voxel_aspect(self.spacing or file.spacing)


class ByModel(Spaced, Treatment):
    """A model of the catalogue."""

    volumes = True

    def __init__(
        self,
        policy: Filtering,
        scheme: str,
        device: torch.device,
        *,
        spacing: tuple[float, ...] | None = None,
        per_page: bool = False,
    ) -> None:
        self.policy, self.scheme, self.device = policy, scheme, device
        self.spacing, self.per_page = spacing, per_page
        # Errors in the options are told at once.
        contrast = 1.0 if policy.contrast is None else policy.contrast
        time = DEFAULT_TIME if policy.time is None else policy.time
        self._described(AutomaticSettings(0.0, contrast, time), (1.0, 1.0))

    def _measured(self, pages: Sequence[Page]) -> AutomaticSettings:
        return self.policy.settings(_tensors(lambda: sample_blocks(pages), self.device), self.pixel(pages[0]))

    def _stages(self, page: Page, measured: AutomaticSettings) -> tuple[Sequence[Stage], dict[str, Any]]:
        return self._described(measured, self.pixel(page))

    def volume(self, file: VolumeFile) -> tuple[Sequence[Stage], dict[str, Any]]:
        """Steps in three dimensions; the size of a voxel is the file's unless told otherwise.

        Lengths and time are in units of the shortest side of a voxel.
        """
        aspect = self.voxel(file)
        measured = self.policy.settings(_tensors(lambda: sample_boxes(file), self.device), aspect)
        return self._described(measured, aspect)

    def _described(
        self, measured: AutomaticSettings, aspect: tuple[float, ...]
    ) -> tuple[Sequence[Stage], dict[str, Any]]:
        """The stages for these settings, and the settings for a report."""
        model = self.policy.built(measured, aspect).to(self.device)
        steps = stages(model, measured.time, scheme=self.scheme, dimension=len(aspect))
        record: dict[str, Any] = {"model": model.name}
        if self.policy.measured:
            record |= {"noise": measured.noise, "noise_measured": self.policy.noise is None}
        record |= {"contrast": measured.contrast, "contrast_measured": self.policy.measured}
        record |= measured.options
        record |= {"time": measured.time, "scheme": self.scheme, "spacing": list(aspect)}
        if measured.time == 0 and self.policy.time != 0:
            record["copied"] = True
        return steps, record | {"steps": sum(stage.steps for stage in steps)}


class ByNetwork(Spaced, Treatment):
    """A trained network; the noise is measured on the pages where its level is not given."""

    volumes = True

    def volume(self, file: VolumeFile) -> tuple[Sequence[Stage], dict[str, Any]]:
        """What removes the noise of the volumes of a file, in windows; all of them have one noise."""
        aspect = self.voxel(file)
        size = " x ".join(map(str, reversed(file.shape)))
        check_thickness(file.shape, f"and {file.path} has {size}. whorl filter takes such.")
        policy = replace(self.policy, dimension=3, spacing=aspect)
        samples = list(_tensors(lambda: sample_boxes(file))())
        measured, eight_bits = policy.measured(lambda: samples), file.dtype == "uint8"
        steps, _ = denoising_stages(policy, measured, samples, eight_bits=eight_bits, device=self.device)
        record: dict[str, Any] = {"network": policy.name(file.channels), "noise": _level(measured, samples)}
        record |= {"noise_measured": policy.noise is None, "strength": policy.strength, "spacing": list(aspect)}
        record |= {"noise_model": asdict(measured)} if isinstance(measured, NoiseModel) else {}
        return steps, record | ({} if steps else {"copied": True})

    def __init__(
        self,
        policy: Denoising,
        device: torch.device,
        *,
        spacing: tuple[float, ...] | None = None,
        per_page: bool = False,
    ) -> None:
        self.policy, self.device, self.spacing, self.per_page = policy, device, spacing, per_page
        if policy.network is not None:
            policy.loaded(1)  # whatever is wrong with the file is said at once

    def _measured(self, pages: Sequence[Page]) -> float | NoiseModel:
        return self.policy.measured(_tensors(lambda: sample_blocks(pages)))

    def _stages(self, page: Page, measured: float | NoiseModel) -> tuple[Sequence[Stage], dict[str, Any]]:
        colour, channels = page.layout.colour, page.layout.filtered
        dyes = channels > 1 and colour != "rgb" and self.policy.channels is None
        policy = replace(self.policy, channels="separate") if dyes else self.policy
        samples, eight_bits = list(_tensors(lambda: sample_blocks([page]))()), page.layout.dtype == "uint8"
        told = {"network": policy.name(channels), "noise": _level(measured, samples)}
        record: dict[str, Any] = told | {"noise_measured": policy.noise is None, "strength": policy.strength}
        if isinstance(measured, NoiseModel):
            record["noise_model"] = asdict(measured)
        steps, remover = denoising_stages(policy, measured, samples, eight_bits=eight_bits, device=self.device)
        if (expected := remover.expected) is not None and isinstance(measured, NoiseModel):
            peak = 255.0 if eight_bits else measured.white - measured.black
            record |= {"gain_expected": expected.told, "psnr_expected": expected.psnr(peak), "peak": peak}
            record |= {"residual": asdict(expected.fit), "doubt": remover.doubt} if expected.fit else {}
        if policy.adapt:
            record["adapted"] = remover.adapted
        if remover.why:
            record["returned"] = True
        return steps, record | ({} if steps else {"copied": True})


def _level(noise: float | NoiseModel, samples: Sequence[Tensor]) -> float:
    """One number for a report: the root mean square of the standard deviations."""
    if not isinstance(noise, NoiseModel):
        return noise
    squares = [noise.standard_deviation_at(part.double()).square().mean() for part in samples]
    return math.sqrt(float(sum(squares)) / len(squares))


def _tensors(
    blocks: Callable[[], Iterable[NDArray[Any]]], device: torch.device | None = None
) -> Callable[[], Iterator[Tensor]]:
    """The blocks as a policy asks for samples; what cannot be filtered must not be measured either."""
    return lambda: (validation.finite(torch.from_numpy(block)[None].to(device), "the filter") for block in blocks())


def voxel_aspect(sizes: Sequence[float] | None) -> tuple[float, ...]:
    """The sides of a voxel in units of the shortest one; a cube where they are not known."""
    return tuple(round(size / min(sizes), 6) for size in sizes) if sizes else (1.0, 1.0, 1.0)


def _listed(sizes: Sequence[float]) -> str:
    return ",".join(f"{size:g}" for size in sizes)


def as_spacing(text: str) -> tuple[float, ...] | None:
    """Height and width of a pixel from ``--spacing``: ``auto``, one number, or two; three for a voxel.

    >>> as_spacing("auto"), as_spacing("4,1"), as_spacing("0.5")
    (None, (4.0, 1.0), (0.5, 0.5))
    """
    if text == "auto":
        return None
    try:
        sizes = [float(word) for word in text.split(",")]
    except ValueError:
        sizes = []
    if len(sizes) not in (1, 2, 3) or not all(0 < size < float("inf") for size in sizes):
        raise ValueError(f"--spacing {text}: expected auto, or height and width of a pixel such as 4,1.")
    return (sizes[0], sizes[0]) if len(sizes) == 1 else tuple(sizes)
