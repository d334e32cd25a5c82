"""Facts that an audit finds."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_irquality.verdict.gauge_facts import Gauge


@dataclass(frozen=True)
class Dead:
    """A judged document that no longer exists.

    ``queries`` (texts) are those that it decides: that find it relevant, or demand it.
    """

    document: str
    title: str
    queries: tuple[str, ...]


@dataclass(frozen=True)
class Audit:
    """All that an audit found. Queries stand by their texts.

    ``dead`` is None where nobody can say what exists, and ``no_answer`` says why. ``asked``
    documents were looked up. ``gauge`` is what builds of unchanged code tell of the gate.
    ``failed`` is why there is no audit: nothing else is known then.
    """

    asked: int = 0
    dead: tuple[Dead, ...] | None = None
    no_answer: str = ""
    gauge: Gauge | None = None
    failed: str = ""
