"""Adapters, one file for each library: the same call for everyone, the exact settings written down."""

from importlib import import_module

from benchmarks.peers.base import Image, Method, Run

__all__ = ["Image", "Method", "Run", "catalogue", "method"]

_FILES = (
    "whorl",
    "numpy_loop",
    "torch_loop",
    "medpy",
    "opencv",
    "diplib",
    "itk",
    "simpleitk",
    "vtk",
    "ants",
    "skimage",
    "kornia",
)


def catalogue(installed: bool = True) -> list[Method]:
    """Every method, whorl's first; by default only those whose library is here."""
    everyone = [m for name in _FILES for m in import_module(f"benchmarks.peers.{name}").METHODS]
    return [m for m in everyone if m.installed() or not installed]


def method(name: str) -> Method:
    for each in catalogue(installed=False):
        if each.name == name:
            return each
    raise ValueError(f"method({name!r}): unknown; one of {', '.join(m.name for m in catalogue(installed=False))}.")
