"""A real Chromium, driven through playwright-core, and the page served on this machine."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from whorl.page import make_server

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

WEB = Path(__file__).parents[2] / "web"
REQUIRED = bool(os.environ.get("WHORL_BROWSER_REQUIRED"))

Drive = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that drives the browser carries the mark, so that `-m browser` and `-m "not browser"` choose.

    With several processes one of them takes all of these tests, so that there is one browser.
    """
    for item in items:
        if "drive" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder that playwright-core is found from, installed on first use.

    By one process at a time, and complete when npm has written its list, which is that of the lock file.
    """
    name = f"whorl-npm-{hashlib.sha256(str(WEB).encode()).hexdigest()[:12]}.lock"
    with open(Path(tempfile.gettempdir()) / name, "w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        _install()
    return WEB / "package.json"


def _install() -> None:
    wanted, present = (
        json.loads(file.read_text(encoding="utf-8"))["packages"] if file.exists() else {}
        for file in (WEB / "package-lock.json", WEB / "node_modules" / ".package-lock.json")
    )
    if {name: about for name, about in wanted.items() if name} != present:
        npm = shutil.which("npm") or _missing("npm is not on the PATH, and playwright-core is not installed")
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=240, check=False)
        if done.returncode:
            _missing(f"npm could not install playwright-core: {done.stderr.strip()[-300:]}")


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where the page is served."""
    with make_server(0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class Browser:
    """The node process that holds Chromium.

    Chromium or node may end by themselves on a crowded machine. That says nothing about the page, so the visit is
    made again in a new one, twice at most, and what node said is shown if that does not help.
    """

    def __init__(self, command: list[str], log: Path) -> None:
        self.command = command
        self.log = log
        self.process: subprocess.Popen[str] | None = None

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to one visit."""
        for _ in range(3):
            if (answer := self._ask_once(message)) is not None and "crash" not in answer:
                return answer
        said = self.log.read_text(errors="replace")[-2000:] if answer is None else answer["crash"]
        pytest.fail(f"the browser ended three times during the visit {message['visit']!r}: {said}")

    def _ask_once(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The answer, or None where node ended."""
        if self.process is None:
            with self.log.open("w") as log:
                self.process = subprocess.Popen(
                    self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
                )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
        return json.loads(line) if line else None

    def close(self) -> None:
        """End node, and Chromium with it."""
        if self.process is not None:
            with suppress(BrokenPipeError, subprocess.TimeoutExpired):
                self.process.communicate(timeout=30)  # node ends with its input
            self.process.kill()
            with suppress(BrokenPipeError), self.process:
                self.process = None  # its pipes are closed, whatever it did


@pytest.fixture(scope="session")
def browser(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The browser that all visits share."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    chromium = next(filter(None, map(shutil.which, names)), None) or _missing("Chromium is not installed")
    node = shutil.which("node") or _missing("node is not on the PATH")
    command = [node, str(Path(__file__).with_name("driver.mjs")), str(packages), chromium]
    holder = Browser(command, tmp_path_factory.mktemp("browser") / "node.log")
    yield holder
    holder.close()


@pytest.fixture
def drive(browser: Browser, address: str) -> Drive:
    """``drive(visit, argument, **options)``: make one of the visits in ``visits_*.mjs`` and return what it returns.

    With ``graphics`` the browser has a graphics card, if only one that is a program.

    Every request must stay on this machine, and nothing may fail or complain unless ``lenient``.
    """

    def run(visit: str, *, lenient: bool = False, options: Any = None, graphics: bool = False, **argument: Any) -> Any:
        asked = {"visit": visit, "argument": {"address": address, **argument}, "options": options or {}}
        answer = browser.ask({**asked, "graphics": graphics})
        assert "error" not in answer, answer["error"]
        local = ("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:", "file://")
        assert [url for url in answer["seen"]["requests"] if not url.startswith(local)] == []
        if not lenient:
            assert answer["seen"]["messages"] + answer["seen"]["failures"] == []
        return answer["value"]

    return run


def _missing(what: str) -> Any:
    """Skip, or fail where the browser tests are required."""
    if REQUIRED:
        pytest.fail(f"browser tests are required here, but {what}")
    pytest.skip(f"browser tests need Chromium, node and npm: {what}")
