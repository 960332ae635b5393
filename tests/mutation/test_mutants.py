"""The faults are what they say, and the runner tells a noticed one from one that passes."""

import ast
import tomllib

import pytest

from mutation import mutate
from mutation.mutants import mutants

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


def test_each_mutant_differs_from_the_source_in_one_place():
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in mutants(SOURCE):
        lines = mutant.source.splitlines()
        assert len(lines) == len(plain)
        assert sum(one != other for one, other in zip(plain, lines, strict=True)) == 1


def test_faults_in_the_package_parse():
    found = mutate.trials(["schemes"], sample=20, seed=1)
    assert len(found) == 20
    assert found == mutate.trials(["schemes"], sample=20, seed=1)
    for trial in found:
        compile(trial.mutant.source, str(trial.path), "exec")
        assert trial.path.is_file()


def test_the_goal_is_95_per_cent_of_every_folder():
    verdicts = {"a": mutate.Verdict(19, ["one"]), "b": mutate.Verdict(18, ["one", "two"])}
    text, reached = mutate.report(verdicts)
    assert not reached
    assert "95.0%" in text
    assert "90.0%" in text
    assert mutate.report({"a": verdicts["a"]})[1]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_fault_is_noticed_and_a_change_of_nothing_is_not(tmp_path):
    path = mutate.SOURCE / "schemes" / "fsi.py"
    trial = next(
        mutate.Trial("schemes", path, mutant)
        for mutant in mutants(path.read_text(encoding="utf-8"))
        if mutant.before == "4 * k"
    )
    plain = ast.unparse(ast.parse(path.read_text(encoding="utf-8")))
    nothing = mutate.Trial("schemes", path, mutate.Mutant(0, "module", "", "", plain))
    verdict = mutate.judge([trial, nothing], 1, {"schemes": 600.0}, lambda text: None)["schemes"]
    assert verdict.killed == 1
    assert len(verdict.survived) == 1


def test_the_list_of_changes_without_effect_is_up_to_date():
    """Each is a change that would be tried, and says why it is not."""
    for file, function, before, after in mutate.equivalent():
        source = (mutate.SOURCE / file).read_text(encoding="utf-8")
        assert any((m.function, m.before, m.after) == (function, before, after) for m in mutants(source)), (
            file,
            before,
        )
    assert all(entry["why"].endswith(".") for entry in tomllib.loads(mutate.EQUIVALENT.read_text())["change"])
