"""The learned potentials and some of the learned filters: ``python docs/figures/energies.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
import torch

import whorl

IMAGES = Path(__file__).parents[1] / "images"


def main() -> None:
    plt.rcParams |= {"svg.hashsalt": "whorl", "font.size": 9}
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.8))
    x = torch.logspace(-2, 1, 600)
    for axis, name in zip(axes, ("energy-convex", "energy-weak"), strict=True):
        potentials = whorl.load(name).energy.potentials
        with torch.no_grad():
            values = potentials.of(x[:, None].expand(-1, len(potentials.theta)))[1]
        axis.plot(x, values, color="C0", linewidth=0.4, alpha=0.5)
        axis.set(title=name, xlabel="length of a field over its contrast", xscale="log", ylim=(0, 5))
    axes[0].set_ylabel("derivative of the potential")
    figure.tight_layout()
    figure.savefig(IMAGES / "energy-potentials.png", dpi=110)
    plt.close(figure)

    network = whorl.load("energy-weak")
    K = network.energy.operator
    strength = network.energy.at(25.0).factor.detach()
    kernel, scalars = K.kernel().detach(), K.fields[0]
    figure, axes = plt.subplots(3, 8, figsize=(8, 3.2))
    for order, row in enumerate(axes):
        first, count = sum(K.fields[:order]), K.fields[order]
        chosen = strength[first : first + count].argsort(descending=True)[:8] + first
        for axis, field in zip(row, chosen.tolist(), strict=True):
            place = field if order == 0 else scalars + 2 * (field - scalars)
            largest = float(kernel[place].abs().max())
            axis.imshow(kernel[place], cmap="RdBu", vmin=-largest, vmax=largest)
            axis.set_xticks([])
            axis.set_yticks([])
        row[0].set_ylabel(f"order {order}")
    figure.tight_layout()
    figure.savefig(IMAGES / "energy-filters.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
