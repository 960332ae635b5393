"""The command, the figures and the tables that show the evidence."""

import json
import os

import pytest
import torch
from rich.console import Console

from whorl.cli import invariance, reproduce
from whorl.errors import FileError
from whorl.invariance.chart import draw_evidence
from whorl.invariance.evidence import counterpart, defaults_error, examine
from whorl.invariance.gallery import SHOWN, draw_gallery, gallery_table, show
from whorl.models import build, names


@pytest.fixture(scope="module")
def pair():
    return examine("perona-malik", time=0.5)


def text(table):
    console = Console(width=140, record=True, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    console.print(table)
    console.file.close()
    return console.export_text()


def test_a_model_is_examined_beside_its_uncoupled_twin(pair):
    model, twin = pair
    assert (model.name, twin.name) == ("perona-malik", "uncoupled")
    assert (model.coupled, twin.coupled) == (True, False)
    assert model.error.radius.relative < 2e-3 < twin.error.radius.relative
    assert model.setting.time == twin.setting.time == 0.5


def test_counterparts():
    assert counterpart(build("you-kaveh")) is None
    assert counterpart(build("uncoupled", contrast=3.0)).name == "perona-malik"
    assert float(counterpart(build("uncoupled", contrast=3.0)).activation.diffusivity.contrast) == pytest.approx(3.0)
    assert counterpart(build("weickert-integration", sigma=2.0)).operator.axes == 2


@pytest.mark.parametrize("name", ["weickert-brox", "eed", "ced"])
def test_settings_that_are_measured_turn_with_the_picture(name):
    error = defaults_error(name, channels=3 if name == "weickert-brox" else 1)
    if name == "ced":
        assert error is None
        return
    # Rounding of the settings and of some ten steps in float64, which edges may amplify.
    assert error.change > 20
    assert error.relative < 1e-9


def test_progress_sums_to_one():
    shares = []
    examine("perona-malik", time=0.2, progress=shares.append)
    assert sum(shares) == pytest.approx(1.0)


def test_unknown_models_and_foreign_options_are_named():
    with pytest.raises(ValueError, match="did you mean 'gerig'"):
        examine("gerigg")
    with pytest.raises(ValueError, match="no meaning"):
        examine("lysaker", alpha=0.2)


def test_the_table_shows_every_measurement(pair):
    shown = text(invariance.table(*pair))
    for words in (
        "nothing told",
        "quarter turns",
        "hill at radius 65",
        "turned by 36.9°",
        "turned by 45.0°",
        "uncoupled",
        "ratio",
    ):
        assert words in shown
    assert "ratio" not in text(invariance.table(pair[0], None))


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_evidence_is_drawn(pair, tmp_path, ending):
    model, twin = pair
    path = tmp_path / f"evidence.{ending}"
    draw_evidence(model, path, beside=twin if ending == "png" else None)
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")
    assert path.stat().st_size > 50_000


def test_the_command_prints_json_and_keeps_existing_files(capsys, tmp_path):
    plot = tmp_path / "evidence.pdf"
    invariance.command(model="you-kaveh", time=0.1, as_json=True, plot=plot, quiet=True)
    report = json.loads(capsys.readouterr().out)
    assert report["model"] == "you-kaveh"
    assert report["time"] == 0.1
    assert report["beside"] is None
    assert report["defaults"] < 1e-9
    assert report["summary"]["equal_radius"] < 2e-3
    assert plot.read_bytes()[:5] == b"%PDF-"
    with pytest.raises(FileError, match="force"):
        invariance.command(model="you-kaveh", plot=plot)


def test_the_gallery_shows_every_model():
    assert list(SHOWN) == names()


def test_figure_and_numbers_of_the_gallery(monkeypatch, tmp_path, capsys):
    shown = {name: SHOWN[name] for name in ("gerig", "uncoupled")}
    monkeypatch.setattr("whorl.invariance.gallery.SHOWN", shown)
    reproduce.models_figure(tmp_path / "new")
    numbers = json.loads((tmp_path / "new" / "models.json").read_text())["models"]
    assert list(numbers) == ["gerig", "uncoupled"]
    assert numbers["gerig"]["plate"] < numbers["uncoupled"]["plate"]
    assert numbers["gerig"]["psnr"] > 26  # of a picture with 22.1 dB
    assert numbers["gerig"]["beside"]["equal_radius"] > 10 * numbers["gerig"]["equal_radius"]
    assert (tmp_path / "new" / "models.png").stat().st_size > 200_000
    assert "uncoupled" in capsys.readouterr().out
    with pytest.raises(FileError, match="force"):
        reproduce.models_figure(tmp_path / "new")


def test_turned_and_upright_pictures_belong_together(tmp_path):
    showing = show("perona-malik")
    assert showing.upright.shape == showing.turned.shape == (3, 257, 257)
    assert not torch.equal(showing.upright, showing.turned)
    assert "perona-malik" in text(gallery_table([showing]))
    draw_gallery([showing], tmp_path / "one.png")
    assert (tmp_path / "one.png").exists()
