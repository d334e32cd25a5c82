"""Fixtures for all tests, and how hypothesis looks for counterexamples."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

# By default the examples are always the same, so that a test cannot fail by chance, and a loaded
# machine may take its time. `HYPOTHESIS_PROFILE=search` looks for new counterexamples.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", PATIENT, max_examples=30, derandomize=True, database=None)
settings.register_profile("search", PATIENT, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
