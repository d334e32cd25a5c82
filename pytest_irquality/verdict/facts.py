"""Facts that a reader of a result must know beside its verdicts.

Each kind of fact has one sentence in ``wording/notes.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_irquality.edges.codec import Tagged
from pytest_irquality.verdict.findings import Change, RankedDocument


class Fact(Tagged):
    """Something that a reader of the figures must know beside the verdicts."""

    @property
    def alarms(self) -> bool:
        """True where the run fails by it, whatever its checks say."""
        return False


# -- what was asked and returned -------------------------------------------------------------------


@dataclass(frozen=True)
class Remark(Fact):
    """Something about the input, in words already.

    Such as what a file holds beside what was used, or which share this is.
    """

    text: str


@dataclass(frozen=True)
class Loud(Remark):
    """A remark that no pass may stand without; ``short`` is for the headline."""

    short: str = ""


@dataclass(frozen=True)
class Unmatched(Loud):
    """Judgments of queries that are not asked, beside queries without any: wrong ids, perhaps."""


@dataclass(frozen=True)
class Replacing(Fact):
    """The baseline is being replaced, from which rankings differ: no drop since it fails."""


@dataclass(frozen=True)
class Interrupted(Fact):
    """The run was stopped after so many queries."""

    queries: int


@dataclass(frozen=True)
class Selected(Fact):
    """Only some of the suite's queries were asked."""

    queries: int
    total: int


@dataclass(frozen=True)
class Unanswered(Fact):
    """Queries (ids) of ``total`` without an answer; the suite lets ``allowed`` pass."""

    queries: tuple[str, ...]
    total: int
    allowed: int


@dataclass(frozen=True)
class ReturnedNothing(Fact):
    """Queries (ids) of ``total`` that returned nothing and should have.

    Those of ``newly`` returned something in the baseline, to which ``compared`` of all were
    compared. So many are ``undefined``: they have no relevant document.
    """

    queries: tuple[str, ...]
    total: int
    newly: tuple[str, ...] = ()
    compared: int = 0
    undefined: int = 0


@dataclass(frozen=True)
class WithoutRelevant(Fact):
    """Queries (ids) of ``total``, ``graded`` or not, that ``score_0`` or nothing.

    So many of their rankings ``changed``.
    """

    queries: tuple[str, ...]
    total: int
    score_0: bool
    graded: bool
    changed: int = 0


@dataclass(frozen=True)
class NothingExpected(Fact):
    """No query has a judgment or a rule: what changed can be told, and not what is right."""


@dataclass(frozen=True)
class ReturnedTwice(Fact):
    """So many queries of ``total`` returned a document twice, the first one ``document``."""

    queries: int
    total: int
    query: str
    document: RankedDocument


@dataclass(frozen=True)
class UnknownIds(Fact):
    """No returned document is one that the suite names."""

    returned: tuple[str, ...]
    named: tuple[str, ...]


# -- what it was compared with ---------------------------------------------------------------------


@dataclass(frozen=True)
class Accepted(Fact):
    """Drops from ``source`` that the change accepts: HEAD commits a baseline with them.

    ``queries`` (ids) return what is committed; ``for_noise``: or what is no worse, but for noise.
    ``lacks``: why nothing can be compared with the source itself. ``refused``: the project lets no
    change accept its own drops.
    """

    source: str
    queries: tuple[str, ...]
    lacks: str = ""
    refused: bool = False
    for_noise: bool = False


@dataclass(frozen=True)
class NewSuite(Fact):
    """The revision asked for has no such suite.

    ``first``: it has, and this change brings its first baseline.
    """

    source: str
    first: bool = False


@dataclass(frozen=True)
class TakenOver(Fact):
    """The baseline was made ``of`` a suite and retriever that have another name now."""

    source: str
    of: str


@dataclass(frozen=True)
class NewQueries(Fact):
    """Queries (ids) of ``total`` that the baseline has not.

    ``unanswered``: they were asked then, or it is another retriever of this run, and had no answer.
    """

    queries: tuple[str, ...]
    total: int
    source: str
    unanswered: bool


@dataclass(frozen=True)
class LeftSuite(Fact):
    """Queries (texts) of the baseline that today's suite has not."""

    queries: tuple[str, ...]


@dataclass(frozen=True)
class Moved(Fact):
    """So many rankings of ``total`` changed, ties aside."""

    rankings: int
    total: int


@dataclass(frozen=True)
class TiesMoved(Fact):
    """So many rankings of ``total`` differ in what has equal scores only, and nothing is gone.

    ``documents`` are those that stand elsewhere in the first that has the same ones, of ``query``.
    """

    rankings: int
    total: int
    query: str
    documents: tuple[RankedDocument, ...]


@dataclass(frozen=True)
class Unsettled(Fact):
    """Queries (ids) with the documents that may have left them, or be hidden by equal scores."""

    queries: tuple[tuple[str, tuple[RankedDocument, ...]], ...]


@dataclass(frozen=True)
class Resolution(Fact):
    """A change of a measure that the suite cannot tell from chance.

    ``decided`` is False where too few queries changed for any test; ``apart``: failures rest on
    other things.
    """

    measure: str
    change: Change
    decided: bool
    apart: bool


# -- what the verdict rests on ---------------------------------------------------------------------


@dataclass(frozen=True)
class RestsOnUnjudged(Fact):
    """The labels of failed checks that would hold if documents that nobody judged were left out."""

    checks: tuple[str, ...]


@dataclass(frozen=True)
class Unjudged:
    """A document that nobody judged, in how many ``queries``, and its best ``rank``."""

    document: RankedDocument
    queries: int


@dataclass(frozen=True)
class JudgeFirst(Fact):
    """Unjudged documents new in the top results, weightiest first: a few of ``total``."""

    documents: tuple[Unjudged, ...]
    total: int
    of_worse: bool = False  # of the queries that got worse


@dataclass(frozen=True)
class InNoRanking(Fact):
    """Relevant documents that the baseline found and no ranking holds now."""

    documents: tuple[RankedDocument, ...]


@dataclass(frozen=True)
class NeverFound(Fact):
    """So many relevant documents of ``total`` are in no ranking, neither now nor before.

    ``recall`` names the measure that is of these alone, where one is shown. ``named`` are a few.
    """

    documents: int
    total: int
    recall: str = ""
    named: tuple[RankedDocument, ...] = ()


@dataclass(frozen=True)
class LeftIndex(Fact):
    """Documents that the retriever says it has no more.

    ``queries`` (ids) miss them; ``at_least``: not all were asked for.
    """

    documents: tuple[RankedDocument, ...]
    at_least: bool
    queries: tuple[str, ...] = ()


@dataclass(frozen=True)
class FewerThanAsked(Fact):
    """So many queries of ``total`` have fewer than ``k`` documents, the fewest ``documents``."""

    queries: int
    total: int
    k: int
    documents: int


@dataclass(frozen=True)
class CandidatesUnknown(Fact):
    """Queries (ids) of ``total`` whose candidates could not be had.

    They are in no measure of candidates.
    """

    queries: tuple[str, ...]
    total: int


@dataclass(frozen=True)
class Retried(Fact):
    """So many calls were made again after a failure; their waits are in no latency."""

    calls: int


@dataclass(frozen=True)
class NothingGated(Fact):
    """Nothing in the suite could fail."""


@dataclass(frozen=True)
class Unnoticed(Fact):
    """No query of so many returned anything, and every check held or is a known issue."""

    queries: int
    alarms = True


@dataclass(frozen=True)
class Disputed(Fact):
    """So many queries had other answers in another process.

    ``checks`` are the labels of those whose verdicts differ.
    """

    queries: int
    checks: tuple[str, ...]
