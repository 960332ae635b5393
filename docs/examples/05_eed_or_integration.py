"""
Many directions, or one good activation
=======================================

Weickert's integration model is rotationally invariant because it adds up one-dimensional diffusions in *all*
directions: many orientations, large stencils. Edge-enhancing diffusion reaches the same with two derivatives and a
diffusion tensor, on a 3x3 stencil. The paper's central remark: a complex discretisation can be replaced by a
sophisticated nonlinearity.
"""

import matplotlib.pyplot as plt

import whorl
from whorl.data.synthetic import Bump, render

# %%
# The integration model with two, four and eight directions, and EED, on a round hill.

hill = render(Bump(radius=60.0, width=6.0), 181)
models = {
    f"integration, {m} directions": whorl.models.build(
        "weickert-integration", contrast=4.0, sigma=1.5, directions=m, diffusivity="charbonnier"
    )
    for m in (2, 4, 8)
}
models["eed"] = whorl.models.build("eed", contrast=4.0, sigma=1.5, diffusivity="charbonnier")

# %%
# What each of them changes. With two directions the change of a round hill is not round; with more of them it becomes
# so, and the cost grows with the number of channels. The error is the spread at 36 lattice points of equal radius,
# relative to the change there: nothing is interpolated.

figure, axes = plt.subplots(2, 2, figsize=(7.6, 8.4))
for axis, (name, model) in zip(axes.flat, models.items(), strict=True):
    result = model(hill, time=8.0)
    error = whorl.invariance.equal_radius_error(lambda u, model=model: model(u, time=4.0)).relative
    channels = model.operator(hill[..., :3, :3]).shape[3]
    axis.imshow((result - hill)[0, 0].numpy(), cmap="RdBu_r", vmin=-8, vmax=8)
    axis.set_title(f"{name}\nerror {error:.1e}, {channels} channels", fontsize=12)
    axis.axis("off")
figure.tight_layout()
plt.show()
