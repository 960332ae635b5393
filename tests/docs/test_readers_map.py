"""The page that leads from the paper to the code: complete, and every line it quotes is there."""

import re
import sys
from pathlib import Path

import pytest

import whorl

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import readers_map  # noqa: E402

sys.path.remove(str(DOCS))
EQUATIONS, ROWS, PRINCIPLES = (readers_map.entries(kind) for kind in ("equation", "row", "principle"))


@pytest.mark.parametrize(
    "entry", [*EQUATIONS, *ROWS, *PRINCIPLES], ids=lambda entry: str(entry.get("number", entry.get("name")))
)
def test_the_quoted_line_stands_in_the_named_object(entry: dict) -> None:
    place = readers_map.find(entry)
    lines = (DOCS.parent / place.path).read_text(encoding="utf-8").splitlines()
    assert entry["line"] in lines[place.number - 1]


def test_a_line_that_has_gone_is_an_error() -> None:
    gone = EQUATIONS[0] | {"line": "this line stands nowhere"}
    with pytest.raises(LookupError, match="has no line"):
        readers_map.find(gone)


def test_the_page_shows_every_kind() -> None:
    page = (DOCS / "map.rst").read_text(encoding="utf-8")
    kinds = re.findall(r"^\.\. readers-map:: (\w+)$", page, flags=re.MULTILINE)
    assert sorted(kinds) == ["equation", "principle", "row"]
    assert "**(43)**" in readers_map.table("equation")


def test_all_43_equations_are_there() -> None:
    assert [entry["number"] for entry in EQUATIONS] == list(range(1, 44))


def test_all_rows_of_the_table_and_all_principles_are_there() -> None:
    assert [entry["name"] for entry in ROWS] == [row.name for row in whorl.models.ROWS if row.in_table]
    assert [entry["name"] for entry in PRINCIPLES] == [f"Design Principle {n}" for n in (1, 2, 3)]


def test_readme_and_catalogue_give_the_same_equation() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([\w-]+)` \| [^|]+ \| (\(\d+\))?", readme, flags=re.MULTILINE))
    for row in whorl.models.ROWS:
        assert told[row.name] == ("" if row.equation == "none" else row.equation)
