"""What judging a run gives: plain values, so that one object is a report, a JSON file and a message through xdist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["passed", "failed", "error", "known", "fixed", "not evaluated"]
"""``known``: broken, and a known issue says so. ``fixed``: a known issue that no longer breaks, loud as a failure."""

BAD: tuple[Outcome, ...] = ("failed", "error", "fixed", "not evaluated")


@dataclass(frozen=True)
class Finding:
    """One demand held against one subject (a query's id, a tag, or ``""`` for the whole suite).

    ``kind`` is the rule's or the bound's; ``value`` and ``limit`` are unrounded, in ``unit``: a plain
    number (""), "count", "seconds", or "share" (a fraction of the queries). ``fails`` is False for bounds that warn.
    """

    subject: str
    kind: str
    text: str
    ok: bool
    fails: bool = True
    measure: str = ""
    value: float | None = None
    limit: float | None = None
    queries: int = 0
    unit: str = ""


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check, with one line that says why and every demand it looked at."""

    check: str
    label: str
    line: int
    outcome: Outcome
    reason: str
    findings: tuple[Finding, ...] = ()
    scope: str = "query"
    query: str | None = None
    tag: str | None = None
    known_issue: str | None = None

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The demands that failed."""
        return tuple(finding for finding in self.findings if finding.fails and not finding.ok)


@dataclass(frozen=True)
class ShownDocument:
    """A document as shown. ``rank`` None: not returned. ``grade`` None: nobody judged it."""

    rank: int | None
    id: str
    title: str | None = None
    grade: float | None = None
    relevant: bool = False
    score: float | None = None


@dataclass(frozen=True)
class QueryResult:
    """One query: its values in the order of ``SuiteResult.measures``, its top documents, those it missed."""

    id: str
    text: str
    line: int
    values: tuple[float | None, ...]
    ranking: tuple[ShownDocument, ...] = ()
    missing: tuple[ShownDocument, ...] = ()
    returned: int = 0
    expects_nothing: bool = False
    fault: str | None = None
    tags: tuple[str, ...] = ()
    why: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Mean:
    """A measure over the whole suite (``tag`` None) or a tag. ``value`` None: no query defines it."""

    measure: str
    tag: str | None
    value: float | None
    queries: int
    undefined: int
    unit: str = ""


@dataclass(frozen=True)
class SuiteResult:
    """A suite and retriever, judged. ``formulas`` says of each of ``measures`` what it is."""

    suite: str
    path: str
    retriever: str
    top_k: int
    measures: tuple[str, ...]
    formulas: tuple[str, ...]
    shown: tuple[str, ...]
    means: tuple[Mean, ...]
    queries: tuple[QueryResult, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    judged: int = 0
    returned: int = 0
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether any check ended otherwise than it should."""
        return any(verdict.outcome in BAD for verdict in self.verdicts)

    def query(self, id: str) -> QueryResult:
        """A query's result by its id."""
        return next(query for query in self.queries if query.id == id)

    def verdict(self, check: str) -> Verdict | None:
        """The verdict of a check by its name, or None where it was not judged."""
        return next((verdict for verdict in self.verdicts if verdict.check == check), None)
