"""The data that the page's script draws from, packed by zlib and written in base64.

It has the query tables and what their rows open to, every text, document and grade once.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from pytest_irquality.edges.printable import visible
from pytest_irquality.report.query_table import table
from pytest_irquality.report.query_view import KINDS
from pytest_irquality.report.suite_view import SuiteView
from pytest_irquality.report.texts_view import chunks
from pytest_irquality.report.views import Column, Detail, DocumentRow
from pytest_irquality.wording.block import State
from pytest_irquality.wording.words import cut

TITLES = 1_800_000
"""Characters that all the titles of the page may take; with more, each is cut to its share."""
LEVEL = 1
"""Of zlib: five times as quick as its usual one, and what is packed a quarter larger."""
SIDES = ("", "good", "bad")
BITS = {kind: 1 << at for at, kind in enumerate(KINDS)}
"""The filters, a bit each."""
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

    def ranking(self, documents: Iterable[DocumentRow]) -> list[int | str]:
        """Four entries a document: the numbers of it, its grade and its move, and its score."""
        flat: list[int | str] = []
        for d in documents:
            flat += (
                self.documents[d.id, d.title],
                self.grades[d.css, d.grade],
                self.moves[d.move],
                d.score,
            )
        return flat

    def state(self, state: State, word: str = "") -> int:
        """An outcome, in another word than its own where there is one."""
        return self.states[state.css, state.symbol, word or state.word]


def packed(sections: Sequence[SuiteView]) -> str:
    """All that the script is given, in characters that mean nothing to HTML."""
    return base64.b64encode(zlib.compress(_json(_data(sections)).encode(), LEVEL)).decode()


def _data(sections: Sequence[SuiteView]) -> dict[str, Any]:
    shared = Shared()
    shared.texts[""]  # number 0 is no text
    tables = [
        {**_rows(section, shared), "details": _details(section, shared)} for section in sections
    ]
    return {
        "kinds": [*KINDS],
        "sections": tables,
        "ids": [id for id, _ in shared.documents],
        "fields": _fields(sections, [id for id, _ in shared.documents]),
        "titles": _titles([title for _, title in shared.documents]),
        "grades": [*shared.grades],
        "moves": [*shared.moves],
        "states": [*shared.states],
        "texts": [*shared.texts],
        "wholes": [*shared.wholes],
    }


def _fields(sections: Sequence[SuiteView], ids: Sequence[str]) -> Sequence[Any]:
    """The fields of each document; nothing where no suite shows any."""
    known = {id: fields for section in sections for id, fields in section.result.fields.items()}
    return [[*known.get(id, {}).items()] for id in ids] if known else []


def _titles(titles: Sequence[str]) -> Sequence[str]:
    """Each cut to its share where they are too much together."""
    if sum(map(len, titles)) <= TITLES:
        return titles
    longest = max(20, TITLES // len(titles))
    return [cut(title, longest) for title in titles]


def _rows(section: SuiteView, shared: Shared) -> dict[str, Any]:
    """A table: cells by column, the order of each column, the filters as bits."""
    result, queries, shown = section.result, section.rows, table(section.queries, section.rows)
    tags, said = Index(), Index()
    return {
        "path": result.path,
        "stem": PurePosixPath(result.path).name.partition(".")[0],
        "name": section.story.title,
        "retriever": result.retriever,
        "text": [query.text for query in queries],
        "id": [query.id for query in queries],
        "tag": [[tags[tag] for tag in query.tags] for query in queries],
        "tags": [*tags],
        "state": [shared.state(query.state, query.outcome) for query in queries],
        "said": [said[query.said] for query in queries],
        "sayings": [*said],
        "kind": [sum(map(BITS.__getitem__, query.kinds)) for query in queries],
        "columns": [_column(column) for column in shown.columns],
        "compared": section.queries.compared,
        "top": result.top_k,
        "change": ["" if change is None else change for change in shown.changes],
        "bad": section.story.level == "bad",
    }


def _column(column: Column) -> dict[str, Any]:
    return {**column._asdict(), "sides": [SIDES.index(side) for side in column.sides]}


def _details(section: SuiteView, shared: Shared) -> list[dict[str, Any]]:
    """The contents of each row.

    Only what there is: most queries have neither a fault nor a reason to exist.
    """
    return [
        {name: told for name, told in _detail(detail, section.result.texts, shared).items() if told}
        for detail in section.queries.details()
    ]


def _detail(detail: Detail, wholes: Sequence[str], shared: Shared) -> dict[str, Any]:
    texts = shared.texts
    whys = [texts[document.why] for document in detail.missing]
    return {
        "whole": detail.whole,
        "remarks": detail.remarks,
        "fault": detail.fault,
        "rules": [[shared.state(rule.state), rule.text] for rule in detail.rules],
        "ranked": texts[detail.ranked],
        "now": shared.ranking(detail.ranking),
        "ranks": _ranks(detail.ranking),
        "chunks": chunks(detail.ranking, wholes, shared.wholes, texts),
        "rankedBefore": texts[detail.ranked_before],
        "before": shared.ranking(detail.ranking_before),
        "ranksBefore": _ranks(detail.ranking_before),
        "chunksBefore": chunks(detail.ranking_before, wholes, shared.wholes, texts),
        "missing": shared.ranking(detail.missing),
        "listed": texts[detail.listed],
        "whys": whys if any(whys) else [],
        "elsewhere": texts[detail.texts_elsewhere],
        "fates": texts[detail.fates],
        "place": texts[detail.place],
        "rerun": texts[detail.rerun],
    }


def _ranks(ranking: Iterable[DocumentRow]) -> list[int | str]:
    """The ranks where they are not 1, 2, 3 and so on: the medians of several answers."""
    ranks = [document.rank or 0 for document in ranking]
    return [] if ranks == [*range(1, len(ranks) + 1)] else ranks


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
