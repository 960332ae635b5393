"""Large pictures and those with 16 bits: noise and settings are those of the file, and all of it is saved."""

import base64
import io
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
import torch
from PIL import Image

import whorl
from page.planes import encode
from whorl.automatic import automatic_settings, samples_of


def scene(height: int, width: int, seed: int) -> np.ndarray:
    """Shading, discs and fine stripes with noise of 15, in float, one channel."""
    y, x = np.ogrid[:height, :width]
    clean = 110 + 60 * np.sin(x / 90) * np.cos(y / 70) + 40 * (np.sin(x / 37) * np.sin(y / 41) > 0.4)
    noise = np.random.default_rng(seed).standard_normal((height, width), np.float32)
    result: np.ndarray = clean.astype(np.float32) + 15 * noise
    return result


def in_python(line: str, image: np.ndarray) -> Any:
    return eval(line, {"whorl": whorl, "image": image})


def test_all_of_a_picture_with_16_bits_is_saved_as_python_filters_it(drive: Any, tmp_path: Path) -> None:
    image = np.clip(257 * scene(620, 1100, 0), 0, 65535).round().astype(np.uint16)
    Image.fromarray(image).save(tmp_path / "in.png")
    size = {"path": str(tmp_path / "in.png"), "target": str(tmp_path / "out.png"), "size": "1100 × 620"}
    said = drive("largePicture", model="perona-malik", lenient=True, **size)
    saved = np.asarray(Image.open(tmp_path / "out.png"))
    samples = samples_of(torch.from_numpy(image.astype(np.float32))[None, None])
    chosen = automatic_settings("perona-malik", samples)
    assert f"Noise measured: {float(f'{chosen.noise:.3g}'):,.0f} grey values" in said["measured"]
    written = {part.split("=")[0]: part.split("=")[1] for part in said["code"][:-1].split(", ")[1:]}
    for key, value in {"contrast": chosen.contrast, "time": chosen.time, "sigma": chosen.options["sigma"]}.items():
        assert float(written[key]) == pytest.approx(value, rel=2e-3)
    assert saved.dtype == np.uint16
    # Both are computed in float32 and rounded, in other units: four of the 257 steps in a grey level.
    exact = in_python(said["code"], image).astype(int)
    assert np.abs(saved.astype(int) - exact).max() <= 4
    assert np.abs(exact - image).max() > 257 * 10
    # Nothing told, to one grey level.
    assert np.abs(saved.astype(int) - whorl.diffuse(image, "perona-malik").astype(int)).max() <= 257
    assert "saved: all of it" in said["facts"]
    assert "16 bits" in said["facts"]
    for shown, left in ((said["middle"], (1100 - 512) // 2), (said["right"], (1100 - 512) // 2 + 256)):
        values = np.reshape(shown["values"], (512, 512, 3))[..., 0]
        top = (620 - 512) // 2
        assert np.abs(values - image[top : top + 512, left : left + 512] / 257).max() <= 0.5 + 1e-6
    assert said["same"]


def test_tiff_files_are_read_and_saved_with_all_their_bits(drive: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    grey, colour = rng.integers(0, 65536, (47, 33), np.uint16), rng.integers(0, 256, (47, 33, 3), np.uint8)
    smooth = np.linspace(0, 60000, 47 * 33 * 3).reshape(47, 33, 3).astype(np.uint16)
    plain = np.repeat(np.arange(47, dtype=np.uint8)[:, None], 33, 1)
    kinds: list[tuple[np.ndarray, dict[str, Any]]] = [
        (grey, {}),
        (grey, {"byteorder": ">", "rowsperstrip": 7}),
        (colour, {"compression": "lzw", "predictor": True}),
        (smooth, {"compression": "lzw", "rowsperstrip": 20}),
        (smooth, {"compression": "zlib", "predictor": True, "tile": (16, 32)}),
        (plain, {"compression": "packbits", "photometric": "minisblack"}),
        (np.moveaxis(colour, -1, 0), {"planarconfig": "separate", "photometric": "rgb"}),
    ]
    files = [_tiff(image, **options) for image, options in kinds]
    refused = [np.zeros((3, 9, 9), np.uint8), np.zeros((9, 9), np.float32)]
    image = np.clip(257 * scene(48, 64, 3), 0, 65535).round().astype(np.uint16)
    tifffile.imwrite(tmp_path / "in.tif", image)
    places = {"path": str(tmp_path / "in.tif"), "target": str(tmp_path / "out.tif")}
    contents = [base64.b64encode(file).decode() for file in [*files, *map(_tiff, refused)]]
    found = drive("tiffs", contents=contents, model="perona-malik", lenient=True, **places)
    *again, pages, floats = found["again"]
    for (whole, options), content in zip(kinds, again, strict=True):
        expected = np.moveaxis(whole, 0, -1) if "planarconfig" in options else whole
        saved = tifffile.imread(io.BytesIO(base64.b64decode(content)))
        assert saved.dtype == expected.dtype
        assert np.array_equal(saved, expected), options
    assert "several pages" in pages
    assert "8 or 16 bits" in floats
    assert (found["name"], "16 bits" in found["facts"]) == ("whorl.tif", True)
    saved = tifffile.imread(tmp_path / "out.tif")
    assert np.abs(saved.astype(int) - in_python(found["code"], image).astype(int)).max() <= 4  # as for PNG above


def _tiff(image: np.ndarray, **options: Any) -> bytes:
    file = io.BytesIO()
    photometric = "rgb" if image.shape[-1] == 3 else "minisblack"
    tifffile.imwrite(file, image, **{"photometric": photometric, **options})
    return file.getvalue()


@pytest.mark.parametrize(("model", "channels", "bits"), [("weickert-brox", 3, 8), ("eed", 1, 16), ("ced", 3, 16)])
def test_windows_leave_no_seam(drive: Any, model: str, channels: int, bits: int) -> None:
    planes = [encode(scene(150, 61, seed)) for seed in range(channels)]
    wide = {} if model == "ced" else {"cell": "wide", "diffusivity": "rational"}
    values = {
        "contrast": 5.0,
        "time": 1.4,
        "alpha": 0.41,
        "gamma": 0.0,
        "sigma": 0.4,
        "rho": 1.0 if model == "ced" else 0.0,
    }
    size = {"planes": planes, "height": 150, "width": 61, "pixels": 61 * 20, "bits": bits}
    found = drive("inWindows", model=model, values=values | wide, lenient=True, **size)
    assert found["windows"] > 2
    assert found["steps"] > 2
    assert (found["channels"], found["bits"]) == (channels, bits)
    assert found["worst"] < 0.51  # the numbers of the whole, rounded in the file, and in float32 on the way


def colour_photo(height: int, width: int) -> np.ndarray:
    planes = [scene(height, width, seed) for seed in range(3)]
    return np.stack([plane.clip(0, 255).round().astype(np.uint8) for plane in planes], -1)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_all_of_24_megapixels_is_saved(drive: Any, tmp_path: Path) -> None:
    image = colour_photo(4000, 6000)
    Image.fromarray(image).save(tmp_path / "in.png", compress_level=1)
    size = {"path": str(tmp_path / "in.png"), "target": str(tmp_path / "out.png"), "size": "6000 × 4000"}
    start = time.perf_counter()
    said = drive("largePicture", model="weickert-brox", lenient=True, **size)
    print(f"the whole visit took {time.perf_counter() - start:.1f} s")
    Image.MAX_IMAGE_PIXELS, before = None, Image.MAX_IMAGE_PIXELS
    saved = np.asarray(Image.open(tmp_path / "out.png"))
    Image.MAX_IMAGE_PIXELS = before
    assert saved.shape == image.shape
    assert said["same"]
    # Windows of Python's result around places where windows of the page meet, the corners and the middle.
    for top, left in ((0, 0), (3700, 5700), (550, 2900), (1900, 40)):
        far = 260  # more than all steps look
        y0, x0, y1, x1 = max(top - far, 0), max(left - far, 0), min(top + 300 + far, 4000), min(left + 300 + far, 6000)
        expected = in_python(said["code"], image[y0:y1, x0:x1])[top - y0 :, left - x0 :][:300, :300]
        assert np.abs(saved[top : top + 300, left : left + 300].astype(int) - expected.astype(int)).max() <= 1
