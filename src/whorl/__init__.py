"""Rotationally invariant diffusion filters and neural networks.

A picture turned by any angle comes out as the same result, turned. The folders follow the theory: ``operators`` (K),
``diffusivities`` (g and Psi), ``activations`` (Phi), ``energies`` (E), ``steps`` and their ``engines``, ``blocks``,
``schemes``, ``models``, and the evidence in ``invariance``. Nothing heavy is imported until it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_FUNCTIONS = {
    "denoise": "whorl.denoising",
    "diffuse": "whorl.images",
    "inpaint": "whorl.inpainting",
    "load": "whorl.networks",
    "noise": "whorl.automatic.variance",
    "reconstruct": "whorl.reconstruction",
    "segment": "whorl.networks",
}
_FOLDERS = (
    "activations", "automatic", "blocks", "data", "diffusivities", "energies", "engines", "errors", "evaluation",
    "export", "files", "foundations", "inpainting", "integrations", "invariance", "large", "metrics", "models",
    "networks", "operators", "reconstruction", "schemes", "steps", "testing", "training",
)  # fmt: skip

__all__ = ["__version__", *sorted((*_FUNCTIONS, *_FOLDERS))]

if TYPE_CHECKING:
    from whorl import activations as activations
    from whorl import automatic as automatic
    from whorl import blocks as blocks
    from whorl import data as data
    from whorl import diffusivities as diffusivities
    from whorl import energies as energies
    from whorl import engines as engines
    from whorl import errors as errors
    from whorl import evaluation as evaluation
    from whorl import export as export
    from whorl import files as files
    from whorl import foundations as foundations
    from whorl import inpainting as inpainting
    from whorl import integrations as integrations
    from whorl import invariance as invariance
    from whorl import large as large
    from whorl import metrics as metrics
    from whorl import models as models
    from whorl import networks as networks
    from whorl import operators as operators
    from whorl import reconstruction as reconstruction
    from whorl import schemes as schemes
    from whorl import steps as steps
    from whorl import testing as testing
    from whorl import training as training
    from whorl.automatic.variance import noise as noise
    from whorl.denoising import denoise as denoise
    from whorl.images import diffuse as diffuse
    from whorl.inpainting import inpaint as inpaint
    from whorl.networks import load as load
    from whorl.networks import segment as segment
    from whorl.reconstruction import reconstruct as reconstruct
else:  # type checkers are to find names that do not exist

    def __getattr__(name: str) -> Any:
        if name in _FUNCTIONS:
            found = getattr(import_module(_FUNCTIONS[name]), name)
            import_module("whorl.foundations.other_libraries").LAZY[:] = [_lazily]
            return found
        if name in _FOLDERS:
            return import_module(f"whorl.{name}")
        raise AttributeError(f"module 'whorl' has no attribute {name!r}")


def _lazily(function: Any, told: dict[str, Any]) -> Any:
    """The result of a function for an array of dask."""
    return import_module("whorl.large.lazily").lazily(function, told)


def __dir__() -> list[str]:
    return __all__
