"""
A tomogram in five minutes
==========================

Electron tomograms are noisy volumes of thin things: membranes, threads, particles. Edge-enhancing diffusion smooths
along membranes and not across them, in all three dimensions at once. Filtered slice by slice, the same model knows
nothing of what goes on between the slices.
"""

# %%
# A tomogram drawn from formulas: bilayers, filaments and particles, with the missing wedge of a tilt series up to 60
# degrees and noise as strong as the contrast of the matter. The same sample without noise tells how good a result is.

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import mrcfile
import numpy as np

import whorl
from whorl.data.tomogram import tomogram

drawn = tomogram(80, noise=40.0)

# %%
# As a microscope delivers it: an MRC file with the size of its voxels, here 8 ångström.

folder = TemporaryDirectory()
source = Path(folder.name) / "tomo.mrc"
mrcfile.write(source, drawn.noisy[0, 0].numpy(), voxel_size=8.0)

# %%
# On the command line the rest is one line; header and voxel size come along:
#
# .. code-block:: console
#
#    $ whorl filter tomo.mrc out.mrc --model eed --contrast 6 --time 2.4
#
# In Python an array goes in and comes out. ``contrast`` is the slope, in grey values per voxel, above which a membrane
# is one: raise it if noise stays, lower it if membranes fade. ``time`` is how long to smooth.

noisy = mrcfile.read(source)
in_space = whorl.diffuse(noisy, "eed", contrast=6.0, time=2.4)

# %%
# For comparison, the same model slice by slice, at its best contrast and time for this tomogram.

planar = whorl.models.build("eed", contrast=8.0, spacing=(1.0, 1.0))
sliced = np.stack([whorl.diffuse(plane, planar, time=6.4) for plane in noisy])

# %%
# Above a slice as it was recorded, below a section along the beam, where slices filtered one by one do not fit
# together.

clean = drawn.clean[0, 0].numpy()
shown = {"recorded": noisy, "slice by slice": sliced, "in space": in_space}
figure, axes = plt.subplots(2, 3, figsize=(9.4, 6.7))
for column, (title, volume) in zip(axes.T, shown.items(), strict=True):
    psnr = 10 * np.log10(255**2 / np.mean((volume - clean) ** 2))
    for axis, section in zip(column, (volume[60], volume[:, 40]), strict=True):
        axis.imshow(section, cmap="gray", vmin=40, vmax=200)
        axis.axis("off")
    column[0].set_title(f"{title}, {psnr:.1f} dB", fontsize=14)
figure.tight_layout()
plt.show()
