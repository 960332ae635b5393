"""Random cases: a few fixed ones in every run, many fresh ones with ``HYPOTHESIS_PROFILE=long`` (make test-slow).

The long hunt tries ``HYPOTHESIS_CASES`` cases in each test, a tenth of that in tests that take many steps for a case,
and says twenty times how many were tried so far and how long it took.
"""

import functools
import os
import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings

CASES = int(os.environ.get("HYPOTHESIS_CASES", "500"))
settings.register_profile(
    "quick",
    max_examples=30,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
settings.register_profile(
    "long", settings.get_profile("quick"), max_examples=CASES, derandomize=False, print_blob=True, phases=list(Phase)
)
LONG = os.environ.get("HYPOTHESIS_PROFILE", "quick") == "long"
settings.load_profile("long" if LONG else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the tests of the long hunt count their cases."""
    for item in items if LONG else []:
        test = getattr(item, "obj", None)
        hunted = getattr(test, "hypothesis", None)
        if hunted is not None and not hasattr(hunted.inner_test, "counted"):  # parameters share one
            most = test._hypothesis_internal_use_settings.max_examples
            hunted.inner_test = counted(hunted.inner_test, most, config)


def counted(test: Callable[..., None], most: int, config: pytest.Config) -> Callable[..., None]:
    """The test, which tells now and then how many cases were tried."""
    tried, began = 0, time.monotonic()

    @functools.wraps(test)
    def one(*positional: object, **named: object) -> None:
        nonlocal tried, began
        began = began if tried else time.monotonic()
        tried += 1
        if tried % max(1, most // 20) == 0:
            capture = config.pluginmanager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled():
                print(f"\n{test.__name__}: {tried} of {most} cases, {time.monotonic() - began:.0f} s", flush=True)
        test(*positional, **named)

    one.counted = True  # type: ignore[attr-defined]
    return one
