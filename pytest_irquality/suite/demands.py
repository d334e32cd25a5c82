"""Demands: each kind is a class that carries all that later stages ask of it.

A finding keeps the key of the demand it is on, and ``DEMANDS`` in ``model.py`` has the class of
each key. Rules are in ``rules.py``, guards and bounds here; the words are in
``wording/demand_words.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain, repeat
from math import inf
from typing import ClassVar, Literal, TypeVar

from pytest_irquality.suite.yaml import Place

Role = Literal["wanted", "unwanted", "named"]
T = TypeVar("T")


class Demand:
    """A demand as reports know it: by its key, with answers to what they ask.

    ``roles`` are those of the documents it speaks of, in their order, the last role that of all
    further ones: a *wanted* document is to be found, an *unwanted* one is not, a *named* one is
    spoken of and no more. ``on_change``: it is about what changed since the baseline, so an update
    of the baseline forgives it, and a change may accept it. ``needs_relevant``: one more relevant
    document could make it hold.

    Of bounds: ``falls``: what breaks it is a fall, of the value or since the baseline; else a rise.
    ``fixed``: it is a ``floor`` or a ceiling that fails. ``tested``: only a significant change
    breaks it.
    """

    key: ClassVar[str]
    known_issue: ClassVar[str | None] = None
    issue_line: ClassVar[int] = 0
    roles: ClassVar[tuple[Role, ...]] = ("named",)
    on_change: ClassVar[bool] = False
    needs_relevant: ClassVar[bool] = False
    falls: ClassVar[bool] = False
    fixed: ClassVar[bool] = False
    floor: ClassVar[bool] = False
    tested: ClassVar[bool] = False

    @property
    def can_fail(self) -> bool:
        """True where breaking it can fail its check."""
        return False

    @classmethod
    def having(cls, documents: Iterable[T], *roles: Role) -> list[T]:
        """Those of a demand's documents that have one of these roles."""
        known = chain(cls.roles, repeat(cls.roles[-1]))
        with_roles = zip(documents, known, strict=False)
        return [document for document, role in with_roles if role in roles]

    @classmethod
    def left(cls, value: float, limit: float) -> float:
        """The distance of a value, or a worsening, from its limit; negative where it is beyond."""
        return value - limit if cls.falls and not cls.on_change else limit - value


class Trend(Demand):
    """A limit on what many changes lost together."""

    key = "trend"


class Together(Demand):
    """A limit on what all suites of one retriever lost together."""

    key = "together"
    on_change = falls = tested = True


@dataclass(frozen=True)
class Audited(Demand):
    """The judged documents that no longer exist, of which there may be ``most``."""

    most: int
    key = "dead"


class Examined(Demand):
    """The exam of the base: what its suite demanded of the same search."""

    @property
    def can_fail(self) -> bool:
        """True: a project may let no change accept anything."""
        return True


class Answered(Demand):
    """An answer to each query, whatever it is."""


# -- what they are held against --------------------------------------------------------------------


@dataclass(frozen=True)
class Scope:
    """The things that a check is over.

    These are ``means`` of a measure, of the suite or of ``tags``, single ``queries``, ``changes``
    in the history, ``answers``, whatever they are, ``variants``, or the base's ``exam``; none of
    these are audits.
    ``each``: every tag or query by itself.
    """

    means: bool = False
    tags: bool = False
    queries: bool = False
    changes: bool = False
    answers: bool = False
    variants: bool = False
    exam: bool = False
    each: bool = False

    @property
    def suite(self) -> bool:
        """True where it is over the mean of the whole suite."""
        return self.means and not self.tags

    @property
    def each_tag(self) -> bool:
        """True where it is over each tag."""
        return self.tags and self.each

    @property
    def each_query(self) -> bool:
        """True where it is over each query."""
        return self.queries and self.each


SCOPES: Mapping[str, Scope] = {
    "suite": Scope(means=True),
    "tag": Scope(means=True, tags=True),
    "each_tag": Scope(means=True, tags=True, each=True),
    "query": Scope(queries=True),
    "each_query": Scope(queries=True, each=True),
    "bulk": Scope(answers=True),
    "robustness": Scope(variants=True),
    "trend": Scope(changes=True),
    "audit": Scope(),
    "exam": Scope(exam=True),
}
"""What each scope is over, by its name."""

# -- guards ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guard(Demand):
    """A watch over every single query since the baseline: it had something, and has not now.

    ``most`` queries may do it; None: it only warns. A guard that nobody wrote needs no baseline; a
    written one without a baseline would be a false green. ``help`` and ``default`` are of its key.
    """

    most: int | None = 0
    written: bool = True
    place: Place = field(default=Place(1), compare=False)

    help: ClassVar[str]
    default: ClassVar[str]
    on_change = True

    @property
    def can_fail(self) -> bool:
        """True where it does more than warn."""
        return self.most is not None

    def refuses(self, queries: int) -> bool:
        """Tell whether so many queries may not do it."""
        return self.most is not None and queries > self.most

    def has(self, top: Sequence[str], relevant: AbstractSet[str], before: Sequence[str]) -> bool:
        """Tell whether the top results of an answer have what it watches over.

        ``before`` are those of the baseline.
        """
        raise NotImplementedError


class LostAllRelevant(Guard):
    """A relevant document in the top results before, none now."""

    key = "lost_all_relevant"
    help = "It had a relevant document in the top `top_k` at baseline and has none now."
    default = "`fail` where there is a baseline"
    needs_relevant = True

    def has(self, top: Sequence[str], relevant: AbstractSet[str], before: Sequence[str]) -> bool:
        """Tell whether any of the top results is relevant."""
        return not relevant.isdisjoint(top)


class NewZeroResults(Guard):
    """Results before, none now."""

    key = "new_zero_results"
    help = "It had results at baseline and has none now."
    default = "`ignore`; `fail` in a suite with neither judgments nor rules"

    def has(self, top: Sequence[str], relevant: AbstractSet[str], before: Sequence[str]) -> bool:
        """Tell whether there is any result."""
        return bool(top)


class NothingInCommon(Guard):
    """Results before, none of which is among today's."""

    key = "nothing_in_common"
    help = "None of its top `top_k` results at baseline is among them now."
    default = "`ignore`; a tenth of the queries in a suite with neither judgments nor rules"

    def has(self, top: Sequence[str], relevant: AbstractSet[str], before: Sequence[str]) -> bool:
        """Tell whether any of the top results is the baseline's."""
        return not {*before}.isdisjoint(top)


GUARDS: Mapping[str, type[Guard]] = {guard.key: guard for guard in Guard.__subclasses__()}
"""Every guard by its key."""
DEFAULT_GUARD = LostAllRelevant
"""The guard that nobody needs to write."""

# -- bounds ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bound(Demand):
    """One number a measure is held to. ``text`` is how the user wrote it (``2%``, ``0.85``).

    ``share``: the value is a fraction of the queries. ``relative``: a fraction of the baseline's
    value. ``fails``: breaking it fails the check, and is not only said in the summary. ``help`` and
    ``default`` are of its key.
    """

    value: float
    share: bool = False
    text: str = ""
    relative: bool = False

    help: ClassVar[str]
    default: ClassVar[str]
    fails: ClassVar[bool] = True

    def worsening(self, before: float, now: float) -> float:
        """By how much a value got worse, as a bound on the change counts it."""
        risen = now - before
        worsened = -risen if self.falls else risen
        if not self.relative:
            return worsened
        if not before:
            return inf if worsened > 0 else 0.0
        return worsened / abs(before)


class Min(Bound):
    """A floor."""

    key = "min"
    help = "The floor."
    default = "no floor"
    fixed = floor = falls = True


class Max(Bound):
    """A ceiling."""

    key = "max"
    help = "The ceiling."
    default = "no ceiling"
    fixed = True


class WarnBelow(Min):
    """A floor that fails nothing."""

    key = "warn_below"
    help = "Below it, a warning in the summary; never a failure."
    default = "none"
    fails = fixed = floor = False


class WarnAbove(Max):
    """A ceiling that fails nothing."""

    key = "warn_above"
    help = "Above it, a warning in the summary; never a failure."
    default = "none"
    fails = fixed = False


class MaxDrop(Bound):
    """The most that a value may fall since the baseline."""

    key = "max_drop"
    help = "The most it may fall since the baseline."
    default = "any drop"
    on_change = falls = True


class MaxRise(Bound):
    """The most that a value may rise since the baseline."""

    key = "max_rise"
    help = "The most it may rise since the baseline, where lower is better."
    default = "any rise"
    on_change = True


class MaxSignificantDrop(Bound):
    """The most that a value may fall, where chance does not explain the fall."""

    key = "max_significant_drop"
    help = "As `max_drop`, and only where a paired test finds the drop significant."
    default = "none"
    on_change = falls = tested = True


BOUNDS: Mapping[str, type[Bound]] = {
    bound.key: bound
    for bound in (Min, Max, WarnBelow, WarnAbove, MaxDrop, MaxRise, MaxSignificantDrop)
}
"""Every bound by its key."""
