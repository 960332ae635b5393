"""A picture larger than the memory it may take: filtered in windows, killed on the way, gone on with, the same bytes.

``python -m experiments.large_picture FOLDER`` draws a grey TIFF of 30,000 x 30,000 pixels with noise (0.9 GB) in
``FOLDER`` and filters it with ``whorl filter --memory 2GB``, nothing told. Then it does so once more, ends that run by
``kill -9`` when 40 % of the windows are done, gives the same command again, and compares the two files byte for byte.
The peak memory (VmHWM) of all runs is read from the system. About 7 GB of disk are used; what was made is removed.
"""

import argparse
import filecmp
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tifffile
from benchmarks.machine import origin
from experiments.large_volume import KILLED_AT, WHORL, run
from numpy.typing import NDArray

RESULTS = Path(__file__).parent / "results" / "large_picture.json"
TILE = 256


def tiles(side: int) -> Iterator[NDArray[np.uint8]]:
    """The tiles of a drawing of waves and blocks with noise of standard deviation 15, row by row."""
    draw = np.random.default_rng(0)
    for top in range(0, side, TILE):
        y, x = np.ogrid[top : top + TILE, : -(-side // TILE) * TILE]
        u = 128 + 60 * np.sin(x / 97 + 3 * np.sin(y / 301)) * np.sin(y / 83 + x / 900)
        u = np.where((x // 700 + y // 500) % 3 == 0, u / 2 + 60, u) + draw.normal(0, 15, u.shape)
        whole = np.clip(np.rint(u), 0, 255).astype(np.uint8)
        yield from (np.ascontiguousarray(whole[:, left : left + TILE]) for left in range(0, side, TILE))


def main() -> None:
    """Draw the picture, filter it three times, compare, write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--side", type=int, default=30_000)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    folder: Path = given.folder / "large_picture"
    folder.mkdir(parents=True)
    source, whole, target = (folder / f"{name}.tif" for name in ("in", "whole", "out"))
    log = folder / ".out.tif.whorl" / "0" / "done"
    try:
        how = {"shape": (given.side, given.side), "dtype": np.uint8, "tile": (TILE, TILE), "photometric": "minisblack"}
        tifffile.imwrite(source, tiles(given.side), **how)
        command = ["filter", "--json", "--memory", given.memory, str(source)]
        plan = [sys.executable, "-c", WHORL, *command, str(whole), "-n"]
        planned = json.loads(subprocess.run(plan, capture_output=True, text=True, check=True).stdout)
        page = planned["files"][0]["pages"][0]
        windows = page["windows"] * page["passes"]
        if windows < 5:
            raise SystemExit(
                f"{windows} windows are too few to end a run among them: take a larger --side, less --memory."
            )
        runs = [run([*command, str(whole)], log), run([*command, str(target)], log, max(1, round(KILLED_AT * windows)))]
        kept, absent = log.read_text().count("\n"), not target.exists()
        runs.append(run([*command, str(target)], log))
        report = {
            **origin(),
            "command": "python -m experiments.large_picture FOLDER",
            "side": given.side,
            "memory": given.memory,
            **{name: page[name] for name in ("model", "noise", "contrast", "time", "steps", "windows", "passes")},
            "killed_after_windows": kept,
            "no_output_after_kill": absent,
            "resumed": json.loads(runs[2]["out"])["files"][0]["resumed"],
            "peak_bytes": [each["peak_bytes"] for each in runs],
            "seconds": [each["seconds"] for each in runs],
            "same_bytes": filecmp.cmp(whole, target, shallow=False),
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    given.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
