"""``SuiteResult`` as JSON and back: the report of ``--ir-json``, and what a worker of pytest-xdist
sends home.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal

from pytest_irquality.verdict.deferred import Deferred
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.pool import Pool
from pytest_irquality.verdict.result import Mean, QueryResult, ShownDocument, SuiteResult, Verdict
from pytest_irquality.verdict.side_by_side import SideBySide, side_by_side
from pytest_irquality.wording.notes import note, notes
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import sentence, warnings
from pytest_irquality.wording.story import Story

VERSION: Literal[1] = 1


@dataclass(frozen=True)
class Timing:
    """All of one suite and retriever that is a time, or rests on one, and so differs between equal
    runs.

    ``seconds`` is the time spent retrieving, ``queries`` that of each query's call by its id.
    ``means`` and ``verdicts`` are those on latency in full: under ``suites`` they stand without
    numbers and words. ``lines`` are warnings and notes that name a latency.
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
    """The whole document. ``not_evaluated`` names the suites that were collected and have no
    result.

    ``side_by_side`` has a table for each suite that several retrievers answered, without measures
    that are times.
    """

    version: Literal[1]
    outcome: Literal["passed", "failed"]
    suites: tuple[SuiteResult, ...]
    side_by_side: tuple[SideBySide, ...]
    not_evaluated: tuple[str, ...]
    timing: tuple[Timing, ...]


PLAIN = (str, int, float, type(None))
"""What has no entries in JSON."""
LEFT_OUT: Mapping[type, Sequence[str]] = {
    SuiteResult: ["seconds", "texts"],
    QueryResult: ["seconds", "seconds_before", "texts_left_out"],
    ShownDocument: ["chunk"],
}
"""Fields that the document has under ``timing`` only, and whole texts, which it has not."""


SAID: Mapping[type, Mapping[str, Any]] = {
    Finding: {"text": str, "documents": tuple[str, ...]},
    Verdict: {"reason": str},
    SuiteResult: {"headline": str, "notes": tuple[str, ...], "warnings": tuple[str, ...]},
}
"""What the document says in words, or for short, besides the facts: each word with its type."""


def encode(result: SuiteResult | Pool) -> str:
    """One result, or what there is to grade, as one line of JSON."""
    return json.dumps(result, default=_unusual, allow_nan=False)


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
    """The JSON report: byte-identical between equal runs but for ``timing``, which alone holds
    times.
    """
    tables = (
        replace(table, rows=tuple(row for row in table.rows if row.unit != "seconds"))
        for table in side_by_side(results)
    )
    failed = not_evaluated or any(result.failed for result in results)
    report = {
        "version": VERSION,
        "outcome": "failed" if failed else "passed",
        "suites": [_suite(result) for result in results],
        "side_by_side": tuple(tables),
        "not_evaluated": not_evaluated,
        "timing": [_timing(result) for result in results],
    }
    return _indented(report) + "\n"


def _indented(value: Any, line: str = "\n") -> str:
    """The same as ``json.dumps`` with ``indent=1``, for which the encoder in C is not used. What
    holds nothing but plain values, which is most, is written by that one.
    """
    if isinstance(value, PLAIN):
        return _encoder()(value)
    told = value if isinstance(value, (dict, list, tuple)) else _without(value)
    opening, closing = "{}" if isinstance(told, dict) else "[]"
    if not told:
        return opening + closing
    deeper = f"{line} "
    comma = f",{deeper}"
    entries = told.values() if isinstance(told, dict) else told
    if all(isinstance(entry, PLAIN) for entry in entries):
        inside = _encoder(comma)(told)[1:-1]
    elif isinstance(told, dict):
        inside = comma.join(
            [f"{_encoder()(name)}: {_indented(entry, deeper)}" for name, entry in told.items()]
        )
    else:
        inside = comma.join([_indented(entry, deeper) for entry in told])
    return f"{opening}{deeper}{inside}{line}{closing}"


@cache
def _encoder(comma: str = ", ") -> Callable[[Any], str]:
    """What writes JSON with something between entries."""
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(comma, ": ")).encode


def kind_of(fact: type[Fact]) -> str:
    """What the document calls a kind of fact: ``returned_nothing``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", fact.__name__).lower()


def _fields(value: Any) -> dict[str, Any]:
    return _of_kind(value, {name: getattr(value, name) for name in names_of(value.__class__)})


def _unusual(value: Any) -> Any:
    """Only the fields that are not as the class declares them: of a large result half of the
    text.
    """
    if isinstance(value, Deferred):
        return value.made
    told = {
        name: entry
        for name, default in _defaults(value.__class__).items()
        if (entry := getattr(value, name)) is not default
    }
    return _of_kind(value, told)


def _of_kind(value: Any, told: dict[str, Any]) -> dict[str, Any]:
    """With its kind, where it is a fact."""
    return {"kind": kind_of(type(value)), **told} if isinstance(value, Fact) else told


@cache
def names_of(kind: Any) -> Sequence[str]:
    """The names of the fields of a dataclass or a named tuple."""
    return kind._fields if issubclass(kind, tuple) else [field.name for field in fields(kind)]


@cache
def _defaults(kind: Any) -> Mapping[str, Any]:
    """Every field of a class by its name, those without a default with none."""
    return {field.name: field.default for field in fields(kind)}


def _suite(result: SuiteResult) -> dict[str, Any]:
    """A result without anything that depends on how long something took, with its words."""
    timed = frozenset(mean.measure for mean in result.means if mean.unit == "seconds")

    def is_timed(line: str) -> bool:
        return any(measure in line for measure in timed)

    untimed = _untimed(result, timed)
    said = [(fact, note(fact, result)) for fact in result.facts]
    timeless = [(fact, text) for fact, text in said if not is_timed(text)]
    return {
        **_without(untimed),
        "queries": [_query(query) for query in untimed.queries],
        "verdicts": [
            _verdict(result, verdict, blank, timed)
            for verdict, blank in zip(result.verdicts, untimed.verdicts, strict=True)
        ],
        "facts": [fact for fact, _ in timeless],
        "notes": [text for _, text in timeless],
        "headline": Story(result).headline,
        "warnings": [text for text in warnings(result) if not is_timed(text)],
    }


def _without(value: Any) -> dict[str, Any]:
    told = _fields(value)
    for name in LEFT_OUT.get(type(value), ()):
        del told[name]
    return told


def _query(query: QueryResult) -> dict[str, Any]:
    """A query with its documents, which are tuples and would be lists without names."""
    told = _without(query)
    for name in ("ranking", "missing", "ranking_before"):
        told[name] = [_without(document) for document in told[name]]
    return told


def _verdict(
    result: SuiteResult, verdict: Verdict, shown: Verdict, timed: frozenset[str]
) -> dict[str, Any]:
    """A verdict in full and in words; of ``timed`` measures only what does not depend on times."""
    findings = zip(verdict.findings, shown.findings, strict=True)
    return {
        **_fields(shown),
        "reason": "" if _rests_on(verdict, timed) else reason(result, verdict),
        "findings": [
            {
                **_fields(blank),
                "text": "" if finding.measure in timed else sentence(result, verdict, finding),
                "documents": [document.id for document in finding.ranked],
            }
            for finding, blank in findings
        ],
    }


def _rests_on(verdict: Verdict, timed: frozenset[str]) -> bool:
    return any(finding.measure in timed for finding in verdict.findings)


def _timing(result: SuiteResult) -> dict[str, Any]:
    timed = frozenset(mean.measure for mean in result.means if mean.unit == "seconds")
    lines = [*warnings(result), *notes(result)]
    return {
        "path": result.path,
        "retriever": result.retriever,
        "seconds": result.seconds,
        "queries": {query.id: query.seconds for query in result.queries},
        "means": [mean for mean in result.means if mean.measure in timed],
        "verdicts": [
            _verdict(result, verdict, verdict, frozenset())
            for verdict in result.verdicts
            if _rests_on(verdict, timed)
        ],
        "lines": [line for line in lines if any(measure in line for measure in timed)],
    }


def _untimed(result: SuiteResult, timed: frozenset[str]) -> SuiteResult:
    """The result with the values of measures that are times left out."""
    if not timed:
        return result
    columns = [measure not in timed for measure in result.measures]

    def values(row: tuple[float | None, ...] | None) -> tuple[float | None, ...] | None:
        if row is None:
            return None
        return tuple(value if kept else None for value, kept in zip(row, columns, strict=True))

    def blank(finding: Finding) -> Finding:
        timeless = finding.measure not in timed
        return finding if timeless else replace(finding, value=None, change=None)

    return replace(
        result,
        means=tuple(
            replace(mean, value=None, change=None) if mean.measure in timed else mean
            for mean in result.means
        ),
        queries=tuple(
            replace(
                query,
                values=values(query.values) or (),
                before=values(query.before),
                compared=values(query.compared),
            )
            for query in result.queries
        ),
        verdicts=tuple(
            replace(verdict, findings=tuple(map(blank, verdict.findings)))
            for verdict in result.verdicts
        ),
    )


def _readers(kind: Any) -> Mapping[str, Callable[[Any], Any]]:
    """What makes values of the fields that JSON does not have as they are."""
    hints = typing.get_type_hints(kind)
    return {name: read for name, hint in hints.items() if (read := _reader(hint))}


@cache
def _reader(kind: Any) -> Callable[[Any], Any] | None:
    """What makes a value of a declared type from JSON's; None where JSON already has it."""
    if kind is Fact:
        return _fact
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        of = _readers(kind)

        def build(data: dict[str, Any]) -> Any:
            for name, read in of.items():
                if data.get(name) is not None:
                    data[name] = read(data[name])
            return kind(**data)

        return build
    if isinstance(kind, type) and issubclass(kind, tuple):  # a named one, an array in JSON
        at = {names_of(kind).index(name): read for name, read in _readers(kind).items()}

        def build_tuple(data: list[Any]) -> Any:
            for place, read in at.items():
                if data[place] is not None:
                    data[place] = read(data[place])
            return kind(*data)

        return build_tuple
    if typing.get_origin(kind) in (tuple, Sequence):
        one = _reader(typing.get_args(kind)[0])
        return tuple if one is None else lambda entries: tuple(map(one, entries))
    if isinstance(kind, types.UnionType):
        return _reader(next(part for part in typing.get_args(kind) if part is not type(None)))
    return None


def _fact(data: dict[str, Any]) -> Fact:
    kinds = {kind_of(kind): kind for kind in Fact.__subclasses__()}
    read = _reader(typing.cast("Any", kinds[data.pop("kind")]))
    assert read is not None
    fact: Fact = read(data)
    return fact
