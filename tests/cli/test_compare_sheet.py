"""``--compare``: before, after and difference on one sheet; and raw files of cameras, which get the words that help."""

import json

import numpy as np
import pytest
from PIL import Image

from files.samples import listing
from whorl.cli.compare import SIDE, _busiest
from whorl.evaluation.sheet import LINE, MARGIN
from whorl.files.formats import RAW

TOP = MARGIN + 2 * LINE  # where the first row of panels begins


def noisy(height, width, channels=3):
    """One part of it changes more than others."""
    y, x = np.mgrid[:height, :width]
    noise = np.random.default_rng(0).normal(0, 12, (height, width, channels))
    clean = np.stack([60 + 40.0 * (x > width // 2) + 0.1 * y + 20 * c for c in range(channels)], -1)
    return np.clip(clean + noise, 0, 255).astype(np.uint8)


def panels(path, height, width, row_top=TOP):
    """The three pictures of a row."""
    sheet = np.array(Image.open(path)).astype(int)
    return [sheet[row_top : row_top + height, left : left + width]
            for left in (MARGIN + k * (width + MARGIN) for k in range(3))]  # fmt: skip


@pytest.mark.parametrize("verb", ["filter", "denoise", "inpaint"])
def test_the_sheet_holds_both_pictures_and_their_difference(tmp_path, whorl_command, verb):
    image = noisy(300, 280)
    Image.fromarray(image).save(tmp_path / "a.png")
    mask = np.zeros((300, 280), np.uint8)
    mask[100:108] = 255
    Image.fromarray(mask).save(tmp_path / "m.png")
    told = {"filter": ["--contrast", 9, "--time", 2], "denoise": ["--noise", 12], "inpaint": ["--homogeneous"]}[verb]
    middle = [tmp_path / "m.png"] if verb == "inpaint" else []
    words = [
        verb,
        *told,
        tmp_path / "a.png",
        *middle,
        tmp_path / "b.png",
        "--compare",
        tmp_path / "sheet.png",
        "--json",
    ]
    answer = whorl_command(*words)
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["files"][0]["compare"] == str(tmp_path / "sheet.png")
    result = np.array(Image.open(tmp_path / "b.png")).astype(int)
    before, after, difference = panels(tmp_path / "sheet.png", 300, 280)
    assert np.array_equal(before, image)
    assert np.array_equal(after, result)
    change = result - image
    assert np.abs(difference[change == 0] - 127).max() <= 1
    gains = (difference - 127.5)[np.abs(change) > 3] / change[np.abs(change) > 3]
    assert 0.9 < np.median(gains) < 33
    assert gains.min() > 0
    before = listing(tmp_path)
    answer = whorl_command(*words[:-1], "-f", "-n")
    assert (answer.code, listing(tmp_path)) == (2, before)
    assert "--compare draws the result of one file" in answer.err


def test_a_large_picture_is_shown_small_and_where_most_has_changed(tmp_path, whorl_command):
    height, width = 700, 1100
    image = np.full((height, width), 90, np.uint8)
    image[600:640, 900:960] += np.random.default_rng(0).integers(0, 60, (40, 60), np.uint8)
    Image.fromarray(image).save(tmp_path / "a.png")
    answer = whorl_command(
        "filter", "-c", 40, "-t", 1, tmp_path / "a.png", tmp_path / "b.png", "--compare", tmp_path / "sheet.png"
    )
    assert answer.code == 0, answer.err
    small = height // 3, width // 3
    before = panels(tmp_path / "sheet.png", *small)[0]
    means = image[: 3 * small[0], : 3 * small[1]].reshape(small[0], 3, small[1], 3).mean((1, 3))
    assert np.abs(before[..., 0] - means).max() <= 1
    detail = panels(tmp_path / "sheet.png", SIDE, SIDE, TOP + small[0] + LINE + MARGIN)
    assert detail[0].max() > 120  # the part with texture is in it
    assert detail[0].std() > detail[1].std()


def test_the_busiest_part_and_the_middle():
    change = np.zeros((40, 60))
    assert _busiest(change, 10) == (15, 25)
    change[30:35, 50:56] = 1
    top, left = _busiest(change, 10)
    assert top <= 30
    assert top + 10 >= 35
    assert left <= 50
    assert left + 10 >= 56


def test_volumes_have_no_such_sheet(tmp_path, whorl_command):
    mrcfile = pytest.importorskip("mrcfile")
    with mrcfile.new(tmp_path / "a.mrc") as file:
        file.set_data(np.random.default_rng(0).normal(size=(6, 7, 8)).astype("f4"))
    words = ("filter", "-c", 1, tmp_path / "a.mrc", tmp_path / "b.mrc")
    for told in (("--compare", tmp_path / "sheet.png"), ("--compression", "zstd")):
        answer = whorl_command(*words, *told)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert "is for pictures, and this is a volume" in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["a.mrc"]


@pytest.mark.parametrize("verb", ["filter", "denoise"])
@pytest.mark.parametrize("suffix", [".NEF", ".cr3"])
def test_raw_files_are_told_how_to_convert_them(tmp_path, whorl_command, verb, suffix):
    assert {".cr2", ".nef", ".arw", ".dng", ".raf", ".orf", ".rw2"} <= {*RAW}
    path = tmp_path / f"a{suffix}"
    if suffix == ".NEF":  # many begin like a TIFF with a small preview
        Image.fromarray(noisy(20, 20)).save(path, "TIFF")
    else:
        path.write_bytes(b"\0\0\0\x18ftypcrx " + bytes(100))
    answer = whorl_command(verb, path, tmp_path / "b.png")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "Convert it to 16-bit TIFF with" in answer.err
    assert not (tmp_path / "b.png").exists()
