"""A block that changes a picture by a stable step, and a guide beside it that tells the gates where."""

import torch
from torch import Tensor, nn

from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock, stable_step
from whorl.operators.joined import JoinedMap
from whorl.operators.norm_estimate import NormEstimate
from whorl.operators.steerable import SteerableMap


class GuidedBlock(GatedBlock):
    r"""One step of a picture :math:`u` with one operator, and of a guide :math:`w` with two.

    .. math:: u^{k+1} = u^k - \tau K^* D\, K u^k, \qquad w^{k+1} = w^k - G_2^*\, E\, G_1 (u^k, w^k)

    The gates :math:`D` and :math:`E` look at all responses, :math:`K u` and :math:`G_1 (u, w)`. What the guide tells
    them is not restricted; still each is a number in [0, 1]. So the step multiplies the picture by
    :math:`I - \tau K^* D K` with :math:`0 \le D \le I`, whose norm is at most 1 for :math:`\tau \|K\|^2 \le 2`. This is
    diffusion whose diffusivities are found by a network, where classical models find them from a presmoothed picture.

    Parameters
    ----------
    picture : SteerableMap
        :math:`K`, for the first channels of the stream.
    analysis, synthesis : SteerableMap
        :math:`G_1` for all channels and :math:`G_2` for those of the guide, with the same fields.
    gate : Gated
        For the fields of :math:`K` and :math:`G_1`; of each order, those of :math:`K` come first.

    Guarantees
    ----------
    The L2 norm of the picture never grows, for any weights, any picture and any guide; quarter turns and mirror images
    carry over exactly.

    Examples
    --------
    >>> K, G1, G2 = SteerableMap(1, (3, 2, 1)), SteerableMap(5, (4, 2, 1)), SteerableMap(4, (4, 2, 1))
    >>> block = GuidedBlock(K, G1, G2, Gated((0,) * 7 + (1,) * 4 + (2,) * 2)).eval()
    >>> u = torch.randn(1, 5, 16, 16)
    >>> bool(block(u)[:, :1].norm() <= u[:, :1].norm())
    True
    """

    def __init__(self, picture: SteerableMap, analysis: SteerableMap, synthesis: SteerableMap, gate: Gated) -> None:
        channels = picture.channels + synthesis.channels
        super().__init__(JoinedMap(picture, analysis, channels), SteppedMap(picture, synthesis, channels), gate)


class SteppedMap(JoinedMap):
    r"""The synthesis :math:`(\tau K, G_2)` with :math:`\tau = 2\,\sigma(s) / \|K\|^2`, where :math:`s` is learned."""

    def __init__(self, picture: SteerableMap, synthesis: SteerableMap, channels: int) -> None:
        super().__init__(picture, synthesis, channels)
        # The analysis owns the picture's map: it is listed, saved and counted there.
        self.__dict__["first"] = self._modules.pop("first")
        self.step = nn.Parameter(torch.zeros(()))
        self.estimate = NormEstimate(picture)

    @property
    def first_mixing(self) -> list[Tensor]:
        tau = self.tau()
        return [tau * weight for weight in self.first.mixing]

    def tau(self, repetition: int = 0) -> Tensor:
        """The step size. In training the norm is estimated; otherwise a proven bound takes its place."""
        return stable_step(self.step, self.first, self.estimate if self.training else None)
