"""Requests that cannot be carried out: one line that names the value, for programs an object as well."""

import json
import os

import numpy as np
import pytest

from files.samples import listing, picture
from peak import run_alone
from whorl import files

FAST = ("--model", "perona-malik", "--contrast", "20", "--time", "0.2")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("filter", "a.png", "b.png", "--json", "--threads", "100000"), "--threads"),
        (("filter", "a.png", "b.png", "--json", "--no-such-option"), "--no-such-option"),
        (("filter", "a.png", "b.png", "--json", "--scheme", "magic"), "magic"),
        (("filter", "a.png", "b.png", "--json", "--contrast", "much"), "much"),
        (("filter", "a.png", "b.png", "--json", "--tile", "²"), "--tile ²"),
        (("filter", "a.png", "b.png", "--json", "--device", "meta"), "device 'meta': this machine"),
        (("filter", "a.png", "--json"), "at least two paths"),
        (("invariance", "--model", "gerig", "--json", "--device", "meta"), "device 'meta': this machine"),
        (("evaluate", "no-such-network", "--json"), "no-such-network"),
        (("evaluate", "anisotropic-0.41", "--json", "--device", "meta"), "device 'meta': this machine"),
        (("export", "a.onnx", "--json"), "--model or --network"),
        (("models", "no-such-model", "--json"), "no-such-model"),
    ],
    ids=lambda value: " ".join(value[:1] + value[3:]) if isinstance(value, tuple) else "",
)
def test_with_json_an_error_is_an_object_too(tmp_path, whorl_command, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    files.write(tmp_path / "a.png", picture())
    answer = whorl_command(*words)
    assert answer.code == 2
    assert says in json.loads(answer.out)["error"]
    assert says in answer.err
    assert listing(tmp_path) == ["a.png"]


@pytest.mark.parametrize(
    "words",
    [
        ("--rate", "1e20"),
        ("--seed", str(10**30)),
        ("--seed", "-1"),
        ("--threads", "100000"),
        ("--device", "meta"),
    ],
    ids=" ".join,
)
def test_training_names_the_option_that_is_wrong(tmp_path, whorl_command, words):
    answer = whorl_command("train", "anisotropic-0.41", "--out", tmp_path / "out", *words)
    assert answer.code == 2
    assert words[0].removeprefix("--") in answer.err
    assert listing(tmp_path) == []


def test_help_and_version_and_success_stay_as_they_are_beside_json(tmp_path, whorl_command):
    files.write(tmp_path / "a.png", picture())
    answer = whorl_command("filter", *FAST, "--json", tmp_path / "a.png", tmp_path / "b.png")
    assert (answer.code, json.loads(answer.out)["written"]) == (0, True)
    answer = whorl_command("filter", "--json", "--help")
    assert answer.code == 0
    assert "Usage" in answer.out


def test_nothing_is_called_written_beside_a_failure(tmp_path, whorl_command):
    files.write(tmp_path / "a.png", picture())
    (tmp_path / "b.png").write_bytes(b"no picture")
    answer = whorl_command("filter", *FAST, "--json", tmp_path / "a.png", tmp_path / "b.png", tmp_path / "out")
    said = json.loads(answer.out)
    assert (answer.code, said["written"]) == (2, False)
    assert ["error" in record for record in said["files"]] == [False, True]


@pytest.mark.parametrize("suffix", [".png", ".tif", ".zarr"])
def test_names_as_long_as_the_system_takes(tmp_path, whorl_command, suffix):
    """The name beside the target, under which it is written, must not be longer."""
    files.write(tmp_path / "a.png", picture())
    for letter in ("n", "ü"):
        name = letter * ((255 - len(suffix)) // len(letter.encode())) + suffix
        answer = whorl_command("filter", *FAST, tmp_path / "a.png", tmp_path / name)
        assert answer.code == 0, answer.err
        assert (tmp_path / name).exists()
        again = whorl_command("filter", *FAST, "--force", tmp_path / "a.png", tmp_path / name)
        assert again.code == 0, again.err
    assert len(os.listdir(tmp_path)) == 3


def test_leftovers_of_long_names_are_swept(tmp_path, whorl_command):
    from whorl.foundations.atomic import hidden

    files.write(tmp_path / "a.png", picture())
    name = "n" * 251 + ".png"
    hidden(tmp_path / name, ".999999.part").write_bytes(b"left by a killed run")
    assert whorl_command("filter", *FAST, tmp_path / "a.png", tmp_path / name).code == 0
    assert listing(tmp_path) == ["a.png", name]


def test_no_time_is_not_called_no_noise(tmp_path, whorl_command):
    rng = np.random.default_rng(0)
    noisy = np.clip(128 + 25 * rng.normal(size=(64, 64, 1)), 0, 255).astype(np.uint8)
    files.write(tmp_path / "a.png", files.Picture(noisy, files.Layout(64, 64, 1, np.dtype("u1"), "grey")))
    answer = whorl_command("filter", "-t", "0", tmp_path / "a.png", tmp_path / "b.png")
    assert answer.code == 0
    assert "no noise" not in answer.out
    assert "time 0" in answer.out
    np.testing.assert_array_equal(files.read(tmp_path / "b.png").samples, noisy)


def test_what_is_not_kept_is_one_line_unless_quiet(tmp_path, whorl_command):
    from files.test_metadata import written

    written(tmp_path, "jpg")
    command = "import sys; from whorl.cli.main import run; run(sys.argv[1:])"
    ran = run_alone(command, "filter", *FAST, tmp_path / "source.jpg", tmp_path / "b.png")
    assert (ran.code, ran.err) == (0, f"whorl: {tmp_path}/b.png: not kept: IPTC.\n")
    ran = run_alone(command, "filter", *FAST, "-q", tmp_path / "source.jpg", tmp_path / "c.png")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
