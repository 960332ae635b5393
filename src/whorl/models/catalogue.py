"""The paper's table as data: everything about a model, from its energy to the words of command and page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from whorl.foundations.validation import unknown
from whorl.models import constructors
from whorl.models.constructors import Parts, Settings

SECOND_ORDER_ALPHA = 0.41
LAPLACIAN_ALPHA = 1 / 6
COHERENCE_ALPHA = 0.25
COHERENCE_ALPHA_IN_SPACE = 0.45
"""Without gamma the detail smooths across the lines that are followed: a large alpha leaves little of it."""
SPACE_ALPHA = 0.25
"""Default of second order models in space: the smallest alpha with the step limit 1/2, close to the isotropic 1/6.

There alpha up to 1/3 has a max–min limit, and turned volumes differ half as much as with the plane's 0.41.
"""


class Rule(NamedTuple):
    """Contrast in multiples of the noise, and the share of the noise after which the flow stops.

    >>> Rule(contrast=1.2, removed=0.9).contrast * 25
    30.0
    """

    contrast: float
    removed: float


@dataclass(frozen=True)
class Row:
    """One model. The first seven of :data:`ROWS` are the paper's table, the others stand beside it.

    ``use`` says in a sentence or two what the model is good for; ``label`` and ``group`` are its name in a list and the
    heading above it. ``rule`` tells how contrast and stopping follow from the noise, None where they do not. The rules
    were chosen on crops of training photographs (``python -m experiments.defaults choose``): the pair that loses least
    against the best setting at noise 5, 15, 25 and 50, where noise cut off at black and white does not count.
    ``sigma`` is the presmoothing in pixels unless given, ``weighed`` says whether law, cell, presmoothing, contrast and
    time are chosen for each picture where nobody gives them (:mod:`whorl.automatic.weighed`) instead of the rule.
    ``start`` is where the page begins on its drawn pictures, ``plate`` contrast and time near the best PSNR on the
    noisy plate of the gallery.

    >>> import whorl
    >>> whorl.models.row("perona-malik").equation
    '(7)'
    """

    name: str
    title: str
    label: str
    group: str
    use: str
    energy: str
    pde: str
    scheme: str
    activation: str
    reference: str
    equation: str
    make: Callable[[Settings], Parts]
    rule: Rule | None
    in_table: bool = True
    options: tuple[str, ...] = ("diffusivity", "alpha", "cell", "sigma")
    alpha: float = SECOND_ORDER_ALPHA
    alpha_in_space: float = SPACE_ALPHA
    gamma: float = 0.0
    sigma: float = 0.0
    weighed: bool = False
    start: Mapping[str, float] = field(default_factory=lambda: {"contrast": 24, "time": 7})
    plate: tuple[float, float] = (50.0, 1.2)

    def as_dict(self) -> dict[str, object]:
        """The row as a dictionary, for programs."""
        words = ("name", "title", "use", "energy", "pde", "scheme", "activation", "reference", "equation")
        return {name: getattr(self, name) for name in (*words, "in_table", "options")}


_SINGLE = "u ← u − τ Kᵀ Φ(K u)"
_MULTI = "uₘ ← uₘ − τ Kᵀ Φ(u, K uₘ)"
_SCALES = "u ← u − τ Σ ωₗ Kₗᵀ Φ(u, Kₗ u)"

# fmt: off
ROWS: tuple[Row, ...] = (
    Row(
        "perona-malik", "Perona and Malik, single-channel, isotropic", "Perona–Malik", "Second order",
        "Smooths inside regions, keeps edges, leaves noise on strong edges. Channels one by one.",
        "½ ∫ Ψ(tr ∇u∇uᵀ) dx", "∂ₜu = ∇ᵀ(g(|∇u|²) ∇u)",
        _SINGLE, "isotropic coupling via structure tensor, scalar multiplication",
        "Perona and Malik 1990", "(7)", constructors.perona_malik, Rule(1.5, 0.9),
        weighed=True,
    ),
    Row(
        "you-kaveh", "You and Kaveh, single-channel, isotropic, fourth order", "You–Kaveh", "Fourth order",
        "Fourth order: smooth shading without staircases, but speckles. Channels one by one.",
        "½ ∫ Ψ((tr H(u))²) dx", "∂ₜu = −Δ(g((Δu)²) Δu)",
        _SINGLE, "isotropic coupling via Hessian, scalar multiplication",
        "You and Kaveh 2000", "(11)", constructors.you_kaveh, Rule(5.5, 1.0),
        alpha=LAPLACIAN_ALPHA, alpha_in_space=LAPLACIAN_ALPHA, start={"contrast": 48, "time": 4}, plate=(80.0, 1.0),
    ),
    Row(
        "lysaker", "Lysaker et al., single-channel, isotropic, fourth order", "Lysaker et al.", "Fourth order",
        "Fourth order by the full Hessian: smooth shading, no staircases. Channels one by one.",
        "½ ∫ Ψ(‖H(u)‖²) dx", "∂ₜu = −Dᵀ(g(‖H(u)‖²) Du), D = (∂xx, ∂xy, ∂yx, ∂yy)ᵀ",
        _SINGLE, "isotropic coupling via Hessian, scalar multiplication",
        "Lysaker, Lundervold and Tai 2003", "(13)", constructors.lysaker, Rule(1.2, 1.0),
        options=("diffusivity", "sigma"), start={"contrast": 21, "time": 6}, plate=(60.0, 1.0),
    ),
    Row(
        "gerig", "Gerig et al., coupled multi-channel, isotropic", "Gerig et al.", "Second order",
        "Perona-Malik for colour: an edge in one channel is kept in all.",
        "½ ∫ Ψ(tr Σ ∇uₘ∇uₘᵀ) dx", "∂ₜuₘ = ∇ᵀ(g(Σ |∇uₙ|²) ∇uₘ)",
        _MULTI, "isotropic coupling via multi-channel structure tensor, scalar multiplication",
        "Gerig, Kübler, Kikinis and Jolesz 1992", "(21)", constructors.gerig, Rule(1.9, 0.9),
        plate=(70.0, 1.2), weighed=True,
    ),
    Row(
        "weickert-brox", "Weickert and Brox, coupled multi-channel, anisotropic", "Weickert–Brox", "Second order",
        "A diffusion tensor shared by all channels: smooths along edges but not across.",
        "½ ∫ tr Ψ(Σ ∇uₘ∇uₘᵀ) dx", "∂ₜuₘ = ∇ᵀ(g(Σ ∇uₙ∇uₙᵀ) ∇uₘ)",
        _MULTI, "anisotropic coupling via multi-channel structure tensor, matrix-vector multiplication",
        "Weickert and Brox 2002", "(26)", constructors.weickert_brox, Rule(1.2, 0.95),
        options=("diffusivity", "alpha", "cell", "sigma", "gamma"), weighed=True, start={"contrast": 18, "time": 8},
        plate=(70.0, 1.2),
    ),
    Row(
        "multiscale-isotropic", "Alt and Weickert, coupled multiscale, isotropic", "Multiscale, isotropic",
        "Many scales",
        "Sees eight scales at once: strong noise, coarse structure.",
        "½ ∫ Ψ(tr ∫ (D⁽σ⁾u)(D⁽σ⁾u)ᵀ dσ) dx", "∂ₜu = −∫ D⁽σ⁾* (g(∫ |D⁽ᵞ⁾u|² dγ) D⁽σ⁾u) dσ",
        _SCALES, "isotropic coupling via multiscale structure tensor, scalar multiplication",
        "Alt and Weickert 2021", "(32)", constructors.multiscale_isotropic, Rule(1.9, 0.8),
        options=("diffusivity", "alpha", "cell", "sigma", "scales", "beta", "omega_inside"),
        start={"contrast": 38, "time": 2}, plate=(60.0, 1.0),
    ),
    Row(
        "multiscale-anisotropic", "Alt and Weickert, coupled multiscale, anisotropic", "Multiscale, anisotropic",
        "Many scales",
        "Eight scales agree on one diffusion tensor: strong noise, edges and lines.",
        "½ ∫ tr Ψ(∫ (D⁽σ⁾u)(D⁽σ⁾u)ᵀ dσ) dx", "∂ₜu = −∫ D⁽σ⁾* (g(∫ (D⁽ᵞ⁾u)(D⁽ᵞ⁾u)ᵀ dγ) D⁽σ⁾u) dσ",
        _SCALES, "anisotropic coupling via multiscale structure tensor, matrix-vector multiplication",
        "Alt and Weickert 2021", "(34)", constructors.multiscale_anisotropic, Rule(1.2, 0.9),
        options=("diffusivity", "alpha", "cell", "sigma", "gamma", "scales", "beta", "omega_inside"),
        start={"contrast": 21, "time": 5}, plate=(40.0, 2.0),
    ),
    Row(
        "uncoupled", "each direction for itself: the counter-example", "Uncoupled", "The counter-example",
        "Each direction for itself: the counter-example, not invariant under rotation.",
        "½ ∫ (Ψ(uₓ²) + Ψ(u_y²)) dx", "∂ₜu = ∂ₓ(g(uₓ²) uₓ) + ∂_y(g(u_y²) u_y)",
        _SINGLE, "none: every operator channel is activated for itself",
        "the experiment of Alt et al. 2022, on one scale", "none", constructors.uncoupled, Rule(1.2, 0.95),
        in_table=False,
    ),
    Row(
        "eed", "edge-enhancing diffusion, presmoothed, anisotropic", "Edge-enhancing diffusion", "Second order",
        "Edges found on a presmoothed picture, smoothed along: noisy edges. Channels one by one.",
        "none", "∂ₜu = ∇ᵀ(D(∇u_σ) ∇u), eigenvalues g(|∇u_σ|²) across and 1 along edges",
        "u ← u − τ Kᵀ Φ(K u; K_σ u)",
        "anisotropic coupling via presmoothed structure tensor, matrix-vector multiplication",
        "Weickert 1994", "(2)", constructors.eed, Rule(0.4, 0.95),
        in_table=False, options=("diffusivity", "alpha", "cell", "sigma", "gamma"), sigma=1.0,
        start={"contrast": 9, "time": 20, "sigma": 1.2}, plate=(8.0, 6.0), weighed=True,
    ),
    Row(
        "ced", "coherence-enhancing diffusion, coupled multi-channel, anisotropic", "Coherence-enhancing diffusion",
        "Second order",
        "Closes and smooths lines, leaves the rest alone: fingerprints, fibres. All channels together.",
        "none", "∂ₜuₘ = ∇ᵀ(D(G_ρ ∗ Σ ∇uₙ,σ∇uₙ,σᵀ) ∇uₘ), eigenvalues a across lines and up to 1 along them",
        "uₘ ← uₘ − τ Kᵀ Φ(K uₘ; K_σ u)",
        "anisotropic coupling via smoothed structure tensor, matrix-vector multiplication",
        "Weickert 1999", "none", constructors.ced, None,
        in_table=False, options=("alpha", "cell", "sigma", "gamma", "rho"), sigma=1.0, alpha=COHERENCE_ALPHA,
        alpha_in_space=COHERENCE_ALPHA_IN_SPACE, gamma=1.0, start={"contrast": 12, "time": 14}, plate=(4.0, 6.0),
    ),
    Row(
        "weickert-integration", "integration over all directions, presmoothed, anisotropic",
        "Weickert’s integration model", "Second order",
        "Many directions side by side: what the tensor models do with two, at more cost.",
        "½ · 2/π ∫∫ Ψ(|∂_θ u|²) dθ dx without presmoothing, none with", "∂ₜu = 2/π ∫ ∂_θ(g(|∂_θ u_σ|²) ∂_θ u) dθ",
        "u ← u − τ Kᵀ Φ(K u; K_σ u), K = (∂_θ₁, …, ∂_θₘ)", "none: many directions, each for itself",
        "Weickert 1994", "(1)", constructors.weickert_integration, Rule(0.2, 1.0),
        in_table=False, options=("diffusivity", "sigma", "directions"), sigma=1.0,
        start={"contrast": 4, "time": 20, "sigma": 1.5}, plate=(8.0, 6.0),
    ),
)
# fmt: on


def names() -> list[str]:
    """The names that ``build`` and ``diffuse`` take.

    >>> len(names())
    11
    """
    return [entry.name for entry in ROWS]


def row(name: str) -> Row:
    """The row of that name, or an error that suggests the nearest one.

    >>> row("eed").title
    'edge-enhancing diffusion, presmoothed, anisotropic'
    """
    for entry in ROWS:
        if entry.name == name:
            return entry
    raise unknown("model", name, names())
