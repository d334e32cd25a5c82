"""The hooks a project's conftest may implement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_irquality.metrics import Definition


@pytest.hookspec
def pytest_ir_measures(config: pytest.Config) -> Iterable[Definition]:  # type: ignore[empty-body]
    """Give measures to the suites at and below this conftest.

    They are made with ``pytest_irquality.own_measure``.
    """
