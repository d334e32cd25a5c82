"""Evaluation sets that other tools write: promptfoo's tests.

What their rows say of retrieval is kept: the question, and the passages that it rests on. What they
say of answers is no judgment of a ranking, and is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from pytest_irquality.suite.files.formats import (
    EXPECTED,
    Record,
    cells_of,
    meaningful,
    named,
    refuse_ragged,
    rows,
)

CONTAINS = re.compile(r"i?contains:\s*(.*\S)", re.DOTALL)


def promptfoo(lines: Iterable[str]) -> Iterator[Record]:
    """Tests of promptfoo: what an answer is to contain is a passage; other asserts are ignored."""
    lines = iter(lines)
    start, header = next(meaningful(lines), (1, ""))
    names = [name.strip() for name in cells_of(header, ",")]
    for number, raw, row in rows(lines, ",", start):
        if any(row):
            refuse_ragged(number, row, names)
            yield _test(number, raw, dict(zip(names, map(str.strip, row), strict=False)))


def _test(number: int, raw: str, row: Mapping[str, str]) -> Record:
    passages: list[str] = []
    ignored: list[str] = []
    for name, said in row.items():
        if not (name.startswith(EXPECTED) and said):
            continue
        if contained := CONTAINS.fullmatch(said):
            passages.append(contained[1])
        else:
            ignored.append(f"{name} ({said.partition(':')[0]})")
    asked = {name: said for name, said in row.items() if not name.startswith("__")}
    column = named([*asked]).get("query", 0 if len(asked) == 1 else None)
    query = asked.pop([*asked][column]) if column is not None else ""
    # As a cell of a sheet has several.
    cells = {"query": query, "passage": json.dumps(passages)}
    return Record(number, raw, cells, ignored=[*ignored, *asked])
