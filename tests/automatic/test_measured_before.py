"""Measurements and settings of some pictures stay what they were; ``measured_before.py`` says how they change."""

import pytest

from automatic.measured_before import kept, measurements, pictures

PICTURES = pictures()


@pytest.mark.parametrize("name", PICTURES)
def test_what_is_measured_is_what_was_measured_before(name):
    """To six digits: sums of float32 are rounded in other ways on other processors."""
    expected = {what: row for what, row in kept().items() if what.startswith(f"{name}: ")}
    found = {f"{name}: {what}": row for what, row in measurements(name, PICTURES[name])}
    assert found.keys() == expected.keys()
    for what, row in found.items():
        assert row == pytest.approx(expected[what], rel=1e-6, abs=1e-6 * max(map(abs, row), default=1.0)), what
