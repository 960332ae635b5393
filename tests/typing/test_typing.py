"""Type checkers find what is wrong in lines of people, and nothing else."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

LINES = Path(__file__).with_name("lines.py.txt")
WRONG = {number for number, line in enumerate(LINES.read_text().splitlines(), 1) if line.endswith("# WRONG")}
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def lines(tmp_path):
    """The lines as a module."""
    copy = tmp_path / "lines.py"
    copy.write_text(LINES.read_text())
    return copy


def run(*command):
    return subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, timeout=280)


def test_mypy_finds_wrong_lines(lines, tmp_path):
    pytest.importorskip("mypy")
    settings = tmp_path / "mypy.ini"
    settings.write_text(f"[mypy]\nmypy_path = {SOURCE}\nfollow_imports = silent\nignore_missing_imports = True\n")
    cache = SOURCE.parent / ".mypy_cache"
    found = run("mypy", "--config-file", str(settings), "--cache-dir", str(cache), str(lines)).stdout
    found_in = {int(line.split(":")[1]) for line in found.splitlines() if ": error:" in line}
    assert WRONG, "nothing to find"
    assert found_in == WRONG, found


@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_wrong_lines(lines, tmp_path):
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"include": [str(lines)], "extraPaths": [str(SOURCE)], "reportUnusedExpression": False})
    )
    if run("pyright", "--version").returncode:
        pytest.skip("pyright is a program for node, which could not be fetched here")
    report = json.loads(run("pyright", "--outputjson", "-p", str(tmp_path), "--pythonpath", sys.executable).stdout)
    errors = [each for each in report["generalDiagnostics"] if each["severity"] == "error"]
    assert {each["range"]["start"]["line"] + 1 for each in errors} == WRONG, errors
