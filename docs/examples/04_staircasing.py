"""
Staircasing: second against fourth order
========================================

Second order models such as Perona and Malik's push a noisy ramp into stairs: flat pieces have no gradient and cost no
energy. Fourth order models look at second derivatives, for which a ramp costs nothing. You and Kaveh take the
Laplacian, Lysaker et al. all second derivatives.
"""

import matplotlib.pyplot as plt
import torch

import whorl
from whorl.data.synthetic import Waves, render

# %%
# A hill with straight slopes, under a little noise.

size = 128
axis_x = torch.arange(size, dtype=torch.float64)
profile = 3.2 * (size / 2 - (axis_x - size / 2 + 0.5).abs())
clean = profile.expand(1, 1, size, size)
noisy = clean + render(Waves(deviation=6.0, seed=2), size)

# %%
# Second order contrast lies above the slope of noise and below that of the hill; fourth order contrast is a second
# derivative.

results = {
    "perona-malik": whorl.models.build("perona-malik", contrast=2.5, diffusivity="rational")(noisy, time=60.0),
    "you-kaveh": whorl.models.build("you-kaveh", contrast=2.5, diffusivity="rational")(noisy, time=12.0),
    "lysaker": whorl.models.build("lysaker", contrast=2.5, diffusivity="rational")(noisy, time=12.0),
}

figure, axes = plt.subplots(2, 3, figsize=(9, 6), height_ratios=(1.5, 1))
row = slice(18, 64)
for (upper, lower), (name, result) in zip(axes.T, results.items(), strict=True):
    upper.plot(axis_x[row].numpy(), noisy[0, 0, 64, row].numpy(), color="0.75", label="noisy")
    upper.plot(axis_x[row], clean[0, 0, 64, row], color="0.2", lw=1, ls="--", label="clean")
    upper.plot(axis_x[row], result[0, 0, 64, row], color="C3" if name == "perona-malik" else "C0", lw=2, label=name)
    upper.set_title(name)
    upper.legend(frameon=False, fontsize=8)
    slope = result.diff(dim=-1)[0, 0, 30:98, 10:118]
    lower.imshow(slope.numpy(), cmap="RdBu_r", vmin=-6.4, vmax=6.4)
    lower.set_title("slope in x: stairs are stripes", fontsize=9)
    lower.axis("off")
figure.tight_layout()
plt.show()
