"""Try faults: run the tests that reach each of them until one fails.

First the package is imported and its tests are collected once; for each fault a copy of that process exchanges the code
of the faulty function. Faults in what runs at import are tried again, if not noticed there, with a package imported
with the fault in it, so that all that is prepared at import holds the fault, too.
"""

import ast
import ctypes
import gc
import importlib
import math
import os
import pickle
import resource
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

from mutation.coverage import Coverage, Line, lines_run, mark_lines
from mutation.exchange import FaultyModule, exchange, faulty_functions, functions_of
from mutation.mutants import Mutant

__all__ = ["ROOT", "Decided", "Trial", "Undecided", "Work", "answer", "in_copies", "start", "with_an_import"]

ROOT = Path(__file__).parents[1]
MEMORY = 8 * 2**30
COMPILING = 600
"""Seconds of a processor that the machine code of a faulty engine may take beside its tests."""
FEW = 20
"""One test of so many may fail without any fault: it does not bear the marks in the code, and is left out."""
LIKELY = 8
"""So many of the tests that noticed the last faults of the same file are tried before all others."""


@dataclass(frozen=True)
class Trial:
    """A fault, the folder and the file it is in."""

    folder: str
    path: Path
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}, {self.mutant}"

    @property
    def lines(self) -> set[tuple[str, int]]:
        return {(str(self.path), line) for line in range(self.mutant.first, self.mutant.last + 1)}

    @property
    def module(self) -> str:
        return module_of(self.path)


@dataclass
class Undecided:
    """A trial that wants an import of its own, the tests that may notice it, and the time they take."""

    trial: Trial
    tests: list[str]
    seconds: float
    compiled: bool = False


@dataclass
class Outcome:
    """What became of the trials in copies of one process."""

    killed: int = 0
    survived: list[Trial] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)


Decided = Callable[[Trial, str, float], None]
"""Told of each fault, what noticed it, if anything, and after how many seconds."""


class KnownTests(Protocol):
    """What is known of tests from an earlier run."""

    def get(self, test: str, longest: float) -> tuple[set[Line], float] | None: ...
    def add(self, test: str, longest: float, lines: set[Line], seconds: float) -> None: ...


@dataclass(frozen=True)
class Work:
    """The faults of a folder, the places of its tests, and who is told what becomes of them.

    For each fault the quickest tests that take so many seconds together are run, and no test that takes longer than the
    longest may. Which lines of ``compiled`` code run nobody sees: each of its faults is tried with all the tests.
    ``near``: no test runs ahead; the nearest tests come first, until their seconds are over.
    """

    folder: str
    places: Sequence[str]
    trials: Sequence[Trial]
    show: Callable[[str], None]
    decided: Decided
    known: KnownTests
    seconds: float = math.inf
    longest: float = math.inf
    compiled: bool = False
    near: bool = False

    @property
    def source(self) -> Path:
        return ROOT / "src" / "whorl" / self.folder


def in_copies(work: Work) -> Outcome:
    """Try faults by exchanging code in copies of one process; ends the program if the tests fail without a fault."""
    outcome = in_a_process(lambda: _session(work))
    if not isinstance(outcome, Outcome):
        raise SystemExit(f"The tests of {work.folder} fail without any fault: {outcome}.")
    return outcome


def with_an_import(undecided: Undecided) -> str:
    """How the tests end where the faulty module is imported in place of the right one; nothing where all pass."""
    trial = undecided.trial
    if not undecided.tests:
        return ""

    def tests() -> int:
        sys.meta_path.insert(0, FaultyModule(trial.module, trial.path, trial.mutant.source))
        return run_with_an_import(undecided.tests)

    ended = in_a_process(
        compiling_anew(tests) if undecided.compiled else tests,
        30 + 5 * undecided.seconds + COMPILING * undecided.compiled,
    )
    return "" if ended == 0 else f"with an import: {ended}"


def run_with_an_import(tests: Sequence[str], *plugins: object) -> int:
    """Collect these tests and run them in their order until one fails."""
    order = {test: number for number, test in enumerate(tests)}

    class Chosen:
        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])

    return _pytest(list(dict.fromkeys(test.split("::")[0] for test in order)), [Chosen(), *plugins])


def _session(work: Work) -> object:
    """Collect the tests, find out what they reach, and try one fault after another in a copy."""
    result: list[object] = []
    faults: list[str] = []

    class Copies:
        def pytest_internalerror(self, excrepr: Any) -> None:
            faults.append(str(excrepr))

        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                faults.append(f"{report.nodeid}: {report.longreprtext.splitlines()[-1]}")

        def pytest_runtestloop(self, session: Any) -> bool:
            _import_all(work.source)
            tracing.__exit__(None, None, None)
            items = session.items
            if work.near:
                from mutation.near import try_near

                result.append(try_near(items, work))
                return True
            coverage = in_a_process(lambda: _reached(items, work))
            if not isinstance(coverage, Coverage):
                result.append(coverage)
                return True
            coverage.on_import = on_import
            quick = [taken for taken in coverage.seconds if taken < math.inf]
            work.show(
                f"{work.folder}: {len(quick)} of {len(items)} tests, {sum(quick):.0f} s; the others take too long"
            )
            result.append(_try_all(items, coverage, work))
            return True

    tracing: AbstractContextManager[set[Line]] = nullcontext(set()) if work.near else lines_run(str(work.source))
    on_import = tracing.__enter__()
    _pytest(work.places, [Copies()])
    return result[0] if result else f"they cannot be run, {'; '.join(faults)}"


def _import_all(folder: Path) -> None:
    """Import what tests would only import on their way: whether they reach it can be seen from then on."""
    for path in sorted(folder.rglob("*.py")):
        with suppress(ImportError):  # of a package that is not installed
            importlib.import_module(module_of(path))


def module_of(path: Path) -> str:
    """The name by which a file of the library is imported."""
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def _try_all(items: list[Any], coverage: Coverage, work: Work) -> Outcome:
    outcome = Outcome()
    functions = {path: functions_of(path) for path in {trial.path for trial in work.trials}}
    noticing: dict[Path, list[int]] = {}  # the tests that noticed faults of a file so far, the last one first
    gc.collect()
    gc.freeze()  # so that the copies share the memory
    for number, trial in enumerate(work.trials):
        if number and number % 25 == 0:
            work.show(f"{trial.folder}: {number} of {len(work.trials)}, {outcome.killed} noticed so far")
        codes = faulty_functions(trial.path, trial.mutant.source)
        reaching = coverage.quick(coverage.reaching(trial.lines), work.seconds)
        on_import = codes is None or bool(coverage.on_import & (trial.lines | made_by(trial)))
        if codes and reaching and codes.keys() <= functions[trial.path].keys():
            likely = noticing.get(trial.path, [])
            tried_first = [test for test in likely if test in set(reaching)][:LIKELY]
            order = list(dict.fromkeys(tried_first + reaching))
            attempt = partial(_first_failure, items, order, functions[trial.path], codes)
            since = time.monotonic()
            allowed = 4 + 4 * coverage.time_of(reaching)
            if work.compiled:
                verdict = in_a_process(compiling_anew(attempt), allowed + COMPILING)
            else:
                verdict = in_a_process(attempt, allowed)
            if verdict is not None or not on_import:
                noticed = items[verdict].nodeid if isinstance(verdict, int) else str(verdict or "")
                work.decided(trial, noticed, time.monotonic() - since)
            if verdict is not None:
                outcome.killed += 1
                if isinstance(verdict, int):
                    noticing[trial.path] = [verdict, *(test for test in likely if test != verdict)]
                continue
            if not on_import:
                outcome.survived.append(trial)
                continue
        tests = coverage.quick(coverage.all_tests(str(trial.path)), work.seconds) if on_import else reaching
        names = [items[test].nodeid for test in tests]
        outcome.undecided.append(Undecided(trial, names, coverage.time_of(tests), work.compiled))
    return outcome


def made_by(trial: Trial) -> set[Line]:
    """The lines of the function that makes the function with the fault, if one does.

    What was made at import, such as a decorated function, keeps its code, and nobody sees which of its lines run.
    """
    tree = ast.parse(trial.path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    around = [node for node in functions if node.lineno <= trial.mutant.first <= (node.end_lineno or 0)]
    lines = range(around[0].lineno, (around[0].end_lineno or 0) + 1) if len(around) > 1 else ()
    return {(str(trial.path), line) for line in lines}


def compiling_anew(work: Callable[[], object]) -> Callable[[], object]:
    """The work with an empty folder of machine code: in the usual one lies that of the code without the fault."""

    def done() -> object:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder
            if "numba" in sys.modules:
                sys.modules["numba"].config.CACHE_DIR = folder
            return work()

    return done


def _first_failure(items: list[Any], tests: list[int], functions: Any, codes: Any) -> int | None:
    """The first test that fails with the fault in place, if any does."""
    exchange(functions, codes)
    return next((test for test, passed in run_tests(items, tests) if not passed), None)


def _reached(items: list[Any], work: Work) -> Coverage | str:
    """What each test reaches, but for those that take too long; the name of one, where more than a few fail."""
    found: dict[int, tuple[set[Line], float]] = {}
    longest = min(work.seconds, work.longest)
    for number, item in enumerate(items):
        known = work.known.get(item.nodeid, longest)
        if known is not None:
            found[number] = known
    everything = {line for trial in work.trials for line in trial.lines}
    lines = set() if work.compiled else mark_lines(work.source)
    stopped: list[bool] = []
    failing: list[str] = []

    def stop(*_: object) -> None:
        stopped.append(True)
        raise TooLongError

    def limited(run: Callable[[], None]) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0 if math.isinf(longest) else longest)
        try:
            run()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    signal.signal(signal.SIGPROF, stop)
    for item in items:
        item.runtest = partial(limited, item.runtest)
    running = run_tests(items, [number for number in range(len(items)) if number not in found])
    while True:
        since = processor_seconds()
        test, passed = next(running, (None, True))
        if test is None:
            break
        failed = not passed and not stopped
        failing += [str(items[test].nodeid)] * failed
        if len(failing) * FEW > len(items):
            return failing[0]
        seen = everything if work.compiled else {*lines}
        found[test] = (set(), math.inf) if stopped or failed else (seen, processor_seconds() - since)
        work.known.add(items[test].nodeid, longest, *found[test])
        lines.clear()
        stopped.clear()
    ordered = [found[number] for number in range(len(items))]
    return Coverage(by_test=[lines for lines, _ in ordered], seconds=[taken for _, taken in ordered])


class TooLongError(BaseException):
    """A test takes longer than the tests of a fault may take together."""


def processor_seconds() -> float:
    """Of this process and those it has waited for; unlike the clock it does not count what others do meanwhile."""
    return sum(os.times()[:4])


def run_tests(items: list[Any], tests: Sequence[int]):
    """Run tests in order; the number of each and whether it passed."""
    from _pytest.runner import runtestprotocol

    for test, following in zip_longest(tests, tests[1:]):
        reports = runtestprotocol(items[test], log=False, nextitem=None if following is None else items[following])
        yield test, not any(report.failed for report in reports)


def _pytest(places: Sequence[str], plugins: list[object]) -> int:
    import pytest

    # pytest imports the files named here by itself, without the fault, if it is to rewrite their assertions.
    options = ["-x", "-q", "-s", "-p", "no:cacheprovider", "--assert=plain"]
    return int(pytest.main([*options, *places], plugins=plugins))


def start(work: Callable[[], object], seconds: float | None = None) -> tuple[int, int]:
    """Start some work in a copy of this process, for so much time of a processor; the process and its answer's pipe."""
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    try:
        os.close(reading)
        os.setsid()
        _end_with(parent)
        _quiet_and_bounded(seconds)
        try:
            found = work()
        except BaseException as error:
            found = f"ended with {type(error).__name__}: {error}"
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(pickle.dumps(found))
    finally:
        os._exit(0)


def answer(child: int, reading: int, patience: float | None = None) -> object:
    """What the work returned, or that it ended without: it fell over, or took more seconds than allowed."""
    try:
        with os.fdopen(reading, "rb") as pipe:
            found = pipe.read() if select.select([pipe], [], [], patience)[0] else b""
    finally:
        with suppress(ProcessLookupError):  # it has no group of its own yet where the machine is busy
            os.killpg(child, signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return pickle.loads(found) if found else "ended without an answer"


def in_a_process(work: Callable[[], object], seconds: float | None = None) -> object:
    """What the work returns within so much time of a processor; on a busy machine that takes many times as long."""
    return answer(*start(work, seconds), None if seconds is None else 100 * seconds)


def _end_with(parent: int) -> None:
    """A process in a session of its own outlives an interrupted parent unless the system is told to end it.

    A parent that ended before the system was told sends no signal: the process has another parent then.
    """
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)


def _quiet_and_bounded(seconds: float | None) -> None:
    """No output of the tests, and an end to a fault that asks for all the memory or never ends."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    if seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds)))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
