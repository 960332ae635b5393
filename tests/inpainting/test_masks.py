"""Masks as people make them, drawn by Pillow: anti-aliased, compressed as JPEG, on transparent layers, or in colour."""

import io
import json

import numpy as np
import pytest
from PIL import Image, ImageDraw

import whorl
from cli.conftest import whorl_command  # noqa: F401
from whorl.inpainting.images import following, method
from whorl.inpainting.masks import FARTHEST, Colour, depth, drawn, grown

SIZE = HEIGHT, WIDTH = 60, 150


def scene():
    """A small photograph: shades, an edge, and a disc."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    shades = np.stack([90 + 0.5 * x, 120 + y, 160 - 0.4 * x], -1) + 30.0 * (x + y > 110)[..., None]
    shades[np.hypot(x - 40, y - 30) < 18] = (60, 90, 70)
    return np.clip(shades, 0, 255).astype(np.uint8)


def write_on(page, ink):
    """Soft letters and a stroke."""
    pen = ImageDraw.Draw(page)
    pen.text((8, 12), "Soft letters", fill=ink, font_size=24)
    pen.line([(5, 48), (140, 54)], fill=ink, width=3)
    return page


@pytest.fixture(scope="module")
def ink():
    """How much ink lies on every pixel, 0 to 255."""
    return np.array(write_on(Image.new("L", (WIDTH, HEIGHT)), 255))


@pytest.fixture(scope="module")
def painted():
    """Red text on the photograph."""
    return np.array(write_on(Image.fromarray(scene()), (255, 0, 0)))


def compressed(values, quality):
    stream = io.BytesIO()
    Image.fromarray(values).save(stream, "JPEG", quality=quality)
    return np.array(Image.open(stream))


def layer(ink, colour):
    return np.concatenate([np.broadcast_to(np.uint8(colour), (*ink.shape, 3)), ink[..., None]], -1)


def made(ink, kind):
    return {
        "antialiased": lambda: ink,
        "jpeg": lambda: compressed(ink, 60),
        "rgb": lambda: np.stack([ink] * 3, -1),
        "red on black": lambda: np.stack([ink, 0 * ink, 0 * ink], -1),
        "opaque": lambda: np.concatenate([np.stack([ink] * 3, -1), np.full_like(ink, 255)[..., None]], -1),
        "black layer": lambda: layer(ink, (0, 0, 0)),
        "white layer": lambda: layer(ink, (255, 255, 255)),
        "grey layer": lambda: np.stack([0 * ink, ink], -1),
        "16 bit": lambda: ink.astype(np.uint16) * 257,
        "floats": lambda: ink / 255,
    }[kind]()


KINDS = ["antialiased", "jpeg", "rgb", "red on black", "opaque", "black layer", "white layer", "grey layer", "16 bit",
         "floats"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_is_filled_whatever_the_mask_is_made_of(ink, painted, kind, tmp_path, whorl_command):  # noqa: F811
    mask = made(ink, kind)
    image = painted[..., 0]
    share = float((ink > 127).mean())
    filled = []
    whorl.inpaint(image, mask, "homogeneous", tolerance=50.0, report=filled.append)
    assert filled
    axes = (mask, -1, int(mask.shape[-1] in (2, 4))) if mask.ndim == 3 else (mask[None], 0)
    found = drawn(*axes)
    # JPEG moves the soft edge by a part of a pixel; all others leave every value where it was.
    assert (found != (ink > 127)).mean() <= (0.02 if kind == "jpeg" else 0)
    if kind == "floats":
        return
    name = tmp_path / ("m.jpg" if kind == "jpeg" else "m.png")
    Image.fromarray(ink if kind == "jpeg" else mask).save(name, **({"quality": 60} if kind == "jpeg" else {}))
    Image.fromarray(painted).save(tmp_path / "a.png")
    answer = whorl_command("inpaint", "-n", "--json", tmp_path / "a.png", name, tmp_path / "b.png")
    assert answer.code == 0, answer.err
    page = json.loads(answer.out)["files"][0]["pages"][0]
    assert page["filled"] == pytest.approx(share, abs=0.02 if kind == "jpeg" else 1e-12)
    assert not (tmp_path / "b.png").exists()


def test_a_tiff_whose_zero_is_white_is_a_mask_too(ink, painted, tmp_path, whorl_command):  # noqa: F811
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "m.tif", 255 - ink, photometric="miniswhite")
    Image.fromarray(painted).save(tmp_path / "a.png")
    answer = whorl_command("inpaint", "-n", "--json", tmp_path / "a.png", tmp_path / "m.tif", tmp_path / "b.png")
    assert json.loads(answer.out)["files"][0]["pages"][0]["filled"] == pytest.approx((ink > 127).mean())


@pytest.mark.parametrize(
    ("kind", "told"),
    [("mask", {"grow": 1}), ("colour", {"grow": 1, "fuzz": 60.0}), ("jpeg", {"grow": 2, "fuzz": 130.0})],
)
def test_red_text_is_gone_with_its_soft_edges(ink, painted, kind, told, tmp_path, whorl_command):  # noqa: F811
    """Grown by a pixel, a soft mask takes the edges along; so does a colour with some fuzz, and in a JPEG with more."""
    clean = scene().astype(float)
    picture = compressed(painted, 92) if kind == "jpeg" else painted
    Image.fromarray(picture).save(tmp_path / "a.png")
    Image.fromarray(ink).save(tmp_path / "m.png")
    words = [word for name, value in told.items() for word in (f"--{name}", value)]
    where = tmp_path / "m.png" if kind == "mask" else "red"
    answer = whorl_command("inpaint", *words, tmp_path / "a.png", where, tmp_path / "b.png")
    assert answer.code == 0, answer.err
    result = np.array(Image.open(tmp_path / "b.png"))
    errors = [np.sqrt(np.mean((u.astype(float) - clean) ** 2)) for u in (picture, result)]
    assert errors[1] < errors[0] / 6
    assert (result[..., 0] - clean[..., 0]).max() < 60  # no rim: the text stands 100 and more above the picture
    ours = whorl.inpaint(picture, ink if kind == "mask" else "red", channel_axis=-1, **told)
    assert np.array_equal(ours, result)


def test_black_strokes_on_a_transparent_layer_do_not_fill_the_rest(ink, painted, tmp_path, whorl_command):  # noqa: F811
    """The background of such a layer may be white or black under its zero alpha."""
    for under in (0, 255):
        strokes = layer(ink, (under,) * 3)
        strokes[ink > 0, :3] = 0
        gaps = drawn(strokes, -1, 1)
        assert np.array_equal(gaps, ink > 127)


def test_more_than_half_of_a_picture_is_filled_only_when_told(ink, painted, tmp_path, whorl_command):  # noqa: F811
    Image.fromarray(255 - ink).save(tmp_path / "m.png")
    Image.fromarray(painted).save(tmp_path / "a.png")
    words = ("inpaint", "--homogeneous", tmp_path / "a.png", tmp_path / "m.png", tmp_path / "b.png")
    answer = whorl_command(*words)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "% of the image would be filled, more than 50 %" in answer.err
    assert not (tmp_path / "b.png").exists()
    assert whorl_command(*words, "--most", 1).code == 0
    with pytest.raises(ValueError, match="allow more with most=1"):
        whorl.inpaint(painted, 255 - ink, channel_axis=-1)
    # A mask of True and False cannot be misread.
    assert whorl.inpaint(painted, ink < 128, "homogeneous", channel_axis=-1, tolerance=50.0).shape == painted.shape


@pytest.mark.parametrize("pixels", [0, 1, 2, 5])
@pytest.mark.parametrize("shape", [(14, 17), (9, 8, 10), (3, 6, 7), (1, 7)])
def test_grown_is_all_that_is_so_near(shape, pixels):
    gaps = np.random.default_rng(pixels).random(shape) > 0.97
    gaps.flat[3] = True
    away = np.stack(np.indices(shape), -1)[..., None, :] - np.argwhere(gaps)
    assert np.array_equal(grown(gaps, pixels), (away**2).sum(-1).min(-1) <= pixels**2)


def test_pictures_and_layers_of_pillow_are_taken_as_they_are(ink, painted):
    how = {"tolerance": 50.0, "channel_axis": -1}
    expected = whorl.inpaint(painted, ink > 127, "homogeneous", **how)
    strokes = Image.fromarray(layer(ink, (0, 0, 0)))
    found = whorl.inpaint(Image.fromarray(painted), strokes, "homogeneous", tolerance=50.0)
    assert np.array_equal(np.array(found), expected)
    by_colour = whorl.inpaint(Image.fromarray(painted), "red", "homogeneous", tolerance=50.0)
    assert np.array_equal(np.array(by_colour), whorl.inpaint(painted, "red", "homogeneous", **how))


@pytest.mark.parametrize("shape", [(14, 17), (1, 30), (40, 40)])
def test_the_depth_of_gaps_decides_how_far_edges_are_seen(shape):
    gaps = np.random.default_rng(3).random(shape) < (0.999 if shape == (40, 40) else 0.8)
    away = np.stack(np.indices(shape), -1)[gaps][:, None] - np.argwhere(~gaps)
    distances = np.minimum(np.ceil(np.sqrt((away**2).sum(-1).min(-1))), FARTHEST)
    assert depth(gaps) == pytest.approx(distances.mean(), rel=1e-12)
    image = np.random.default_rng(1).uniform(0, 255, shape)
    grey = np.ptp(image[~gaps]) / 255
    told = following(gaps)
    assert told == {"sigma": min(max(0.375 * depth(gaps), 0.5), 1.0), "rho": min(0.85 * depth(gaps), 4.0)}
    model = method("eed", contrast=grey, **told)
    how = {"engine": "reference", "tolerance": 5 * grey}
    assert np.allclose(whorl.inpaint(image, gaps, **how), whorl.inpaint(image, gaps, model, **how), atol=1e-9)


@pytest.mark.parametrize("kind", ["u1", "u2"])
def test_colours_by_name_and_number_with_fuzz(kind):
    unit = np.iinfo(kind).max // 255
    samples = (np.array([[255, 128, 0], [250, 120, 9], [200, 128, 0]]).T * unit).astype(kind)
    for word, fuzz, expected in (("#ff8000", 0, [1, 0, 0]), ("#ff8000", 9, [1, 1, 0]), ("#FF8000", 60, [1, 1, 1])):
        assert Colour(word, np.dtype(kind), 3, fuzz)(samples).tolist() == [bool(value) for value in expected]
    assert Colour("white", np.dtype(kind), 1)(samples[:1]).tolist() == [True, False, False]
    for bad in ("greenish", "#ff00", "#ff8000ff"):
        with pytest.raises(ValueError, match="six digits, .* or by its name"):
            Colour(bad, np.dtype(kind), 3)
    with pytest.raises(ValueError, match="fuzz = 300"):
        Colour("red", np.dtype(kind), 3, 300.0)
