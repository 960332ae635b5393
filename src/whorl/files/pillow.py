"""Decoding by Pillow, with its many ways to fail turned into one."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError

__all__ = ["decoded", "opened", "orientation_of"]

ORIENTATION = 0x0112


def opened(path: Path, kind: str) -> Any:
    """The lazily opened picture of format ``kind``; only its header has been read."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sizes are checked by our own limit, with a remedy
            return Image.open(path, formats=[kind])
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise FileError(f"{path}: not a readable {kind} file ({_reason(error)}).") from None


def decoded(path: Path, kind: str, mode: str | None) -> NDArray[Any]:
    """Samples of the picture, converted to Pillow's ``mode`` where one is given."""
    picture = opened(path, kind)
    try:
        picture.load()
        return np.asarray(picture if mode is None else picture.convert(mode))
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise FileError(f"{path}: damaged or truncated {kind} ({_reason(error)}). Get the file again.") from None
    finally:
        picture.close()


def orientation_of(exif: bytes | None) -> int:
    """The EXIF orientation 1 to 8 in a raw EXIF block; 1 where there is none, or none that makes sense."""
    if exif is None:
        return 1
    from PIL import Image

    block = Image.Exif()
    try:
        block.load(exif)
        number = block.get(ORIENTATION, 1)
    except (SyntaxError, ValueError, OSError, EOFError):
        return 1
    return number if isinstance(number, int) and 1 <= number <= 8 else 1


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
