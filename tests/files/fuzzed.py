"""Filter the files named on standard input, one after the other, and tell of each what it took: one JSON line each."""

import contextlib
import io
import json
import re
import shutil
import signal
import sys
import time
from pathlib import Path

WRITTEN = (".png", ".jpg", ".tif", ".ome.zarr", ".zarr", ".mrc", ".nii", ".nii.gz", ".nrrd")


def main(out: Path) -> None:
    import torch

    from whorl.cli.main import run

    torch.set_num_threads(1)
    words = ["filter", "--model", "perona-malik", "--contrast", "20", "--time", "0.2", "--json"]
    for line in sys.stdin:
        path = Path(line.rstrip("\n"))
        target = out / f"out{next((end for end in WRITTEN if path.name.endswith(end)), '.png')}"
        said = io.StringIO()
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        start, code = time.process_time(), -1
        signal.alarm(60)
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                run([*words, str(path), str(target)])
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        signal.alarm(0)
        seconds = time.process_time() - start
        peak = 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
        left = sorted(entry.name for entry in out.iterdir())
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
        row = {"file": path.name, "code": code, "seconds": seconds, "peak": peak, "left": left, "said": said.getvalue()}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
