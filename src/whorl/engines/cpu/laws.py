"""The laws by number, which kernels choose by, and the formulas of those that choose eigenvalues."""

from collections.abc import Callable
from typing import Any

from whorl.engines.capabilities import VARIATIONAL
from whorl.engines.cpu.compiling import compiled
from whorl.engines.cpu.diffusivities import value, written
from whorl.engines.leaves import SPECTRA
from whorl.steps import Form

UNCOUPLED, ISOTROPIC, ANISOTROPIC, RANK_ONE = range(4)
"""The first three measure and multiply in ways of their own; all others do so as the third. The last is the
edge-enhancing law of a single gradient."""

NUMBERS = dict(zip(VARIATIONAL, range(RANK_ONE), strict=True))
NUMBERS |= {name: RANK_ONE + 1 + place for place, name in enumerate(SPECTRA[3])}
"""The laws by name."""


def law_of(form: Form) -> int:
    """The number of the law of a step."""
    if form.keep and form.one_gradient:
        return RANK_ONE
    return NUMBERS[f"{form.law}, lines" if form.keep == "lines" and form.dimension == 3 else form.law]


def spectra(dimension: int) -> dict[str, Callable[..., Any]]:
    """By law a function ``(kind, mu1, .., gap, floor, rate)``: in the plane mean and rise, in space all eigenvalues."""
    arguments = f"kind, {', '.join(f'mu{i + 1}' for i in range(dimension))}, gap, floor, rate"
    found = {}
    for name, each in SPECTRA[dimension].items():
        nodes = (each.mean, each.rise) if dimension == 2 else each.eigenvalues
        found[name] = compiled(inside=True)(written(arguments, *nodes, value=value))
    return found
