"""What each engine, the export and the page can do, as data: one table that engines ask, tests check and docs show."""

import os
from dataclasses import dataclass

import torch
from torch import Tensor

from whorl.diffusivities import CLASSICAL
from whorl.operators import CellGradient, ScaleStack, Smoothing
from whorl.steps import BIHARMONIC, SHARED_EDGES, Form, GatedForm, Step

__all__ = ["REGISTRY", "VOLUME", "Capabilities", "Learned", "table"]

CLOSED = tuple(kind.name for kind in CLASSICAL)
"""Every diffusivity in closed form; all that compiles has all of them."""

VARIATIONAL = ("uncoupled", "isotropic", "anisotropic")
EDGES = (*VARIATIONAL, "edge-enhancing")
EVERY_LAW = (*EDGES, "coherence-enhancing")
CONTINUING = "edge-continuing"

VOLUME = 5
"""How many axes a batch of volumes has."""


@dataclass(frozen=True)
class Learned:
    """Which learned blocks there are loops for, in float32: fields of the orders 0, 1 and 2, and gates up to ``rho``.

    Channels and fields are multiples of these numbers, and at most so many; ``alike`` says that both operators have as
    many stencils of each order, ``profiles`` how many, where that is given.
    """

    channels: int = 1
    fields: int = 1
    most: int = 0
    rho: int = 1
    alike: bool = True
    profiles: tuple[int, ...] = ()

    def lacks(self, form: GatedForm) -> str:
        """What is missing for a block; empty if nothing is."""
        profiles, orders = (form.analysis.profiles, form.synthesis.profiles), len(form.fields)
        if orders != 3 or not all(form.fields):
            return f"a learned block with fields {form.fields} has no compiled form, only one with the orders 0, 1, 2"
        if form.rho > self.rho:
            return f"gates that are smoothed with rho = {form.rho} have no compiled form"
        if form.channels % self.channels or any(count % self.fields for count in form.fields):
            return f"{form.channels} channels and fields {form.fields} have no compiled form"
        if self.most and max(form.channels, *form.fields) > self.most:
            return f"more than {self.most} channels or fields of an order have no compiled form"
        if (self.alike and profiles[0] != profiles[1]) or self.profiles not in ((), profiles[0]):
            return f"a learned block with {profiles[0]} and {profiles[1]} stencils has no compiled form"
        return ""


@dataclass(frozen=True)
class Capabilities:
    """What one engine (or the export, or the page) has.

    ``laws``, ``diffusivities``, ``dtypes`` and ``dimensions`` are lists; empty stands for anything. ``backward`` and
    ``forward`` say for which laws there are derivatives in closed form. ``scales`` says which stacks of scales a
    structure may have: ``"any"``, or ``"coupled"`` ones that are those of the flux, or one Gaussian of its own.
    ``square`` says whether Gaussians need square pixels, ``edges`` of which gradients the edge-enhancing law is known:
    of ``"any"``, or of a ``"single"`` one.
    ``learned`` says which learned blocks; None stands for all of them.
    """

    device: str = ""
    laws: tuple[str, ...] = ()
    diffusivities: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    dimensions: tuple[int, ...] = (2,)
    backward: tuple[str, ...] = ()
    forward: tuple[str, ...] = ()
    scales: str = "any"
    square: bool = False
    edges: str = "any"
    learned: Learned | None = None

    def lacks(self, form: Form | str, u: Tensor, *, learning: bool = False) -> str:
        """What is missing for a step on this image (and its derivative, when learning); empty if nothing is."""
        if not self.laws:
            return ""
        if isinstance(form, str):
            return form
        missing = self.cannot_hold(u)
        if missing:
            return missing
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

    def cannot_write(self, step: Step) -> str:
        """Why a step cannot be written as a file of this format, and what to do instead; empty if it can."""
        seen, law, phi = step.steering, step.activation.law.name, step.activation
        smoothed = any(
            isinstance(part, Smoothing) and part.radius for each in (step.operator, seen) for part in each.modules()
        )
        if self.square and smoothed and len(set(seen.spacing)) > 1:
            return (
                f"Gaussians on pixels of the size {tuple(seen.spacing)} cannot be exported. Resample the picture to "
                "square pixels, or set sigma to 0"
            )
        if self.scales == "coupled" and isinstance(seen, ScaleStack) and "scales" not in phi.couple:
            return "scales that are not coupled cannot be written in this format. Write a .pt2 file instead"
        inner = next((part for part in seen.modules() if isinstance(part, CellGradient)), None)
        single = inner is not None and inner.alpha == 0.5 and not phi.couple
        if law == "edge-enhancing" and self.edges == "single" and not single:
            found = (
                f"coupled {' and '.join(phi.couple)}"
                if phi.couple
                else f"a gradient with alpha = {inner and inner.alpha}"
            )
            return (
                f"the law {law!r} on {found} cannot be written in this format. Write a .pt2 file instead, or "
                "let a gradient with alpha = 0.5 of each channel for itself steer the diffusion"
            )
        return ""

    def lacks_learned(self, form: GatedForm | str, u: Tensor, *, learning: bool = False) -> str:
        """The same for a learned block on a stream."""
        if self.learned is None:
            return ""
        if isinstance(form, str):
            return form
        missing = self.cannot_hold(u)
        if missing or not u.numel():
            return missing or f"a stream of shape {tuple(u.shape)} is empty"
        if {(u.dtype, u.device)} | form.kinds != {(torch.float32, u.device)}:
            return "a learned block has a compiled form in float32 alone, with its weights where the stream is"
        return self.learned.lacks(form) or ("the derivative of a learned block has no compiled form" * learning)

    def goes_forward(self, form: object) -> bool:
        """Whether there are derivatives forwards."""
        return isinstance(form, Form) and form.law in self.forward and not form.rho

    def cannot_hold(self, u: Tensor) -> str:
        """Why an image of this device, dimension and type is not for this engine; empty if it is."""
        if self.device not in ("", u.device.type) and not (self.device == "cuda" and interpreted()):
            return f"works on {_DEVICES[self.device]}, the image is on {u.device}"
        if u.dim() - 2 not in self.dimensions:
            return f"a volume has no compiled form{_where(self.device)}"
        if str(u.dtype).removeprefix("torch.") not in self.dtypes:
            return f"{u.dtype} has no compiled form{_where(self.device)}"
        return ""


REGISTRY = {
    "reference": Capabilities(dimensions=(2, 3)),
    "numba": Capabilities(
        device="cpu",
        laws=(*EVERY_LAW, CONTINUING, SHARED_EDGES, BIHARMONIC),
        diffusivities=CLOSED,
        dtypes=("float32", "float64"),
        dimensions=(2, 3),
        backward=EDGES,
        forward=EDGES,
        learned=Learned(channels=2),
    ),
    "triton": Capabilities(
        device="cuda",
        laws=EVERY_LAW,
        diffusivities=CLOSED,
        dtypes=("float32",),
        dimensions=(2, 3),
        backward=VARIATIONAL,
        scales="coupled",
        learned=Learned(most=64, alike=False),
    ),
    "onnx": Capabilities(
        laws=EDGES,
        diffusivities=(*CLOSED, "free-form"),
        dtypes=("float32",),
        square=True,
        edges="single",
        scales="coupled",
    ),
    "pt2": Capabilities(laws=EDGES, diffusivities=(*CLOSED, "free-form"), dtypes=("float32",), square=True),
    "page": Capabilities(
        laws=(*EVERY_LAW, CONTINUING),
        diffusivities=CLOSED,
        dtypes=("float32",),
        learned=Learned(channels=4, fields=4, profiles=(3, 2, 2)),
    ),
}
"""The three engines, the two formats of the export and the page, by name."""


def table() -> str:
    """The registry as text, one line for each law and diffusivity.

    >>> print(table().splitlines()[1])
    uncoupled                   all        all        back       value      value      value
    """
    parts, rows = REGISTRY.values(), {"": list(REGISTRY)}
    for law in (*EVERY_LAW, CONTINUING, SHARED_EDGES, BIHARMONIC):
        rows[law] = [_derivatives(part, law) for part in parts]
    for kind in (*CLOSED, "free-form"):
        rows[kind] = ["yes" if kind in part.diffusivities or not part.laws else "-" for part in parts]
    rows["learned blocks"] = ["all" if part.learned is None else "value" for part in parts]
    rows["dimensions"] = [", ".join(map(str, part.dimensions)) for part in parts]
    rows["bits"] = [", ".join(kind.removeprefix("float") for kind in part.dtypes) or "any" for part in parts]
    return "\n".join(f"{title:28}{''.join(f'{word:11}' for word in words)}".rstrip() for title, words in rows.items())


def _derivatives(part: Capabilities, law: str) -> str:
    """What there is of a law: nothing, values, derivatives backwards too, or all of them, forwards and back."""
    if not part.laws:
        return "all"
    if law not in part.laws:
        return "-"
    return "all" if law in part.forward else "back" if law in part.backward else "value"


_DEVICES = {"cpu": "the processor", "cuda": "CUDA devices"}


def interpreted() -> bool:
    """Whether Triton interprets its kernels on the processor: ``TRITON_INTERPRET=1``, slowly, for tests."""
    return os.environ.get("TRITON_INTERPRET") == "1" and not torch.cuda.is_available()


def _where(device: str) -> str:
    return f" on {_DEVICES[device]}" if device == "cuda" else ""
