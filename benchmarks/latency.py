"""How long a person waits: import, help, the first picture on a fresh machine, the next one.

Every figure is a fresh process. *Fresh machine* means empty caches for anything compiled at run time
(``NUMBA_CACHE_DIR``, ``XDG_CACHE_HOME`` and the user's home point to an empty folder); Python's own bytecode of the
installed packages is there, as pip leaves it.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from benchmarks.peers import catalogue
from benchmarks.pictures import noisy
from benchmarks.suite import Case, Rows, Suite

__all__ = ["SUITE"]

_ROOT = Path(__file__).parents[1]


def cases() -> dict[str, Case]:
    return {"start": _start, "first use": _first_use, "libraries": _libraries, "torch.compile": _compile}


def _start() -> Rows:
    whorl = [sys.executable, "-m", "whorl"]
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import whorl": [sys.executable, "-c", "import whorl"],
        "import numpy": [sys.executable, "-c", "import numpy"],
        "import torch": [sys.executable, "-c", "import torch"],
        "whorl --help": [*whorl, "--help"],
        "whorl models": [*whorl, "models"],
    }
    return [_clock(name, command, repeats=3) for name, command in commands.items()]


def _first_use() -> Rows:
    with TemporaryDirectory() as folder:
        picture = Path(folder) / "in.png"
        _write_png(picture)
        rows = []
        for model in ("weickert-brox", "eed", "multiscale-anisotropic"):
            fresh = Path(folder) / model
            fresh.mkdir()
            environment = {
                **os.environ,
                "HOME": str(fresh),
                "XDG_CACHE_HOME": str(fresh / "cache"),
                "NUMBA_CACHE_DIR": str(fresh / "numba"),
            }
            options = ["--model", model, "--contrast", "20", "--time", "4", "--force", "--quiet"]
            out = str(picture.with_name("out.png"))
            command = [sys.executable, "-m", "whorl", "filter", str(picture), out, *options]
            rows.append(_clock(f"whorl filter 512² {model}, fresh machine", command, environment, 1, warm=False))
            rows.append(_clock(f"whorl filter 512² {model}, again", command, environment, 2, warm=False))
        return rows


def _libraries() -> Rows:
    """Import of each library plus twenty steps on a 512 x 512 picture, in a fresh process."""
    names = ("whorl-perona-malik", "numpy-loop", "medpy", "opencv", "diplib-perona-malik", "itk-gradient",
             "simpleitk-gradient", "skimage-tv")  # fmt: skip
    code = (
        "import numpy as np; from benchmarks.peers import method; m = method({name!r}); "
        "u = np.random.default_rng(0).normal(128, 30, (512, 512)).astype(np.float32); m.load()(u, 20.0, 20, m.tau)"
    )
    here = {m.name for m in catalogue()}
    chosen = [name for name in names if name in here]
    return [
        _clock(name, [sys.executable, "-W", "ignore", "-c", code.format(name=name)], repeats=2, warm=name == chosen[0])
        for name in chosen
    ]


def _compile() -> Rows:
    """A multiscale block through ``torch.compile``, value and derivative, in a fresh process with an empty cache."""
    code = (
        "import torch; from whorl.blocks import multiscale_block; b = multiscale_block(contrast=20.0, trainable=True); "
        "u = torch.rand(1, 1, 64, 64).requires_grad_(); {how}(b)(u).square().sum().backward()"
    )
    with TemporaryDirectory() as folder:
        rows = []
        for name, how in {"eager": "(lambda f: f)", "torch.compile": "torch.compile"}.items():
            command = [sys.executable, "-c", code.format(how=how)]
            environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / name)}
            rows.append(_clock(f"multiscale block, {name}", command, environment, repeats=1, warm=name == "eager"))
        return rows


def _clock(
    name: str, command: list[str], environment: Mapping[str, str] | None = None, repeats: int = 3, warm: bool = True
) -> dict[str, object]:
    seconds = []
    for _ in range(repeats + warm):
        begun = perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=_ROOT, env=environment)
        seconds.append(perf_counter() - begun)
    seconds = seconds[int(warm) :]
    shown = " ".join(["python", *command[1:]]) if len(" ".join(command)) < 120 else name
    best, worst = min(seconds), max(seconds)
    return {
        "method": name,
        "command": shown,
        "best_s": best,
        "median_s": median(seconds),
        "spread": (worst - best) / best,
        "repeats": repeats,
    }


def _write_png(path: Path) -> None:
    from imageio.v3 import imwrite

    imwrite(path, np.clip(noisy("camera")[:512, :512], 0, 255).astype(np.uint8))


SUITE = Suite("latency", "Waiting times", cases)
