"""Random cases: a few fixed ones in every run, many fresh ones with ``HYPOTHESIS_PROFILE=long`` (make test-slow)."""

import os

from hypothesis import HealthCheck, Phase, settings

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
    "long", settings.get_profile("quick"), max_examples=2000, derandomize=False, print_blob=True, phases=list(Phase)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
