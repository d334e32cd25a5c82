"""What judging a run gives: plain values, so that one object is a report, a JSON file and a message through xdist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["passed", "failed", "error", "known", "fixed", "not evaluated"]
"""``known``: broken, and a known issue says so. ``fixed``: a known issue that no longer breaks, loud as a failure."""

BAD: tuple[Outcome, ...] = ("failed", "error", "fixed", "not evaluated")


@dataclass(frozen=True)
class Finding:
    """One demand held against one subject (a query's id, a tag, or ``""`` for the whole suite).

    ``kind`` is the rule's, the guard's or the bound's; ``value`` and ``limit`` are unrounded, in ``unit``: a plain
    number (""), "count", "seconds", or "share" (a fraction of the queries; of the baseline's value where the kind
    limits a change). For such kinds ``value`` is the drop or rise. ``fails`` is False for bounds that warn.
    ``documents`` are the ids that a rule speaks of.
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
    documents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check, with one line that says why and every demand it looked at.

    ``file`` is where it stands, at ``line``, if not in the suite itself.
    """

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
    file: str = ""

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The demands that failed."""
        return tuple(finding for finding in self.findings if finding.fails and not finding.ok)


@dataclass(frozen=True)
class ShownDocument:
    """A document as shown. ``rank`` None: not returned. ``grade`` None: nobody judged it.

    ``before`` is its rank in the baseline, None where it was not there or the query has no baseline. ``gone`` is True
    where the retriever says that the document left the index. ``explanation`` is the retriever's own word on it.
    """

    rank: int | None
    id: str
    title: str | None = None
    grade: float | None = None
    relevant: bool = False
    score: float | None = None
    before: int | None = None
    gone: bool = False
    explanation: str | None = None


@dataclass(frozen=True)
class QueryResult:
    """One query: its values in the order of ``SuiteResult.measures``, its top documents, those it missed.

    ``before`` holds the baseline's values, scored with today's judgments, and ``compared`` those of today with ties in
    the baseline's order: a change is ``compared - before``. Both are None where there is nothing to compare with.
    ``ranking_before`` holds the baseline's top documents (``before`` is their rank then, ``rank`` today's) and is empty
    where they are those of today. ``new``: there is a baseline, but it lacks this query, or has it with another text
    or params. ``check`` is the name of the query's item, None for bulk queries. ``file`` is where the query stands, at
    ``line``, if not in the suite itself.
    """

    id: str
    text: str
    line: int
    values: tuple[float | None, ...]
    ranking: tuple[ShownDocument, ...] = ()
    missing: tuple[ShownDocument, ...] = ()
    returned: int = 0
    expects_nothing: bool = False
    fault: str | None = None
    before: tuple[float | None, ...] | None = None
    compared: tuple[float | None, ...] | None = None
    ranking_before: tuple[ShownDocument, ...] = ()
    new: bool = False
    check: str | None = None
    tags: tuple[str, ...] = ()
    why: str | None = None
    seconds: float | None = None
    file: str = ""
    weight: float = 1.0


@dataclass(frozen=True)
class Change:
    """What a measure did since the baseline, over the ``queries`` that both sides define.

    ``better``, ``worse`` and ``equal`` count queries. ``p`` is that of a one-sided paired sign-flip test for getting
    worse, ``adjusted`` the same after Holm's correction where a limit rests on it, ``low`` and ``high`` a 95 % interval
    for the difference ``now - before``, ``detectable`` the smallest worsening this many queries could show. All four
    are None where rankings are identical or too few queries differ for the figure to mean anything.
    """

    before: float
    now: float
    queries: int
    better: int
    worse: int
    equal: int
    p: float | None = None
    adjusted: float | None = None
    low: float | None = None
    high: float | None = None
    detectable: float | None = None

    @property
    def difference(self) -> float:
        """By how much the value rose."""
        return self.now - self.before


@dataclass(frozen=True)
class Mean:
    """A measure over the whole suite (``tag`` None) or a tag. ``value`` None: no query defines it.

    ``value`` is over all of today's queries, ``change`` over those on both sides. ``higher_is_better`` is None
    where neither direction is better.
    """

    measure: str
    tag: str | None
    value: float | None
    queries: int
    undefined: int
    unit: str = ""
    higher_is_better: bool | None = True
    change: Change | None = None


@dataclass(frozen=True)
class Baseline:
    """What a run was compared with. ``source`` is its path, ``git:REF path`` or a retriever's name.

    ``commit``, ``time`` (ISO 8601) and ``version`` are what is known of the run that made it, ``queries`` is how many
    it has, and ``left`` names those that today's suite has not, by text. ``edited`` are the ids of today's queries that
    it seems to hold in other words or with other params, ``renamed`` is how many it holds under another id. ``of`` is the
    suite and retriever that it was made for, where they have another name now. ``new``: the revision asked for has no
    such "suite", or has it without a "baseline", of which this change brings the first. ``judged`` of its ``returned``
    top results have a grade today. ``means`` is what it scored, by measure, under the judgments of the day it was made.
    """

    source: str
    queries: int = 0
    commit: str | None = None
    time: str | None = None
    version: str | None = None
    left: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    renamed: int = 0
    of: str = ""
    new: Literal["", "suite", "baseline"] = ""
    judged: int = 0
    returned: int = 0
    means: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SuiteResult:
    """A suite and retriever, judged. ``formulas`` says of each of ``measures`` what it is.

    ``gated`` is False where nothing in the suite could fail.
    ``commit`` and ``version`` are those of the code and of the retriever today, where known. ``written`` says in lines
    for people which files this run brought up to date, and what that changed.
    """

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
    gated: bool = True
    judged: int = 0
    returned: int = 0
    interrupted: bool = False
    seconds: float = 0.0
    baseline: Baseline | None = None
    commit: str | None = None
    version: str | None = None
    written: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether any check ended otherwise than it should."""
        return any(verdict.outcome in BAD for verdict in self.verdicts)

    def place(self, of: Verdict | QueryResult) -> str:
        """Where a check or a query stands, as ``path:line``."""
        return f"{of.file or self.path}:{of.line}"

    def query(self, id: str) -> QueryResult:
        """A query's result by its id."""
        return next(query for query in self.queries if query.id == id)

    def verdict(self, check: str) -> Verdict | None:
        """The verdict of a check by its name, or None where it was not judged."""
        return next((verdict for verdict in self.verdicts if verdict.check == check), None)
