"""The queries of a stored run beside today's: ids may be renumbered, questions stay."""

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
        """The id of the query."""

    @property
    def text(self) -> str:
        """The text of the query."""

    @property
    def params(self) -> Mapping[str, Any]:
        """The params of the call, those of the suite included."""


@dataclass(frozen=True)
class Matching:
    """The queries of a stored run beside today's, both in the order of their files.

    Queries are matched by id, text and params together; what is left then, by text and params in
    the order of the files. So an id scheme may be renumbered, a numbered list get a line on top,
    and a text stand there more than once.
    """

    stored: Sequence[Question]
    today: Sequence[Question]

    @cached_property
    def same(self) -> Mapping[str, str]:
        """The stored id of each of today's queries that has one, by today's."""
        stored = {query.id: asks(query) for query in self.stored}
        today = {query.id: asks(query) for query in self.today}
        same = {id: id for id, question in today.items() if stored.get(id) == question}
        left: dict[tuple[str, str], list[str]] = defaultdict(list)
        for id, question in reversed(stored.items()):
            if id not in same:
                left[question].append(id)
        for id, question in today.items():
            if id not in same and left[question]:
                same[id] = left[question].pop()
        return {id: same[id] for id in today if id in same}

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
        """The queries of today that seem to stand there in other words, with those ones' ids.

        Each matches none, and has the id of a query that left, or its text with other params, or
        most of its words.
        """
        by_id = {query.id: query.id for query in self.left}
        by_text = {query.text: query.id for query in self.left}
        by_words = _ByWords(self.left)
        edited = {}
        for query in self.today:
            if query.id not in self.same:
                named = by_id.get(query.id) or by_text.get(query.text)
                found = named or by_words.most_alike(query.text)
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


class _ByWords:
    """Queries by the words that they are made of."""

    def __init__(self, queries: Iterable[Question]) -> None:
        self.ids: dict[str, list[str]] = defaultdict(list)
        self.size: dict[str, int] = {}
        for query in queries:
            own = words(query.text)
            self.size[query.id] = len(own)
            for word in own:
                self.ids[word].append(query.id)

    def most_alike(self, text: str) -> str | None:
        """Give the query that shares most words with a text: more than half of the longer's."""
        asked = words(text)
        shared = Counter(id for word in asked for id in self.ids.get(word, ()))
        near = [
            (2 * common > max(len(asked), self.size[id]), common, id)
            for id, common in shared.items()
        ]
        enough, _, id = max(near, default=(False, 0, ""))
        return id if enough else None
