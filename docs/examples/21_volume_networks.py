"""
A volume, denoised by a network
===============================

Volumes are noisy where pictures would be exposed again: every slice of a scan costs dose or time. A network of five
thousand numbers, trained on drawn volumes alone, removes the noise in all three dimensions at once.
"""

# %%
# A drawn tomogram with noise of standard deviation 20, and nobody tells how strong it is.

import matplotlib.pyplot as plt
import numpy as np

import whorl
from whorl.data.tomogram import tomogram

drawn = tomogram(48, seed=3, noise=20.0)
clean, noisy = drawn.clean[0, 0].numpy(), drawn.noisy[0, 0].numpy()
print(whorl.noise(noisy))

# %%
# Three axes are a volume ``(z, y, x)``; its noise is measured, and ``volume-5k`` removes it. A network for pictures
# sees one slice at a time, and knows nothing of the slices above and below.

in_space = whorl.denoise(noisy)
sliced = whorl.denoise(noisy, 20.0, network="photo-grey", page_axis=0)

# %%
# Above a slice, below a section across all slices: there slices that were denoised one by one do not fit together.

shown = {"noisy": noisy, "slice by slice": sliced, "in space": in_space}
figure, axes = plt.subplots(2, 3, figsize=(9.4, 6.7))
for column, (title, volume) in zip(axes.T, shown.items(), strict=True):
    psnr = 10 * np.log10(255**2 / np.mean((volume - clean) ** 2))
    for axis, section in zip(column, (volume[24], volume[:, 20]), strict=True):
        axis.imshow(section, cmap="gray", vmin=40, vmax=200)
        axis.axis("off")
    column[0].set_title(f"{title}, {psnr:.1f} dB", fontsize=14)
figure.tight_layout()
plt.show()

# %%
# Turned by a quarter about any axis, or mirrored, the volume gives the same result, turned: the stencils of the network
# have the symmetries of the cube.

turned = whorl.denoise(np.rot90(noisy, axes=(0, 2)), 20.0)
difference = np.abs(turned - np.rot90(whorl.denoise(noisy, 20.0), axes=(0, 2))).max()
print(f"largest difference after a quarter turn: {difference:.1e} grey values")
