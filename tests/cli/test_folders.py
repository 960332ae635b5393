"""Folders as people have them: links in circles, pipes, closed subfolders, notes, and a damaged picture among many."""

import json
import os

import numpy as np
import pytest
import tifffile
import zarr
from PIL import Image

from files.samples import listing, noise, picture
from whorl import files

OPTIONS = ("--contrast", 20, "--time", 0.5, "--threads", 1)


def corrupt_zarr(path) -> None:
    array = zarr.create_array(path, shape=(32, 32), chunks=(32, 32), dtype="u1")
    array[...] = noise(32, 32, 1, "u1")[..., 0]
    chunk = next(part for part in (path / "c").rglob("*") if part.is_file())
    chunk.write_bytes(b"\xff" * chunk.stat().st_size)


def empty_chunks(path) -> None:
    zarr.create_array(path, shape=(32, 32), chunks=(32, 32), dtype="u1")
    about = json.loads((path / "zarr.json").read_text())
    about["chunk_grid"]["configuration"]["chunk_shape"] = [0, 32]
    (path / "zarr.json").write_text(json.dumps(about))


def short_palette(path) -> None:
    tifffile.imwrite(path, noise(8, 8, 1, "u1")[..., 0], photometric="palette", colormap=np.zeros((3, 256), np.uint16))
    with tifffile.TiffFile(path, mode="r+b") as file:
        file.pages[0].tags["ColorMap"].overwrite([0] * 12)


@pytest.mark.parametrize("bad", ["b.zarr", "b0.zarr", "b.tif", "b.png"])
def test_one_damaged_picture_does_not_stop_the_others(tmp_path, whorl_command, bad):
    for name in ("in/a.png", "in/c.png"):
        files.write(tmp_path / name, picture())
    if bad == "b.png":
        os.mkfifo(tmp_path / "in" / bad)
    else:
        {"b.zarr": corrupt_zarr, "b0.zarr": empty_chunks, "b.tif": short_palette}[bad](tmp_path / "in" / bad)
    answer = whorl_command("filter", *OPTIONS, tmp_path / "in", tmp_path / "out")
    assert answer.code == 2
    assert f"in/{bad}:" in answer.err
    assert answer.err.count("\n") == 1
    assert listing(tmp_path / "out") == ["a.png", "c.png"]


def test_links_in_circles_end(tmp_path, whorl_command):
    files.write(tmp_path / "in" / "a.png", picture())
    for name in ("one", "two", "deep/er"):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).symlink_to(tmp_path / "in", target_is_directory=True)
    (tmp_path / "in" / "round.png").symlink_to(tmp_path / "in" / "round.png")
    answer = whorl_command("filter", *OPTIONS, tmp_path / "in", tmp_path / "out")
    assert answer.code == 2
    assert "round.png: cannot be read" in answer.err
    assert listing(tmp_path / "out") == ["a.png"]


def test_a_closed_subfolder_is_told_and_the_rest_is_done(whorl_command, unprivileged):
    files.write(unprivileged / "in" / "a.png", picture())
    (unprivileged / "in" / "closed").mkdir(mode=0)
    answer = whorl_command("filter", *OPTIONS, unprivileged / "in", unprivileged / "out")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "in/closed: cannot be looked into (Permission denied)" in answer.err
    assert listing(unprivileged / "out") == ["a.png"]


def test_what_is_skipped_is_listed(tmp_path, whorl_command):
    files.write(tmp_path / "in" / "a.png", picture())
    for name in ("notes.txt", "film.mov"):
        (tmp_path / "in" / name).write_text("")
    answer = whorl_command("filter", *OPTIONS, tmp_path / "in", tmp_path / "out")
    assert answer.code == 0
    assert "Skipped" in answer.out
    assert "film.mov" in answer.out
    assert "notes.txt" in answer.out
    answer = whorl_command("filter", "-n", "--json", *OPTIONS, tmp_path / "in", tmp_path / "new")
    assert len(json.loads(answer.out)["skipped"]) == 2
    assert whorl_command("filter", "-q", *OPTIONS, tmp_path / "in", tmp_path / "quiet").out == ""


@pytest.mark.parametrize("words", [("-", "b.png"), ("a.png", "-"), ("a.png", "a.png", "-")])
def test_a_dash_is_refused(tmp_path, whorl_command, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    files.write(tmp_path / "a.png", picture())
    answer = whorl_command("filter", *OPTIONS, *words)
    assert (answer.code, "standard input and output" in answer.err) == (2, True)
    assert listing(tmp_path) == ["a.png"]


def test_webp_and_bmp_are_read(tmp_path, whorl_command):
    (tmp_path / "in").mkdir()
    colours = Image.fromarray(noise(20, 30, 3, "u1"))
    colours.save(tmp_path / "in" / "a.webp", lossless=True)
    colours.save(tmp_path / "in" / "b.bmp")
    Image.fromarray(noise(20, 30, 4, "u1")).save(tmp_path / "in" / "alpha.webp", lossless=True, exact=True)
    colours.quantize(16).save(tmp_path / "in" / "palette.bmp")
    assert np.array_equal(files.read(tmp_path / "in" / "a.webp").samples, np.asarray(colours))
    assert np.array_equal(files.read(tmp_path / "in" / "b.bmp").samples, np.asarray(colours))
    answer = whorl_command("filter", *OPTIONS, tmp_path / "in", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert listing(tmp_path / "out") == ["a.png", "alpha.png", "b.png", "palette.png"]
    assert files.read(tmp_path / "out" / "alpha.png").layout.kept == 1
    answer = whorl_command("filter", *OPTIONS, tmp_path / "in" / "a.webp", tmp_path / "b.webp")
    assert (answer.code, "suffix '.webp'" in answer.err) == (2, True)


def test_hidden_files_and_folders_are_no_inputs(tmp_path, whorl_command):
    for name in ("in/a.png", "in/.thumbnail.png", "in/.cache/b.png", "in/deep/.c.png", "in/deep/d.png"):
        files.write(tmp_path / name, picture())
    answer = whorl_command("filter", *OPTIONS, tmp_path / "in", tmp_path / "out")
    assert answer.code == 0
    assert listing(tmp_path / "out") == ["a.png", "deep", "deep/d.png"]
    assert "Skipped" not in answer.out
    answer = whorl_command("filter", *OPTIONS, tmp_path / "in" / ".thumbnail.png", tmp_path / "named.png")
    assert answer.code == 0  # a file that is named is meant
