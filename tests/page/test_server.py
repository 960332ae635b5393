"""The server, the copy, and the command around them."""

import hashlib
import http.client
import inspect
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from whorl.cli import page
from whorl.errors import FileError
from whorl.page import STATIC, copy_site, make_server
from whorl.page import server as module

WEB = Path(__file__).parents[2] / "web"


def test_the_usual_port_is_the_one_in_the_help() -> None:
    assert f"Default: {module.PREFERRED_PORT}, or a free one." in inspect.getsource(page)


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with make_server(0) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def get(server: ThreadingHTTPServer, path: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/css/base.css", "text/css; charset=utf-8"),
        ("/js/app.js", "text/javascript; charset=utf-8"),
        ("/kernel.wasm", "application/wasm"),
        ("/favicon.svg", "image/svg+xml"),
    ],
)
def test_files_have_the_types_that_browsers_insist_on(server: ThreadingHTTPServer, path: str, kind: str) -> None:
    response = get(server, path)
    assert response.status == 200
    assert response.headers["Content-Type"] == kind


@pytest.mark.parametrize("path", ["/js/", "/nothing", "/../server.py", "/%2e%2e/server.py", "//etc/passwd"])
def test_nothing_but_the_files_is_served(server: ThreadingHTTPServer, path: str) -> None:
    assert get(server, path).status == 404


@pytest.mark.parametrize("path", ["/%00", "/index.html%00", "/js%00/app.js", "/%2500%00"])
def test_impossible_names_are_not_found(server: ThreadingHTTPServer, path: str) -> None:
    assert get(server, path).status == 404
    assert get(server, "/").status == 200


@pytest.mark.parametrize("words", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n"])
def test_a_client_that_never_finishes_is_cut_off(monkeypatch: pytest.MonkeyPatch, words: bytes) -> None:
    monkeypatch.setattr(module._Handler, "timeout", 0.2)
    with make_server(0) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        with socket.create_connection(("127.0.0.1", running.server_port), timeout=10) as client:
            client.sendall(words)
            assert client.recv(100) == b""  # closed from the other side
        running.shutdown()
        thread.join()
    assert 0 < module.PATIENCE < 60


def test_a_taken_port_is_refused_with_a_remedy(server: ThreadingHTTPServer) -> None:
    with pytest.raises(ValueError, match=rf"port {server.server_port} cannot be used .* --port"):
        make_server(server.server_port)


def test_without_a_port_two_servers_find_one_each() -> None:
    with make_server() as first, make_server() as second:
        assert first.server_port != second.server_port
        assert {first.server_address[0], second.server_address[0]} == {"127.0.0.1"}


def test_copy_is_complete_and_keeps_what_exists(tmp_path: Path) -> None:
    site = copy_site(tmp_path / "public" / "whorl")
    names = {path.relative_to(STATIC) for path in STATIC.rglob("*")}
    assert {path.relative_to(site) for path in site.rglob("*")} == names
    with pytest.raises(FileError, match="exists already"):
        copy_site(site)
    (site / "index.html").write_text("old")
    copy_site(site, force=True)
    assert (site / "index.html").read_bytes() == (STATIC / "index.html").read_bytes()
    assert list(site.parent.iterdir()) == [site]


def test_force_replaces_nothing_but_a_copy_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(FileError, match="not a copy of the page"):
        copy_site(tmp_path, force=True)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize(("error", "silent"), [(ConnectionResetError, True), (BrokenPipeError, True), (OSError, False)])
def test_a_visitor_who_leaves_is_no_error(
    server: ThreadingHTTPServer, capsys: pytest.CaptureFixture[str], error: type[Exception], silent: bool
) -> None:
    try:
        raise error("while sending")
    except OSError:
        server.handle_error(None, ("127.0.0.1", 1))  # type: ignore[arg-type]
    assert (capsys.readouterr().err == "") is silent


def test_command_serves_until_interrupted() -> None:
    command = [sys.executable, "-m", "whorl", "page", "--no-browser", "--port", "0"]
    env = {**os.environ, "PYTHONPATH": str(STATIC.parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        host, port = line.split("http://")[1].split("/")[0].split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("GET", "/")
        response = connection.getresponse()
        response.read()
        assert response.status == 200
        connection.close()
        process.send_signal(2)
        out, errors = process.communicate(timeout=20)
    assert (process.returncode, out, errors) == (0, "Stopped.\n", "")


def test_kernel_is_built_from_the_sources_at_hand() -> None:
    sources = [*sorted((WEB / "kernel").glob("*.h")), *sorted((WEB / "kernel").glob("*.c"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    assert (WEB / "kernel.sha256").read_text().strip() == digest, "run web/build.sh"


def test_licence_is_that_of_the_project() -> None:
    assert (STATIC / "licence.txt").read_bytes() == (WEB.parent / "LICENSE").read_bytes()


def test_page_is_small_and_names_no_other_host() -> None:
    files = [path for path in STATIC.rglob("*") if path.is_file()]
    trained = [path for path in files if path.parent.name == "networks"]  # fetched when one is chosen
    card = [path for path in files if path.name in ("cardnetwork.js", "shaders.js")]  # fetched for a graphics card
    aside = [path for path in files if path.stem in ("help", "licence")]  # pages of their own
    aside += [path for path in files if path.name in ("png.js", "tiff.js")]  # fetched when a file is opened or saved
    aside += [path for path in files if path.name == "traces.js"]  # fetched with its weights when noise is measured so
    weights = [path for path in files if path.name == "measure.safetensors"]
    assert (len(card), len(aside), len(weights)) == (2, 6, 1)
    # 4 kB of it tell letters, and parts that are nearly blank, from noise, which every measure asks for.
    assert sum(path.stat().st_size for path in files if path not in trained + card + aside + weights) < 339_000
    assert max(path.stat().st_size for path in trained + weights) < 120_000
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, path
        assert "https://" not in text, path
