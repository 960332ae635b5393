"""Tests with something costly in common run in one process, so that it is made once."""

import pytest


@pytest.mark.xdist_group("groups")
def test_the_scheduler_sees_the_groups(request: pytest.FixtureRequest) -> None:
    """It reads them off the ends of names, where pytest-xdist 3.8 writes them in vain with pytest 9.2."""
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("not run with --dist loadgroup")
    assert request.node.nodeid.endswith("@groups"), 'pip install "pytest<9.2"'


def test_the_tests_of_a_file_stay_together(request: pytest.FixtureRequest) -> None:
    group = request.node.get_closest_marker("xdist_group")
    assert group is not None
    assert group.args == ("tests/test_groups",)
