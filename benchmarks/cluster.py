"""How ``whorl filter --cluster`` scales: the same array on one worker and on two, each a process of one thread.

``python -m benchmarks.cluster [--side 6000]`` prints seconds and their ratio. Both runs write the same bits, which is
checked. Times mean something on a machine with two free cores only.
"""

import argparse
import json
import os
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np


def choose(contrast: float, duration: float, found: object) -> list:
    from whorl import large, models

    return [(large.stages(models.build("eed", contrast=contrast), duration), {})]


def seconds(workers: int, source: Path, target: Path, repeats: int) -> float:
    """The least time of some runs, after one that compiles."""
    from distributed import LocalCluster

    from whorl.large.cluster import filter_store
    from whorl.large.plan import How

    how = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    taken = []
    with LocalCluster(**how) as cluster:
        for _ in range(repeats + 1):
            start = time.perf_counter()
            filter_store(
                source, target, partial(choose, 900.0, 4.0), How(tile=1024, force=True, advance=lambda share: None),
                cluster=cluster.scheduler_address,
            )  # fmt: skip
            taken.append(time.perf_counter() - start)
    return min(taken[1:])


def main() -> None:
    import zarr

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=6000)
    parser.add_argument("--repeats", type=int, default=3)
    told = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}  # of the workers, too
    with tempfile.TemporaryDirectory() as folder:
        source, targets = Path(folder) / "in.zarr", [Path(folder) / f"out-{n}.zarr" for n in (1, 2)]
        rows = np.random.default_rng(0).normal(20000, 900, (told.side, told.side)).astype(np.uint16)
        zarr.create_array(str(source), data=rows, chunks=(512, 512), dimension_names=("y", "x"))
        taken = [seconds(n, source, target, told.repeats) for n, target in enumerate(targets, start=1)]
        first, second = (zarr.open_array(str(target), mode="r")[...] for target in targets)
        assert np.array_equal(first, second)
    print(json.dumps({"side": told.side, "one": taken[0], "two": taken[1], "ratio": taken[0] / taken[1]}, indent=2))


if __name__ == "__main__":
    main()
