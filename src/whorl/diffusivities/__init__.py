"""Diffusivities g with their regularisers Psi, g = Psi'."""

from collections.abc import Callable, Sequence

from whorl.diffusivities.base import Diffusivity
from whorl.diffusivities.classical import Charbonnier, Exponential, Homogeneous, Rational, RegularisedTV, Weickert
from whorl.diffusivities.free_form import FreeForm
from whorl.diffusivities.rescaled import Rescaled
from whorl.foundations.names import unknown

__all__ = [
    "Charbonnier",
    "Diffusivity",
    "Exponential",
    "FreeForm",
    "Homogeneous",
    "Rational",
    "RegularisedTV",
    "Rescaled",
    "Weickert",
    "by_name",
    "names",
]

_BY_NAME: dict[str, Callable[..., Diffusivity]] = {
    "exponential": Exponential,
    "rational": Rational,
    "charbonnier": Charbonnier,
    "weickert": Weickert,
    "tv": RegularisedTV,
    "homogeneous": Homogeneous,
    "free-form": FreeForm,
}


def names() -> list[str]:
    """The names that ``diffusivity=`` takes.

    >>> names()
    ['exponential', 'rational', 'charbonnier', 'weickert', 'tv', 'homogeneous', 'free-form']
    """
    return list(_BY_NAME)


def by_name(name: str, contrast: float | Sequence[float] = 1.0, *, trainable: bool = False) -> Diffusivity:
    """The diffusivity of that name.

    >>> by_name("charbonnier", contrast=3.0)
    Charbonnier(
      (_contrast): Positive(3)
    )
    """
    if name not in _BY_NAME:
        raise unknown("diffusivity", name, _BY_NAME)
    return _BY_NAME[name](contrast, trainable=trainable)
