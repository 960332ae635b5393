"""
Training in a minute
====================

The paper's networks have ten parameters: time step, contrast and one weight for each of eight scales. Trained here on a
handful of small pictures, such a network learns to denoise, and stays rotationally invariant whatever it learns.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import whorl
from whorl.blocks import multiscale_block
from whorl.data import RectangleScene, gaussian_noise

torch.manual_seed(0)

# %%
# All training scenes are turned by 30 degrees; the test scene by 45.


def pairs(count, angle, split):
    """Clean and noisy pictures of a few rectangles."""
    rng = np.random.default_rng(count)
    scenes = [RectangleScene(rng.uniform(-26, 26, (3, 2)), size=(44.0, 22.0), shape=(64, 64)) for _ in range(count)]
    clean = torch.from_numpy(np.stack([scene.render(angle) for scene in scenes]))[:, None]
    return clean, clean + gaussian_noise(count, (1, 64, 64), 60.0, split)


clean, noisy = pairs(4, 30, "train")
clean_test, noisy_test = pairs(1, 45, "test")

# %%
# One block, applied five times: its parameters are shared between the steps.

block = multiscale_block(contrast=80.0, tau=0.1, trainable=True)
print(whorl.models.count_parameters(block), "parameters")


def network(u):
    for _ in range(5):
        u = block(u)
    return u


# %%
# An ordinary loop of PyTorch.

optimiser = torch.optim.Adam(block.parameters(), lr=0.05)
losses = []
for _ in range(30):
    loss = (network(noisy) - clean).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(float(loss.detach()))

# %%
# :func:`whorl.training.train` does this with checkpoints, exact resumption and a second-order method.

with torch.no_grad():
    denoised = network(noisy_test)
figure, axes = plt.subplot_mosaic([["noisy", "denoised"], ["loss", "loss"]], figsize=(7.6, 7), height_ratios=(2, 1))
axes["loss"].semilogy(losses)
axes["loss"].set(xlabel="step", ylabel="mean squared error", title="training at 30°")
for name, picture in (("noisy", noisy_test), ("denoised", denoised)):
    axis = axes[name]
    psnr = float(whorl.metrics.psnr(picture, clean_test, value_range=255))
    axis.imshow(picture[0, 0].numpy(), cmap="gray", vmin=0, vmax=255)
    axis.set_title(f"{name} at 45°, {psnr:.1f} dB", fontsize=14)
    axis.axis("off")
figure.tight_layout()
plt.show()
