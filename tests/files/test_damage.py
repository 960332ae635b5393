"""Files damaged anywhere are read or refused with a FileError; nothing else ever comes out."""

import io
import random

import numpy as np
import pytest
import tifffile
from PIL import Image

from files.samples import noise, picture
from whorl import files
from whorl.errors import FileError


def encoded(name: str, folder) -> bytes:
    made = {
        "rgb16.png": picture("rgb", 3, dtype="u2", size=(20, 30)),
        "alpha.png": picture("grey", 2, 1, size=(20, 30)),
        "rgb.jpg": picture("rgb", 3, size=(20, 30)),
        "alpha.tif": picture("rgb", 4, 1, "u2", size=(300, 30)),
        "pages.tif": [picture(dtype="f4", size=(20, 30)), picture(size=(20, 30))],
    }
    if name in made:
        files.write(folder / name, made[name])
        return (folder / name).read_bytes()
    stream = io.BytesIO()
    if name == "palette.png":
        Image.fromarray(noise(20, 30, 1, "u1")[..., 0] % 4, "P").save(stream, "PNG")
    else:
        tifffile.imwrite(stream, noise(40, 40, 3, "u1"), photometric="rgb", tile=(16, 16), compression="lzw")
    return stream.getvalue()


@pytest.mark.parametrize(
    "name", ["rgb16.png", "alpha.png", "palette.png", "rgb.jpg", "alpha.tif", "pages.tif", "tiles.tif"]
)
def test_damage_is_read_or_refused(tmp_path, name):
    whole = encoded(name, tmp_path)
    rng = random.Random(name)
    refused = 0
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 1, 3))):
            place = rng.randrange(len(data))
            how = rng.random()
            if how < 0.7:
                data[place] ^= 1 << rng.randrange(8)
            elif how < 0.85:
                del data[place : place + rng.randrange(1, 20)]
            else:
                data = data[: place + 1]
        (tmp_path / "damaged").write_bytes(data)
        try:
            pages = files.read_pages(tmp_path / "damaged")
        except FileError as error:
            refused += 1
            assert "damaged" in str(error)  # the file's name, at least
        else:
            assert all(isinstance(page.samples, np.ndarray) for page in pages)
    assert refused > 10
