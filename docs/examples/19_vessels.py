"""
Vessels of an eye
=================

A network of 4,981 numbers finds lines. Every block makes scalars, vectors and orientations of the picture, so that a
turned picture gives the turned result. The eye here is drawn: photographs of patients belong to them.
"""

# %%
# A drawn retina, in which every vessel is known.

import matplotlib.pyplot as plt
import numpy as np

import whorl
from whorl.data.eye import drawn_eye

picture, vessels, inside = drawn_eye(400, seed=1)
chances = whorl.segment(picture, channel_axis=-1)
found = chances >= 0.45
print(f"Dice {2 * (found & vessels).sum() / (found.sum() + vessels.sum()):.3f}")

# %%
# The picture turned by a quarter turn gives the same chances, turned.

turned = whorl.segment(np.rot90(picture).copy(), channel_axis=-1)
print(f"largest difference {np.abs(turned - np.rot90(chances)).max():.1e}")

# %%
# Black are vessels that were found, red those that were missed, blue what was taken for a vessel.

shown = np.ones((*vessels.shape, 3))
shown[found & vessels] = 0.0
shown[~found & vessels] = (0.9, 0.1, 0.1)
shown[found & ~vessels] = (0.2, 0.4, 1.0)
figure, axes = plt.subplots(1, 2, figsize=(9.2, 5.2))
for axis, (title, panel) in zip(axes, {"a drawn eye": picture, "what was found": shown}.items(), strict=True):
    axis.imshow(panel)
    axis.set_title(title, fontsize=11)
    axis.axis("off")
figure.tight_layout()
plt.show()
