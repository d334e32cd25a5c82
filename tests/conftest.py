"""Fixtures for all tests, and how hypothesis looks for counterexamples."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

# By default the examples are always the same, so that a test cannot fail by chance, and a loaded
# machine may take its time. `HYPOTHESIS_PROFILE=search` looks for new counterexamples.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", PATIENT, max_examples=30, derandomize=True, database=None)
settings.register_profile("search", PATIENT, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Services of CI, git and pytest say in variables what they want, which would change results.
FOREIGN_VARIABLES = (
    *("CI", "GIT", "BUILD_", "TF_BUILD", "JENKINS_", "TEAMCITY_", "BUILDKITE"),
    *("PYTEST_ADDOPTS", "COLUMNS", "NO_COLOR", "FORCE_COLOR"),
)


@pytest.fixture(autouse=True, scope="session")
def neutral_environment() -> Iterator[None]:
    """Remove the variables that a machine may have."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(FOREIGN_VARIABLES):
                patch.delenv(name)
        yield
