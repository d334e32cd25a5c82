"""Search-quality regression tests for pytest.

The same path as ``pytest --ir-suite``, from Python: ``check`` is all of it; ``load_suite``,
``retrieve``, ``evaluate`` and ``judge`` are its steps. Imported on first use, so that an installed
but unused plugin costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_irquality.metrics import evaluate, own_measure, parse_measure
    from pytest_irquality.pipeline.check import CheckResult, SearchQualityError, check
    from pytest_irquality.pipeline.judged import NotJudged
    from pytest_irquality.retrieval import retrieve
    from pytest_irquality.storage.jsonl import read_run
    from pytest_irquality.suite import SuiteError, load_suite
    from pytest_irquality.suite.lint import IRQualityWarning
    from pytest_irquality.verdict import judge

__all__ = [
    "CheckResult",
    "IRQualityWarning",
    "NotJudged",
    "SearchQualityError",
    "SuiteError",
    "check",
    "evaluate",
    "judge",
    "load_suite",
    "own_measure",
    "parse_measure",
    "read_run",
    "retrieve",
]

_HOME = {
    "CheckResult": "pipeline.check",
    "SearchQualityError": "pipeline.check",
    "check": "pipeline.check",
    "NotJudged": "pipeline.judged",
    "IRQualityWarning": "suite.lint",
    "SuiteError": "suite",
    "load_suite": "suite",
    "read_run": "storage.jsonl",
    "retrieve": "retrieval",
    "evaluate": "metrics",
    "own_measure": "metrics",
    "parse_measure": "metrics",
    "judge": "verdict",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
