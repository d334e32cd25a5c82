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
    """Give measures, made with ``pytest_irquality.own_measure``, to the suites at and below this
    conftest.
    """


@pytest.hookspec
def pytest_ir_perturbations(  # type: ignore[empty-body]
    config: pytest.Config,
) -> Mapping[str, Perturbation]:
    """Give kinds of variants, by name, to the suites at and below this conftest: of a query's text,
    every text that the kind can make of it.
    """
