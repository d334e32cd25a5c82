"""One failure as plain text: in full, and as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from pytest_irquality.edges.printable import terminal
from pytest_irquality.report.layout import ENDLESS, text_part
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.wording.block import Space
from pytest_irquality.wording.failed import failure
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import hanging

MOST = 3
"""Failures of a suite that the terminal tells in full."""


def explain(result: SuiteResult, verdict: Verdict) -> str:
    """Everything about one check that ended badly, and where it stands."""
    return "\n".join(_lines(result, verdict, brief=False))


def laid_out(result: SuiteResult, verdict: Verdict, width: int, full: Sequence[Verdict]) -> str:
    """The explanation as a terminal shows it, wrapped where it is too wide, nothing of it cut.

    Those in ``full`` are told so, the others with their first reason.
    """
    *lines, place = _lines(result, verdict, brief=verdict not in full)
    return "\n".join([*chain(*(hanging(line, width) for line in lines)), place])


def _lines(result: SuiteResult, verdict: Verdict, *, brief: bool) -> Iterator[str]:
    space, story = Space(rank=0) if brief else Space(), Story(result)
    told = failure(result, verdict).within(space)
    yield terminal(told.title)
    for part in told.parts:
        yield from text_part(part, ENDLESS)
    path, line = story.damage.place(verdict)
    yield terminal(f"  at {path}:{line}")


def within(text: str, width: int) -> str:
    """The reason that something has no verdict, then the place."""
    said, *rest = text.split("\n")
    return "\n".join([*hanging(said, width), *rest])


def told_in_full(result: SuiteResult) -> Sequence[Verdict]:
    """The failures that a terminal tells in full.

    Queries, whose rankings no table holds, come before limits.
    """
    damage = Story(result).damage
    return [*damage.failed_queries, *damage.failed_limits][:MOST]
