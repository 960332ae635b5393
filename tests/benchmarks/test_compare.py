"""Two trees side by side: processes that take turns, and ratios of their turns."""

import json
from pathlib import Path

import pytest
from benchmarks.compare import as_row, main
from benchmarks.compare_cases import cases
from benchmarks.results import validate

ROOT = Path(__file__).parents[2]


def test_a_tree_is_compared_with_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(ROOT), "--case", "import whorl", "--pairs", "1", "--budget", "0", "--out", str(tmp_path)])
    (path,) = tmp_path.rglob("*.json")
    content = json.loads(path.read_text())
    validate(content)
    assert content["commits"]["here"] == content["commits"]["there"]
    ((row,),) = content["cases"].values()
    assert row["method"] == "import whorl"
    assert row["repeats"] >= 4
    assert 0 < row["here_best_s"] <= row["here_median_s"]
    assert row["to_there_best"] == pytest.approx(row["here_best_s"] / row["there_best_s"], rel=1e-3)
    assert "import whorl" in capsys.readouterr().out


def test_the_figure_is_the_median_of_the_rounds() -> None:
    """One round that something else disturbed does not count; the best of all calls would not tell."""
    rounds = [([2.0, 3.0], [1.0, 4.0]), ([2.0, 2.0], [2.0, 8.0]), ([9.0, 9.0], [1.0, 1.0])]
    row = as_row("a case", [([(wall, 3.0) for wall in a], [(wall, 2.0) for wall in b]) for a, b in rounds])
    assert row["to_there_cpu"] == 1.5
    assert (row["to_there"], row["to_there_best"]) == (2.0, 2.0)
    assert (row["here_best_s"], row["there_best_s"], row["there_median_s"]) == (2.0, 1.0, 1.5)


def test_a_folder_without_whorl_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "src/whorl" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["eed, 64², one step", "weickert-brox, 64², five steps", "whorl.diffuse, array 256²"])
def test_cases_can_be_called(name: str) -> None:
    assert cases()[name]()() is not None
