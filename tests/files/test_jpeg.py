import numpy as np
import pytest
from PIL import Image, JpegImagePlugin

from files.samples import exif, noise, picture, profile
from whorl import files
from whorl.errors import FileError
from whorl.files.layout import Metadata
from whorl.files.pillow import JpegWriter


@pytest.mark.parametrize(("mode", "channels", "colour"), [("L", 1, "grey"), ("RGB", 3, "rgb"), ("CMYK", 4, "cmyk")])
def test_every_mode_comes_back_nearly_the_same(tmp_path, mode, channels, colour):
    y, x = np.mgrid[:40, :48]
    waves = [np.sin(0.2 * (k + 1) * x + 0.3 * y + k) for k in range(channels)]  # every channel another
    smooth = np.stack([128 + 90 * wave for wave in waves], axis=-1).astype(np.uint8)
    Image.fromarray(smooth.squeeze(), mode).save(tmp_path / "a.jpg", quality=98, subsampling=0)
    read = files.read(tmp_path / "a.jpg")
    assert (read.layout.colour, read.layout.channels, read.layout.kept) == (colour, channels, 0)
    files.write(tmp_path / "b.jpg", read)
    again = files.read(tmp_path / "b.jpg")
    assert np.abs(again.samples.astype(int) - smooth).max() <= 12  # with halved chroma 30 and more, as a wrong order
    with Image.open(tmp_path / "b.jpg") as seen:
        assert seen.mode == mode


def test_metadata_survives_and_nothing_is_turned(tmp_path):
    made = Image.fromarray(noise(20, 30, 3, "u1"))
    made.save(tmp_path / "a.jpg", icc_profile=profile(), dpi=(300, 150), exif=b"Exif\0\0" + exif(6))
    read = files.read(tmp_path / "a.jpg")
    assert read.samples.shape == (20, 30, 3)
    assert read.metadata == Metadata((300.0, 150.0), (1 / 150, 1 / 300), 6, icc=profile(), exif=exif(6))
    for name in ("b.jpg", "b.png", "b.tif"):
        files.write(tmp_path / name, read)
        again = files.read(tmp_path / name)
        assert again.samples.shape == (20, 30, 3)
        assert (again.metadata.orientation, again.metadata.icc) == (6, profile())
        assert again.metadata.resolution == pytest.approx((300, 150), rel=1e-3)


def test_truncated_and_text_are_refused(tmp_path):
    Image.fromarray(noise(200, 300, 3, "u1")).save(tmp_path / "a.jpg")
    whole = (tmp_path / "a.jpg").read_bytes()
    for length in (3, 50, len(whole) // 2):
        (tmp_path / "a.jpg").write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"a\.jpg"):
            files.read(tmp_path / "a.jpg")


def test_size_is_checked_before_decoding(tmp_path):
    Image.fromarray(noise(20, 30, 1, "u1")[..., 0]).save(tmp_path / "a.jpg")
    with pytest.raises(FileError, match=r"30 x 20 pixels"):
        files.read(tmp_path / "a.jpg", max_pixels=599)
    assert files.read(tmp_path / "a.jpg", max_pixels=600).layout.width == 30


@pytest.mark.parametrize(
    "made", [picture(dtype="u2"), picture("rgb", 4, 1), picture("channels", 5)], ids=lambda p: str(p.layout)
)
def test_what_jpeg_cannot_hold_is_refused(tmp_path, made):
    with pytest.raises(FileError, match=r"Write \.png or \.tif"):
        files.write(tmp_path / "a.jpg", made)
    assert list(tmp_path.iterdir()) == []


def test_quality_is_95_with_full_chroma(tmp_path):
    """Told from the file: its tables are those of quality 95, and no channel has fewer samples than another."""
    files.write(tmp_path / "a.jpg", picture("rgb", 3))
    Image.fromarray(noise(16, 16, 3, "u1")).save(tmp_path / "wanted.jpg", quality=95)
    with Image.open(tmp_path / "a.jpg") as seen, Image.open(tmp_path / "wanted.jpg") as wanted:
        assert seen.quantization == wanted.quantization
        assert JpegImagePlugin.get_sampling(seen) == 0
    made = picture("rgb", 3)
    with (tmp_path / "b.jpg").open("wb") as stream:
        writer = JpegWriter(stream, "b.jpg", [(made.layout, made.metadata)])
        writer.quality = 60
        writer.canvases[0].write(0, 0, made.samples)
        writer.finish()
    assert (tmp_path / "b.jpg").stat().st_size < (tmp_path / "a.jpg").stat().st_size
