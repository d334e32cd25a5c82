"""What the page's script draws from: the query tables as compact JSON, every text, document and
grade once.

Two blocks of one shape a section each: ``rows`` is all that a table, its filters and its search
need, ``details`` what a row opens to, read only once something is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from pytest_irquality.edges.printable import visible
from pytest_irquality.report.query_view import KINDS
from pytest_irquality.report.texts_view import chunks
from pytest_irquality.report.views import DocumentRow, QueryRow, Section, State
from pytest_irquality.wording.words import cut

TITLES = 1_800_000
"""Characters that all the titles of the page may take; with more, each is cut to its share."""


class Index(dict[Any, int]):
    """Gives every different value the next number."""

    def __missing__(self, value: Any) -> int:
        self[value] = len(self)
        return self[value]


def rows(sections: Sequence[Section]) -> str:
    """The tables: cells by column, the order of each column, the filters as bits."""
    states: Index = Index()
    made = [_rows(section, states) for section in sections]
    return _json(
        {"kinds": list(KINDS), "states": [_state(state) for state in states], "sections": made}
    )


def details(sections: Sequence[Section]) -> str:
    """What rows open to. A ranking is flat: four numbers a document: document, grade, move and
    score.
    """
    documents, grades, moves, states, texts = Index(), Index(), Index(), Index(), Index()
    wholes = Index()

    def flat(ranking: Iterable[DocumentRow]) -> list[Any]:
        return [
            entry
            for d in ranking
            for entry in (
                documents[d.id, d.title],
                grades[d.css, d.grade],
                moves[d.move],
                float(d.score or "nan"),
            )
        ]

    texts[""]  # number 0 is no text
    made = [
        [
            {
                **_detail(query, flat, states, texts),
                **_chunks(query, section.texts, wholes, texts),
            }
            for query in section.table.queries
        ]
        for section in sections
    ]
    titles = [title for _, title in documents]
    longest = max(20, TITLES // max(len(titles), 1))
    if sum(map(len, titles)) > TITLES:
        titles = [cut(title, longest) for title in titles]
    return _json(
        {
            "ids": [id for id, _ in documents],
            "titles": titles,
            "grades": list(grades),
            "moves": list(moves),
            "texts": list(texts),
            "wholes": list(wholes),
            "states": [_state(state) for state in states],
            "sections": made,
        }
    )


def _rows(section: Section, states: Index) -> dict[str, Any]:
    queries = section.table.queries
    tags, said = Index(), Index()
    return {
        "path": section.path,
        "name": " · ".join(filter(None, (section.title, section.retriever))),
        "retriever": section.retriever,
        "text": [query.text for query in queries],
        "id": [query.id for query in queries],
        "tag": [[tags[tag] for tag in query.tags] for query in queries],
        "length": [tags[query.length] for query in queries],
        "tags": list(tags),
        "state": [states[State(q.state.css, q.state.symbol, q.outcome)] for q in queries],
        "said": [said[query.said] for query in queries],
        "sayings": list(said),
        "kind": [
            sum(1 << bit for bit, kind in enumerate(KINDS) if kind in query.kinds)
            for query in queries
        ],
        "columns": [
            {
                "key": column.key,
                "label": column.label,
                "about": column.about,
                "cells": column.cells,
                "sides": [("", "good", "bad").index(side) for side in column.sides],
                "order": column.order,
                "listed": column.listed,
            }
            for column in section.table.columns
        ],
        "compared": section.compared,
        "top": section.top_k,
        "change": [change if change is not None else "" for change in section.table.changes],
        "bad": section.state.css == "bad",
    }


def _detail(query: QueryRow, flat: Any, states: Index, texts: Index) -> dict[str, Any]:
    """Only what there is: most queries have neither a fault nor a reason to exist. What many share
    is numbered.
    """
    told = {
        "whole": query.whole,
        "remarks": query.remarks,
        "fault": query.fault,
        "rules": [[states[rule.state], rule.text] for rule in query.rules],
        "ranked": texts[query.ranked],
        "now": flat(query.ranking),
        "ranks": _ranks(query.ranking),
        "rankedBefore": texts[query.ranked_before],
        "before": flat(query.ranking_before),
        "ranksBefore": _ranks(query.ranking_before),
        "missing": flat(query.missing),
        "whys": whys if any(whys := [texts[d.why] for d in query.missing]) else [],
        "stages": texts[query.stages],
        "told": query.told,
        "place": texts[query.place],
        "rerun": texts[query.rerun],
    }
    return {key: value for key, value in told.items() if value}


def _chunks(
    query: QueryRow, texts: Sequence[str], wholes: Index, words: Index
) -> Mapping[str, list[Any]]:
    """The whole texts of both rankings, or where they are."""
    told: dict[str, Any] = {
        "chunks": chunks(query.ranking, texts, wholes, words),
        "chunksBefore": chunks(query.ranking_before, texts, wholes, words),
        "elsewhere": words[query.texts_elsewhere],
    }
    return {key: value for key, value in told.items() if value}


def _ranks(ranking: Iterable[DocumentRow]) -> list[int]:
    """The ranks where they are not 1, 2, 3 and so on: the medians of several answers."""
    ranks = [int(document.rank or 0) for document in ranking]
    return [] if ranks == [*range(1, len(ranks) + 1)] else ranks


def _state(state: State) -> list[str]:
    return [state.css, state.symbol, state.word]


def _json(data: Any) -> str:
    """JSON that is safe inside a script element: no ``<`` at all."""
    text = json.dumps(_plain(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _plain(data: Any) -> Any:
    """Every text made visible; a number only as long as it must be, and none where there is
    none.
    """
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, float):
        return None if not isfinite(data) else int(data) if data.is_integer() else data
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):  # most of all there is are whole numbers
        return [value if type(value) is int else _plain(value) for value in data]
    return data
