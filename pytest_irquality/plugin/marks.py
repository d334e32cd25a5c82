"""Excuses by pytest's marks, which our reports take over: read from reports here alone.

An item that ended as xfailed is a known issue with the mark's reason. One that was skipped is not
evaluated. One that a strict mark expected to fail, and that passed, is a known issue that is fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import pytest

from pytest_irquality.plugin.internals import why_skipped, why_strict
from pytest_irquality.verdict import SuiteResult, Verdict
from pytest_irquality.verdict.together import judged_together


class Mark(NamedTuple):
    """The end of an item, and the reason that was given."""

    became: Literal["xfailed", "skipped", "fixed"]
    reason: str


def mark_of(report: pytest.TestReport) -> Mark | None:
    """Give the mark that a report shows: only one, or a call to its like, can have caused it."""
    if report.skipped:
        if hasattr(report, "wasxfail"):
            return Mark("xfailed", report.wasxfail.removeprefix("reason: "))
        return Mark("skipped", why_skipped(report))
    passed = report.failed and getattr(report, "ir_passed", False)
    return Mark("fixed", why_strict(report)) if passed else None


def as_ended(results: Sequence[tuple[SuiteResult, Mapping[str, Mark | None]]]) -> list[SuiteResult]:
    """Results as their items ended, with what their suites come to together."""
    return judged_together([excused(result, marks) for result, marks in results])


def excused(result: SuiteResult, marks: Mapping[str, Mark | None]) -> SuiteResult:
    """A result as its items ended, by the names of their checks."""
    if not any(marks.values()):
        return result
    verdicts = tuple(_excused(result.verdicts, marks))
    skipped = (*result.skipped, *_skipped(result, marks))
    return replace(result, verdicts=verdicts, skipped=skipped)


def _excused(verdicts: tuple[Verdict, ...], marks: Mapping[str, Mark | None]) -> Iterator[Verdict]:
    for verdict in verdicts:
        mark = marks.get(verdict.check)
        if mark is None:
            yield verdict
        elif mark.became == "fixed" and verdict.outcome == "passed":
            yield replace(verdict, outcome="fixed", known_issue=mark.reason or "xfail")
        elif mark.became == "xfailed" and verdict.outcome in ("failed", "error", "not evaluated"):
            yield replace(verdict, outcome="known", known_issue=mark.reason or "xfail")
        elif mark.became != "skipped":
            yield verdict


def _skipped(result: SuiteResult, marks: Mapping[str, Mark | None]) -> Iterator[str]:
    """``label (reason)`` of each check that was skipped."""
    for verdict in result.verdicts:
        mark = marks.get(verdict.check)
        if mark and mark.became == "skipped":
            yield f"{verdict.label} ({mark.reason})" if mark.reason else verdict.label
