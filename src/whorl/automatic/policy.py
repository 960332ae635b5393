"""One place that decides how to filter: what the user gave is kept, the rest follows from samples.

Arrays in memory, arrays in windows, files on the command line and layers of a viewer differ in where their samples come
from and in how the steps are taken. What is measured, which model is built and how long it runs is decided here.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from whorl.automatic.labels import labels
from whorl.automatic.noise import noise_level
from whorl.automatic.settings import DEFAULT_TIME, AutomaticSettings, automatic_settings, rule
from whorl.foundations import validation
from whorl.models import Model, build

Samples = Callable[[], Iterable[Tensor]]
"""Gives images ``(n, c, y, x)`` or volumes that stand for the picture; called only where something must be measured."""

PROPORTION = 4.0
"""A level that is told is doubted where it is this many times larger or smaller than the one measured."""


@dataclass(frozen=True)
class Filtering:
    """The settings of a filter as the user told them; None, or an option left out, means: measure it on the picture.

    ``model`` is a name of ``whorl.models.names()``, with ``options`` for ``whorl.models.build``, or a model that is
    built already and has its options. ``caller`` is the name that error messages begin with.

    >>> from torch import ones
    >>> told = Filtering("gerig", noise=10.0, time=2.0, options={"diffusivity": "exponential"})
    >>> model, chosen = told.chosen(lambda: [ones(1, 1, 8, 8)], told.space(2))
    >>> model.name, chosen
    ('gerig', AutomaticSettings(noise=10.0, contrast=19.0, time=2.0))
    """

    model: str | Model
    contrast: Any = None
    time: float | None = None
    noise: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    engine: str = "auto"
    caller: str = "diffuse"

    def __post_init__(self) -> None:
        told = {"contrast": None if isinstance(self.contrast, str) and self.contrast == "auto" else self.contrast}
        told = {name: value for name, value in {**told, **self.options}.items() if value is not None}
        if isinstance(self.model, Model) and told:
            raise ValueError(f"{self.caller}: the model is built already. Give {', '.join(told)} to models.build.")
        if self.noise is not None and (isinstance(self.model, Model) or "contrast" in told):
            raise ValueError(
                f"{self.caller}: noise = {self.noise} has no effect beside a contrast. Leave one of them out."
            )
        if self.time is not None:
            validation.number(self.time, "time", self.caller, 0.0)
        object.__setattr__(self, "contrast", told.pop("contrast", None))
        object.__setattr__(self, "options", told)
        if self.measured:
            rule(str(self.model))

    @property
    def measured(self) -> bool:
        """Whether contrast, and time where it was not told, follow from the noise."""
        return isinstance(self.model, str) and self.contrast is None

    @property
    def sized(self) -> bool:
        """Whether the number of axes of space was told, by the size of a pixel or by the model."""
        if isinstance(self.model, Model):
            return self.model.operator.dimension is not None
        return not validation.single(self.options.get("spacing", 1.0))

    def space(self, dimension: int) -> tuple[float, ...]:
        """The size of a pixel, for pictures with so many axes of space.

        The model is told whether it is for pictures or volumes, since its defaults differ.
        """
        return validation.spacing(self.options.get("spacing", 1.0), self.caller).along(dimension)

    def chosen(self, samples: Samples, space: tuple[float, ...]) -> tuple[Model, AutomaticSettings]:
        """The model to run, and its settings."""
        settings = self.settings(samples, space)
        return self.built(settings, space), settings

    def settings(self, samples: Samples, space: tuple[float, ...]) -> AutomaticSettings:
        """Noise, contrast and time for pixels of that size; without noise where the contrast was told."""
        if not self.measured:
            return AutomaticSettings(0.0, self.contrast, DEFAULT_TIME if self.time is None else self.time)
        parts = list(samples())
        if self.noise is None and self.time is None and labels(parts, self.caller):
            return AutomaticSettings(0.0, 1.0, 0.0)
        told: dict[str, Any] = {**self.options, "spacing": space, "noise": self.noise, "time": self.time}
        found = automatic_settings(str(self.model), parts, engine=self.engine, **told)
        if self.noise:
            doubt(found.noise, noise_level(parts), self.caller)
        return found

    def built(self, settings: AutomaticSettings, space: tuple[float, ...]) -> Model:
        """The model for these settings and pixels of that size, or the model that was given."""
        if isinstance(self.model, Model):
            return self.model
        chosen = {**settings.options, **self.options, "contrast": settings.contrast, "spacing": space}
        return build(self.model, **chosen)


def doubt(level: float, measured: float, caller: str) -> None:
    """Say so in a warning where a level that was told is out of all proportion to the one that was measured."""
    if measured and not 1 / PROPORTION <= level / measured <= PROPORTION:
        warnings.warn(
            f"{caller}(noise={level:.4g}): the noise measured in this image is {measured:.4g}. Give the noise in the "
            "units of the image, or leave it out.",
            stacklevel=validation.outside(),
        )


def noise_to_remove(noise: float | None, samples: Samples, caller: str) -> float:
    """The noise a network is to remove: as told, or as measured; 0 where there is none, and the picture is copied.

    A level that is told and is far from the measured one is doubted in a warning. Labels and drawings have no noise,
    however many edges they have and whatever was told.

    >>> import torch
    >>> noise_to_remove(12.0, lambda: [100 + 12 * torch.randn(1, 1, 32, 32)], "denoise")
    12.0
    """
    if noise is not None and not 0 < noise < float("inf"):
        raise ValueError(f"{caller}: noise = {noise}: expected a positive standard deviation in the image's own units.")
    parts = list(samples())
    if labels(parts, caller):
        return 0.0
    measured = noise_level(parts) if parts else 0.0
    level = measured if noise is None else float(noise)
    doubt(level, measured, caller)
    return level
