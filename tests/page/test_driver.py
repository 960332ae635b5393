"""A browser that ends by itself is started again; a visit that fails is not made twice."""

import os
import signal
import subprocess
from typing import Any

import pytest


def _processes(name: str, parent: int) -> list[int]:
    """Processes of that name below ``parent``."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    rows = [(int(pid), int(ppid), comm) for pid, ppid, comm in (line.split(None, 2) for line in listing.splitlines())]
    return [pid for pid, ppid, comm in rows if ppid == parent and comm.startswith(name)]


def test_a_browser_that_ended_is_started_again(drive: Any, browser: Any) -> None:
    assert drive("load", lenient=True)["title"].startswith("whorl")
    (chromium,) = _processes("chrom", browser.process.pid)
    os.kill(chromium, signal.SIGKILL)
    assert drive("load", lenient=True)["title"].startswith("whorl")


def test_a_driver_that_ended_is_started_again(drive: Any, browser: Any) -> None:
    assert drive("load", lenient=True)["title"].startswith("whorl")
    before = browser.process.pid
    os.kill(before, signal.SIGKILL)
    assert drive("load", lenient=True)["title"].startswith("whorl")
    assert browser.process.pid != before


def test_a_visit_that_fails_says_why(drive: Any) -> None:
    with pytest.raises(AssertionError, match="net::ERR"):
        drive("load", address="http://127.0.0.1:1/", lenient=True)
