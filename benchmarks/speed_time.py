"""The same stopping time: explicit steps against FED and FSI, and everyone else at their largest step.

Photographs are diffused to t = 50 and t = 500, as one does for scale spaces and segmentation. Errors are relative root
mean squares against explicit steps sixteen times smaller than the automatic one; a fast scheme counts as long as it is
at most twice as far from that as explicit steps of the automatic size.
"""

from collections.abc import Callable
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from benchmarks.peers import Image, catalogue
from benchmarks.pictures import clean
from benchmarks.suite import Case, Rows, Suite
from benchmarks.threads import use_threads
from benchmarks.timing import interleave

__all__ = ["SUITE", "relative_error"]

# ITK's other doors cost the same, and two minutes of everyone's time
_LEFT_OUT = ("itk-gradient-fixed", "itk-curvature", "simpleitk-gradient", "simpleitk-curvature", "diplib-gaussian")

TIMES = (50.0, 500.0)
_SIZE = 512
_CONTRASTS = {"perona-malik": 10.0, "gerig": 10.0, "weickert-brox": 5.0, "eed": 5.0}


def relative_error(result: Image, reference: Image, start: Image) -> float:
    """Distance to the reference over the distance the reference travelled."""
    return float(np.linalg.norm(result - reference) / np.linalg.norm(reference - start))


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {
        f"{model}, t = {time:g}": partial(_schemes, model, time) for time in TIMES for model in _CONTRASTS
    }
    return {**found, "peers, t = 50": partial(_peers, TIMES[0])}


def _schemes(model: str, time: float) -> Rows:
    import whorl

    colour = model in ("gerig", "weickert-brox")
    image = clean("astronaut") if colour else clean("camera")[:_SIZE, :_SIZE]
    built = whorl.models.build(model, contrast=_CONTRASTS[model])
    step = built.automatic_step()
    settings: dict[str, Any] = {"contrast": _CONTRASTS[model], "time": time, "channel_axis": -1 if colour else None}

    def diffuse(**more: Any) -> Image:
        return np.asarray(whorl.diffuse(image, model, **settings, **more))

    calls: dict[str, Callable[[], Image]] = {
        scheme: lambda s=scheme: diffuse(scheme=s) for scheme in ("explicit", "fed", "fsi")
    }
    use_threads(2)
    reference = diffuse(tau=step / 16)
    timings = interleave(calls, repeats=9, budget_s=6)
    use_threads(1)
    return [
        {
            "method": f"whorl-{model} {scheme}",
            "library": "whorl",
            "threads": 2,
            "size": _SIZE,
            "time": time,
            "error": relative_error(calls[scheme](), reference, image),
            **timing.as_row(),
        }
        for scheme, timing in timings.items()
    ]


def _peers(time: float) -> Rows:
    image = clean("camera")[:_SIZE, :_SIZE]
    loaded = [
        (m, m.load())
        for m in catalogue()
        if m.timed and m.tau and m.takes(2) and m.library != "whorl" and m.name not in _LEFT_OUT
    ]
    use_threads(2)
    counts = {m.name: ceil(time / m.tau) for m, _ in loaded}
    calls = {m.name: partial(run, image, 2.0, counts[m.name], time / counts[m.name]) for m, run in loaded}
    timings = interleave(calls, repeats=4, budget_s=7)
    use_threads(1)
    return [
        {
            "method": m.name,
            "library": m.library,
            "threads": 2,
            "size": _SIZE,
            "time": time,
            "steps": counts[m.name],
            **timings[m.name].as_row(),
        }
        for m, _ in loaded
    ]


SUITE = Suite("speed_time", "The same stopping time, 512², 2 threads", cases)
