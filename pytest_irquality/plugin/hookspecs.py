"""The hooks that a project's conftest can implement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_irquality.metrics import Definition


@pytest.hookspec
def pytest_ir_metrics(config: pytest.Config) -> Iterable[Definition]:  # type: ignore[empty-body]
    """Return own metrics, made with ``pytest_irquality.make_own_metric``.

    The suites in and below the folder of the conftest can use them.
    """
