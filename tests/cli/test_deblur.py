"""``whorl deblur``: the same as the library, for files and folders, and one line for what cannot be done."""

import json

import numpy as np
import pytest
import torch

import whorl
from whorl import files
from whorl.reconstruction import Blur

KERNEL = np.array([[0, 51, 0], [51, 51, 51], [0, 51, 0]], np.uint8)


def write(path, samples):
    values = samples if samples.ndim == 3 else samples[..., None]
    layout = files.Layout(*values.shape, values.dtype, "rgb" if values.shape[2] == 3 else "grey")
    files.write(path, files.Picture(values, layout))


@pytest.fixture
def blurred(tmp_path):
    y, x = np.mgrid[:34, :34]
    scene = torch.from_numpy(60.0 + 100 * (x > y) + y)[None, None].float()
    seen = Blur(torch.from_numpy(KERNEL / 255))(scene)[0, 0].numpy()
    seen = seen + np.random.default_rng(0).normal(0, 4, seen.shape)
    write(tmp_path / "seen.png", np.rint(seen).clip(0, 255).astype(np.uint8))
    write(tmp_path / "k.png", KERNEL)
    return tmp_path / "seen.png"


def test_the_command_does_what_the_library_does(blurred, tmp_path, whorl_command):
    kernel, out = tmp_path / "k.png", tmp_path / "sharp.png"
    planned = whorl_command("deblur", "--dry-run", "--json", "--noise", 4, blurred, "--kernel", kernel, out)
    assert json.loads(planned.out)["files"][0]["pages"][0]["network"] == "energy-convex"
    assert not out.exists()
    answer = whorl_command("deblur", "--noise", 4, blurred, "--kernel", kernel, out)
    assert answer.code == 0, answer.err
    assert "32 x 32 grey uint8, energy-convex, noise 4" in answer.out
    seen = files.read(blurred).samples[..., 0]
    expected = whorl.reconstruct(seen, Blur(torch.from_numpy(KERNEL / 255)), noise=4.0)[1:-1, 1:-1]
    assert float(np.abs(files.read(out).samples[..., 0] - expected).max()) < 1
    again = whorl_command("deblur", "--noise", 4, blurred, "--kernel", kernel, out)
    assert (again.code, "--force" in again.err) == (2, True)


def test_folders_of_colour_with_noise_measured(tmp_path, whorl_command):
    (tmp_path / "in").mkdir()
    write(tmp_path / "k.png", KERNEL)
    noisy = 100 + np.random.default_rng(0).normal(0, 6, (32, 32, 3))
    write(tmp_path / "in" / "a.png", np.rint(noisy).astype(np.uint8))
    answer = whorl_command("deblur", "-k", tmp_path / "k.png", tmp_path / "in", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "(measured)" in answer.out
    assert files.read(tmp_path / "out" / "a.png").samples.std() < 3


def test_what_cannot_be_done_is_one_line(blurred, tmp_path, whorl_command):
    write(tmp_path / "black.png", 0 * KERNEL)
    write(tmp_path / "wide.png", np.ones((40, 40), np.uint8))
    write(tmp_path / "flat.png", np.full((32, 32), 9, np.uint8))
    kernel = tmp_path / "k.png"
    for words, arguments in {
        "not 0 alone": ("-k", tmp_path / "black.png", blurred),
        "smaller than the kernel": ("--noise", 4, "-k", tmp_path / "wide.png", blurred),
        "is no energy": ("-k", kernel, "--energy", "photo-grey", blurred),
        "noise must lie": ("-k", kernel, "--noise", 0, blurred),
        "no noise was found": ("-k", kernel, tmp_path / "flat.png"),
    }.items():
        answer = whorl_command("deblur", *arguments, tmp_path / "out.png")
        assert answer.code == 2
        assert words in answer.err
        assert answer.err.count("\n") == 1
    assert not (tmp_path / "out.png").exists()


def test_a_volume_is_refused_in_a_sentence_about_this_verb(blurred, tmp_path, whorl_command):
    nibabel = pytest.importorskip("nibabel")
    nibabel.save(nibabel.Nifti1Image(np.ones((8, 8, 8), np.float32), np.eye(4)), tmp_path / "v.nii")
    refused = whorl_command("deblur", "-k", tmp_path / "k.png", tmp_path / "v.nii", tmp_path / "out.nii")
    assert (refused.code, "a volume, and deblurring is for pictures" in refused.err) == (2, True)
