"""Results stay those of the golden file; ``record.py`` says how the file is written and mended."""

import json

import pytest

from golden.record import ENGINES, FILE, differences, measured

PACKAGES = {"numba": "numba", "triton": "triton"}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.timeout(900)
def test_results_are_those_of_the_golden_file(engine):
    if engine in PACKAGES:
        pytest.importorskip(PACKAGES[engine])
    kept = json.loads(FILE.read_text())
    assert differences(kept, measured(engine), engine) == []


def test_every_fix_has_its_reason():
    kept = json.loads(FILE.read_text())
    assert all(len(reason) > 20 for reason in kept["fixes"].values())
    assert len(kept["cases"]) > 300
