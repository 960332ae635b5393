"""JSON for programs: what is not finite is null when written, and refused when read."""

import json
import math

import pytest

from whorl.foundations.strict_json import parsed_json, strict_json


def test_numbers_that_are_not_finite_become_null_and_all_else_stays():
    value = {"a": [1, 2.5, math.nan], "b": (math.inf, "text", None, True), "c": {"d": -math.inf}}
    assert json.loads(strict_json(value)) == {"a": [1, 2.5, None], "b": [None, "text", None, True], "c": {"d": None}}


@pytest.mark.parametrize("text", ['{"steps": Infinity}', "[NaN]", "[1e999]", "[-1e999]", "[" * 100_000])
def test_what_no_strict_reader_takes_is_refused(text):
    with pytest.raises(ValueError, match="no finite number|nested too deeply"):
        parsed_json(text)
    assert parsed_json('{"a": [1, 2.5, "Infinity"]}') == {"a": [1, 2.5, "Infinity"]}
