"""``whorl filter`` as a person uses it: right results, or one clear line and a non-zero exit."""

import json
import zlib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

import whorl
from files.samples import exif, listing, noise, picture, profile
from whorl import files
from whorl.files import tiff_reader
from whorl.large import pictures

CONTRAST, TIME = 20.0, 1.0
OPTIONS = ("--contrast", CONTRAST, "--time", TIME, "--threads", 1)


def expected(samples: np.ndarray, kept: int = 0, model: str = "weickert-brox") -> np.ndarray:
    """The filtered samples, with the last ``kept`` channels as they were."""
    colours = samples.shape[2] - kept
    result = whorl.diffuse(samples[..., :colours], model, contrast=CONTRAST, time=TIME, channel_axis=-1)
    return np.concatenate((result, samples[..., colours:]), axis=-1)


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (picture("rgb", 3, dtype="u2"), "a.png"),
        (picture("rgb", 3, dtype="u2"), "a.tif"),
        (picture("rgb", 3, dtype="u1"), "a.png"),
        (picture("grey", 2, 1), "a.png"),
        (picture("grey", 2, 1, "u2"), "a.tif"),
        (picture("rgb", 4, 1, "u2"), "a.png"),
        (picture(dtype="f4"), "a.tif"),
        (picture("rgb", 3, dtype="f8"), "a.tif"),
        (picture("cmyk", 4), "a.tif"),
        (picture("channels", 5, dtype="u2"), "a.tif"),
        (picture("rgb", 3, dtype="u2"), "a.zarr"),
        (picture(dtype="i8"), "a.tif"),
        (picture(size=(1, 1)), "a.png"),
        (picture(dtype="u2", size=(1, 5000)), "a.png"),
        (picture(dtype="u2", size=(5000, 1)), "a.tif"),
    ],
    ids=lambda value: (
        value if isinstance(value, str) else f"{value.layout.colour}{value.samples.shape}{value.layout.dtype}"
    ),
)
def test_result_is_that_of_the_library(tmp_path, whorl_command, made, name):
    files.write(tmp_path / name, made)
    answer = whorl_command("filter", *OPTIONS, tmp_path / name, tmp_path / f"out{Path(name).suffix}")
    assert answer.code == 0, answer.err
    result = files.read(tmp_path / f"out{Path(name).suffix}")
    assert result.layout == made.layout
    assert np.array_equal(result.samples, expected(made.samples, made.layout.kept))


def test_palette_png_is_filtered_as_its_colours(tmp_path, whorl_command):
    indices = Image.fromarray(noise(20, 30, 1, "u1")[..., 0] % 4, "P")
    indices.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9])
    indices.save(tmp_path / "a.png")
    assert whorl_command("filter", *OPTIONS, tmp_path / "a.png", tmp_path / "b.png").code == 0
    assert np.array_equal(files.read(tmp_path / "b.png").samples, expected(np.asarray(indices.convert("RGB"))))


def test_cmyk_jpeg_stays_cmyk_with_its_metadata(tmp_path, whorl_command):
    Image.fromarray(noise(40, 30, 4, "u1"), "CMYK").save(tmp_path / "a.jpg", dpi=(300, 300), exif=b"Exif\0\0" + exif(6))
    assert whorl_command("filter", *OPTIONS, tmp_path / "a.jpg", tmp_path / "b.jpg").code == 0
    with Image.open(tmp_path / "b.jpg") as seen:
        assert (seen.mode, seen.size, seen.getexif()[0x0112], seen.info["dpi"]) == ("CMYK", (30, 40), 6, (300, 300))
    files.write(tmp_path / "exact.tif", files.read(tmp_path / "a.jpg"))
    assert whorl_command("filter", *OPTIONS, tmp_path / "a.jpg", tmp_path / "c.tif").code == 0
    assert np.array_equal(files.read(tmp_path / "c.tif").samples, expected(files.read(tmp_path / "exact.tif").samples))


def test_profile_and_resolution_survive_sixteen_bit_colour(tmp_path, whorl_command):
    metadata = files.Metadata(resolution=(300.0, 300.0), orientation=6, icc=profile())
    files.write(tmp_path / "a.png", picture("rgb", 3, dtype="u2", metadata=metadata))
    assert whorl_command("filter", *OPTIONS, tmp_path / "a.png", tmp_path / "b.png").code == 0
    before, after = (files.read(tmp_path / name).metadata for name in ("a.png", "b.png"))
    assert after == before
    assert (after.icc, after.orientation) == (profile(), 6)


def bomb() -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")

    header = (100_000).to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 10**6)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def truncated(folder: Path) -> bytes:
    files.write(folder / "whole.png", picture("rgb", 3, dtype="u2"))
    data = (folder / "whole.png").read_bytes()
    (folder / "whole.png").unlink()
    return data[: len(data) // 2]


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        (lambda folder: b"", "is empty"),
        (lambda folder: b"shopping list", "are not a picture"),
        (lambda folder: bomb(), "declares 100000 x 100000 pixels"),
        (truncated, "truncated"),
    ],
    ids=["empty", "text", "bomb", "truncated"],
)
def test_what_cannot_be_read_is_one_line_and_code_two(tmp_path, whorl_command, contents, says):
    (tmp_path / "a.png").write_bytes(contents(tmp_path))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.txt").write_text("stays")
    answer = whorl_command("filter", *OPTIONS, tmp_path / "a.png", tmp_path / "out" / "b.png")
    assert answer.code == 2
    assert says in answer.err
    assert answer.err.count("\n") == 1
    assert listing(tmp_path / "out") == ["old.txt"]


def test_missing_unreadable_and_unwritable(whorl_command, unprivileged):
    files.write(unprivileged / "a.png", picture())
    (unprivileged / "closed.png").touch(mode=0)
    (unprivileged / "locked").mkdir(mode=0o500)
    before = listing(unprivileged)
    for source, target, says in (
        ("missing.png", "b.png", "No such file"),
        ("closed.png", "b.png", "Permission denied"),
        ("a.png", "locked/b.png", "cannot be written"),
        ("a.png", "a.png/b.png", "cannot be written"),
        ("a.png", "b.bmp", "suffix '.bmp'"),
    ):
        answer = whorl_command("filter", *OPTIONS, unprivileged / source, unprivileged / target)
        assert (answer.code, answer.err.count("\n")) == (2, 1), answer
        assert says in answer.err
        assert listing(unprivileged) == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--model", "gerik"), "did you mean 'gerig'"),
        (("--contrast", -1), "contrast"),
        (("--time", -1), "time"),
        (("--alpha", 0.7), "alpha"),
        (("--model", "gerig", "--gamma", 0.5), "gamma"),
        (("--tile", "some"), "--tile some"),
        (("--device", "toaster"), "toaster"),
        (("--diffusivity", "magic"), "magic"),
    ],
)
def test_wrong_options_are_named_before_anything_is_read(tmp_path, whorl_command, options, says):
    answer = whorl_command("filter", *options, tmp_path / "unread.png", tmp_path / "b.png")
    assert answer.code == 2
    assert says in answer.err
    assert answer.err.count("\n") == 1


def test_what_the_output_cannot_hold_is_said_before_computing(tmp_path, whorl_command):
    files.write(tmp_path / "a.tif", [picture(), picture()])
    for name, says in (("b.png", "one image, not 2"), ("b.jpg", "one image, not 2")):
        for dry in ((), ("--dry-run",)):
            answer = whorl_command("filter", *dry, *OPTIONS, tmp_path / "a.tif", tmp_path / name)
            assert (answer.code, says in answer.err) == (2, True)
    assert listing(tmp_path) == ["a.tif"]


def test_existing_output_is_kept_unless_forced(tmp_path, whorl_command):
    files.write(tmp_path / "a.png", picture())
    (tmp_path / "b.png").write_text("mine")
    answer = whorl_command("filter", *OPTIONS, tmp_path / "a.png", tmp_path / "b.png")
    assert (answer.code, (tmp_path / "b.png").read_text()) == (2, "mine")
    assert "--force" in answer.err
    assert whorl_command("filter", "--force", *OPTIONS, tmp_path / "a.png", tmp_path / "b.png").code == 0
    assert np.array_equal(files.read(tmp_path / "b.png").samples, expected(picture().samples))


def test_a_file_can_be_replaced_by_its_own_result(tmp_path, whorl_command):
    for name in ("a.png", "a.tif", "a.zarr"):
        files.write(tmp_path / name, picture())
        assert whorl_command("filter", "--force", *OPTIONS, tmp_path / name, tmp_path / name).code == 0
        assert np.array_equal(files.read(tmp_path / name).samples, expected(picture().samples))


def test_files_and_folders_into_a_folder(tmp_path, whorl_command):
    for name in ("in/a.png", "in/deep/b.tif", "in/c.zarr", "single.png"):
        files.write(tmp_path / name, picture())
    (tmp_path / "in" / "notes.txt").write_text("no picture")
    answer = whorl_command("filter", *OPTIONS, tmp_path / "in", tmp_path / "single.png", tmp_path / "out")
    assert answer.code == 0, answer.err
    for name in ("a.png", "deep/b.tif", "c.zarr", "single.png"):
        assert np.array_equal(files.read(tmp_path / "out" / name).samples, expected(picture().samples))
    assert not (tmp_path / "out" / "notes.txt").exists()
    assert answer.out.count("\n") == 5  # four pictures, and what was skipped


def test_clashes_are_found_before_anything_is_written(tmp_path, whorl_command):
    for name in ("one/a.png", "two/a.png"):
        files.write(tmp_path / name, picture())
    answer = whorl_command("filter", *OPTIONS, tmp_path / "one" / "a.png", tmp_path / "two" / "a.png", tmp_path / "out")
    assert (answer.code, "both be written" in answer.err) == (2, True)
    answer = whorl_command("filter", *OPTIONS, tmp_path / "one", tmp_path / "two" / "a.png", tmp_path / "b.png")
    assert (answer.code, "Name a folder" in answer.err) == (2, True)
    answer = whorl_command("filter", *OPTIONS, tmp_path / "one")
    assert (answer.code, "two paths" in answer.err) == (2, True)
    (tmp_path / "empty").mkdir()
    answer = whorl_command("filter", *OPTIONS, tmp_path / "empty", tmp_path / "out")
    assert (answer.code, "no picture inside" in answer.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_one_bad_picture_does_not_stop_the_others(tmp_path, whorl_command):
    for name in ("in/a.png", "in/c.png"):
        files.write(tmp_path / name, picture())
    (tmp_path / "in" / "b.png").write_text("text")
    answer = whorl_command("filter", "--json", *OPTIONS, tmp_path / "in", tmp_path / "out")
    assert answer.code == 2
    records = json.loads(answer.out)["files"]
    assert ["error" in record for record in records] == [False, True, False]
    assert listing(tmp_path / "out") == ["a.png", "c.png"]


def test_dry_run_writes_nothing_and_json_tells_all(tmp_path, whorl_command):
    files.write(tmp_path / "a.tif", [picture(dtype="u2"), picture("rgb", 3)])
    answer = whorl_command(
        "filter", "-n", "--json", "--model", "gerig", tmp_path / "a.tif", tmp_path / "deep" / "b.tif"
    )
    report = json.loads(answer.out)
    assert (answer.code, report["written"], listing(tmp_path)) == (0, False, ["a.tif"])
    first, second = report["files"][0]["pages"]
    assert (first["width"], first["height"], first["dtype"], first["model"]) == (53, 37, "uint16", "gerig")
    assert (second["channels"], second["colour"]) == (3, "rgb")
    assert first["contrast"] > 100 * second["contrast"] / 256


def test_quiet_says_nothing(tmp_path, whorl_command):
    files.write(tmp_path / "a.png", picture())
    assert whorl_command("filter", "-q", *OPTIONS, tmp_path / "a.png", tmp_path / "b.png") == (0, "", "")


def test_contrast_is_measured_where_none_is_given(tmp_path, whorl_command):
    ramp = np.broadcast_to((4 * np.arange(50)).astype(np.uint8)[None, :, None], (40, 50, 1))
    noisy = np.random.default_rng(0).normal(128, 10, (64, 64, 1)).round().astype(np.uint8)
    files.write(tmp_path / "a.png", files.Picture(noisy, files.Layout(64, 64, 1, np.dtype("u1"), "grey")))
    answer = whorl_command("filter", "-n", "--json", tmp_path / "a.png", tmp_path / "b.png")
    page = json.loads(answer.out)["files"][0]["pages"][0]
    assert page["noise"] == pytest.approx(10.0, rel=0.15)
    assert page["contrast"] < page["noise"]
    assert (page["diffusivity"], page["cell"]) == ("rational", "wide")
    law = ("--diffusivity", "exponential")
    answer = whorl_command("filter", "-n", "--json", "--noise", "10", *law, tmp_path / "a.png", tmp_path / "b.png")
    assert json.loads(answer.out)["files"][0]["pages"][0]["contrast"] == 12
    files.write(tmp_path / "flat.png", files.Picture(0 * ramp, files.Layout(40, 50, 1, np.dtype("u1"), "grey")))
    answer = whorl_command("filter", "-q", tmp_path / "flat.png", tmp_path / "c.png")
    assert answer.code == 0
    assert not files.read(tmp_path / "c.png").samples.any()


def test_pages_separate_or_as_channels(tmp_path, whorl_command):
    pages = [noise(30, 40, 1, "u2", seed) for seed in range(3)]
    tifffile.imwrite(tmp_path / "a.tif", np.stack(pages)[..., 0], photometric="minisblack")
    for mode in ("separate", "channels"):
        assert (
            whorl_command("filter", "--pages", mode, *OPTIONS, tmp_path / "a.tif", tmp_path / f"{mode}.tif").code == 0
        )
    each = [expected(page) for page in pages]
    together = np.split(expected(np.concatenate(pages, axis=-1)), 3, axis=-1)
    for name, result in (("separate", each), ("channels", together)):
        written = [page.samples for page in files.read_pages(tmp_path / f"{name}.tif")]
        assert np.array_equal(written, result)
    assert not np.array_equal(each, together)


def test_windows_give_the_same_file(tmp_path, whorl_command):
    files.write(tmp_path / "a.tif", picture("rgb", 4, 1, "u2", size=(600, 530)))
    for name, tile in (("whole.tif", "auto"), ("tiles.tif", 256)):
        words = ("filter", "--model", "eed", "--tile", tile, *OPTIONS, tmp_path / "a.tif", tmp_path / name)
        assert whorl_command(*words).code == 0
    assert np.array_equal(files.read(tmp_path / "tiles.tif").samples, files.read(tmp_path / "whole.tif").samples)


def test_fast_schemes_take_fewer_steps(tmp_path, whorl_command):
    files.write(tmp_path / "a.tif", picture(dtype="u2"))
    steps = {}
    for scheme in ("explicit", "fsi", "fed"):
        words = (
            "filter",
            "--json",
            "--scheme",
            scheme,
            "-c",
            9000,
            "-t",
            40,
            tmp_path / "a.tif",
            tmp_path / f"{scheme}.tif",
        )
        answer = whorl_command(*words)
        assert answer.code == 0, answer.err
        steps[scheme] = json.loads(answer.out)["files"][0]["pages"][0]["steps"]
        model = whorl.models.build("weickert-brox", contrast=9000.0)
        whole = whorl.diffuse(picture(dtype="u2").samples, model, time=40.0, scheme=scheme, channel_axis=-1)
        assert np.array_equal(files.read(tmp_path / f"{scheme}.tif").samples, whole)
    assert max(steps["fsi"], steps["fed"]) < steps["explicit"] / 2
    assert whorl_command("filter", "--scheme", "magic", tmp_path / "a.tif", tmp_path / "b.tif").code == 2


@pytest.mark.parametrize("words", [OPTIONS, ("--noise", "9"), ()], ids=["numbers", "noise", "nothing"])
def test_nan_is_refused(tmp_path, whorl_command, words):
    broken = picture(dtype="f4").samples.copy()
    broken[3, 4] = np.nan
    tifffile.imwrite(tmp_path / "a.tif", broken[..., 0])
    answer = whorl_command("filter", *words, tmp_path / "a.tif", tmp_path / "b.tif")
    assert (answer.code, listing(tmp_path)) == (2, ["a.tif"])
    assert "the filter: the image holds 1 NaN or infinite value(s)" in answer.err


def test_after_an_interrupt_the_same_command_goes_on(tmp_path, whorl_command, monkeypatch):
    runner = import_module("whorl.large.run")
    files.write(tmp_path / "a.tif", picture(size=(600, 600)))
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return genuine(*arguments)

    genuine = runner.in_window
    monkeypatch.setattr(runner, "in_window", interrupted)
    words = ("filter", "--tile", 256, *OPTIONS, tmp_path / "a.tif", tmp_path / "new" / "b.tif")
    answer = whorl_command(*words)
    assert answer.code == 130
    assert answer.err.endswith("b.tif: stopped; the same command goes on from here.\ninterrupted\n")
    assert not (tmp_path / "new" / "b.tif").exists()
    before = len(calls)
    assert whorl_command(*words).code == 0
    assert len(calls) - before == 3 - 2  # of three windows two were done
    assert listing(tmp_path / "new") == ["b.tif"]


def test_wide_strips_are_decoded_once(tmp_path, whorl_command, monkeypatch):
    image = noise(120, 200, 3, "u2")
    tifffile.imwrite(tmp_path / "a.tif", image, compression="lzw", rowsperstrip=1, photometric="rgb")
    decoded = []
    genuine = tiff_reader._TiffPage._decode
    monkeypatch.setattr(
        tiff_reader._TiffPage, "_decode", lambda page, *place: decoded.append(place[0]) or genuine(page, *place)
    )
    for module in (tiff_reader, pictures):
        monkeypatch.setattr(module, "CACHE", 10_000)
    words = ("filter", "--tile", 64, *OPTIONS, tmp_path / "a.tif", tmp_path / "b.tif")
    assert whorl_command(*words).code == 0
    assert sorted(decoded) == list(range(120))
    assert np.array_equal(files.read(tmp_path / "b.tif").samples, expected(image))


@pytest.mark.parametrize("kind", ["slide.png", "sparse.zarr", "brain.nii.gz"])
def test_content_on_an_eighth_of_a_blank_scan_is_filtered(tmp_path, whorl_command, kind):
    """Paper around a section, chunks that were never written, a brain without its skull: blank parts do not vote."""
    draw = np.random.default_rng(0)
    source, target = tmp_path / kind, tmp_path / f"out-{kind}"
    if kind == "slide.png":
        scan = np.full((240, 260), 255, np.uint8)
        scan[30:120, 40:127] = (120 + draw.normal(0, 12, (90, 87))).round()
        written(source, scan)
    elif kind == "sparse.zarr":
        zarr = pytest.importorskip("zarr")
        scan = np.zeros((256, 256), np.float32)
        scan[64:160, 128:212] = 120 + draw.normal(0, 12, (96, 84))
        stored = zarr.create_array(source, shape=scan.shape, chunks=(64, 64), dtype="f4", fill_value=0)
        stored[64:192, 128:256] = scan[64:192, 128:256]
    else:
        nibabel = pytest.importorskip("nibabel")
        scan = np.zeros((40, 44, 42), np.float32)
        scan[8:28, 10:32, 12:33] = 120 + draw.normal(0, 12, (20, 22, 21))
        nibabel.save(nibabel.Nifti1Image(scan, np.eye(4)), source)
    words = ("--model", "perona-malik") if kind == "brain.nii.gz" else ()
    answer = whorl_command("filter", "--json", *words, source, target)
    assert answer.code == 0, answer.err
    page = json.loads(answer.out)["files"][0]["pages"][0]
    assert page["noise"] == pytest.approx(12, rel=0.06)
    assert page["time"] > 0.1
    assert "copied" not in page


def written(path, grey):
    layout = files.Layout(*grey.shape, 1, grey.dtype, "grey")
    files.write(path, files.Picture(grey[..., None], layout))
