"""The queries of a stored run beside today's: ids may be renumbered, questions stay."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

WORD = re.compile(r"\w+")


class Question(NamedTuple):
    """The text of a query, and the params of its call in a form to compare with another's."""

    text: str
    params: str


@dataclass(frozen=True)
class Matching:
    """The queries of a stored run beside today's, by id, both in the order of their files.

    Queries are matched by id, text and params together; what is left then, by text and params in
    the order of the files. So an id scheme may be renumbered, a numbered list get a line on top,
    and a text stand there more than once.
    """

    stored: Mapping[str, Question]
    today: Mapping[str, Question]

    @cached_property
    def same(self) -> Mapping[str, str]:
        """The stored id of each of today's queries that has one, by today's."""
        same = {id: id for id, question in self.today.items() if self.stored.get(id) == question}
        left = defaultdict[Question, list[str]](list)
        for id, question in reversed([*self.stored.items()]):
            if id not in same:
                left[question].append(id)
        for id, question in self.today.items():
            if id not in same and left[question]:
                same[id] = left[question].pop()
        return {id: same[id] for id in self.today if id in same}

    @cached_property
    def renamed(self) -> tuple[str, ...]:
        """Today's ids of the queries that are stored under another id."""
        return tuple(id for id, stored in self.same.items() if id != stored)

    @cached_property
    def left(self) -> Mapping[str, str]:
        """The texts of the stored queries that are none of today's, by id."""
        matched = {*self.same.values()}
        return {id: text for id, (text, _) in self.stored.items() if id not in matched}

    @cached_property
    def edited(self) -> Mapping[str, str]:
        """The queries of today that seem to stand there in other words, with those ones' ids.

        Each matches none, and has the id of a query that left, or its text with other params, or
        most of its words.
        """
        by_text = {text: id for id, text in self.left.items()}
        by_words = _ByWords(self.left)
        edited = {}
        for id, (text, _) in self.today.items():
            if id not in self.same:
                named = id if id in self.left else by_text.get(text)
                found = named or by_words.most_alike(text)
                if found is not None:
                    edited[id] = found
        return edited

    @cached_property
    def gone(self) -> tuple[str, ...]:
        """The texts of the stored queries that the suite has no more, in other words neither."""
        edited = {*self.edited.values()}
        return tuple(text for id, text in self.left.items() if id not in edited)


class _ByWords:
    """Queries by the words that they are made of, whatever their case and order."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.ids = defaultdict[str, list[str]](list)
        self.size: dict[str, int] = {}
        for id, text in texts.items():
            own = {*WORD.findall(text.casefold())}
            self.size[id] = len(own)
            for word in own:
                self.ids[word].append(id)

    def most_alike(self, text: str) -> str | None:
        """Give the query that shares most words with a text: more than half of the longer's."""
        asked = {*WORD.findall(text.casefold())}
        shared = Counter(id for word in asked for id in self.ids.get(word, ()))
        near = [
            (2 * common > max(len(asked), self.size[id]), common, id)
            for id, common in shared.items()
        ]
        enough, _, id = max(near, default=(False, 0, ""))
        return id if enough else None
