"""Fixtures for random weeks."""

from __future__ import annotations

import pytest

from tests.project import Project


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(pytester, monkeypatch)
