"""Try faults with the nearest tests first, told from the words in them: no test has to run before the first fault.

Which lines run at import nobody looks at: a fault in a function that its own file uses there, and that no test has
noticed, is tried with an import, too. A test that fails is tried once without the fault, too; where it fails there as
well, it has noticed nothing.
"""

import ast
import inspect
import math
import re
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from mmap import mmap
from pathlib import Path
from typing import Any, NamedTuple

from mutation.exchange import FaultyModule, exchange, faulty_functions, functions_of
from mutation.trials import (
    COMPILING,
    Outcome,
    TooLongError,
    Trial,
    Undecided,
    Work,
    compiling_anew,
    in_a_process,
    made_by,
    processor_seconds,
    run_tests,
    run_with_an_import,
)

__all__ = ["by_nearness", "try_near", "with_a_near_import"]

ALIKE = 6
"""So many cases of one parametrised test are tried before all other tests."""
IMPORTED = 60
"""So many tests are tried where the faulty module is imported anew."""


def by_nearness(items: Sequence[Any], trial: Trial) -> list[int]:
    """All tests by what they name: the faulty function counts most, then its file, then all that the file defines."""
    weights = Counter({trial.path.stem: 2})
    for node in ast.parse(trial.path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            weights[node.name.lstrip("_")] += 1
    weights[trial.mutant.function.strip("_")] += 3
    cases: Counter[object] = Counter()
    ranks = []
    for number, item in enumerate(items):
        own, all_words = _words(item.nodeid, item), _words_of(item.path)
        cases[own] += 1
        score = 2 * sum(weights[word] for word in own & weights.keys())
        score += sum(weights[word] for word in all_words & weights.keys()) + 4 * (trial.path.stem in item.path.stem)
        ranks.append((cases[own] > ALIKE, item.path != trial.path, -score, number))
    return [rank[-1] for rank in sorted(ranks)]


def _words(name: str, item: Any) -> frozenset[str]:
    """The words of a test or an example; cases of one test share one set."""
    code = getattr(getattr(item, "function", None), "__code__", name)
    if code not in _KNOWN:
        function = getattr(item, "function", None)
        text = (
            inspect.getsource(function) if function else str(getattr(getattr(item, "dtest", None), "docstring", name))
        )
        _KNOWN[code] = frozenset(re.findall(r"[a-zA-Z]\w*", text)) | {name.partition("[")[0]}
    return _KNOWN[code]


_KNOWN: dict[object, frozenset[str]] = {}


@cache
def _words_of(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"[a-zA-Z]\w*", path.read_text(encoding="utf-8")))


class _End(NamedTuple):
    """How a row of tests ended: the place of the test that failed or took too long, and after how many seconds."""

    place: int
    stopped: bool
    seconds: float


def try_near(items: list[Any], work: Work) -> Outcome:
    """Try every fault of the work in a copy of this process."""
    outcome = Outcome()
    functions = {path: functions_of(path) for path in {trial.path for trial in work.trials}}
    at = mmap(-1, 4096)  # shared: which test of a row runs
    healthy: dict[int, float] = {}  # the seconds of tests that pass without a fault, infinite where they do not

    def passes(test: int) -> float:
        if test not in healthy:
            allowed = 4 * work.longest + COMPILING * work.compiled
            end = in_a_process(_maybe_anew(work, partial(_row, items, [test], work, {}, {}, at)), allowed)
            healthy[test] = end.seconds if isinstance(end, _End) and end.place else math.inf
        return healthy[test]

    noticing: dict[Path, list[int]] = {}  # the tests that noticed faults of a file so far, the last one first

    for trial in work.trials:
        codes = faulty_functions(trial.path, trial.mutant.source)
        likely = noticing.get(trial.path, [])
        order = list(dict.fromkeys(likely + by_nearness(items, trial)))
        noticed, since = "", processor_seconds()
        if codes and codes.keys() <= functions[trial.path].keys():
            left, spent = [test for test in order if healthy.get(test, 0.0) < math.inf], 0.0
            while left and not noticed and spent < work.seconds:
                rest = replace(work, seconds=work.seconds - spent)
                attempt = _maybe_anew(work, partial(_row, items, left, rest, functions[trial.path], codes, at))
                end = in_a_process(attempt, work.seconds + 3 * work.longest + 5 + COMPILING * work.compiled)
                if not isinstance(end, _End):  # it fell over, or was ended inside a test that hears no signal
                    end = _End(int.from_bytes(at[:4], "little"), True, work.longest)
                if end.place < 0:
                    break
                if passes(left[end.place]) < (work.longest / 3 if end.stopped else math.inf):
                    noticed = items[left[end.place]].nodeid
                    noticing[trial.path] = list(dict.fromkeys([left[end.place], *likely]))
                else:
                    left, spent = left[end.place + 1 :], spent + end.seconds
        imported = not noticed and (codes is None or _used_at_import(trial))
        if not imported:
            work.decided(trial, noticed, processor_seconds() - since)
        if noticed:
            outcome.killed += 1
        elif not imported:
            outcome.survived.append(trial)
        else:
            names = [items[test].nodeid for test in order if healthy.get(test, 0.0) < math.inf][:IMPORTED]
            outcome.undecided.append(Undecided(trial, names, work.seconds, work.compiled))
    return outcome


def _used_at_import(trial: Trial) -> bool:
    """Whether the function is named outside of all functions of its file, or makes others."""
    used: set[str] = set()

    def look(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name):
                used.add(child.id)
            if not isinstance(child, ast.FunctionDef):
                look(child)
            else:
                used.update(name.id for part in child.decorator_list for name in ast.walk(part) if hasattr(name, "id"))

    look(ast.parse(trial.path.read_text(encoding="utf-8")))
    return trial.mutant.function in used or bool(made_by(trial))


def _maybe_anew(work: Work, attempt: Any) -> Any:
    return compiling_anew(attempt) if work.compiled else attempt


def _row(items: list[Any], tests: list[int], work: Work, functions: Any, codes: Any, at: Any) -> _End:
    """Tests with the fault in place, until one fails or takes too long, or all have taken their time."""
    exchange(functions, codes)
    stopped: list[bool] = []

    def stop(*_: object) -> None:
        stopped.append(True)
        raise TooLongError

    def limited(place: int, run: Any) -> None:
        at[:4] = place.to_bytes(4, "little")
        signal.setitimer(signal.ITIMER_PROF, 0 if math.isinf(work.longest) else work.longest)
        try:
            run()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    signal.signal(signal.SIGPROF, stop)
    for place, test in enumerate(tests):
        items[test].runtest = partial(limited, place, items[test].runtest)
    since = processor_seconds()
    for place, (_, passed) in enumerate(run_tests(items, tests)):
        if not passed or stopped:
            return _End(place, bool(stopped), processor_seconds() - since)
        if processor_seconds() - since > work.seconds:
            break
    return _End(-1, False, processor_seconds() - since)


def with_a_near_import(undecided: Undecided) -> str:
    """What notices the fault where the module is imported with it, if anything does within its seconds."""
    trial, left = undecided.trial, list(undecided.tests)
    plain = trial.path.read_text(encoding="utf-8")
    while left:
        ended, failed = _imported(undecided, trial.mutant.source, left)
        if ended == 0:
            return ""
        if failed is None:  # the import itself, or a process that came to no end
            return f"with an import: {ended}"
        if _imported(undecided, plain, [failed])[0] == 0:
            return f"with an import: {failed}"
        left.remove(failed)
    return ""


def _imported(undecided: Undecided, source: str, tests: list[str]) -> tuple[object, str | None]:
    """How the tests end with this source in place of the module's, and the one that failed."""
    trial = undecided.trial
    failed: list[str] = []

    class Bounded:
        def pytest_runtest_setup(self) -> None:
            import pytest

            if processor_seconds() > undecided.seconds:
                pytest.skip("the time is up")

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed:
                failed.append(report.nodeid)

    def work() -> tuple[int, str | None]:  # in a process whose seconds begin at zero
        sys.meta_path.insert(0, FaultyModule(trial.module, trial.path, source))
        return run_with_an_import(tests, Bounded()), failed[0] if failed else None

    attempt = compiling_anew(work) if undecided.compiled else work
    found = in_a_process(attempt, 60 + 3 * undecided.seconds + COMPILING * undecided.compiled)
    return found if isinstance(found, tuple) else (found, None)
