"""The three blocks of the paper's figures, ready to put into a network."""

from whorl.activations import Activation, Anisotropic, Isotropic
from whorl.blocks.block import DiffusionBlock
from whorl.diffusivities import Exponential
from whorl.operators import CellGradient, ScaleSampling, ScaleStack, sample_scales


def diffusion_block(
    contrast: float = 1.0, tau: float = 0.2, *, alpha: float = 0.41, trainable: bool = False
) -> DiffusionBlock:
    """The diffusion block: operator channels coupled (Design Principle 1), image channels one by one.

    >>> sum(p.numel() for p in diffusion_block(trainable=True).parameters() if p.requires_grad)
    2
    """
    phi = Isotropic(Exponential(contrast, trainable=trainable))
    return DiffusionBlock(CellGradient(alpha), phi, tau, trainable_tau=trainable)


def multichannel_block(
    contrast: float = 1.0,
    tau: float = 0.2,
    *,
    alpha: float = 0.41,
    gamma: float = 0.0,
    anisotropic: bool = True,
    trainable: bool = False,
) -> DiffusionBlock:
    """The fully coupled multi-channel diffusion block (Design Principle 2).

    >>> multichannel_block().activation.couple
    ('channels',)
    """
    phi = _activation(Exponential(contrast, trainable=trainable), ("channels",), anisotropic, gamma, None)
    return DiffusionBlock(CellGradient(alpha), phi, tau, trainable_tau=trainable)


def multiscale_block(
    contrast: float = 1.0,
    tau: float = 0.05,
    *,
    alpha: float = 0.41,
    gamma: float = 0.0,
    anisotropic: bool = True,
    sampling: ScaleSampling | None = None,
    omega_inside: bool = True,
    trainable: bool = False,
) -> DiffusionBlock:
    """The fully coupled multiscale diffusion block (Design Principle 3); it couples image channels, too.

    ``omega_inside`` weighs the scales inside the diffusivity as in the paper's energies; without, every scale counts
    alike as in the paper's printed flux and its experiment.

    >>> sum(p.numel() for p in multiscale_block(trainable=True).parameters() if p.requires_grad)
    10
    """
    sampling = sample_scales() if sampling is None else sampling
    weights = sampling.omega if omega_inside else None
    phi = _activation(Exponential(contrast, trainable=trainable), ("channels", "scales"), anisotropic, gamma, weights)
    return DiffusionBlock(
        ScaleStack(CellGradient(alpha), sampling, trainable=trainable), phi, tau, trainable_tau=trainable
    )


def _activation(
    g: Exponential, couple: tuple[str, ...], anisotropic: bool, gamma: float, weights: tuple[float, ...] | None
) -> Activation:
    if anisotropic:
        return Anisotropic(g, couple, gamma=gamma, scale_weights=weights)
    if gamma:
        raise ValueError(f"gamma = {gamma:g} has no effect on an isotropic block. Leave it at 0.")
    return Isotropic(g, couple, scale_weights=weights)
