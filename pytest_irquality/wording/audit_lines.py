"""The findings of an audit: a few lines under a heading each, the same in every report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pytest_irquality.verdict.audit_facts import Audit, Dead, LowFloor
from pytest_irquality.verdict.gauge import FEWEST
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.block import Part, Section
from pytest_irquality.wording.numbers import counted, few, figure, grouped
from pytest_irquality.wording.words import quoted

MOST = 10
RARE = 0.1  # times that a gate may be red for nothing, and nobody need look


def audit_of(results: Sequence[SuiteResult]) -> Mapping[str, Sequence[Section]]:
    """By the path of each suite what its audit says, over all of its retrievers."""
    found: dict[str, dict[str, Audit]] = {}
    for result in results:
        if result.audit:
            found.setdefault(result.path, {})[result.retriever] = result.audit
    return {path: [*_sections(audits)] for path, audits in found.items()}


def _sections(audits: Mapping[str, Audit]) -> Iterator[Section]:
    """A section for each thing that was looked at, in which a retriever's lines have its name."""
    for title, lines, fine in PARTS:
        said, warns = list[Part](), False
        for retriever, audit in audits.items():
            which = f"{retriever}: " if len(audits) > 1 else ""
            some = [*lines(audit)] if bool(audit.failed) == (lines is _failed) else []
            said += (Part(0, f"{which}{line}") for line in some)
            warns = warns or (bool(some) and not fine(audit))
        if said:
            yield Section(title, tuple(said), warns=warns)


def _failed(audit: Audit) -> Iterator[str]:
    yield audit.failed


def _exists(audit: Audit) -> Iterator[str]:
    if audit.dead is None:
        nobody = "the retriever has no exists(id), and no corpus is known that has these ids"
        yield f"not known what still exists: {audit.no_answer or nobody}"
    elif not audit.dead:
        yield f"none of {grouped(audit.asked)} judged documents is gone"
    else:
        gone = counted(
            len(audit.dead),
            "judged document no longer exists",
            "judged documents no longer exist",
        )
        yield f"{gone}, of {grouped(audit.asked)} looked up"
        yield from (f"  {_dead(one)}" for one in audit.dead[:MOST])
        if len(audit.dead) > MOST:
            yield f"  and {grouped(len(audit.dead) - MOST)} more"


def _dead(one: Dead) -> str:
    name = f"{one.document} ({one.title})" if one.title else one.document
    if not one.queries:
        return f"{name}: decides no query"
    return f"{name}: decides {few([quoted(text) for text in one.queries])}"


def _red_for_nothing(audit: Audit) -> Iterator[str]:
    """The lines on how often unchanged code is red, or why nobody knows."""
    if not audit.rates:
        yield (
            f"not known: a rate takes {FEWEST} builds of unchanged code, each kept and given as"
            f" --ir-runs; here {'is' if audit.builds == 1 else 'are'} {audit.builds}"
        )
    for rate in audit.rates:
        share, low, high = (f"{100 * one:.0f}" for one in (rate.share, rate.low, rate.high))
        causes = [f"{label!r} {100 * often:.0f} %" for label, often in rate.checks[:3]]
        yield (
            f"{counted(rate.a_side, 'build')} a side: {share} % ({low} to {high} %, of"
            f" {rate.builds} builds) {', '.join(causes)}".rstrip()
        )


def _unwatched(audit: Audit) -> Iterator[str]:
    """The lines on what no check would notice, and on limits that hold whatever happens."""
    watch = audit.watch
    if watch.unwatched:
        named = few([quoted(text) for text in watch.unwatched])
        yield (
            f"{len(watch.unwatched)} of {counted(watch.tried, 'query', 'queries')} could lose all"
            f" that they find, and no check would fail: {named}"
        )
    elif watch.tried:
        yield f"a check fails where any of {watch.tried} queries loses all that it finds"
    if watch.unbroken:
        held = counted(len(watch.unbroken), "limit holds", "limits hold")
        labels = few([repr(label) for label in watch.unbroken])
        yield f"{held} even where every query loses all that it finds: {labels}"
    if low := audit.low_floors:
        floors = counted(len(low), "floor lies", "floors lie")
        yield f"{floors} far below today's value: {few([_floor(one) for one in low])}"


def _floor(one: LowFloor) -> str:
    of = f" of {quoted(one.subject)}" if one.subject else ""
    return f"{one.label!r}{of} {figure(one.floor)}, today {figure(one.value)}"


PARTS: Sequence[tuple[str, Callable[[Audit], Iterator[str]], Callable[[Audit], bool]]] = (
    ("could not be made", _failed, lambda audit: False),
    ("dead", _exists, lambda audit: not (audit.dead or audit.no_answer)),
    (
        "red for nothing",
        _red_for_nothing,
        lambda audit: all(rate.share <= RARE for rate in audit.rates),
    ),
    (
        "would find",
        _unwatched,
        lambda audit: not (audit.watch.unwatched or audit.watch.unbroken or audit.low_floors),
    ),
)
"""The title of each part, its lines, and whether they are fine: nothing is to be done."""
