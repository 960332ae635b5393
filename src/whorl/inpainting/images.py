"""The function for users: it takes an array with gaps and gives the same array with the gaps filled."""

import warnings
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from whorl import models
from whorl.activations import Anisotropic, EdgeContinuing
from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.arrays import check_unmasked, device_of, from_tensor, placed, to_tensor
from whorl.foundations.other_libraries import any_array
from whorl.foundations.types import Image, SpacingLike
from whorl.images import check_volume
from whorl.inpainting.fill import Filled, Report, fill
from whorl.inpainting.masks import MOST, Colour, Gaps, check_share, depth, drawn, grown
from whorl.inpainting.shock import DiffusionShock
from whorl.models import Model, build
from whorl.operators import CellGradient, Composed, Smoothing

METHODS: dict[str, dict[str, Any]] = {
    "eed": {"contrast": 1.0, "sigma": 1.0, "rho": 4.0, "alpha": 0.1, "gamma": 0.8},
    "homogeneous": {"name": "perona-malik", "diffusivity": "homogeneous"},
    "biharmonic": {"name": "you-kaveh", "diffusivity": "homogeneous"},
}
"""What ``model=`` takes beside a model; contrasts in grey values, sigma and rho in the unit of the pixel size.

The settings of ``"eed"`` were chosen on photographs (``experiments/inpainting.py``); its sigma and rho are the largest.
"""

SHOCK = "diffusion-shock"
"""The name of the way to fill in that is no flow of fluxes and has a step of its own."""

NEAR = {"sigma": (0.375, 0.5), "rho": (0.85, 0.0)}
"""Sigma and rho of ``"eed"`` over the mean distance from known pixels, and their least values: thin gaps need less."""

IN_SPACE = {"gamma": 0.0, "alpha": 0.25, "rho": 3.0}
"""What differs for volumes: gamma belongs to the plane, and alpha is that of all second order models in space."""


def method(name: str, dimensions: int = 2, **changes: Any) -> Model:
    """The model that fills in by that name, in plane or space, with other settings where given.

    >>> method("eed").name, method("biharmonic").name
    ('edge-continuing', 'you-kaveh')
    """
    if name != "eed":
        return build(**METHODS[name], **changes)
    return edge_continuing(**{**METHODS[name], **(IN_SPACE if dimensions == 3 else {}), **changes})


def following(gaps: Gaps) -> dict[str, float]:
    """Sigma and rho of ``"eed"`` for gaps in the plane.

    >>> following(np.array([[False, True, True, False]]))
    {'sigma': 0.5, 'rho': 0.85}
    """
    deep = depth(gaps)
    return {name: min(max(share * deep, least), METHODS["eed"][name]) for name, (share, least) in NEAR.items()}


def edge_continuing(
    contrast: float, sigma: float, rho: float, alpha: float, gamma: float = 0.0, spacing: SpacingLike = 1.0
) -> Model:
    """Edge-enhancing diffusion under a smoothed structure tensor, which all channels share.

    Few known pixels leave gradients that point anywhere; smoothing their tensor over ``rho`` finds the direction that
    most of them agree on, and the law follows it as far as they agree.
    """
    return Model(
        CellGradient(alpha, spacing),
        Anisotropic(EdgeContinuing(contrast), ("channels",), gamma=gamma, rho=rho, spacing=spacing),
        structure=Composed(CellGradient(0.5, spacing), Smoothing(sigma, spacing=spacing)),
        name="edge-continuing",
        settings={"contrast": contrast, "sigma": sigma, "rho": rho, "alpha": alpha, "gamma": gamma, "spacing": spacing},
    )


Array = TypeVar("Array", bound=Any)

GREY_VALUES = 255
"""Contrast and tolerance are counted in grey values: so many lie between the smallest and the largest known value."""


MASK_TOO = "Mask them too, for example with mask | ~numpy.isfinite(image)."


@any_array()
def inpaint(
    image: Array,
    mask: Any,
    model: str | models.Model = "eed",
    *,
    channel_axis: int | None = None,
    contrast: float | None = None,
    tolerance: float | None = None,
    spacing: SpacingLike | None = None,
    grow: int = 0,
    fuzz: float = 0.0,
    most: float | None = None,
    engine: str = "auto",
    device: str | torch.device | None = None,
    report: Report | None = None,
) -> Array:
    """Fill the masked pixels of an image by diffusion from those around them.

    Parameters
    ----------
    image : array
        Of any library, as for :func:`whorl.diffuse`.
        ``H x W`` or ``D x H x W``, or with one more axis of channels, named by ``channel_axis``. What stands under the
        mask has no effect; NaN may stand there.
    mask : array or str
        True where to fill; the shape of the image without its channel axis. A soft mask of numbers means: above half
        of white. It may have one more axis of channels, last: of two or four the last is alpha, and where that is not
        opaque everywhere, it is what counts. Or ``"nan"``; or a colour of the image, like ``"red"`` or ``"#ff0000"``.
    model : str or Model
        ``"eed"`` continues edges, ``"homogeneous"`` is the smoothest membrane, ``"biharmonic"`` the smoothest plate,
        ``"diffusion-shock"`` sharpens the edges that it continues (pictures only, on the reference engine); or a model
        made by ``whorl.models.build``.
    channel_axis : int, optional
        The axis of the channels; None for a grey image or volume.
    contrast : float, optional
        Of ``"eed"`` and ``"diffusion-shock"``, in the image's own units; 1/255 and 5.5/255 of the range of the known
        values unless given.
    tolerance : float, optional
        How close to the steady state to stop, in the image's own units; 1/2550 of the range unless given.
    spacing : float or tuple of float, optional
        The size of a pixel ``(h_y, h_x)`` or of a voxel ``(h_z, h_y, h_x)``, in any unit of which the shortest side is
        one; not for a model that is built already. Three numbers say that three axes are a volume.
    grow : int
        Fill so many pixels around the mask as well: soft edges of what was painted over the image.
    fuzz : float
        Grey values of 255 by which samples may differ from the colour, in each channel.
    most : float, optional
        The largest share of the image that may be filled: half of it, and all with a mask of bool or NaN.
    engine, device
        How and where to compute.
    report : callable, optional
        Called after every cycle with the distance to the steady state.

    Warns
    -----
    UserWarning
        Where the steady state was not reached within the tolerance.

    Examples
    --------
    >>> image = np.tile(np.arange(0, 160, 10, dtype=np.uint8), (16, 1))
    >>> mask = np.zeros((16, 16), bool)
    >>> mask[4:9, 4:9] = True
    >>> repaired = inpaint(np.where(mask, 0, image), mask, "homogeneous")
    >>> int(np.abs(repaired.astype(int) - image).max())
    0
    """
    u = to_tensor(image, channel_axis, "inpaint", gaps=True)
    if channel_axis is None and u.dim() == 5 and not _sized(model, spacing):
        check_volume(image.shape, "inpaint")
    certain = mask == "nan" if isinstance(mask, str) else str(getattr(mask, "dtype", "")).endswith("bool")
    gaps = grown(_gaps(mask, image, u, channel_axis, fuzz), grow)
    check_share(float(gaps.mean()), (1.0 if certain else MOST) if most is None else most)
    known = ~torch.from_numpy(gaps)[None, None]
    found = steady(
        u, known, model, contrast=contrast, tolerance=tolerance, spacing=spacing, engine=engine, device=device,
        report=report,
    )  # fmt: skip
    result: Array = _with_known(from_tensor(found.image, image, channel_axis), image, known[0, 0], channel_axis)
    return result


def steady(
    u: Image,
    known: Tensor,
    model: str | models.Model = "eed",
    *,
    contrast: float | None = None,
    tolerance: float | None = None,
    spacing: SpacingLike | None = None,
    engine: str = "auto",
    device: str | torch.device | None = None,
    report: Report | None = None,
) -> Filled:
    """What :func:`inpaint` does to a tensor ``(n, c, y, x)`` that is known where ``(1, 1, y, x)`` says so."""
    known = known.to(u.device)
    seen = validation.finite(u.masked_select(known), "inpaint", " outside the mask", MASK_TOO)
    grey = float(seen.max() - seen.min()) / GREY_VALUES or 1.0
    target = device_of(device, u.device)
    tolerance = 0.1 * grey if tolerance is None else tolerance
    with torch.no_grad():
        if model == SHOCK:
            flow, tolerance = _shock(contrast, grey, spacing, engine), tolerance / 2
            found = Filled(*flow.fill(u.to(target), known.to(target), tolerance, report))
        else:
            built = placed(_built(model, contrast, grey, known, spacing), target)
            found = fill(built, u.to(target), known.to(target), tolerance=tolerance, engine=engine, report=report)
    if not found.converged:
        warnings.warn(
            f"inpaint: after {found.steps} steps the result is still about {found.distance:.3g} from the steady state, "
            f"more than the tolerance of {tolerance:.3g}. Allow more with tolerance=, or take model='homogeneous'.",
            stacklevel=validation.outside(),
        )
    return found


def _sized(model: str | models.Model, spacing: SpacingLike | None) -> bool:
    """Whether the number of axes of space was told."""
    if isinstance(model, models.Model):
        return model.operator.dimension is not None
    return spacing is not None and not validation.single(spacing)


def _gaps(mask: Any, image: Any, u: Image, channel_axis: int | None, fuzz: float) -> Gaps:
    """Where to fill, before it is grown."""
    shape = tuple(u.shape[2:])
    if isinstance(mask, str):
        if mask == "nan":
            return np.asarray(~u[0].isfinite().all(0).cpu().numpy())
        if mask == "alpha":
            raise ValueError("inpaint: give the colours as the image and the transparent pixels as mask = alpha == 0.")
        samples = image.detach().cpu().numpy() if isinstance(image, Tensor) else image
        samples = samples[None] if channel_axis is None else np.moveaxis(samples, channel_axis, 0)
        return Colour(mask, samples.dtype, len(samples), fuzz)(samples)
    check_unmasked(mask, "inpaint", "mask")
    values = mask.detach().cpu().numpy() if isinstance(mask, Tensor) else np.asarray(mask)
    layered = values.dtype != bool and values.ndim == len(shape) + 1 and values.shape[-1] in (1, 2, 3, 4)
    if values.shape[: len(shape) if layered else None] != shape:
        raise ShapeError(
            f"inpaint: the mask has shape {values.shape}, the image {shape} without channels. Make them equal."
        )
    if values.dtype == bool:
        return values
    return drawn(values, -1, int(values.shape[-1] in (2, 4))) if layered else drawn(values[None], 0)


def _built(
    model: str | models.Model, contrast: float | None, grey: float, known: Tensor, spacing: SpacingLike | None
) -> models.Model:
    if isinstance(model, models.Model):
        for name, value in (("contrast", contrast), ("spacing", spacing)):
            if value is not None:
                raise ValueError(f"inpaint: the model is built already. Give the {name} to models.build.")
        if model.fidelity is not None:
            raise ValueError(f"inpaint: {model.name} has a data term, and the mask is one. Give a model without.")
        if model.kept is not None:
            raise ValueError(f"inpaint: {model.name} has known pixels of its own. Give the model without its mask.")
        return model
    if model not in METHODS:
        raise ValueError(
            f"inpaint: model {model!r} is unknown. Known: {', '.join((*METHODS, SHOCK))}, or a model of your own."
        )
    changes: dict[str, Any] = {} if spacing is None else {"spacing": spacing}
    dimensions = known.dim() - 2
    if model == "eed" and dimensions == 2:
        changes |= following(~known[0, 0].cpu().numpy())
    if "contrast" in METHODS[model]:
        changes["contrast"] = METHODS[model]["contrast"] * grey if contrast is None else contrast
    elif contrast is not None:
        raise ValueError(f"inpaint: contrast = {contrast:g} has no meaning for {model!r}. Leave it out.")
    return method(model, dimensions, **changes)


def _shock(contrast: float | None, grey: float, spacing: SpacingLike | None, engine: str) -> DiffusionShock:
    if engine not in ("auto", "reference"):
        raise ValueError(f"inpaint: {SHOCK} has no form for engine {engine!r}. Take engine='reference' or model='eed'.")
    if spacing is not None and len(set(validation.spacing(spacing, SHOCK))) > 1:
        raise ValueError(f"inpaint: {SHOCK} needs square pixels, got spacing = {spacing}. Take model='eed'.")
    usual = DiffusionShock()
    return DiffusionShock(usual.contrast * grey if contrast is None else contrast, usual.softness * grey)


def _with_known(result: Any, image: Any, known: Tensor, channel_axis: int | None) -> Any:
    """The result with the known samples of the image itself, which no conversion has touched."""
    place = known if channel_axis is None else known.unsqueeze(channel_axis)
    if isinstance(result, Tensor):
        return torch.where(place.to(result.device), image, result)
    return np.where(place.numpy(), image, result)
