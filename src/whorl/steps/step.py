"""The description of a step: all that an engine, an export or a page must know to take it."""

import copy
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn

from whorl.activations import Activation
from whorl.energies import KnownPixels, QuadraticFidelity
from whorl.foundations.types import Image, Responses
from whorl.foundations.versions import version
from whorl.operators import Operator
from whorl.steps.form import Form, form_of

M = TypeVar("M", bound=nn.Module)

_KEYS = count(1)


class Numbers(NamedTuple):
    """The numbers of one step, float64: its size, the contrast, the weights of the scales in flux and structure.

    All of them may be trained. What is None is the step's own: ``Numbers(0.2)`` is a step of size 0.2.
    :meth:`Step.complete` leaves none of them open and makes tensors of all, :meth:`plain` Python's own numbers.

    >>> Numbers(torch.tensor(0.2, dtype=torch.float64), torch.tensor(9.0)).plain()
    Numbers(tau=0.2, contrast=9.0, beta=(1.0,), seen=(1.0,))
    """

    tau: Any
    contrast: Any = None
    beta: Any = None
    seen: Any = None

    def plain(self) -> "Numbers":
        """Floats, and tuples of them for the scales; the weight of a single scale may have been left open."""
        beta, seen = ((1.0,) if part is None else tuple(part.tolist()) for part in (self.beta, self.seen))
        return Numbers(float(self.tau), float(self.contrast), beta, seen)

    def detached(self) -> "Numbers":
        """The same numbers, cut off from derivatives."""
        return Numbers(*(part.detach() for part in self))


@dataclass(frozen=True, eq=False)
class Step:
    r"""One explicit step :math:`u - \tau\, (K^* \Phi(K u) + \nabla D(u))`, without the numbers that come with each
    call.

    A plain value, made once for a model, a block or a network. It holds the modules, which the reference engine calls,
    and :attr:`form`, the same in plain numbers, from which compiled engines and the export work.

    Parameters
    ----------
    operator : Operator
        The operator :math:`K` of the flux.
    activation : Activation
        The activation :math:`\Phi`: what is coupled, the law and its diffusivity.
    structure : Operator, optional
        The operator whose responses the nonlinearity looks at, if not ``operator``.
    fidelity : QuadraticFidelity, optional
        A data term :math:`D`, whatever has ``gradient(u)``.
    kept : KnownPixels, optional
        Pixels that keep their values.

    Examples
    --------
    >>> import whorl
    >>> whorl.models.build("eed", contrast=5.0).description.form(2).law
    'edge-enhancing'
    """

    operator: Operator
    activation: Activation
    structure: Operator | None = None
    fidelity: QuadraticFidelity | None = None
    kept: KnownPixels | None = None
    _forms: dict[int, tuple[Hashable, Form | str]] = field(default_factory=dict, repr=False)
    key: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        if not torch.compiler.is_compiling():  # steps that are made while torch.compile traces need no key
            object.__setattr__(self, "key", next(_KEYS))
            STEPS[self.key] = self

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and steps from files are new: they have a key of their own."""
        return Step, (self.operator, self.activation, self.structure, self.fidelity, self.kept)

    @property
    def steering(self) -> Operator:
        """The operator whose responses the nonlinearity looks at."""
        return self.operator if self.structure is None else self.structure

    def form(self, dimension: int = 2) -> Form | str:
        """The step on pictures or volumes in plain numbers, or the reason why there is no such form.

        Made once, and again only if somebody has written into the buffers of the modules since.
        """
        weights = self.operator.numbers()[0], self.activation.scale_weights
        state = tuple(None if part is None else version(part) for part in weights)
        if dimension not in self._forms or self._forms[dimension][0] != state:
            self._forms[dimension] = state, form_of(dimension, self.operator, self.activation, self.structure)
        return self._forms[dimension][1]

    def gradient(self, u: Image, seen: Responses | None = None) -> Image:
        r"""The direction of descent, :math:`K^* \Phi(K u) + \nabla D(u)`; ``seen`` are responses that steer instead.

        Known pixels are for the loop over steps to put back.
        """
        K, phi = self.operator, self.activation
        if seen is None and self.structure is not None:
            seen = self.structure(u)
        force = K.adjoint(phi(K(u), seen))
        return force if self.fidelity is None else force + self.fidelity.gradient(u)

    def complete(self, numbers: Numbers) -> Numbers:
        """The same numbers as tensors, with the step's own in place of those left open."""
        tau, *rest = numbers
        if isinstance(tau, Tensor) and not any(part is None for part in rest):
            return numbers
        contrast, beta, seen = (own if given is None else given for given, own in zip(rest, self.own(), strict=True))
        assert contrast is not None
        # Numbers are made on the device: while a CUDA graph is recorded nothing can be copied to it.
        number = partial(torch.full, dtype=torch.float64, device=contrast.device)
        return Numbers(
            tau if isinstance(tau, Tensor) else number((), tau),
            contrast,
            number((1,), 1.0) if beta is None else beta,
            number((1,), 1.0) if seen is None else seen,
        )

    def own(self) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The step's own contrast and weights of the scales in flux and structure, None where it has no scales."""
        return self.activation.law.contrast, self.operator.numbers()[1], self.steering.numbers()[1]

    def at(self, numbers: Numbers) -> "Step":
        """The same step with modules that carry these numbers instead of their own; derivatives reach the numbers."""
        _, contrast, beta, seen = numbers
        if contrast is None and beta is None and seen is None:
            return self
        same = self.structure is None and seen is beta
        return replace(
            self,
            activation=self.activation if contrast is None else with_contrast(self.activation, contrast),
            operator=with_beta(self.operator, beta),
            structure=None if same else with_beta(self.steering, seen),
            _forms={},
        )

    def modules(self) -> Iterator[nn.Module]:
        """Operator, activation and, where there is one, the operator of the structure."""
        yield from (self.operator, self.activation)
        if self.structure is not None:
            yield self.structure

    def parameters(self) -> Iterator[nn.Parameter]:
        """Everything in the modules that may be trained."""
        for module in self.modules():
            yield from module.parameters()


STEPS: WeakValueDictionary[int, Step] = WeakValueDictionary()
"""All steps that are in use, by their keys: for programs that can hold a number, but no step."""


class Described:
    """The description of a module's step, kept as long as the module has the same parts.

    >>> import whorl
    >>> model = whorl.models.build("perona-malik", contrast=5.0)
    >>> model.description is model.description
    True
    """

    def __init__(self, *parts: Any) -> None:
        self._parts, self._step = parts, Step(*parts)

    def of(self, *parts: Any) -> Step:
        """The step of these parts, in the order in which a step takes them."""
        if any(new is not old for new, old in zip(parts, self._parts, strict=True)):
            self._parts, self._step = parts, Step(*parts)
        return self._step


def with_contrast(activation: Activation, contrast: Tensor) -> Activation:
    """The activation with this contrast, a tensor that derivatives reach."""
    law = activation.law
    if isinstance(law, nn.Module):  # a law of its own, with a contrast or without
        return _with(activation, "law", _with(law, "_contrast", _Given(contrast)))
    twin = _with(activation, "diffusivity", _with(activation.diffusivity, "_contrast", _Given(contrast)))
    twin.law = law.of(twin.diffusivity)
    return twin


def with_beta(operator: Operator, beta: Tensor | None) -> Operator:
    """The operator with these weights of its scales; itself where it has none."""
    return operator if beta is None or operator.numbers()[1] is None else _with(operator, "beta", beta)


def without_scale_weights(activation: Activation) -> Activation:
    """The activation with every scale counted alike."""
    return _with(activation, "scale_weights", None)


class _Given(nn.Module):
    """A module whose call gives back a tensor."""

    def __init__(self, value: Tensor) -> None:
        super().__init__()
        self.value = value

    def forward(self) -> Tensor:
        return self.value


def _with(module: M, name: str, part: Tensor | nn.Module | None) -> M:
    """A copy with another part, which shares everything else: no module is ever changed for a call."""
    twin = copy.copy(module)
    tables = {table: dict(getattr(module, table)) for table in ("_parameters", "_buffers", "_modules")}
    twin.__dict__.update(tables)
    tables["_parameters"].pop(name, None)
    home = tables["_modules"] if isinstance(part, nn.Module) else tables["_buffers"] if part is None else twin.__dict__
    home[name] = part
    return twin
