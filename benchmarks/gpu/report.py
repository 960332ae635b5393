"""One suite on one GPU: the parts its command line asks for, in the result file as soon as each is done."""

import argparse
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.results import FOLDER, Document

__all__ = ["Rows", "measured"]

Rows = list[dict[str, Any]]


def measured(suite: str, command: str, about: str | None, parts: dict[str, Callable[[], Rows]]) -> dict[str, Rows]:
    """Measure, print, save after each part; a part survives the failure of another. Returns all rows of the file."""
    parser = argparse.ArgumentParser(prog=command, description=about)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the result file")
    parser.add_argument("--only", nargs="*", choices=parts, default=list(parts), help="parts to run")
    given = parser.parse_args()
    document = Document(suite, command, "cuda", given.out)
    if set(given.only) == set(parts):
        document.forget()
    for name in given.only:
        begin = time.perf_counter()
        print(f"\n== {name}", flush=True)
        try:
            rows = parts[name]()
            torch.cuda.synchronize()
            document.with_case(name, rows)
        except Exception:
            traceback.print_exc(limit=8)
        print(f"   ({time.perf_counter() - begin:.1f} s)", flush=True)
    found: dict[str, Rows] = document.content["cases"]
    print(f"\n{document.path}: {sorted(set(parts) - set(found))} not measured")
    return found
