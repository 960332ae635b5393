"""Models by name."""

from collections.abc import Sequence
from typing import Any

from whorl.activations import Activation, Anisotropic, Isotropic, Uncoupled
from whorl.diffusivities import Diffusivity, Rescaled, by_name
from whorl.foundations import validation
from whorl.foundations.types import Spacing, SpacingLike
from whorl.models.catalogue import Row, row
from whorl.models.model import Model
from whorl.operators import (
    CellGradient,
    Composed,
    DirectionalDerivatives,
    Hessian,
    Laplacian,
    Operator,
    ScaleSampling,
    ScaleStack,
    Smoothing,
    sample_scales,
)

__all__ = ["build", "uncoupled_twin"]

SECOND_ORDER_ALPHA = 0.41
LAPLACIAN_ALPHA = 1 / 6


def build(
    name: str,
    *,
    contrast: float | Sequence[float] = 1.0,
    alpha: float | None = None,
    gamma: float = 0.0,
    diffusivity: str | Diffusivity = "exponential",
    spacing: SpacingLike = 1.0,
    sigma: float | None = None,
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
    contrast : float
        The paper's :math:`\lambda`, in the units of the image; a sequence gives every scale its own.
    alpha : float, optional
        In [0, 1/2]; 0.41 for second order models and 1/6 for You-Kaveh unless given.
    gamma : float
        In [0, 1], for anisotropic models; 0 (with energy) by default.
    diffusivity : str or Diffusivity
        A name of ``whorl.diffusivities.names()``, or an instance, which brings its own contrast.
    spacing : (float, float)
        Pixel size ``(h_y, h_x)``.
    sigma : float, optional
        Presmoothing of ``eed`` and ``weickert-integration`` in pixels; 1 by default.
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
        "gamma": gamma if gamma else None,
        "sigma": sigma,
        "directions": directions,
        "scales": scales,
        "beta": beta,
        "omega_inside": None if omega_inside else False,
    }
    _refuse_foreign(entry, given)
    gamma = validation.number(gamma, "gamma", name, 0.0, 1.0)
    g = _diffusivity(diffusivity, contrast, name, trainable)
    settings = {key: value for key, value in given.items() if value is not None}
    settings |= {"contrast": contrast, "spacing": spacing, "diffusivity": diffusivity}
    default = LAPLACIAN_ALPHA if name == "you-kaveh" else SECOND_ORDER_ALPHA
    alpha = default if alpha is None else validation.number(alpha, "alpha", name, 0.0, 0.5)
    parts = _parts(
        name,
        g,
        alpha,
        gamma,
        validation.spacing(spacing, name),
        sigma,
        directions,
        scales,
        beta,
        omega_inside,
        trainable,
    )
    operator, activation, structure = parts
    return Model(operator, activation, structure=structure, name=name, settings=settings)


def uncoupled_twin(model: Model) -> Model:
    """The same model with every direction activated for itself: what coupling is compared with.

    >>> uncoupled_twin(build("gerig", contrast=3.0)).activation.couple
    ('channels',)
    """
    old = model.activation
    twin = Uncoupled(old.diffusivity, old.couple, axes=model.operator.axes, scale_weights=old.inside)
    return Model(
        model.operator, twin, structure=model.structure, name=f"uncoupled {model.name}", settings=model.settings
    )


def _parts(
    name: str,
    g: Diffusivity,
    alpha: float,
    gamma: float,
    spacing: Spacing,
    sigma: float | None,
    directions: int | None,
    scales: int | ScaleSampling | None,
    beta: Sequence[float] | None,
    omega_inside: bool,
    trainable: bool,
) -> tuple[Operator, Activation, Operator | None]:
    """Operator, activation and structure operator of a model."""
    if name == "perona-malik":
        return CellGradient(alpha, spacing), Isotropic(g), None
    if name == "you-kaveh":
        return Laplacian(alpha, spacing), Isotropic(g, axes=1), None
    if name == "lysaker":
        return Hessian(spacing), Isotropic(g, axes=4), None
    if name == "gerig":
        return CellGradient(alpha, spacing), Isotropic(g, ("channels",)), None
    if name == "weickert-brox":
        return CellGradient(alpha, spacing), Anisotropic(g, ("channels",), gamma=gamma), None
    if name == "uncoupled":
        return CellGradient(alpha, spacing), Uncoupled(g), None
    smoothing = Smoothing(1.0 if sigma is None else sigma)
    if name == "eed":
        if g.maximum() != 1:
            raise ValueError(
                f"eed: needs a diffusivity with g(0) = 1, since edges are smoothed along with strength 1; "
                f"{type(g).__name__} has {g.maximum():g}. Use 'charbonnier' instead of 'tv'."
            )
        # Without detail (alpha = 1/2) the structure tensor has rank one, and its second eigenvalue goes to g(0) = 1.
        seen = Composed(CellGradient(0.5, spacing), smoothing)
        return CellGradient(alpha, spacing), Anisotropic(g, gamma=gamma), seen
    if name == "weickert-integration":
        # The quadrature weight 2 / m sits in the responses; inside g it must not count.
        K = DirectionalDerivatives(8 if directions is None else directions, spacing)
        return (
            K,
            Uncoupled(Rescaled(g, K.directions / 2), axes=K.axes),
            Composed(K, smoothing) if smoothing.radius else None,
        )
    sampling = scales if isinstance(scales, ScaleSampling) else sample_scales(8 if scales is None else scales)
    weights = sampling.omega if omega_inside else None
    stack = ScaleStack(CellGradient(alpha, spacing), sampling, beta, trainable=trainable)
    if name == "multiscale-isotropic":
        return stack, Isotropic(g, ("channels", "scales"), scale_weights=weights), None
    return stack, Anisotropic(g, ("channels", "scales"), gamma=gamma, scale_weights=weights), None


def _diffusivity(
    diffusivity: str | Diffusivity, contrast: float | Sequence[float], name: str, trainable: bool
) -> Diffusivity:
    if isinstance(diffusivity, Diffusivity):
        return diffusivity
    numbers = validation.listed(contrast)
    for number in numbers:
        validation.number(number, "contrast", name, 0.0, open_low=True)
    if len(numbers) > 1 and not name.startswith("multiscale"):
        raise ValueError(
            f"{name}: contrast must be one number, got {len(numbers)}. Only multiscale models take one per scale."
        )
    return by_name(diffusivity, contrast, trainable=trainable)


def _refuse_foreign(entry: Row, given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value is not None and option not in entry.options:
            takes = ", ".join(entry.options) or "none of them"
            raise ValueError(f"{entry.name}: {option} = {value!r} has no meaning for this model. It takes: {takes}.")
