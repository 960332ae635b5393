"""
Noise in magnetic resonance images
==================================

The magnitude of a complex signal has Rician noise: like Gaussian noise where the signal is strong, and always positive
where there is none. Voxels are often longer along one axis. Both are no obstacle for diffusion in space.
"""

# %%
# The MNI152 average of 152 brains ships with nilearn, one millimetre a voxel. Where nilearn is not installed, folded
# sheets drawn from a formula stand in for the brain, so that this page can be built anywhere.

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np

import whorl
from whorl.data.solids import Gyroid, render_solid

if find_spec("nilearn"):
    from nilearn.datasets import load_mni152_template

    head = np.asarray(load_mni152_template(resolution=1).get_fdata(), np.float32)
    clean = 200 * head[58:138, 70:150, 40:130].transpose(2, 1, 0) / head.max()  # (z, y, x)
else:
    clean = 2 * render_solid(Gyroid(period=24.0, radius=60.0, slope=16.0), (90, 80, 80))[0, 0].float().numpy() - 130

# %%
# Slices of three millimetres, as many protocols record them, and noise of standard deviation 15 in both parts of the
# complex signal.

slices = clean[: len(clean) // 3 * 3].reshape(-1, 3, *clean.shape[1:]).mean(1)
random = np.random.default_rng(0)
real, imaginary = 15 * random.standard_normal((2, *slices.shape))
recorded = np.hypot(slices + real, imaginary).astype(np.float32)

# %%
# ``spacing`` says that voxels are three times as deep as they are wide: differences along z count a third, and a slope
# means the same in every direction. Without it, the model takes the brain for one squeezed to a third of its height.

model = {"contrast": 9.0, "sigma": 0.7, "time": 1.2}
right = whorl.diffuse(recorded, "eed", spacing=(3.0, 1.0, 1.0), **model)
wrong = whorl.diffuse(recorded, "eed", spacing=(1.0, 1.0, 1.0), **model)

# %%
# PSNR against the slices without noise. Rician noise brightens what is dark, and smoothing keeps the mean: where the
# signal is weak the bias stays, for any filter that is not told of it.

shown = {"recorded": recorded, "cubic voxels": wrong, "their true size": right}
figure, axes = plt.subplots(2, 3, figsize=(9.4, 6.9), height_ratios=[1.1, 1])
for column, (title, volume) in zip(axes.T, shown.items(), strict=True):
    psnr = 10 * np.log10(200**2 / np.mean((volume - slices) ** 2))
    column[0].imshow(volume[15], cmap="gray", vmin=0, vmax=200, origin="lower")
    column[1].imshow(volume[:, 40], cmap="gray", vmin=0, vmax=200, origin="lower", aspect=3)
    column[0].set_title(f"{title}, {psnr:.1f} dB", fontsize=14)
for axis in axes.flat:
    axis.axis("off")
figure.tight_layout()
plt.show()
