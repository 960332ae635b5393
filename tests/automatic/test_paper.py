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


def on_grey(seed: int) -> np.ndarray:
    """Nearly black letters on grey paper."""
    return 10 + 0.5 * page(seed)


@pytest.mark.parametrize("level", [4.0, 12.0, 25.0])
def test_the_noise_between_white_letters_on_black_is_found(level):
    u = part(noisy(255 - page(1), level))
    for found in (noise_level([u]), measure([u]).level):
        assert 0.6 * level < found < 1.3 * level


def test_white_letters_on_black_have_no_noise():
    u = part(255 - page(0))
    assert noise_level([u]) == 0 == measure([u]).level


@pytest.mark.parametrize("made", [lambda u: noisy(u, 5), lambda u: jpeg(u, 75), lambda u: jpeg(u, 90)])
def test_letters_on_grey_paper_are_not_taken_for_noise(made):
    clean = on_grey(0)
    error = np.sqrt(np.mean((made(clean) - clean) ** 2))
    assert measure([part(made(clean))]).level < 2 * error


@pytest.mark.parametrize("seed", [0, 1])
def test_photons_in_the_dark_are_no_paper(seed):
    """Bright places of a dark picture have much noise though the dark between them has none."""
    y, x = np.mgrid[:160, :170]
    draw = np.random.default_rng(seed)
    rows, columns = draw.uniform(0, 160, (2, 90))
    spots = sum(np.exp(-np.hypot(y - r, x - c) / 4) for r, c in zip(rows, columns, strict=True))
    u = part(draw.poisson(np.minimum(12 * spots, 40)) * 6.0)
    assert on_paper([u], 60.0) == 60


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
@pytest.mark.parametrize("written", [page, lambda seed: 255 - page(seed), on_grey])
@pytest.mark.parametrize("made", [lambda u: u.astype(np.uint8), lambda u: jpeg(u, 90), lambda u: noisy(u, 5)])
def test_pages_stay_readable_with_nothing_told(made, written):
    clean, given = written(2), made(written(2))
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
