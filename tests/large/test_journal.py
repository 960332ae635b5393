"""A window counts as done when its samples are on the disk, not before."""

import os
from pathlib import Path

import numpy as np
import pytest

from whorl import models
from whorl.files.volume import open_volume
from whorl.large import stages
from whorl.large.plan import How
from whorl.large.volumes import filter_volume

nibabel = pytest.importorskip("nibabel")


@pytest.mark.parametrize("time", [0.4, 6.0], ids=["one pass", "several passes"])
def test_samples_reach_the_disk_before_the_journal_says_so(tmp_path: Path, monkeypatch, time: float) -> None:
    """Between two lines of the journal the scratch file that holds the window is written, and then flushed."""
    values = np.random.default_rng(0).normal(size=(12, 14, 16)).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), tmp_path / "a.nii")
    flushed: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        flushed.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    model = models.build("perona-malik", contrast=1.0)
    with open_volume(tmp_path / "a.nii") as file:
        plan, _ = filter_volume(file, tmp_path / "b.nii", stages(model, time, dimension=3), How(tile=7))
    assert plan.count > 1
    assert (len(plan.passes) > 1) == (time > 1)
    lines = "".join({"done": "|", "result": "s"}.get(name, "s" if name.startswith("pass-") else "") for name in flushed)
    # Every window of every pass: samples, then its line; and one line more when a pass is complete.
    assert lines == ("s|" * plan.count + "|") * len(plan.passes)
