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
    assert "--compare draws results. Leave out --dry-run" in answer.err


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
    assert _busiest(change, 50) == (0, 5)
    change[30:35, 50:56] = 1
    top, left = _busiest(change, 10)
    assert top <= 30
    assert top + 10 >= 35
    assert left <= 50
    assert left + 10 >= 56


def test_of_several_results_the_sheets_lie_in_a_folder(tmp_path, whorl_command):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    names = ["a.png", "a.tif", "deep/b.png"]
    for number, name in enumerate(names):
        Image.fromarray(noisy(20, 30 + number, 1)[..., 0]).save(tmp_path / "in" / name)
    words = ("filter", "-c", 9, "-t", 1, tmp_path / "in", tmp_path / "out", "--compare")
    answer = whorl_command(*words, tmp_path / "one.png")
    assert (answer.code, listing(tmp_path / "out")) == (2, [])
    assert "one.png: there are several results. Name a folder for their sheets." in answer.err
    answer = whorl_command(*words, tmp_path / "sheets", "--json")
    assert answer.code == 0, answer.err
    sheets = [tmp_path / "sheets" / name for name in ("a.png", "a.tif.png", "deep/b.png")]
    assert [file["compare"] for file in json.loads(answer.out)["files"]] == [*map(str, sheets)]
    for name, path in zip(names, sheets, strict=True):
        result = np.array(Image.open(tmp_path / "out" / name)).astype(int)
        zoom = SIDE // 2 // result.shape[1]
        shown = panels(path, *(zoom * size for size in result.shape))[1]
        assert np.array_equal(shown[::zoom, ::zoom, 0], result)
    again = whorl_command(*words, tmp_path / "sheets", "-f")
    assert again.code == 0, again.err


@pytest.mark.parametrize("kind", ["mrc", "nifti", "tiff"])
def test_of_a_volume_three_slices_are_shown(tmp_path, whorl_command, kind):
    """Each as it lies in the middle, in its true proportions; also of the stack that only ``--volume`` names one."""
    volume = np.random.default_rng(0).normal(0, 9, (9, 32, 64)).astype("f4")
    volume[:, :, 20:] += 200
    name, told = {"mrc": "a.mrc", "nifti": "a.nii.gz", "tiff": "a.tif"}[kind], ["--volume"] * (kind == "tiff")
    if kind == "mrc":
        with pytest.importorskip("mrcfile").new(tmp_path / name) as file:
            file.set_data(volume)
            file.voxel_size = (1.0, 1.0, 2.0)  # x, y, z
    elif kind == "nifti":
        nibabel = pytest.importorskip("nibabel")
        nibabel.save(nibabel.Nifti1Image(volume.T, np.diag([1.0, 1.0, 2.0, 1.0])), tmp_path / name)
    else:
        pytest.importorskip("tifffile").imwrite(tmp_path / name, volume)
    words = ("filter", *told, "-c", 20, "-t", 1, tmp_path / name, tmp_path / f"b{name[1:]}", "--compare")
    answer = whorl_command(*words, tmp_path / "sheet.png")
    assert answer.code == 0, answer.err
    depth = 18 if kind != "tiff" else 9  # voxels in units of those along x
    top = TOP
    for size, middle in (((32, 64), volume[4]), ((depth, 64), volume[:, 15]), ((depth, 32), volume[:, :, 31])):
        height, width = (round(SIDE * side / max(size)) for side in size)
        before, after, difference = panels(tmp_path / "sheet.png", height, width, top)
        rows, columns = ((2 * np.arange(n) + 1) * side // (2 * n)
                         for n, side in zip(middle.shape, (height, width), strict=True))  # fmt: skip
        low, high = np.quantile(middle, (0.002, 0.998))
        expected = np.clip((middle - low) * 255 / (high - low), 0, 255)
        assert np.abs(before[rows][:, columns, 0] - expected).max() <= 1
        assert after[rows][:, columns, 0].std(0).mean() < 0.8 * before[rows][:, columns, 0].std(0).mean()
        assert difference.std() > 10
        top += height + LINE + MARGIN
    answer = whorl_command(*words, tmp_path / "other.png", "-f", "--preview")
    assert (answer.code, (tmp_path / "other.png").exists()) == (2, False)


def test_what_volumes_have_not_is_refused(tmp_path, whorl_command):
    mrcfile = pytest.importorskip("mrcfile")
    with mrcfile.new(tmp_path / "a.mrc") as file:
        file.set_data(np.random.default_rng(0).normal(size=(6, 7, 8)).astype("f4"))
    before = listing(tmp_path)
    told = ("--noise", 1, tmp_path / "a.mrc", tmp_path / "b.mrc", "--compression", "zstd")
    answer = whorl_command("denoise", *told)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "is for pictures, and this is a volume" in answer.err
    assert listing(tmp_path) == before


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
