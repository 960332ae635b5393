"""The diffusion block: an explicit step of a diffusion equation, read as a residual block."""

from typing import TYPE_CHECKING, cast

from torch import Tensor

from whorl import engines
from whorl.activations import Activation
from whorl.blocks.residual import ResNetBlock, ResNeXtBlock
from whorl.foundations import validation
from whorl.foundations.graphs import OneNode
from whorl.foundations.positive import Positive
from whorl.foundations.types import Image
from whorl.operators import Operator
from whorl.steps import Described, Numbers, Step


class DiffusionBlock(OneNode):
    r"""One explicit diffusion step, :math:`u^{k+1} = u^k - \tau K^* \Phi(K u^k)`.

    The operator's channels and the activation's coupling decide which block of the paper it is: the diffusion block,
    equation (17), the fully coupled multi-channel block, (28), or the fully coupled multiscale block, (36).

    Parameters
    ----------
    operator, activation
        :math:`K` and :math:`\Phi`; train them by making their own parameters trainable.
    tau : float
        Time step.
    structure : Operator, optional
        Another operator whose responses the nonlinearity looks at, such as a smoothed gradient:
        :math:`\Phi(K u;\, K_\sigma u)`.
    trainable_tau : bool
        Whether the time step is trained (through its logarithm).

    Examples
    --------
    >>> import torch
    >>> from whorl.activations import Isotropic
    >>> from whorl.diffusivities import Exponential
    >>> from whorl.operators import CellGradient
    >>> block = DiffusionBlock(CellGradient(), Isotropic(Exponential(10.0)), tau=0.2)
    >>> block(torch.rand(1, 1, 16, 16)).shape
    torch.Size([1, 1, 16, 16])
    """

    def __init__(
        self,
        operator: Operator,
        activation: Activation,
        tau: float,
        *,
        structure: Operator | None = None,
        trainable_tau: bool = False,
    ) -> None:
        super().__init__()
        self.operator, self.activation, self.structure = operator, activation, structure
        self._tau = Positive(tau, trainable=trainable_tau, name="tau")
        self.engine = "auto"
        self._described = Described(operator, activation, structure)

    @property
    def tau(self) -> Tensor:
        """The time step."""
        value: Tensor = self._tau()
        return value

    @property
    def description(self) -> Step:
        """The step, as engines take it."""
        return self._described.of(self.operator, self.activation, self.structure)

    def forward(self, u: Image) -> Image:
        """The image after one step, by the engine named in ``engine``; see :mod:`whorl.engines`."""
        if (node := self.as_node(u)) is not None:
            return cast(Tensor, node)
        validation.batched(u, type(self).__name__, self.operator.dimension)
        return engines.advance(self.description, u, [Numbers(self.tau)], self.engine)

    if TYPE_CHECKING:  # torch leaves the type of a call open

        def __call__(self, u: Image) -> Image: ...

    def gradient(self, u: Image) -> Image:
        r"""The descent direction without its sign, :math:`K^* \Phi(K u)`."""
        return self.description.gradient(u)

    def to_resnet(self, channels: int = 1) -> ResNetBlock:
        r"""The same step as :math:`\varphi_2(f + W_2\, \varphi_1(W_1 f + b_1) + b_2)`, in plain convolutions.

        Equation (5) with :math:`W_1 = K`, :math:`\varphi_1 = \tau\Phi`, :math:`W_2 = -K^*`,
        :math:`\varphi_2 = \mathrm{Id}` and zero biases. Equal to the block at every pixel, borders included.
        """
        return ResNetBlock(self.operator, self.activation, float(self.tau.detach()), channels, self.structure)

    def to_resnext(self, channels: int = 1) -> ResNeXtBlock:
        r"""The same step as a sum over paths, equation (37): one path per scale.

        :math:`W_{1,\ell} = K_\ell`, :math:`\varphi_\ell = \tau\Phi` coupling all paths,
        :math:`W_{2,\ell} = -\omega_\ell K_\ell^*`, zero biases. Equal to the block at every pixel, borders included.
        """
        return ResNeXtBlock(self.operator, self.activation, float(self.tau.detach()), channels, self.structure)
