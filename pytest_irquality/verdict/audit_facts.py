"""Facts that an audit finds."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_irquality.verdict.gauge_facts import Gauge


@dataclass(frozen=True)
class Skipped:
    """A query that a judge did not grade, and why."""

    query: str
    judge: str
    reason: str


@dataclass(frozen=True)
class Dead:
    """A judged document that no longer exists.

    ``queries`` (texts) are those that it decides: that find it relevant, or demand it.
    """

    document: str
    title: str
    queries: tuple[str, ...]


@dataclass(frozen=True)
class NeverMet:
    """A judged pair that nothing ever returned."""

    query: str
    document: str
    relevant: bool


@dataclass(frozen=True)
class WeakLimit:
    """A limit that holds although one query in ten of those it sees lost everything.

    Lost is every relevant document or, of ``zero_results``, every result.

    ``toothless``: so do all bounds of its line. Of a floor, ``value`` is today's, ``lost`` what is
    left in that case, and ``write`` a floor that would have told.
    """

    check: str
    label: str
    line: int
    measure: str
    toothless: bool
    queries: int
    losing: int
    floor: float | None = None
    value: float | None = None
    lost: float | None = None
    write: float | None = None


@dataclass(frozen=True)
class Resolution:
    """The smallest drop that a limit's queries can show, and how many it takes for 0.02.

    ``assumed``: no ranking has changed, so changes are taken to spread as the values do.
    """

    label: str
    measure: str
    queries: int
    detectable: float
    needed: int
    assumed: bool


@dataclass(frozen=True)
class Audit:
    """All that an audit found. Queries stand by their texts.

    ``dead`` is None where nobody can say what exists, and ``no_answer`` says why. ``asked``
    documents were looked up. ``gauge`` is what builds of unchanged code tell of the gate.
    ``failed`` is why there is no audit: nothing else is known then.
    """

    judged: int
    asked: int = 0
    dead: tuple[Dead, ...] | None = None
    never_met: tuple[NeverMet, ...] = ()
    unprotected: tuple[str, ...] = ()
    weak: tuple[WeakLimit, ...] = ()
    resolution: tuple[Resolution, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    no_answer: str = ""
    gauge: Gauge | None = None
    failed: str = ""

    @property
    def toothless(self) -> tuple[WeakLimit, ...]:
        """One entry for each line of limits that nothing could break."""
        return tuple({one.check: one for one in self.weak if one.toothless}.values())

    def count(self, kind: str) -> int | None:
        """The number found of what a limit under ``audit:`` is on; None where nobody can say."""
        found: tuple[object, ...] | None = getattr(self, kind)
        return None if found is None or self.failed else len(found)
