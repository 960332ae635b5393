"""
Deblurring with an energy one can trust
=======================================

A picture was blurred by a shaking hand, and there is noise on it. The result is the one minimiser of a data term and an
energy: how far its blur is from the picture, and how much its fields respond. Nothing in it is left to chance, and how
much the energy counts follows from the noise.
"""

import matplotlib.pyplot as plt
import skimage
import torch

import whorl
from whorl.reconstruction import Blur, Measurement, minimiser

picture = torch.from_numpy(skimage.data.camera()[60:156, 180:276]).float()[None, None]

# %%
# The path of the hand, drawn as a curve of 200 points on 9 x 9 pixels.

time = torch.linspace(0, 1, 200)
path = torch.stack([4 + 3 * torch.sin(3 * time), 1 + 6 * time]).round().long()
kernel = torch.zeros(9, 9).index_put_(tuple(path), torch.tensor(1 / 200), accumulate=True)

# %%
# The data are smaller than the picture by four pixels on every side: nothing is assumed of what lies beyond.

blur = Blur(kernel)
data = blur(picture) + 4 * torch.randn(1, 1, 88, 88, generator=torch.Generator().manual_seed(0))

# %%
# :func:`whorl.reconstruct` is all it takes. :func:`whorl.reconstruction.minimiser` tells more: the weight, and the
# gradient that is left. Total variation is an energy, too: that of a model.

learned = minimiser(Measurement.of(blur, data), data, "energy-convex", noise=4.0, peak=255.0)
variation = whorl.models.build("perona-malik", diffusivity="charbonnier", contrast=1.0)
classical = whorl.reconstruct(data, blur, energy=variation, noise=4.0)

inner = (..., slice(4, -4), slice(4, -4))
shown = {"blurred": data, "total variation": classical[inner], "learned, convex": learned.u[inner]}
print(f"weight {learned.weight:.2f}, gradient {learned.residual:.1e} after {learned.steps} steps")

# %%

figure, axes = plt.subplots(2, 2, figsize=(7, 7.4))
for axis, (name, found) in zip(axes.flat, {"picture": picture[inner], **shown}.items(), strict=True):
    quality = (
        "" if name == "picture" else f", {float(whorl.metrics.psnr(found, picture[inner], value_range=255)):.1f} dB"
    )
    axis.imshow(found[0, 0], cmap="gray", vmin=0, vmax=255)
    axis.set_title(name + quality)
    axis.axis("off")
plt.tight_layout()
plt.show()
