import json
import re
from pathlib import Path
from typing import get_args

from whorl import models
from whorl.cli.options import ModelName


def test_every_model_is_listed_for_people_and_programs(whorl_command):
    answer = whorl_command("models")
    assert answer.code == 0
    rows = json.loads(whorl_command("models", "--json").out)
    assert [row["name"] for row in rows] == models.names()
    for row in rows:
        assert row["name"] in answer.out
        assert row["energy"]
        assert row["use"]
        assert row["pde"].split(" ")[0] in answer.out


def test_one_model_may_be_asked_for_and_a_wrong_name_is_met_with_the_nearest(whorl_command):
    assert "gerig" not in whorl_command("models", "eed").out
    answer = whorl_command("models", "eeed")
    assert answer.code == 2
    assert "did you mean 'eed'" in answer.err


def test_no_other_file_lists_all_models():
    """What is said of a model stands in its row: a new row needs no entry in a table elsewhere."""
    source = Path(models.__file__).parents[1]
    written = {source / "models" / "catalogue.py", source / "page" / "static" / "js" / "catalogue.js"}
    listing = [
        path.name
        for path in (*source.rglob("*.py"), *source.rglob("*.js"))
        if path not in written and all(re.search(rf"\b{name}\b", path.read_text("utf-8")) for name in models.names())
    ]
    assert listing == []


def test_the_shell_completes_the_names_of_models():
    option = get_args(ModelName)[1]
    assert list(option.autocompletion()) == models.names()
