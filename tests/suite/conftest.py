"""Fixtures for tests of suites."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.suite.helpers import SuiteFolder


@pytest.fixture
def folder(tmp_path: Path) -> SuiteFolder:
    return SuiteFolder(tmp_path)
