"""From a suite and a run to verdicts: what held, what broke, and why."""

from __future__ import annotations

from pytest_irquality.verdict.judge import judge
from pytest_irquality.verdict.result import (
    Baseline,
    Change,
    Finding,
    Mean,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)

__all__ = ["Baseline", "Change", "Finding", "Mean", "QueryResult", "ShownDocument", "SuiteResult", "Verdict", "judge"]
