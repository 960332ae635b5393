"""How well a network denoises: the test scenes at every angle, as in the paper's figure, and photographs."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.data import ANGLES, RectangleSet
from whorl.data.noise import gaussian_noise
from whorl.errors import FileError, ShapeError
from whorl.foundations.atomic import write_bytes
from whorl.metrics import mean_squared_error, population, psnr

FORMAT = "whorl measurements"


class Store:
    """Mean squared errors of images by network, test pictures and angle, in one JSON file (or in memory only)."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.rows: dict[str, dict[str, list[float]]] = {}
        if path is not None and path.exists():
            try:
                found = json.loads(path.read_text())
                if found["format"] != FORMAT:
                    raise KeyError
                self.rows = found["rows"]
            except (ValueError, KeyError, TypeError, UnicodeDecodeError):
                raise FileError(f"{path}: not a file of measurements. It is kept; choose another folder.") from None

    @staticmethod
    def key(**description: Any) -> str:
        """A name for what is measured: changes whenever a parameter, a picture or a setting does."""
        return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:20]

    def get(self, key: str, angle: int) -> list[float] | None:
        """The errors of all images at an angle, if they are known."""
        return self.rows.get(key, {}).get(str(angle))

    def put(self, key: str, angle: int, errors: list[float]) -> None:
        """Keep errors, at once on disk."""
        self.rows.setdefault(key, {})[str(angle)] = errors
        if self.path is not None:
            text = json.dumps({"format": FORMAT, "rows": self.rows}, separators=(",", ":"))
            write_bytes(self.path, (text + "\n").encode())


@dataclass(frozen=True)
class AngleTable:
    """Mean squared errors ``(angles, images)`` in squared grey values, and what follows from them.

    The PSNR at an angle is the mean of the images' PSNRs (dB); ``variance`` is the population variance of these numbers
    over the angles (dB², divided by the number of angles).

    >>> import torch
    >>> table = AngleTable((30, 45), torch.tensor([[65.025, 65.025], [65.025, 65.025]]))
    >>> table.mean, table.variance
    (29.99999989808831, 0.0)
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
        each = 10 * torch.log10(self.errors.double())  # the range of values would shift all of them
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
    """Test pictures at all angles, kept on a device: the same scenes and the same noise for every angle.

    >>> from whorl.data import RectangleSet
    >>> scenes = TestScenes(RectangleSet(count=2, size=32), angles=(30, 45))
    >>> clean, noisy = scenes.pairs(45)
    >>> clean.shape
    torch.Size([2, 1, 32, 32])
    """

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
    denoise: Callable[[Tensor], Tensor],
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

    >>> from whorl.data import RectangleSet
    >>> scenes = TestScenes(RectangleSet(count=2, size=32), angles=(30, 45))
    >>> evaluate(lambda noisy: noisy, scenes).errors.shape
    torch.Size([2, 2])
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


def noisy_picture(picture: NDArray[np.uint8], number: int, noise: float, seed: int = 0) -> Tensor:
    """Picture ``number`` of a test with white Gaussian noise, not clipped: ``(1, c, y, x)``, float32."""
    shape = (1, *picture.shape)
    drawn = gaussian_noise(1, shape[1:], noise, "test", seed * 100_003 + number)
    return torch.from_numpy(picture.astype(np.float32))[None] + drawn


def denoised_psnr(
    denoise: Callable[[Tensor], Tensor],
    pictures: Mapping[str, NDArray[np.uint8]],
    noise: float,
    seed: int = 0,
    *,
    device: str | torch.device = "cpu",
    advance: Callable[[int], None] | None = None,
) -> dict[str, float]:
    """PSNR in dB of each picture, by name: the noise is not clipped, the result is clipped to [0, 255].

    The noise of a picture depends on its position in the list, its size and the seed.
    """
    found = {}
    for number, (name, picture) in enumerate(pictures.items()):
        noisy = noisy_picture(picture, number, noise, seed).to(device)
        with torch.no_grad():
            result = denoise(noisy).float().cpu().clamp(0, 255)
        clean = torch.from_numpy(picture.astype(np.float32))[None]
        found[name] = float(psnr(result.flatten(3), clean.flatten(3), value_range=255))  # volumes, too
        if advance is not None:
            advance(1)
    return found
