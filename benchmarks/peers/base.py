"""One calling convention for every diffusion filter, and the facts that make a comparison fair.

A :class:`Method` is data: which library, which of its functions, which whorl model solves the same equation, the step
it is run with and why, its boundary and precision. ``load()`` imports the library and returns the filter

    run(image, contrast, steps, tau) -> image

on float32 arrays (y, x) or (y, x, 3) with grey values in [0, 255]. Where ``chains`` is true, n steps followed by m
steps are n + m steps, so that the quality search may read all stopping times off one run; a test checks it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

__all__ = ["Image", "Method", "Run"]

Image = NDArray[np.float32]
Run = Callable[[Image, float, int, float], Image]


@dataclass(frozen=True)
class Method:
    """A filter of some library, with the settings it is compared under."""

    name: str
    library: str  # what Python imports
    distribution: str  # what pip installs: the source of the version
    model: str  # the whorl model for the same equation
    layout: str  # "grey": (y, x); "colour": (y, x, 3), channels coupled; "any": both
    tau: float  # the step size it is compared with
    tau_reason: str
    contrast: str  # what its contrast parameter means, in terms of lambda in exp(-s^2 / (2 lambda^2))
    contrast_range: tuple[float, float]  # where the quality search looks
    boundary: str
    precision: str
    settings: str
    load: Callable[[], Run]
    timed: bool = True  # False: a minimiser or a single pass, so that "steps" means nothing
    chains: bool = True  # False: the library keeps something between steps that a second call forgets

    def installed(self) -> bool:
        return find_spec(self.library) is not None

    def version(self) -> str:
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return "in the tree"

    def takes(self, image_ndim: int) -> bool:
        return self.layout == "any" or (self.layout == "colour") == (image_ndim == 3)
