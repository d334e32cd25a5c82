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
class Gauge:
    """Findings on the gate of a suite from ``builds`` of unchanged code.

    Each has so many ``answers``. ``rates`` are empty where too few builds tell.
    """

    builds: int
    answers: int
    rates: tuple[Rate, ...] = ()
