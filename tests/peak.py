"""Programs in a process of their own, with the most memory they ever held."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import whorl

SRC = Path(whorl.__file__).parents[1]
GIGABYTE = 2**30

# VmHWM is the peak of this program; the peak that getrusage tells is inherited from the parent across the fork.
FRAME = """
import re, resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
try:
    exec(sys.argv.pop(1))
finally:
    status = open("/proc/self/status").read()
    print("peak", 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]), file=sys.stderr)
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str
    peak: int


def run_alone(program: str, *words: object, limit: int = 16 * GIGABYTE, timeout: float = 120) -> Ran:
    """Run a Python program; it may not ask for more than ``limit`` bytes of address space."""
    command = [sys.executable, "-c", FRAME.format(limit=limit), program, *map(str, words)]
    env = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=timeout, check=False)
    before, _, after = done.stderr.rpartition("peak ")
    peak, _, trace = after.partition("\n")
    return Ran(done.returncode, done.stdout, before + trace, int(peak))
