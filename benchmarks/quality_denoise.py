"""Best PSNR beside speed: two photographs with Gaussian noise of standard deviation 30, every method at its optimum."""

from collections.abc import Callable
from functools import partial

from benchmarks.peers import Image
from benchmarks.pictures import clean, noisy, psnr
from benchmarks.search import Score
from benchmarks.suite import Case, Rows, Suite
from benchmarks.threads import use_threads
from benchmarks.timing import interleave
from benchmarks.tune import contestants, slow, tuned

__all__ = ["SUITE", "pictures"]

_LONG_S = 3.0  # a call that takes longer is clocked once


def pictures() -> dict[str, tuple[Image, Score, bool]]:
    return {
        name: (noisy(name), partial(_score, reference=clean(name)), colour)
        for name, colour in (("camera", False), ("astronaut", True))
    }


def _score(estimate: Image, reference: Image) -> float:
    return psnr(estimate, reference)


def cases() -> dict[str, Case]:
    return {f"{name}, noise 30": partial(_case, name, False) for name in pictures()}


def slow_cases() -> dict[str, Case]:
    return {f"{name}, noise 30, slow models": partial(_case, name, True) for name in pictures()}


def _case(name: str, only_slow: bool) -> Rows:
    image, score, colour = pictures()[name]
    rows: Rows = [{"method": "noisy picture", "library": "", "psnr": score(image)}]
    for method in (m for m in contestants(colour) if slow(m) == only_slow):
        best = tuned(name, method, image, score)
        run = method.load()
        use_threads(2)
        call = partial(run, image, best.contrast, best.steps, best.tau)
        results: list[Image] = []
        keep = partial(_keep, call, results)
        run(image, best.contrast, min(best.steps, 4), best.tau)  # warm-up: a few steps compile what there is to compile
        timing = interleave({"": keep}, repeats=1, warm=True)[""]
        if timing.best < _LONG_S:
            timing = interleave({"": keep}, repeats=3, budget_s=3, warm=True)[""]
        use_threads(1)
        value = score(results[-1])
        facts = {"method": method.name, "library": method.library, "version": method.version(), "threads": 2}
        rows.append({**facts, **best.as_row(), "psnr": value, **timing.as_row()})
    return rows


def _keep(call: Callable[[], Image], results: list[Image]) -> None:
    results[:] = [call()]


SUITE = Suite("quality_denoise", "Best PSNR over contrast and stopping time, noise 30, in dB", cases, slow_cases)
