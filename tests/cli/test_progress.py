import contextlib
import io
import signal
import sys
import time

import pytest

from whorl.cli import progress as module


def test_bar_appears_only_after_patience(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "PATIENCE", 3600.0)
    with module.progress("filtering", 2) as advance:
        advance(1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    shown, deadline = "", time.monotonic() + 60
    with module.progress("filtering", 2) as advance:
        advance(1)
        while "filtering" not in shown and time.monotonic() < deadline:  # however busy the machine is
            time.sleep(0.01)
            shown += capsys.readouterr().err
    assert "filtering" in shown


def test_short_work_does_not_load_what_draws_bars(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(module, "PATIENCE", 3600.0)
    with module.progress("filtering", 2) as advance:
        advance(2)


@pytest.mark.parametrize("quiet", [True, False])
@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_swallowed_signal_is_honoured_at_the_next_step(quiet, number, raised):
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    module.handle_signals()
    try:
        with module.progress("filtering", 2, quiet=quiet) as advance:
            with contextlib.suppress(BaseException):  # as a library might
                signal.raise_signal(number)
            with pytest.raises(raised):
                advance(1)
    finally:
        module.forget()
        for each, handler in before.items():
            signal.signal(each, handler)


def test_no_bar_when_quiet_or_piped(monkeypatch, capsys):
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    for quiet in (True, False):
        with module.progress("filtering", 2, quiet=quiet) as advance:
            time.sleep(0.1)
            advance(2)
    assert sys.stderr.getvalue() == ""
