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
    from whorl import (  # isort: skip
        activations as activations, automatic as automatic, blocks as blocks, data as data,
        diffusivities as diffusivities, energies as energies, engines as engines, errors as errors,
        evaluation as evaluation, export as export, files as files, foundations as foundations,
        inpainting as inpainting, integrations as integrations, invariance as invariance, large as large,
        metrics as metrics, models as models, networks as networks, operators as operators,
        reconstruction as reconstruction, schemes as schemes, steps as steps, testing as testing, training as training,
    )  # fmt: skip
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
