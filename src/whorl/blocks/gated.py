"""Blocks of learned steerable operators and gates: the diffusion block with a learned matrix in the place of g."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec

import torch
from torch import Tensor, nn

from whorl.activations.gated import Gated
from whorl.foundations.types import Image
from whorl.operators.norm_estimate import NormEstimate
from whorl.operators.steerable import SteerableMap

__all__ = ["GatedBlock", "StableGatedBlock", "factorised", "stable_step"]


class GatedBlock(nn.Module):
    r"""One step with two operators, :math:`u^{k+1} = u^k - K_2^*\, \Phi(K_1 u^k)`, applied several times.

    Parameters
    ----------
    analysis, synthesis : SteerableMap
        :math:`K_1` and :math:`K_2`, with the same channels and fields.
    gate : Gated
        :math:`\Phi`; it has a bias of its own for every repetition.

    Guarantees
    ----------
    Quarter turns and mirror images carry over exactly for any weights and any size of the picture.

    Examples
    --------
    >>> K1, K2 = (SteerableMap(8, fields=(8, 8, 4)) for _ in range(2))
    >>> GatedBlock(K1, K2, Gated(K1.orders))(torch.rand(1, 8, 16, 16)).shape
    torch.Size([1, 8, 16, 16])
    """

    def __init__(self, analysis: SteerableMap, synthesis: SteerableMap, gate: Gated) -> None:
        super().__init__()
        if (analysis.channels, analysis.fields) != (synthesis.channels, synthesis.fields):
            raise ValueError(f"GatedBlock: both operators must have the same fields, got {analysis} and {synthesis}.")
        self.analysis, self.synthesis, self.gate = analysis, synthesis, gate

    def forward(self, u: Image, repetition: int = 0, level: Tensor | None = None, half: bool = False) -> Image:
        """The stream after one application; ``half`` computes responses in bfloat16 and keeps the stream as it is."""
        bias = self.gate.bias[repetition]
        if not half and (done := _compiled(u, self.analysis, self.synthesis, self.gate, bias, level, 1.0)) is not None:
            return done
        return u - self.change(u.bfloat16() if half else u, bias, level)

    def change(self, u: Image, bias: Tensor, level: Tensor | None = None) -> Image:
        r"""What one application takes away, :math:`K_2^*\, \Phi(K_1 u)`."""
        K1, K2, phi = self.analysis, self.synthesis, self.gate
        return K2.adjoint(phi(K1(u), bias, level))

    @property
    def reach(self) -> int:
        """How many pixels around a pixel one application looks at, on either side."""
        return self.analysis.radius + self.synthesis.radius + self.gate.rho


class StableGatedBlock(nn.Module):
    r"""One step with one operator, :math:`u^{k+1} = u^k - \tau_k K^*\, \Phi(K u^k)`: stable whatever is learned.

    .. math:: \tau_k = \frac{2\,\sigma(s_k)}{\|K\|^2}, \qquad 0 < \sigma(s_k) < 1

    Since :math:`\Phi` multiplies each response by a number in [0, 1], the step multiplies the stream by :math:`I - \tau
    K^* D K` with :math:`0 \le D \le I`, whose norm is at most 1 for :math:`\tau \|K\|^2 \le 2`. In training the norm is
    estimated; otherwise a proven bound takes its place.

    Parameters
    ----------
    analysis : SteerableMap
        :math:`K`.
    gate : Gated
        :math:`\Phi`; it has a bias of its own for every repetition, and the block a step size :math:`s_k`.

    Guarantees
    ----------
    The L2 norm of the stream never grows, for any weights and any picture; quarter turns and mirror images carry over
    exactly.

    Examples
    --------
    >>> K = SteerableMap(4, fields=(4, 2, 1))
    >>> block, u = StableGatedBlock(K, Gated(K.orders)).eval(), torch.randn(1, 4, 16, 16)
    >>> bool(block(u).norm() <= u.norm())
    True
    """

    def __init__(self, analysis: SteerableMap, gate: Gated) -> None:
        super().__init__()
        self.analysis, self.gate = analysis, gate
        self.step = nn.Parameter(torch.zeros(len(gate.bias)))
        self.estimate = NormEstimate(analysis)

    def forward(self, u: Image, repetition: int = 0, level: Tensor | None = None, half: bool = False) -> Image:
        """The stream after one application; ``half`` computes responses in bfloat16 and keeps the stream as it is."""
        tau, bias, K = self.tau(repetition), self.gate.bias[repetition], self.analysis
        if not half and (done := _compiled(u, K, K, self.gate, bias, level, tau)) is not None:
            return done
        return u - tau.to(u.dtype) * self.change(u.bfloat16() if half else u, bias, level)

    def change(self, u: Image, bias: Tensor, level: Tensor | None = None) -> Image:
        r"""What one application takes away for a step size of 1, :math:`K^*\, \Phi(K u)`."""
        K, phi = self.analysis, self.gate
        return K.adjoint(phi(K(u), bias, level))

    @property
    def synthesis(self) -> SteerableMap:
        """The same operator again."""
        return self.analysis

    def tau(self, repetition: int = 0) -> Tensor:
        """The step size."""
        return stable_step(self.step[repetition], self.analysis, self.estimate if self.training else None)

    @property
    def reach(self) -> int:
        """How many pixels around a pixel one application looks at, on either side."""
        return self.analysis.reach + self.gate.rho


def stable_step(s: Tensor, operator: SteerableMap, estimate: NormEstimate | None) -> Tensor:
    r"""A step size within its bound, :math:`2\,\sigma(s) / \|K\|^2`; without an estimate the norm is proven."""
    norm = max(operator.squared_norm_bound(), 1e-30) if estimate is None else estimate(operator)
    return 2 * s.sigmoid() / norm


def factorised(K1: SteerableMap, K2: SteerableMap, phi: Gated) -> bool:
    """Whether there are compiled loops for a block with these parts: on a processor and in float32."""
    if not _on_processor(*_parameters(K1, K2, phi)):
        return False
    level = torch.zeros(1, 1, 1, 1) if phi.levelled else None
    # Engines build on blocks; here one of them is looked up, as an option.
    return import_module("whorl.engines.cpu.learned.numbers").factors(K1, K2, phi, level) is not None


def _compiled(
    u: Image, K1: SteerableMap, K2: SteerableMap, phi: Gated, bias: Tensor, level: Tensor | None, tau: float | Tensor
) -> Image | None:
    r""":math:`u - \tau K_2^*\, \Phi(K_1 u)` from compiled loops where no gradient is needed."""
    if torch.is_grad_enabled() and any(each.requires_grad for each in (u, *_parameters(K1, K2, phi))):
        return None
    done: Tensor | None = None
    if u.is_cuda and _installed("triton"):
        done = import_module("whorl.engines.cuda.learned.gated").applied(u, K1, K2, phi, bias, level, tau)
    elif _on_processor(u, *_parameters(K1, K2, phi)):
        done = import_module("whorl.engines.cpu.learned.gated").applied(u, K1, K2, phi, bias, level, float(tau))
    return done


def _parameters(*parts: nn.Module) -> list[Tensor]:
    return [each for part in parts for each in part.parameters()]


def _on_processor(*numbers: Tensor) -> bool:
    same = all(each.device.type == "cpu" and each.dtype == torch.float32 for each in numbers)
    return same and _installed("numba")


@cache
def _installed(package: str) -> bool:
    return find_spec(package) is not None
