"""The result of judging a run, as plain values.

So one object is a report, a JSON file and a message through xdist. No sentences: they are made in
``wording/``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from pytest_irquality.storage.history import Entry
from pytest_irquality.storage.provenance import Again, Baseline
from pytest_irquality.suite.demands import SCOPES, Bound, Scope
from pytest_irquality.verdict.audit_facts import Audit
from pytest_irquality.verdict.differences import Difference
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.findings import (
    Cause,
    Change,
    Fated,
    Fates,
    Finding,
    Noise,
    Robustness,
)
from pytest_irquality.verdict.ledger import CHECKS, Ledger, in_order
from pytest_irquality.verdict.shown import Chunk, Mark, ShownDocument
from pytest_irquality.verdict.statistics import EQUAL

__all__ = ["Chunk", "Mark", "Mean", "QueryResult", "ShownDocument", "SuiteResult", "Verdict"]
Outcome = Literal["passed", "failed", "error", "known", "accepted", "fixed", "not evaluated"]
"""``accepted``: worse than the merge base, and the change's own committed baseline says that this
is wanted. ``known``: broken, and a known issue says so. ``fixed``: a known issue that no longer
breaks, loud as a failure.
"""

BAD: tuple[Outcome, ...] = ("failed", "error", "fixed", "not evaluated")
FEW_FOR_A_TEST = 5  # queries below which no paired test can reach p < 0.05


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check, with every demand it looked at.

    ``file`` is where it stands, at ``line``, if not in the suite itself. ``needed`` is how many
    queries it reads, of which ``unanswered`` (ids) had a fault and ``unasked`` were not asked.
    ``allowed`` queries may do what a guard watches for. ``known_issue`` stands at ``issue_line``, 0
    for a mark's. ``accepted``: the change's own committed baseline says that this is wanted.
    ``by_default``: nobody wrote it. Under the grades of judges ``otherwise`` it would not end so.
    """

    check: str
    label: str
    line: int
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    scope: str = "query"
    query: str | None = None
    tag: str | None = None
    known_issue: str | None = None
    issue_line: int = 0
    file: str = ""
    needed: int = 0
    unanswered: tuple[str, ...] = ()
    unasked: int = 0
    allowed: int = 0
    accepted: bool = False
    by_default: bool = False
    otherwise: tuple[str, ...] = ()

    @property
    def over(self) -> Scope:
        """The things that the check is over."""
        return SCOPES[self.scope]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The demands that failed."""
        return tuple(finding for finding in self.findings if finding.breaks)

    @property
    def warned(self) -> bool:
        """True where it passed although something it demands is not so.

        That is a warning, or what an update makes good.
        """
        return self.outcome == "passed" and not all(finding.ok for finding in self.findings)

    @property
    def ended(self) -> str:
        """The class of its check in the ledger."""
        if self.outcome in ("error", "not evaluated"):
            return "not evaluated"
        failing = [finding for finding in self.findings if finding.fails]
        vain = bool(failing) and all(map(tells_nothing, failing))
        return "unable to fail" if vain or self.caveat in ("new", "uncompared") else "judged"

    @property
    def caveat(self) -> Literal["", "tied", "new", "uncompared"]:
        """The reason why a check that passed gets no plain tick.

        ``tied``: a demand holds in the order of equal scores and would break as returned. ``new``:
        there is nothing yet that its queries could be compared with. ``uncompared``: there is no
        baseline, or no change yet of those that a trend is over.
        """
        if self.outcome != "passed":
            return ""
        if any(finding.tied for finding in self.findings):
            return "tied"
        if self.over.changes:
            return "" if any(finding.queries for finding in self.findings) else "uncompared"
        return _uncompared(self.findings)


def tells_nothing(finding: Finding) -> bool:
    """Tell whether a demand rests on a test of fewer queries than could ever decide it."""
    change = finding.change
    few = change is not None and change.queries < FEW_FOR_A_TEST
    by_test_alone = finding.demand.tested and issubclass(finding.demand, Bound)
    return by_test_alone and finding.ok and few


def _uncompared(findings: Sequence[Finding]) -> Literal["", "new", "uncompared"]:
    """The reason why nothing was compared, if nothing was, though all that was demanded holds."""
    lacks = [finding.lacks.why for finding in findings if finding.lacks and finding.ok]
    if not lacks or any(finding.compared for finding in findings):
        return ""
    return "new" if any(why.new for why in lacks) else "uncompared"


@dataclass(frozen=True)
class QueryResult:
    """One query: its values, its top documents, and those it missed.

    ``values`` are in the order of ``SuiteResult.measures``.

    ``before`` holds the baseline's values, scored with today's judgments, and ``compared`` those of
    today with ties in the baseline's order: a change is ``compared - before``. Both are None where
    there is nothing to compare with. ``ranking_before`` holds the baseline's top documents
    (``before`` is their rank then, ``rank`` today's) and is empty where they are those of today.
    ``new``: there is a baseline, but it lacks this query, or has it with another text or params.
    ``check`` is the name of the query's item, None for bulk queries. ``file`` is where the query
    stands, at ``line``, if not in the suite itself. ``remarks`` is what the suite wants shown, by
    key. ``returned`` and ``returned_before`` count documents (of several answers the most);
    ``seconds`` is the time of the call, or the mean of several, where it is known. ``answers``
    counts today's answers. ``fates`` are those of all its relevant passages or
    documents, where passages or stages tell. ``skipped``: its call said so, and its ``fault`` says
    why.
    """

    id: str
    text: str
    line: int
    values: tuple[float | None, ...]
    ranking: Sequence[ShownDocument] = ()
    missing: Sequence[ShownDocument] = ()
    returned: int = 0
    returned_before: int | None = None
    expects_nothing: bool = False
    fault: str | None = None
    before: tuple[float | None, ...] | None = None
    compared: tuple[float | None, ...] | None = None
    ranking_before: Sequence[ShownDocument] = ()
    new: bool = False
    check: str | None = None
    tags: tuple[str, ...] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    file: str = ""
    weight: float = 1.0
    fates: tuple[Fated, ...] = ()
    answers: int = 1
    skipped: bool = False

    def sides(self, column: int | None) -> tuple[float, float] | None:
        """A measure before and now, ties in the baseline's order; None without a side."""
        if column is None or self.before is None or self.compared is None:
            return None
        before, now = self.before[column], self.compared[column]
        return None if before is None or now is None else (before, now)

    def change(self, column: int | None) -> float | None:
        """The change of a measure, 0 for rounding errors; None without a side."""
        before, now = self.sides(column) or (None, None)
        if before is None or now is None:
            return None
        return now - before if abs(now - before) > EQUAL else 0.0

    @property
    def returned_nothing(self) -> bool:
        """True where it came back empty and should not have."""
        return not self.returned and self.fault is None and not self.expects_nothing


@dataclass(frozen=True)
class Mean:
    """A measure over the whole suite (``tag`` None) or a tag. ``value`` None: no query defines it.

    ``value`` is over all of today's queries, ``change`` over those on both sides.
    """

    measure: str
    tag: str | None
    value: float | None
    queries: int
    undefined: int
    unit: str = ""
    higher_is_better: bool = True
    change: Change | None = None

    @property
    def now(self) -> float | None:
        """Today's value over the queries that are compared, where any are."""
        return self.change.now if self.change else self.value


@dataclass(frozen=True)
class Compared:
    """The values of a measure by retrieval (text and params), and the means of several units."""

    pairs: tuple[tuple[str, float, float], ...] = ()
    units_before: tuple[float, ...] = ()
    units: tuple[float, ...] = ()


@dataclass(frozen=True)
class Share:
    """The part of a suite in the verdict over all suites of its retriever; see ``together.py``.

    ``check`` is its default limit. Together are judged those of one ``fixture``, measure and
    ``relevance`` rule. ``committed`` is compared with where the change commits another baseline,
    which ``accepts`` drops; ``judged`` lacks new unjudged documents, and ``returned`` has ties as
    they came, where that is another order. ``whole``: all was judged.
    """

    check: str
    measure: str
    relevance: str
    compared: Compared
    committed: Compared | None = None
    accepts: Fact | None = None
    whole: bool = True
    fixture: str = ""
    judged: Compared | None = None
    returned: Compared | None = None


@dataclass(frozen=True)
class Exam:
    """The exam of the base's suite at ``path``, where today's is another.

    ``verdicts`` are those of its checks that today's answers do not pass, and today's suite lets
    pass; ``queries`` and ``means`` are those that these are about, by the base's judgments.
    ``checks`` counts all of its checks by class. ``differences`` are those of both exams.
    ``unread`` says why it cannot be held against today's answers.
    ``refused``: the project lets no change accept its own drops. ``share`` is what it adds to the
    verdict over all suites.
    """

    path: str
    source: str
    differences: tuple[Difference, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    queries: tuple[QueryResult, ...] = ()
    means: tuple[Mean, ...] = ()
    checks: Mapping[str, int] = field(default_factory=dict)
    unread: str = ""
    refused: bool = False
    refuses_weaker: bool = False
    share: Share | None = None

    @property
    def accepted(self) -> bool:
        """True where today's answers do not pass it."""
        return bool(self.verdicts or self.unread)

    @property
    def weaker(self) -> Sequence[Difference]:
        """The differences that make today's exam the weaker one."""
        return [one for one in self.differences if one.direction == "weaker"]

    @property
    def failed(self) -> bool:
        """True where the project refuses what it says."""
        return (self.refused and self.accepted) or (self.refuses_weaker and bool(self.weaker))

    def told(self, today: SuiteResult) -> SuiteResult:
        """The base's side of a result, for whoever puts its verdicts into words."""
        return replace(
            today, path=self.path, verdicts=self.verdicts, queries=self.queries, means=self.means,
            facts=(), exams=(),
        )  # fmt: skip


@dataclass(frozen=True)
class SuiteResult:
    """A suite and retriever, judged. ``formulas`` says of each of ``measures`` what it is.

    ``facts`` are what a reader must know beside the verdicts, the most general first, ``causes``
    why queries have no ranking, the most frequent first. ``gated`` is False where nothing in the
    suite could fail. ``commit`` and ``version`` are those of the code and of the retriever today,
    where known. ``written`` says in lines for people which files this run brought up to date, and
    what that changed. ``robustness`` is what variants lose, ``noise`` what several
    answers tell of unchanged code. ``remarks`` is what the suite wants shown of itself, by key.
    ``skipped`` names the checks that a mark, or the calls of all their queries, kept from running,
    each with its reason: they have no verdict. ``texts`` are those of results that reports show,
    each once. ``past`` are the last lines of the history, today's at the end.
    ``variant`` is what stands behind a check's name in a node id, where
    another fixture brings parameters, too. ``share`` is what it adds to the verdict over all
    suites. ``fates`` is what became of all relevant passages or documents, where these are told.
    ``classes`` has the number of queries in each class of the ledger, ``deselected`` is how many
    checks were not to be judged. ``refused`` are the classes of it for which the project's
    ``ir_strict`` fails the run. ``exams`` are those of the base. Without ``again`` no pytest ran.
    ``fields`` is what the suite shows of documents, by id, ``files`` are those that it reads.
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
    facts: tuple[Fact, ...] = ()
    causes: tuple[Cause, ...] = ()
    gated: bool = True
    judged: int = 0
    returned: int = 0
    interrupted: bool = False
    seconds: float = 0.0
    baseline: Baseline | None = None
    commit: str | None = None
    version: str | None = None
    written: tuple[str, ...] = ()
    audit: Audit | None = None
    robustness: Robustness | None = None
    noise: Noise | None = None
    remarks: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    past: tuple[Entry, ...] = ()
    texts: tuple[str, ...] = ()
    variant: str = ""
    share: Share | None = None
    fates: Fates | None = None
    classes: Mapping[str, int] = field(default_factory=dict)
    deselected: int = 0
    refused: tuple[str, ...] = ()
    exams: tuple[Exam, ...] = ()
    again: Again | None = None
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    @cached_property
    def ledger(self) -> Ledger:
        """Every query and every check, by class."""
        checks = Counter(verdict.ended for verdict in self.verdicts)
        checks.update(deselected=self.deselected, skipped=len(self.skipped))
        return Ledger(self.classes, in_order(checks, CHECKS))

    @property
    def findings(self) -> Iterator[tuple[Verdict, Finding]]:
        """Every demand of every check."""
        return ((verdict, finding) for verdict in self.verdicts for finding in verdict.findings)

    @property
    def broken(self) -> Iterator[Finding]:
        """Every demand by which a check failed."""
        failed = (verdict for verdict in self.verdicts if verdict.outcome == "failed")
        return (finding for verdict in failed for finding in verdict.broken)

    @property
    def failed(self) -> bool:
        """True where any check ended otherwise than it should, or none could have.

        So is what was left out of the run, where the project allows nothing of it.
        """
        refused = bool(self.refused) or any(exam.failed for exam in self.exams)
        return refused or self.alarmed or any(verdict.outcome in BAD for verdict in self.verdicts)

    @property
    def accepts(self) -> bool:
        """True where the change accepts a drop, or that the base's exam is not passed."""
        accepted = any(verdict.outcome == "accepted" for verdict in self.verdicts)
        return accepted or any(exam.accepted for exam in self.exams)

    @property
    def partial(self) -> bool:
        """True where nothing failed, and not all was asked, answered and judged."""
        return not self.failed and (self.interrupted or bool(self.ledger.missing))

    @property
    def alarmed(self) -> bool:
        """True where a fact fails the run that no check minds."""
        return any(fact.alarms for fact in self.facts)

    def place(self, of: Verdict | QueryResult) -> str:
        """The place of a check or a query, as ``path:line``."""
        return f"{of.file or self.path}:{of.line}"

    @cached_property
    def by_id(self) -> Mapping[str, QueryResult]:
        """Every query's result by its id."""
        return {query.id: query for query in self.queries}

    @cached_property
    def _means(self) -> Mapping[tuple[str, str | None], Mean]:
        return {(mean.measure, mean.tag): mean for mean in self.means}

    def mean(self, measure: str, tag: str | None = None) -> Mean | None:
        """A measure over the whole suite, or over a tag."""
        return self._means.get((measure, tag or None))

    def unit(self, measure: str) -> str:
        """A measure's unit."""
        mean = self.mean(measure)
        return mean.unit if mean else ""

    def higher_is_better(self, measure: str) -> bool:
        """True where a high value of a measure is good."""
        mean = self.mean(measure)
        return mean.higher_is_better if mean else True

    def query(self, id: str) -> QueryResult:
        """A query's result by its id."""
        return self.by_id[id]

    def verdict(self, check: str) -> Verdict | None:
        """The verdict of a check by its name, or None where it was not judged."""
        return next((verdict for verdict in self.verdicts if verdict.check == check), None)
