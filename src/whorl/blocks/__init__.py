"""Residual blocks that are explicit steps of diffusion equations."""

from whorl.blocks.block import DiffusionBlock
from whorl.blocks.paper import diffusion_block, multichannel_block, multiscale_block
from whorl.blocks.residual import MirrorFold, MirrorPad, ResNetBlock, ResNeXtBlock, literal_stencils

__all__ = [
    "DiffusionBlock", "MirrorFold", "MirrorPad", "ResNeXtBlock", "ResNetBlock", "diffusion_block", "literal_stencils",
    "multichannel_block", "multiscale_block",
]  # fmt: skip
