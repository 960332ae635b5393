"""How cost grows: over pixels, steps, scales, channels and threads; memory over steps in training.

Each case varies one thing and keeps the rest. Sizes of one case are interleaved like methods elsewhere, so the exponent
of the growth does not depend on when which size was run.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.machine import cores
from benchmarks.peers import Method, catalogue, method
from benchmarks.peers.whorl import variant
from benchmarks.pictures import mosaic
from benchmarks.suite import Case, Rows, Suite
from benchmarks.threads import use_threads
from benchmarks.timing import interleave

__all__ = ["SUITE", "growth_exponent"]

_CONTRAST = 30.0


def growth_exponent(x: list[float], seconds: list[float]) -> float:
    """Slope of log time over log x by least squares: 1 is linear."""
    return float(np.polyfit(np.log(x), np.log(seconds), 1)[0])


def cases() -> dict[str, Case]:
    grey = [m for m in catalogue() if m.name in ("whorl-perona-malik", "numpy-loop", "itk-gradient", "opencv")]
    return {
        "pixels": lambda: [r for m in grey for r in _over_pixels(m)],
        "steps": lambda: _over_steps(method("whorl-perona-malik")),
        "scales": _over_scales,
        "channels": lambda: _over_channels(method("whorl-gerig")),
        "threads": _over_threads,
        "training memory": _training_memory,
    }


def _over_pixels(m: Method) -> Rows:
    sizes = (256, 512, 1024, 2048, 4096) if m.library == "whorl" else (256, 512, 1024, 2048)
    run = m.load()
    use_threads(1)
    calls = {s: (lambda s=s: run(mosaic(s), _CONTRAST, 4, m.tau)) for s in sizes}
    return _rows(m.name, "pixels", {s: s * s for s in sizes}, calls)


def _over_steps(m: Method) -> Rows:
    run, counts = m.load(), (4, 8, 16, 32, 64, 128)
    use_threads(1)
    calls = {n: (lambda n=n: run(mosaic(512), _CONTRAST, n, m.tau)) for n in counts}
    return _rows(m.name, "steps", {n: n for n in counts}, calls)


def _over_scales() -> Rows:
    counts = (1, 2, 4, 8)
    rows = []
    for model in ("multiscale-isotropic", "multiscale-anisotropic"):
        calls = {}
        use_threads(1)
        for count in counts:
            run = variant(model, scales=count).load()
            calls[count] = lambda run=run: run(mosaic(256), _CONTRAST, 2, 0.05)
        rows += _rows(f"whorl-{model}", "scales", {n: n for n in counts}, calls)
    return rows


def _over_channels(m: Method) -> Rows:
    run, counts = m.load(), (1, 3, 6, 12)
    use_threads(1)
    calls = {c: (lambda c=c: run(_stack(c), _CONTRAST, 4, m.tau)) for c in counts}
    return _rows(m.name, "channels", {c: c for c in counts}, calls)


def _stack(channels: int) -> Any:
    return mosaic(512, max(channels, 3))[..., :channels]


def _over_threads() -> Rows:
    rows = []
    for name, channels in (("whorl-perona-malik", 1), ("whorl-gerig", 3), ("whorl-eed", 1)):
        m = method(name)
        run = m.load()

        def with_threads(count: int, run: Any = run, channels: int = channels, m: Method = m) -> None:
            use_threads(count)
            run(mosaic(1024, channels), _CONTRAST, 8, m.tau)

        counts = sorted({1, *(c for c in (2, 4, 8, 16) if c <= cores()), cores()})
        calls = {c: (lambda c=c, f=with_threads: f(c)) for c in counts}
        rows += _rows(name, "threads", {c: c for c in counts}, calls)
    use_threads(1)
    return rows


def _training_memory() -> Rows:
    """Bytes that a backward pass through n steps keeps alive, in fields of the image's size, counted from autograd."""
    import torch

    import whorl

    model = whorl.models.build("multiscale-isotropic", contrast=_CONTRAST, scales=4, trainable=True)
    rows = []
    for steps in (1, 2, 4, 8):
        u = torch.from_numpy(np.array(mosaic(128)))[None, None]
        kept: dict[int, int] = {}

        def pack(saved: torch.Tensor, kept: dict[int, int] = kept) -> torch.Tensor:
            kept[saved.untyped_storage().data_ptr()] = saved.untyped_storage().nbytes()
            return saved

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
            result = u
            for _ in range(steps):
                result = model.step(result, tau=0.2)
        fields = sum(kept.values()) / u.nbytes
        rows.append({"method": "whorl-multiscale-isotropic", "axis": "steps", "x": steps, "fields": fields})
    return rows


def _rows(name: str, axis: str, x: dict[Any, float], calls: dict[Any, Callable[[], object]]) -> Rows:
    timings = interleave({str(k): c for k, c in calls.items()}, repeats=7, budget_s=5)
    exponent = growth_exponent([float(v) for v in x.values()], [timings[str(k)].best for k in x])
    return [
        {"method": name, "axis": axis, "x": value, **timings[str(key)].as_row(), "exponent": exponent}
        for key, value in x.items()
    ]


SUITE = Suite("scaling", "Growth of cost", cases)
