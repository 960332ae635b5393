r"""
Diffusivities, fluxes and regularisers
======================================

The function :math:`g` decides how much an edge slows diffusion down. Where the flux :math:`g(s^2)\,s` falls, edges are
sharpened; where :math:`\Psi` is convex in :math:`s`, they never are.
"""

import matplotlib.pyplot as plt
import torch

import whorl
from whorl.data.plate import Plate
from whorl.data.synthetic import Waves, render

s = torch.linspace(0, 4, 400, dtype=torch.float64)
names = ["homogeneous", "charbonnier", "rational", "exponential", "weickert"]
figure, axes = plt.subplots(3, 1, figsize=(7, 10))
for name in names:
    g = whorl.diffusivities.by_name(name, contrast=1.0)
    axes[0].plot(s, g(s**2), label=name)
    axes[1].plot(s, g(s**2) * s)
    axes[2].plot(s, g.psi(s**2))
for axis, title in zip(axes, ("diffusivity $g(s^2)$", "flux $g(s^2)\\,s$", "regulariser $\\Psi(s^2)$"), strict=True):
    axis.set(title=title, xlabel="$s/\\lambda$")
axes[0].legend(frameon=False)
axes[1].set_ylim(0, 2)
axes[2].set_ylim(0, 5)
figure.tight_layout()

# %%
# The same picture, contrast and time; only the diffusivity differs.

noisy = render(Plate(), 190) + render(Waves(deviation=12.0, seed=5), 190)
# sphinx_gallery_thumbnail_number = 2
figure, axes = plt.subplots(2, 3, figsize=(9, 6.6))
axes[1, 2].imshow(noisy[0, 0].numpy(), cmap="gray", vmin=0, vmax=255)
axes[1, 2].set_title("noisy")
axes[1, 2].axis("off")
for axis, name in zip(axes.flat, names, strict=False):
    result = whorl.models.build("weickert-brox", contrast=15.0, diffusivity=name)(noisy, time=5.0)
    axis.imshow(result[0, 0].numpy(), cmap="gray", vmin=0, vmax=255)
    axis.set_title(name)
    axis.axis("off")
figure.tight_layout()
plt.show()
