"""
Colour channels, coupled and one by one
=======================================

Edges of a colour picture lie in all channels at once. A model that treats the channels one by one moves each channel's
edges a little differently and leaves coloured seams. The models of Gerig et al. and of Weickert and Brox sum up the
structure of all channels: Design Principle 2.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data

import whorl

# %%
# NumPy arrays go through :func:`whorl.diffuse`; 8 bits in, 8 bits out.

clean = skimage.data.astronaut()[20:220, 130:330]
noise = np.random.default_rng(0).normal(0, 25, clean.shape)
noisy = np.clip(clean + noise, 0, 255).astype(np.uint8)

channel_wise = whorl.diffuse(noisy, "perona-malik", contrast=30.0, time=5.0, channel_axis=-1)
gerig = whorl.diffuse(noisy, "gerig", contrast=45.0, time=5.0, channel_axis=-1)
weickert_brox = whorl.diffuse(noisy, "weickert-brox", contrast=40.0, time=5.0, channel_axis=-1)

# %%
# The lower row shows colour alone: each pixel divided by its brightness. One by one, every speck of noise keeps a
# colour of its own.


def colour(picture):
    values = picture.astype(float) + 8
    return np.clip(values / values.sum(-1, keepdims=True) * 1.6, 0, 1)


pictures = {
    "noisy": noisy,
    "one by one\n(perona-malik)": channel_wise,
    "coupled, isotropic\n(gerig)": gerig,
    "coupled, anisotropic\n(weickert-brox)": weickert_brox,
}
figure, axes = plt.subplots(2, 4, figsize=(9, 5.6))
for column, (name, picture) in zip(axes.T, pictures.items(), strict=True):
    column[0].imshow(picture)
    column[0].set_title(name, fontsize=11)
    column[1].imshow(colour(picture))
    for axis in column:
        axis.axis("off")
figure.tight_layout()
plt.show()
