"""One clocked case: several methods on one image with one number of threads, a plain copy among them.

Every method runs as a user calls it, array in and array out, conversions included. The number of steps in a call grows
with the speed of the method (2 to 20), so that fixed costs do not hide a fast step nor a slow one eat the budget. whorl
keeps rows of several steps in the caches when it is asked for many; single steps, five in a row, are clocked beside
it. On a busy machine ``cpu_ms_per_mpix_step`` (processor time, summed over threads) is the steadier figure.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.peers import Image, Method
from benchmarks.pictures import mosaic
from benchmarks.threads import use_threads
from benchmarks.timing import interleave

__all__ = ["COPY", "ONE_STEP", "compare"]

COPY = "copy"
ONE_STEP = ", single step"
_CALL_S = 0.4  # aimed at for one call


def compare(
    methods: Sequence[Method], size: int, channels: int, threads: int, repeats: int = 15, budget_s: float = 10.0
) -> list[dict[str, Any]]:
    """Rows with ``ms_per_mpix_step`` for every method and for the copy."""
    image = mosaic(size, channels)
    calls: dict[str, Callable[[], object]] = {}
    facts: dict[str, dict[str, Any]] = {}
    loaded = [(m, m.load()) for m in methods]
    use_threads(threads)  # after the imports: only a library that is here can be told
    for m, run in loaded:
        contrast = float(np.sqrt(m.contrast_range[0] * m.contrast_range[1]))
        steps = _steps(lambda n, run=run, c=contrast, m=m: run(image, c, n, m.tau), compiles=m.library == "whorl")
        calls[m.name] = lambda run=run, c=contrast, n=steps, m=m: run(image, c, n, m.tau)
        facts[m.name] = {"library": m.library, "version": m.version(), "model": m.model, "steps": steps, "tau": m.tau}
        if m.library == "whorl":
            name = m.name + ONE_STEP
            calls[name] = _single_step(m, image, contrast)
            calls[name]()
            facts[name] = {**facts[m.name], "steps": _COPIES}
    calls[COPY] = _copy(image, threads)
    facts[COPY] = {"library": "torch", "version": "", "model": "", "steps": _COPIES, "tau": 0.0}
    calls[COPY]()
    timings = interleave(calls, repeats, budget_s, warm=True)
    use_threads(1)
    rows = []
    for name, timing in timings.items():
        per_step = timing.best / facts[name]["steps"]
        rows.append(
            {
                "method": name,
                **facts[name],
                "size": size,
                "channels": channels,
                "threads": threads,
                **timing.as_row(),
                "ms_per_mpix_step": 1e3 * per_step / (size * size / 1e6),
                "cpu_ms_per_mpix_step": 1e3 * timing.cpu / facts[name]["steps"] / (size * size / 1e6),
                "gb_per_s": 2 * image.nbytes / per_step / 1e9,
            }
        )
    return rows


_COPIES = 5


def _single_step(m: Method, image: Image, contrast: float) -> Callable[[], object]:
    """``model.step`` from one tensor to another and back, as often as the copy: nothing converted or allocated."""
    import torch

    import whorl

    model = whorl.models.build(m.model, contrast=contrast)
    u = torch.from_numpy(np.array(image))
    u = u[None, None] if u.ndim == 2 else u.permute(2, 0, 1)[None].contiguous()

    out = torch.empty_like(u)

    def step() -> None:
        source, target = u, out
        with torch.no_grad():
            for _ in range(_COPIES):
                source, target = model.step(source, m.tau, out=target), source

    return step


def _copy(image: Image, threads: int) -> Callable[[], object]:
    """A plain copy of the image: the floor of any step that reads and writes it once."""
    import torch

    torch.set_num_threads(threads)
    source = torch.from_numpy(np.array(image))
    target = torch.empty_like(source)

    def copies() -> None:
        for _ in range(_COPIES):
            target.copy_(source)

    return copies


def _steps(run: Callable[[int], object], compiles: bool) -> int:
    """Also the warm-up: the first call may compile and fills caches; a slow one that does not is not asked twice."""
    before = perf_counter()
    run(2)
    each = (perf_counter() - before) / 2
    if compiles or 2 * each < _CALL_S:
        before = perf_counter()
        run(2)
        each = (perf_counter() - before) / 2
    return max(2, min(20, int(_CALL_S / each)))
