"""Which engine takes a step: chosen by itself, or by name."""

import logging
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from whorl.activations import Activation
from whorl.engines.base import Engine, ForwardEngine
from whorl.engines.differentiable import Step, numbers
from whorl.engines.plan import Plan, describe, trained
from whorl.operators import Operator

__all__ = ["ENGINES", "advance", "select", "step", "transformed"]

ENGINES = ("auto", "reference", "numba", "triton")
"""What ``engine=`` takes. ``reference`` is plain PyTorch; ``auto`` takes the compiled engine of the image's device."""

_HOMES = {"numba": ("numba", "whorl.engines.cpu.engine"), "triton": ("triton", "whorl.engines.cuda.engine")}
_EXTRAS = {"numba": "fast", "triton": "cuda"}
_DEVICES = {"cpu": "numba", "cuda": "triton"}

_FORWARD = (torch._C._functorch.TransformType.Jvp, torch._C._functorch.TransformType.Vmap)

_log = logging.getLogger("whorl.engines")


def advance(
    operator: Operator,
    activation: Activation,
    structure: Operator | None,
    u: Tensor,
    taus: Sequence[float],
    engine: str = "auto",
    mixes: Sequence[float] = (),
    frozen: bool = False,
) -> Tensor | None:
    """The image after explicit steps of these sizes, not differentiable; None where the reference must take them.

    With ``mixes`` each step is mixed with the iterate before it; ``frozen`` keeps the tensor of the first image. See
    :meth:`Engine.advance`.
    """
    chosen, plan = select(operator, activation, structure, u, engine)
    if chosen is None or plan is None or ((mixes or frozen) and not chosen.cycles):
        return None
    values = numbers(trained(operator, activation, structure))
    return chosen.advance(plan, u.detach().contiguous(), taus, values, mixes, frozen)


def step(
    operator: Operator,
    activation: Activation,
    structure: Operator | None,
    u: Tensor,
    tau: Tensor | float,
    engine: str = "auto",
    out: Tensor | None = None,
) -> Tensor | None:
    """One explicit step, differentiable in ``u``, ``tau``, contrast and beta; None where the reference must take it.

    ``out`` is a contiguous tensor for the result, where nothing is differentiated.
    """
    values = trained(operator, activation, structure)
    parts = [part for part in (u, tau, *values) if isinstance(part, Tensor)]
    learning = torch.is_grad_enabled() and any(part.requires_grad for part in parts)
    chosen, plan = select(operator, activation, structure, u, engine, learning=learning)
    if chosen is None or plan is None:
        return None
    if not learning and not transformed(u):
        return chosen.advance(plan, u.detach().contiguous(), [float(tau)], numbers(values), out=out)
    tau = torch.as_tensor(tau, dtype=torch.float64)
    result: Tensor = Step.apply(u, tau, *values, plan, chosen)  # type: ignore[no-untyped-call]
    return result


def select(
    operator: Operator,
    activation: Activation,
    structure: Operator | None,
    u: Tensor,
    engine: str = "auto",
    *,
    learning: bool = False,
) -> tuple[Engine | None, Plan | None]:
    """The engine for a step on this image and the plan it takes, or ``(None, None)`` for the reference.

    Under ``"auto"`` a missing package or a model without compiled form leads to the reference, with one line in the log
    of ``whorl.engines`` per reason; an engine asked for by name raises instead.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine {engine!r} is unknown. Known: {', '.join(ENGINES)}.")
    if engine == "reference" or not _plain(u):
        return None, None
    name = _DEVICES.get(u.device.type, "") if engine == "auto" else engine
    plan = describe(operator, activation, structure) if u.dim() == 4 else "a volume has no compiled form"
    reason = plan if isinstance(plan, str) else _missing(name)
    if not reason and isinstance(plan, Plan):
        chosen = _engine(name)
        if _transforms() and not isinstance(chosen, ForwardEngine):
            return None, None
        reason = chosen.refusal(plan, u, learning)
        if not reason:
            return chosen, plan
    if engine != "auto":
        raise ValueError(f"engine {engine!r}: {reason}. Leave the engine out, or ask for 'reference'.")
    if name:
        _say_once(f"{reason}; the reference engine takes over, slower but equal up to rounding.")
    return None, None


def transformed(u: Tensor) -> bool:
    """Whether PyTorch records what happens to the tensor, or transforms it: numbers alone would not do as a result."""
    return not _plain(u) or bool(_transforms()) or forward_ad._current_level >= 0


def _plain(u: Tensor) -> bool:
    """Whether the tensor holds numbers: while PyTorch traces or records, only the reference will do.

    Of the transforms of ``torch.func`` those that go forwards are known to the compiled step.
    """
    return (
        type(u) in (Tensor, torch.nn.Parameter)
        and not torch.compiler.is_compiling()
        and torch._C._get_tracing_state() is None
        and all(level.key() in _FORWARD for level in _transforms())
        and torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is None
        and not (u.is_cuda and torch.cuda.is_current_stream_capturing())
    )


def _transforms() -> list[Any]:
    return torch._C._functorch.get_interpreter_stack() or []


@cache
def _missing(name: str) -> str:
    """Why an engine cannot be loaded at all."""
    package, _ = _HOMES.get(name, ("", ""))
    if not package:
        return "no engine for this device"
    if find_spec(package) is None:
        return f"the engine {name!r} needs the package {package}: pip install 'whorl[{_EXTRAS[name]}]'"
    return ""


@cache
def _engine(name: str) -> Engine:
    engine: Engine = import_module(_HOMES[name][1]).engine()
    return engine


@cache
def _say_once(message: str) -> None:
    _log.warning("%s", message)
