import io
import time

from whorl.cli import progress as module


def test_bar_appears_only_after_patience(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with module.progress("filtering", 2) as advance:
        advance(1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    with module.progress("filtering", 2) as advance:
        advance(1)
        time.sleep(0.3)
    assert "filtering" in capsys.readouterr().err


def test_no_bar_when_quiet_or_piped(monkeypatch, capsys):
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    for quiet in (True, False):
        with module.progress("filtering", 2, quiet=quiet) as advance:
            time.sleep(0.1)
            advance(2)
    import sys

    assert sys.stderr.getvalue() == ""
