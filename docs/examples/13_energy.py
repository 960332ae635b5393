"""
An energy that never rises
==========================

Every model of the paper's table is the gradient flow of an energy. whorl computes both, and steps within the public
limit never raise it. A data term keeps the flow near the noisy image: variational denoising.
"""

import matplotlib.pyplot as plt

import whorl
from whorl.data.synthetic import Bars, Faded, Waves, render

clean = render(Faded(Bars(period=30.0), radius=50.0), 128, turn=20.0)
noisy = clean + render(Waves(deviation=30.0, seed=6), 128)
model = whorl.models.build("weickert-brox", contrast=3.0, diffusivity="charbonnier")
variational = model.with_data(noisy, weight=0.1)

# %%
# The flow alone runs to a flat image; with a convex energy and data term it runs to the one minimiser.

energies, quality = {}, {}
for name, flow in (("flow", model), ("with data term", variational)):
    u, energies[name], quality[name] = noisy, [], []
    for _ in range(120):
        u = flow.step(u)
        energies[name].append(float(flow.energy(u)))
        quality[name].append(float(whorl.metrics.psnr(u, clean, value_range=255)))
    assert all(after <= before for before, after in zip(energies[name], energies[name][1:], strict=False))

figure, axes = plt.subplots(2, 2, figsize=(8.4, 7.6))
axes = axes.flatten()
for name in energies:
    axes[0].plot(energies[name], label=name)
    axes[1].plot(quality[name], label=name)
axes[0].set(title="energy", xlabel="step", yscale="log")
axes[1].set(title="PSNR in dB", xlabel="step")
axes[1].legend(frameon=False)
for axis, (title, picture) in zip(axes[2:], (("noisy", noisy), ("minimiser", u)), strict=True):
    axis.imshow(picture[0, 0].numpy(), cmap="gray", vmin=0, vmax=255)
    axis.set_title(title)
    axis.axis("off")
figure.tight_layout()
plt.show()
