"""The findings of an audit: a few lines under a heading each, the same in every report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_irquality.verdict.audit_facts import Dead
from pytest_irquality.verdict.findings import Noise
from pytest_irquality.verdict.gauge_facts import Gauge
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.block import Part, Section
from pytest_irquality.wording.gauge_lines import (
    is_rare,
    misses_nothing,
    red_for_nothing,
    would_find,
)
from pytest_irquality.wording.numbers import counted, few, grouped
from pytest_irquality.wording.words import quoted, wanted

MOST = 5


def _part(heading: str, lines: Sequence[str], fine: bool = True) -> Section:
    """One thing that an audit looked at; ``fine`` where nothing is to be done about it."""
    return Section(heading, tuple(Part(0, one) for one in lines), warns=not fine)


def audit_of(results: Sequence[SuiteResult]) -> Mapping[str, Sequence[Section]]:
    """By the path of each suite what its audit says, over all of its retrievers."""
    found: dict[str, list[Section]] = {}
    for result in results:
        if result.audit and result.path not in found:
            same = [other for other in results if other.path == result.path and other.audit]
            found[result.path] = list(_suite(same))
    return found


def _suite(every: Sequence[SuiteResult]) -> Iterator[Section]:
    """The parts of an audit: those of the suite once, those of a retriever with its name."""
    lines = [
        f"{_which(one, every)}{one.audit.failed}" for one in every if one.audit and one.audit.failed
    ]
    if lines:
        yield _part("could not be made", lines, False)
    results = [one for one in every if one.audit and not one.audit.failed]
    if results:
        yield from _parts(results)


def _parts(results: Sequence[SuiteResult]) -> Iterator[Section]:
    yield _exists(results)
    yield _red_for_nothing(results)
    yield from _would_find(results)


def _exists(results: Sequence[SuiteResult]) -> Section:
    lines, fine = [], True
    for result in results:
        found, which = result.audit, _which(result, results)
        assert found is not None
        if found.dead is None:
            why = (
                found.no_answer
                or "the retriever has no exists(id), and no corpus is known that has these ids"
            )
            lines.append(f"{which}not known what still exists: {why}")
            fine = fine and not found.no_answer
        elif found.dead:
            fine = False
            gone = counted(
                len(found.dead),
                f"judged {wanted(result, 1)} no longer exists",
                f"judged {wanted(result)} no longer exist",
            )
            lines.append(f"{which}{gone}, of {grouped(found.asked)} looked up")
            lines += (f"  {_dead(one)}" for one in found.dead[: 2 * MOST])
            if len(found.dead) > 2 * MOST:
                lines.append(f"  and {grouped(len(found.dead) - 2 * MOST)} more")
        else:
            lines.append(f"{which}none of {grouped(found.asked)} judged {wanted(result)} is gone")
    return _part("dead", tuple(lines), fine)


def _dead(one: Dead) -> str:
    name = f"{one.document} ({one.title})" if one.title else one.document
    if not one.queries:
        return f"{name}: decides no query"
    return f"{name}: decides {few([quoted(text) for text in one.queries])}"


def _gauges(results: Sequence[SuiteResult]) -> Iterator[tuple[str, Gauge, Noise | None]]:
    """The findings on the gate with each retriever, and its name where there are several."""
    for result in results:
        if result.audit and result.audit.gauge:
            yield _which(result, results), result.audit.gauge, result.noise


def _red_for_nothing(results: Sequence[SuiteResult]) -> Section:
    gauges = [*_gauges(results)]
    lines = [
        f"{which}{line}" for which, gauge, noise in gauges for line in red_for_nothing(gauge, noise)
    ]
    fine = all(is_rare(gauge) for _, gauge, _ in gauges)
    return _part("red for nothing", tuple(lines), fine)


def _would_find(results: Sequence[SuiteResult]) -> Iterator[Section]:
    gauges = [*_gauges(results)]
    lines = [f"{which}{line}" for which, gauge, _ in gauges for line in would_find(gauge)]
    if lines:
        fine = all(misses_nothing(gauge) for _, gauge, _ in gauges)
        yield _part("would find", tuple(lines), fine)


def _which(result: SuiteResult, results: Sequence[SuiteResult]) -> str:
    return f"{result.retriever}: " if len(results) > 1 else ""
