"""The faults are what they say, and the runner tells a noticed one from one that passes."""

import ast
import math
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from mutation import mutate, near
from mutation.coverage import Coverage, lines_run, mark_lines
from mutation.exchange import exchange, faulty_functions, functions_of
from mutation.mutants import mutants
from mutation.near import by_nearness
from mutation.plans import PLANS
from mutation.record import Record
from mutation.results import write_down
from mutation.trials import TooLongError, Trial, Work, answer, made_by, start

from whorl.schemes import fed, fsi

SOURCE = '''
"""A docstring with 3 numbers is left alone."""

__all__ = ["f"]


def f(x: float, low: float = 0.5) -> float:
    """Add 1."""
    if x <= low and not x < 0:
        raise ValueError(f"x = {x + 1} is too small.")
    return max(x.clamp_min(0), -x) / 2 if x > 1 else abs(x) ** 2


class A:
    def extra_repr(self) -> str:
        return "2" if 1 < 2 else "3"
'''


def test_every_kind_of_fault_is_tried():
    found = {(mutant.before, mutant.after) for mutant in mutants(SOURCE)}
    assert {
        ("0.5", "0.525"),
        ("x <= low", "x < low"),
        ("not x < 0", "x < 0"),
        ("x < 0", "x <= 0"),
        ("x <= low and (not x < 0)", "x <= low or not x < 0"),
        ("max(x.clamp_min(0), -x)", "min(x.clamp_min(0), -x)"),
        ("x.clamp_min(0)", "x"),
        ("-x", "x"),
        ("max(x.clamp_min(0), -x) / 2", "max(x.clamp_min(0), -x) * 2"),
        ("abs(x) ** 2", "abs(x) * 2"),
        ("2", "3"),
    } <= found
    assert not any("x + 1" in before or "3 numbers" in before for before, _ in found)  # messages and docstrings
    assert all(mutant.function != "extra_repr" for mutant in mutants(SOURCE))


def test_how_a_figure_looks_is_left_to_people():
    assert [str(mutant) for mutant in mutants("def f(panel):\n    panel.plot([2], lw=3 + 1)")] == [
        "line 2 (f): 2  ->  3"
    ]


def test_each_mutant_differs_from_the_source_in_one_place():
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in mutants(SOURCE):
        lines = mutant.source.splitlines()
        assert len(lines) == len(plain)
        assert sum(one != other for one, other in zip(plain, lines, strict=True)) == 1


def test_faults_in_the_package_parse():
    found = mutate.trials("schemes", sample=20, seed=1)
    assert len(found) == 20
    assert found == mutate.trials("schemes", sample=20, seed=1)
    for trial in found:
        compile(trial.mutant.source, str(trial.path), "exec")
        assert trial.path.is_file()


def test_every_folder_of_the_library_has_its_plan():
    folders = {path.parent.name for path in mutate.SOURCE.glob("*/__init__.py")}
    assert {*PLANS} == folders
    for plan in PLANS.values():
        assert all((mutate.ROOT / place).exists() for place in plan.tests), plan
    drawn = mutate.trials("plugin")
    assert drawn == mutate.trials("plugin")
    assert len(drawn) == PLANS["plugin"].sample
    assert any("space" in path.parts for path in mutate.sources("engines"))
    assert not any("cuda" in path.parts for path in mutate.sources("engines"))


def test_a_row_of_results_takes_the_place_of_the_old_one(tmp_path):
    file = tmp_path / "results.md"
    file.write_text(
        "words\n\n| Folder | Faults |\n| --- | --- |\n| energies | old |\n| models | kept |\n\nmore words\n"
    )
    write_down(
        "energies", 19, 1, ["energies", "--write", "--sample", "20", "--jobs", "1", "--record", "somewhere"], file
    )
    write_down("steps", 3, 0, ["steps"], file)
    before, _, after = file.read_text().partition("| --- | --- |\n")
    rows = after.splitlines()
    assert before.startswith("words")
    assert rows[0].startswith("| energies | 20 | 19 | 1 | 95.0 % | --sample 20 | ")
    assert rows[1].startswith("| steps | 3 | 3 | 0 | 100.0 % | as planned | ")
    assert rows[2:] == ["| models | kept |", "", "more words"]


def test_the_goal_is_95_per_cent_of_the_theory_and_90_of_the_rest():
    better, worse = mutate.Verdict(19, ["one"]), mutate.Verdict(18, ["one", "two"])
    text, reached = mutate.report({"energies": worse, "files": worse})
    assert not reached
    assert text.count("90.0%") == 2
    assert mutate.report({"energies": better, "files": worse})[1]
    assert not mutate.report({"files": mutate.Verdict(17, ["one", "two", "three"])})[1]


def fault(file: str, before: str, after: str) -> Trial:
    path = mutate.SOURCE / file
    found = mutants(path.read_text(encoding="utf-8"))
    return next(Trial("", path, mutant) for mutant in found if (mutant.before, mutant.after) == (before, after))


def test_a_function_gets_its_fault_where_it_is_already_known():
    """Every reference to the function has the fault; what runs once, at import, has no such place."""
    inside = fault("schemes/fsi.py", "4 * k", "4 / k")
    codes = faulty_functions(inside.path, inside.mutant.source)
    right, known = fsi.extrapolation.__code__, fsi.extrapolation
    try:
        exchange(functions_of(inside.path), codes)
        assert known(2) == pytest.approx((4 / 2 + 2) / (2 * 2 + 3))
    finally:
        known.__code__ = right
    constant = fault("diffusivities/base.py", "0.5", "0.525")
    assert faulty_functions(constant.path, constant.mutant.source) is None


def test_coverage_tells_which_tests_reach_a_line():
    with lines_run(str(mutate.SOURCE / "schemes")) as lines:
        fsi.extrapolation(3)
    inside = fault("schemes/fsi.py", "4 * k", "4 / k")
    elsewhere = fault("schemes/fed.py", "4 * length", "4 / length")
    coverage = Coverage(by_test=[set(), lines, lines], seconds=[0.1, 0.3, 0.2])
    assert coverage.reaching(inside.lines) == [2, 1]
    assert coverage.reaching(elsewhere.lines) == []
    assert coverage.all_tests(str(inside.path)) == [2, 1, 0]
    assert coverage.all_tests(str(elsewhere.path)) == [0, 2, 1]


def test_a_function_made_at_import_is_known_by_the_lines_of_its_maker():
    path = mutate.SOURCE / "foundations" / "traced.py"
    text = path.read_text(encoding="utf-8")
    inner, outer = (next(m for m in mutants(text) if m.function == name) for name in ("called", "dim"))
    lines = sorted(line for _, line in made_by(Trial("foundations", path, inner)))
    assert text.splitlines()[lines[0] - 1].startswith("def primitive")
    assert inner.line in lines
    assert made_by(Trial("foundations", path, outer)) == set()


def test_marks_tell_which_statements_run():
    """The same lines as by tracing: the first one of each statement that runs."""

    def by_marks() -> set[tuple[str, int]]:
        lines = mark_lines(mutate.SOURCE / "schemes")
        fsi.extrapolation(3)
        return lines

    with lines_run(str(mutate.SOURCE / "schemes")) as traced:
        fsi.extrapolation(3)
    found = answer(*start(by_marks))
    assert found
    assert found <= traced


def test_the_quickest_tests_fill_the_time_that_is_given():
    coverage = Coverage(by_test=[set()] * 4, seconds=[1.0, 5.0, 2.0, 0.5])
    assert coverage.quick([3, 0, 2, 1], 4) == [3, 0, 2]
    assert coverage.quick([3, 0, 2, 1], math.inf) == [3, 0, 2, 1]


def test_work_in_a_process_has_an_end():
    assert answer(*start(lambda: 7)) == 7
    assert "ZeroDivisionError" in answer(*start(lambda: 1 / 0))
    assert "without an answer" in answer(*start(lambda: time.sleep(60)), patience=0.2)
    assert "without an answer" in answer(*start(lambda: sum(range(10**12)), seconds=1))
    assert "without an answer" in answer(*start(lambda: os.kill(os.getpid(), signal.SIGKILL)))


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system of Linux")
def test_work_ends_with_the_process_that_started_it():
    """Also where that one is killed and has no time for it."""

    def leaves_work_behind() -> int:
        return start(lambda: time.sleep(600))[0]

    left = answer(*start(leaves_work_behind))
    for _ in range(1000):
        try:
            state = Path(f"/proc/{left}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    pytest.fail("It still runs.")


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    """Noticed faults are done with; others, and all faults of a file that has changed, are tried again."""
    one, other, third = mutate.trials("schemes", sample=3, seed=1)
    file = tmp_path / "record"
    Record(file).add(one, noticed="a test", seconds=0.1)
    Record(file).add(other, noticed="", seconds=0.1)
    record = Record(file)
    assert [record.has_noticed(trial) for trial in (one, other, third)] == [True, False, False]
    assert not record.has_noticed(replace(one, mutant=replace(one.mutant, source=one.mutant.source + "\nx = 1")))
    assert mutate.judge_in_parallel("schemes", [one], 1, print, record).killed == 1
    assert not Record(None).has_noticed(one)


def test_what_tests_reach_is_known_until_they_may_take_longer(tmp_path):
    test, line = (
        "tests/test_mutants.py::test_faults_in_the_package_parse",
        str(mutate.SOURCE / "schemes/fed.py"),
    )
    record = Record(tmp_path / "record")
    record.tests.add(test, 2.0, {(line, 3), (line, 7)}, 0.5)
    assert record.tests.get(test, 9.0) == ({(line, 3), (line, 7)}, 0.5)
    assert record.tests.get("tests/test_mutants.py::other", 9.0) is None
    record.tests.add(test, 2.0, set(), math.inf)
    assert record.tests.get(test, 2.0) == (set(), math.inf)
    assert record.tests.get(test, 2.1) is None
    assert Record(None).tests.get(test, 2.0) is None


def test_the_nearest_tests_are_tried_first(tmp_path):
    """Examples in the file, then tests that name the function; of one test not all cases before the others."""
    path, trial = mutate.SOURCE / "schemes/fed.py", next(t for t in mutate.trials("schemes") if t.path.stem == "fed")

    def names_it():
        return fed, trial.mutant.function

    def names_nothing():
        return 1

    def item(path, function=None, case=0):
        return SimpleNamespace(path=path, function=function, nodeid=f"{path}::{function}[{case}]")

    other, own = tmp_path / "test_far.py", tmp_path / "test_fed.py"
    other.write_text("# of something else")
    own.write_text("# of fed")
    items = [item(other, names_nothing), *(item(own, names_it, case) for case in range(8)), item(path)]
    assert by_nearness(items, trial) == [9, 1, 2, 3, 4, 5, 6, 0, 7, 8]


def test_rows_of_tests_end_at_the_first_failure_or_when_their_time_is_over():
    def run_row(*tests, seconds=9.0, longest=9.0):
        """Tests by number: 0 fails, 1 passes, 2 never ends."""
        work = Work("schemes", (), (), print, lambda *_: None, None, seconds, longest)
        return answer(
            *start(
                lambda: near._row([Item(number) for number in tests], [*range(len(tests))], work, {}, {}, bytearray(4))
            )
        )

    class Item:
        def __init__(self, number):
            self.number = number

        def runtest(self):
            while self.number == 2:
                pass
            assert self.number

    def run_tests(items, tests):
        for test in tests:
            try:
                items[test].runtest()
            except (AssertionError, TooLongError):
                yield test, False
            else:
                yield test, True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "run_tests", run_tests)
        assert run_row(1, 1, 0, 1)[:2] == (2, False)
        assert run_row(1, 2, 0, longest=0.2)[:2] == (1, True)
        assert run_row(1, 1)[:2] == (-1, False)
        assert run_row(1, 0, seconds=-1.0)[:2] == (-1, False)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_fault_is_noticed_and_a_change_of_nothing_is_not():
    """Inside a function and in what runs at import; without a fault all tests pass."""
    inside, imported = fault("energies/energy.py", "0.5", "0.525"), fault("energies/energy.py", "1", "2")
    plain = ast.unparse(ast.parse(inside.path.read_text(encoding="utf-8")))
    nothing = Trial("energies", inside.path, replace(imported.mutant, source=plain))
    for near_first in (False, True):
        verdict = mutate.judge("energies", [inside, nothing], lambda text: None, near=near_first)
        assert verdict.killed == 1
        assert len(verdict.survived) == 1


def test_the_list_of_changes_without_effect_is_up_to_date():
    """Each is a change that would be tried, and says why it is not."""
    listed = mutate.equivalent()
    assert len(set(listed)) == len(listed)
    for file in {entry.file for entry in listed}:
        tried = list(mutants((mutate.SOURCE / file).read_text(encoding="utf-8"), written=()))
        for entry in listed:
            assert entry.file != file or any(entry.means(file, mutant) for mutant in tried), entry
    assert all(entry.why.endswith(".") for entry in listed)
