"""The page of definitions is drawn from the measures, and the committed one is current."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_irquality.metrics import DEFINITIONS
from pytest_irquality.metrics.page import page

from .shared import ROOT


def test_the_committed_page_is_current() -> None:
    committed = (ROOT / "docs/reference/measures.md").read_text(encoding="utf-8")
    assert committed == page(), (
        "run: python -m pytest_irquality.metrics > docs/reference/measures.md"
    )


def test_the_command_prints_it() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "pytest_irquality.metrics"],
        capture_output=True,
        check=True,
        cwd=ROOT,
    ).stdout
    assert printed.decode("utf-8") == page()


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_measure_says_what_it_is(name: str) -> None:
    definition = DEFINITIONS[name]
    assert f"\n## {definition.anchor}\n" in page()
    assert definition.formula in page()
    assert definition.source
    assert definition.undefined
