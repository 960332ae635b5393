"""The noise estimate is right on flat, shaded and drawn pictures, in every type."""

import numpy as np
import pytest

from whorl.large.noise import noise_level
from whorl.large.windows import samples


def estimate(image: np.ndarray) -> float:
    planes = image[None] if image.ndim == 2 else image
    return noise_level([planes])


@pytest.mark.parametrize("deviation", [3.0, 20.0, 60.0])
def test_estimate_on_drawn_scenes(deviation):
    y, x = np.mgrid[:300, :400]
    scene = 100 + 0.2 * x - 0.1 * y + 80 * ((x - 200) ** 2 + (y - 150) ** 2 < 90**2) + 40 * (x + 2 * y > 600)
    noisy = scene + np.random.default_rng(0).normal(0, deviation, scene.shape)
    assert estimate(noisy) == pytest.approx(deviation, rel=0.03)  # 30 000 cells: 0.7 % of chance, the rest is edges
    assert estimate(np.round(noisy)) == pytest.approx(deviation, rel=0.05)
    assert estimate(scene) < 0.2 * deviation


def test_scale_offset_and_channels():
    noise = np.random.default_rng(1).normal(0, 5, (3, 200, 200))
    assert estimate(7 * noise + 1000) == pytest.approx(7 * estimate(noise))
    assert estimate(noise) == pytest.approx(5, rel=0.02)


def test_large_images_are_sampled():
    seen = list(samples(20000, 30000))
    blocks = [np.random.default_rng(window.top).normal(0, 9, (1, window.height, window.width)) for window in seen]
    assert noise_level(blocks) == pytest.approx(9, rel=0.02)
    assert sum(window.height * window.width for window in seen) == 16 * 256**2


def test_flat_and_tiny_images_have_no_noise():
    assert estimate(np.full((50, 50), 7.0)) == 0
    assert estimate(np.ones((1, 1))) == 0
    assert estimate(np.ones((1, 500))) == 0
