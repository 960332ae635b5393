"""Which engine takes a step: chosen by itself, or by name."""

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from whorl.energies.learned import EnergyAt, OfColours, Regulariser
from whorl.engines.base import Engine, Steps, known_by
from whorl.engines.capabilities import VOLUME
from whorl.engines.reference import ReferenceEngine
from whorl.steps import Form, GatedNumbers, GatedStep, Numbers, Step

ENGINES = ("auto", "reference", "numba", "triton")
"""What ``engine=`` takes. ``reference`` is plain PyTorch; ``auto`` takes the compiled engine of the image's device."""

_HOMES = {"numba": ("cpu", "NumbaEngine"), "triton": ("cuda", "TritonEngine")}
"""The folder of each compiled engine, which is named like its device, and its class."""

_FORWARD = (torch._C._functorch.TransformType.Jvp, torch._C._functorch.TransformType.Vmap)

_log = logging.getLogger("whorl.engines")


def advance(
    step: Step,
    u: Tensor,
    numbers: Sequence[Numbers],
    engine: str = "auto",
    *,
    mixes: Sequence[float] = (),
    frozen: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The image after the steps with these numbers, by the engine of that name; see :class:`~whorl.engines.base.Steps`.

    Differentiable where PyTorch records derivatives; ``out`` is for where it does not.

    >>> import torch, whorl
    >>> from whorl.steps import Numbers
    >>> step = whorl.models.build("perona-malik", contrast=5.0).description
    >>> advance(step, torch.full((1, 1, 4, 4), 7.0), [Numbers(0.2)] * 3, "reference").unique()
    tensor([7.])
    """
    steps = Steps(step, numbers, mixes, frozen)
    u = u if step.kept is None else step.kept(u)
    learning = _learning(step, u, numbers)
    if not learning and not transformed(u):
        return choose(step, u, engine).advance(steps, u.detach().contiguous(), out)
    if out is not None:
        raise ValueError("A result in out= has no derivative. Leave it away, or use torch.no_grad().")
    return select(step, u, engine, learning=learning).chain(steps, u)


def apply(step: GatedStep, u: Tensor, numbers: GatedNumbers, engine: str = "auto") -> Tensor:
    """The stream after one application of a learned block, by the engine of that name.

    The stream stays as it lies in memory: CUDA kernels know it by that.

    >>> import torch, whorl
    >>> from whorl.steps import GatedNumbers
    >>> block = whorl.load("photo-8k").blocks[0]
    >>> u, numbers = torch.zeros(1, 16, 8, 8), GatedNumbers(block.gate.bias[0])
    >>> apply(block.description(), u, numbers).shape
    torch.Size([1, 16, 8, 8])
    """
    if engine in ENGINES and transformed(u):
        return ReferenceEngine().apply(step, u, numbers)
    return choose(step, u, engine, learning=step.learning(u, numbers)).apply(step, u, numbers)


def energy(term: EnergyAt | OfColours, u: Tensor, engine: str = "auto") -> Regulariser:
    """A learned energy, for pictures like this one, as the engine of that name computes it.

    >>> import torch, whorl
    >>> term = whorl.load("energy-convex").energy.at(25.0)
    >>> energy(term, torch.zeros(1, 1, 8, 8), "reference") is term
    True
    """
    if isinstance(term, OfColours):
        return term.by(lambda part: energy(part, u, engine))
    return choose(term, u, "reference" if transformed(u) and engine in ENGINES else engine).energy(term)


def select(step: Step, u: Tensor, engine: str = "auto", *, learning: bool = False) -> Engine:
    """The engine that takes the step on this image, and its derivatives when learning.

    Under ``"auto"`` a missing package or a step without compiled form leads to the reference, with one line in the log
    of ``whorl.engines`` per reason; an engine asked for by name raises instead.

    >>> import torch, whorl
    >>> step = whorl.models.build("perona-malik", contrast=5.0).description
    >>> select(step, torch.zeros(1, 1, 8, 8), "reference").name
    'reference'
    """
    if engine != "reference" and torch.compiler.is_dynamo_compiling() and not torch.compiler.is_exporting():
        from whorl.engines.opaque import OpaqueEngine, possible

        if possible(step.key, u.dim() - 2, u.dtype, u.device, engine, learning):
            return OpaqueEngine(engine)
    return choose(step, u, "reference" if engine in ENGINES and not _plain(u) else engine, learning=learning)


def choose(step: Step | GatedStep | EnergyAt, u: Tensor, engine: str = "auto", *, learning: bool = False) -> Engine:
    """The same for a tensor that holds numbers, which PyTorch does not trace.

    >>> import torch, whorl
    >>> step = whorl.models.build("perona-malik", contrast=5.0).description
    >>> choose(step, torch.zeros(1, 1, 8, 8), "reference").name
    'reference'
    """
    if engine not in ENGINES:
        raise ValueError(f"engine {engine!r} is unknown. Known: {', '.join(ENGINES)}.")
    if engine == "reference":
        return ReferenceEngine()
    name = next((name for name in _HOMES if _HOMES[name][0] == u.device.type), "") if engine == "auto" else engine
    form = known_by(step, u)
    reason = form if isinstance(form, str) else _missing(name)
    if not reason:
        chosen = _engine(name)
        reason = chosen.refusal(step, u, learning=learning)
        if not reason and _forwards() and not (isinstance(form, Form) and chosen.capabilities.gives(form) == "all"):
            return ReferenceEngine()
        if not reason:
            return chosen
    if engine != "auto":
        raise ValueError(f"engine {engine!r}: {reason}. Leave the engine out, or ask for 'reference'.")
    if name and not (isinstance(step, GatedStep) and u.dim() == VOLUME):  # learned blocks in space have no other engine
        _say_once(f"{reason}; the reference engine takes over, slower but equal up to rounding.")
    return ReferenceEngine()


def undisturbed(u: Tensor) -> AbstractContextManager[None]:
    """Leave all threads of the processor to the compiled kernels that compute with this image, where there are any."""
    return _engine("numba").undisturbed() if u.device.type == "cpu" and not _missing("numba") else nullcontext()


def _learning(step: Step, u: Tensor, numbers: Sequence[Numbers]) -> bool:
    """Whether derivatives of the steps are asked for."""
    if not torch.is_grad_enabled():
        return False
    given = (part for each in numbers for part in each if isinstance(part, Tensor))
    return u.requires_grad or any(part.requires_grad for part in (*given, *step.parameters()))


def transformed(u: Tensor) -> bool:
    """Whether PyTorch records or transforms what happens to the tensor.

    >>> import torch
    >>> transformed(torch.zeros(1))
    False
    """
    return not _plain(u) or _forwards()


def _forwards() -> bool:
    """Whether PyTorch takes derivatives forwards, or computes on many tensors at once (vmap)."""
    return bool(_transforms()) or forward_ad._current_level >= 0


def _plain(u: Tensor) -> bool:
    """Whether the tensor holds numbers: while PyTorch traces or records, only the reference will do.

    Of the transforms of ``torch.func``, the compiled step knows those that go forwards.
    """
    return (
        type(u) in (Tensor, torch.nn.Parameter)
        and not torch.compiler.is_compiling()
        and torch._C._get_tracing_state() is None
        and all(level.key() in _FORWARD for level in _transforms())
        and torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is None
    )


def _transforms() -> list[Any]:
    return torch._C._functorch.get_interpreter_stack() or []


@cache
def _missing(name: str) -> str:
    """Why an engine cannot be loaded at all."""
    if name not in _HOMES:
        return "no engine for this device"
    if find_spec(name) is None:
        return f"the engine {name!r} needs the package {name}: pip install {name}"
    return ""


@cache
def _engine(name: str) -> Engine:
    folder, kind = _HOMES[name]
    engine: Engine = getattr(import_module(f"whorl.engines.{folder}.engine"), kind)()
    return engine


@cache
def _say_once(message: str) -> None:
    _log.warning("%s", message)
