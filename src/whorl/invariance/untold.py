"""What people get: noisy scenes on two lattices, nothing told, nothing interpolated; PSNR and turn error side by side.

The scene is a disc and bars; the noise is made of 2,500 waves, so that both have values on every lattice. Upright and
turned pictures are filtered separately, and compared at the pixels that both lattices share. Filters that must be told
their strength are told the one with the best PSNR, which nobody knows in practice.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl.data.synthetic import Turn, Waves, rise
from whorl.invariance.coincidence import TurnError, turned_changes
from whorl.models import build
from whorl.operators import Smoothing

SIZE, MARGIN = 201, 28
TURNS = {"3-4-5": Turn(4, 3, 5), "5-12-13": Turn(12, 5, 13)}

Plane = Callable[[np.ndarray], np.ndarray]
"""A filter of a grey picture ``(y, x)``, float32."""

Other = Callable[..., np.ndarray]
"""A filter that takes one or two strengths after the picture: a contrast or weight, a time or a number of steps."""


@dataclass(frozen=True)
class Sight:
    """A noisy scene and its clean original, upright and turned: edges of so many pixels, noise up to the cutoff.

    >>> Sight(cutoff=0.35).noisy(TURNS["3-4-5"]).shape
    torch.Size([1, 1, 201, 201])
    """

    edge: float = 0.7
    deviation: float = 20.0
    cutoff: float = 0.45
    seed: int = 0

    def clean(self, turn: Turn | None = None) -> Tensor:
        """A bright disc, a bright and a dark bar at angles of their own, on grey."""
        steps = torch.arange(SIZE, dtype=torch.float64) - SIZE // 2
        x, y = steps[None, :] + 0 * steps[:, None], steps[:, None] + 0 * steps[None, :]
        if turn is not None:
            x, y = turn.upright(x, y)
        total = 90 + 100 * rise(28 - torch.hypot(x + 14, y + 12), self.edge)
        for angle, place, half, grey in ((0.35, 42.0, 6.0, 80.0), (2.2, 50.0, 9.0, -60.0)):
            along, across = (math.cos(angle) * x + math.sin(angle) * y, math.cos(angle) * y - math.sin(angle) * x)
            total = total + grey * rise(half - (across - place).abs(), self.edge) * rise(45 - along.abs(), self.edge)
        return total[None, None]

    @lru_cache(maxsize=16)  # noqa: B019 - a handful of scenes, each drawn for many filters
    def noisy(self, turn: Turn | None = None) -> Tensor:
        """The scene with noise, ``(1, 1, y, x)``."""
        waves = torch.tensor(Waves(seed=self.seed, count=2500, cutoff=self.cutoff).waves(), dtype=torch.float64)
        c, s, n = (1.0, 0.0, 1.0) if turn is None else (turn.cosine, turn.sine, turn.norm)
        k_x, k_y = (c * waves[:, 0] + s * waves[:, 1]) / n, (c * waves[:, 1] - s * waves[:, 0]) / n
        steps = torch.arange(SIZE, dtype=torch.float64) - SIZE // 2
        down, across = torch.exp(1j * k_y[:, None] * steps), torch.exp(1j * (k_x[:, None] * steps + waves[:, 2:]))
        return self.clean(turn) + self.deviation * math.sqrt(2 / len(waves)) * (down.mT @ across).real

    def psnr(self, result: Tensor) -> float:
        """The PSNR of a filtered upright picture, within the circle that turned pictures share."""
        steps = torch.arange(SIZE) - SIZE // 2
        inside = steps[:, None] ** 2 + steps**2 <= (SIZE // 2 - MARGIN) ** 2
        return float(10 * torch.log10(255**2 / (result - self.clean())[..., inside].square().mean()))


@dataclass(frozen=True)
class Figures:
    """Figures of one filter: PSNR in dB, the error of every turn, and what the filter was told."""

    name: str
    psnr: float
    errors: dict[str, float] = field(default_factory=dict)
    told: str = "nothing"


def measured(name: str, filter: Callable[[Tensor], Tensor], sight: Sight, told: str = "nothing") -> Figures:
    """A filter of float32 pictures ``(1, 1, y, x)``, as files are filtered."""
    found = turned_changes("measured", filter, sight.noisy, list(TURNS.values()), SIZE, MARGIN, torch.float32, "cpu")
    errors = {turn: TurnError.of(0.0, *changes).relative for turn, changes in zip(TURNS, found, strict=True)}
    return Figures(name, sight.psnr(filter(sight.noisy().float())), errors, told)


def beside_others(ours: Mapping[tuple[str, str], Plane], sight: Sight | None = None) -> Iterator[Figures]:
    """The noisy picture, our filters by name and what they are told, and the others, each at its best strength."""
    sight = sight or Sight()
    yield measured("the noisy picture", lambda u: u, sight, "–")
    for (name, told), plane in ours.items():
        yield measured(name, _of_planes(plane), sight, told)
    for name, needs, filter, strengths in OTHERS:
        if find_spec(needs) is not None:
            tried = list(itertools.product(*strengths))
            scores = [sight.psnr(_of_planes(filter, *each)(sight.noisy().float())) for each in tried]
            best = tried[scores.index(max(scores))]
            found = ", ".join(f"{strength:g}" for strength in best)
            yield measured(name, _of_planes(filter, *best), sight, f"best of {len(tried)}: {found}")


def _of_planes(filter: Other, *strengths: float) -> Callable[[Tensor], Tensor]:
    return lambda u: torch.from_numpy(np.ascontiguousarray(filter(u[0, 0].numpy(), *strengths)))[None, None].to(u.dtype)


def _linear(u: np.ndarray, time: float) -> np.ndarray:
    return _flow(u, "perona-malik", time, contrast=1.0, diffusivity="homogeneous")


def _uncoupled(u: np.ndarray, contrast: float, time: float) -> np.ndarray:
    return _flow(u, "uncoupled", time, contrast=contrast, diffusivity="rational", sigma=1.0)


def _flow(u: np.ndarray, name: str, time: float, **options: Any) -> np.ndarray:
    return np.asarray(build(name, **options)(torch.from_numpy(u)[None, None], time)[0, 0])


def _itk(u: np.ndarray, conductance: float, steps: float) -> np.ndarray:
    import SimpleITK as sitk

    done = sitk.CurvatureAnisotropicDiffusion(sitk.GetImageFromArray(u), 0.0625, conductance, 1, int(steps))
    return np.asarray(sitk.GetArrayFromImage(done))


def _diplib(u: np.ndarray, contrast: float, steps: float) -> np.ndarray:
    import diplib

    return np.asarray(diplib.PeronaMalikDiffusion(diplib.Image(u), int(steps), contrast, 0.2))


def _medpy(u: np.ndarray, contrast: float, steps: float) -> np.ndarray:
    from medpy.filter.smoothing import anisotropic_diffusion

    return np.asarray(anisotropic_diffusion(u, int(steps), contrast, 0.2), np.float32)


def _vtk(u: np.ndarray, threshold: float, steps: float) -> np.ndarray:
    from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
    from vtkmodules.vtkCommonDataModel import vtkImageData
    from vtkmodules.vtkImagingGeneral import vtkImageAnisotropicDiffusion2D

    picture, diffusion = vtkImageData(), vtkImageAnisotropicDiffusion2D()
    picture.SetDimensions(u.shape[1], u.shape[0], 1)
    picture.GetPointData().SetScalars(numpy_to_vtk(np.ascontiguousarray(u).ravel(), deep=True))
    diffusion.SetInputData(picture)
    diffusion.SetNumberOfIterations(int(steps))
    diffusion.SetDiffusionThreshold(threshold)
    diffusion.Update()
    return np.array(vtk_to_numpy(diffusion.GetOutput().GetPointData().GetScalars()).reshape(u.shape))


def _opencv(u: np.ndarray, strength: float) -> np.ndarray:
    import cv2

    eight_bits = np.clip(u.round(), 0, 255).astype(np.uint8)
    return np.asarray(cv2.fastNlMeansDenoising(eight_bits, None, strength, 5, 15), np.float32)


def _skimage(u: np.ndarray, weight: float) -> np.ndarray:
    from skimage.restoration import denoise_tv_chambolle

    return np.asarray(denoise_tv_chambolle(u, weight=weight, eps=1e-5, max_num_iter=500))


def _gaussian(u: np.ndarray, sigma: float) -> np.ndarray:
    return np.asarray(Smoothing(sigma)(torch.from_numpy(u)[None, None])[0, 0])


_STEPS, _CONTRASTS = (3.0, 5.0, 10.0, 20.0, 40.0, 80.0), (12.0, 18.0, 27.0, 40.0, 60.0, 90.0)

OTHERS: tuple[tuple[str, str, Other, tuple[tuple[float, ...], ...]], ...] = (
    ("Gaussian", "whorl", _gaussian, ((0.8, 1.0, 1.2, 1.4, 1.7, 2.0),)),
    ("linear diffusion", "whorl", _linear, ((0.4, 0.6, 0.9, 1.3, 1.9),)),
    ("uncoupled", "whorl", _uncoupled, ((1.0, 1.5, 2.0, 3.0, 4.0), (8.0, 16.0, 32.0, 64.0, 96.0))),
    ("SimpleITK, curvature", "SimpleITK", _itk, ((1.5, 3.0, 6.0, 12.0, 24.0, 48.0), (10.0, 20.0, 40.0, 80.0))),
    ("DIPlib, Perona-Malik", "diplib", _diplib, (_CONTRASTS, _STEPS)),
    ("MedPy, Perona-Malik", "medpy", _medpy, (_CONTRASTS, _STEPS)),
    ("VTK, anisotropic diffusion", "vtkmodules", _vtk, ((18.0, 27.0, 40.0, 50.0, 60.0, 90.0), (2.0, *_STEPS))),
    ("OpenCV, non-local means", "cv2", _opencv, ((10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0),)),
    ("scikit-image, total variation", "skimage", _skimage, ((10.0, 15.0, 20.0, 30.0, 40.0, 60.0),)),
)
"""Name, package, filter, and the values of its strengths that are tried: the best lies inside, not at an end.

Uncoupled diffusion has no best: half the contrast for four times as long gains about 0.15 dB each time.
"""
