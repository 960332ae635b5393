"""Measurements on disk, kept angle by angle: what was measured once is not measured again."""

import hashlib
import json
from pathlib import Path
from typing import Any

from whorl.errors import FileError
from whorl.foundations.atomic import write_bytes

__all__ = ["Store"]

FORMAT = "whorl measurements"


class Store:
    """Mean squared errors of images by network, test pictures and angle, in one JSON file (or in memory only)."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.rows: dict[str, dict[str, list[float]]] = {}
        if path is not None and path.exists():
            try:
                found = json.loads(path.read_text())
                if found["format"] != FORMAT:
                    raise KeyError
                self.rows = found["rows"]
            except (ValueError, KeyError, TypeError, UnicodeDecodeError):
                raise FileError(f"{path}: not a file of measurements. It is kept; choose another folder.") from None

    @staticmethod
    def key(**description: Any) -> str:
        """A name for what is measured: changes whenever a parameter, a picture or a setting does."""
        return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:20]

    def get(self, key: str, angle: int) -> list[float] | None:
        """The errors of all images at an angle, if they are known."""
        return self.rows.get(key, {}).get(str(angle))

    def put(self, key: str, angle: int, errors: list[float]) -> None:
        """Keep errors, at once on disk."""
        self.rows.setdefault(key, {})[str(angle)] = errors
        if self.path is not None:
            text = json.dumps({"format": FORMAT, "rows": self.rows}, separators=(",", ":"))
            write_bytes(self.path, (text + "\n").encode())
