"""What each engine, the export and the page can do, as data: one table that engines ask, tests check and docs show."""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor

from whorl.activations.enhancing import SPECTRAL
from whorl.diffusivities import CLASSICAL
from whorl.energies import EnergyAt
from whorl.operators.cells import CELLS
from whorl.steps import Form, GatedForm

CLOSED = tuple(kind.name for kind in CLASSICAL)
"""Every diffusivity in closed form; each compiled engine has all of them."""

VARIATIONAL = ("uncoupled", "isotropic", "anisotropic")
EDGES = tuple(dict.fromkeys(law.name for law in SPECTRAL.values() if not law.smoothed))
SMOOTHED = tuple(law.name for law in SPECTRAL.values() if law.smoothed)
EVERY_LAW = (*VARIATIONAL, *EDGES, *SMOOTHED)
"""The laws that have a name; only the reference engine takes others."""

DERIVATIVES = ("cells", "laplacian", "hessian", "directional")
"""The derivatives that have a name; see :class:`~whorl.operators.Derivative`."""

VOLUME = 5
"""How many axes a batch of volumes has."""


@dataclass(frozen=True, eq=False)
class Loops:
    """One line of the registry: a kind of step, and how much of it there is.

    ``derivatives`` and ``cells`` are those that flux and structure may have; empty ``diffusivities`` stand for any.
    ``gives`` says what there is of a step: its ``"value"``, its derivative backwards too (``"back"``), or ``"all"`` of
    them, forwards and back. ``rho`` is the largest radius along x by which a structure may be smoothed, -1 for none at
    all. ``structures`` says what may steer: ``"any"``; ``"coupled"`` scales that are those of the flux, or one scale of
    its own beside a flux without Gaussians; one scale (``"one"``) beside such a flux; scales that are those of the flux
    (``"own"``); or pixels and their neighbours alone (``"pointwise"``). With ``single`` it must be one gradient of one
    channel, with ``narrow`` Gaussians no wider than the image. ``varies`` says along what contrasts may differ,
    ``channels`` whether channels may be coupled, and ``axes`` whether any number of directions may be activated for
    themselves.
    """

    laws: tuple[str, ...]
    dimension: int = 2
    derivatives: tuple[str, ...] = ("cells",)
    cells: tuple[str, ...] = ("compact",)
    diffusivities: tuple[str, ...] = CLOSED
    gives: str = "value"
    rho: float = math.inf
    structures: str = "any"
    single: bool = False
    narrow: bool = False
    varies: tuple[str, ...] = ()
    channels: bool = True
    axes: bool = False

    def lacks(self, form: Form, shape: tuple[int, ...] = (), learning: bool = False) -> tuple[int, str]:
        """What is missing for a step of one of the laws on images ``(n, c, ...)`` of a shape; empty if nothing is.

        The number in front counts the needs that are met before the first one that is not.
        """
        needs = enumerate(self._needs(form, shape, learning))
        return next(((place, what) for place, (there, what) in needs if not there), (-1, ""))

    def _needs(self, form: Form, shape: tuple[int, ...], learning: bool) -> Iterator[tuple[bool, str]]:
        """Everything that a step needs: whether it is there, and what it is called."""
        law, seen, flux = form.law, form.structure, form.flux
        yield {flux.name, seen.name} <= {*self.derivatives}, f"a derivative like {flux.name!r}"
        yield {flux.cell, seen.cell} <= {*self.cells}, f"a gradient with filters that are {flux.cell!r}"
        known = not self.diffusivities or form.diffusivity in (*self.diffusivities, "none")
        yield known, f"the diffusivity {form.diffusivity!r}"
        yield {*form.varies} <= {*self.varies}, f"a contrast for each of the {' and '.join(form.varies)}"
        alone = form.aligned or (law == "uncoupled" and form.axes != 2)
        yield self.axes or not alone, f"the law {law!r} of {form.axes} directions for themselves"
        yield not (form.gamma and form.dimension == 3), f"gamma = {form.gamma:g} for volumes"
        several = form.couple_channels and (*shape, 2, 2)[1] > 1
        yield self.channels or not several, f"the law {law!r} of coupled channels"
        yield form.one_gradient or not self.single, f"the law {law!r} of a structure of several gradients"
        radius = len(form.rho[-1]) - 1 if form.rho else -1
        blurred = radius >= 0 and form.entries < 3 and form.dimension == 2
        yield radius <= self.rho and not blurred, f"the law {law!r} of a structure smoothed over {radius} pixels"
        alike = {
            "any": True,
            "coupled": seen == flux or (flux.plain and seen.single_scale and seen.spacing == flux.spacing),
            "one": flux.plain and seen.single_scale and seen.spacing == flux.spacing,
            "own": seen == flux,
            "pointwise": form.pointwise,
        }[self.structures]
        yield alike, "a structure with Gaussians or a spacing of its own"
        apart = len(seen.taps) > 1 and not form.couple_scales
        yield self.structures == "any" or not apart, "a structure of scales that are not coupled"
        wide = any(len(taps) > n for taps, n in zip(form.steering, shape[2:], strict=False))
        yield not (self.narrow and wide), "a Gaussian that is wider than the image"
        yield not (learning and self.gives == "value"), f"the derivative of the law {law!r}"


@dataclass(frozen=True)
class Learned:
    """Which learned blocks there are loops for, in float32: fields of the orders 0, 1 and 2, and gates up to ``rho``.

    Channels and fields are multiples of these numbers, and at most so many; ``alike`` says that both operators have as
    many stencils of each order, ``profiles`` how many, where that is given; ``space`` that there are loops for volumes,
    of values alone.
    """

    channels: int = 1
    fields: int = 1
    most: int = 0
    rho: int = 1
    alike: bool = True
    profiles: tuple[int, ...] = ()
    gives: str = "value"
    space: bool = False

    def lacks(self, form: GatedForm, u: Tensor, learning: bool = False) -> str:
        """What is missing for a block on a stream (and its derivative, when learning); empty if nothing is."""
        if not u.numel():
            return f"a stream of shape {tuple(u.shape)} is empty"
        if form.dimension == 3 and (learning or not self.space):
            return "a learned block in space has no compiled form" + " of its derivative" * self.space
        if {(u.dtype, u.device)} | form.kinds != {(torch.float32, u.device)}:
            return "a learned block has a compiled form in float32 alone, with its weights where the stream is"
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
        return "the derivative of a learned block has no compiled form" * (learning and self.gives == "value")


@dataclass(frozen=True, eq=False)
class Capabilities:
    """What one engine (or the export, or the page) has: steps, learned blocks and energies, precisions and a device.

    ``loops`` is None for an engine that takes every step, ``learned`` for one that takes every learned block. A step
    may fit several lines of the loops; what any of them has, the engine has. ``lacking`` is for messages.

    >>> import whorl
    >>> form = whorl.models.build("eed", contrast=5.0).description.form(2)
    >>> Capabilities().gives(form)  # an engine that takes every step
    'all'
    """

    device: str = ""
    dtypes: tuple[str, ...] = ()
    lacking: str = "has no compiled form"
    loops: tuple[Loops, ...] | None = None
    learned: Learned | None = None
    energies: bool = False

    def laws(self) -> tuple[str, ...]:
        """The laws that any line of the loops has."""
        return tuple(law for law in EVERY_LAW if self.loops is None or any(law in each.laws for each in self.loops))

    def lacks(self, form: Form | GatedForm | EnergyAt | str, u: Tensor | None = None, *, learning: bool = False) -> str:
        """What is missing for a step on this image (and its derivative, when learning); empty if nothing is."""
        if self.loops is None:
            return ""
        if isinstance(form, str):
            return form
        missing = "" if u is None else self.cannot_hold(u)
        if isinstance(form, EnergyAt):
            if not self.energies:
                return f"a learned energy has no compiled form{_WHERE.get(self.device, '')}"
            single = u is None or u.dtype == torch.float32
            return missing or ("" if single and not learning else "a learned energy is compiled in float32 alone")
        if isinstance(form, Form):
            return missing or _lacking(self, form, () if u is None else tuple(u.shape), learning)
        return missing or ("" if self.learned is None or u is None else self.learned.lacks(form, u, learning))

    def gives(self, form: Form) -> str:
        """How much of a step there is: nothing, its value, derivatives backwards too, or all derivatives."""
        if self.loops is None:
            return "all"
        return next((each.gives for each in self.of(form) if not each.lacks(form)[1]), "")

    def of(self, form: Form) -> list[Loops]:
        """The lines that have the law of a step, in its dimension."""
        return [each for each in self.loops or () if form.law in each.laws and form.dimension == each.dimension]

    def cannot_hold(self, u: Tensor) -> str:
        """Why an image of this device, dimension and type is not for this engine; empty if it is."""
        if self.device not in ("", u.device.type) and not (self.device == "cuda" and interpreted()):
            return f"works on {_DEVICES[self.device]}, the image is on {u.device}"
        if str(u.dtype).removeprefix("torch.") not in self.dtypes:
            return f"{u.dtype} has no compiled form{_WHERE.get(self.device, '')}"
        return ""


@lru_cache(maxsize=512)
def _lacking(part: Capabilities, form: Form, shape: tuple[int, ...], learning: bool) -> str:
    """What is missing: asked before every step, and found once."""
    found = [each.lacks(form, shape, learning) for each in part.of(form)]
    if any(not what for _, what in found):
        return ""
    missing = max(found)[1] if found else f"the law {form.law!r}"  # of the line that has the most
    return f"{missing} {part.lacking}{' in space' * (form.dimension == 3)}{_WHERE.get(part.device, '')}"


WRITTEN = Loops(
    (*VARIATIONAL, *EDGES),
    derivatives=DERIVATIVES,
    cells=CELLS,
    diffusivities=(),
    rho=-1,
    varies=("channels", "scales"),
    axes=True,
)
"""The steps that a file can hold."""

REGISTRY = {
    "reference": Capabilities(),
    "numba": Capabilities(
        device="cpu",
        dtypes=("float32", "float64"),
        loops=(
            Loops(VARIATIONAL, gives="all", rho=-1),
            Loops(EDGES, gives="all", rho=-1, single=True),
            Loops(("isotropic",), derivatives=("laplacian", "hessian"), structures="pointwise", channels=False),
            Loops(("anisotropic", *EDGES, *SMOOTHED)),
            Loops((*VARIATIONAL, *EDGES), cells=("wide",), rho=-1, structures="one"),
            Loops(EVERY_LAW, dimension=3, rho=79, structures="one"),
            Loops(VARIATIONAL, dimension=3, rho=-1, structures="own"),
            Loops(
                ("isotropic",),
                dimension=3,
                derivatives=("laplacian", "hessian"),
                rho=-1,
                structures="pointwise",
                channels=False,
            ),
            Loops((*VARIATIONAL, *EDGES), dimension=3, cells=("wide",), rho=-1, structures="one"),
        ),
        learned=Learned(channels=2, gives="back", space=True),
        energies=True,
    ),
    "triton": Capabilities(
        device="cuda",
        dtypes=("float32",),
        loops=(
            Loops(VARIATIONAL, gives="back", rho=-1, structures="own"),
            Loops((*VARIATIONAL, *SMOOTHED), structures="coupled"),
            Loops(EDGES, structures="coupled", single=True),
            Loops(VARIATIONAL, cells=("wide",), rho=-1, structures="one"),
            Loops(EDGES, cells=("wide",), rho=-1, structures="one", single=True),
            Loops(VARIATIONAL, dimension=3, rho=-1, structures="pointwise", channels=False),
            Loops(EDGES[:1], dimension=3, structures="one", single=True, narrow=True),
        ),
        learned=Learned(most=64, alike=False),
    ),
    "onnx": Capabilities(
        dtypes=("float32",),
        lacking="cannot be exported as ONNX",
        loops=(replace(WRITTEN, varies=("scales",)),),
    ),
    "pt2": Capabilities(dtypes=("float32",), lacking="cannot be exported", loops=(WRITTEN,)),
    "page": Capabilities(
        dtypes=("float32",),
        lacking="is not on the page",
        loops=(
            Loops(EVERY_LAW, derivatives=DERIVATIVES, axes=True),
            Loops((*VARIATIONAL, *EDGES), cells=("wide",), rho=-1, structures="one", axes=True),
            Loops(("uncoupled",), derivatives=("directional",), diffusivities=("Rescaled",), axes=True),
        ),
        learned=Learned(channels=4, fields=4, profiles=(3, 2, 2)),
    ),
}
"""The three engines, the two formats of the export and the page, by name."""


_DEVICES = {"cpu": "the processor", "cuda": "CUDA devices"}
_WHERE = {"cuda": " on CUDA devices"}


def interpreted() -> bool:
    """Whether Triton interprets its kernels on the processor: ``TRITON_INTERPRET=1``, slowly, for tests."""
    return os.environ.get("TRITON_INTERPRET") == "1" and not torch.cuda.is_available()
