"""The totals of a suite that is held out: nothing else of it leaves the process that judged."""

from __future__ import annotations

from dataclasses import replace

from pytest_irquality.verdict.facts import Remark
from pytest_irquality.verdict.findings import Lack
from pytest_irquality.verdict.result import SuiteResult, Verdict

SAID = Remark("this suite shows totals only: no query and no document of it is named")
KEPT = (
    "suite", "path", "retriever", "top_k", "measures", "formulas", "shown", "means", "gated",
    "judged", "returned", "interrupted", "seconds", "version", "entry", "variant", "classes",
    "deselected",
)  # fmt: skip
"""What is of the whole suite. Whatever a result has besides may name a query or a document."""


def totals_of(result: SuiteResult) -> SuiteResult:
    """A result of totals alone, with its verdicts, and why a check was skipped left out."""
    return SuiteResult(
        **{name: getattr(result, name) for name in KEPT},
        queries=(),
        verdicts=tuple(map(_total, result.verdicts)),
        facts=(SAID,),
        skipped=tuple(f"{one.partition(':')[0]}: skipped" for one in result.skipped),
    )


def _total(verdict: Verdict) -> Verdict:
    """A verdict whose findings are of the whole, or of a tag; of queries it has the number."""
    findings = (
        replace(finding, ranked=(), worst=(), lacks=finding.lacks and _without(finding.lacks))
        for finding in verdict.findings
    )
    unanswered = ("",) * len(verdict.unanswered)
    return replace(verdict, findings=tuple(findings), unanswered=unanswered, otherwise=())


def _without(lack: Lack) -> Lack:
    return replace(lack, queries=())
