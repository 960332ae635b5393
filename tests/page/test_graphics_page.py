"""Networks on a graphics card: the library's results, and the processor's where a card is missing, lost or wrong."""

from typing import Any

import numpy as np
import pytest
import torch

import whorl
from page.planes import decode, encode
from page.test_networks_page import _in_float64, _picture
from page.test_use import png

# Both structures; colour and grey, more than one tile along both axes, several strips, noise outside the range.
SMALL, LARGE = 1, 2**25  # bytes: the smallest strips, one strip
RUNS = [
    ("small-network", 1, 19, 33, 40.0, LARGE),
    ("network", 3, 20, 33, 15.0, SMALL),
]
WITHIN = 1e-3  # grey values: twelve applications in float32, and functions that a card may round by a few units


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return {}


@pytest.fixture(scope="module")
def photo() -> np.ndarray:
    return np.clip(_picture(1, 48, 64, 20.0)[0], 0, 255).astype(np.uint8)


@pytest.fixture
def card(drive: Any, kept: dict[str, Any]) -> Any:
    """``drive`` for visits that need a card."""
    if not kept:
        kept.update(drive("hasCard", graphics=True, lenient=True))
    if not kept["there"]:
        pytest.skip("this Chromium offers no WebGPU adapter, not even the one that is a program (SwiftShader)")
    return drive


def test_a_card_that_is_a_program_is_taken_only_when_asked_for(card: Any, kept: dict[str, Any]) -> None:
    assert kept["program"]
    assert kept["taken"] == {"automatic": False, "graphics": True, "processor": False}


def _asked(run: tuple[Any, ...], u: np.ndarray) -> dict[str, Any]:
    planes = [encode(plane) for plane in u]
    return {
        "name": run[0],
        "level": run[4],
        "room": run[5],
        "planes": planes,
        "height": u.shape[1],
        "width": u.shape[2],
    }


def test_results_and_quarter_turns_are_the_library_s(card: Any) -> None:
    pictures = [_picture(channels, height, width, level) for _, channels, height, width, level, _ in RUNS]
    runs, pictures = [*RUNS, RUNS[0]], [*pictures, np.rot90(pictures[0], axes=(1, 2))]
    answers = card("onCard", runs=list(map(_asked, runs, pictures)), graphics=True, lenient=True)
    for run, u, answer in zip(runs, pictures, answers, strict=True):
        assert answer["card"], answer["said"]
        assert answer["told"] == sorted(answer["told"]), "what is done never gets less"
        assert answer["strips"] == (1 if run[5] == LARGE else -(-u.shape[1] // 16))
        u = np.ascontiguousarray(u)
        exact = _in_float64(answer["network"], torch.from_numpy(u)[None], run[4])[0].numpy()
        assert np.abs(decode(answer["planes"], *u.shape[1:]) - exact).max() <= WITHIN
        assert np.abs(u - exact).max() > 1e4 * WITHIN
    straight, turned = (decode(answers[k]["planes"], *pictures[k].shape[1:]) for k in (0, 2))
    assert np.abs(np.rot90(straight, axes=(1, 2)) - turned).max() <= WITHIN


def _of_a_network(answer: dict[str, Any], photo: np.ndarray) -> None:
    """The page shows what its line of Python gives."""
    expected = eval(answer["code"], {"whorl": whorl, "image": photo}).astype(int)
    gap = np.abs(np.reshape(answer["after"]["values"], (*photo.shape, 3)) - expected[..., None])
    assert gap.max() <= 1  # both round, and ties may fall to either side
    assert gap.mean() < 1e-3
    assert np.abs(expected - photo).max() > 20


def test_the_page_says_that_the_card_did_it(card: Any, photo: np.ndarray) -> None:
    answer = card("denoiseForced", content=png(photo), compute="graphics", graphics=True, lenient=True)
    assert "on the graphics card" in answer["facts"]
    assert "compute=graphics" in answer["hash"]
    assert not answer["failure"]
    _of_a_network(answer, photo)


@pytest.mark.parametrize(
    ("compute", "said"),
    [("graphics", "on the processor: this browser offers no graphics card"), ("processor", "on the processor")],
)
def test_without_a_card_the_processor_does_it(drive: Any, photo: np.ndarray, compute: str, said: str) -> None:
    answer = drive("denoiseForced", content=png(photo), compute=compute, lenient=True)
    assert answer["facts"].splitlines()[-1].endswith(said)
    assert not answer["failure"]
    _of_a_network(answer, photo)


def test_a_card_that_is_lost_costs_no_picture(card: Any) -> None:
    first, again, lost, after = card("loseCard", graphics=True, lenient=True)
    assert [each["worst"] <= WITHIN for each in (first, again, lost, after)] == [True] * 4
    assert (first["card"], first["gone"]) == (True, False)
    assert again["card"], "a lost card is looked for once more"
    assert (lost["card"], lost["worst"], lost["said"]) == (False, 0, "on the processor: the graphics card was lost")
    assert (after["card"], after["worst"], after["gone"]) == (False, 0, True)


def test_a_card_with_another_result_is_not_used(drive: Any) -> None:
    wrong, right = drive("wrongCard", lenient=True)
    assert wrong["values"] == right["values"]
    assert (wrong["card"], right["card"]) == (False, False)
    assert wrong["said"] == "on the processor: the graphics card gives another result"
    assert right["said"] == "on the processor"
