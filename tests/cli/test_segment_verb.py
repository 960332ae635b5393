"""``whorl segment``: chances, mask and overlay as files, and one line for what cannot be done."""

import numpy as np
import pytest

import whorl
from whorl import files
from whorl.data.eye import drawn_eye

PICTURE, VESSELS, INSIDE = drawn_eye(80)


def write(path, samples):
    values = samples if samples.ndim == 3 else samples[..., None]
    layout = files.Layout(*values.shape, values.dtype, "rgb" if values.shape[2] == 3 else "grey")
    files.write(path, files.Picture(values, layout))


@pytest.fixture
def eye(tmp_path):
    write(tmp_path / "eye.png", PICTURE)
    return tmp_path / "eye.png"


def test_chances_mask_and_overlay_are_written(eye, tmp_path, whorl_command):
    out, mask, overlay = (tmp_path / name for name in ("out.png", "mask.png", "overlay.png"))
    answer = whorl_command("segment", eye, out, "--mask", mask, "--overlay", overlay, "--threshold", 0.5)
    assert answer.code == 0, answer.err
    expected = whorl.segment(PICTURE, channel_axis=-1)
    assert np.array_equal(files.read(out).samples[..., 0], np.rint(255 * expected).astype(np.uint8))
    assert np.array_equal(files.read(mask).samples[..., 0] == 255, expected >= 0.5)
    assert files.read(overlay).samples.shape == PICTURE.shape
    assert "of the field of view" in answer.out
    again = whorl_command("segment", eye, out)
    assert again.code == 2
    assert "--force" in again.err


def test_folders_tiff_and_a_given_view(eye, tmp_path, whorl_command):
    write(tmp_path / "view.png", np.where(INSIDE, 255, 0).astype(np.uint8))
    answer = whorl_command("segment", "-q", "--view", tmp_path / "view.png", eye, tmp_path / "out.tif")
    assert (answer.code, answer.out) == (0, "")
    found = files.read(tmp_path / "out.tif").samples[..., 0]
    assert np.array_equal(found, whorl.segment(PICTURE, channel_axis=-1, view=INSIDE))
    (tmp_path / "eyes").mkdir()
    eye.rename(tmp_path / "eyes" / "eye.png")
    assert whorl_command("segment", tmp_path / "eyes", tmp_path / "chances").code == 0
    assert (tmp_path / "chances" / "eye.png").is_file()


def test_what_cannot_be_done_is_one_line(eye, tmp_path, whorl_command):
    write(tmp_path / "grey.png", PICTURE[..., 0])
    write(tmp_path / "small.png", PICTURE[:9, :9, 0])
    wrong = {
        "Make them equal": ("--view", tmp_path / "small.png", eye, tmp_path / "a.png"),
        "There is no network": ("--network", "vessels", eye, tmp_path / "a.png"),
        "one picture": ("--mask", tmp_path / "m.png", eye, tmp_path / "grey.png", tmp_path / "both"),
    }
    for words, arguments in wrong.items():
        answer = whorl_command("segment", *arguments)
        assert answer.code == 2
        assert words in answer.err
        assert answer.err.count("\n") == 1
    assert not (tmp_path / "a.png").exists()


def test_a_grey_picture_is_taken(tmp_path, whorl_command):
    write(tmp_path / "grey.png", PICTURE[..., 1])
    assert whorl_command("segment", tmp_path / "grey.png", tmp_path / "out.tif").code == 0
    found = files.read(tmp_path / "out.tif").samples[..., 0]
    assert np.array_equal(found, whorl.segment(PICTURE[..., [1, 1, 1]], channel_axis=-1))
