"""Result files keep the contract: the committed ones, and those a run writes."""

import json
import re
from datetime import date
from pathlib import Path

import pytest
from benchmarks.results import Document, documents, path_of, validate

from benchmarks import machine, targets

COMMITTED = list(documents())


@pytest.mark.parametrize(("path", "content"), COMMITTED, ids=[p.stem for p, _ in COMMITTED])
def test_committed_results_follow_the_schema(path: Path, content: dict) -> None:
    validate(content)
    suite, _, device = path.stem.split("--")
    assert (content["suite"], content["device"]) == (suite, device)
    assert content["cases"]


@pytest.mark.parametrize("path", [p for f in targets.EXPERIMENTS for p, _ in documents(f)], ids=lambda p: p.stem)
def test_results_of_experiments_tell_date_and_commit(path: Path) -> None:
    content = json.loads(path.read_text())
    assert date.fromisoformat(content["date"]) >= date(2026, 11, 15)
    assert re.fullmatch(r"[0-9a-f]{7,}\+?", content["commit"])


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    first = Document("speed_grey", "python -m benchmarks speed_grey", folder=tmp_path)
    first.with_case("one", [{"method": "whorl-eed", "best_s": 0.123456789}])
    again = Document("speed_grey", "python -m benchmarks speed_grey", folder=tmp_path)
    assert again.has("one")
    assert not again.has("two")
    again.with_case("two", [{"method": "copy", "best_s": 1.0}])
    stored = json.loads(again.path.read_text())
    assert list(stored["cases"]) == ["one", "two"]
    assert stored["cases"]["one"][0]["best_s"] == 0.12346
    assert list(tmp_path.rglob("*.part")) == []
    assert again.path == path_of("speed_grey", machine.slug(), "cpu", tmp_path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"schema": 0}, "schema 0"),
        ({"machine": {}}, "processor"),
        ({"versions": {"python": "3"}}, "whorl"),
        ({"suite": None}, "suite"),
        ({"date": None}, "date"),
        ({"commit": None}, "commit"),
        ({"cases": {"a": [{"best_s": 1.0}]}}, "without a method"),
        ({"cases": {"a": [{"method": "m", "psnr": float("nan")}]}}, "psnr = nan"),
        ({"cases": {"a": [{"method": "m", "best_s": -1.0}]}}, "negative time"),
    ],
)
def test_a_broken_document_is_refused(tmp_path: Path, change: dict, complaint: str) -> None:
    document = Document("speed_grey", "command", folder=tmp_path)
    with pytest.raises(ValueError, match=complaint):
        validate({**document.content, **change})


def test_the_machine_has_a_name_without_a_host() -> None:
    import platform

    assert machine.slug().endswith("core")
    assert platform.node().lower() not in machine.slug()


def test_a_file_is_as_old_as_the_first_of_its_cases(tmp_path: Path) -> None:
    first = Document("speed_grey", "command", folder=tmp_path)
    first.content |= {"date": "2001-02-03", "commit": "0123abc"}
    first.with_case("one", [{"method": "copy", "best_s": 1.0}])
    again = Document("speed_grey", "command", folder=tmp_path)
    again.with_case("two", [{"method": "copy", "best_s": 1.0}])
    assert (again.content["date"], again.content["commit"]) == ("2001-02-03", "0123abc")
    again.forget()
    assert (again.content["date"], again.content["commit"]) == tuple(machine.origin().values())


def test_files_of_another_package_are_marked_as_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "_package", {"HEAD": "b", "0aaaaaa": "a", "0bbbbbb": "b", "": ""}.get)
    for suite, commit in (("one", "0aaaaaa"), ("two", "0bbbbbb"), ("three", "0bbbbbb+"), ("four", "")):
        document = Document(suite, "command", folder=tmp_path)
        document.content["commit"] = commit
        document.with_case("case", [{"method": "copy", "best_s": 1.0}])
    words = {line.split("--")[0].strip(): line for line in targets.ages(tmp_path).splitlines() if "--" in line}
    assert "OLD" in words["one"]
    assert "of this package" in words["two"]
    assert all("OLD, perhaps" in words[name] for name in ("three", "four"))
