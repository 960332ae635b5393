"""The tutorial's commands run as they stand, one after the other, and so does its Python."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from whorl.cli import main

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "tutorial.rst").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^   \$ (.*)$", TEXT, flags=re.MULTILINE)


def run(command: str) -> int:
    words = shlex.split(command)
    if words[0] == "python":
        return subprocess.run([sys.executable, *words[1:]], check=False).returncode
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        main.run(words[1:])
    except SystemExit as leaving:
        return int(leaving.code or 0)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return 0


@pytest.mark.timeout(600)
def test_every_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("skimage")
    assert len(COMMANDS) == 12
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        assert run(command) == 0, (command, capsys.readouterr().err)
    made = {"photo.png", "noisy.png", "smooth.png", "tuned.png", "denoised.png", "by-mine.png", "mine.onnx", "mine"}
    assert {path.name for path in tmp_path.iterdir()} == made
    for block in re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", TEXT):
        exec(compile("\n".join(line[3:] for line in block.splitlines()), "tutorial.rst", "exec"), {})
    assert (tmp_path / "smooth-python.png").is_file()


@pytest.mark.parametrize(
    ("page", "count"), [("denoising.rst", 2), ("noise.rst", 2), ("volumes.rst", 2), ("training.rst", 1)]
)
def test_python_of_pages_runs(page: str, count: int) -> None:
    namespace: dict[str, object] = {}
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text)
    assert len(blocks) == count
    for block in blocks:
        exec(compile("\n".join(line[3:] for line in block.splitlines()), page, "exec"), namespace)
