"""The findings of one check, and the values that findings and facts are made of.

These are documents at ranks, changes of a measure, and what several answers or other wordings of a
query did. Numbers and ids only; the sentences about them are in ``wording/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from pytest_irquality.suite.demands import Demand
from pytest_irquality.suite.key_tables import complete
from pytest_irquality.suite.model import DEMANDS

Fate = Literal[
    "unanswered",
    "found",
    "further down",
    "cut",
    "changed",
    "in stage",
    "not in the corpus",
    "in no stage",
    "not returned",
    "unknown",
]
"""What may become of a relevant passage or document; it is the first of these that is true.

``unknown``: the baseline has no text of some results, so that none of the others can be told.
"""


@dataclass(frozen=True)
class Holder:
    """A result, or a chunk of the corpus, that holds a part of a passage.

    ``rank`` None: it was not returned.
    """

    id: str
    rank: int | None = None


@dataclass(frozen=True)
class Loss:
    """The fate of a passage or a document. It is told, and never credited.

    ``cut``: ``holders`` hold its parts in order, not all of it where it is not ``whole``.
    ``changed``, and ``not in the corpus`` where something is near: the one that holds the most of
    its words, a ``share`` of them, with the words that are ``missing`` there and those that were
    ``added``. ``further down``: the holder below the top. ``in stage``: the place among the ``of``
    results of the last ``stage`` before the ranking that gave it.
    """

    fate: Fate
    holders: tuple[Holder, ...] = ()
    whole: bool = True
    share: float | None = None
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    stage: str = ""
    rank: int | None = None
    of: int | None = None


class Fated(NamedTuple):
    """A relevant passage or document of a query, and its fate on both sides.

    ``before`` None: the baseline lacks the query.
    """

    id: str
    now: Fate
    before: Fate | None = None


@dataclass(frozen=True)
class FateCount:
    """The number of relevant passages or documents of one fate.

    ``before`` None: there is no baseline, or it holds nothing that would tell.
    """

    fate: Fate
    now: int
    before: int | None = None


@dataclass(frozen=True)
class Fates:
    """The fates of all relevant passages or documents of so many ``queries``, of ``asked``.

    ``what`` they are. ``compared``: the counts are over the queries that the baseline holds, too.
    """

    what: Literal["passages", "documents"]
    counts: tuple[FateCount, ...]
    queries: int
    asked: int
    compared: bool = False


@dataclass(frozen=True)
class RankedDocument:
    """A document that a fact speaks of.

    ``rank`` None: it was not returned. ``before`` is its rank in the baseline.

    ``limit`` is the worst rank that a rule accepts, or the last one that a rule forbids.
    ``in_answers`` is how many of a query's answers hold it, where there are several.
    ``loss`` says why it was not found, where passages or stages tell. ``gone`` is True where the
    retriever says that the document left the index.
    """

    id: str
    rank: int | None = None
    before: int | None = None
    limit: int | None = None
    title: str | None = None
    loss: Loss | None = None
    in_answers: int | None = None
    gone: bool = False


@dataclass(frozen=True)
class Change:
    """A measure's change since the baseline, over the ``queries`` that both sides define.

    ``better``, ``worse`` and ``equal`` count queries. ``p`` is that of a one-sided paired sign-flip
    test for getting worse, ``adjusted`` the same after Holm's correction where a limit rests on it,
    ``low`` and ``high`` a 90 % interval for the difference ``now - before``, ``detectable`` the
    smallest worsening this many queries could show. All four are None where rankings are identical
    or too few queries differ for the figure to mean anything.

    ``noise`` is the largest worsening that unchanged code gives nineteen times in twenty, None
    where a side has too few answers to tell.
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
    noise: float | None = None

    @property
    def difference(self) -> float:
        """By how much the value rose."""
        return self.now - self.before

    @property
    def judged_p(self) -> float | None:
        """The p that a verdict rests on."""
        return self.p if self.adjusted is None else self.adjusted


LackKind = Literal[
    "baseline",
    "depth",
    "documents",
    "new",
    "edited",
    "compared",
    "unchanged",
    "defined",
    "variants",
    "unanswered",
    "exists",
    "candidates",
    "kept candidates",
]


class Why(NamedTuple):
    """The meaning of a lack.

    ``excused``: it is nobody's fault, so the limit holds. ``new``: it is the queries that are new.
    ``of_one``: other queries of the same limit may have what one lacks. ``uncompared``: a limit
    fails by it for want of anything to compare with.
    """

    excused: bool = False
    new: bool = False
    of_one: bool = False
    uncompared: bool = False


LACKS: Mapping[LackKind, Why] = complete(
    get_args(LackKind),
    {
        "baseline": Why(uncompared=True),
        "depth": Why(uncompared=True),
        "documents": Why(uncompared=True),
        "new": Why(excused=True, new=True, of_one=True),
        "edited": Why(of_one=True, uncompared=True),
        "compared": Why(of_one=True, uncompared=True),
        "unchanged": Why(excused=True, of_one=True),
        "defined": Why(),
        "variants": Why(),
        "unanswered": Why(),
        "exists": Why(),
        "candidates": Why(),
        "kept candidates": Why(of_one=True),
    },
)


@dataclass(frozen=True)
class Lack:
    """The reason why a limit has no value to be held against.

    ``baseline``: there is none. ``depth``: a measure ``reads`` more results than the baseline
    ``holds``. ``documents``: the baseline holds documents under other ids than today's. ``new``: no
    query of it is in the baseline, all being new. ``edited``: no query of it is there, and these
    ``queries`` (ids) are in other words or with other params. ``compared``: no query has a value on
    both sides; ``unchanged``: nor has any another ranking. ``defined``: no query has a relevant
    document, or none was answered. ``variants``: no query that scores above 0 has variants that
    were answered. ``unanswered``: ``reads`` of ``holds`` variants were not. ``exists``: the
    retriever cannot say which documents exist. ``candidates``: it does not say what that stage
    gave; ``kept candidates``: the baseline holds nothing of that.
    """

    kind: LackKind
    reads: int | None = None
    holds: int | None = None
    queries: tuple[str, ...] = ()

    @property
    def why(self) -> Why:
        """The meaning of it for the limit."""
        return LACKS[self.kind]


@dataclass(frozen=True)
class WorstVariant:
    """A variant by its ``text``, the ``query`` (id) it is of, and what the two score."""

    query: str
    text: str
    own: float
    value: float


@dataclass(frozen=True)
class Finding:
    """One demand held against one subject (a query's id, a tag, or ``""`` for the whole suite).

    ``kind`` is the rule's, the guard's or the bound's; ``value`` and ``limit`` are unrounded, in
    ``unit``: a plain number (""), "count", "seconds", or "share" (a fraction of the queries; of the
    baseline's value where the kind limits a change). For such kinds ``value`` is the drop or rise,
    taken from ``change``; None also where the value before was 0. ``fails`` is False for bounds
    that warn. ``ranked`` are the documents that a rule or guard speaks of, ``queries`` how many
    queries the value is over, ``lacks`` why there is none. ``broken_in`` of ``answers`` is how
    often a rule was broken, where a query has several; ``wavering`` that a loss may be wavering, so
    many other queries waver as much. ``variants``: the limit is on variants; its ``change`` is from
    the queries (before) to the mean over their variants (now), and where it is broken ``worst`` are
    those of the ``lost`` variants that lost most. Of a change ``of`` is how many queries the limit
    is on, compared or not. ``as_returned``, where a limit holds in the order of equal scores and
    would break as returned, is the value in that order; of a guard how many queries break it then.
    Of kind "trend" ``queries`` counts changes, and ``since`` is the commit of the first that lost
    anything. Of kind "together" the change is over so many ``suites``; where that holds, ``own_p``
    is the p of the suite by itself, if that got worse.
    """

    subject: str
    kind: str
    ok: bool
    fails: bool = True
    measure: str = ""
    value: float | None = None
    limit: float | None = None
    queries: int = 0
    unit: str = ""
    ranked: tuple[RankedDocument, ...] = ()
    change: Change | None = None
    lacks: Lack | None = None
    broken_in: int = 1
    answers: int = 1
    wavering: int = 0
    variants: bool = False
    worst: tuple[WorstVariant, ...] = ()
    lost: int = 0
    of: int = 0
    as_returned: float | None = None
    since: str = ""
    suites: int = 1
    own_p: float | None = None

    @property
    def breaks(self) -> bool:
        """True where its check fails by it."""
        return self.fails and not self.ok

    @property
    def tied(self) -> bool:
        """True where it holds in the order of equal scores alone."""
        return self.as_returned is not None

    @property
    def compared(self) -> bool:
        """True where some of the queries that it is on were compared."""
        return bool(self.of) and not self.lacks

    @property
    def measured(self) -> bool:
        """True where it is on something that was measured, and not on nothing."""
        return bool(self.queries or not self.measure)

    @property
    def demand(self) -> type[Demand]:
        """The demand that it is on."""
        return DEMANDS[self.kind]


@dataclass(frozen=True)
class VariantLoss:
    """The loss of variants in a measure.

    ``change`` is from the queries themselves (before) to the mean over their variants (now).
    """

    measure: str
    change: Change
    worst: tuple[WorstVariant, ...] = ()


@dataclass(frozen=True)
class Robustness:
    """The variants: how many of how many queries were ``asked``, and what they lose.

    ``empty`` are those that find nothing though their query does, ``unanswered`` counts failed
    calls, and ``cause`` is why most of them failed.
    """

    variants: int
    queries: int
    losses: tuple[VariantLoss, ...] = ()
    empty: tuple[WorstVariant, ...] = ()
    unanswered: int = 0
    cause: str = ""


@dataclass(frozen=True)
class Noise:
    """The noise of unchanged code.

    ``builds`` and ``builds_before``: of how many builds each side has answers. Of ``wavering``
    queries the answers of today differ, and of ``wavering_before`` those of the baseline.
    """

    answers: int
    builds: int
    answers_before: int
    builds_before: int
    wavering: int = 0
    wavering_before: int = 0


@dataclass(frozen=True)
class Cause:
    """A cause why some queries have no ranking.

    ``message`` has the words of the first, ``queries`` the ids of all that failed alike.
    """

    message: str
    queries: tuple[str, ...]
