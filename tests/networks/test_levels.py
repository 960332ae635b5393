"""Noise of every level told, from nearly none to more than networks are trained for: nothing gets worse."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import whorl

DATA = Path(os.environ.get("WHORL_DATA", Path(__file__).parents[3] / "shared" / "data"))
LEVELS = (0.05, 0.25, 0.5, 1.0, 2.0, 4.9, 5.0, 25.0, 60.0)


SIZE = 56


def pictures():
    y, x = np.mgrid[:SIZE, :SIZE]
    cartoon = np.where(np.hypot(x - 26, y - 24) < 17, 200.0, 60.0) + np.where(x > 40, 30, 0)
    waves = 128 + 60 * np.sin(x**2 / 300) * np.cos(y / 4)
    found = {"cartoon": cartoon, "flat": np.full((SIZE, SIZE), 100.0), "waves": waves}
    if (DATA / "Train400").is_dir():
        from PIL import Image

        for path in sorted((DATA / "Train400").iterdir())[3::150]:
            found[path.name] = np.asarray(Image.open(path).convert("L")).astype(float)[50:, 50:][:SIZE, :SIZE]
    return found


@pytest.mark.filterwarnings("ignore:denoise")  # rounding is more noise than some of the levels
@pytest.mark.parametrize("kind", ["float64", "uint8", "uint16"])
def test_no_picture_gets_worse_at_any_level(kind):
    """Of whole numbers a sample that changes at all changes by a whole one, though less may have been meant.

    Meant was d >= 1/2, and d with no more error than 0: the error e of the sample is such that (e + d)² <= e² in the
    mean. Then (e + 1)² - e² = 1 + 2 e <= 1 - d <= 1/2. It scatters by 2 |e| for each of the n samples that change: four
    standard deviations of their sum are allowed.
    """
    draw = np.random.default_rng(0)
    scale = 16.06 if kind == "uint16" else 1.0  # twelve of sixteen bits
    for name, clean in pictures().items():
        for level in LEVELS:
            noisy = scale * (clean + draw.normal(0, level, clean.shape))
            if kind != "float64":
                noisy = np.clip(np.round(noisy), 0, np.iinfo(kind).max).astype(kind)
            before = np.square(noisy / scale - clean).mean()
            found = whorl.denoise(noisy, level * scale)
            after = np.square(found / scale - clean).mean()
            n, e = np.count_nonzero(found != noisy), scale * before**0.5
            rounding = 0.0 if kind == "float64" else (0.5 * n + 8 * e * n**0.5) / scale**2 / noisy.size
            assert after <= 1.002 * before + rounding, (name, level)
            if level >= 5:
                assert after < 0.9 * before, (name, level)


@pytest.mark.filterwarnings("ignore:denoise")
def test_the_network_is_blended_out_without_a_jump():
    draw = np.random.default_rng(1)
    clean = pictures()["cartoon"]
    noise = draw.normal(0, 1, clean.shape)
    first, second = (whorl.load(name).noise_range[0] for name in ("photo-grey", "photo-grey-real"))

    def removed(level):
        noisy = (clean + level * noise).astype(np.float32)
        return np.square(whorl.denoise(noisy, level) - noisy).mean() ** 0.5 / level

    # The picture spans 255 / 170 of its grey values after scaling: the ends of both ranges lie between these levels.
    shares = [removed(level) for level in np.geomspace(0.01 * second, 1.2 * first, 24)]
    assert shares[0] < 0.02
    for earlier, later in pairwise(shares):
        assert 0.9 * earlier < later < earlier + 0.5
