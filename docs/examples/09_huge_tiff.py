"""
A TIFF larger than memory
=========================

Windows with an exact halo give the bits of the whole image. This script writes a 16-bit TIFF, filters it window by
window and compares; its picture is small so that the page builds quickly, but nothing in it depends on the size.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import tifffile

import whorl
from whorl.data.synthetic import Waves, Whorl, render

# %%
# A 16-bit picture in a file.

values = render(Whorl(period=20.0), (600, 900)) + render(Waves(deviation=30.0, count=64), (600, 900))
picture = (values[0, 0].clamp(0, 255) * 257).numpy().astype(np.uint16)
folder = TemporaryDirectory()
source, target = Path(folder.name) / "scan.tif", Path(folder.name) / "smooth.tif"
tifffile.imwrite(source, picture)

# %%
# On the command line this is ``whorl filter scan.tif smooth.tif --model weickert-brox --contrast 4000 --time 4 --tile
# auto``. In Python, anything that can be sliced
# into arrays can be read as an image, and anything that takes slices can be written to.

scan = tifffile.memmap(source, mode="r")
smooth = tifffile.memmap(target, shape=scan.shape, dtype=scan.dtype)
model = whorl.models.build("weickert-brox", contrast=4000.0)
whorl.large.map(scan, model, time=4.0, tile=256, out=smooth)

# %%
# The result equals that of the whole image in every bit. Each step looks one pixel further, so ten steps need a halo of
# ten pixels around each window.

whole = whorl.diffuse(picture, model, time=4.0)
steps = whorl.large.stages(model, time=4.0)
print("equal to the last bit:", np.array_equal(whole, smooth), "| halo:", whorl.large.halo(steps), "pixels")
assert np.array_equal(whole, smooth)

figure, axes = plt.subplots(2, 1, figsize=(7, 9.4))
for axis, (name, shown) in zip(axes, (("scan", picture), ("filtered in windows", smooth)), strict=True):
    axis.imshow(shown[130:380, 320:720], cmap="gray", vmin=0, vmax=65535, extent=(320, 720, 380, 130))
    axis.set_title(f"{name} (part)")
    axis.axvline(512, color="tab:orange")  # where windows meet
    axis.axhline(256, color="tab:orange")
    axis.axis("off")
figure.tight_layout()
plt.show()
del scan, smooth
folder.cleanup()
