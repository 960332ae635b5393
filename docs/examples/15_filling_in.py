"""
Filling in scratches, text and what was never measured
======================================================

:func:`whorl.inpaint` fills the masked pixels of a picture by edge-enhancing diffusion from those around them. Known
pixels keep their values. Three repairs one meets: a scratched photograph, text printed over a picture, and a picture of
which only one pixel in ten was measured.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from PIL import Image, ImageDraw

import whorl


def show(pictures, zoom):
    """Pictures side by side, and below them a part of each, enlarged."""
    figure, axes = plt.subplots(2, len(pictures), figsize=(9, 5.6))
    for column, (name, picture) in zip(axes.T, pictures.items(), strict=True):
        for axis, part in zip(column, [(slice(None), slice(None)), zoom], strict=True):
            axis.imshow(picture[part], cmap="gray", vmin=0, vmax=255)
            axis.axis("off")
        column[0].set_title(name, fontsize=11)
    figure.tight_layout()
    plt.show()


# %%
# **A scratched photograph.** Scratches are white here, but that does not matter: what stands under the mask has no
# effect.

photograph = skimage.data.astronaut()[:256, 100:356]
y, x = np.mgrid[:256, :256]
scratches = np.zeros((256, 256), bool)
for slope, offset, width in ((0.4, 60, 2.2), (-0.7, 235, 1.4), (3.0, -260, 1.8), (0.05, 118, 1.2), (-1.6, 330, 1.6)):
    wobble = 2 * np.sin(x / 23 + offset)
    scratches |= np.abs(y - slope * x - offset - wobble) < width * np.hypot(1, slope)

scratched = np.where(scratches[..., None], 245, photograph).astype(np.uint8)
repaired = whorl.inpaint(scratched, scratches, channel_axis=-1)

show({"scratched": scratched, "repaired": repaired, "original": photograph}, zoom=np.s_[60:150, 90:180])

# %%
# **Text over a picture.** The mask is where the print has changed the picture, soft rims of the letters included. Where
# text has one plain colour, the command line needs no mask: ``whorl inpaint picture.png '#ffe000' repaired.png``.

coffee = skimage.data.coffee()[60:316, 150:406]
page = Image.fromarray(coffee)
pen = ImageDraw.Draw(page)
for line in range(8):
    pen.text((6, 6 + 31 * line), "one coffee a day, two on Sundays"[line:], fill=(255, 224, 0), font_size=19)
printed = np.array(page)
letters = (printed != coffee).any(-1)
clean = whorl.inpaint(printed, letters, channel_axis=-1)

show({"printed": printed, "repaired": clean, "original": coffee}, zoom=np.s_[90:180, 80:170])

# %%
# **Sparse samples.** One pixel in ten is known. Edge-enhancing diffusion continues edges between the samples;
# homogeneous diffusion leaves a peak at every sample, and the biharmonic one overshoots beside edges.

camera = skimage.data.camera()[30:286, 130:386]
missing = np.random.default_rng(0).random(camera.shape) > 0.1
samples = np.where(missing, 0, camera)
filled = {model: whorl.inpaint(samples, missing, model) for model in ("homogeneous", "biharmonic", "eed")}


def psnr(picture):
    return 10 * np.log10(255**2 / np.mean((picture.astype(float) - camera) ** 2))


titles = {f"{model}, {psnr(picture):.1f} dB": picture for model, picture in filled.items()}
show({"10 % of the pixels": samples, **titles}, zoom=np.s_[20:110, 40:130])

# %%
# **What it cannot do.** Diffusion continues edges and shades. It does not invent texture, and a hole wider than what
# surrounds it comes out smooth: grass under a large patch becomes a blur.

grass = skimage.data.grass()[:256, :256]
patch = np.hypot(y - 128, x - 128) < 50
show(
    {"hole": np.where(patch, 0, grass), "filled": whorl.inpaint(grass, patch), "original": grass},
    zoom=np.s_[58:148, 58:148],
)
