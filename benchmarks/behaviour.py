"""What a filter does, measured: constants, mean, range, quarter turns, pixel spacing, coupling of colours.

Each number is a deviation from what diffusion with reflecting borders does, so 0 is right (but for the last: 0 means
that the channels are filtered one by one). Everything is run on small
pictures for twelve steps; nothing is taken from documentation or memory.
"""

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from benchmarks.peers import Image, Method, Run, catalogue
from benchmarks.spacing import SPACED, spacing_error
from benchmarks.suite import Case, Rows, Suite

__all__ = ["PROPERTIES", "SUITE", "probe"]

_STEPS = 12
_CONSTANTS = (0.0, 77.0, 255.0)


def constant_change(method: Method, run: Run) -> float:
    """Largest change of any pixel of constant pictures, borders included, in grey values."""
    changes = []
    for value in _CONSTANTS:
        picture = _picture(method, (24, 31), lambda shape, value=value: np.full(shape, value))
        for contrast in method.contrast_range:
            changes.append(np.max(np.abs(run(picture, contrast, _STEPS, method.tau) - picture)))
    return float(np.max(changes))  # a NaN among them stays one


def mean_drift(method: Method, run: Run) -> float:
    """Change of the mean grey value of a noisy picture, in grey values."""
    picture = _noise(method)
    out = run(picture, _middle(method), _STEPS, method.tau)
    return float(abs(out.mean(dtype=np.float64) - picture.mean(dtype=np.float64)))


def range_growth(method: Method, run: Run) -> float:
    """How far the result leaves the range of the picture, in grey values."""
    picture = _noise(method)
    out = run(picture, _middle(method), _STEPS, method.tau)
    return float(max(0.0, out.max() - picture.max(), picture.min() - out.min()))


def quarter_turn_gap(method: Method, run: Run) -> float:
    """Largest difference between filtering then turning by 90 degrees and turning then filtering, in grey values."""
    picture = _noise(method)
    straight = np.rot90(run(picture, _middle(method), _STEPS, method.tau))
    turned = run(np.ascontiguousarray(np.rot90(picture)), _middle(method), _STEPS, method.tau)
    return float(np.max(np.abs(straight - turned)))


def repetition_gap(method: Method, run: Run) -> float:
    """Largest difference between two calls on the same picture with another call between them, in grey values."""
    picture = _noise(method)
    first = run(picture, _middle(method), _STEPS, method.tau)
    run(np.float32(255) - picture, _middle(method), _STEPS, method.tau)
    return float(np.max(np.abs(run(picture, _middle(method), _STEPS, method.tau) - first)))


def offset_gap(method: Method, run: Run) -> float:
    """Largest distance of the result from what it is when 1000 is added first and taken away again, in grey values."""
    picture = np.round(_noise(method))
    contrast = method.contrast_range[1]
    plain = run(picture, contrast, _STEPS, method.tau)
    lifted = run(picture + np.float32(1000), contrast, _STEPS, method.tau) - np.float32(1000)
    return float(np.max(np.abs(plain - lifted)))


def coupling(method: Method, run: Run) -> float | None:
    """How much an edge in one colour holds back diffusion of the others, in grey values; None for grey methods."""
    if method.layout == "grey":
        return None
    red = np.random.default_rng(1).normal(128, 5, (24, 31))
    flat, edged = (np.stack([red, other, other], -1).astype(np.float32) for other in _sides(red.shape))
    contrast = method.contrast_range[0]
    gap = run(flat, contrast, _STEPS, method.tau)[..., 0] - run(edged, contrast, _STEPS, method.tau)[..., 0]
    return float(np.max(np.abs(gap)))


PROPERTIES: dict[str, Callable[[Method, Run], float | None]] = {
    "constant": constant_change,
    "mean": mean_drift,
    "range": range_growth,
    "quarter_turn": quarter_turn_gap,
    "repetition": repetition_gap,
    "offset": offset_gap,
    "coupling": coupling,
}


def probe(method: Method) -> dict[str, Any]:
    """One row: every property of one method, None (with a note) where the library fails."""
    run = method.load()
    row: dict[str, Any] = {"method": method.name, "library": method.library, "version": method.version()}
    notes = []
    for name, measure in PROPERTIES.items():
        try:
            value = measure(method, run)
        except Exception as error:  # a peer may raise anything: that it did is the finding
            value = None
            notes.append(f"{name}: {type(error).__name__}")
        if value is not None and not np.isfinite(value):
            value = None
            notes.append(f"{name}: NaN")
        row[name] = value
    facts = {"precision": method.precision, "boundary": method.boundary, "tau": method.tau, "settings": method.settings}
    return {**row, **facts, "note": "; ".join(notes)}


def cases() -> dict[str, Case]:
    return {
        "properties": lambda: [probe(m) for m in catalogue() if m.timed],
        "spacing": _spacing_rows,
    }


def _spacing_rows() -> Rows:
    rows = []
    for name, spaced in SPACED.items():
        if spaced.installed():
            rows.append({"method": name, "parameter": spaced.parameter, **spacing_error(spaced.load())})
    return rows


def _picture(method: Method, shape: tuple[int, int], make: Callable[[tuple[int, ...]], Any]) -> Image:
    full = (*shape, 3) if method.layout == "colour" else shape
    return np.ascontiguousarray(make(full), dtype=np.float32)


def _noise(method: Method) -> Image:
    return _picture(method, (24, 31), partial(np.random.default_rng(0).normal, 128, 20))


def _middle(method: Method) -> float:
    return sqrt(method.contrast_range[0] * method.contrast_range[1])


def _sides(shape: tuple[int, ...]) -> tuple[Any, Any]:
    flat = np.full(shape, 100.0)
    edged = flat.copy()
    edged[:, shape[1] // 2 :] = 220.0
    return flat, edged


SUITE = Suite("behaviour", "Deviations from diffusion with reflecting borders (0 is right)", cases)
