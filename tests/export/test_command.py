"""The command around the export."""

import json
from pathlib import Path

import onnx
import pytest

from whorl.cli.main import run
from whorl.networks import available


def call(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        run(["export", *map(str, words)])
    return int(ended.value.code or 0)


def test_model_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "eed.onnx"
    assert call(path, "--model", "eed", "--contrast", 6, "--time", 20, "--sigma", 2) == 0
    assert capsys.readouterr().out == f"Wrote {path}: eed, 50 steps, onnx\n"
    about = {prop.key: prop.value for prop in onnx.load(path).metadata_props}
    assert (about["model"], about["sigma"], about["time"]) == ("eed", "2.0", "20.0")


def test_existing_file_is_kept_unless_forced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    path.write_text("precious")
    words = (path, "--model", "perona-malik", "--contrast", 5, "--steps", 3)
    assert call(*words) == 2
    assert "exists" in capsys.readouterr().err
    assert path.read_text() == "precious"
    assert call(*words, "--force") == 0
    assert onnx.load(path).producer_name == "whorl"


def test_dry_run_writes_nothing_and_speaks_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (tmp_path / "m.pt2", "--model", "lysaker", "--contrast", 5, "--steps", 3, "--dry-run", "--json")
    assert call(*words) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["model"], said["steps"], said["format"], said["written"]) == ("lysaker", 3, "pt2", False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["m.onnx"], "give either --model or --network"),
        (["m.onnx", "--model", "eed", "--time", "1"], "--contrast is missing"),
        (["m.onnx", "--model", "ede", "--contrast", "1", "--time", "1"], "did you mean 'eed'"),
        (["m.onnx", "--model", "eed", "--contrast", "1"], "either a time or a number of steps"),
        (["m.txt", "--model", "eed", "--contrast", "1", "--time", "1"], "End in .onnx or .pt2"),
        (["m.onnx", "--network", "isotropic-0.41", "--time", "3"], "is trained"),
        (["m.onnx", "--network", "nonsense"], "no network 'nonsense'"),
    ],
)
def test_mistakes_get_one_line(
    words: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*words) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", available())
def test_every_trained_network(name: str, tmp_path: Path) -> None:
    assert call(tmp_path / "network.onnx", "--network", name) == 0
