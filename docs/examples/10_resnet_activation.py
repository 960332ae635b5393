"""
A coupled activation dropped into a ResNet
==========================================

The principle is not tied to diffusion. Take a residual block whose filters come in pairs, derivatives in x and in y of
mixed channels, and replace the ReLU by a coupled activation: the block commutes with rotations, whatever its weights.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import whorl
from whorl.activations import FeatureActivation, Isotropic
from whorl.data.synthetic import Turn, render
from whorl.diffusivities import Exponential
from whorl.invariance import FINGERPRINT
from whorl.operators import Smoothing

# %%
# A block in plain PyTorch. ``activation`` is the only thing that changes.


class Residual(nn.Module):
    def __init__(self, channels: int, features: int, activation: nn.Module) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        smooth = torch.tensor([3.0, 10.0, 3.0]) / 16
        x = torch.outer(smooth, torch.tensor([-0.5, 0.0, 0.5]))
        pair = torch.stack([x, x.T])  # Scharr's stencils, a vector
        inner = torch.randn(features, channels, generator=generator)
        outer = torch.randn(channels, features, generator=generator) / features
        self.first = nn.Conv2d(channels, 2 * features, 3, padding=1, padding_mode="replicate", bias=False)
        self.second = nn.Conv2d(2 * features, channels, 3, padding=1, padding_mode="replicate", bias=False)
        self.first.weight = nn.Parameter(torch.einsum("fc,kyx->fkcyx", inner, pair).flatten(0, 1))
        self.second.weight = nn.Parameter(torch.einsum("cf,kyx->cfkyx", outer, pair).flatten(1, 2))
        self.activation = activation

    def forward(self, u):
        return u + self.second(self.activation(self.first(u)))


class Network(nn.Module):
    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.stem = Smoothing(1.0)
        self.blocks = nn.Sequential(*(Residual(1, 8, activation) for _ in range(4)))

    def forward(self, u):
        return self.blocks(self.stem(u))


coupled = FeatureActivation(Isotropic(Exponential(10.0, trainable=True)), operator_channels=2)
networks = {"ReLU": Network(nn.ReLU()).double(), "coupled activation": Network(coupled).double()}

# %%
# Turned by the 3-4-5 angle, every fifth pixel meets a pixel; there both results are compared.

figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.4))
turn = Turn(4, 3, 5)
for row, (name, network) in zip(axes, networks.items(), strict=True):
    with torch.no_grad():
        changes = [network(u) - u for u in (render(FINGERPRINT, 129), render(FINGERPRINT, 129, turn=turn))]
        error = whorl.invariance.turn_error(network, turns=(turn,))[0].relative
        radius = whorl.invariance.equal_radius_error(network)
    limit = float(changes[0].abs().max())
    for axis, change, title in zip(row, changes, ("upright", f"turned by {turn.angle:.1f}°"), strict=False):
        axis.imshow(change[0, 0].numpy(), cmap="RdBu_r", vmin=-limit, vmax=limit)
        axis.set_title(f"{name}: change, {title}", fontsize=10)
        axis.axis("off")
    angles = [*radius.angles, 360.0]
    row[2].plot(angles, [*radius.changes, radius.changes[0]], ".-")
    row[2].set(title=f"a round hill at radius 65 (error {error:.1e})", xticks=range(0, 361, 90), xlabel="direction")
    row[2].title.set_fontsize(10)
    middle = sum(radius.changes) / len(radius.changes)
    spread = max(0.3 * abs(middle), *(abs(change - middle) for change in radius.changes))
    row[2].set_ylim(middle - 1.2 * spread, middle + 1.2 * spread)
figure.tight_layout()
plt.show()
