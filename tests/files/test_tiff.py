from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import tifffile
from PIL import Image

from files.samples import KINDS, noise, picture, profile
from whorl import files
from whorl.errors import FileError
from whorl.files import tiff_reader, tiff_writer
from whorl.files.tiff_codecs import COMPRESSIONS

DTYPES = ["u1", "u2", "u4", "i1", "i2", "i4", "f2", "f4", "f8"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("colour", "channels", "kept"), [*KINDS, ("cmyk", 4, 0), ("channels", 6, 0)])
def test_samples_survive_and_tifffile_agrees(tmp_path, colour, channels, kept, dtype):
    made = picture(colour, channels, kept, dtype, size=(301, 517))  # several tiles, cut at the border
    files.write(tmp_path / "a.tif", made)
    again = files.read(tmp_path / "a.tif")
    assert again.layout == made.layout
    np.testing.assert_array_equal(again.samples, made.samples)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tif").reshape(made.samples.shape), made.samples)


@pytest.mark.parametrize(("colour", "channels", "kept"), KINDS[::2])
def test_pillow_reads_what_is_written(tmp_path, colour, channels, kept):
    for size in ((20, 30), (301, 517)):
        made = picture(colour, channels, kept, size=size)
        files.write(tmp_path / "a.tif", made, force=True)
        with Image.open(tmp_path / "a.tif") as seen:
            np.testing.assert_array_equal(np.asarray(seen).reshape(made.samples.shape), made.samples)


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tile": (32, 48)},
        {"rowsperstrip": 7, "compression": "zlib", "predictor": True},
        {"tile": (16, 16), "compression": "lzw"},
        {"planarconfig": "separate", "rowsperstrip": 16},
        {"planarconfig": "separate", "tile": (32, 16), "compression": "zstd"},
    ],
    ids=str,
)
def test_windows_are_what_they_are_in_the_whole(tmp_path, options, endian, big):
    samples = noise(101, 67, 3, "u2")
    stored = samples.transpose(2, 0, 1) if options.get("planarconfig") == "separate" else samples
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric="rgb", byteorder=endian, bigtiff=big, **options)
    with files.open_reader(tmp_path / "a.tif") as reader:
        (page,) = reader.pages
        for top, bottom, left, right in [
            (0, 101, 0, 67),
            (0, 1, 0, 1),
            (100, 101, 66, 67),
            (13, 77, 5, 50),
            (31, 33, 47, 49),
        ]:
            window = page.read(top, bottom, left, right)
            assert window.dtype.isnative
            np.testing.assert_array_equal(window, samples[top:bottom, left:right])


def test_window_reads_only_what_it_touches(tmp_path, monkeypatch):
    samples = noise(256, 256, 1, "u1")[..., 0]
    tifffile.imwrite(tmp_path / "a.tif", samples, tile=(32, 32), compression="zlib")
    with files.open_reader(tmp_path / "a.tif") as reader:
        (page,) = reader.pages
        decoded = []
        genuine = page._decode
        monkeypatch.setattr(page, "_decode", lambda index, *size: decoded.append(index) or genuine(index, *size))
        page.read(30, 34, 64, 96)
        assert decoded == [2, 10]
        page.read(32, 40, 64, 96)
        assert decoded == [2, 10]  # still in the cache
        assert not page.banded


def test_cache_is_one_for_all_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(tiff_reader, "CACHE", 3 * 32 * 32)
    tifffile.imwrite(
        tmp_path / "a.tif", noise(8, 64, 64, "u1"), tile=(32, 32), compression="zlib", photometric="minisblack"
    )
    with files.open_reader(tmp_path / "a.tif") as reader:
        for page in reader.pages:
            page.read(0, 64, 0, 64)
        assert len(reader.pages[0].cache.segments) == 3
        assert reader.pages[0].cache.size == 3 * 32 * 32


def test_pages_keep_their_own_size_type_and_order(tmp_path):
    pages = [picture(), picture("rgb", 3, dtype="u2"), picture(dtype="f4", size=(300, 300))]
    files.write(tmp_path / "a.tif", pages)
    again = files.read_pages(tmp_path / "a.tif")
    assert [page.layout for page in again] == [page.layout for page in pages]
    for one, other in zip(again, pages, strict=True):
        np.testing.assert_array_equal(one.samples, other.samples)
    with pytest.raises(FileError, match="3 pages"):
        files.read(tmp_path / "a.tif")


def test_reduced_pages_are_left_out(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        writer.write(np.zeros((64, 64), np.uint8), subifds=1)
        writer.write(np.zeros((32, 32), np.uint8), subfiletype=1)
        writer.write(np.zeros((16, 16), np.uint8), subfiletype=1)
    assert [page.layout.height for page in files.read_pages(tmp_path / "a.tif")] == [64]


def test_beyond_four_gigabytes_it_is_bigtiff(tmp_path, monkeypatch):
    pages = [picture("rgb", 3, dtype="u2", size=(301, 517)), picture()]
    files.write(tmp_path / "classic.tif", pages)
    with (tmp_path / "big.tif").open("w+b") as stream:
        writer = tiff_writer.TiffWriter(stream, "big.tif", [(page.layout, page.metadata) for page in pages])
        stream.truncate(2**32)  # a hole: tiles come to lie beyond what 32 bits address
        for canvas, page in zip(writer.canvases, pages, strict=True):
            canvas.write(0, 0, page.samples)
        writer.finish()
    for name, magic in (("classic.tif", b"II*\0"), ("big.tif", b"II+\0")):
        with (tmp_path / name).open("rb") as file:
            assert file.read(4) == magic
        for one, other in zip(files.read_pages(tmp_path / name), pages, strict=True):
            np.testing.assert_array_equal(one.samples, other.samples)


@pytest.mark.parametrize("endian", ["<", ">"])
def test_describing_tags_survive(tmp_path, endian):
    extra = [(274, 3, 1, 6, True), (33550, 12, 3, (0.5, 0.25, 0.0), True), (315, 2, 0, "somebody", True)]
    tifffile.imwrite(
        tmp_path / "a.tif", noise(20, 30, 3, "u2"), photometric="rgb", byteorder=endian, resolution=(300.5, 150),
        resolutionunit="inch", description="a note", iccprofile=profile(), extratags=extra, metadata=None,
        software="maker",
    )  # fmt: skip
    read = files.read(tmp_path / "a.tif")
    assert (read.metadata.resolution, read.metadata.orientation, read.metadata.icc) == ((300.5, 150.0), 6, profile())
    files.write(tmp_path / "b.tif", read)
    with tifffile.TiffFile(tmp_path / "b.tif") as seen:
        tags = seen.pages[0].tags
        assert tags["XResolution"].value == (601, 2)
        assert tags["Orientation"].value == 6
        assert tags["ImageDescription"].value == "a note"
        assert tags["Artist"].value == "somebody"
        assert tags["Software"].value == "maker"
        assert tags["InterColorProfile"].value == profile()
        assert tags["ModelPixelScaleTag"].value == (0.5, 0.25, 0.0)
    assert files.read(tmp_path / "b.tif").metadata == read.metadata


def test_palette_bilevel_and_ycbcr_become_plain_colours(tmp_path):
    colours = noise(3, 256, 1, "u2")[..., 0]
    indices = noise(20, 30, 1, "u1")[..., 0]
    tifffile.imwrite(tmp_path / "p.tif", indices, photometric="palette", colormap=colours)
    read = files.read(tmp_path / "p.tif")
    np.testing.assert_array_equal(read.samples, colours.T[indices])
    files.write(tmp_path / "p2.tif", read)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "p2.tif"), colours.T[indices])

    bits = indices > 127
    tifffile.imwrite(tmp_path / "b.tif", bits, photometric="minisblack")
    np.testing.assert_array_equal(files.read(tmp_path / "b.tif").samples[..., 0], np.where(bits, 255, 0))

    ramp = np.broadcast_to(np.arange(64, dtype=np.uint8)[None, :, None] * 3, (64, 64, 3))
    Image.fromarray(ramp).convert("YCbCr").save(tmp_path / "y.tif", compression="jpeg")
    with tifffile.TiffFile(tmp_path / "y.tif") as seen:
        assert (seen.pages[0].photometric, seen.pages[0].compression) == (6, 7)
    read = files.read(tmp_path / "y.tif")
    assert np.abs(read.samples.astype(int) - ramp).max() < 8
    files.write(tmp_path / "y2.tif", read)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "y2.tif"), read.samples)


def test_white_is_zero_keeps_its_values_in_tiff_and_its_look_elsewhere(tmp_path):
    samples = noise(20, 30, 1, "u2")[..., 0]
    tifffile.imwrite(tmp_path / "w.tif", samples, photometric="miniswhite")
    read = files.read(tmp_path / "w.tif")
    files.write(tmp_path / "w2.tif", read)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "w2.tif"), samples)
    with tifffile.TiffFile(tmp_path / "w2.tif") as seen:
        assert seen.pages[0].photometric == 0
    files.write(tmp_path / "w.png", read)
    np.testing.assert_array_equal(files.read(tmp_path / "w.png").samples[..., 0], 65535 - samples)


def test_alpha_and_unmarked_channels_are_told_apart(tmp_path):
    def kinds(samples, **options):
        tifffile.imwrite(tmp_path / "a.tif", samples, **options)
        layout = files.read(tmp_path / "a.tif").layout
        return layout.colour, layout.filtered, layout.kept

    five = noise(9, 8, 5, "u2")
    assert kinds(five, photometric="minisblack", planarconfig="contig") == ("channels", 5, 0)
    assert kinds(five[..., :4], photometric="rgb", extrasamples=["unassalpha"]) == ("rgb", 3, 1)
    assert kinds(five[..., :4], photometric="rgb", extrasamples=["unspecified"]) == ("rgb", 3, 1)
    assert kinds(five[..., :2], photometric="minisblack", extrasamples=["unassalpha"]) == ("grey", 1, 1)
    assert kinds(five[..., :4], photometric="separated") == ("cmyk", 4, 0)


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_truncation_is_noticed(tmp_path, compression):
    tifffile.imwrite(tmp_path / "a.tif", noise(100, 100, 1, "u2")[..., 0], compression=compression, rowsperstrip=10)
    whole = (tmp_path / "a.tif").read_bytes()
    for length in (4, 8, 50, 200, len(whole) // 2, len(whole) - 1):
        (tmp_path / "a.tif").write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"a\.tif"):
            files.read(tmp_path / "a.tif")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"data": np.zeros((8, 8), np.complex64)}, "complex64"),
        ({"data": np.zeros((8, 8, 3), np.uint8), "photometric": "cielab"}, "Convert it to RGB"),
    ],
)
def test_what_is_no_picture_is_refused(tmp_path, options, text):
    tifffile.imwrite(tmp_path / "a.tif", **options)
    with pytest.raises(FileError, match=text):
        files.read(tmp_path / "a.tif")


def test_bombs_are_refused(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", noise(8, 8, 1, "u1")[..., 0], compression="zlib")
    with tifffile.TiffFile(tmp_path / "a.tif", mode="r+b") as lie:
        for name in ("ImageWidth", "ImageLength", "RowsPerStrip"):
            lie.pages[0].tags[name].overwrite(100_000)
    with pytest.raises(FileError, match="above the limit"):
        files.read(tmp_path / "a.tif")
    with files.open_reader(tmp_path / "a.tif") as reader, pytest.raises(FileError, match="Save it with tiles"):
        reader.pages[0].read(0, 1, 0, 1)


def structure(path) -> list[tuple]:
    with tifffile.TiffFile(path) as file:
        return [
            (page.is_tiled, int(page.compression), int(page.predictor), page.is_contiguous, page.dataoffsets[0])
            for page in file.pages
        ]


def test_small_pictures_lie_in_strips_without_predictor(tmp_path):
    """What many readers, ImageJ among them, cannot open is left to pictures that need it."""
    for size in ((1500, 1100), (5, 70_000), (1, 1)):
        files.write(tmp_path / "a.tif", picture("rgb", 3, dtype="u2", size=size), force=True)
        ((tiled, compression, predictor, _, _),) = structure(tmp_path / "a.tif")
        assert (tiled, compression, predictor) == (False, 8, 1)
        assert np.array_equal(files.read(tmp_path / "a.tif").samples, noise(*size, 3, "u2"))
        assert np.array_equal(tifffile.imread(tmp_path / "a.tif").reshape(*size, 3), noise(*size, 3, "u2"))


def test_imagej_stacks_lie_plain_one_after_the_other(tmp_path):
    """ImageJ looks for the planes of its stacks behind the first one, whatever the other directories say."""
    planes = noise(5, 40, 30, "u2")
    tifffile.imwrite(tmp_path / "a.tif", planes, imagej=True, resolution=(2.0, 0.5), metadata={"unit": "um"})
    pages = files.read_pages(tmp_path / "a.tif")
    assert len(pages) == 5
    assert pages[0].metadata.aspect == (4.0, 1.0)
    with files.open_writer(tmp_path / "b.tif", [(page.layout, page.metadata) for page in pages]) as writer:
        for top in (20, 0):  # in any order
            for number in (4, 0, 2, 1, 3):
                writer.canvases[number].write(top, 0, pages[number].samples[top : top + 20])
    found = structure(tmp_path / "b.tif")
    assert [row[:4] for row in found] == [(False, 1, 1, True)] * 5
    assert np.diff([row[4] for row in found]).tolist() == [40 * 30 * 2] * 4
    raw = (tmp_path / "b.tif").read_bytes()[found[0][4] :][: planes.nbytes]
    assert np.array_equal(np.frombuffer(raw, "<u2").reshape(planes.shape), planes)
    with tifffile.TiffFile(tmp_path / "b.tif") as file:
        assert file.is_imagej
        assert file.imagej_metadata["unit"] == "um"
        assert np.array_equal(file.asarray(), planes)


@pytest.mark.parametrize("kind", ["sub-directories", "pages"])
def test_pyramids_are_built_anew(tmp_path, kind):
    image = noise(1300, 1031, 3, "u1")
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        how = {"photometric": "rgb", "tile": (128, 128), "compression": "zlib"}
        file.write(image, subifds=1 if kind == "sub-directories" else None, **how)
        file.write(image[::2, ::2].copy(), subfiletype=1, **how)
    read = files.read(tmp_path / "a.tif")
    assert read.metadata.pyramid
    changed = read.with_colours(255.0 - read.samples)
    files.write(tmp_path / "b.tif", changed)
    again = files.read(tmp_path / "b.tif")
    assert again.metadata.pyramid
    assert np.array_equal(again.samples, 255 - image)
    with tifffile.TiffFile(tmp_path / "b.tif") as file:
        levels = file.series[0].levels
        flat = kind == "pages"  # such a pyramid stays what it was, with its own sizes
        assert [level.shape for level in levels] == [(1300, 1031, 3), (650, 516, 3), (325, 258, 3)][: 2 if flat else 3]
        assert (len(file.pages), bool(file.pages[0].subifds)) == ((2, False) if flat else (1, True))
        assert all(level.pages[0].is_tiled for level in levels)
        for finer, coarser in pairwise(level.asarray().astype(float) for level in levels):
            high, wide = (size // 2 * 2 for size in finer.shape[:2])
            even = finer[:high, :wide]
            mean = (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) / 4
            assert np.array_equal(coarser[: high // 2, : wide // 2], np.rint(mean))


def test_slides_stay_slides(tmp_path):
    """As Aperio writes them: all sizes as pages without a mark, a thumbnail second, label and overview last."""
    image = noise(1290, 1031, 3, "u1")
    about = "Aperio Image Library v12\n1031x1290 |AppMag = 20|MPP = 0.5"
    with tifffile.TiffWriter(tmp_path / "a.svs") as file:
        tiled = {"photometric": "rgb", "tile": (128, 128), "description": about, "metadata": None}
        plain = tiled | {"tile": None}
        file.write(image, **tiled)
        file.write(image[::10, ::10].copy(), **plain)
        file.write(image[: 1290 // 4 * 4 : 4, : 1031 // 4 * 4 : 4].copy(), **tiled)
        file.write(image[:16, :90].copy(), subfiletype=1, **plain | {"description": "Aperio\nlabel 90x16"})
        file.write(image[:30, :90].copy(), subfiletype=9, compression="jpeg", **plain)
    (read,) = files.read_pages(tmp_path / "a.svs")
    files.write(tmp_path / "b.tif", read.with_colours(255.0 - read.samples))
    with tifffile.TiffFile(tmp_path / "a.svs") as old, tifffile.TiffFile(tmp_path / "b.tif") as new:
        assert new.is_svs
        assert new.pages[0].description == about
        assert [level.shape for level in new.series[0].levels] == [level.shape for level in old.series[0].levels]
        assert [page.shape for page in new.pages] == [page.shape for page in old.pages]
        assert [page.is_tiled for page in new.pages] == [True, False, True, False, False]
        for seen, kept in zip(old.pages[3:], new.pages[3:], strict=True):  # label and overview are not filtered
            assert np.array_equal(seen.asarray(), kept.asarray())
            assert (seen.subfiletype, seen.description) == (kept.subfiletype, kept.description)
        assert [series.name for series in new.series] == [series.name for series in old.series]
        full, small = (level.asarray() for level in new.series[0].levels)
        assert np.array_equal(full, 255 - image)
        blocks = full[:1288, :1028].astype(float).reshape(322, 4, 257, 4, 3)
        assert np.array_equal(small, np.rint(blocks.mean(axis=(1, 3))))
        assert np.isin(new.pages[1].asarray(), small).all()


def test_large_pictures_are_tiled(tmp_path, monkeypatch):
    monkeypatch.setattr(tiff_writer, "LARGE", 1000)
    files.write(tmp_path / "a.tif", picture(dtype="u2", size=(300, 400)))
    ((tiled, compression, predictor, _, _),) = structure(tmp_path / "a.tif")
    assert (tiled, compression, predictor) == (True, 8, 2)
    assert np.array_equal(tifffile.imread(tmp_path / "a.tif"), noise(300, 400, 1, "u2")[..., 0])


@pytest.mark.parametrize(("unit", "inches"), [("inch", 1.0), ("centimeter", 2.54)])
def test_pixels_per_inch_whatever_the_unit(tmp_path, unit, inches):
    samples = noise(8, 9, 1, "u1")[..., 0]
    tifffile.imwrite(tmp_path / "a.tif", samples, resolution=(200, 100), resolutionunit=unit, metadata=None)
    read = files.read(tmp_path / "a.tif")
    assert read.metadata.resolution == pytest.approx((200 * inches, 100 * inches))
    assert read.metadata.aspect == (2.0, 1.0)
    files.write(tmp_path / "b.png", read)
    assert files.read(tmp_path / "b.png").metadata.resolution == pytest.approx((200 * inches, 100 * inches), rel=1e-3)
    files.write(tmp_path / "b.tif", read)
    with tifffile.TiffFile(tmp_path / "b.tif") as seen:
        assert seen.pages[0].tags["ResolutionUnit"].value == {"inch": 2, "centimeter": 3}[unit]
        assert seen.pages[0].tags["XResolution"].value == (200, 1)


@pytest.fixture(scope="module")
def slide(tmp_path_factory):
    """A slide as scanners write it: a pyramid of tiles, compressed as JPEG."""
    y, x = np.mgrid[:700, :900]
    cells = 200 - 60 * np.sin(x / 9) * np.sin(y / 7) + np.random.default_rng(0).normal(0, 4, (700, 900))
    image = np.stack([cells, cells - 40, cells + 10], -1).clip(0, 255).astype(np.uint8)
    path = tmp_path_factory.mktemp("slide") / "a.tif"
    how = {"tile": (256, 256), "compression": "jpeg", "compressionargs": {"level": 80}, "photometric": "rgb"}
    with tifffile.TiffWriter(path) as file:
        file.write(image, subifds=1, **how)
        file.write(image[::2, ::2], subfiletype=1, **how)
    return path


def test_a_jpeg_slide_stays_one_and_does_not_grow_by_much(tmp_path, slide):
    picture = files.read(slide)
    assert picture.metadata.compression == "jpeg"
    files.write(tmp_path / "b.tif", picture)
    files.write(tmp_path / "c.tif", replace(picture, metadata=replace(picture.metadata, compression="deflate")))
    sizes = [path.stat().st_size for path in (slide, tmp_path / "b.tif", tmp_path / "c.tif")]
    assert sizes[1] < 2.5 * sizes[0] < sizes[2]
    with tifffile.TiffFile(tmp_path / "b.tif") as file:
        page = file.pages[0]
        assert (page.compression, page.photometric, len(page.subifds)) == (7, 6, 1)
        levels = [level.asarray() for level in file.series[0].levels]
    # Quality 95 with full chroma: a root mean square error of less than two grey values.
    assert np.sqrt(np.mean((levels[0] - picture.samples.astype(float)) ** 2)) < 2
    assert levels[1].shape == (350, 450, 3)
    with Image.open(tmp_path / "b.tif") as shown:
        assert np.abs(np.array(shown.convert("RGB")).astype(int) - levels[0]).max() <= 2
    assert np.array_equal(files.read(tmp_path / "b.tif").samples, levels[0])
    assert np.array_equal(files.read(tmp_path / "c.tif").samples, picture.samples)


@pytest.mark.parametrize("compression", ["none", "deflate", "lzw", "zstd", "jpeg"])
@pytest.mark.parametrize(("channels", "pyramid"), [(1, False), (3, False), (3, True)])
def test_every_compression_is_read_back(tmp_path, compression, channels, pyramid):
    y, x = np.mgrid[:540, :70]
    samples = np.stack([100 + x + 0.1 * y + 9 * c for c in range(channels)], -1).astype(np.uint8)
    layout = files.Layout(*samples.shape, np.dtype("u1"), "rgb" if channels == 3 else "grey")
    files.write(
        tmp_path / "a.tif", files.Picture(samples, layout, files.Metadata(compression=compression, pyramid=pyramid))
    )
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        assert file.pages[0].compression == COMPRESSIONS[compression]
        assert len(file.pages[0].subifds or ()) == pyramid
        found = file.asarray().reshape(samples.shape)
    assert np.abs(found.astype(int) - samples).max() <= (3 if compression == "jpeg" else 0)
    assert np.array_equal(files.read(tmp_path / "a.tif").samples, found)


@pytest.mark.parametrize(("told", "words"), [("jpeg", "holds 8-bit grey or RGB"), ("rar", "'rar' is unknown")])
def test_compressions_that_cannot_be_are_refused(tmp_path, told, words):
    layout = files.Layout(4, 5, 2, np.dtype("u2"), "grey", kept=1)
    with pytest.raises(FileError, match=words):
        files.write(
            tmp_path / "a.tif", files.Picture(np.zeros((4, 5, 2), "u2"), layout, files.Metadata(compression=told))
        )
    assert not (tmp_path / "a.tif").exists()
