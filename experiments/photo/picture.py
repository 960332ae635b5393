"""Draw the README's picture: a photograph, noisy, denoised by photo-colour and by BM3D.

    PYTHONPATH=src python experiments/photo/picture.py PICTURE [LEFT TOP SIZE]

Needs the package bm3d. Writes docs/images/photo-denoised.png and prints the figures.
"""

import sys
from pathlib import Path

import bm3d
import numpy as np
from PIL import Image, ImageDraw

import whorl

OUT = Path(__file__).resolve().parents[2] / "docs" / "images" / "photo-denoised.png"
NOISE = 25.0


def main() -> None:
    """Denoise and draw."""
    left, top, size = (int(word) for word in sys.argv[2:5]) if len(sys.argv) > 2 else (0, 0, 256)
    clean = np.asarray(Image.open(sys.argv[1]).convert("RGB").crop((left, top, left + size, top + size))).astype(
        np.float32
    )
    noisy = clean + np.random.default_rng(0).normal(0, NOISE, clean.shape).astype(np.float32)
    ours = whorl.denoise(np.clip(noisy, -128, 383), NOISE, channel_axis=-1)
    theirs = 255 * bm3d.bm3d_rgb(noisy / 255, NOISE / 255)
    panels = {"noisy": noisy, "whorl, photo-colour": ours, "BM3D": theirs, "without noise": clean}
    sheet = Image.new("RGB", (4 * size + 24, size + 22), "white")
    draw = ImageDraw.Draw(sheet)
    for number, (label, panel) in enumerate(panels.items()):
        shown = np.clip(panel, 0, 255)
        error = float(np.mean((shown - clean) ** 2))
        text = label if error == 0 else f"{label}, {10 * np.log10(255**2 / error):.2f} dB"
        print(text)
        x = number * (size + 8)
        sheet.paste(Image.fromarray(np.rint(shown).astype(np.uint8)), (x, 22))
        draw.text((x + 2, 4), text, fill="#1d2733")
    sheet.save(OUT, optimize=True)


if __name__ == "__main__":
    main()
