"""Training on annotated pictures: what is read and refused, the loss, and a run from the command to a result."""

import numpy as np
import pytest
import torch
from PIL import Image

import whorl
from whorl.cli import main
from whorl.data.eye import drawn_eye
from whorl.errors import FileError, ShapeError
from whorl.networks import load_card
from whorl.training.annotated import MARGIN, Annotated, annotated
from whorl.training.method import image_losses
from whorl.training.recipe import line_recipe


@pytest.fixture
def folder(tmp_path):
    where = tmp_path / "eyes"
    where.mkdir()
    for k in range(3):
        picture, vessels, inside = drawn_eye(64, seed=k)
        Image.fromarray(picture).save(where / f"{k}.png")
        Image.fromarray(np.where(vessels, 255, 0).astype(np.uint8)).save(where / f"{k}-vessels.png")
        if k < 2:
            Image.fromarray(np.where(inside, 255, 0).astype(np.uint8)).save(where / f"{k}-mask.png")
    return where


def test_the_cross_entropy_is_that_of_log_odds():
    odds, truth = torch.randn(2, 1, 8, 8), (torch.rand(2, 1, 8, 8) > 0.7).float()
    expected = torch.nn.functional.binary_cross_entropy_with_logits(odds, truth)
    torch.testing.assert_close(image_losses("cross-entropy", odds.sigmoid() - truth, 1.0).mean(), expected)


def test_patches_hold_lines_where_they_count(folder):
    recipe = line_recipe("vessels-5k", folder, steps=2, batch=2, size=32)
    pairs = recipe.pairs()
    u, lines = pairs.batch(torch.arange(2), 0)
    assert u.shape == (2, 4, 32, 32)
    assert set(lines.unique().tolist()) <= {0.0, 1.0}
    assert float((lines * (1 - u[:, -1:])).sum()) == 0
    assert float(u[:, -1, :MARGIN].sum()) == 0
    assert torch.equal(u, pairs.batch(torch.arange(2), 0)[0])
    assert recipe.data.about()["held_back"] == ["0"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: (f / "1-vessels.png").unlink(), "1 has no lines.*1-lines.png"),
        (lambda f: Image.new("L", (9, 9)).save(f / "1-vessels.png"), "1-vessels has 9 x 9 pixels, 1 64 x 64"),
        (lambda f: Image.new("L", (9, 9)).save(f / "1-mask.png"), "1-mask has 9 x 9 pixels"),
        (lambda f: Image.new("L", (64, 64)).save(f / "1-vessels.png"), "no white pixel"),
        (lambda f: [p.unlink() for p in f.iterdir() if p.name[0] != "0"], "holds 1 picture"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(folder, change, words):
    change(folder)
    with pytest.raises(FileError, match=words):
        annotated(folder, 3)


@pytest.mark.filterwarnings("ignore:the training ended")
@pytest.mark.parametrize("optimiser", ["whitened", "gauss-newton"])
def test_the_command_takes_the_optimiser_or_refuses_it(folder, tmp_path, optimiser, capsys):
    words = ["train", "vessels-5k", "--data", folder, "--steps", 1, "--batch", 1, "--size", 32, "--out", tmp_path]
    with pytest.raises(SystemExit) as leaving:
        main.run([*map(str, words), "--optimiser", optimiser])
    if optimiser == "gauss-newton":
        assert leaving.value.code
        assert "Take adam or whitened" in capsys.readouterr().err
    else:
        assert load_card(tmp_path / "network.safetensors").training["optimiser"] == "whitened"


@pytest.mark.filterwarnings("ignore:the training ended")  # two steps are in vain
def test_the_command_trains_and_the_result_segments(folder, tmp_path, capsys):
    words = (
        "train",
        "vessels-5k",
        "--data",
        folder,
        "--steps",
        2,
        "--batch",
        1,
        "--size",
        32,
        "--out",
        tmp_path / "run",
    )
    with pytest.raises(SystemExit) as leaving:
        main.run([str(word) for word in words])
    assert not leaving.value.code
    assert "Dice on pictures held back" in capsys.readouterr().out
    card = load_card(tmp_path / "run" / "network.safetensors")
    assert (card.training["loss"], card.data["pictures"]) == ("cross-entropy", 2)
    chances = whorl.segment(drawn_eye(64)[0], tmp_path / "run" / "network.safetensors", channel_axis=-1)
    assert chances.shape == (64, 64)


def test_pictures_may_differ_in_size_but_hold_a_patch(folder):
    picture, vessels, _ = drawn_eye(97, seed=7)
    Image.fromarray(picture[:80]).save(folder / "wide.png")
    Image.fromarray(np.where(vessels[:80], 255, 0).astype(np.uint8)).save(folder / "wide-lines.png")
    recipe = line_recipe("vessels-5k", folder, steps=1, batch=2, size=64)
    assert recipe.pairs().batch(torch.arange(2), 0)[0].shape == (2, 4, 64, 64)
    with pytest.raises(ShapeError, match="smallest picture has 64.*Take a smaller size"):
        line_recipe("vessels-5k", folder, steps=1, batch=2, size=65).pairs()


def test_grey_pictures_train_a_network_for_colour(folder):
    for path in folder.glob("?.png"):
        with Image.open(path) as picture:
            grey = picture.convert("L")
        grey.save(path)
    assert all(u.shape[1] == 3 for u, _, _ in annotated(folder, 3).values())


def test_training_lowers_the_loss(folder, monkeypatch):
    monkeypatch.setattr("whorl.training.annotated.EPOCH", 6)
    _, history = line_recipe("vessels-5k", folder, 24, batch=2, size=32, rate=0.01, warmup=1).train()
    assert len(history.epochs) == 4
    assert history.last.loss < 0.7 * history.epochs[0].loss
    assert history.last.held_back is not None


def test_fine_tuning_begins_where_training_ended(folder):
    tuned = line_recipe("mine", folder, 1, "vessels-5k", batch=1, size=32)
    assert tuned.training.rate == pytest.approx(6e-4)
    assert isinstance(tuned.data, Annotated)
    for name, weight in whorl.load("vessels-5k").named_parameters():
        assert torch.equal(tuned.start.get_parameter(name), weight)
    with pytest.raises(ValueError, match="not a network for lines"):
        line_recipe("photo-8k", folder)
