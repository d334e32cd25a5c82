"""Facts that an audit finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dead:
    """A judged document that no longer exists.

    ``queries`` (texts) are those that it decides: that find it relevant, or demand it.
    """

    document: str
    title: str
    queries: tuple[str, ...]


@dataclass(frozen=True)
class Rate:
    """The share of judgings of unchanged code that are red, with its 90 % interval.

    Of ``builds`` so many were judged on each side (``a_side``). ``checks`` are the labels of the
    checks that were it, each with the share of judgings that it fails, the most frequent first.
    """

    a_side: int
    builds: int
    share: float
    low: float
    high: float
    checks: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Watch:
    """Findings on what the checks notice where queries lose everything relevant that they found.

    So many queries were ``tried``, one after the other; nothing failed of the ``unwatched``
    (texts). The limits ``unbroken`` hold even where all queries lose it.
    """

    tried: int = 0
    unwatched: tuple[str, ...] = ()
    unbroken: tuple[str, ...] = ()


@dataclass(frozen=True)
class LowFloor:
    """A floor that lies far below today's value."""

    label: str
    subject: str
    floor: float | None
    value: float | None


@dataclass(frozen=True)
class Audit:
    """All that an audit found. Queries stand by their texts.

    ``dead`` is None where nobody can say what exists, and ``no_answer`` says why. ``asked``
    documents were looked up. ``rates`` are what so many ``builds`` of unchanged code tell of the
    gate, empty where they are too few. ``failed`` is why there is no audit: nothing else is known
    then.
    """

    asked: int = 0
    dead: tuple[Dead, ...] | None = None
    no_answer: str = ""
    builds: int = 0
    rates: tuple[Rate, ...] = ()
    watch: Watch = Watch()
    low_floors: tuple[LowFloor, ...] = ()
    failed: str = ""
