"""Which of the queries of a stored run is which of today's: ids may be renumbered, files renamed;
questions stay.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

WORD = re.compile(r"\w+")


class Question(Protocol):
    """A query as a retriever is asked it."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def params(self) -> Mapping[str, Any]:
        """The params of the call, those of the suite included."""


@dataclass(frozen=True)
class Matching:
    """The queries of a stored run beside today's. ``stored`` and ``today`` are both in the order of
    their files.

    Queries are matched by id, text and params together; what is left then, by text and params in
    the order of the files. So an id scheme may be renumbered, a numbered list get a line on top,
    and a text stand there more than once.
    """

    stored: Sequence[Question]
    today: Sequence[Question]

    @cached_property
    def same(self) -> Mapping[str, str]:
        """The stored id of each of today's queries that has one, by today's."""
        kept = {query.id: asks(query) for query in self.stored}
        same = {query.id: query.id for query in self.today if kept.get(query.id) == asks(query)}
        left: dict[tuple[str, str], list[str]] = defaultdict(list)
        for query in reversed(self.stored):
            if query.id not in same:
                left[asks(query)].append(query.id)
        for query in self.today:
            if query.id not in same and left[asks(query)]:
                same[query.id] = left[asks(query)].pop()
        return {query.id: same[query.id] for query in self.today if query.id in same}

    @cached_property
    def renamed(self) -> tuple[str, ...]:
        """Today's ids of the queries that are stored under another id."""
        return tuple(id for id, stored in self.same.items() if id != stored)

    @cached_property
    def left(self) -> Sequence[Question]:
        """The stored queries that are none of today's."""
        matched = {*self.same.values()}
        return [query for query in self.stored if query.id not in matched]

    @cached_property
    def edited(self) -> Mapping[str, str]:
        """Of today's queries that match none, those that seem to stand there in other words, with
        that one's id.

        They have the id of a query that left, or its text with other params, or most of its words.
        """
        unmatched = [query for query in self.today if query.id not in self.same]
        by_id = {query.id: query.id for query in self.left}
        by_text = {query.text: query.id for query in self.left}
        by_word: dict[str, list[str]] = defaultdict(list)
        for query in self.left:
            for word in words(query.text):
                by_word[word].append(query.id)
        size = {query.id: len(words(query.text)) for query in self.left}
        edited = {}
        for query in unmatched:
            alike = _alike(words(query.text), by_word, size)
            found = by_id.get(query.id) or by_text.get(query.text) or alike
            if found is not None:
                edited[query.id] = found
        return edited

    @cached_property
    def gone(self) -> tuple[str, ...]:
        """The texts of the stored queries that the suite has no more, in other words neither."""
        edited = {*self.edited.values()}
        return tuple(query.text for query in self.left if query.id not in edited)


def asks(query: Question) -> tuple[str, str]:
    """Give the text and the params of a query in a form to compare with another's."""
    params = json.dumps(query.params, sort_keys=True, default=str) if query.params else ""
    return query.text, params


def words(text: str) -> set[str]:
    """The words of a query, whatever their case and order."""
    return {*WORD.findall(text.casefold())}


def _alike(
    asked: set[str], by_word: Mapping[str, Iterable[str]], size: Mapping[str, int]
) -> str | None:
    """The query that shares most words with another, if that is more than half of the longer's."""
    shared = Counter(id for word in asked for id in by_word.get(word, ()))
    near = [(2 * common > max(len(asked), size[id]), common, id) for id, common in shared.items()]
    best = max(near, default=(False, 0, ""))
    return best[2] if best[0] else None
