"""What the user wrote: a suite of queries, judgments, rules and limits, read from YAML."""

from __future__ import annotations

from pytest_irquality.suite.model import Bound, Check, Limits, Place, Query, Rule, Suite
from pytest_irquality.suite.reader import load_suite
from pytest_irquality.suite.yaml import SuiteError

__all__ = [
    "Bound",
    "Check",
    "Limits",
    "Place",
    "Query",
    "Rule",
    "Suite",
    "SuiteError",
    "load_suite",
]
