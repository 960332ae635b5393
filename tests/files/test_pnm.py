"""PGM and PPM: what is written is read again, other programs agree, and damage is refused."""

import numpy as np
import pytest
from PIL import Image

from whorl.errors import FileError
from whorl.files import Layout, Picture, read, write


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize(("channels", "colour", "ending"), [(1, "grey", "pgm"), (3, "rgb", "ppm")])
def test_a_picture_comes_back(tmp_path, kind, channels, colour, ending):
    samples = np.random.default_rng(0).integers(0, np.iinfo(kind).max, (5, 7, channels)).astype(kind)
    path = tmp_path / f"a.{ending}"
    write(path, Picture(samples, Layout(5, 7, channels, np.dtype(kind), colour)))
    back = read(path)
    assert back.layout == Layout(5, 7, channels, np.dtype(kind), colour)
    assert np.array_equal(back.samples, samples)
    if kind == np.uint8:
        assert np.array_equal(np.asarray(Image.open(path)).reshape(samples.shape), samples)


def test_comments_are_skipped(tmp_path):
    (tmp_path / "a.pgm").write_bytes(b"P5\n# a comment\n2 1\n# another\n255\n\x05\x06")
    assert read(tmp_path / "a.pgm").samples.ravel().tolist() == [5, 6]


@pytest.mark.parametrize(
    ("content", "word"),
    [(b"P5\n2 x\n255\n", "damaged"), (b"P5\n2 2\n255\n1", "truncated"), (b"P5\n1 1\n15\n1", "white")],
)
def test_damage_is_refused(tmp_path, content, word):
    (tmp_path / "a.pgm").write_bytes(content)
    with pytest.raises(FileError, match=word):
        read(tmp_path / "a.pgm")


def test_alpha_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(FileError, match="alpha"):
        write(tmp_path / "a.ppm", Picture(np.zeros((2, 2, 4), "u1"), Layout(2, 2, 4, np.dtype("u1"), "rgb", kept=1)))
    assert not (tmp_path / "a.ppm").exists()
