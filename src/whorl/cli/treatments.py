"""What a verb does to the pages of a file: the stages of the filter, chosen by options and by the pages themselves."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import torch

from whorl import models
from whorl.automatic import DEFAULT_TIME, AutomaticSettings, automatic_settings, noise_level, rule
from whorl.denoising import COLOUR, GREY
from whorl.files import Page
from whorl.files.layout import pixel_aspect
from whorl.files.volume import VolumeFile
from whorl.large import Stage, denoising_stages, stages
from whorl.large.pictures import sample_blocks
from whorl.large.volumes import sample_boxes
from whorl.networks import TrainedNetwork, load

__all__ = ["AUTO", "Denoising", "Diffusion", "Treatment", "as_spacing"]

AUTO = "auto"


class Treatment(ABC):
    """Gives the stages for pages, and says what it chose.

    What is measured is measured on all pages of a file together, so that a film does not flicker, or with ``per_page``
    on each of them.
    """

    device: torch.device
    per_page: bool = False

    def chosen(self, pages: Sequence[Page]) -> Iterator[tuple[Sequence[Stage], dict[str, Any]]]:
        """For each page the stages, and the numbers that describe them for a report."""
        together = None if self.per_page else self._measured(pages)
        for page in pages:
            yield self._stages(page, self._measured([page]) if together is None else together)

    volumes: bool = False
    """Whether volumes are filtered too."""

    def volume(self, file: VolumeFile) -> tuple[Sequence[Stage], dict[str, Any]]:
        """The stages for the volumes of a file, and the numbers that describe them."""
        raise ValueError("networks are trained on pictures and take no volumes. Use whorl filter.")

    @abstractmethod
    def _measured(self, pages: Sequence[Page]) -> Any:
        """What is measured where it was not given."""

    @abstractmethod
    def _stages(self, page: Page, measured: Any) -> tuple[Sequence[Stage], dict[str, Any]]:
        """The stages for a page and their description."""


class Diffusion(Treatment):
    """A model of the catalogue; without a contrast, contrast and time follow from the noise of the pages.

    ``spacing`` is the size of a pixel along y and x, or of a voxel along z, y and x, of which the ratio counts; None
    takes that of the file.
    """

    volumes = True

    def __init__(
        self,
        name: str,
        time: float | None,
        scheme: str,
        contrast: float | None,
        options: Mapping[str, Any],
        device: torch.device,
        *,
        noise: float | None = None,
        spacing: tuple[float, ...] | None = None,
        per_page: bool = False,
    ) -> None:
        if noise is not None and contrast is not None:
            raise ValueError(f"--noise {noise} has no effect beside --contrast. Leave one of them out.")
        self.name, self.time, self.scheme, self.contrast, self.noise = name, time, scheme, contrast, noise
        self.options, self.device, self.spacing, self.per_page = dict(options), device, spacing, per_page
        if contrast is None:
            rule(name)
        # What is wrong with the options is said at once.
        self._steps(1.0 if contrast is None else contrast, DEFAULT_TIME if time is None else time, (1.0, 1.0))

    def _measured(self, pages: Sequence[Page]) -> AutomaticSettings:
        if self.contrast is not None:
            return AutomaticSettings(0.0, self.contrast, DEFAULT_TIME if self.time is None else self.time)
        parts = [torch.from_numpy(block)[None].to(self.device) for block in sample_blocks(pages)]
        options = {**self.options, "spacing": self._aspect(pages[0])}
        return automatic_settings(self.name, parts, noise=self.noise, time=self.time, **options)

    def _stages(self, page: Page, measured: AutomaticSettings) -> tuple[Sequence[Stage], dict[str, Any]]:
        return self._described(measured, self._aspect(page))

    def volume(self, file: VolumeFile) -> tuple[Sequence[Stage], dict[str, Any]]:
        """Steps in three dimensions; the size of a voxel is the file's unless told otherwise.

        Lengths and time are in units of the shortest side of a voxel.
        """
        if self.spacing is not None and len(self.spacing) != 3:
            raise ValueError(
                f"--spacing {_listed(self.spacing)}: a volume needs depth, height and width, such as 4,1,1."
            )
        sizes = self.spacing or file.spacing or (1.0, 1.0, 1.0)
        aspect = tuple(round(size / min(sizes), 6) for size in sizes)
        if self.contrast is None:
            parts = [torch.from_numpy(block)[None].to(self.device) for block in sample_boxes(file)]
            options = {**self.options, "spacing": aspect}
            measured = automatic_settings(self.name, parts, noise=self.noise, time=self.time, **options)
        else:
            measured = AutomaticSettings(0.0, self.contrast, DEFAULT_TIME if self.time is None else self.time)
        return self._described(measured, aspect)

    def _described(
        self, measured: AutomaticSettings, aspect: tuple[float, ...]
    ) -> tuple[Sequence[Stage], dict[str, Any]]:
        """The stages for these settings, and the settings for a report."""
        steps = self._steps(measured.contrast, measured.time, aspect)
        record: dict[str, Any] = {"model": self.name}
        if self.contrast is None:
            record |= {"noise": measured.noise, "noise_measured": self.noise is None}
        record |= {"contrast": measured.contrast, "contrast_measured": self.contrast is None}
        record |= {"time": measured.time, "scheme": self.scheme, "spacing": list(aspect)}
        if measured.time == 0 and self.time != 0:
            record["copied"] = True
        return steps, record | {"steps": sum(stage.steps for stage in steps)}

    def _aspect(self, page: Page) -> tuple[float, ...]:
        if self.spacing is not None and len(self.spacing) == 3:
            raise ValueError(
                f"--spacing {_listed(self.spacing)}: a picture needs height and width of a pixel, such as 4,1."
            )
        return page.metadata.aspect if self.spacing is None else pixel_aspect(self.spacing)

    def _model(self, contrast: float, aspect: tuple[float, ...]) -> models.Model:
        return models.build(self.name, contrast=contrast, spacing=aspect, **self.options).to(self.device)

    def _steps(self, contrast: float, time: float, aspect: tuple[float, ...]) -> Sequence[Stage]:
        return stages(self._model(contrast, aspect), time, scheme=self.scheme, dimension=len(aspect))


class Denoising(Treatment):
    """A trained network; the noise is measured on the pages where its level is not given.

    ``auto`` takes the network for grey or for colour photographs, as a page asks for.
    """

    def __init__(self, name: str, noise: float | None, device: torch.device, *, per_page: bool = False) -> None:
        if noise is not None and not 0 < noise < float("inf"):
            raise ValueError(f"--noise {noise}: expected a positive standard deviation in grey values.")
        self.name, self.noise, self.device, self.per_page = name, noise, device, per_page
        if name != AUTO:
            self._network(name)  # whatever is wrong with the file is said at once

    def _measured(self, pages: Sequence[Page]) -> float:
        if self.noise is not None:
            return self.noise
        return noise_level([torch.from_numpy(block)[None] for block in sample_blocks(pages)])

    def _stages(self, page: Page, measured: float) -> tuple[Sequence[Stage], dict[str, Any]]:
        name = self.name
        if name == AUTO:
            name = COLOUR if page.layout.filtered == 3 else GREY
        record = {"network": name, "noise": measured, "noise_measured": self.noise is None}
        if measured == 0:  # nothing to remove: the page is copied
            return (), record | {"copied": True}
        samples = [torch.from_numpy(block) for block in sample_blocks([page])]
        eight_bits = page.layout.dtype == "uint8"
        return denoising_stages(self._network(name), measured, samples, eight_bits=eight_bits), record

    @cache  # noqa: B019, a treatment lives as long as its command
    def _network(self, name: str) -> TrainedNetwork:
        return load(name).to(self.device)


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
