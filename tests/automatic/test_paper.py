"""Pages of text: letters are not taken for noise, and the noise on the paper between them is found."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

import whorl
from whorl.automatic import noise_level
from whorl.automatic.paper import on_paper
from whorl.automatic.traces import measure


def page(seed: int, white: float = 255.0) -> np.ndarray:
    """Lines of drawn letters, with strokes of two pixels and grey rims."""
    rng = np.random.default_rng(seed)
    paper = np.full((200, 260), white)
    for top in range(6, 186, 16):
        for left in range(8, 245, 9):
            glyph = np.pad(np.kron(rng.random((5, 3)) < 0.55, np.ones((2, 2))), 1)
            glyph = 0.7 * glyph + 0.15 * (np.roll(glyph, 1, 1) + np.roll(glyph, -1, 1))
            paper[top : top + 12, left : left + 8] -= np.floor(white * glyph)
    return paper


def jpeg(picture: np.ndarray, quality: int) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(picture.astype(np.uint8)).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def noisy(picture: np.ndarray, level: float, seed: int = 3) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, level, picture.shape)
    return np.clip(picture + noise, 0, 255).round().astype(np.uint8)


def part(picture: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(picture.astype(np.float64))[None, None]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("level", [4.0, 12.0, 25.0])
def test_the_noise_on_the_paper_is_found_between_the_letters(seed, level):
    u = part(noisy(page(seed), level))
    for found in (noise_level([u]), measure([u]).level):
        assert 0.6 * level < found < 1.3 * level


@pytest.mark.parametrize("white", [255.0, 240.0])
def test_a_clean_page_has_no_noise(white):
    u = part(page(0, white))
    assert noise_level([u]) == 0 == measure([u]).level


@pytest.mark.parametrize("quality", [75, 90])
def test_what_jpeg_leaves_around_letters_is_weak(quality):
    left = jpeg(page(0), quality)
    error = np.sqrt(np.mean((left - page(0)) ** 2))
    assert noise_level([part(left)]) < 4 * error


@pytest.mark.filterwarnings("ignore:denoise. the result would not be better:UserWarning")
@pytest.mark.parametrize("made", [lambda u: u.astype(np.uint8), lambda u: jpeg(u, 90), lambda u: noisy(u, 5)])
def test_pages_stay_readable_with_nothing_told(made):
    clean, given = page(2), made(page(2))
    result = whorl.denoise(given)
    before, after = (np.mean((u.astype(float) - clean) ** 2) for u in (given, result))
    assert after <= 2 * before + 0.1  # letters that are taken for noise are gone: 100 times and more
    turned = np.rot90(whorl.denoise(np.rot90(given).copy()), -1)
    assert np.abs(turned.astype(int) - result.astype(int)).max() <= 1


@pytest.mark.parametrize("level", [20.0, 50.0, 80.0])
def test_strong_noise_of_an_overexposed_picture_is_believed(level):
    y, x = np.mgrid[:160, :170]
    u = part(noisy(90 + 1.3 * y + 25 * np.sin(x / 9), level))
    assert on_paper([u], level) == level


def test_a_picture_cut_out_on_white_is_believed():
    scan = np.full((150, 200), 255.0)
    scan[:, 60:120] = noisy(np.full((150, 60), 120.0), 30)
    assert on_paper([part(scan)], 30.0) == 30
