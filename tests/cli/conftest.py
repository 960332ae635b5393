import signal
from typing import NamedTuple

import pytest

from whorl.cli import main


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def whorl_command(capsys):
    """Run the command line inside this process: ``whorl_command("filter", "a.png", "b.png")``."""

    def call(*words) -> Answer:
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        capsys.readouterr()
        try:
            with pytest.raises(SystemExit) as leaving:
                main.run([str(word) for word in words])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return Answer(int(leaving.value.code or 0), *capsys.readouterr())

    return call
