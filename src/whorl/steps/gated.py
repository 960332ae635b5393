"""The description of one application of a learned block, and its numbers as engines and page read them."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from whorl.activations.gated import Gated
from whorl.foundations.types import Image
from whorl.foundations.versions import version
from whorl.operators.orbits import Factors, factors
from whorl.operators.steerable import SteerableMap


class GatedNumbers(NamedTuple):
    """The numbers of one application: what its gates add, and the size of its step, None for 1.

    >>> import torch
    >>> GatedNumbers(bias=torch.zeros(4)).tau is None
    True
    """

    bias: Tensor
    tau: Tensor | None = None


@dataclass(frozen=True, eq=False)
class GatedForm:
    """A learned block in plain numbers: both operators in factors; ``kinds`` are types and places of all numbers.

    >>> import whorl
    >>> whorl.load("photo-8k").blocks[0].description().form.fields
    (24, 20, 8)
    """

    channels: int
    fields: tuple[int, ...]
    rho: int
    analysis: Factors
    synthesis: Factors
    kinds: frozenset[tuple[torch.dtype, torch.device]]

    @property
    def dimension(self) -> int:
        """2 for pictures, 3 for volumes."""
        return 3 if self.analysis.taps.ndim == 4 else 2


@dataclass(frozen=True, eq=False)
class GatedStep:
    r"""One application of a learned block, :math:`u - \tau K_2^*\, \Phi(K_1 u)`, less the numbers of each repetition.

    Parameters
    ----------
    analysis, synthesis : SteerableMap
        :math:`K_1` and :math:`K_2`; on streams of fields two FieldMap, which engines have not compiled.
    gate : Gated
        :math:`\Phi`.
    level : Tensor, optional
        The noise level as the gates take it: one number, one for each picture, or a map ``(n, 1, y, x)``; a second
        channel is the correlation.
    half : bool
        Whether responses are computed in bfloat16; the stream stays as it is.

    Examples
    --------
    >>> import whorl
    >>> whorl.load("photo-8k").blocks[0].description().form.channels
    16
    """

    analysis: SteerableMap
    synthesis: SteerableMap
    gate: Gated
    level: Tensor | None = None
    half: bool = False

    def gradient(self, u: Image, bias: Tensor) -> Image:
        r"""What one application takes away for a step size of 1, :math:`K_2^*\, \Phi(K_1 u)`."""
        K1, K2, phi = self.analysis, self.synthesis, self.gate
        return K2.adjoint(phi(K1(u.bfloat16() if self.half else u), bias, self.level))

    @cached_property
    def form(self) -> GatedForm | str:
        """The block in plain numbers, or the reason why there are none; found once for each state of the weights.

        A step is made anew for each application and looks at the weights once.
        """
        if self.half:
            return "a block in bfloat16 has no compiled form"
        if self.level is not None and self.level.dim() and max(self.level.shape[2:]) > 1:
            return "a map of noise levels has no compiled form"
        state = [(each.data_ptr(), version(each)) for part in self.modules() for each in _tensors(part)]
        if self.gate not in _FORMS or _FORMS[self.gate][0] != state:
            with torch.no_grad():
                _FORMS[self.gate] = state, self._form()
        return _FORMS[self.gate][1]

    def scales(self) -> Tensor:
        """The factors of the invariants of every field, for one noise level or for a level of each picture."""
        return self.gate.scale(self._levels).flatten(1)

    def offsets(self, bias: Tensor) -> Tensor:
        """The number that the gate of every field adds, for one noise level or for a level of each picture."""
        return self.gate.offset(bias, self._levels).flatten(1)

    @property
    def _levels(self) -> Tensor | None:
        if self.level is None:
            return None
        channels = self.level.shape[1] if self.level.dim() else 1
        return self.level.reshape(-1, channels, *[1] * self.gate.dimension)

    def modules(self) -> tuple[nn.Module, ...]:
        """Both operators and the gate."""
        return self.analysis, self.synthesis, self.gate

    def parameters(self) -> Iterator[nn.Parameter]:
        """Everything in the modules that may be trained."""
        return (each for part in self.modules() for each in part.parameters())

    def learning(self, u: Tensor, numbers: GatedNumbers) -> bool:
        """Whether PyTorch records derivatives of an application."""
        parts = (u, self.level, *numbers, *self.parameters()) if torch.is_grad_enabled() else ()
        return any(part.requires_grad for part in parts if part is not None)

    def _form(self) -> GatedForm | str:
        first, second = factors(self.analysis), factors(self.synthesis)
        if first is None or second is None:
            return "stencils larger than 5x5 or 3x3x3, of other orders, asymmetric or of fields have no compiled form"
        kinds = frozenset((each.dtype, each.device) for each in self.parameters())
        return GatedForm(self.analysis.channels, self.analysis.fields, self.gate.rho, first, second, kinds)


_FORMS: WeakKeyDictionary[Gated, tuple[list[tuple[int, Hashable]], GatedForm | str]] = WeakKeyDictionary()


def _tensors(module: Any) -> Iterator[Tensor]:
    """Parameters and buffers. torch's own lists take as long to make as CUDA kernels to run on a small picture."""
    yield from module._parameters.values()
    yield from module._buffers.values()
    for child in module._modules.values():
        yield from _tensors(child)
