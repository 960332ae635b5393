"""Drawn fingerprints to fine-tune a network on: ``python -m experiments.photo.finetune FOLDER`` draws 66 of them.

``results/finetune.json`` has the command that was run on them, and what it said.
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

DIRECTIONS, ROUNDS, WIDTH = 16, 12, 0.025
"""Directions of ridges, times that noise is sharpened to ridges, and width of the bands of frequencies."""


def fingerprint(rng: np.random.Generator, size: int = 180) -> NDArray[np.uint8]:
    """Ridges that follow smooth directions around a core: noise filtered along them again and again."""
    y, x = np.mgrid[:size, :size]
    angle = ndimage.gaussian_filter(rng.normal(size=(size, size)), size / 5) * size * 1.2
    angle = angle - angle.mean() + rng.uniform(0, np.pi)
    core = rng.uniform(0.3, 0.7, 2) * size
    angle = angle + 0.5 * np.arctan2(y - core[0], x - core[1]) * rng.choice([-1, 1])
    period = rng.uniform(6, 9)
    frequencies = np.fft.fftfreq(size)[:, None], np.fft.fftfreq(size)[None]
    ridges = rng.normal(size=(size, size))
    nearest = np.round((angle % np.pi) / np.pi * DIRECTIONS).astype(int) % DIRECTIONS
    for _ in range(ROUNDS):
        spectrum, filtered = np.fft.fft2(ridges), np.empty((DIRECTIONS, size, size))
        for number in range(DIRECTIONS):
            wave = np.cos(number * np.pi / DIRECTIONS) / period, np.sin(number * np.pi / DIRECTIONS) / period
            squares = [sum((f - sign * w) ** 2 for f, w in zip(frequencies, wave, strict=True)) for sign in (1, -1)]
            band = sum(np.exp(-square / (2 * WIDTH**2)) for square in squares)
            filtered[number] = np.fft.ifft2(spectrum * band).real
        ridges = np.take_along_axis(filtered, nearest[None], 0)[0]
        ridges = np.tanh(3 * ridges / ridges.std())
    ridges = ndimage.gaussian_filter(ridges, 0.6)
    shade = ndimage.gaussian_filter(rng.normal(size=(size, size)), size / 6)
    return np.clip(128 + 80 * ridges + 40 * shade / np.abs(shade).max(), 0, 255).astype(np.uint8)


def main() -> None:
    """Draw the pictures."""
    folder, rng = Path(sys.argv[1]), np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(66):
        Image.fromarray(fingerprint(rng)).save(folder / f"{number:03d}.png")


if __name__ == "__main__":
    main()
