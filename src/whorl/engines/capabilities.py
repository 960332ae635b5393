"""What each engine, the export and the page can do, as data: one table that engines ask, tests check and docs show."""

import os
from dataclasses import dataclass

import torch
from torch import Tensor

from whorl.diffusivities import CLASSICAL
from whorl.steps import Form

__all__ = ["REGISTRY", "Capabilities"]

CLOSED = tuple(kind.name for kind in CLASSICAL)
"""Every diffusivity in closed form; all that compiles has all of them."""

VARIATIONAL = ("uncoupled", "isotropic", "anisotropic")
EDGES = (*VARIATIONAL, "edge-enhancing")
EVERY_LAW = (*EDGES, "coherence-enhancing")


@dataclass(frozen=True)
class Capabilities:
    """What one engine (or the export, or the page) has.

    ``laws``, ``diffusivities``, ``dtypes`` and ``dimensions`` are lists; empty stands for anything. ``backward`` and
    ``forward`` say for which laws there are derivatives in closed form. ``scales`` says which stacks of scales a
    structure may have: ``"any"``, or ``"coupled"`` ones that are those of the flux, or one Gaussian of its own.
    """

    device: str = ""
    laws: tuple[str, ...] = ()
    diffusivities: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    dimensions: tuple[int, ...] = (2,)
    backward: tuple[str, ...] = ()
    forward: tuple[str, ...] = ()
    scales: str = "any"

    def lacks(self, form: Form | str, u: Tensor, *, learning: bool = False) -> str:
        """What is missing for a step on this image (and its derivative, when learning); empty if nothing is."""
        if not self.laws:
            return ""
        if isinstance(form, str):
            return form
        if self.device not in ("", u.device.type) and not (self.device == "cuda" and interpreted()):
            return f"works on {_DEVICES[self.device]}, the image is on {u.device}"
        if u.dim() - 2 not in self.dimensions:
            return f"a volume has no compiled form{_where(self.device)}"
        if str(u.dtype).removeprefix("torch.") not in self.dtypes:
            return f"{u.dtype} has no compiled form{_where(self.device)}"
        if form.law not in self.laws or form.diffusivity not in (*self.diffusivities, "none"):
            return f"the law {form.law!r} with the diffusivity {form.diffusivity!r} has no compiled form"
        if self.scales == "coupled" and len(form.structure.taps) > 1 and not form.couple_scales:
            return f"scales that are not coupled have no compiled form{_where(self.device)}"
        if self.scales == "coupled" and form.structure != form.flux:
            own = form.flux.plain and len(form.structure.taps) == 1
            if not own or form.structure.spacing != form.flux.spacing:
                return f"a structure on scales of its own has no compiled form{_where(self.device)}"
            if learning:
                return f"the derivative of a structure with its own Gaussian has no compiled form{_where(self.device)}"
        if learning and (form.law not in self.backward or form.rho):
            return f"the derivative of the law {form.law!r} has no compiled form{_where(self.device)}"
        return ""

    def goes_forward(self, form: Form | str) -> bool:
        """Whether there are derivatives forwards."""
        return isinstance(form, Form) and form.law in self.forward and not form.rho


REGISTRY = {
    "reference": Capabilities(dimensions=(2, 3)),
    "numba": Capabilities(
        device="cpu",
        laws=EVERY_LAW,
        diffusivities=CLOSED,
        dtypes=("float32", "float64"),
        backward=EDGES,
        forward=EDGES,
    ),
    "triton": Capabilities(
        device="cuda",
        laws=EVERY_LAW,
        diffusivities=CLOSED,
        dtypes=("float32",),
        backward=VARIATIONAL,
        scales="coupled",
    ),
}
"""By name."""

_DEVICES = {"cpu": "the processor", "cuda": "CUDA devices"}


def interpreted() -> bool:
    """Whether Triton interprets its kernels on the processor: ``TRITON_INTERPRET=1``, slowly, for tests."""
    return os.environ.get("TRITON_INTERPRET") == "1" and not torch.cuda.is_available()


def _where(device: str) -> str:
    return f" on {_DEVICES[device]}" if device == "cuda" else ""
