"""``SuiteResult`` as JSON and back: the report of ``--ir-json``, and what a worker of pytest-xdist sends home."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from pytest_irquality.verdict.pool import Pool
from pytest_irquality.verdict.result import Finding, Mean, QueryResult, SuiteResult, Verdict
from pytest_irquality.verdict.side_by_side import SideBySide, side_by_side

VERSION: Literal[1] = 1


@dataclass(frozen=True)
class Timing:
    """All of one suite and retriever that is a time, or rests on one, and so differs between equal runs.

    ``seconds`` is the time spent retrieving, ``queries`` that of each query's call by its id. ``means`` and
    ``verdicts`` are those on latency in full: under ``suites`` they stand without numbers and words. ``lines`` are
    warnings and notes that name a latency.
    """

    path: str
    retriever: str
    seconds: float
    queries: dict[str, float | None]
    means: tuple[Mean, ...]
    verdicts: tuple[Verdict, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """The whole document. ``not_evaluated`` names the suites that were collected and have no result.

    ``side_by_side`` has a table for each suite that several retrievers answered, without measures that are times.
    """

    version: Literal[1]
    outcome: Literal["passed", "failed"]
    suites: tuple[SuiteResult, ...]
    side_by_side: tuple[SideBySide, ...]
    not_evaluated: tuple[str, ...]
    timing: tuple[Timing, ...]


UNTIMED = {SuiteResult: "seconds", QueryResult: "seconds"}
"""Fields that the document has under ``timing`` only."""


def encode(result: SuiteResult | Pool) -> str:
    """One result, or what there is to grade, as one line of JSON."""
    return json.dumps(result, default=vars, allow_nan=False)


def decode(text: str) -> SuiteResult:
    """The inverse of ``encode`` for a result."""
    result: SuiteResult = _decoded(text, SuiteResult)
    return result


def decode_pool(text: str) -> Pool:
    """The inverse of ``encode`` for what there is to grade."""
    pool: Pool = _decoded(text, Pool)
    return pool


def _decoded(text: str, kind: Any) -> Any:
    read = _reader(kind)
    assert read is not None
    return read(json.loads(text))


def document(results: Sequence[SuiteResult], not_evaluated: Sequence[str]) -> str:
    """The JSON report: byte-identical between equal runs but for ``timing``, which alone holds times."""
    report = Report(
        version=VERSION,
        outcome="failed" if not_evaluated or any(result.failed for result in results) else "passed",
        suites=tuple(map(_untimed, results)),
        side_by_side=tuple(
            replace(table, rows=tuple(row for row in table.rows if row.unit != "seconds"))
            for table in side_by_side(results)
        ),
        not_evaluated=tuple(not_evaluated),
        timing=tuple(map(_timing, results)),
    )
    return json.dumps(report, default=_fields, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _fields(value: Any) -> dict[str, Any]:
    return {name: entry for name, entry in vars(value).items() if name != UNTIMED.get(type(value))}


def _timed(result: SuiteResult) -> frozenset[str]:
    """The measures that are times."""
    return frozenset(mean.measure for mean in result.means if mean.unit == "seconds")


def _rests_on(verdict: Verdict, timed: frozenset[str]) -> bool:
    return any(finding.measure in timed for finding in verdict.findings)


def _timing(result: SuiteResult) -> Timing:
    timed = _timed(result)
    return Timing(
        path=result.path,
        retriever=result.retriever,
        seconds=result.seconds,
        queries={query.id: query.seconds for query in result.queries},
        means=tuple(mean for mean in result.means if mean.measure in timed),
        verdicts=tuple(verdict for verdict in result.verdicts if _rests_on(verdict, timed)),
        lines=tuple(
            line
            for line in (*result.warnings, *result.notes)
            if any(name in line for name in timed)
        ),
    )


def _untimed(result: SuiteResult) -> SuiteResult:
    """The result without anything that depends on how long something took."""
    timed = _timed(result)
    if not timed:
        return result
    columns = [measure not in timed for measure in result.measures]

    def values(all: tuple[float | None, ...] | None) -> tuple[float | None, ...] | None:
        return all and tuple(
            value if kept else None for value, kept in zip(all, columns, strict=True)
        )

    def finding(it: Finding) -> Finding:
        return replace(it, text="", value=None) if it.measure in timed else it

    def verdict(it: Verdict) -> Verdict:
        return (
            replace(it, reason="", findings=tuple(map(finding, it.findings)))
            if _rests_on(it, timed)
            else it
        )

    def kept(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(line for line in lines if not any(name in line for name in timed))

    return replace(
        result,
        means=tuple(
            replace(m, value=None, change=None) if m.measure in timed else m for m in result.means
        ),
        queries=tuple(
            replace(
                q,
                values=values(q.values) or (),
                before=values(q.before),
                compared=values(q.compared),
            )
            for q in result.queries
        ),
        verdicts=tuple(map(verdict, result.verdicts)),
        warnings=kept(result.warnings),
        notes=kept(result.notes),
    )


@cache
def _reader(kind: Any) -> Callable[[Any], Any] | None:
    """What makes a value of a declared type from JSON's; None where JSON already has it."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        of = {
            name: read
            for name, hint in typing.get_type_hints(kind).items()
            if (read := _reader(hint))
        }

        def build(data: dict[str, Any]) -> Any:
            for name, read in of.items():
                if data.get(name) is not None:
                    data[name] = read(data[name])
            return kind(**data)

        return build
    if typing.get_origin(kind) is tuple:
        one = _reader(typing.get_args(kind)[0])
        return tuple if one is None else lambda entries: tuple(map(one, entries))
    if isinstance(kind, types.UnionType):
        return _reader(next(part for part in typing.get_args(kind) if part is not type(None)))
    return None
