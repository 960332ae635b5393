"""The networks of the page are the library's: their numbers, their results, their turns."""

from typing import Any

import numpy as np
import pytest
import torch

from page.planes import decode, encode
from whorl.networks import Denoiser, load
from whorl.page.networks import FOLDER, OFFERED, numbers

NAMES = sorted({name for kinds in OFFERED.values() for name in kinds.values()})
# Colour and grey, odd sizes, wider than a strip of the kernel, higher than a band, smaller than a stencil; noise inside
# and outside the range that the networks are trained for.
RUNS = [
    ("network", 3, 37, 50, 15.0),
    ("network", 1, 70, 29, 2.0),
    ("small-network", 1, 21, 273, 40.0),
    ("small-network", 3, 150, 9, 12.0),
    ("small-network", 1, 3, 1, 25.0),
]


@pytest.mark.parametrize("name", NAMES)
def test_files_hold_the_trained_numbers(name: str) -> None:
    fresh = numbers(load(name)).tobytes()
    assert (FOLDER / f"{name}.bin").read_bytes() == fresh, "stale: run python -m whorl.page.catalogue"


def test_no_other_file_is_served() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == [f"{name}.bin" for name in NAMES]


def _picture(channels: int, height: int, width: int, noise: float) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    clean = 128 + 50 * np.sin(x / 5 + y / 9) + 40 * (np.hypot(x - width / 2, y - height / 2) < height / 4)
    return (clean + np.random.default_rng(0).normal(0, noise, (channels, height, width))).astype(np.float32)


@pytest.fixture(scope="module")
def pictures() -> list[np.ndarray]:
    return [_picture(channels, height, width, level) for _, channels, height, width, level in RUNS]


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return {}


@pytest.fixture
def answers(drive: Any, pictures: list[np.ndarray], kept: dict[str, Any]) -> Any:
    """What the page makes of the pictures, and of the pictures turned; one visit computes both."""
    if not kept:
        turned = [np.rot90(u, axes=(1, 2)) for u in pictures]
        found = drive("denoiseAll", runs=[*map(_asked, RUNS, pictures), *map(_asked, RUNS, turned)], lenient=True)
        kept.update(straight=found[: len(RUNS)], turned=found[len(RUNS) :])
    return kept


def _asked(run: tuple[Any, ...], u: np.ndarray) -> dict[str, Any]:
    planes = [encode(plane) for plane in u]
    return {"name": run[0], "level": run[-1], "planes": planes, "height": u.shape[1], "width": u.shape[2]}


def test_results_are_the_library_s_to_rounding(answers: Any, pictures: list[np.ndarray]) -> None:
    for (name, channels, height, width, level), u, answer in zip(RUNS, pictures, answers["straight"], strict=True):
        assert answer["network"] == OFFERED[name]["colour" if channels == 3 else "grey"]
        assert answer["same"], "bands on several workers have the bits of the whole"
        assert answer["told"] == sorted(answer["told"]), "what is done never gets less"
        assert all(0 <= share < 1 for share in answer["told"])
        picture, network = torch.from_numpy(u)[None], load(answer["network"])
        python = Denoiser(network, level)(picture)[0].numpy()
        exact = _in_float64(answer["network"], picture, level)[0].numpy()
        browser = np.abs(decode(answer["planes"], height, width) - exact).max()
        # Both compute in float32, in another order: their distances from float64 are of one size.
        bound = 4 * max(float(np.abs(python - exact).max()), float(np.spacing(np.float32(255))))
        assert browser <= bound
        assert np.abs(u - exact).max() > 100 * bound


def test_quarter_turns_carry_over(answers: Any, pictures: list[np.ndarray]) -> None:
    for u, before, after in zip(pictures, answers["straight"], answers["turned"], strict=True):
        expected = np.rot90(decode(before["planes"], *u.shape[1:]), axes=(1, 2))
        # Sums along the two axes are added in another order; nothing else differs.
        assert np.abs(decode(after["planes"], *expected.shape[1:]) - expected).max() <= 64 * np.spacing(np.float32(255))


def _in_float64(name: str, u: torch.Tensor, level: float) -> torch.Tensor:
    """What the denoiser says, carried out in double precision."""
    network = load(name).double()
    factor, v, smallest = Denoiser(network, level).factor, u.double(), network.noise_range[0]
    single = v if u.shape[1] == network.spec.channels else v.flatten(0, 1)[:, None]
    with torch.no_grad():
        result = network(factor * (single - 127.5) + 127.5, max(level * factor, smallest))
    result = 127.5 + (result.reshape(v.shape) - 127.5) / factor
    return v + min(1.0, level * factor / smallest) ** 2 * (result - v)
