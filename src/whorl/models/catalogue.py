"""The paper's table as data: every model with its energy, equation, scheme, activation and source."""

from collections.abc import Callable
from dataclasses import dataclass, fields

from whorl.foundations.names import unknown
from whorl.models import constructors
from whorl.models.constructors import Parts, Setting

__all__ = ["ROWS", "Row", "names", "row"]


SECOND_ORDER_ALPHA = 0.41
LAPLACIAN_ALPHA = 1 / 6
COHERENCE_ALPHA = 0.25
COHERENCE_ALPHA_IN_SPACE = 0.45
"""Without gamma the detail smooths across the lines that are followed: a large alpha leaves little of it."""
SPACE_ALPHA = 0.25
"""Default of second order models in space: the smallest alpha with the step limit 1/2, close to the isotropic 1/6.

There alpha up to 1/3 has a max–min limit, and turned volumes differ half as much as with the plane's 0.41.
"""


@dataclass(frozen=True)
class Row:
    """One model. The first seven of :data:`ROWS` are the paper's table, the others stand beside it."""

    name: str
    title: str
    energy: str
    pde: str
    scheme: str
    activation: str
    reference: str
    equation: str
    make: Callable[[Setting], Parts]
    in_table: bool = True
    options: tuple[str, ...] = ()
    alpha: float = SECOND_ORDER_ALPHA
    alpha_in_space: float = SPACE_ALPHA
    gamma: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """The row for programs."""
        shown = [field.name for field in fields(self) if field.name not in ("make", "alpha", "alpha_in_space", "gamma")]
        return {name: getattr(self, name) for name in shown}


_SINGLE = "u ← u − τ Kᵀ Φ(K u)"
_MULTI = "uₘ ← uₘ − τ Kᵀ Φ(u, K uₘ)"
_SCALES = "u ← u − τ Σ ωₗ Kₗᵀ Φ(u, Kₗ u)"

ROWS: tuple[Row, ...] = (
    Row(
        "perona-malik",
        "Perona and Malik, single-channel, isotropic",
        "½ ∫ Ψ(tr ∇u∇uᵀ) dx",
        "∂ₜu = ∇ᵀ(g(|∇u|²) ∇u)",
        _SINGLE,
        "isotropic coupling via structure tensor, scalar multiplication",
        "Perona and Malik 1990",
        "(7)",
        constructors.perona_malik,
        options=(
            "diffusivity",
            "alpha",
        ),
    ),
    Row(
        "you-kaveh",
        "You and Kaveh, single-channel, isotropic, fourth order",
        "½ ∫ Ψ((tr H(u))²) dx",
        "∂ₜu = −Δ(g((Δu)²) Δu)",
        _SINGLE,
        "isotropic coupling via Hessian, scalar multiplication",
        "You and Kaveh 2000",
        "(11)",
        constructors.you_kaveh,
        options=(
            "diffusivity",
            "alpha",
        ),
        alpha=LAPLACIAN_ALPHA,
        alpha_in_space=LAPLACIAN_ALPHA,
    ),
    Row(
        "lysaker",
        "Lysaker et al., single-channel, isotropic, fourth order",
        "½ ∫ Ψ(‖H(u)‖²) dx",
        "∂ₜu = −Dᵀ(g(‖H(u)‖²) Du), D = (∂xx, ∂xy, ∂yx, ∂yy)ᵀ",
        _SINGLE,
        "isotropic coupling via Hessian, scalar multiplication",
        "Lysaker, Lundervold and Tai 2003",
        "(13)",
        constructors.lysaker,
        options=("diffusivity",),
    ),
    Row(
        "gerig",
        "Gerig et al., coupled multi-channel, isotropic",
        "½ ∫ Ψ(tr Σ ∇uₘ∇uₘᵀ) dx",
        "∂ₜuₘ = ∇ᵀ(g(Σ |∇uₙ|²) ∇uₘ)",
        _MULTI,
        "isotropic coupling via multi-channel structure tensor, scalar multiplication",
        "Gerig, Kübler, Kikinis and Jolesz 1992",
        "(21)",
        constructors.gerig,
        options=(
            "diffusivity",
            "alpha",
        ),
    ),
    Row(
        "weickert-brox",
        "Weickert and Brox, coupled multi-channel, anisotropic",
        "½ ∫ tr Ψ(Σ ∇uₘ∇uₘᵀ) dx",
        "∂ₜuₘ = ∇ᵀ(g(Σ ∇uₙ∇uₙᵀ) ∇uₘ)",
        _MULTI,
        "anisotropic coupling via multi-channel structure tensor, matrix-vector multiplication",
        "Weickert and Brox 2002",
        "(26)",
        constructors.weickert_brox,
        options=("diffusivity", "alpha", "gamma"),
    ),
    Row(
        "multiscale-isotropic",
        "Alt and Weickert, coupled multiscale, isotropic",
        "½ ∫ Ψ(tr ∫ (D⁽σ⁾u)(D⁽σ⁾u)ᵀ dσ) dx",
        "∂ₜu = −∫ D⁽σ⁾* (g(∫ |D⁽ᵞ⁾u|² dγ) D⁽σ⁾u) dσ",
        _SCALES,
        "isotropic coupling via multiscale structure tensor, scalar multiplication",
        "Alt and Weickert 2021",
        "(32)",
        constructors.multiscale_isotropic,
        options=("diffusivity", "alpha", "scales", "beta", "omega_inside"),
    ),
    Row(
        "multiscale-anisotropic",
        "Alt and Weickert, coupled multiscale, anisotropic",
        "½ ∫ tr Ψ(∫ (D⁽σ⁾u)(D⁽σ⁾u)ᵀ dσ) dx",
        "∂ₜu = −∫ D⁽σ⁾* (g(∫ (D⁽ᵞ⁾u)(D⁽ᵞ⁾u)ᵀ dγ) D⁽σ⁾u) dσ",
        _SCALES,
        "anisotropic coupling via multiscale structure tensor, matrix-vector multiplication",
        "Alt and Weickert 2021",
        "(34)",
        constructors.multiscale_anisotropic,
        options=("diffusivity", "alpha", "gamma", "scales", "beta", "omega_inside"),
    ),
    Row(
        "uncoupled",
        "each direction for itself: the counter-example",
        "½ ∫ (Ψ(uₓ²) + Ψ(u_y²)) dx",
        "∂ₜu = ∂ₓ(g(uₓ²) uₓ) + ∂_y(g(u_y²) u_y)",
        _SINGLE,
        "none: every operator channel is activated for itself",
        "the experiment of Alt et al. 2022, on one scale",
        "none",
        constructors.uncoupled,
        in_table=False,
        options=(
            "diffusivity",
            "alpha",
        ),
    ),
    Row(
        "eed",
        "edge-enhancing diffusion, presmoothed, anisotropic",
        "none",
        "∂ₜu = ∇ᵀ(D(∇u_σ) ∇u), eigenvalues g(|∇u_σ|²) across and 1 along edges",
        "u ← u − τ Kᵀ Φ(K u; K_σ u)",
        "anisotropic coupling via presmoothed structure tensor, matrix-vector multiplication",
        "Weickert 1994",
        "(2)",
        constructors.eed,
        in_table=False,
        options=("diffusivity", "alpha", "gamma", "sigma"),
    ),
    Row(
        "ced",
        "coherence-enhancing diffusion, coupled multi-channel, anisotropic",
        "none",
        "∂ₜuₘ = ∇ᵀ(D(G_ρ ∗ Σ ∇uₙ,σ∇uₙ,σᵀ) ∇uₘ), eigenvalues a across lines and up to 1 along them",
        "uₘ ← uₘ − τ Kᵀ Φ(K uₘ; K_σ u)",
        "anisotropic coupling via smoothed structure tensor, matrix-vector multiplication",
        "Weickert 1999",
        "none",
        constructors.ced,
        in_table=False,
        options=("alpha", "gamma", "sigma", "rho"),
        alpha=COHERENCE_ALPHA,
        alpha_in_space=COHERENCE_ALPHA_IN_SPACE,
        gamma=1.0,
    ),
    Row(
        "weickert-integration",
        "integration over all directions, presmoothed, anisotropic",
        "½ · 2/π ∫∫ Ψ(|∂_θ u|²) dθ dx without presmoothing, none with",
        "∂ₜu = 2/π ∫ ∂_θ(g(|∂_θ u_σ|²) ∂_θ u) dθ",
        "u ← u − τ Kᵀ Φ(K u; K_σ u), K = (∂_θ₁, …, ∂_θₘ)",
        "none: many directions, each for itself",
        "Weickert 1994",
        "(1)",
        constructors.weickert_integration,
        in_table=False,
        options=("diffusivity", "sigma", "directions"),
    ),
)


def names() -> list[str]:
    """The names that ``build`` and ``diffuse`` take.

    >>> len(names())
    11
    """
    return [entry.name for entry in ROWS]


def row(name: str) -> Row:
    """The row of that name, or an error that suggests the nearest one."""
    for entry in ROWS:
        if entry.name == name:
            return entry
    raise unknown("model", name, names())
