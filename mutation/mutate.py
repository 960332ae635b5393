"""``make mutate``: put one deliberate fault after another into a folder and see whether the tests notice.

Nothing on the disk changes. Each fault is tried in a process of its own, with the tests that run the faulty line.
"""

import argparse
import math
import os
import random
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mutation.mutants import Mutant, mutants
from mutation.near import with_a_near_import
from mutation.plans import PLANS
from mutation.record import Record
from mutation.results import write_down
from mutation.trials import ROOT, Trial, Work, answer, in_copies, start, with_an_import

SOURCE = ROOT / "src" / "whorl"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
"""Changes that leave every result as it was, each with the reason; they are not tried."""


@dataclass
class Verdict:
    """What became of the faults of one folder."""

    killed: int = 0
    survived: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.killed / max(1, self.killed + len(self.survived))


def sources(folder: str) -> dict[Path, str]:
    """The files that get faults."""
    return {
        path: path.read_text(encoding="utf-8")
        for path in sorted((SOURCE / folder).rglob("*.py"))
        if not path.relative_to(SOURCE).as_posix().startswith(PLANS[folder].without or "/")
    }


def trials(folder: str, sample: int | None = None, seed: int | None = None) -> list[Trial]:
    """The faults that the folder's plan asks for, or a sample of so many; 0 is all of them."""
    plan, texts, known = PLANS[folder], sources(folder), equivalent()
    found = [
        (path, number)
        for path, text in texts.items()
        for number, mutant in enumerate(mutants(text, written=()))
        if not any(entry.means(path.relative_to(SOURCE).as_posix(), mutant) for entry in known)
    ]
    sample = plan.sample if sample is None else sample
    if 0 < sample < len(found):
        found = sorted(random.Random(plan.seed if seed is None else seed).sample(found, sample))
    chosen = {path: {number for place, number in found if place == path} for path in texts}
    return [
        Trial(folder, path, mutant)
        for path, numbers in chosen.items()
        for number, mutant in enumerate(mutants(texts[path], written=numbers))
        if number in numbers
    ]


@dataclass(frozen=True)
class Equivalent:
    """A change without effect: the file and function it is in, both of its sides, and why.

    Where a function holds the same words several times: a part of the statement, and which of them in it.
    """

    file: str
    function: str
    before: str
    after: str
    why: str
    within: str = ""
    nth: int = 0

    def means(self, file: str, mutant: Mutant) -> bool:
        """Whether a fault is this change."""
        where = (file, mutant.function, mutant.before, mutant.after)
        meant = where == (self.file, self.function, self.before, self.after) and self.within in mutant.statement
        return meant and self.nth in (0, mutant.nth)


def equivalent() -> list[Equivalent]:
    """The changes without effect."""
    return [Equivalent(**entry) for entry in tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["change"]]


def judge(
    folder: str,
    chosen: Sequence[Trial],
    show: Callable[[str], None],
    record: Record | None = None,
    seconds: float = math.inf,
    longest: float = math.inf,
    near: bool = False,
) -> Verdict:
    """Run the trials of one folder; each is recorded as soon as it is decided."""

    def decided(trial: Trial, noticed: str, took: float) -> None:
        if record is not None:
            record.add(trial, noticed, took)
        if not noticed:
            show(f"survived: {trial}")

    known = (record or Record(None)).tests
    plan = PLANS[folder]
    places = [f"src/whorl/{folder}", *plan.tests]
    outcome = in_copies(Work(folder, places, chosen, show, decided, known, seconds, longest, plan.compiled, near))
    verdict = Verdict(outcome.killed, [str(trial) for trial in outcome.survived])
    show(f"{folder}: {outcome.killed} noticed in copies, {len(outcome.undecided)} to be tried with an import")
    for undecided in outcome.undecided:
        since = time.monotonic()
        noticed = (with_a_near_import if near else with_an_import)(undecided)
        decided(undecided.trial, noticed, time.monotonic() - since)
        if noticed:
            verdict.killed += 1
        else:
            verdict.survived.append(str(undecided.trial))
    return verdict


def judge_in_parallel(
    folder: str,
    chosen: Sequence[Trial],
    jobs: int,
    show: Callable[[str], None],
    record: Record,
    seconds: float = math.inf,
    longest: float = math.inf,
    near: bool = False,
) -> Verdict:
    """Deal the trials of one folder out to several processes."""
    untried = [trial for trial in chosen if not record.has_noticed(trial)]
    shares = [untried[job::jobs] for job in range(min(jobs, len(untried)))]
    running = [
        start(lambda share=share: judge(folder, share, show, record, seconds, longest, near)) for share in shares
    ]
    total = Verdict(killed=len(chosen) - len(untried))
    for process in running:
        verdict = answer(*process)
        if not isinstance(verdict, Verdict):
            raise SystemExit(f"The trials of {folder} {verdict}.")
        total.killed += verdict.killed
        total.survived += verdict.survived
    return total


def report(verdicts: dict[str, Verdict]) -> tuple[str, bool]:
    """A line for each folder, and whether each reaches the goal."""
    lines = [
        f"{folder:14} {verdict.killed:5} killed {len(verdict.survived):4} survived  {verdict.share:6.1%}"
        f"  (goal {PLANS[folder].goal:.0%})"
        for folder, verdict in verdicts.items()
    ]
    return "\n".join(lines), all(verdict.share >= PLANS[folder].goal for folder, verdict in verdicts.items())


def main(words: Sequence[str] | None = None) -> int:
    """What the command line asks for; 0 where every folder reaches the goal."""
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", choices=[*PLANS, []], help="which folders; all by default")
    parser.add_argument("--sample", type=int, help="this many faults from each folder; 0 for all; else as in plans.py")
    parser.add_argument("--seed", type=int, help="of the sample; else as in plans.py")
    parser.add_argument("--write", action="store_true", help="write the shares into results.md, with date and commit")
    parser.add_argument(
        "--record", type=Path, help="a file of what is decided; faults it knows as noticed are not tried again"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=math.inf,
        help="for each fault, only the quickest tests that take so long together",
    )
    parser.add_argument("--longest", type=float, default=math.inf, help="no test that takes longer than this")
    parser.add_argument("--near", action="store_true", help="run no test ahead: the nearest first, for so many seconds")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    chosen = parser.parse_args(words)
    kept = chosen.record and chosen.record.resolve()
    os.environ["OMP_NUM_THREADS"] = "1"
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT)]
    # Loaded once for all trials; nothing of whorl is, since each trial imports its own.
    import hypothesis
    import numpy as np  # noqa: F401
    import pytest  # noqa: F401
    import torch

    # A generated case that fails is enough; the search for the simplest one takes far longer.
    hypothesis.settings.register_profile(
        "faults", phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate], derandomize=True, database=None
    )
    hypothesis.settings.load_profile("faults")
    torch.set_num_threads(1)
    folders = chosen.folders or list(PLANS)
    screen = os.dup(1)  # the processes of the trials are silent
    verdicts = {}
    for folder in folders:
        # What a test reaches is written down for one folder alone: each has a file of its own.
        record = Record(kept and kept.with_name(f"{kept.name}.{folder}"), folder)
        found = trials(folder, chosen.sample, chosen.seed)
        print(f"{folder}: {len(found)} faults", flush=True)
        verdicts[folder] = judge_in_parallel(
            folder,
            found,
            chosen.jobs,
            lambda text: os.write(screen, f"{text}\n".encode()),
            record,
            chosen.seconds,
            chosen.longest,
            chosen.near,
        )
        if chosen.write:
            write_down(folder, verdicts[folder].killed, len(verdicts[folder].survived), words or sys.argv[1:])
    text, reached = report(verdicts)
    print(text)
    print(f"The goals of these folders are {'reached' if reached else 'missed'}.")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
