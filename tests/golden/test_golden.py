"""Results stay those of the golden file; ``record.py`` says how the file is written and mended."""

import json

import pytest

from golden.record import ENGINES, FILE, differences, measured

PACKAGES = {"numba": "numba", "triton": "triton", "export": "onnxruntime"}


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
    assert len(kept["cases"]) > 1000


def test_windows_of_a_large_picture_have_the_bits_of_the_whole():
    cases = json.loads(FILE.read_text())["cases"]
    windows = [name for name in cases if name.endswith(", in windows")]
    assert len(windows) > 10
    for name in windows:
        assert cases[name]["bits"] == cases[name.replace(", in windows", ", whole")]["bits"], name
