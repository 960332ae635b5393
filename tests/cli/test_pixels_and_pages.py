"""Pixels that are not square, stacks of pages, and what people are told meanwhile and afterwards."""

import json
import re

import numpy as np
import pytest
import tifffile
import zarr
from PIL import Image

import whorl
from files.samples import noise, picture
from whorl import files, large, models
from whorl.cli.batch import summary
from whorl.files.layout import Metadata

OPTIONS = ("--model", "weickert-brox", "--contrast", 30, "--time", 8, "--threads", 1)


def wavy(height: int, width: int, step: float) -> np.ndarray:
    """A smooth picture sampled every ``step`` units along y and every unit along x; grey values around 30,000."""
    y, x = step * (np.arange(height)[:, None] + 0.5), np.arange(width)[None, :] + 0.5
    waves = np.sin(2 * np.pi * (x + 0.5 * y) / 47) + np.cos(2 * np.pi * (y - 0.3 * x) / 61)
    return 30_000 + 20 * 100 * waves


def save(path, image: np.ndarray, aspect: tuple[int, int]) -> None:
    """Write the picture with height and width of its pixels, as each format says it."""
    high, wide = aspect
    image = np.rint(image).astype(np.uint16)
    if path.name == "ome.tif":
        metadata = {"axes": "YX", "PhysicalSizeY": 0.1 * high, "PhysicalSizeX": 0.1 * wide}
        tifffile.imwrite(path, image, ome=True, metadata=metadata)
    elif path.suffix == ".tif":
        unit = {"cm.tif": "CENTIMETER", "none.tif": "NONE"}[path.name]
        tifffile.imwrite(path, image, resolution=(100 / wide, 100 / high), resolutionunit=unit)
    elif path.suffix == ".png":
        Image.fromarray(image).save(path, dpi=(1200 / wide, 1200 / high))
    else:
        group = zarr.open_group(path, mode="w")
        group.create_array("0", data=image, chunks=(64, 64))
        sets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.1 * high, 0.1 * wide]}]}]
        group.attrs["ome"] = {"multiscales": [{"axes": [{"name": "y"}, {"name": "x"}], "datasets": sets}]}


@pytest.mark.parametrize("name", ["cm.tif", "none.tif", "ome.tif", "a.png", "a.zarr"])
def test_oblong_pixels_are_filtered_in_physical_space(tmp_path, whorl_command, name):
    """Pixels four times as high as wide: the result is that of square pixels, looked at in every fourth row."""
    fine, coarse = wavy(512, 128, 1.0), wavy(128, 128, 4.0)
    options = ("--model", "weickert-brox", "--contrast", 600, "--time", 40, "--threads", 1)
    for folder, image, aspect in (("oblong", coarse, (4, 1)), ("square", coarse, (1, 1)), ("fine", fine, (1, 1))):
        (tmp_path / folder).mkdir()
        save(tmp_path / folder / name, image, aspect)
        out = tmp_path / folder / f"out{(tmp_path / name).suffix}"
        assert whorl_command("filter", *options, tmp_path / folder / name, out).code == 0
    oblong, square, exact = (
        files.read(tmp_path / folder / f"out{(tmp_path / name).suffix}").samples[..., 0].astype(float)
        for folder in ("oblong", "square", "fine")
    )
    truth = (exact[1::4] + exact[2::4]) / 2  # the centres of the coarse pixels lie between two fine ones
    inner = (slice(8, -8), slice(8, -8))
    change = np.abs(coarse - truth)[inner].mean()
    assert np.abs(oblong - truth)[inner].mean() < 0.05 * change  # what is left is the coarser grid
    assert np.abs(square - truth)[inner].mean() > 0.3 * change


def test_spacing_can_be_given_and_is_reported(tmp_path, whorl_command):
    save(tmp_path / "cm.tif", wavy(40, 50, 1.0), (1, 1))
    results = {}
    for spacing in ("auto", "4,1", "0.2,0.05", "1,4", "3"):
        words = ("filter", "--json", "--spacing", spacing, *OPTIONS, tmp_path / "cm.tif", tmp_path / "b.tif", "--force")
        answer = whorl_command(*words)
        assert answer.code == 0, answer.err
        page = json.loads(answer.out)["files"][0]["pages"][0]
        results[spacing] = page["spacing"], files.read(tmp_path / "b.tif").samples
    assert results["4,1"][0] == results["0.2,0.05"][0] == [4.0, 1.0]
    assert np.array_equal(results["4,1"][1], results["0.2,0.05"][1])
    assert np.array_equal(results["auto"][1], results["3"][1])
    assert not np.array_equal(results["4,1"][1], results["1,4"][1])
    expected = whorl.diffuse(
        files.read(tmp_path / "cm.tif").samples[..., 0], "weickert-brox", contrast=30.0, time=8.0, spacing=(4.0, 1.0)
    )
    assert np.array_equal(results["4,1"][1][..., 0], expected)
    for wrong in ("0", "1,2,3", "wide", "-1,1", "inf"):
        answer = whorl_command("filter", "--spacing", wrong, *OPTIONS, tmp_path / "cm.tif", tmp_path / "c.tif")
        assert (answer.code, f"--spacing {wrong}" in answer.err) == (2, True)


def test_the_ratio_of_pixels_survives_a_change_of_format(tmp_path):
    for unit in (Metadata(spacing=(4.0, 1.0)), Metadata(resolution=(300.0, 75.0), spacing=(4.0, 1.0))):
        for name in ("a.tif", "a.png"):
            files.write(tmp_path / name, picture(metadata=unit), force=True)
            assert files.read(tmp_path / name).metadata.aspect == pytest.approx((4.0, 1.0), rel=1e-3)


@pytest.mark.parametrize("spacing", [None, (0.0, 1.0), (float("nan"), 1.0), (1e9, 1.0), (1.0, 1.0005), (-1.0, 1.0)])
def test_nonsense_and_nearly_square_count_as_square(spacing):
    assert Metadata(spacing=spacing).aspect == (1.0, 1.0)


def stack(path) -> None:
    """Three pages of the same scene with contrasts as 1 : 4 : 2."""
    scene = noise(40, 50, 1, "u1")[..., 0].astype(np.uint16)
    tifffile.imwrite(path, np.stack([scene, 4 * scene, 2 * scene]), photometric="minisblack")


@pytest.mark.parametrize(("verb", "name", "told"), [("filter", "contrast", ()), ("denoise", "noise", ("photo-grey",))])
def test_one_setting_for_all_pages_unless_asked(tmp_path, whorl_command, verb, name, told):
    """A network that is named takes one level of noise, and not a model of it."""
    stack(tmp_path / "a.tif")
    told = ("--network", *told) if told else ()
    answers, noises = {}, {}
    for words in ((), ("--per-page",)):
        answer = whorl_command(verb, "-n", "--json", *told, *words, tmp_path / "a.tif", tmp_path / "b.tif")
        assert answer.code == 0, answer.err
        pages = json.loads(answer.out)["files"][0]["pages"]
        answers[words], noises[words] = ([page[key] for page in pages] for key in (name, "noise"))
    assert len(set(answers[()])) == 1
    one, four, two = answers["--per-page",]
    assert (four, two) == pytest.approx((4 * one, 2 * one), rel=1e-5)
    # The contrast depends on the presmoothing too, which is another one for all pages together.
    assert min(noises["--per-page",]) < noises[()][0] < max(noises["--per-page",])
    said = whorl_command(verb, "-n", *told, "--per-page", tmp_path / "a.tif", tmp_path / "b.tif").out
    assert f"{name} {one:.4g} to {four:.4g} (measured)" in said
    assert "3 pages" in said


@pytest.mark.parametrize(("axes", "order"), [("CYX", (0, 1)), ("TCYX", (0, 1, 0, 1)), ("CTYX", (0, 0, 1, 1))])
def test_dyes_in_pages_have_noise_of_their_own(tmp_path, whorl_command, axes, order):
    """One noise for a weak and a strong dye left the strong one as it was."""
    random = np.random.default_rng(0)
    y, x = np.mgrid[:64, :70]
    clean = 50 + 40 * (np.hypot(y - 30, x - 35) < 20) + 0.3 * x
    pages = np.stack([(1 + 19 * dye) * (clean + random.normal(0, 5, clean.shape)) for dye in order]).astype(np.float32)
    shape = (2, 2, *clean.shape) if "T" in axes else (2, *clean.shape)
    tifffile.imwrite(tmp_path / "a.tif", pages.reshape(shape), ome=True, metadata={"axes": axes})
    answer = whorl_command("denoise", "--json", tmp_path / "a.tif", tmp_path / "b.tif")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)["files"][0]["pages"]
    assert [page["noise"] for page in told] == pytest.approx([5 * (1 + 19 * dye) for dye in order], rel=0.3)
    assert len({json.dumps(page["noise_model"]) for page in told}) == 2
    for page, dye in zip(files.read_pages(tmp_path / "b.tif"), order, strict=True):
        assert np.std(page.samples[..., 0] - (1 + 19 * dye) * clean) < 0.6 * 5 * (1 + 19 * dye)


def test_a_stack_that_only_changes_its_place_does_not_flicker(tmp_path, whorl_command):
    """Each page is filtered with the same settings, as one page of the whole stack would be."""
    stack(tmp_path / "a.tif")
    assert whorl_command("filter", "-q", "--time", 1, tmp_path / "a.tif", tmp_path / "b.tif").code == 0
    answer = whorl_command("filter", "-n", "--json", "--time", 1, tmp_path / "a.tif", tmp_path / "c.tif")
    page = json.loads(answer.out)["files"][0]["pages"][0]
    chosen = {name: page[name] for name in ("contrast", "diffusivity", "cell", "sigma")}
    for before, after in zip(files.read_pages(tmp_path / "a.tif"), files.read_pages(tmp_path / "b.tif"), strict=True):
        expected = whorl.diffuse(before.samples[..., 0], "weickert-brox", time=1.0, **chosen)
        assert np.array_equal(after.samples[..., 0], expected)


@pytest.mark.parametrize("scheme", ["explicit", "fsi"])
def test_progress_is_told_within_a_picture(scheme):
    """Even where the picture is filtered in one piece, and up to exactly one in all."""
    shares: list[float] = []
    image = noise(60, 70, 1, "u1")[..., 0]
    large.map(image, "gerig", contrast=9.0, time=5.0, scheme=scheme, advance=shares.append)
    assert len(shares) >= 4
    assert sum(shares) == pytest.approx(1.0)
    few: list[float] = []
    large.map(image, "gerig", contrast=9.0, time=0.0, tile=30, advance=few.append)
    assert sum(few) == pytest.approx(1.0)


def test_the_summary_is_in_words_that_people_use(tmp_path, whorl_command):
    files.write(tmp_path / "a.png", picture("rgb", 3, size=(300, 300)))
    said = whorl_command("filter", "--tile", 150, "--time", 1, tmp_path / "a.png", tmp_path / "b.png").out
    assert "300 x 300 rgb uint8, weickert-brox, contrast" in said
    assert re.search(r" \(measured\), time 1 in \d steps, in 4 windows, \d", said)
    for word in ("halo", "passes", "estimated", "scheme", "windows 1"):
        assert word not in said
    assert "windows" not in summary([{"width": 1, "height": 1, "colour": "grey", "dtype": "u1", "windows": 1}])


def test_an_unrelated_name_is_not_suggested(tmp_path, whorl_command):
    answer = whorl_command("filter", "--model", "foo", "a.png", "b.png")
    assert (answer.code, "did you mean" in answer.err) == (2, False)
    assert "weickert-brox" in answer.err
    for wrong, meant in (("gerik", "gerig"), ("perona", "perona-malik"), ("weickert brox", "weickert-brox")):
        assert f"did you mean '{meant}'" in whorl_command("filter", "--model", wrong, "a.png", "b.png").err
    assert "did you mean" not in whorl_command("filter", "--diffusivity", "zzz", "a.png", "b.png").err
    assert models.names()


@pytest.mark.parametrize("name", ["flat.png", "flat.tif"])
def test_denoising_a_flat_picture_copies_it_and_says_so(tmp_path, whorl_command, name):
    flat = files.Picture(np.full((40, 40, 1), 7, np.uint8), files.Layout(40, 40, 1, np.dtype("u1"), "grey"))
    files.write(tmp_path / name, flat)
    answer = whorl_command("denoise", tmp_path / name, tmp_path / f"out{(tmp_path / name).suffix}")
    assert answer.code == 0, answer.err
    assert "no noise was found: copied" in answer.out
    assert np.array_equal(files.read(tmp_path / f"out{(tmp_path / name).suffix}").samples, flat.samples)


def test_the_contrast_may_be_called_auto(tmp_path, whorl_command):
    files.write(tmp_path / "a.png", picture("rgb", 3))
    assert whorl_command("filter", tmp_path / "a.png", tmp_path / "one.png").code == 0
    assert whorl_command("filter", "--contrast", "auto", tmp_path / "a.png", tmp_path / "other.png").code == 0
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "other.png").read_bytes()
    answer = whorl_command("filter", "--contrast", "much", tmp_path / "a.png", tmp_path / "none.png")
    assert answer.code == 2
    assert "a number of grey values or auto" in " ".join(answer.err.replace("│", " ").split())
