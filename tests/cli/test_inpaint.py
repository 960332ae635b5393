"""``whorl inpaint``: four kinds of masks, known pixels kept, nothing written where something is wrong."""

import json

import numpy as np
import pytest
import tifffile

from whorl import files

MASK = np.zeros((24, 30), bool)
MASK[8:12, 10:16] = True


def picture(channels=3, dtype="u1", alpha=False):
    y, x = np.mgrid[:24, :30]
    samples = np.stack([4 * x + 3 * y + 5 * c for c in range(channels)], -1).astype(dtype)
    if alpha:
        samples = np.concatenate([samples, np.where(MASK, 0, 255)[..., None].astype(dtype)], -1)
    name = "rgb" if channels == 3 else "grey"
    return files.Picture(samples, files.Layout(24, 30, samples.shape[-1], np.dtype(dtype), name, int(alpha)))


def broken(source, value=0):
    samples = source.samples.copy()
    samples[MASK, : source.layout.filtered] = value
    return files.Picture(samples, source.layout)


def grey(values):
    return files.Picture(values[..., None].astype(np.uint8), files.Layout(24, 30, 1, np.dtype("u1"), "grey"))


def check(result, source):
    assert np.array_equal(result.samples[~MASK], source.samples[~MASK])
    assert np.abs(result.colours.astype(float) - source.colours).max() <= 2


@pytest.mark.parametrize("how", [[], ["--homogeneous"], ["--biharmonic"]])
def test_a_mask_in_a_file(tmp_path, whorl_command, how):
    source = picture()
    files.write(tmp_path / "a.png", broken(source))
    files.write(tmp_path / "m.png", grey(255 * MASK))
    answer = whorl_command("inpaint", "--json", *how, tmp_path / "a.png", tmp_path / "m.png", tmp_path / "b.png")
    assert answer.code == 0
    assert json.loads(answer.out)["filled"] == pytest.approx(MASK.mean())
    check(files.read(tmp_path / "b.png"), source)


def test_transparent_pixels_are_filled_and_no_longer_transparent(tmp_path, whorl_command):
    source = picture(alpha=True)
    files.write(tmp_path / "a.png", broken(source))
    assert whorl_command("inpaint", tmp_path / "a.png", "alpha", tmp_path / "b.png").code == 0
    result = files.read(tmp_path / "b.png")
    assert (result.samples[..., 3] == 255).all()
    check(result, source)


def test_nan_is_filled(tmp_path, whorl_command):
    source = picture(1, "f4")
    tifffile.imwrite(tmp_path / "a.tif", np.where(MASK, np.nan, source.samples[..., 0]).astype("f4"))
    assert whorl_command("inpaint", tmp_path / "a.tif", "nan", tmp_path / "b.tif").code == 0
    check(files.read(tmp_path / "b.tif"), source)


def test_a_colour_is_filled(tmp_path, whorl_command):
    source = picture()
    files.write(tmp_path / "a.png", broken(source, (255, 0, 255)))
    answer = whorl_command("inpaint", tmp_path / "a.png", "#ff00ff", tmp_path / "b.png")
    assert answer.code == 0
    assert "% filled by eed" in answer.out
    check(files.read(tmp_path / "b.png"), source)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ("alpha", "no alpha channel"),
        ("nan", "has no NaN"),
        ("#ff00", "six digits"),
        ("#010203", "nothing to fill"),
        ("small.png", "the mask has 3 x 2 pixels"),
        ("shades.png", "black and white"),
        ("full.png", "nothing is left to fill from"),
        ("missing.png", "missing.png"),
    ],
)
def test_bad_masks_get_one_line_and_nothing_is_written(tmp_path, whorl_command, monkeypatch, mask, words):
    monkeypatch.chdir(tmp_path)
    files.write("a.png", picture())
    small = np.zeros((2, 3, 1), np.uint8)
    files.write("small.png", files.Picture(small, files.Layout(2, 3, 1, np.dtype("u1"), "grey")))
    files.write("shades.png", grey(np.arange(720).reshape(24, 30) % 256))
    files.write("full.png", grey(np.full((24, 30), 255)))
    answer = whorl_command("inpaint", "a.png", mask, "b.png")
    assert answer.code == 2
    assert words in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "b.png").exists()


def test_an_output_that_exists_is_kept(tmp_path, whorl_command):
    files.write(tmp_path / "a.png", broken(picture()))
    files.write(tmp_path / "m.png", grey(255 * MASK))
    (tmp_path / "b.png").write_text("mine")
    assert whorl_command("inpaint", tmp_path / "a.png", tmp_path / "m.png", tmp_path / "b.png").code == 2
    assert (tmp_path / "b.png").read_text() == "mine"
