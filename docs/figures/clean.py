"""What the defaults do to pictures without added noise: ``images/clean.png``, with pictures of scikit-image."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import skimage

import whorl
from whorl.foundations.arrays import to_tensor

CROPS = {
    "brick": skimage.data.brick()[100:260, 100:260],
    "grass": skimage.data.grass()[100:260, 100:260],
    "astronaut": skimage.data.astronaut()[0:160, 140:300],
}


def main() -> None:
    figure, axes = plt.subplots(2, len(CROPS), figsize=(9, 6.6))
    for column, (name, picture) in zip(axes.T, CROPS.items(), strict=True):
        axis = -1 if picture.ndim == 3 else None
        filtered = whorl.diffuse(picture, channel_axis=axis)
        noise = whorl.automatic.noise_level([to_tensor(picture, axis)])
        error = np.mean((filtered.astype(float) - picture) ** 2)
        for place, image, title in (
            (column[0], picture, name),
            (column[1], filtered, f"filtered, {10 * np.log10(255**2 / error):.1f} dB, noise {noise:.1f}"),
        ):
            place.imshow(image, cmap="gray", vmin=0, vmax=255)
            place.set_title(title, fontsize=12)
            place.axis("off")
    figure.tight_layout()
    figure.savefig(Path(__file__).parents[1] / "images" / "clean.png", dpi=100)


if __name__ == "__main__":
    main()
