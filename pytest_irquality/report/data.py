"""``SuiteResult`` as JSON and back: the report of ``--ir-json``, and what a worker of pytest-xdist sends home."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Sequence
from typing import Any, TypeVar

from pytest_irquality.verdict.result import SuiteResult

VERSION = 1
T = TypeVar("T")


def encode(result: SuiteResult) -> str:
    """One result as one line of JSON."""
    return json.dumps(dataclasses.asdict(result), allow_nan=False)


def decode(text: str) -> SuiteResult:
    """The inverse of ``encode``."""
    result: SuiteResult = _build(SuiteResult, json.loads(text))
    return result


def document(results: Sequence[SuiteResult], not_evaluated: Sequence[str]) -> str:
    """The JSON report: byte-identical between equal runs but for ``timing``, which alone holds times."""
    suites, timing = [], []
    for result in results:
        data = dataclasses.asdict(result)
        timing.append(
            {
                "path": result.path,
                "retriever": result.retriever,
                "seconds": data.pop("seconds"),
                "queries": {query["id"]: query.pop("seconds") for query in data["queries"]},
            }
        )
        suites.append(data)
    outcome = "failed" if not_evaluated or any(result.failed for result in results) else "passed"
    report = {
        "version": VERSION,
        "outcome": outcome,
        "suites": suites,
        "not_evaluated": list(not_evaluated),
        "timing": timing,
    }
    return json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _build(kind: Any, data: Any) -> Any:
    """A value of a declared type from JSON's: dataclasses, tuples of them, and what JSON already has."""
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _build(hints[name], value) for name, value in data.items()})  # type: ignore[operator]
    if typing.get_origin(kind) is tuple:
        return tuple(_build(typing.get_args(kind)[0], entry) for entry in data)
    if isinstance(kind, types.UnionType) and data is not None:
        return _build(next(part for part in typing.get_args(kind) if part is not type(None)), data)
    return data
