"""``whorl inpaint``: masks of all kinds, pictures, stacks, volumes and folders; known pixels are kept."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import tifffile
import torch
import zarr

import whorl
from whorl import files
from whorl.cli import fillings

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


@pytest.mark.parametrize("how", [[], ["--homogeneous"], ["--biharmonic"], ["--diffusion-shock"]])
def test_a_mask_in_a_file(tmp_path, whorl_command, how):
    source = picture()
    files.write(tmp_path / "a.png", broken(source))
    files.write(tmp_path / "m.png", grey(255 * MASK))
    answer = whorl_command("inpaint", "--json", *how, tmp_path / "a.png", tmp_path / "m.png", tmp_path / "b.png")
    assert answer.code == 0
    page = json.loads(answer.out)["files"][0]["pages"][0]
    assert page["filled"] == pytest.approx(MASK.mean())
    assert 0 <= page["distance"] <= 0.1
    check(files.read(tmp_path / "b.png"), source)


def test_two_ways_at_once_and_pixels_that_are_not_square_get_one_line(tmp_path, whorl_command):
    files.write(tmp_path / "a.png", broken(picture()))
    files.write(tmp_path / "m.png", grey(255 * MASK))
    paths = tmp_path / "a.png", tmp_path / "m.png", tmp_path / "b.png"
    for options, words in (
        (["--homogeneous", "--diffusion-shock"], "--homogeneous and --diffusion-shock: choose one of them."),
        (["--diffusion-shock", "--spacing", "1,2"], "square pixels"),
    ):
        answer = whorl_command("inpaint", *options, *paths)
        assert answer.code == 2
        assert words in answer.err
        assert not paths[-1].exists()


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
        ("white.png", "96.7 % of the image would be filled, more than 50 %"),
        ("greenish", "greenish"),
        ("full.png", "nothing is left to fill from"),
        ("missing.png", "missing.png"),
    ],
)
def test_bad_masks_get_one_line_and_nothing_is_written(tmp_path, whorl_command, monkeypatch, mask, words):
    monkeypatch.chdir(tmp_path)
    files.write("a.png", picture())
    small = np.zeros((2, 3, 1), np.uint8)
    files.write("small.png", files.Picture(small, files.Layout(2, 3, 1, np.dtype("u1"), "grey")))
    files.write("white.png", grey(np.where(MASK, 0, 255)))
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


def test_the_output_is_looked_at_before_the_work(tmp_path, whorl_command, monkeypatch):
    files.write(tmp_path / "a.png", broken(picture()))
    monkeypatch.setattr("whorl.cli.fillings.steady", None)
    (tmp_path / "b.png").write_text("mine")
    answer = whorl_command("inpaint", tmp_path / "a.png", "#000000", tmp_path / "b.png")
    assert answer.code == 2
    assert "exists already" in answer.err
    (tmp_path / "b.png").unlink()
    answer = whorl_command("inpaint", tmp_path / "a.png", "#000000", tmp_path / "b.xyz")
    assert answer.code == 2
    assert answer.err.count("\n") == 1


def test_a_dry_run_says_what_it_would_fill_and_writes_nothing(tmp_path, whorl_command, monkeypatch):
    files.write(tmp_path / "a.png", broken(picture()))
    files.write(tmp_path / "m.png", grey(255 * MASK))
    monkeypatch.setattr("whorl.cli.fillings.steady", None)
    words = ("inpaint", "-n", tmp_path / "a.png", tmp_path / "m.png", tmp_path / "b.png")
    assert "3.33 % filled by eed" in whorl_command(*words).out
    answer = json.loads(whorl_command(*words, "--json").out)
    assert not answer["written"]
    assert answer["files"][0]["pages"][0]["filled"] == pytest.approx(MASK.mean())
    assert not (tmp_path / "b.png").exists()


def test_folders_with_one_mask_and_with_a_folder_of_masks(tmp_path, whorl_command):
    sources = {"one.png": picture(), "two.tif": picture(1, "u2")}
    (tmp_path / "in").mkdir()
    (tmp_path / "masks").mkdir()
    for name, source in sources.items():
        files.write(tmp_path / "in" / name, broken(source))
    files.write(tmp_path / "m.png", grey(255 * MASK))
    for name in ("one.png", "two.png"):
        files.write(tmp_path / "masks" / name, grey(255 * MASK))
    for mask, out in (("m.png", "once"), ("masks", "each")):
        answer = whorl_command("inpaint", tmp_path / "in", tmp_path / mask, tmp_path / out)
        assert answer.code == 0, answer.err
        for name, source in sources.items():
            check(files.read(tmp_path / out / name), source)
    (tmp_path / "masks" / "two.png").unlink()
    answer = whorl_command("inpaint", tmp_path / "in", tmp_path / "masks", tmp_path / "some")
    assert answer.code == 2
    assert "holds no mask for" in answer.err
    check(files.read(tmp_path / "some" / "one.png"), sources["one.png"])


@pytest.mark.parametrize("masks", [1, 3])
def test_stacks_with_one_mask_and_with_one_for_each_page(tmp_path, whorl_command, masks):
    source = picture(1, "u1").samples[..., 0]
    gaps = [MASK, np.roll(MASK, 5, 1), np.zeros_like(MASK)][:masks]
    pages = [np.where(gaps[number % masks], 0, source + 20 * number).astype("u1") for number in range(3)]
    tifffile.imwrite(tmp_path / "a.tif", np.stack(pages), photometric="minisblack")
    tifffile.imwrite(tmp_path / "m.tif", np.stack(gaps).astype("u1") * 255, photometric="minisblack")
    answer = whorl_command("inpaint", tmp_path / "a.tif", tmp_path / "m.tif", tmp_path / "b.tif")
    assert answer.code == 0, answer.err
    result = tifffile.imread(tmp_path / "b.tif")
    for number, page in enumerate(pages):
        mask = gaps[number % masks]
        expected = whorl.inpaint(page, mask) if mask.any() else page
        assert np.array_equal(result[number], expected)
    tifffile.imwrite(tmp_path / "two.tif", np.stack(gaps * 2)[:2].astype("u1") * 255, photometric="minisblack")
    answer = whorl_command("inpaint", tmp_path / "a.tif", tmp_path / "two.tif", tmp_path / "c.tif")
    assert answer.code == 2
    assert "has 2 pages, the picture 3" in answer.err


@pytest.mark.parametrize("mask", ["nan", "file"])
def test_volumes_are_filled_in_three_dimensions(tmp_path, whorl_command, mask):
    z, y, x = np.mgrid[:10, :12, :14]
    whole = (3 * x + 2 * y + 5 * z).astype("f4")
    gaps = np.zeros(whole.shape, bool)
    gaps[3:6, 4:8, 5:9] = True
    given = np.where(gaps, np.nan if mask == "nan" else 0, whole).astype("f4")
    names, scale = ("z", "y", "x"), {"scale": [2.0, 1.0, 1.0]}
    for name, values in (("a", given), ("m", gaps.astype("u1"))):
        array = zarr.create_array(str(tmp_path / f"{name}.zarr"), data=values, chunks=(8,) * 3, dimension_names=names)
        array.attrs.update(scale)
    word = "nan" if mask == "nan" else tmp_path / "m.zarr"
    answer = whorl_command("inpaint", "--json", tmp_path / "a.zarr", word, tmp_path / "b.zarr")
    assert answer.code == 0, answer.err
    page = json.loads(answer.out)["files"][0]["pages"][0]
    assert page["filled"] == pytest.approx(gaps.mean())
    assert page["depth"] == 10
    result = zarr.open(tmp_path / "b.zarr", mode="r")[...]
    assert np.array_equal(result[~gaps], whole[~gaps])
    assert np.array_equal(result, whorl.inpaint(given, gaps, spacing=(1.0, 1.0, 1.0)))


def test_the_voxel_size_of_a_volume_counts(tmp_path, whorl_command):
    nibabel = pytest.importorskip("nibabel")
    z, y, x = np.mgrid[:12, :11, :10]
    whole = (40 * np.sin(x / 3) + 30 * np.cos(y / 4) + 8 * z).astype("f4")
    gaps = np.zeros(whole.shape, bool)
    gaps[4:8, 3:8, 3:7] = True
    broken = np.where(gaps, np.nan, whole).astype("f4")
    nibabel.save(nibabel.Nifti1Image(broken.T, np.diag([1.0, 1.0, 3.0, 1.0])), tmp_path / "a.nii")
    answer = whorl_command("inpaint", "--homogeneous", tmp_path / "a.nii", "nan", tmp_path / "b.nii")
    assert answer.code == 0, answer.err
    result = np.asarray(nibabel.load(tmp_path / "b.nii").dataobj).T
    expected = whorl.inpaint(broken, gaps, "homogeneous", spacing=(3.0, 1.0, 1.0))
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("mask", ["nan", "file"])
def test_a_volume_with_a_soft_mask_grown_and_a_spacing_of_its_own(tmp_path, whorl_command, mask):
    z, y, x = np.mgrid[:9, :10, :11]
    whole = (20 * np.sin(x / 3) + 3 * y + 5 * z).astype("f4")
    core = np.zeros(whole.shape, bool)
    core[3:5, 4:6, 4:7] = True
    gaps = np.any([np.roll(core, step, axis) for axis in range(3) for step in (-1, 0, 1)], axis=0)
    soft = (core * 0.7 + gaps * 0.2).astype("f4")  # the rim lies below half
    names = ("z", "y", "x")
    given = np.where(core, np.nan, whole).astype("f4")
    for name, values in (("a", given), ("m", soft)):
        zarr.create_array(str(tmp_path / f"{name}.zarr"), data=values, chunks=(8,) * 3, dimension_names=names)
    word = "nan" if mask == "nan" else tmp_path / "m.zarr"
    how = ("--homogeneous", "--grow", 1, "--spacing", "4,2,2")
    answer = whorl_command("inpaint", "--json", *how, tmp_path / "a.zarr", word, tmp_path / "b.zarr")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["files"][0]["pages"][0]["filled"] == pytest.approx(gaps.mean())
    expected = whorl.inpaint(given, gaps, "homogeneous", spacing=(2.0, 1.0, 1.0))
    assert np.array_equal(zarr.open(tmp_path / "b.zarr", mode="r")[...], expected)
    if mask == "nan":
        assert np.array_equal(expected, whorl.inpaint(given, "nan", "homogeneous", spacing=(2.0, 1.0, 1.0), grow=1))


def test_a_stack_and_a_picture_take_a_spacing(tmp_path, whorl_command):
    source = picture(1, "f4").samples[..., 0]
    tifffile.imwrite(tmp_path / "a.tif", np.where(MASK, np.nan, source + 9 * np.sin(source)).astype("f4"))
    answer = whorl_command("inpaint", "--spacing", "3,1", tmp_path / "a.tif", "nan", tmp_path / "b.tif")
    assert answer.code == 0, answer.err
    expected = whorl.inpaint(tifffile.imread(tmp_path / "a.tif"), MASK, spacing=(3.0, 1.0))
    assert np.array_equal(tifffile.imread(tmp_path / "b.tif"), expected)
    answer = whorl_command("inpaint", "--spacing", "3,1,1", tmp_path / "a.tif", "nan", tmp_path / "c.tif")
    assert "a picture needs height and width" in answer.err


def test_integers_beyond_what_floats_hold_are_kept(tmp_path, whorl_command):
    values = picture(1, "i8").samples[..., 0] + 2**60 + 1
    zarr.create_array(str(tmp_path / "a.zarr"), data=values, chunks=(16, 16), dimension_names=("y", "x"))
    files.write(tmp_path / "m.png", grey(255 * MASK))
    answer = whorl_command("inpaint", "--homogeneous", tmp_path / "a.zarr", tmp_path / "m.png", tmp_path / "b.zarr")
    assert answer.code == 0, answer.err
    assert np.array_equal(zarr.open(tmp_path / "b.zarr", mode="r")[...][~MASK], values[~MASK])


def test_known_pixels_of_a_jpeg_tiff_are_kept_too(tmp_path, whorl_command):
    """Such a file is compressed as JPEG again by filters; filling in promises more."""
    tifffile.imwrite(tmp_path / "a.tif", picture().samples, photometric="rgb", compression="jpeg")
    files.write(tmp_path / "m.png", grey(255 * MASK))
    words = ("inpaint", "--homogeneous", tmp_path / "a.tif", tmp_path / "m.png")
    assert whorl_command(*words, tmp_path / "b.tif").code == 0
    given, result = files.read(tmp_path / "a.tif"), files.read(tmp_path / "b.tif")
    assert (given.metadata.compression, result.metadata.compression) == ("jpeg", None)
    assert np.array_equal(result.samples[~MASK], given.samples[~MASK])
    assert whorl_command(*words, tmp_path / "c.tif", "--compression", "jpeg").code == 0
    assert files.read(tmp_path / "c.tif").metadata.compression == "jpeg"
    answer = whorl_command(*words, tmp_path / "d.png", "--compression", "lzw")
    assert (answer.code, "is for TIFF" in answer.err) == (2, True)


def test_a_rim_of_the_colour_is_told_with_the_remedy(tmp_path, whorl_command):
    """Letters with soft edges: those who follow the line that they read are rid of them."""
    y, x = np.mgrid[:60, :90]
    clean = np.stack([40 + x, 90 + y, 130 - y], -1).astype(float)
    drawn = np.zeros((60, 90))
    drawn[20:40, 20:24] = drawn[28:32, 20:70] = 1
    for axis in (0, 1):
        drawn = (np.roll(drawn, 1, axis) + 2 * drawn + np.roll(drawn, -1, axis)) / 4
    shown = clean + drawn[..., None] * (np.array([255.0, 0, 0]) - clean)
    layout = files.Layout(60, 90, 3, np.dtype("u1"), "rgb")
    files.write(tmp_path / "a.png", files.Picture(layout.round(shown), layout))
    answer = whorl_command("inpaint", tmp_path / "a.png", "red", tmp_path / "b.png")
    assert "around it are pixels mixed with this colour; --grow " in answer.out
    pixels = answer.out.split("--grow ")[1].split()[0]
    answer = whorl_command("inpaint", tmp_path / "a.png", "red", tmp_path / "c.png", "--grow", pixels)
    assert "mixed" not in answer.out
    errors = [np.abs(files.read(tmp_path / name).samples - clean).max() for name in ("b.png", "c.png")]
    assert errors[0] > 50
    assert errors[1] < 4


def test_a_word_that_is_no_file_and_no_colour(tmp_path, whorl_command):
    files.write(tmp_path / "a.png", picture())
    answer = whorl_command("inpaint", tmp_path / "a.png", "redd", tmp_path / "b.png")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "redd: no such file, and no colour. Give a mask, alpha, nan, or a colour like red." in answer.err


def test_progress_of_a_filling_grows_with_the_digits_that_are_right(monkeypatch):
    """Three digits are the end: after one a third is done. What is left is told at the end."""
    told = []

    def steady(u, known, report, **how):
        for distance in (1.0, 0.1, 1e-2, 0.1):
            report(distance)
        return SimpleNamespace(image=u, distance=0.0)

    monkeypatch.setattr(fillings, "steady", steady)
    fill = fillings._Fill(lambda samples: samples[0] > 0, None, {}, {})
    fill.watched(torch.eye(3)[None, None], told.append)
    assert told == pytest.approx([0, 1 / 3, 1 / 3, 0, 1 / 3])
