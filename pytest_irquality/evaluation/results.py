"""What an evaluation is made of: context, outcomes, results of checks, notices, and coverage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from enum import Enum, IntEnum
from typing import TypeVar

from pytest_irquality.evaluation import constants
from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.io.text import Text, format_count, write
from pytest_irquality.suite.mistakes import Location
from pytest_irquality.suite.model import RetrieverId, Suite, Threshold
from pytest_irquality.suite.rules import Rule


@dataclass(frozen=True)
class EvaluationContext:
    """The facts about a build that the evaluation of a suite depends on.

    The defaults are those of a run without other branches and without a selection.

    Attributes:
        is_new: Whether the base branch has no answer to any query.
        is_update: Whether this run records the baselines, so that a missing one is no gap.
        today: The date in UTC, or ``None`` if no known issue is to expire.
        has_base_branch: Whether the build compares with a branch (``git:``, ``run:``). Then an
            expired known issue is only a notice, so that the calendar breaks no pull request.
        is_base_branch: Whether the suite is evaluated for the base branch, for which a fixed known
            issue is no failure.
        corpus_texts: The text of every document or chunk by id, to explain missing passages.
        selected_items: The names of the items that run, or ``None`` if all do. Checks of other
            items are not evaluated.
        deselected_query_ids: The queries that the command line deselects, which is no gap.
        regraded_query_ids: The queries whose judgments differ from the base branch.
    """

    is_new: bool = False
    is_update: bool = False
    today: date | None = None
    has_base_branch: bool = False
    is_base_branch: bool = False
    corpus_texts: Mapping[str, str] | None = field(default=None, repr=False)
    selected_items: frozenset[str] | None = None
    deselected_query_ids: Collection[str] = frozenset()
    regraded_query_ids: Collection[str] = frozenset()

    @property
    def date_for_expiry(self) -> date | None:
        """Return today, or ``None`` if no known issue may fail because it expired."""
        return None if self.has_base_branch else self.today


class Outcome(IntEnum):
    """The outcome of a check, a notice, a suite or a build, ordered by severity.

    There is one scale, so the outcome of anything is the worst outcome of its parts.
    """

    PASSED = 0
    INCOMPLETE = 1
    REVIEW = 2
    FAILED = 3
    ERROR = 4


class DefaultCheck(Enum):
    """The checks that need no YAML, by the label that reports use."""

    LOST_QUERIES = "queries that lost all relevant documents do not outnumber those that gained one"
    SIGNIFICANT_DROP = "no statistically significant drop"
    FEW_DROPS = "no large drops in a few changed queries"
    UNRECOGNIZABLE = "rankings without judgments resemble the baseline"


class Requirement(Enum):
    """Requirements that are neither a rule, a threshold nor a default check."""

    ANSWERS = "every query has an answer"


Check = Rule | Threshold | DefaultCheck | Requirement


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The outcome of a check.

    Attributes:
        check: The rule, threshold or default check.
        text: The finding, in words that follow the subject.
        subject: The name of the suite, or the names of all suites that share the check.
        label: The name of the check in tables, such as ``head ndcg@10``.
        item: The name of the suite's item that reports the result, or empty if several suites share
            the check.
        suite_path: The suite, or empty if several share the check.
        retriever: The retriever, or ``None`` if several share the check.
        value: The number that the check compares with the bound, if it compares one.
        baseline_value: The same number for the baseline.
        bound: The bound that decided the outcome.
        bound_text: The same bound as the suite has it.
        tag: The tag, if the check is about one.
        query_ids: The queries that the finding is about, or none if it is about the suite.
        doc_ids: The documents that the finding is about.
        is_warning: Whether the check is broken, but may only warn (``warn: true``), so it passes.
        known_issue_id: The known issue that covers a failure, so that the check passes, or that is
            fixed, so that the check fails.
        could_fail: Whether any answers to the queries at hand would break the check.
    """

    check: Check
    outcome: Outcome
    text: Text
    subject: str = ""
    label: str = ""
    item: str = ""
    suite_path: str = ""
    retriever: RetrieverId | None = None
    value: float | None = None
    baseline_value: float | None = None
    bound: float | None = None
    bound_text: str = ""
    tag: str = ""
    query_ids: tuple[str, ...] = ()
    doc_ids: tuple[str, ...] = ()
    is_warning: bool = False
    known_issue_id: str = ""
    could_fail: bool = True
    location: Location = field(default=Location())

    @property
    def key(self) -> tuple[object, ...]:
        """Return what identifies the check on both branches, whatever its bounds are."""
        is_default = isinstance(self.check, DefaultCheck)
        check = self.check if is_default else (type(self.check), self.label)
        suite = self.suite_path or self.subject
        return (check, suite, self.retriever, self.tag, self.item)


class NoticeCode:
    """The codes of notices that reports look for. Other codes are only where they are created."""

    BASE_FAILS = "base-fails"
    CANNOT_BE_USED = "cannot-be-used"
    CHANGED_DOCUMENT_IDS = "changed-document-ids"
    EQUAL_ANSWERS = "equal-answers"
    LARGE_GAP = "large-gap"
    NO_ANSWER = "no-answer"
    NOTHING_CAN_FAIL = "nothing-can-fail"
    NOTHING_EVALUATED = "nothing-evaluated"
    PASSAGES = "passages"
    STALE_BASELINE = "stale-baseline"
    SUITES_EDITED = "suites-edited"
    UNJUDGED_RESULTS = "unjudged-results"
    UNKNOWN_DOCUMENT_IDS = "unknown-document-ids"


@dataclass(frozen=True)
class Notice:
    """An observation that a report shows next to the checks.

    Attributes:
        code: A stable name for programs and tests, such as ``stale-baseline``.
        outcome: The outcome that this notice alone gives to a build.
        subject: The name of the suite that the notice is about, or empty for the build.
        is_cause: Whether the notice explains the outcome, so that it belongs next to the headline.
            Examples are ids that do not match, and a retriever that gives no answers.
        next_step: How the reader can resolve it: a sentence, a command, or a key to change.
    """

    code: str
    text: Text
    outcome: Outcome = Outcome.PASSED
    subject: str = ""
    query_ids: tuple[str, ...] = ()
    doc_ids: tuple[str, ...] = ()
    suite_path: str = ""
    retriever: RetrieverId | None = None
    is_cause: bool = False
    next_step: Text = field(default=Text())


@dataclass(frozen=True)
class Coverage:
    """The number of queries by status. Every current query has exactly one status.

    A suite that runs on two retrievers counts twice.

    Attributes:
        compared: Current queries with an answer in both runs.
        new: Current queries without a baseline answer, or without one on the base branch.
        no_answer: Current queries whose call failed.
        not_run: Current queries that were not selected, were skipped or could not run.
        removed: Queries of the base branch that current suites no longer have.
        comparable: Current queries that were to be compared: they have a baseline answer and were
            not deselected on the command line.
        base_only: Queries that ran only for the base branch.
    """

    compared: int = 0
    new: int = 0
    no_answer: int = 0
    not_run: int = 0
    removed: int = 0
    comparable: int = 0
    base_only: int = 0

    @property
    def total(self) -> int:
        """Return the number of current queries."""
        return self.compared + self.new + self.no_answer + self.not_run

    @property
    def has_large_gap(self) -> bool:
        """Return whether too few of the comparable queries were compared."""
        return self.compared < constants.MIN_COMPARED_FRACTION * self.comparable

    def describe(self) -> Text:
        """Describe the coverage in one line: ``20 queries: 19 compared, 1 new (and 2 removed)``."""
        counts = [
            (self.compared, "compared"),
            (self.new, "new"),
            (self.no_answer, "no answer"),
            (self.not_run, "not run"),
        ]
        parts = [f"{count:,} {name}" for count, name in counts if count]
        text = format_count(self.total, "query", "queries")
        if parts:
            text += f": {', '.join(parts)}"
        if self.removed:
            text += f" (and {self.removed:,} removed)"
        return write(text)


Part = TypeVar("Part", CheckResult, Notice)


def assign_suites(part: Part, suites: Collection[Suite]) -> Part:
    """Return a result or notice with the names, path and retriever of its suites."""
    paths = {suite.path for suite in suites}
    retrievers = {suite.retriever for suite in suites}
    # A suite that runs on several retrievers is named once.
    names = dict.fromkeys(suite.name for suite in suites)
    return replace(
        part,
        subject=", ".join(names),
        suite_path=paths.pop() if len(paths) == 1 else "",
        retriever=retrievers.pop() if len(retrievers) == 1 else None,
    )


def find_worst_outcome(results: Iterable[CheckResult], notices: Iterable[Notice]) -> Outcome:
    """Return the outcome of a suite or build with these parts."""
    outcomes = [result.outcome for result in results]
    outcomes += [notice.outcome for notice in notices]
    return max(outcomes, default=Outcome.PASSED)
