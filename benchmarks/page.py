"""The page in the browser: moves of a slider, networks, curves, strokes of the brush, in a real Chromium.

Needs Chromium, node and the packages of ``web`` (``npm ci --prefix web``). Times are a visitor's: from a move until the
picture that belongs to it is painted.
"""

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.suite import Case, Rows, Suite

__all__ = ["SUITE"]

_WEB = Path(__file__).parents[1] / "web"
NAMES = (
    "kernel 500x500 colour, processor time",
    "network 512x512 grey, processor time",
    "slider 500x500 colour",
    "network 512x512 grey",
    "curves 256x256",
    "brush 500x500 colour",
)


def cases() -> dict[str, Case]:
    return {name: functools.partial(_rows, name) for name in NAMES}


def _rows(name: str) -> Rows:
    found = _measured()
    seen = {"browser": f"Chromium {found['browser']}", "load_before": found["load"]}
    rows: Rows = [{**row, **seen} for row in found["cases"][name]]
    return rows


@functools.cache
def _measured() -> Any:
    """One visit measures all cases."""
    node = shutil.which("node")
    if node is None or not (_WEB / "node_modules").exists():
        raise SystemExit("page: needs node, Chromium and the packages of web; run npm ci --prefix web.")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("page: Chromium is not installed.")
    command = [node, str(_WEB / "measure.mjs")]
    load = os.getloadavg()[0]  # of a machine that others use at the same time
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, "CHROMIUM": chromium})
    return {**json.loads(done.stdout), "load": load}


SUITE = Suite("page", "The page in the browser", cases, standard=False)
