"""The figure of docs/volumes: ``python docs/figures/volumes.py`` writes docs/images/volume-networks.png."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import whorl
from whorl.data.tomogram import tomogram

TARGET = Path(__file__).parents[1] / "images" / "volume-networks.png"
NOISE, SIZE = 20.0, 48


def psnr(u: np.ndarray, clean: np.ndarray) -> float:
    """dB, for grey values from 0 to 255."""
    return float(10 * np.log10(255**2 / np.square(u - clean).mean()))


def main() -> None:
    """A slice of a drawn tomogram, what each method leaves and takes away, and grey values along a row."""
    drawn = tomogram(SIZE, seed=3, noise=NOISE)
    clean, noisy = (u[0, 0].float().numpy() for u in (drawn.clean, drawn.noisy))
    found = {
        "eed": whorl.diffuse(noisy, "eed", noise=NOISE),
        "volume-5k": whorl.denoise(noisy, NOISE, network="volume-5k"),
        "volume-30k": whorl.denoise(noisy, NOISE, network="volume-30k"),
    }
    shown = {"clean": clean, "noisy": noisy, **found}
    middle = SIZE // 2
    figure = plt.figure(figsize=(10, 6.6))
    grid = figure.add_gridspec(3, 5, height_ratios=(1, 1, 0.85))
    for k, (name, u) in enumerate(shown.items()):
        axis = figure.add_subplot(grid[0, k])
        axis.imshow(u[middle], cmap="gray", vmin=0, vmax=255)
        axis.axhline(middle, color="tab:orange", linewidth=0.8)
        axis.set_title(name if name == "clean" else f"{name}, {psnr(u, clean):.1f} dB", fontsize=10)
        axis.axis("off")
        if name == "clean":
            continue
        axis = figure.add_subplot(grid[1, k])
        axis.imshow((u - clean)[middle], cmap="gray", vmin=-40, vmax=40)
        axis.set_title(f"{name} less clean", fontsize=10)
        axis.axis("off")
    axis = figure.add_subplot(grid[2, :])
    for name, colour, width in (("noisy", "0.8", 1.0), ("clean", "black", 2.0), ("eed", "tab:blue", 1.2),
                                ("volume-30k", "tab:red", 1.2)):  # fmt: skip
        axis.plot(shown[name][middle, middle], color=colour, linewidth=width, label=name)
    axis.set_xlim(0, SIZE - 1)
    axis.set_ylabel("grey value along the row", fontsize=9)
    axis.legend(fontsize=8, ncols=4, loc="lower right")
    figure.tight_layout()
    figure.savefig(TARGET, dpi=100)
    print({name: round(psnr(u, clean), 2) for name, u in shown.items() if name != "clean"})


if __name__ == "__main__":
    main()
