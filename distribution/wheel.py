"""The wheel in empty environments, without extras and with each: ``make test-wheel``; results in ``wheel.md``.

The first environment gets the wheel alone. The others begin as copies of it, linked file by file, and get one extra
each. In each a small program uses what the extra adds. The versions of ``constraints.txt`` hold everywhere. Extras that
a run does not try keep their rows.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distribution import ROOT, project, write_page

RESULTS = Path(__file__).parent / "wheel.md"

ALONE = """
import numpy as np, whorl
from PIL import Image
u = np.random.default_rng(0).integers(0, 255, (40, 56, 3)).astype(np.uint8)
Image.fromarray(u).save("in.png")
assert whorl.denoise(u, channel_axis=-1).shape == whorl.diffuse(u, channel_axis=-1).shape == u.shape
run("denoise", "in.png", "out.png"), run("filter", "--model", "eed", "in.png", "again.png"), run("models")
assert Image.open("out.png").size == (56, 40)
"""

PROGRAMS = {
    "": ALONE
    + """
from importlib.metadata import distributions
others = {"numba", "matplotlib", "tifffile", "zarr", "dask", "onnx", "nibabel", "napari"}
assert not others & {each.name for each in distributions()}
run("filter", "in.png", "out.tif")
assert "tifffile" in refused("filter", "out.tif", "back.png")
""",
    "fast": "import torch; m = whorl.models.build('eed', contrast=5.0); "
    "assert m(torch.rand(1, 1, 32, 32), time=1.0, engine='numba').isfinite().all()",
    "figures": "run('noise', '--plot', 'noise.png', 'in.png'); assert open('noise.png', 'rb').read(4) == b'\\x89PNG'",
    "files": "run('filter', 'in.png', 'out.tif'), run('filter', 'out.tif', 'out.zarr', '--contrast', '9')",
    "volumes": """
import nibabel, mrcfile
v = np.random.default_rng(0).normal(100, 9, (12, 14, 16)).astype(np.float32)
nibabel.save(nibabel.Nifti1Image(v, np.eye(4)), "in.nii.gz")
with mrcfile.new("in.mrc") as file:
    file.set_data(v), file.set_volume()
for ending in ("nii.gz", "mrc"):
    run("filter", "in." + ending, "out." + ending, "--contrast", "9", "--time", "1")
assert nibabel.load("out.nii.gz").shape == v.shape
""",
    "large": """
import dask.array as da
lazy = whorl.diffuse(da.from_array(u[..., 0], chunks=20), "perona-malik", contrast=9.0, time=1.0)
assert lazy.compute().shape == (40, 56)
""",
    "export": "run('export', 'filter.onnx', '--model', 'eed', '-c', '9', '--time', '1')\n"
    "import onnx; onnx.checker.check_model('filter.onnx')",
    "cuda": "import triton, whorl.engines.cuda.engine",
    "napari": "import os; os.environ['QT_QPA_PLATFORM'] = 'offscreen'; import qtpy.QtWidgets as qt, napari.components, "
    "whorl.plugin.widgets as w; a = qt.QApplication([]); w.FilterWidget(napari.components.ViewerModel())",
}

START = """
import subprocess, sys
import numpy as np, whorl
def run(*words, code=0):
    done = subprocess.run([sys.executable, "-m", "whorl", *words], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr
def refused(*words):
    return run(*words, code=2)
u = np.random.default_rng(0).integers(0, 255, (40, 56, 3)).astype(np.uint8)
from PIL import Image; Image.fromarray(u).save("in.png")
"""


def extras() -> list[str]:
    """The extras for users, from pyproject.toml: those with a program above."""
    known = project()["optional-dependencies"]
    lacking = set(known) - set(PROGRAMS) - {"all", "docs", "bench", "test", "dev"}
    if lacking:
        raise SystemExit(f"distribution/wheel.py has no program for the extras {', '.join(sorted(lacking))}; add one.")
    return [name for name in PROGRAMS if name in known]


def main() -> None:
    """Install, try, print, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--only", nargs="*", help="extras to try; all unless given")
    parser.add_argument("--write", action="store_true", help="write wheel.md")
    parser.add_argument("--begun", type=Path, help="an environment with the wheel alone, made before")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "none"
        for extra in ("", *(extras() if given.only is None else given.only)):
            home, began = first if not extra else Path(folder) / extra, time.monotonic()
            if extra:
                subprocess.run(["cp", "-al", first, home], check=True)
            elif given.begun:
                subprocess.run(["cp", "-al", given.begun, home], check=True)
            else:
                subprocess.run([sys.executable, "-m", "venv", home], check=True)
            what = f"{given.wheel.resolve()}{f'[{extra}]' if extra else ''}"
            pip = [home / "bin/python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", what]
            done = subprocess.run(pip, capture_output=True, text=True)
            word = "" if done.returncode == 0 else f"does not install: {done.stderr.strip().splitlines()[-1]}"
            if not word:
                work = Path(folder) / f"work-{extra}"
                work.mkdir()
                program = [home / "bin/python", "-c", START + PROGRAMS[extra]]
                done = subprocess.run(program, cwd=work, capture_output=True, text=True)
                word = "works" if done.returncode == 0 else f"fails: {done.stderr.strip().splitlines()[-1]}"
            rows.append((extra or "none", word, f"{time.monotonic() - began:.0f}"))
            print(*rows[-1], flush=True)
    if given.write:
        known = before() | {name: (word, spent) for name, word, spent in rows}
        pinned = [line for line in (ROOT / "constraints.txt").read_text().split("\n") if "==" in line]
        table = [f"| {name} | {' | '.join(known[name])} |" for name in ("none", *extras()) if name in known]
        write_page("wheel", ", ".join(pinned), "| extra | result | seconds |", "| --- | --- | ---: |", *table)
    if any(word != "works" for _, word, _ in rows):
        raise SystemExit(1)


def before() -> dict[str, tuple[str, str]]:
    """What the table says now: result and seconds by extra."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][2:]
    return {name: (word, spent) for name, word, spent in cells}


if __name__ == "__main__":
    main()
