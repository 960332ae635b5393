"""What comes with a picture goes with it, or is named: every kind of metadata, from every format into every other."""

import warnings

import numpy as np
import pytest
import tifffile
import zarr
from PIL import ExifTags, Image, ImageOps, IptcImagePlugin, PngImagePlugin

from files.samples import noise, picture, profile
from whorl import files
from whorl.files.layout import Metadata
from whorl.files.tiff_directory import exif_tags

XMP = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'><rating>5</rating></x:xmpmeta>"
IPTC = b"\x1c\x02\x78\x00\x06A note\x1c\x02\x50\x00\x05Maker"  # caption and author
COMMENT = b"made by hand"
FORMATS = ("jpg", "png", "tif", "zarr")


def phone_exif(orientation: int = 1) -> bytes:
    """EXIF as a phone writes it: who, when, how and where."""
    block = Image.Exif()
    block[0x0112] = orientation
    for tag, value in ((0x010F, "Maker"), (0x013B, "somebody"), (0x8298, "theirs"), (0x0132, "2026:01:02 03:04:05")):
        block[tag] = value
    block.get_ifd(ExifTags.IFD.Exif)[0x829A] = 0.125  # exposure time
    block.get_ifd(ExifTags.IFD.GPSInfo)[2] = (48.0, 8.0, 15.5)  # latitude
    return block.tobytes().removeprefix(b"Exif\0\0")


def told(exif: bytes | None) -> dict:
    """What an EXIF block tells, as Pillow reads it."""
    block = Image.Exif()
    block.load(exif or b"")
    names = {name: block.get(tag) for name, tag in (("make", 0x010F), ("artist", 0x013B), ("copyright", 0x8298))}
    names |= {"date": block.get(0x0132), "exposure": block.get_ifd(ExifTags.IFD.Exif).get(0x829A)}
    return names | {"latitude": block.get_ifd(ExifTags.IFD.GPSInfo).get(2)}


def written(folder, name: str) -> "files.Picture":
    """A picture with everything, in the format of that name, by way of JPEG, which Pillow writes."""
    samples = noise(24, 32, 3, "u1")
    Image.fromarray(samples).save(
        folder / "made.jpg", exif=b"Exif\0\0" + phone_exif(), xmp=XMP, comment=COMMENT, icc_profile=profile(),
        dpi=(300, 150), extra=b"\xff\xed" + (2 + 26 + len(IPTC) + len(IPTC) % 2).to_bytes(2, "big")
        + b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0" + len(IPTC).to_bytes(4, "big") + IPTC + bytes(len(IPTC) % 2),
    )  # fmt: skip
    made = files.read(folder / "made.jpg")
    assert (made.metadata.xmp, made.metadata.iptc, made.metadata.comment) == (XMP, IPTC, COMMENT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files.write(folder / f"source.{name}", made)
    return files.read(folder / f"source.{name}")


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_everything_is_kept_or_named(tmp_path, source, target):
    read = written(tmp_path, source)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        files.write(tmp_path / f"b.{target}", read)
    again = files.read(tmp_path / f"b.{target}").metadata
    lost = {"png": ["IPTC"]}.get(target, []) if read.metadata.iptc else []
    assert [str(warning.message) for warning in said] == [f"{tmp_path}/b.{target}: not kept: {name}." for name in lost]
    assert (again.icc, again.xmp) == (profile(), XMP)
    assert told(again.exif) == told(phone_exif())
    assert again.iptc == (None if lost or source == "png" else IPTC)
    assert again.resolution == pytest.approx((300, 150), rel=1e-3)
    kept = again.comment if target != "tif" else b"".join(tag.data for tag in exif_tags(again.exif) if tag.code == 270)
    if source != "tif":  # there the comment has become the description, which is EXIF
        assert kept.rstrip(b"\0") == COMMENT


def test_other_programs_find_what_was_kept(tmp_path):
    read = written(tmp_path, "jpg")
    for name in ("b.jpg", "b.tif"):
        files.write(tmp_path / name, read)
        with Image.open(tmp_path / name) as seen:
            found = seen.getexif()
            assert (found[0x010F], found[0x8298]) == ("Maker", "theirs")
            assert found.get_ifd(ExifTags.IFD.GPSInfo)[2] == (48.0, 8.0, 15.5)
            assert IptcImagePlugin.getiptcinfo(seen)[2, 120] == b"A note"
            assert seen.info["xmp"] == XMP
    with Image.open(tmp_path / "b.jpg") as seen:
        assert seen.info["comment"] == COMMENT
    with tifffile.TiffFile(tmp_path / "b.tif") as seen:
        assert seen.pages[0].tags[34853].value["GPSLatitude"] == (48, 1, 8, 1, 31, 2)
        assert seen.pages[0].description == COMMENT.decode()


@pytest.mark.parametrize("endian", ["<", ">"])
def test_exif_of_tiff_files_survives_in_either_byte_order(tmp_path, endian):
    """Directories inside, which hold offsets, are written anew."""
    made = picture("rgb", 3, metadata=Metadata(exif=phone_exif()))
    files.write(tmp_path / "a.tif", made)
    if endian == ">":
        with tifffile.TiffWriter(tmp_path / "a.tif", byteorder=">") as file:
            file.write(
                made.samples, photometric="rgb", metadata=None, software=False,
                extratags=[(271, 2, 6, "Maker", True), (315, 2, 9, "somebody", True), (33432, 2, 7, "theirs", True),
                           (306, 2, 20, "2026:01:02 03:04:05", True)],
            )  # fmt: skip
    read = files.read(tmp_path / "a.tif")
    files.write(tmp_path / "b.tif", read)
    again = files.read(tmp_path / "b.tif").metadata
    assert told(again.exif) == told(read.metadata.exif)
    assert {name: told(again.exif)[name] for name in ("make", "artist", "copyright")} == {
        "make": "Maker", "artist": "somebody", "copyright": "theirs",
    }  # fmt: skip
    files.write(tmp_path / "b.jpg", read)
    assert told(files.read(tmp_path / "b.jpg").metadata.exif) == told(read.metadata.exif)


@pytest.mark.parametrize("endian", ["<", ">"])
def test_settings_of_imagej_survive(tmp_path, endian):
    luts = [np.stack([np.arange(256, dtype=np.uint8) * (k == i) for k in range(3)]) for i in range(2)]
    records = {"Ranges": (0.0, 100.0, 5.0, 250.0), "LUTs": luts, "Labels": ["one", "two"], "Info": "a note"}
    tifffile.imwrite(
        tmp_path / "a.tif", noise(2, 9, 8, "u2"), imagej=True, byteorder=endian,
        metadata={"axes": "CYX", "mode": "composite", **records},
    )  # fmt: skip
    read = files.read_pages(tmp_path / "a.tif")
    files.write(tmp_path / "b.tif", read)
    with tifffile.TiffFile(tmp_path / "b.tif") as seen:
        found = seen.imagej_metadata
    assert (found["Ranges"], found["Labels"], found["Info"]) == ((0.0, 100.0, 5.0, 250.0), ["one", "two"], "a note")
    np.testing.assert_array_equal(found["LUTs"], luts)
    with pytest.warns(UserWarning, match=r"b\.zarr: not kept: ImageJ's settings"):
        files.write(tmp_path / "b.zarr", read)


def test_texts_and_coordinates_are_named(tmp_path):
    text = PngImagePlugin.PngInfo()
    text.add_text("Title", "whorl")
    Image.fromarray(noise(5, 4, 3, "u1")).save(tmp_path / "a.png", pnginfo=text)
    with pytest.warns(UserWarning, match=r"b\.tif: not kept: texts"):
        files.write(tmp_path / "b.tif", files.read(tmp_path / "a.png"))
    scale = [(33550, 12, 3, (0.5, 0.25, 0.0), True)]
    tifffile.imwrite(tmp_path / "a.tif", noise(8, 9, 3, "u1"), photometric="rgb", extratags=scale, metadata=None)
    with pytest.warns(UserWarning, match=r"b\.png: not kept: coordinates \(GeoTIFF\)"):
        files.write(tmp_path / "b.png", files.read(tmp_path / "a.tif"))


def test_what_is_too_long_for_jpeg_is_named(tmp_path):
    long = picture("rgb", 3, metadata=Metadata(xmp=b" " * 70_000, comment=b"short"))
    with pytest.warns(UserWarning, match=r"a\.jpg: not kept: XMP"):
        files.write(tmp_path / "a.jpg", long)
    assert files.read(tmp_path / "a.jpg").metadata.comment == b"short"


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
@pytest.mark.parametrize("target", ["b.png", "b.zarr"])
def test_colours_multiplied_by_alpha_are_divided_for_formats_that_do_not_know_them(tmp_path, dtype, target):
    if (dtype, target) == ("f4", "b.png"):
        pytest.skip("PNG holds whole numbers")
    full = 1.0 if dtype == "f4" else float(np.iinfo(dtype).max)
    straight = (full * np.random.default_rng(0).random((9, 8, 4))).astype(dtype)
    straight[0, 0, 3] = 0
    straight[..., 3] = np.maximum(straight[..., 3], straight[..., 3].dtype.type(full / 4)) * (straight[..., 3] > 0)
    share = straight[..., 3:].astype(float) / full
    multiplied = straight.copy()
    multiplied[..., :3] = straight[..., :3] * share if dtype == "f4" else np.rint(straight[..., :3] * share)
    tifffile.imwrite(tmp_path / "a.tif", multiplied, photometric="rgb", extrasamples=["assocalpha"])
    read = files.read(tmp_path / "a.tif")
    files.write(tmp_path / target, read)
    seen = files.read(tmp_path / target).samples
    np.testing.assert_array_equal(seen[..., 3], straight[..., 3])
    wanted = np.where(share > 0, straight[..., :3], 0).astype(float)
    # Half a step of rounding, divided by the least alpha of a quarter, and half a step more.
    assert np.abs(seen[..., :3] - wanted).max() <= (1e-6 if dtype == "f4" else 2.5)
    files.write(tmp_path / "c.tif", read)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "c.tif"), multiplied)
    with tifffile.TiffFile(tmp_path / "c.tif") as again:
        assert again.pages[0].extrasamples == (1,)


def test_cmyk_and_grey_with_alpha_come_back_from_zarr(tmp_path):
    for number, made in enumerate((picture("cmyk", 4), picture("grey", 2, 1), picture("rgb", 4, 1))):
        files.write(tmp_path / f"{number}.zarr", made)
        again = files.read(tmp_path / f"{number}.zarr")
        assert again.layout == made.layout
        np.testing.assert_array_equal(again.samples, made.samples)
    attributes = {"whorl": {"colour": "cmyk", "kept": 9}}  # nonsense counts for nothing
    array = zarr.create_array(tmp_path / "n.zarr", shape=(8, 9, 3), chunks=(8, 9, 3), dtype="u1", attributes=attributes)
    assert files.read(tmp_path / "n.zarr").layout.colour == "rgb"
    assert array.shape == (8, 9, 3)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned_photographs_lie_upright_in_zarr(tmp_path, orientation):
    """A zarr array cannot tell how to turn it, so its samples are turned, window by window."""
    samples = noise(20, 30, 3, "u1")
    made = Image.fromarray(samples)
    made.save(tmp_path / "a.png", exif=b"Exif\0\0" + phone_exif(orientation), dpi=(300, 150))
    with Image.open(tmp_path / "a.png") as seen:
        wanted = np.asarray(ImageOps.exif_transpose(seen))
    read = files.read(tmp_path / "a.png")
    assert read.metadata.orientation == orientation
    metadata = Metadata(read.metadata.resolution, read.metadata.spacing, orientation, exif=read.metadata.exif)
    with files.open_writer(tmp_path / "b.zarr", [(read.layout, metadata)]) as writer:
        for top in range(0, 20, 8):
            for left in range(0, 30, 8):
                writer.canvases[0].write(top, left, samples[top : top + 8, left : left + 8])
    again = files.read(tmp_path / "b.zarr")
    np.testing.assert_array_equal(again.samples, wanted)
    assert again.metadata.orientation == 1
    across, down = again.metadata.resolution
    assert (across > down) == (orientation < 5)
    files.write(tmp_path / "c.jpg", again)
    assert files.read(tmp_path / "c.jpg").metadata.orientation == 1
    assert told(files.read(tmp_path / "c.jpg").metadata.exif) == told(phone_exif())


def test_white_is_zero_keeps_its_look_in_zarr(tmp_path):
    samples = noise(20, 30, 1, "u1")[..., 0]
    tifffile.imwrite(tmp_path / "w.tif", samples, photometric="miniswhite")
    files.write(tmp_path / "w.zarr", files.read(tmp_path / "w.tif"))
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "w.zarr", mode="r")[...], 255 - samples)


def test_what_no_format_carries_on_is_named(tmp_path):
    """Tags of single programs, names of a page, and how bright the values of a PNG are meant."""
    tags = [(65000, 2, 0, "own", True), (285, 2, 0, "page one", True), (316, 2, 0, "a computer", True)]
    tifffile.imwrite(tmp_path / "in.tif", noise(12, 16, 3, "u1"), photometric="rgb", extratags=tags)
    for target, words in (("out.tif", r"other tags \(65000\)"), ("out.png", "names of document, page or computer")):
        with pytest.warns(UserWarning, match=f"not kept: .*{words}"):
            files.write(tmp_path / target, files.read(tmp_path / "in.tif"))
    with tifffile.TiffFile(tmp_path / "out.tif") as file:
        assert file.pages.first.tags[285].value == "page one"

    gamma = PngImagePlugin.PngInfo()
    gamma.add(b"gAMA", (100_000).to_bytes(4, "big"))
    Image.fromarray(noise(12, 16, 3, "u1")).save(tmp_path / "in.png", pnginfo=gamma)
    with pytest.warns(UserWarning, match="not kept: gamma and primaries"):
        files.write(tmp_path / "out.jpg", files.read(tmp_path / "in.png"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files.write(tmp_path / "again.png", files.read(tmp_path / "in.png"))
    assert b"gAMA" in (tmp_path / "again.png").read_bytes()
