"""Search-quality regression tests for pytest.

The same path as ``pytest --ir-suite``, from Python: ``load_suite``, ``retrieve``, ``evaluate``,
``judge``. Imported on first use, so that an installed but unused plugin costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_irquality.metrics import evaluate, own_measure, parse_measure
    from pytest_irquality.retrieval import retrieve
    from pytest_irquality.storage.jsonl import read_run
    from pytest_irquality.suite import SuiteError, load_suite
    from pytest_irquality.suite.lint import IRQualityWarning
    from pytest_irquality.verdict import judge

__all__ = [
    "IRQualityWarning",
    "SuiteError",
    "evaluate",
    "judge",
    "load_suite",
    "own_measure",
    "parse_measure",
    "read_run",
    "retrieve",
]

_HOME = {
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
