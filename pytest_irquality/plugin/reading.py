"""A suite file as it is read within pytest: with what hooks of conftests add."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pytest_irquality.edges.printable import terminal
from pytest_irquality.metrics import Definition, MeasureError
from pytest_irquality.metrics.catalogue import with_own
from pytest_irquality.plugin.planning import PLAN
from pytest_irquality.suite import Suite, SuiteError, load_suite


def loaded(node: pytest.File) -> Suite:
    """Read the suite as its file says it, with the measures of conftests."""
    path = node.config.stash[PLAN].project.shown(node.path)
    if terminal(path) != path or "::" in path:
        raise node.CollectError(
            f"{terminal(path)}: a suite's path may hold no '::' and nothing that a terminal or"
            " CI would act on"
        )
    try:
        return load_suite(
            node.path,
            shown=path,
            definitions=with_own(own_measures(node)),
            allowed=node.config.stash[PLAN].project.allowed(node.path),
        )
    except (SuiteError, MeasureError) as error:
        raise node.CollectError(str(error)) from None


def own_measures(node: pytest.File) -> list[Definition]:
    """Give the measures of conftests. Raises ``MeasureError`` for what is no list of them."""
    own: list[Definition] = []
    for given in node.ihook.pytest_ir_measures(config=node.config):
        measures = [given] if isinstance(given, Definition) else given or ()
        if not isinstance(measures, Iterable) or isinstance(measures, (str, bytes)):
            raise MeasureError(f"pytest_ir_measures must give a list, not {given!r}")
        own += measures
    for measure in own:
        if not isinstance(measure, Definition):
            raise MeasureError(
                f"pytest_ir_measures must give what own_measure makes, not {measure!r}"
            )
    return own
