"""``whorl train`` on a folder of volumes, and what it made."""

import numpy as np
import pytest

from whorl.data import drawn_volumes


@pytest.mark.filterwarnings("ignore:the training ended")  # one step cannot gain
def test_a_network_learns_scans_and_denoises_one(tmp_path, whorl_command):
    nibabel = pytest.importorskip("nibabel")
    scans, out = tmp_path / "scans", tmp_path / "out"
    scans.mkdir()
    for name, volume in zip(("a.nii", "b.nii"), drawn_volumes(range(2), size=12)[:, 0].numpy(), strict=True):
        nibabel.Nifti1Image(volume, np.eye(4)).to_filename(scans / name)
    words = ("train", "mine", "--from", "volume-5k", "--data", scans, "--steps", 1, "--batch", 1, "--size", 12)
    answer = whorl_command(*words, "--rate", 1e-6, "--out", out)
    assert answer.code == 0, answer.err
    assert "on pictures held back" in answer.out
    noisy, result = tmp_path / "noisy.nii", tmp_path / "clean.nii"
    rough = volume + 20 * np.random.default_rng(0).standard_normal(volume.shape)
    nibabel.Nifti1Image(rough.astype(np.float32), np.eye(4)).to_filename(noisy)
    words = ("denoise", "--network", out / "network.safetensors", "--noise", 20, noisy, result)
    answer = whorl_command(*words)
    assert answer.code == 0, answer.err
    assert nibabel.load(result).shape == (12, 12, 12)
