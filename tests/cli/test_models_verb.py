import json

from whorl import models
from whorl.cli.uses import USES


def test_every_model_is_listed_for_people_and_programs(whorl_command):
    answer = whorl_command("models")
    assert answer.code == 0
    rows = json.loads(whorl_command("models", "--json").out)
    assert [row["name"] for row in rows] == models.names() == list(USES)
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
