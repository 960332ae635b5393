"""
Closing lines by coherence-enhancing diffusion
==============================================

Fingerprints and tree rings are made of lines that noise and scratches interrupt. Coherence-enhancing diffusion (model
``ced``) smooths along the direction that the lines have on average over a few pixels, and hardly at all elsewhere: gaps
close, and lines do not grow thicker.
"""

# %%
# Two pictures as formulas: the whorl of a finger, and the rings of a slightly oval trunk. Both get noise, and light
# scratches that cut through the lines.

import matplotlib.pyplot as plt
import torch

import whorl
from whorl.data.synthetic import Waves, Whorl, render


def rings(x, y):
    """Tree rings: years of unequal width around a core that is off the centre."""
    radius = ((x + 30) ** 2 + (1.15 * (y - 18)) ** 2).sqrt()
    year = radius / 11 + 0.35 * torch.sin(radius / 17) + 0.12 * torch.sin(3 * torch.atan2(y - 18, x + 30))
    return 150 + 60 * torch.cos(2 * torch.pi * year)


def scratched(scene, size=220):
    """The picture with noise and four light scratches."""
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    picture = scene + render(Waves(deviation=25.0, seed=2, cutoff=0.45), size)
    for k, slope in enumerate((0.35, -0.6, 1.3, -1.8)):
        distance = (y - size / 2 - slope * (x - size / 2) + 24 * (k - 1.5)) / (1 + slope**2) ** 0.5
        picture = torch.where(distance.abs() < 1.2, 235.0, picture)
    return picture


pictures = {"fingerprint": render(Whorl(period=12.0), 220), "tree rings": render(rings, 220)}

# %%
# ``rho`` is the distance over which directions are averaged; it should span a line and the gap beside it. ``contrast``
# says how coherent a line must be before it is followed. Edge-enhancing diffusion stands beside it for comparison: it
# takes scratches for edges and keeps them.

eed = {
    "fingerprint": whorl.models.build("eed", contrast=10.0, sigma=1.5),
    "tree rings": whorl.models.build("eed", contrast=4.0, sigma=1.5),
}
ced = whorl.models.build("ced", contrast=3.0, sigma=1.0, rho=5.0)

figure, axes = plt.subplots(2, 3, figsize=(9.4, 6.7))
for row, (name, clean) in zip(axes, pictures.items(), strict=True):
    damaged = scratched(clean)
    results = {name: damaged, "eed": eed[name](damaged, time=10.0), "ced": ced(damaged, time=20.0)}
    for axis, (title, picture) in zip(row, results.items(), strict=True):
        psnr = float(whorl.metrics.psnr(picture, clean, value_range=255))
        axis.imshow(picture[0, 0, 30:190, 30:190].numpy(), cmap="gray", vmin=0, vmax=255)
        axis.set_title(f"{title}, {psnr:.1f} dB", fontsize=14)
        axis.axis("off")
figure.tight_layout()
plt.show()
