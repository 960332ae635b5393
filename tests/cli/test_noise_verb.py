"""``whorl noise``: the model in words, as JSON and as a figure."""

import dataclasses
import json

import numpy as np
import pytest
import torch

import whorl
from whorl import files
from whorl.automatic import NoiseModel


def test_the_command_tells_and_draws(tmp_path, whorl_command):
    noisy = (
        NoiseModel((1.0,), (20.0,), (0.0,), 0.0, 255.0)
        .simulate(torch.linspace(30, 200, 170).expand(1, 1, 160, 170))
        .round()[0, 0, ..., None]
        .numpy()
    )
    layout = files.Layout(160, 170, 1, np.dtype("u1"), "grey")
    files.write(tmp_path / "a.png", files.Picture(noisy.astype("u1"), layout))
    expected = whorl.noise(noisy[..., 0].astype("u1"))
    answer = whorl_command("noise", "--plot", tmp_path / "plot.png", tmp_path / "a.png")
    assert (answer.code, answer.out.strip()) == (0, str(expected))
    assert files.read(tmp_path / "plot.png").samples.std() > 5
    told = json.loads(whorl_command("noise", "--json", tmp_path / "a.png").out)
    for name, value in json.loads(json.dumps(dataclasses.asdict(expected))).items():
        # Sums of doubles in another order differ in their last digits.
        assert told.pop(name) == (pytest.approx(value, rel=1e-12) if name != "kind" else value)
    assert not told
    assert whorl_command("noise", tmp_path / "none.png").code == 2
