"""The fates of passages against those that are known from offsets, through several chunkers."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_irquality import judge, retrieve
from pytest_irquality.edges.open import Allowed
from pytest_irquality.metrics import Judgments, parse_measure
from pytest_irquality.pipeline.corpus import lost_passages
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Query, Suite

TOP_K = 3
RANDOM = random.Random(5)
WORDS = ["".join(RANDOM.choices("abcdefghijklmnoprstuvw", k=7)) for _ in range(400)]
DOCUMENTS = [[RANDOM.choice(WORDS) for _ in range(300)] for _ in range(40)]


class Chunk(NamedTuple):
    id: str
    document: int
    start: int
    end: int

    @property
    def text(self) -> str:
        return " ".join(DOCUMENTS[self.document][self.start : self.end])


def chunker(size: int, step: int) -> list[Chunk]:
    return [
        Chunk(f"c{document}-{start}", document, start, min(start + size, len(words)))
        for document, words in enumerate(DOCUMENTS)
        for start in range(0, len(words), step)
    ]


CHUNKERS = {
    "without overlap": chunker(40, 40),
    "with overlap": chunker(40, 20),
    "small": chunker(15, 15),
    "whole documents": chunker(300, 300),
}


class Case(NamedTuple):
    passage: str
    fate: str
    results: list[Chunk]


def cases(chunks: list[Chunk]) -> Mapping[str, Case]:
    """A hundred passages, what is returned for each, and what becomes of it."""
    found = {}
    for number in range(100):
        at = RANDOM.randrange(40)
        start, length = RANDOM.randrange(280), RANDOM.randrange(8, 13)
        words = DOCUMENTS[at][start : start + length]
        touched = [
            c for c in chunks if c.document == at and c.start < start + length and c.end > start
        ]
        whole = [c for c in touched if c.start <= start and start + length <= c.end]
        elsewhere = [c for c in chunks if c.document != at]
        others = [elsewhere[(number + n) % len(elsewhere)] for n in range(6)]
        kind = number % 5
        if kind == 3:
            words = [*words[: length // 2], "instead", *words[length // 2 + 1 :]]
            fate, results = ("changed" if whole else ""), [*whole[:1], *others]
        elif kind == 4:
            words, fate = [f"{word}x" for word in words], "not in the corpus"
            results = others
        elif not whole:
            fate, results = "cut", [*touched[: number % 3], *others]
        else:
            fate = ("found", "further down", "not returned")[kind]
            results = [[*whole[:1], *others], [*others[:4], *whole[:1]], others][kind]
        if fate:
            found[f"q{number}"] = Case(" ".join(words), fate, results)
    return found


@pytest.mark.parametrize("name", CHUNKERS)
def test_every_passage_is_in_its_place(name: str) -> None:
    chunks = CHUNKERS[name]
    known = cases(chunks)
    queries = tuple(Query(id, id, Judgments({case.passage: 1})) for id, case in known.items())
    suite = Suite("s", "s.ir.yaml", queries, match="text", top_k=TOP_K, depth=10,
                  metrics=(parse_measure("recall@3"),))  # fmt: skip

    class Engine:
        def search(self, query: str, k: int) -> list[dict[str, str]]:
            return [{"id": c.id, "text": c.text} for c in known[query].results]

        def texts(self) -> dict[str, str]:
            return {chunk.id: chunk.text for chunk in chunks}

    target = Target(suite, Path("s.ir.yaml"), "")
    with pytest.warns(UserWarning, match="whole in no chunk"):
        nowhere = lost_passages(target, Engine(), Allowed.project(Path()))
    result = judge(suite, retrieve(suite, Engine()), nowhere=nowhere)
    told = {query.id: query.fates[0].now for query in result.queries}
    wrong = {id: (told[id], case.fate) for id, case in known.items() if told[id] != case.fate}
    assert len(wrong) <= 0.02 * len(known), wrong
    assert {case.fate for case in known.values()} >= {"found", "further down", "not in the corpus"}
    assert result.fates is not None
    assert sum(one.now for one in result.fates.counts) == len(known)


def test_candidates_tell_what_the_ranking_lost() -> None:
    passage = "paid within fourteen days"
    suite = Suite("s", "s", (Query("q", "q", Judgments({passage: 1, "keep it": 1})),), match="text",
                  metrics=(parse_measure("recall@3"),))  # fmt: skip

    class Engine:
        search: Callable[[str], list[str]] = staticmethod(lambda query: ["They are paid within"])

        def candidates(self, query: str, k: int) -> list[str]:
            return ["other", "They are paid within", "fourteen days, as told"]

    (query,) = judge(suite, retrieve(suite, Engine())).queries
    assert [(fated.id, fated.now) for fated in query.fates] == [
        ("keep it", "in no stage"),
        (passage, "cut"),
    ]
