"""What was measured on: processor, memory, versions, and how fast this machine copies an image.

Nothing here identifies a host: the machine's name in a result file is its processor and its number of cores.
"""

import os
import platform
import re
import subprocess
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["commit", "copy_bandwidth", "cores", "describe", "origin", "slug", "versions"]

_DISTRIBUTIONS = (
    "whorl",
    "torch",
    "numpy",
    "numba",
    "triton",
    "scipy",
    "itk",
    "SimpleITK",
    "diplib",
    "opencv-contrib-python-headless",
    "medpy",
    "scikit-image",
    "kornia",
    "onnxruntime",
)


def describe(device: str = "cpu") -> dict[str, Any]:
    found = {
        "processor": _processor(),
        "cores": cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "cache": _cache(),
        "system": platform.system(),
        "architecture": platform.machine(),
    }
    if device == "cuda":
        gpu = _gpu()
        found |= {"gpu": gpu.name, "multiprocessors": gpu.multi_processor_count}
        found["gpu_memory_gib"] = round(gpu.total_memory / 2**30, 1)
    return found


def versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    if "whorl" not in found:  # run from the tree, not installed
        import whorl

        found["whorl"] = whorl.__version__
    return found


def commit() -> str:
    """The commit of this tree, with a + where the package has changed since; nothing where git cannot say."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parents[1]), *words]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + "+" * bool(git("status", "--short", "src/whorl"))


def origin() -> dict[str, str]:
    """Today's date and the commit of this tree: what every result file says of itself."""
    return {"date": date.today().isoformat(), "commit": commit()}


def slug(device: str = "cpu") -> str:
    """Name of the machine, or of its GPU, in file names: ``amd-epyc-2core``."""
    name = _gpu().name if device == "cuda" else f"{_processor()} {cores()}core"
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def copy_bandwidth(size: int, threads: int, repeats: int = 15) -> dict[str, float]:
    """Best time of a plain copy of a ``size`` x ``size`` float32 image and its bandwidth, read plus write."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    source, target = torch.rand(size, size), torch.empty(size, size)
    try:
        from benchmarks.timing import best_time

        seconds = best_time(lambda: target.copy_(source), repeats)
    finally:
        torch.set_num_threads(before)
    return {"seconds": seconds, "gb_per_s": 2 * source.nbytes / seconds / 1e9}


def _gpu() -> Any:
    import torch

    return torch.cuda.get_device_properties(0)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = re.findall(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE)
        if names:
            return re.sub(r"\((R|TM)\)|CPU|Processor|@.*", "", names[0]).strip()
    return platform.processor() or platform.machine()


def _cache() -> dict[str, str]:
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / part).read_text().strip() for part in ("level", "type", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found
