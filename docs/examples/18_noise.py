"""
The noise of a micrograph
=========================

How strong is the noise of a real micrograph, does it depend on the grey value, and are neighbours correlated? The
picture itself tells, and what is told can be checked.
"""

# %%
# A cell floating in saline, from scikit-image: a phase image retrieved from a digital hologram.

import matplotlib.pyplot as plt
import numpy as np
import skimage.data

import whorl

cell = skimage.data.cell()
model = whorl.noise(cell)
print(model)

# %%
# There is hardly any noise beyond the rounding to 8 bits, and denoising leaves the picture as it is, or nearly. So let
# fewer photons arrive: one for 6 grey values, and a camera with noise of its own.

random = np.random.default_rng(0)
noisy = random.poisson(cell / 6.0) * 6.0 + random.normal(20, 4, cell.shape)
measured = whorl.noise(noisy)
print(measured)

# %%
# The gain is that of the photons. ``denoise`` measures the same model, makes the noise even, removes it, and transforms
# back without bias: the mean is that of the picture.

result = whorl.denoise(noisy)
truth = cell + 20.0
for name, picture in (("noisy", noisy), ("denoised", result)):
    psnr = 10 * np.log10(255**2 / np.mean((picture - truth) ** 2))
    print(f"{name}: {psnr:.1f} dB, mean {picture.mean():.2f}")

# %%
# What was removed, in units of the noise at each grey value, looks like noise: nothing of the cell is in it.

deviation = np.sqrt(np.maximum(measured.gain[0] * result + measured.offset[0], 1.0))
figure, axes = plt.subplots(1, 3, figsize=(9.2, 5.2))
shown = {"noisy": noisy, "denoised": result, "removed, in standard deviations": (noisy - result) / deviation}
for axis, (title, picture) in zip(axes, shown.items(), strict=True):
    ends = {"vmin": -3, "vmax": 3} if "removed" in title else {"vmin": 20, "vmax": 240}
    axis.imshow(picture, cmap="gray", **ends)
    axis.set_title(title, fontsize=11)
    axis.axis("off")
figure.tight_layout()
plt.show()
