import json

from whorl import models
from whorl.cli.models import USES


def test_every_model_is_listed_for_people_and_programs(whorl_command):
    answer = whorl_command("models")
    assert answer.code == 0
    rows = json.loads(whorl_command("models", "--json").out)
    assert [row["name"] for row in rows] == models.names() == list(USES)
    for row in rows:
        assert row["name"] in answer.out
        assert row["energy"]
        assert row["use"]
