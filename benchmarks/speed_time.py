"""The same stopping time: explicit steps against FED and FSI, and everyone else at their largest step.

The picture is diffused to t = 50. Errors are relative root mean squares against explicit steps sixteen times smaller
than the automatic one; fast schemes may be at most twice as far from it as explicit steps of the automatic size.
"""

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np

from benchmarks.peers import Image, catalogue
from benchmarks.pictures import mosaic
from benchmarks.suite import Case, Rows, Suite
from benchmarks.threads import use_threads
from benchmarks.timing import interleave

__all__ = ["SUITE", "relative_error"]

TIME = 50.0
_SIZE = 512
_CONTRASTS = {"perona-malik": 20.0, "gerig": 20.0, "weickert-brox": 20.0, "eed": 10.0}


def relative_error(result: Image, reference: Image, start: Image) -> float:
    """Distance to the reference over the distance the reference travelled."""
    return float(np.linalg.norm(result - reference) / np.linalg.norm(reference - start))


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {f"{model}, t = 50": lambda m=model: _schemes(m) for model in _CONTRASTS}
    return {**found, "peers, t = 50": _peers}


def _schemes(model: str) -> Rows:
    import whorl

    colour = model in ("gerig", "weickert-brox")
    image = mosaic(_SIZE, 3 if colour else 1)
    built = whorl.models.build(model, contrast=_CONTRASTS[model])
    step = built.automatic_step()
    settings: dict[str, Any] = {"contrast": _CONTRASTS[model], "time": TIME, "channel_axis": -1 if colour else None}

    def diffuse(**more: Any) -> Image:
        return np.asarray(whorl.diffuse(image, model, **settings, **more))

    calls: dict[str, Callable[[], Image]] = {
        scheme: lambda s=scheme: diffuse(scheme=s) for scheme in ("explicit", "fed", "fsi")
    }
    reference = diffuse(tau=step / 16)
    use_threads(2)
    timings = interleave(calls, repeats=5, budget_s=15)
    use_threads(1)
    return [
        {
            "method": f"whorl-{model} {scheme}",
            "library": "whorl",
            "threads": 2,
            "size": _SIZE,
            "time": TIME,
            "error": relative_error(calls[scheme](), reference, image),
            **timing.as_row(),
        }
        for scheme, timing in timings.items()
    ]


def _peers() -> Rows:
    image = mosaic(_SIZE)
    loaded = [
        (m, m.load())
        for m in catalogue()
        if m.timed and m.tau and m.takes(2) and m.library != "whorl" and m.name != "itk-gradient-fixed"
    ]
    use_threads(2)
    counts = {m.name: ceil(TIME / m.tau) for m, _ in loaded}
    calls = {m.name: (lambda m=m, run=run: run(image, 2.0, counts[m.name], TIME / counts[m.name])) for m, run in loaded}
    timings = interleave(calls, repeats=2, budget_s=60)
    use_threads(1)
    return [
        {
            "method": m.name,
            "library": m.library,
            "threads": 2,
            "size": _SIZE,
            "time": TIME,
            "steps": counts[m.name],
            **timings[m.name].as_row(),
        }
        for m, _ in loaded
    ]


SUITE = Suite("speed_time", "The same stopping time t = 50, 512², 2 threads", cases)
