"""The hooks a project's conftest may implement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_irquality.metrics import Definition
    from pytest_irquality.suite.perturb import Perturbation


@pytest.hookspec
def pytest_ir_measures(config: pytest.Config) -> Iterable[Definition]:  # type: ignore[empty-body]
    """Give measures to the suites at and below this conftest.

    They are made with ``pytest_irquality.own_measure``.
    """


@pytest.hookspec
def pytest_ir_perturbations(  # type: ignore[empty-body]
    config: pytest.Config,
) -> Mapping[str, Perturbation]:
    """Give kinds of variants, by name, to the suites at and below this conftest.

    A kind is a function: of a query's text, every text that the kind can make of it.
    """
