"""How fast cycles of FSI may grow: steps saved against accuracy lost, to four stopping times.

The growth from cycle to cycle is the one number of the schedule. Each row gives how many times fewer steps it takes
than explicit steps of the automatic size, and how many times further it ends from explicit steps sixteen times smaller.
Counts and errors only: nothing here depends on the machine's speed.
"""

from functools import partial

import torch
from torch import Tensor

from benchmarks.pictures import clean, noisy
from benchmarks.suite import Case, Rows, Suite

__all__ = ["SUITE", "compare"]

TIMES = (50.0, 200.0, 500.0, 2000.0)
GROWTHS = (1.05, 1.1, 1.17, 1.25, 1.4)
_CONTRASTS = {"perona-malik": 10.0, "gerig": 10.0, "weickert-brox": 5.0, "eed": 5.0}
_CROP = slice(128, 384)


def cases() -> dict[str, Case]:
    return {f"{model}, photograph": partial(_front, model, 0.0) for model in _CONTRASTS}


def noisy_cases() -> dict[str, Case]:
    return {f"{model}, noise 30": partial(_front, model, 30.0) for model in _CONTRASTS}


def _front(model: str, noise: float) -> Rows:
    picture = noisy if noise else clean
    colour = model in ("gerig", "weickert-brox")
    crop = picture("astronaut" if colour else "camera")[_CROP, _CROP].copy()
    u = torch.from_numpy(crop)
    # Presmoothing lets EED tell noise from edges at the contrast of the clean picture.
    contrast = _CONTRASTS[model] if model == "eed" else max(_CONTRASTS[model], noise)
    return compare(model, contrast, u.movedim(-1, 0)[None] if colour else u[None, None], TIMES, GROWTHS)


def compare(
    model: str, contrast: float, u: Tensor, times: tuple[float, ...], growths: tuple[float, ...], finer: int = 16
) -> Rows:
    """One row for each stopping time and growth; the reference passes through all times in turn."""
    from whorl import engines, models
    from whorl.schemes import fsi_steps, growing_cycles
    from whorl.steps import Numbers

    built = models.build(model, contrast=contrast)
    tau, limit = built.automatic_step(), built.step_limit()
    rows: Rows = []
    reached, fine = 0.0, u
    with torch.no_grad():
        for time in times:
            fine = built(fine, time - reached, tau=tau / finer)
            reached = time
            change = (fine - u).norm()
            explicit = float((built(u, time) - fine).norm() / change)
            for growth in growths:
                cycles = growing_cycles(time, limit, growth)
                taus, mixes = fsi_steps(cycles.lengths, cycles.tau)
                result = engines.advance(built.description, u, [Numbers(size) for size in taus], mixes=mixes)
                error = float((result - fine).norm() / change)
                rows.append(
                    {
                        "method": f"fsi, growth {growth:g}",
                        "time": time,
                        "fewer_steps": round(time / tau) / len(taus),
                        "to_explicit": error / explicit,
                        "error": error,
                    }
                )
    return rows


SUITE = Suite("schedules", "Schedules of FSI, 256²", cases, noisy_cases, standard=False)
