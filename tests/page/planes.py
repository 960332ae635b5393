"""Planes of a picture as text, the way they travel to the browser and back."""

import base64

import numpy as np


def encode(plane: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(plane, dtype=np.float32).tobytes()).decode()


def decode(planes: list[str], height: int, width: int) -> np.ndarray:
    flat = [np.frombuffer(base64.b64decode(plane), dtype=np.float32) for plane in planes]
    return np.stack(flat).reshape(len(planes), height, width)
