"""The page of definitions says all of every measure."""

from __future__ import annotations

import pytest

from docs.tools.measures import page
from pytest_irquality.metrics.catalogue import DEFINITIONS


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_measure_says_what_it_is(name: str) -> None:
    definition = DEFINITIONS[name]
    assert f"\n## {definition.name}\n" in page()
    assert definition.formula in page()
    assert definition.source
    assert definition.undefined
