"""Trained multiscale diffusion: a chain of blocks that share most of their parameters."""

from torch import Tensor, nn

from whorl.blocks import DiffusionBlock
from whorl.networks.base import DiffusionNetwork, activation, scale_stack
from whorl.networks.spec import NetworkSpec
from whorl.steps import Numbers, Step


class MultiscaleNetwork(DiffusionNetwork):
    r"""Ten explicit steps of multiscale diffusion with trained parameters.

    .. math:: u^{k+1} = u^k - \tau \sum_{\ell=1}^{L} \omega_\ell\, K_\ell^\top\, \Phi(u^k, K_\ell u^k),
              \qquad K_\ell = \beta_\ell\, \nabla_{\sigma_\ell}

    with :math:`g(s^2) = \exp(-s^2 / (2\lambda^2))` in :math:`\Phi`. Trained are :math:`\tau`, :math:`\lambda` (their
    logarithms) and :math:`\beta_1, \dots, \beta_L`: ten numbers for the paper's networks.

    Shapes: ``(n, c, y, x) -> (n, c, y, x)``, grey values in the range the network was trained on (0 to 255); image
    channels are coupled.

    Guarantees
    ----------
    The mean is kept, constants stay constant, quarter turns of the image turn the result. Coupled networks approximate
    invariance under any turn; uncoupled ones do not. Trained step sizes may lie above the proven stability limit.

    Examples
    --------
    >>> network = MultiscaleNetwork(NetworkSpec("isotropic"))
    >>> sum(p.numel() for p in network.parameters() if p.requires_grad)
    10
    """

    def __init__(
        self, spec: NetworkSpec | None = None, *, tau: float = 0.05, contrast: float = 60.0, beta: float = 1.0
    ) -> None:
        spec = NetworkSpec() if spec is None else spec
        super().__init__(spec)
        self.operator = scale_stack(spec, spec.alpha, beta, trainable=not spec.sigma)
        self.structure = None
        if spec.own_structure or spec.centred:
            # alpha = 1/2 leaves no detail: the centred measure
            self.structure = scale_stack(spec, 0.5 if spec.centred else spec.alpha, beta, trainable=not spec.sigma)
            if not spec.own_structure:
                self.structure.beta = self.operator.beta
        self.blocks = nn.ModuleList()
        for _ in range(spec.steps if spec.own_steps else 1):
            phi = activation(spec, self.operator.sampling.omega, contrast, trainable=True)
            self.blocks.append(DiffusionBlock(self.operator, phi, tau, structure=self.structure, trainable_tau=True))

    @property
    def description(self) -> Step:
        """The step of the first block; those of others differ in their numbers alone."""
        return self._each()[0].description

    def numbers(self) -> list[Numbers]:
        """Those of the blocks; one block serves for all steps unless each has its own."""
        blocks = self._each()
        chosen = [blocks[k % len(blocks)] for k in range(self.spec.steps)]
        return [block.description.complete(Numbers(block.tau)) for block in chosen]

    def trained(self) -> dict[str, list[Tensor]]:
        """Step sizes and contrasts (one each, or one per block), weights of the scales."""
        found: dict[str, list[Tensor]] = {
            "log_tau": [block.get_parameter("_tau.log") for block in self._each()],
            "log_contrast": [block.get_parameter("activation.diffusivity._contrast.log") for block in self._each()],
            "beta": [self.operator.beta],
        }
        if self.structure is not None and self.spec.own_structure:
            found["structure_beta"] = [self.structure.beta]
        return found

    def _each(self) -> list[DiffusionBlock]:
        return [block for block in self.blocks if isinstance(block, DiffusionBlock)]
