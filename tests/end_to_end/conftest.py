"""Fixtures for tests of complete builds."""

from __future__ import annotations

import pytest

from tests.end_to_end.shop import Shop


@pytest.fixture
def shop(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Shop:
    return Shop(pytester, monkeypatch)
