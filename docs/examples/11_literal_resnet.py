"""
A diffusion step *is* a residual block
======================================

Not a likeness but an equality: ``to_resnet()`` writes a diffusion block out as two plain convolutions, an activation
and a skip connection, ``to_resnext()`` a multiscale block as one path per scale. Both agree with the block at every
pixel, borders included.
"""

import matplotlib.pyplot as plt
import torch

from whorl.blocks import diffusion_block, literal_stencils, multiscale_block
from whorl.operators import sample_scales

u = 255 * torch.rand(1, 1, 48, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

# %%
# The ResNet block: :math:`\varphi_2(f + W_2\, \varphi_1(W_1 f + b_1) + b_2)` with :math:`W_1 = K`,
# :math:`\varphi_1 = \tau\Phi`, :math:`W_2 = -K^\top`.

block = diffusion_block(contrast=12.0)
resnet = block.to_resnet()
print(resnet)

# %%
# The ResNeXt block: three scales, three paths, one activation for all.

multiscale = multiscale_block(contrast=12.0, sampling=sample_scales(3, smallest=0.3, largest=3.0))
resnext = multiscale.to_resnext()

with torch.no_grad():
    for name, step, literal in (("ResNet", block, resnet), ("ResNeXt", multiscale, resnext)):
        difference = float((step(u) - literal(u)).abs().max())
        print(f"{name}: largest difference {difference:.1e} grey values")
        assert difference < 1e-10

# %%
# The weights of :math:`W_1`: two derivatives and two details on the finest of three scales, and smoothed derivatives on
# the coarser ones.

stencils = literal_stencils(multiscale.operator)
figure, axes = plt.subplots(3, 4, figsize=(8.4, 6.4))
for row, scale in zip(axes, stencils, strict=True):
    for axis, stencil, name in zip(row, scale, ("x", "y", "detail x", "detail y"), strict=True):
        limit = float(stencil.abs().max())
        axis.imshow(stencil.numpy(), cmap="RdBu_r", vmin=-limit, vmax=limit)
        axis.set(xticks=[], yticks=[])
        if row is axes[0]:
            axis.set_title(name)
for row, sigma in zip(axes, multiscale.operator.sampling.sigma, strict=True):
    row[0].set_ylabel(f"σ = {sigma:.2f}")
figure.tight_layout()
plt.show()
