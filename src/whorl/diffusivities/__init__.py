"""Diffusivities g with their regularisers Psi, g = Psi'."""

from whorl.diffusivities import classical
from whorl.diffusivities.base import Contrast, Diffusivity, Rescaled
from whorl.diffusivities.classical import *  # noqa: F403
from whorl.diffusivities.free_form import FreeForm
from whorl.foundations.validation import unknown

__all__ = ["Diffusivity", "FreeForm", "Rescaled", "by_name", "names", *classical.__all__]

_KINDS: tuple[type[Diffusivity], ...] = (*classical.CLASSICAL, FreeForm)
_BY_NAME = {kind.name: kind for kind in _KINDS}


def names() -> list[str]:
    """The names that ``diffusivity=`` takes.

    >>> names()[:3]
    ['exponential', 'rational', 'charbonnier']
    """
    return list(_BY_NAME)


def by_name(name: str, contrast: Contrast = 1.0, *, trainable: bool = False) -> Diffusivity:
    """The diffusivity of that name.

    >>> by_name("charbonnier", contrast=3.0)
    Charbonnier(
      (_contrast): Positive(3)
    )
    """
    if name not in _BY_NAME:
        raise unknown("diffusivity", name, _BY_NAME)
    return _BY_NAME[name](contrast, trainable=trainable)
