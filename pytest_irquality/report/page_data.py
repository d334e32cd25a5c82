"""The data that the page's script draws from, packed by zlib and written in base64.

It has the query tables and what their rows open to, every text, document and grade once.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from pytest_irquality.edges.printable import visible
from pytest_irquality.verdict.shown import Mark
from pytest_irquality.wording.block import Cell, Column, Documents, Opened
from pytest_irquality.wording.query_table import HIDDEN, Queries
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import cut

TITLES = 1_800_000
"""Characters that all titles of the page take at the most: of very many each has its share."""
LEVEL = 1
"""Of zlib: five times as quick as its usual one, and what is packed a quarter larger."""
SIDES = ("", "good", "bad")
ESCAPE = re.compile(r"\\(?:u00..|.)")
"""What stands for one character in a JSON text."""


class Index(dict[Any, int]):
    """Gives every different value the next number."""

    def __missing__(self, value: Any) -> int:
        self[value] = len(self)
        return self[value]


@dataclass
class Shared:
    """The values that many queries have in common: where they have one, its number stands."""

    documents: Index = field(default_factory=Index)
    grades: Index = field(default_factory=Index)
    moves: Index = field(default_factory=Index)
    states: Index = field(default_factory=Index)
    texts: Index = field(default_factory=Index)
    wholes: Index = field(default_factory=Index)

    def ranking(self, side: Documents | None) -> list[int | str]:
        """Four entries a document: the numbers of it, its grade and its move, and its score."""
        flat: list[int | str] = []
        for one in side.documents if side else ():
            flat += (
                self.documents[one.id, one.title],
                self.grades[one.css, one.grade],
                self.moves[one.move],
                one.score,
            )
        return flat

    def chunks(self, side: Documents | None, wholes: Sequence[str]) -> list[Any]:
        """A row for each document that has a text, 0 for one without.

        There is nothing where none has one. A row holds the number of its text, that of its own
        id, and three numbers a mark: first, behind its last, whether it is a whole passage.
        """
        rows: list[Any] = []
        for one in side.documents if side and wholes else ():
            if one.chunk is None:
                rows.append(0)
                continue
            text = wholes[one.chunk.text]
            places = (number for mark in one.chunk.marks for number in _place(text, mark))
            rows.append([self.wholes[text], self.texts[one.chunk.id], *places])
        return rows if any(rows) else []


def packed(tables: Sequence[Queries]) -> str:
    """All that the script is given, in characters that mean nothing to HTML."""
    return base64.b64encode(zlib.compress(_json(_data(tables)).encode(), LEVEL)).decode()


def _data(tables: Sequence[Queries]) -> dict[str, Any]:
    shared = Shared()
    shared.texts[""]  # number 0 is no text
    kinds = [*dict.fromkeys(kind for one in tables for kind in one.table.filters)]
    sections = [{**_table(one, kinds, shared), "details": _details(one, shared)} for one in tables]
    longest = max(20, TITLES // max(1, len(shared.documents)))
    return {
        "kinds": kinds,
        "sections": sections,
        "ids": [id for id, _ in shared.documents],
        "fields": _fields(tables, [id for id, _ in shared.documents]),
        "titles": [cut(title, longest) for _, title in shared.documents],
        "grades": [*shared.grades],
        "moves": [*shared.moves],
        "states": [*shared.states],
        "texts": [*shared.texts],
        "wholes": [*shared.wholes],
    }


def _fields(tables: Sequence[Queries], ids: Sequence[str]) -> Sequence[Any]:
    """The fields of each document; nothing where no suite shows any."""
    known: dict[str, Mapping[str, str]] = {}
    for one in tables:
        known |= one.result.fields
    return [[*known.get(id, {}).items()] for id in ids] if known else []


def _table(queries: Queries, kinds: Sequence[str], shared: Shared) -> dict[str, Any]:
    """A table: cells by column, the order of each column, the filters as bits."""
    result, table, story = queries.result, queries.table, Story(queries.result)
    bits = {kind: 1 << at for at, kind in enumerate(kinds)}
    changes = (query.change(queries.damage.column) for query in queries.ordered)
    return {
        "path": result.path,
        "stem": PurePosixPath(result.path).name.partition(".")[0],
        "name": story.name,
        "retriever": result.retriever,
        "state": [shared.states[row.state] for row in table.rows],
        "kind": [sum(bits.get(kind, 0) for kind in row.kinds) for row in table.rows],
        "columns": [
            _column(column, [*map(_cell, table.column(n))])
            for n, column in enumerate(table.columns)
        ],
        "compared": result.baseline is not None,
        "top": result.top_k,
        "change": ["" if change is None else change for change in changes],
        "bad": story.level == "bad",
    }


def _cell(cell: Cell | str) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def _column(column: Column, cells: Sequence[Cell]) -> dict[str, Any]:
    """A column with the parts that any of its cells has."""
    parts: Mapping[str, Sequence[object]] = {
        "beside": [cell.beside for cell in cells],
        "tags": [cell.tags for cell in cells],
        "sides": [SIDES.index(cell.css) for cell in cells],
    }
    return {
        "key": column.key,
        "label": column.name,
        "about": column.about,
        "number": column.number,
        "cells": [cell.text for cell in cells],
        "order": column.order,
        "listed": column.rank < HIDDEN and any(map(str, cells)),
        **{name: values for name, values in parts.items() if any(values)},
    }


def _details(queries: Queries, shared: Shared) -> list[dict[str, Any]]:
    """The contents of each row.

    Only what there is: most queries have neither a fault nor a reason to exist.
    """
    opened, wholes = map(queries.opened, queries.ordered), queries.result.texts
    return [
        {name: told for name, told in _opened(one, wholes, shared).items() if told}
        for one in opened
    ]


def _opened(opened: Opened, wholes: Sequence[str], shared: Shared) -> dict[str, Any]:
    texts, pair = shared.texts, opened.pair
    then, now, missing = pair.then, pair.now, pair.missing
    whys = [texts[one.why] for one in missing.documents] if missing else []
    return {
        "whole": opened.whole,
        "remarks": opened.remarks,
        "fault": opened.fault,
        "rules": [[shared.states[state], said] for state, said in opened.rules],
        "ranked": texts[now.said if now else ""],
        "now": shared.ranking(now),
        "ranks": _ranks(now),
        "chunks": shared.chunks(now, wholes),
        "rankedBefore": texts[then.said if then else ""],
        "before": shared.ranking(then),
        "ranksBefore": _ranks(then),
        "chunksBefore": shared.chunks(then, wholes),
        "missing": shared.ranking(missing),
        "listed": texts[missing.said if missing else ""],
        "whys": whys if any(whys) else [],
        "fates": texts[opened.fates],
        "place": texts[opened.at],
        "rerun": texts[opened.again],
    }


def _ranks(side: Documents | None) -> list[int]:
    """The ranks where they are not 1, 2, 3 and so on: the medians of several answers."""
    ranks = [one.rank or 0 for one in side.documents] if side else []
    return [] if ranks == [*range(1, len(ranks) + 1)] else ranks


def _place(text: str, mark: Mark) -> tuple[int, int, int]:
    return _units(text[: mark.start]), _units(text[: mark.end]), int(mark.whole)


def _units(text: str) -> int:
    """The length of a text on the page, in UTF-16, by which scripts count."""
    return len(visible(text).encode("utf-16-le", "surrogatepass")) // 2


def _json(data: object) -> str:
    """JSON in which every text is made visible, also what JSON itself has escaped."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    parts = text.split('"')  # nothing that is looked for goes beyond a text; most need no look
    plain = [part.isascii() and part.isprintable() for part in parts]
    told = (part if so else visible(part) for part, so in zip(parts, plain, strict=True))
    return ESCAPE.sub(lambda escape: _visible_escape(escape[0]), '"'.join(told))


@cache
def _visible_escape(escape: str) -> str:
    character = json.loads(f'"{escape}"')
    return escape if visible(character) == character else visible(character)
