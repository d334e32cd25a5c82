"""The JSON report of ``--ir-json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_irquality.edges.codec import changed
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.ledger import Ledger
from pytest_irquality.verdict.result import Exam, QueryResult, SuiteResult, Verdict
from pytest_irquality.verdict.shown import ShownDocument
from pytest_irquality.wording.notes import notes
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import sentence, warnings
from pytest_irquality.wording.story import End, Story

VERSION: Literal[1] = 1


@dataclass(frozen=True)
class Timing:
    """The times of one suite and retriever, which differ between runs that are equal otherwise.

    ``seconds`` is the time spent retrieving, ``queries`` that of each query's call by its id.
    """

    path: str
    retriever: str
    seconds: float
    queries: dict[str, float | None]


@dataclass(frozen=True)
class Report:
    """The whole document.

    ``not_evaluated`` names the suites that were collected and have no result, ``left_out`` those
    of which nothing was meant to be judged: skipped, or deselected. "partial": nothing failed, and
    not all was asked, answered and judged.
    """

    version: Literal[1]
    outcome: End
    suites: tuple[SuiteResult, ...]
    not_evaluated: tuple[str, ...]
    left_out: tuple[str, ...]
    timing: tuple[Timing, ...]


LEFT_OUT: Mapping[type, Sequence[str]] = {
    SuiteResult: ["seconds", "texts", "fields", "classes", "deselected", "share", "again"],
    Exam: ["queries", "means", "share"],
    QueryResult: ["seconds"],
    ShownDocument: ["chunk", "score"],
}
"""Fields that it has under ``timing`` only, and what kept runs have: whole texts and scores."""


SAID: Mapping[type, Mapping[str, Any]] = {
    Finding: {"text": str},
    Verdict: {"reason": str},
    SuiteResult: {
        "outcome": End,
        "headline": str,
        "ledger": Ledger,
        "notes": tuple[str, ...],
        "warnings": tuple[str, ...],
    },
}
"""What the document says in words, or for short, besides the facts: each word with its type."""


def document(
    results: Sequence[SuiteResult], not_evaluated: Sequence[str], left_out: Sequence[str] = ()
) -> str:
    """The JSON report: byte-identical between equal runs but for ``timing`` and latencies."""
    report = {
        "version": VERSION,
        "outcome": outcome_of(results, not_evaluated, left_out),
        "suites": [_suite(result) for result in results],
        "not_evaluated": not_evaluated,
        "left_out": left_out,
        "timing": [_timing(result) for result in results],
    }
    return WRITER.encode(report) + "\n"


def outcome_of(
    results: Sequence[SuiteResult], not_evaluated: Sequence[str], left_out: Sequence[str]
) -> End:
    """The end of a whole run."""
    if not_evaluated or any(result.failed for result in results):
        return "failed"
    partial = left_out or any(result.partial for result in results)
    return "partial" if partial else "passed"


def _suite(result: SuiteResult) -> dict[str, Any]:
    """A result with its words."""
    return {
        **_without(result),
        "queries": [_query(query) for query in result.queries],
        "verdicts": [_verdict(result, verdict) for verdict in result.verdicts],
        "facts": result.facts,
        "notes": notes(result),
        "exams": [_without(exam) for exam in result.exams],
        "outcome": Story(result).state,
        "headline": Story(result).headline,
        "ledger": result.ledger,
        "warnings": warnings(result),
    }


def _without(value: Any) -> dict[str, Any]:
    """The fields that the document has, of those that are not as the schema says by default."""
    told = changed(value)
    for name in LEFT_OUT.get(type(value), ()):
        told.pop(name, None)
    return told


WRITER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_without
)


def _query(query: QueryResult) -> dict[str, Any]:
    """A query with its documents, which are tuples and would be lists without names.

    Of the baseline's ranking it has those that are not in today's, which says where others were.
    """
    told = _without(query)
    today = {document.id for document in query.ranking}
    told |= {
        "ranking": [_without(document) for document in query.ranking],
        "missing": [_without(document) for document in query.missing],
        "ranking_before": [_without(d) for d in query.ranking_before if d.id not in today],
    }
    return {name: value for name, value in told.items() if value != []}


def _verdict(result: SuiteResult, verdict: Verdict) -> dict[str, Any]:
    """A verdict in full and in words."""
    return {
        **_without(verdict),
        "reason": reason(result, verdict),
        "findings": [
            {**_without(one), "text": "" if one.ok else sentence(result, verdict, one)}
            for one in verdict.findings
        ],
    }


def _timing(result: SuiteResult) -> dict[str, Any]:
    return {
        "path": result.path,
        "retriever": result.retriever,
        "seconds": result.seconds,
        "queries": {query.id: query.seconds for query in result.queries},
    }
