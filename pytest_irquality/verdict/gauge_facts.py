"""Facts on the gate itself, which it found by judging builds of unchanged code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """The share of judgings of unchanged code that are red, with its 90 % interval.

    So many builds a side were judged (``before`` and ``now``); ``kept``: the former are those of
    the baseline that is there, and not builds of today. ``checks`` are the labels of the checks
    that were it, each with the share of judgings that it fails, the most frequent first.
    """

    before: int
    now: int
    kept: bool
    builds: int
    share: float
    low: float
    high: float
    checks: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Drop:
    """The share of drops of one ``size`` of the mean that the gate finds, made on purpose.

    ``ways`` has the share of each way to do harm by its name, the best found first.
    """

    size: float
    found: float
    ways: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Harms:
    """Queries, or tags, that were harmed one after the other, of which a share was ``found``.

    ``never`` names those of which no harm was ever found, ``queries`` how many one is, as a rule.
    """

    of: int
    found: float
    never: tuple[str, ...]
    queries: int = 1


@dataclass(frozen=True)
class Power:
    """Findings on harm done on purpose to the suite's own rankings, as the gate sees it.

    So many builds a side were judged (``before`` and ``now``); ``kept``: the former are those of
    the baseline that is there. ``drops`` are those of ``measure``, the smallest first. ``lost`` are
    queries that lost every relevant document, ``tags`` those of which each query lost its first
    results. Of the judgings a share was ``red`` without any harm. ``unbroken`` are limits that no
    drop broke.
    """

    before: int
    now: int
    kept: bool
    measure: str
    drops: tuple[Drop, ...]
    lost: Harms
    tags: Harms
    red: float
    unbroken: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gauge:
    """Findings on the gate of a suite from ``builds`` of unchanged code.

    Each has so many ``answers``. ``rates`` are empty where too few builds tell. ``power`` is None
    where no query was answered.
    """

    builds: int
    answers: int
    rates: tuple[Rate, ...] = ()
    power: Power | None = None
