"""Fixtures every test may use."""

import io
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import numpy as np
import pytest
import torch

LONGEST_FIRST = ("page", "engines", "golden", "export", "training", "docs", "networks", "models", "properties")
"""Folders whose files take minutes: begun last, one of them would keep one process busy while the other is done."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process runs all of a file: its tests share fixtures, and kernels that two would compile at the same time.

    First of all: pytest-xdist reads the groups in the same hook.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.stem}"))
    place = {folder: number for number, folder in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(item.path.parent.name, len(place)))


@pytest.fixture(autouse=True)
def seeds() -> None:
    """The same random numbers for every test, whatever ran before it."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - libraries may draw from it
    torch.manual_seed(0)


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(20220131)


# Doctests are collected from every module; several files of this name would be taken for one.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]


@pytest.fixture(autouse=True)
def denormals():
    """Commands that run inside the tests flush denormal numbers to zero; the next test has them again."""
    yield
    torch.set_flush_denormal(False)


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """An empty folder, seen by a user who is not root: root may read and write everything."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        _load_the_command(folder)
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    for path in folder.rglob("*"):
        path.chmod(0o700)
    shutil.rmtree(folder)


def _load_the_command(folder: Path) -> None:
    """Filter a little picture: what the command imports on its way may lie where only root may read."""
    from PIL import Image

    from whorl.cli.main import run

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    Image.init()
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(folder / "a.png")
    words = ["filter", "--contrast", "9", "--time", "0.1", "--threads", "1"]
    for source in ("a.png", "missing.png"):
        with suppress(SystemExit), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            run([*words, str(folder / source), str(folder / "b.png")])
    for path in folder.iterdir():
        path.unlink()
    for number, handler in before.items():
        signal.signal(number, handler)
