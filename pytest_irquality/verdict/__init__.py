"""From a suite and a run to verdicts: what held, what broke, and why."""

from __future__ import annotations

from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.verdict.findings import Change, Finding
from pytest_irquality.verdict.judge import judge
from pytest_irquality.verdict.result import (
    Mean,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)
from pytest_irquality.verdict.side_by_side import SideBySide, side_by_side

__all__ = [
    "Baseline",
    "Change",
    "Finding",
    "Mean",
    "QueryResult",
    "ShownDocument",
    "SideBySide",
    "SuiteResult",
    "Verdict",
    "judge",
    "side_by_side",
]
