"""The figure of docs/lines: ``python docs/figures/lines.py`` writes docs/images/lines.png, from a drawn eye."""

from pathlib import Path

import matplotlib.pyplot as plt

import whorl
from whorl.cli.segment import drawn_over
from whorl.data.eye import drawn_eye

TARGET = Path(__file__).parents[1] / "images" / "lines.png"


def main() -> None:
    """Picture, chances and overlay side by side; what was drawn is known."""
    picture, vessels, _ = drawn_eye(584, seed=3)
    chances = whorl.segment(picture, channel_axis=-1)
    found = chances >= 0.45
    dice = 2 * (found & vessels).sum() / (found.sum() + vessels.sum())
    figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.5))
    shown = {
        "drawn, not photographed": picture,
        "chance of a vessel": chances,
        f"overlay; Dice {dice:.2f}": drawn_over(picture, chances, found),
    }
    for axis, (title, panel) in zip(axes, shown.items(), strict=True):
        axis.imshow(panel, cmap="gray")
        axis.set_title(title, fontsize=10)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(TARGET, dpi=110)
    print(f"{TARGET}: Dice {dice:.3f} of a drawn eye")


if __name__ == "__main__":
    main()
