"""Whorl of this tree beside another one, such as an earlier commit: ``python -m benchmarks.compare OTHER_TREE``.

Two processes stay alive, one with the ``src`` of each tree, and take turns of a few hundredths of a second: what else
the machine does hits both alike. The order changes with every round, and the first call of a turn is not counted. The
figure is the median, over all rounds, of the best time here over the best time there: below 1, this tree is faster.
Where memory comes to lie differs between processes, so that every case is measured by several pairs of them. On a busy
machine the ratio of processor times is the steadier one.
"""

import argparse
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.compare_cases import cases
from benchmarks.machine import cores
from benchmarks.results import FOLDER, Document
from benchmarks.suite import Rows
from benchmarks.table import render
from benchmarks.threads import use_threads

__all__ = ["compare", "main"]

_ROOT = Path(__file__).parents[1]
_TURN_S = 0.03
_FEWEST, _MOST = 4, 50  # rounds for each pair of processes
Seconds = tuple[float, float]  # by the clock, and of all processors together
Round = tuple[list[Seconds], list[Seconds]]
TITLE = "This tree beside another: times, and the median ratio of a turn here to a turn there"


class Worker:
    """A process that has the whorl of one tree, and times calls when asked."""

    def __init__(self, tree: Path, threads: int) -> None:
        path = os.pathsep.join((str(tree / "src"), str(_ROOT)))
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.compare", "--worker", "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": path},
        )
        home = self.ask("home")
        if not Path(home).is_relative_to(tree / "src"):
            raise RuntimeError(f"{tree}: the process has imported whorl from {home}.")

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.__exit__(None, None, None)  # closes the pipes, at which the process ends, and waits for it

    def ask(self, *question: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(question), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"A process ended when asked for {question}; see its message above.")
        return json.loads(answer)


def serve(threads: int) -> None:
    """Answer on standard output: the home of whorl, the seconds of a first call, the seconds of each of n calls."""
    import whorl

    answers, sys.stdout = sys.stdout, sys.stderr
    known: dict[str, Any] = cases()
    call: Any = None
    for line in sys.stdin:
        what, *rest = json.loads(line)
        if what == "home":
            found: Any = whorl.__file__
        elif what == "case":
            call = known[rest[0]]()
            use_threads(threads)
            call()
            found = _seconds(call)
        else:
            found = [_seconds(call) for _ in range(rest[0])]
        print(json.dumps(found), file=answers, flush=True)


def _seconds(call: Any) -> Seconds:
    used, begun = _processor_time(), perf_counter()
    call()
    return perf_counter() - begun, _processor_time() - used


def _processor_time() -> float:
    """Seconds that processors have worked for this process, all its threads, and the processes it has started."""
    both = (getrusage(whom) for whom in (RUSAGE_SELF, RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def compare(case: str, here: Worker, there: Worker, budget_s: float) -> list[Round]:
    """The seconds of the calls of all rounds, here and there."""
    each = max(worker.ask("case", case)[0] for worker in (here, there))
    calls = 1 + max(1, min(200, round(_TURN_S / each))) if each < 10 * _TURN_S else 1
    rounds = max(_FEWEST, min(_MOST, round(budget_s / (2 * calls * each))))
    found = []
    for turn in range(rounds):
        first, second = (here, there) if turn % 2 == 0 else (there, here)
        times = {worker: worker.ask("times", calls)[calls > 1 :] for worker in (first, second)}
        found.append((times[here], times[there]))
    return found


def as_row(case: str, rounds: list[Round]) -> dict[str, Any]:
    here, there = ([wall for times in side for wall, _ in times] for side in zip(*rounds, strict=True))
    return {
        "method": case,
        "here_best_s": min(here),
        "here_median_s": median(here),
        "there_best_s": min(there),
        "there_median_s": median(there),
        "to_there_best": min(here) / min(there),
        "to_there": median(_best(ours, 0) / _best(theirs, 0) for ours, theirs in rounds),
        "to_there_cpu": median(_best(ours, 1) / _best(theirs, 1) for ours, theirs in rounds),
        "repeats": len(rounds),
    }


def _best(times: list[Seconds], which: int) -> float:
    return max(min(each[which] for each in times), 1e-6)


def _commit(tree: Path) -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(tree), *words], capture_output=True, text=True).stdout.strip()

    return (git("rev-parse", "--short", "HEAD") or "no commit") + (" and changes" if git("status", "--short") else "")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("tree", nargs="?", type=Path, help="root of the other tree, which has src/whorl")
    parser.add_argument("--case", action="append", metavar="TEXT", help="only cases whose name contains one of these")
    parser.add_argument("--pairs", type=int, default=3, help="how many pairs of processes measure each case")
    parser.add_argument("--budget", type=float, default=1.0, metavar="SECONDS", help="for each case and pair")
    parser.add_argument("--threads", type=int, default=min(2, cores()), help="of both processes")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the result file")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        return serve(given.threads)
    if given.tree is None or not (given.tree / "src" / "whorl").is_dir():
        parser.error(f"OTHER_TREE = {given.tree}: give the root of another tree, with a folder src/whorl.")
    there, wanted = given.tree.resolve(), given.case or [""]
    document = Document("compare", "python -m benchmarks.compare OTHER_TREE", folder=given.out)
    document.forget()
    document.content["commits"] = {"here": _commit(_ROOT), "there": _commit(there)}
    found: dict[str, list[Round]] = {}
    for pair in range(given.pairs):
        with ExitStack() as stack:
            ours, theirs = (stack.enter_context(Worker(tree, given.threads)) for tree in (_ROOT, there))
            for case in (name for name in cases() if any(text in name for text in wanted)):
                found.setdefault(case, []).extend(compare(case, ours, theirs, given.budget))
                row = as_row(case, found[case])
                print(f"{pair + 1}/{given.pairs} {case}: {row['to_there']:.3f}", file=sys.stderr, flush=True)
        rows: Rows = [as_row(case, rounds) for case, rounds in found.items()]
        document.with_case(f"{document.content['commits']['here']} beside {document.content['commits']['there']}", rows)
    print(render(document.content, TITLE, document.path))


if __name__ == "__main__":
    main()
