"""Blocks of learned steerable operators and gates: the diffusion block with a learned matrix in the place of g."""

import torch
from torch import Tensor, nn

from whorl import engines
from whorl.activations.gated import Gated
from whorl.foundations.types import Image
from whorl.operators.norm_estimate import NormEstimate
from whorl.operators.steerable import SteerableMap
from whorl.steps import GatedNumbers, GatedStep


class LearnedBlock(nn.Module):
    """What learned blocks share: one application is a step, taken by the engine named in ``engine``."""

    analysis: SteerableMap
    synthesis: SteerableMap
    gate: Gated
    engine = "auto"

    def forward(self, u: Image, repetition: int = 0, level: Tensor | None = None, half: bool = False) -> Image:
        """The stream after one application; ``half`` computes responses in bfloat16 and keeps the stream as it is."""
        numbers = GatedNumbers(self.gate.bias[repetition], self.tau(repetition))
        return engines.apply(self.description(level, half), u, numbers, "reference" if half else self.engine)

    def description(self, level: Tensor | None = None, half: bool = False) -> GatedStep:
        """The step, as engines take it."""
        return GatedStep(self.analysis, self.synthesis, self.gate, level, half)

    def tau(self, repetition: int = 0) -> Tensor | None:
        """The step size; None for 1."""
        return None

    @property
    def reach(self) -> int:
        """How many pixels around a pixel one application looks at, on either side."""
        return self.analysis.radius + self.synthesis.radius + self.gate.rho


class GatedBlock(LearnedBlock):
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


class StableGatedBlock(LearnedBlock):
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

    @property
    def synthesis(self) -> SteerableMap:  # type: ignore[override]
        """The same operator again."""
        return self.analysis

    def tau(self, repetition: int = 0) -> Tensor:
        return stable_step(self.step[repetition], self.analysis, self.estimate if self.training else None)


def stable_step(s: Tensor, operator: SteerableMap, estimate: NormEstimate | None) -> Tensor:
    r"""A step size within its bound, :math:`2\,\sigma(s) / \|K\|^2`; without an estimate the norm is proven."""
    norm = max(operator.squared_norm_bound(), 1e-30) if estimate is None else estimate(operator)
    return 2 * s.sigmoid() / norm
