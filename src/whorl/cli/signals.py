"""Ctrl-C and SIGTERM unwind the stack, so that half-written files are removed; and they are never lost.

A signal raises wherever Python happens to be, and some libraries swallow whatever is raised inside them (Numba does
while it compiles). So the signal is remembered, and every step of a progress bar raises it again.
"""

import signal
from types import FrameType

__all__ = ["forget", "honour", "install"]

_pending: list[int] = []


def install() -> None:
    """Handle both signals from now on."""
    forget()
    signal.signal(signal.SIGINT, _handle)
    signal.signal(signal.SIGTERM, _handle)


def forget() -> None:
    """Forget a signal that has done its work."""
    _pending.clear()


def honour() -> None:
    """Raise what a signal raised that arrived before and was swallowed."""
    if _pending:
        _leave(_pending[-1])


def _handle(number: int, frame: FrameType | None) -> None:
    _pending.append(number)
    _leave(number)


def _leave(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
