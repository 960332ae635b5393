"""PSNR over the rotation angle of the test scenes: the measurement behind the paper's figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from whorl.data import ANGLES, RectangleSet
from whorl.errors import ShapeError
from whorl.evaluation.store import Store
from whorl.metrics import mean_squared_error, population

__all__ = ["AngleTable", "TestScenes", "evaluate"]

Denoiser = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class AngleTable:
    """Mean squared errors ``(angles, images)`` in squared grey values, and what follows from them.

    The PSNR at an angle is the mean of the images' PSNRs (dB); ``variance`` is the population variance of these numbers
    over the angles (dB², divided by the number of angles).
    """

    angles: tuple[int, ...]
    errors: Tensor
    value_range: float = 255.0

    def __post_init__(self) -> None:
        if self.errors.dim() != 2 or len(self.errors) != len(self.angles) or not self.errors.numel():
            raise ShapeError(
                f"AngleTable: expected errors ({len(self.angles)}, images), got {tuple(self.errors.shape)}."
            )

    @property
    def psnr(self) -> dict[int, float]:
        """PSNR in dB by angle."""
        each = 10 * torch.log10(self.value_range**2 / self.errors.double())
        return {angle: float(row.mean()) for angle, row in zip(self.angles, each, strict=True)}

    @property
    def mean(self) -> float:
        """Mean PSNR over the angles, in dB."""
        return population(list(self.psnr.values())).mean

    @property
    def variance(self) -> float:
        """Population variance of the PSNR over the angles, in dB²."""
        return population(list(self.psnr.values())).variance

    def expected_variance(self) -> float:
        """The part of ``variance`` that is due to the choice of images, in dB².

        Images differ in how their content changes as the scene turns. With ``n`` images that leaves an expected
        variance of (residual variance after image and angle effects) / n even for a perfectly invariant network.
        """
        each = 10 * torch.log10(self.value_range**2 / self.errors.double())
        angles, images = each.shape
        if images < 2 or angles < 2:
            return float("nan")
        residual = each - each.mean(0, keepdim=True) - each.mean(1, keepdim=True) + each.mean()
        return float(residual.square().sum() / ((angles - 1) * (images - 1))) * (1 - 1 / angles) / images

    def as_dict(self) -> dict[str, Any]:
        """Figures for JSON: ``psnr`` by angle, ``mean``, ``variance``, and ``psnr_45`` where 45 is among the angles."""
        found: dict[str, Any] = {
            "psnr": {str(angle): value for angle, value in self.psnr.items()},
            "mean": self.mean,
            "variance": self.variance,
        }
        if 45 in self.psnr:
            found["psnr_45"] = self.psnr[45]
        return found


class TestScenes:
    """Test pictures at all angles, kept on a device: the same scenes and the same noise for every angle."""

    __test__ = False  # not a test class, whatever its name says

    def __init__(
        self, rectangles: RectangleSet, angles: Sequence[int] = ANGLES, device: torch.device | str = "cpu"
    ) -> None:
        self.rectangles, self.angles = rectangles, tuple(angles)
        self.device = torch.device(device)
        self._clean: dict[int, Tensor] = {}
        self._noise: Tensor | None = None

    def give(self, angle: int, clean: Tensor) -> None:
        """Take over pictures drawn elsewhere."""
        self._clean[angle] = clean.to(self.device)

    def pairs(self, angle: int) -> tuple[Tensor, Tensor]:
        """Clean and noisy pictures at an angle, drawn when first asked for."""
        if angle not in self._clean:
            self.give(angle, self.rectangles.clean(angle))
        if self._noise is None:
            self._noise = self.rectangles.noise_only().to(self.device)
        return self._clean[angle], self._clean[angle] + self._noise


def evaluate(
    denoise: Denoiser,
    scenes: TestScenes,
    *,
    batch: int = 10,
    store: Store | None = None,
    key: str = "",
    advance: Callable[[int], None] = lambda images: None,
) -> AngleTable:
    """Denoise the test scenes at every angle; results are not clipped.

    With a ``store``, rows it holds under ``key`` are taken from there and new ones are kept, so that an interrupted
    evaluation goes on where it was. ``advance(images)`` reports progress.
    """
    store, rows = store or Store(), []
    with torch.no_grad():
        for angle in scenes.angles:
            errors = store.get(key, angle)
            if errors is None:
                clean, noisy = scenes.pairs(angle)
                errors = []
                for target, f in zip(clean.split(batch), noisy.split(batch), strict=True):
                    errors += mean_squared_error(denoise(f), target).tolist()
                    advance(len(f))
                store.put(key, angle, errors)
            else:
                advance(len(errors))
            rows.append(torch.tensor(errors, dtype=torch.float64))
    return AngleTable(scenes.angles, torch.stack(rows))
