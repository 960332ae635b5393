"""Models by name."""

import math
from collections.abc import Sequence
from typing import Any, TypedDict

from whorl.activations import Anisotropic, AxisAligned, Uncoupled
from whorl.diffusivities import Diffusivity, by_name
from whorl.diffusivities.base import Contrast
from whorl.foundations import validation
from whorl.foundations.types import SpacingLike
from whorl.models.catalogue import Row, row
from whorl.models.constructors import Settings, paper_scales
from whorl.models.model import Model
from whorl.operators import ScaleSampling

DIFFUSIVITY = "exponential"
"""The paper's diffusivity, for models that have one."""


class BuildOptions(TypedDict, total=False):
    """What :func:`build` takes besides contrast, alpha, gamma, diffusivity and spacing."""

    cell: str | None
    sigma: float | None
    rho: float | None
    directions: int | None
    scales: int | ScaleSampling | None
    beta: Sequence[float] | None
    omega_inside: bool
    trainable: bool


def build(
    name: str,
    *,
    contrast: Contrast = 1.0,
    alpha: float | None = None,
    gamma: float | None = None,
    diffusivity: str | Diffusivity | None = None,
    spacing: SpacingLike = 1.0,
    cell: str | None = None,
    sigma: float | None = None,
    rho: float | None = None,
    directions: int | None = None,
    scales: int | ScaleSampling | None = None,
    beta: Sequence[float] | None = None,
    omega_inside: bool = True,
    trainable: bool = False,
) -> Model:
    r"""The model of that name as a module on images ``(n, c, y, x)``.

    Parameters
    ----------
    name : str
        One of ``whorl.models.names()``. Single-channel models treat several channels one by one (the paper's naive
        extension); ``gerig``, ``weickert-brox`` and the multiscale models couple them.
    contrast : float, or sequence of float, or rows of them
        The paper's :math:`\lambda`, in the units of the image; a sequence gives every scale its own, rows of sequences
        every channel and scale.
    alpha : float, optional
        In [0, 1/2]; 0.41 for second order models, 1/6 for You-Kaveh and 0.25 for ``ced`` unless given. With a spacing
        of three numbers 0.25 for second order models and 0.45 for ``ced``.
    gamma : float, optional
        In [0, 1], for anisotropic models; 0 (with energy) unless given, and 1 for ``ced``, which has no energy anyway
        and then commutes best with rotations. For images alone: with a spacing of three numbers it is 0.
    diffusivity : str or Diffusivity
        A name of ``whorl.diffusivities.names()``, or an instance, which brings its own contrast.
    spacing : float or tuple of float
        Pixel size ``(h_y, h_x)`` or voxel size ``(h_z, h_y, h_x)``. With one number the tensor decides: the model
        filters images ``(n, c, y, x)`` and volumes ``(n, c, z, y, x)`` alike.
    cell : str, optional
        ``"compact"``, the paper's cell of 2x2 pixels, unless given; or ``"wide"``, 4x4 pixels with derivatives of
        fourth order: turned pictures differ less, steps are shorter by a quarter and cost more. See
        :class:`whorl.operators.CellGradient`.
    sigma : float, optional
        Presmoothing: the nonlinearity looks at the image smoothed by a Gaussian of this standard deviation, a length in
        the units of spacing. One pixel for ``eed``, ``ced`` and ``weickert-integration`` unless given (the geometric
        mean where pixels are not square), none for the others. With it the flow is well-posed, and has no energy.
    rho : float, optional
        Smoothing of the structure tensor of ``ced``, a length: how long the lines are that it follows; four pixels by
        default.
    directions : int, optional
        Number of directions of ``weickert-integration``; 8 by default.
    scales : int or ScaleSampling, optional
        Scales of the multiscale models; the paper's eight by default.
    beta : sequence of float, optional
        Weight of every scale.
    omega_inside : bool
        Whether the scale steps count inside the diffusivity, as in the paper's energies (default), or not, as in its
        printed flux.
    trainable : bool
        Whether contrast and weights are trained.

    Examples
    --------
    >>> build("perona-malik", contrast=12.0).step_limit()
    0.5
    """
    entry = row(name)
    given: dict[str, Any] = {
        "alpha": alpha,
        "cell": cell,
        "gamma": gamma if gamma or "gamma" in entry.options else None,
        "diffusivity": diffusivity,
        "sigma": sigma,
        "rho": rho,
        "directions": directions,
        "scales": scales,
        "beta": beta,
        "omega_inside": None if omega_inside else False,
    }
    settings = {key: value for key, value in given.items() if value is not None}
    _refuse_foreign(entry, settings)
    settings |= {"contrast": contrast, "spacing": spacing}
    _check_contrast(contrast, name)
    if "diffusivity" in entry.options:
        settings.setdefault("diffusivity", DIFFUSIVITY)
    g = settings.get("diffusivity", DIFFUSIVITY)
    sizes = validation.spacing(spacing, name)
    pixel = math.prod(size ** (1 / len(sizes)) for size in sizes) if len({*sizes}) > 1 else sizes[0]
    default_alpha, default_gamma = (entry.alpha_in_space, 0.0) if sizes.dimension == 3 else (entry.alpha, entry.gamma)
    setting = Settings(
        g=g if isinstance(g, Diffusivity) else by_name(g, contrast, trainable=trainable),
        contrast=contrast,
        spacing=sizes,
        alpha=default_alpha if alpha is None else validation.number(alpha, "alpha", name, 0.0, 0.5),
        gamma=default_gamma if gamma is None else validation.number(gamma, "gamma", name, 0.0, 1.0),
        sigma=entry.sigma * pixel if sigma is None else validation.number(sigma, "sigma", name, 0.0),
        rho=4.0 * pixel if rho is None else validation.number(rho, "rho", name, 0.0),
        directions=8 if directions is None else directions,
        scales=paper_scales(scales, pixel),
        beta=beta,
        omega_inside=omega_inside,
        cell="compact" if cell is None else cell,
        trainable=trainable,
    )
    operator, activation, structure = entry.make(setting)
    return Model(operator, activation, structure=structure, name=name, settings=settings)


def uncoupled_twin(model: Model) -> Model:
    """The same model with every direction activated by itself: the one to compare coupling with.

    >>> uncoupled_twin(build("gerig", contrast=3.0)).activation.couple
    ('channels',)
    """
    old, twin = model.activation, model.activation
    if old.law.diffusivity is not None:
        twin = Uncoupled(old.law.diffusivity, old.couple, axes=model.operator.axes, scale_weights=old.inside)
    else:
        rho, spacing = (0.0, 1.0) if old.smoothing is None else (old.smoothing.sigma, old.smoothing.spacing)
        twin = Anisotropic(AxisAligned(old.law), old.couple, rho=rho, spacing=spacing, scale_weights=old.inside)
    return Model(
        model.operator, twin, structure=model.structure, name=f"uncoupled {model.name}", settings=model.settings
    )


def _check_contrast(contrast: Any, name: str) -> None:
    """One number; for multiscale models one per scale; or a row of as many for each channel."""
    if isinstance(contrast, str):
        remedy = "whorl.diffuse measures it on the picture." if contrast == "auto" else "Give a number."
        raise ValueError(f"{name}: a model is built with a number for its contrast, got {contrast!r}. {remedy}")
    listed = validation.listed(contrast)
    rows = [listed] if all(validation.single(entry) for entry in listed) else [validation.listed(r) for r in listed]
    for number in (number for each in rows for number in each):
        validation.number(number, "contrast", name, 0.0, open_low=True)
    most = max(map(len, rows))
    if most > 1 and not name.startswith("multiscale"):
        raise ValueError(f"{name}: contrast must be one number, got {most}. Only multiscale models take one per scale.")
    if name == "ced" and len(rows) > 1:
        raise ValueError(f"{name}: contrast must be one number, got {len(rows)}: channels share one structure tensor.")


def _refuse_foreign(entry: Row, given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value is not None and option not in entry.options:
            takes = ", ".join(entry.options) or "none of them"
            raise ValueError(f"{entry.name}: {option} = {value!r} has no meaning for this model. It takes: {takes}.")
