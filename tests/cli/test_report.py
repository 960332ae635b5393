"""``whorl denoise --report``: one sheet with pictures, noise and the numbers in words."""

import json

import numpy as np
import pytest
import torch

from files.samples import listing
from whorl import files
from whorl.automatic import NoiseModel
from whorl.cli.report import _slice, _words
from whorl.evaluation.noise_chart import draw_report


def save(path, image):
    layout = files.Layout(*image.shape[:2], image.shape[2], np.dtype("u1"), "rgb" if image.shape[2] == 3 else "grey")
    files.write(path, files.Picture(layout.round(image), layout))


def noisy(channels, width=0.0, size=(240, 300)):
    y, x = np.mgrid[: size[0], : size[1]]
    clean = np.stack([60 + 90.0 * (np.hypot(x - 140, y - 120) < 80) + 20 * c for c in range(channels)])
    model = NoiseModel((0.8,), (10.0,), (width,), 0.0, 255.0)
    return model.simulate(torch.from_numpy(clean)[None], seed=1)[0].permute(1, 2, 0).numpy()


@pytest.mark.parametrize("channels", [1, 3])
def test_the_sheet_is_drawn_and_says_what_json_says(tmp_path, whorl_command, channels):
    save(tmp_path / "a.png", noisy(channels))
    answer = whorl_command(
        "denoise", "--json", tmp_path / "a.png", tmp_path / "b.png", "--report", tmp_path / "sheet.png"
    )
    assert answer.code == 0, answer.err
    sheet = files.read(tmp_path / "sheet.png").samples
    assert sheet.shape[0] > 800
    assert sheet.std() > 20
    page = json.loads(answer.out)["files"][0]["pages"][0]
    before, after = page["psnr_expected"]
    assert after - before == pytest.approx(page["gain_expected"])
    assert before == pytest.approx(10 * np.log10(255**2 / (0.8 * noisy(channels).mean() + 10)), abs=1.0)
    more = " or more" if page["gain_expected"] == pytest.approx(12) else ""
    words = "\n".join(_words(page, NoiseModel(**page["noise_model"])))
    for said in (
        f"{before:.1f} dB before, {after:.1f} dB{more} after",
        "variance",
        "It looks like noise of this model.",
    ):
        assert said in words


def test_only_the_middle_of_a_large_picture_is_shown_and_a_copy_says_so(tmp_path, whorl_command):
    flat = np.full((560, 30, 1), 120.0)
    flat[300:] = 160
    save(tmp_path / "a.png", flat)
    words = ("denoise", tmp_path / "a.png", tmp_path / "b.png", "--report", tmp_path / "sheet.png")
    with pytest.warns(UserWarning, match="such as labels"):
        assert whorl_command(*words).code == 0
    assert np.array_equal(files.read(tmp_path / "b.png").samples, flat)
    page = {"noise": 0.0, "noise_measured": True, "copied": True}
    assert "no noise was found. The picture was copied." in "\n".join(_words(page, None))


@pytest.mark.parametrize("told", [(), ("--noise", "10")])
def test_of_a_volume_the_middle_slice_is_shown(tmp_path, whorl_command, told):
    nibabel = pytest.importorskip("nibabel")
    z, y, x = np.mgrid[:20, :40, :56]
    clean = 60 + 90.0 * (np.sqrt((x - 28.0) ** 2 + (y - 20.0) ** 2 + (z - 10.0) ** 2) < 14)
    volume = clean + np.random.default_rng(0).normal(0, 10, clean.shape)
    nibabel.save(nibabel.Nifti1Image(volume.T.astype("f4"), np.eye(4)), tmp_path / "a.nii.gz")
    paths = (tmp_path / "a.nii.gz", tmp_path / "b.nii.gz", "--report", tmp_path / "sheet.png")
    answer = whorl_command("denoise", "--json", *told, *paths)
    assert answer.code == 0, answer.err
    assert files.read(tmp_path / "sheet.png").samples.std() > 20
    page = json.loads(answer.out)["files"][0]["pages"][0]
    before, after, samples = _slice(*paths[:2], False)
    result = np.asarray(nibabel.load(paths[1]).dataobj).T
    assert np.array_equal(before[0].numpy(), volume[10].astype("f4"))
    assert np.array_equal(after[0].numpy(), result[10])
    assert sum(sample.numel() for sample in samples) > 1000
    model = NoiseModel(**page["noise_model"]) if not told else None
    words = "\n".join(_words(page, model))
    assert ("standard deviation 10, as told" if told else str(model)) in words
    assert words.endswith("The PSNR is estimated for pictures, not for volumes.\nNetwork: volume-5k.")


def test_a_model_that_does_not_fit_is_said_in_the_summary(tmp_path, whorl_command, monkeypatch):
    from whorl.denoising import Denoising

    save(tmp_path / "a.png", noisy(1, width=0.7))
    wrong = NoiseModel((0.8,), (10.0,), (0.0,), 0.0, 255.0)
    monkeypatch.setattr(Denoising, "measured", lambda *_: wrong)
    answer = whorl_command("denoise", tmp_path / "a.png", tmp_path / "b.png")
    assert "; The noise model does not fit: neighbours" in answer.out
    assert answer.out.count("\n") == 1


@pytest.mark.parametrize("words", [("a.png", "c.png", "out"), ("-n", "a.png", "b.png")])
def test_a_report_needs_results_and_a_name_for_each(tmp_path, whorl_command, words):
    save(tmp_path / "a.png", noisy(1))
    save(tmp_path / "c.png", noisy(1))
    before = listing(tmp_path)
    given = [tmp_path / word if word != "-n" else word for word in words]
    answer = whorl_command("denoise", *given, "--report", tmp_path / "sheet.png")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "Leave out --dry-run" in answer.err or "Name a folder for their sheets" in answer.err
    assert listing(tmp_path) == before


def test_a_sheet_has_room_for_all_its_words(tmp_path):
    u, model = torch.rand(1, 64, 64), NoiseModel.constant(0.1)
    sizes = []
    for count in (4, 40):
        words = "title", "\n".join(["a line of words"] * count)
        draw_report(u, u, [u[None]], model, words, tmp_path / "sheet.png", format="png")
        pixels = files.read(tmp_path / "sheet.png").samples[..., 0]
        assert (pixels[-30:, -500:] > 200).all()  # below the last line
        sizes.append(len(pixels))
    assert sizes[1] > sizes[0] + 20 * 30
