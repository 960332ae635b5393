"""The oldest versions that ``pyproject.toml`` claims, then the newest: ``make test-lowest``; results in ``lowest.md``.

Each gets an environment of its own with the extra ``all``, and runs the quick folders of the tests. Of PyTorch there is
one version in both, that of ``constraints.txt``: others bring gigabytes of CUDA along.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from distribution import ROOT, project, write_page

QUICK = "operators", "activations", "energies", "schemes", "steps", "files", "export", "foundations", "test_images.py"
TOOLS = (
    "pytest>=8,<9.2",
    "pytest-timeout",
    "pytest-xdist",
    "pytest-randomly",
    "hypothesis",
    "scikit-image",
    "onnxruntime",
)


def claimed() -> dict[str, str]:
    """Every package that users get, with its claim, such as ``{"numpy": ">=1.26"}``."""
    extras = project()["optional-dependencies"]
    wanted = re.findall(r"\w+", extras["all"][0].split("[")[1])
    lines = [*project()["dependencies"], *(line for name in wanted for line in extras[name])]
    return {name: line.removeprefix(name) for line in lines for name in re.findall("^[^<>=]+", line)}


def main() -> None:
    """Install, test, print, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", default=QUICK, help="below tests; the quick folders unless given")
    parser.add_argument("--write", action="store_true", help="write lowest.md")
    parser.add_argument("--keep", type=Path, help="a folder for the environments; those that lie there are taken")
    given = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as emptied:
        folder = given.keep or Path(emptied)
        for which in ("lowest", "newest"):
            python, ready = folder / which / "bin" / "python", folder / f"{which}.installed"
            if not ready.exists():
                install(python, "==" if which == "lowest" else ">=")
                ready.touch()
            found[which] = versions(python), *tested(python, given.tests)
            print(which, *found[which][1:], sep="\n", flush=True)
    if given.write:
        (low, _, first), (new, _, second) = found["lowest"], found["newest"]
        rows = [f"| {name} | {low[name]} | {new[name]} |" for name in low]
        table = ["| package | lowest | newest |", "| --- | --- | --- |", *rows]
        tests = f"`tests` of {', '.join(given.tests)}"
        write_page("lowest", tests, f"- Lowest: {first}", f"- Newest: {second}", "", *table)
    if any(code for _, code, _ in found.values()):
        raise SystemExit(1)


def install(python: Path, sign: str) -> None:
    """Make an environment with the lowest versions claimed, ``sign`` "==", or the newest."""
    subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt"]
    wanted = [name + rule.replace(">=", sign) for name, rule in claimed().items() if name != "torch"]
    subprocess.run([*pip, "torch", *wanted, *TOOLS], check=True)  # together: no tool may bring a newer version


def versions(python: Path) -> dict[str, str]:
    """What is installed of the packages that are claimed."""
    names = [re.split(r"\[", name)[0] for name in claimed()]
    ask = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    told = subprocess.run([python, "-c", ask, *names], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(names, told, strict=True))


def tested(python: Path, tests: list[str]) -> tuple[int, str]:
    """Exit code and last line of the tests; none is ended for being slow, as the machine may be busy."""
    command = [python, "-m", "pytest", "-q", "--timeout", "3600", *(f"tests/{name}" for name in tests)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    *lines, last = done.stdout.splitlines()
    return done.returncode, "; ".join([last, *(line for line in lines if line.startswith(("FAILED", "ERROR")))])


if __name__ == "__main__":
    main()
