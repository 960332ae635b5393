"""A local server for the page, and a copy of it for other servers."""

import shutil
import sys
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from whorl.errors import FileError
from whorl.foundations.atomic import beside

STATIC = Path(__file__).parent / "static"
"""The folder of the page's files."""

HOST = "127.0.0.1"
PREFERRED_PORT = 8173
PATIENCE = 20.0  # seconds for a client to ask, or to take what it asked for


def make_server(port: int | None = None, folder: Path = STATIC) -> ThreadingHTTPServer:
    """A server for the page on this machine alone; without a port, the usual one or, if that is taken, any free one.

    >>> with make_server(0) as server:
    ...     server.server_address[0]
    '127.0.0.1'
    """

    def handler(*arguments: Any) -> _Handler:
        return _Handler(*arguments, directory=str(folder))

    for wanted in (PREFERRED_PORT, 0) if port is None else (port,):
        try:
            return _Server((HOST, wanted), handler)
        except OSError as error:
            reason = error.strerror or str(error)
    raise ValueError(f"port {wanted} cannot be used ({reason}). Choose another with --port, or leave it out.")


def copy_site(folder: str | Path, *, force: bool = False) -> Path:
    """Copy the page's files into a new folder, all of them or nothing; an existing one is replaced only by force."""
    target = Path(folder)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        if not force:
            raise FileError(f"{target} exists already. Choose another folder, or replace it with --force.")
        if not (target.is_dir() and (target / "kernel.wasm").exists()):
            raise FileError(f"{target} is not a copy of the page, so it is not replaced. Choose another folder.")
    with beside(target, force=True, folder=True) as part:
        shutil.copytree(STATIC, part, dirs_exist_ok=True)
    return target


class _Server(ThreadingHTTPServer):
    """Show no error in the terminal where a visitor leaves before all is sent."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(SimpleHTTPRequestHandler):
    """Files with the types browsers insist on, no listings, no log; a silent connection is closed."""

    timeout = PATIENCE

    # The machine's own table may lack these or, on Windows, get them wrong; modules and kernel would not load.
    extensions_map: dict[str, str] = {  # noqa: RUF012 (an instance variable in the base class)
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".svg": "image/svg+xml",
        ".wasm": "application/wasm",
        "": "application/octet-stream",
    }

    def end_headers(self) -> None:
        # After an update of the library the next visit must see the new page.
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def send_head(self) -> Any:
        if "\0" in unquote(self.path):  # no file has such a name, and asking for one fails
            self.send_error(HTTPStatus.NOT_FOUND, "No such page")
            return None
        return super().send_head()

    def list_directory(self, path: Any) -> None:
        self.send_error(HTTPStatus.NOT_FOUND, "No such page")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: the terminal shows the address and nothing else."""
