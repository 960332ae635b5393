"""Peak memory of a filter, in pictures: how much more than the picture itself a call holds at its worst moment.

Measured in a fresh process, from the kernel's own high-water mark of resident memory (reset just before the call where
the kernel allows it, so that imports do not count): ``python -m benchmarks.memory METHOD SIZE CHANNELS``. Two of them
run at a time: nothing is clocked here.
"""

import ctypes
import gc
import json
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import cores
from benchmarks.suite import Case, Rows, Suite

__all__ = ["SUITE", "high_water", "peak", "reset_high_water"]

# By channels: the code or equation of another method, for which one figure is enough.
_TWINS = {
    1: ("itk-gradient-fixed", "itk-curvature", "simpleitk-curvature", "whorl-gerig", "whorl-lysaker"),
    3: ("whorl-perona-malik", "whorl-uncoupled", "whorl-you-kaveh", "whorl-lysaker", "whorl-weickert-integration",
        "whorl-multiscale-isotropic"),
}  # fmt: skip


def peak(method_name: str, size: int, channels: int) -> dict[str, Any]:
    """Measure in a fresh process; ``pictures`` counts float32 pictures of the input's size, input excluded."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.memory", method_name, str(size), str(channels)]
    root = Path(__file__).parents[1]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def cases() -> dict[str, Case]:
    return {"2048² grey": lambda: _everyone(2048, 1), "1024² colour": lambda: _everyone(1024, 3)}


def _everyone(size: int, channels: int) -> Rows:
    from benchmarks.peers import catalogue

    fitting = [m for m in catalogue() if m.timed and m.takes(2 if channels == 1 else 3)]
    fitting = [m for m in fitting if m.name not in _TWINS[channels]]
    facts = {"size": size, "channels": channels, "steps": 2}
    with ThreadPoolExecutor(min(2, cores())) as pool:
        peaks = pool.map(lambda m: peak(m.name, size, channels), fitting)
        return [{"method": m.name, "library": m.library, **facts, **p} for m, p in zip(fitting, peaks, strict=True)]


def _measure(method_name: str, size: int, channels: int) -> dict[str, Any]:
    from benchmarks.peers import method
    from benchmarks.pictures import mosaic

    found = method(method_name)
    run = found.load()
    contrast = float(np.sqrt(found.contrast_range[0] * found.contrast_range[1]))
    run(np.array(mosaic(64, channels)), contrast, 2, found.tau)  # imports and compiles what a first call needs
    image = np.array(mosaic(size, channels))
    mosaic.cache_clear()
    before = reset_high_water()
    run(image, contrast, 2, found.tau)
    grown = high_water() - before
    return {"peak_mib": high_water() / 2**20, "grown_mib": grown / 2**20, "pictures": grown / image.nbytes}


def reset_high_water() -> int:
    """Bytes resident now; the high-water mark starts here again."""
    gc.collect()
    with suppress(OSError, AttributeError):  # give freed memory back first, or the call would hide in it
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:  # not Linux, or not allowed: the mark of the whole process so far
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def high_water() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}.")


SUITE = Suite("memory", "Peak memory of a call", cases)

if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
