"""A volume larger than the memory it may take: filtered in windows, killed half-way, gone on with.

``python -m experiments.large_volume FOLDER`` makes a 2048 x 2048 x 512 zarr array of 16 bits (4.3 GB) in ``FOLDER``,
filters it with ``whorl filter --memory 2GB``, ends that run by ``kill -9`` when 40 % of the windows are done, gives the
same command again, and compares the result bit for bit with :func:`whorl.diffuse` on blocks across the borders of
windows and at corners. The peak memory (VmHWM) of both runs is read from the system. About 22 GB of disk are used; what
was made is removed in the end.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import zarr
from benchmarks.machine import origin

import whorl
from whorl.data.tomogram import tomogram

RESULTS = Path(__file__).parent / "results" / "large_volume.json"
WHORL = "import sys; from whorl.cli.main import run; run(sys.argv[1:])"
SETTINGS = {"model": "perona-malik", "contrast": 300.0, "time": 1.6}
CHUNK = 64
KILLED_AT = 0.4
BLOCK, MARGIN = 96, 16
"""Side of the blocks compared, and how much of their rim is left out: more than the halo of all steps."""


def make(path: Path, shape: tuple[int, ...]) -> None:
    """A drawn tomogram of 64 voxels a side, repeated and shifted from block to block, in 16 bits."""
    block = np.tile((100 * tomogram(64).noisy[0, 0].clamp(0, 600).numpy()).astype(np.uint16), (4, 4, 4))
    array = zarr.create_array(
        str(path), shape=shape, chunks=(CHUNK,) * 3, dtype=np.uint16, dimension_names=("z", "y", "x")
    )
    for z in range(0, shape[0], 256):
        for y in range(0, shape[1], 256):
            for x in range(0, shape[2], 256):
                part = tuple(min(256, size - start) for size, start in zip(shape, (z, y, x), strict=True))
                moved = np.roll(block, (z + 7, y + 31 * x, x + 17), (0, 1, 2))
                array[z : z + part[0], y : y + part[1], x : x + part[2]] = moved[: part[0], : part[1], : part[2]]


def peak(process: int) -> int:
    """The most memory a process has held so far, in bytes; 0 when it is gone."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0
    return 1024 * int(found[1]) if found else 0


def run(words: list[str], log: Path, stop_at: int | None = None) -> dict[str, Any]:
    """Run the command; end it by SIGKILL when so many windows are done."""
    start, highest = time.perf_counter(), 0
    with subprocess.Popen([sys.executable, "-c", WHORL, *words], stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            highest = max(highest, peak(process.pid))
            done = log.read_text().count("\n") if log.exists() else 0
            if stop_at is not None and done >= stop_at:
                process.kill()
                break
            time.sleep(0.2)
        out = process.communicate()[0]
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "peak_bytes": highest,
        "code": process.returncode,
        "out": out,
    }


def compare(source: Path, target: Path, shape: tuple[int, ...], sides: list[int]) -> int:
    """How many voxels differ from the library's result, over blocks about borders of windows and at corners."""
    before, after = (zarr.open(str(path), mode="r") for path in (source, target))
    settings = {name: value for name, value in SETTINGS.items() if name != "model"}
    middle = [min(side, size - 1) for side, size in zip(sides, shape, strict=True)]
    last = list(shape)
    places = [[0, 0, 0], [*middle], [middle[0], 0, middle[2]], [last[0], middle[1], last[2]], last]
    different = 0
    for place in places:
        low = [max(min(at - BLOCK // 2, size - BLOCK), 0) for at, size in zip(place, shape, strict=True)]
        box = tuple(slice(start, min(start + BLOCK, size)) for start, size in zip(low, shape, strict=True))
        inner = tuple(
            slice(MARGIN if part.start else 0, part.stop - part.start - (MARGIN if part.stop < size else 0))
            for part, size in zip(box, shape, strict=True)
        )
        expected = whorl.diffuse(before[box], str(SETTINGS["model"]), **settings)
        different += int((expected[inner] != after[box][inner]).sum())
    return different


def main() -> None:
    """Make the volume, filter it twice, compare, write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shape", default="512,2048,2048", help="slices, rows and columns")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--out", type=Path, default=RESULTS)
    words = parser.parse_args()
    shape = tuple(int(size) for size in words.shape.split(","))
    folder: Path = words.folder / "large_volume"
    folder.mkdir(parents=True)
    source, target = folder / "in.zarr", folder / "out.zarr"
    log = folder / ".out.zarr.whorl" / "0" / "done"
    try:
        make(source, shape)
        command = ["filter", "--json", "--memory", words.memory]
        command += [word for name, value in SETTINGS.items() for word in (f"--{name}", str(value))]
        command += [str(source), str(target)]
        plan = subprocess.run([sys.executable, "-c", WHORL, *command, "-n"], capture_output=True, text=True, check=True)
        page = json.loads(plan.stdout)["files"][0]["pages"][0]
        windows = page["windows"] * page["passes"]
        print(f"{windows} windows, {page['passes']} passes, halo {page['halo']}", flush=True)
        first = run(command, log, stop_at=max(1, round(KILLED_AT * windows)))
        kept = log.read_text().count("\n")
        absent = not target.exists()
        print(
            "killed:", {key: first[key] for key in ("seconds", "peak_bytes", "code")}, "windows done", kept, flush=True
        )
        second = run(command, log)
        record = json.loads(second["out"])["files"][0]
        print("gone on:", {key: second[key] for key in ("seconds", "peak_bytes", "code")}, flush=True)
        different = compare(source, target, shape, page["sides"])
        left = sorted(path.name for path in folder.iterdir())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report = {
        **origin(),
        "machine": {"system": platform.platform(), "cores": os.cpu_count(), "torch": torch.__version__},
        "threads": torch.get_num_threads(),
        "load_before": round(os.getloadavg()[2], 1),
        "shape": shape,
        "bytes": int(np.prod(shape)) * 2,
        "memory": words.memory,
        **SETTINGS,
        **{name: page[name] for name in ("steps", "windows", "sides", "passes", "halo")},
        "killed_after_windows": kept,
        "no_output_after_kill": absent,
        "resumed": record["resumed"],
        "peak_bytes": [first["peak_bytes"], second["peak_bytes"]],
        "seconds": [first["seconds"], second["seconds"]],
        "voxels_that_differ": different,
        "left_behind": [name for name in left if name not in ("in.zarr", "out.zarr")],
    }
    words.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
