"""Photographs on the command line: denoise, train, evaluate."""

import json

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for i in range(3):
        y, x = np.mgrid[:40, :48]
        clean = 128 + 80 * np.sin(x / (3 + i)) * np.cos(y / 5)
        Image.fromarray(np.clip(clean + rng.normal(0, 2, clean.shape), 0, 255).astype(np.uint8)).save(
            folder / f"{i}.png"
        )
    return folder


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_the_network_is_picked_and_named(tmp_path, whorl_command, mode):
    rng = np.random.default_rng(0)
    shape = (24, 20) if mode == "L" else (24, 20, len(mode))
    noisy = np.clip(rng.normal(120, 20, shape), 0, 255).astype(np.uint8)
    Image.fromarray(noisy, mode).save(tmp_path / "a.png")
    answer = whorl_command("denoise", "--json", tmp_path / "a.png", tmp_path / "b.png")
    assert answer.code == 0, answer.err
    page = json.loads(answer.out)["files"][0]["pages"][0]
    assert page["network"] == ("photo-grey" if mode == "L" else "photo-colour")
    assert page["noise_measured"]
    assert page["noise"] == pytest.approx(20, rel=0.2)
    result = np.asarray(Image.open(tmp_path / "b.png"))
    assert result[..., :3].std() < 0.4 * noisy[..., :3].std()
    if mode == "RGBA":
        assert np.array_equal(result[..., 3], noisy[..., 3])


def test_a_given_level_overrides_the_estimate(tmp_path, whorl_command):
    noisy = np.clip(np.random.default_rng(0).normal(120, 20, (24, 20)), 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(tmp_path / "a.png")
    answer = whorl_command("denoise", "--json", "--noise", 10, tmp_path / "a.png", tmp_path / "b.png")
    page = json.loads(answer.out)["files"][0]["pages"][0]
    assert (page["noise"], page["noise_measured"]) == (10.0, False)


def test_windows_give_the_picture_as_a_whole(tmp_path, whorl_command):
    noisy = np.clip(np.random.default_rng(0).normal(120, 20, (150, 40)), 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(tmp_path / "a.png")
    for name, tile in (("whole.png", "auto"), ("tiles.png", "64")):
        words = ("denoise", "--network", "photo-8k", "--noise", 25, "--tile", tile, tmp_path / "a.png", tmp_path / name)
        assert whorl_command(*words).code == 0
    whole, tiles = (np.asarray(Image.open(tmp_path / name)).astype(int) for name in ("whole.png", "tiles.png"))
    # Convolutions may be summed up in another order, so a value next to a half may be rounded the other way.
    assert np.abs(whole - tiles).max() <= 1
    assert (whole != tiles).mean() < 0.001


def test_train_evaluate_and_denoise_with_ones_own_pictures(tmp_path, whorl_command, pictures):
    out = tmp_path / "run"
    words = ("train", "photo-8k", "--data", pictures, "--noise", 25, "--steps", 2, "--batch", 1, "--size", 24)
    answer = whorl_command(*words, "--out", out)
    assert answer.code == 0, answer.err
    assert "on pictures held back" in answer.out
    again = whorl_command(*words, "--out", out)  # finished: the checkpoint is met, nothing is trained
    assert again.code == 0, again.err
    answer = whorl_command(
        "evaluate", out / "network.safetensors", "--data", pictures, "--noise", 25, "--seeds", 2, "--json"
    )
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert len(found["by_seed"]) == 2
    assert found["mean"] == pytest.approx(sum(found["by_seed"].values()) / 2)
    answer = whorl_command(
        "denoise", "--network", out / "network.safetensors", "--noise", 25, pictures / "0.png", tmp_path / "clean.png"
    )
    assert answer.code == 0, answer.err


def test_what_is_missing_is_said(tmp_path, whorl_command, pictures):
    for words, message in [
        (("train", "photo-8k", "--out", tmp_path / "x"), "--data"),
        (("evaluate", "photo-grey"), "--data"),
        (("train", "photo-9k", "--data", pictures, "--out", tmp_path / "x"), "photo-27k"),
        (("evaluate", "photo-grey", "--data", tmp_path / "none"), "no such folder"),
    ]:
        answer = whorl_command(*words)
        assert answer.code == 2
        assert message in answer.err


TINY = ("--noise", 25, "--batch", 1, "--size", 24)


def test_a_shipped_network_is_fine_tuned_and_the_gain_is_told(tmp_path, whorl_command, pictures):
    out = tmp_path / "run"
    words = ("train", "mine", "--from", "photo-8k", "--old", pictures, "--data", pictures, *TINY, "--out", out)
    answer = whorl_command(*words, "--steps", 3)
    assert answer.code == 0, answer.err
    held, old = (line for line in answer.out.splitlines() if line.startswith("on "))
    assert held.startswith("on pictures held back: ")
    assert old.startswith("on the old pictures: ")
    before, after = (float(word) for word in held.split(":")[1].replace("->", "").split()[:2])
    assert before > 24  # of a trained network; starting values leave the noise, at 20.2 dB
    assert abs(after - before) < 3
    assert "mine: step 1/3" in answer.err
    assert "left" in answer.err
    table = (out / "metrics.csv").read_text().splitlines()
    assert table[0] == "epoch,loss,psnr,seconds,held_back_psnr"
    assert len(table) == 2
    with Image.open(out / "curve.png") as curve:
        assert curve.size[0] > 300


def test_own_networks_are_compared_with_the_noise_and_a_shipped_one(tmp_path, whorl_command, pictures):
    answer = whorl_command("evaluate", "photo-8k", "--data", pictures, "--beside", "photo-grey")
    assert answer.code == 0, answer.err
    assert "noisy: 20." in answer.out
    assert "photo-grey: " in answer.out
