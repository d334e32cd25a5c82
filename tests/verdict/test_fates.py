"""The fates of passages against those that are known from offsets, through several chunkers."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

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


def place_of(
    passage: str,
    others: Mapping[str, str],
    results: list[str],
    stage: list[str] | None,
    corpus: bool,
) -> str:
    """The place of a passage that stands in the chunk of its name, as places alone tell."""
    if passage in results:
        return "found" if results.index(passage) < TOP_K else "further down"
    again = others.get(passage, "")
    if passage in (stage or ()):
        return "in stage"
    if not corpus and again in (*results, *(stage or ())):
        return "changed"
    return "in no stage" if stage is not None else "not returned"


@pytest.mark.parametrize("seed", range(60))
def test_a_passage_that_another_repeats_has_a_place_of_its_own(seed: int) -> None:
    draw = random.Random(seed)
    words = draw.sample(WORDS, 9)
    passages = {
        "a": " ".join(words),
        "b": " ".join([*words[:3], "the", *words[3:6], "an", *words[6:]]),
        "c": " ".join(draw.sample(WORDS, 9)),
    }
    around = {name: " ".join(draw.choices(WORDS, k=5)) for name in "abcdefgh"}
    chunks = {name: f"{near} {passages.get(name, '')} {near}" for name, near in around.items()}
    results = draw.sample([*chunks], draw.randrange(2, 7))
    stage = draw.sample([*chunks], draw.randrange(9)) if draw.random() < 0.6 else None
    has_corpus = draw.random() < 0.5

    def given(names: list[str]) -> list[dict[str, str]]:
        return [{"id": name, "text": chunks[name]} for name in names]

    class Engine:
        def search(self, query: str, k: int) -> list[dict[str, str]]:
            return given(results)

        if stage is not None:

            def candidates(self, query: str, k: int) -> list[dict[str, str]]:
                return given(stage or [])

        if has_corpus:

            def texts(self) -> list[dict[str, str]]:
                return given([*chunks])

    queries = (Query("q", "q", Judgments(dict.fromkeys(passages.values(), 1))),)
    suite = Suite("s", "s.ir.yaml", queries, match="text", top_k=TOP_K, depth=10,
                  metrics=(parse_measure("recall@3"),))  # fmt: skip
    nowhere = lost_passages(Target(suite, Path("s.ir.yaml"), ""), Engine(), Allowed.project(Path()))
    (query,) = judge(suite, retrieve(suite, Engine()), nowhere=nowhere).queries
    names = {text: name for name, text in passages.items()}
    told = {names[fated.id]: fated.now for fated in query.fates}
    again = {"a": "b", "b": "a"}
    assert told == {name: place_of(name, again, results, stage, has_corpus) for name in passages}
    named = {names[one.id]: one.loss.fate for one in query.missing if one.id in names and one.loss}
    assert named.items() <= told.items()


def test_a_corpus_that_was_edited_in_place_is_looked_through_again() -> None:
    passage = "paid within fourteen days"
    chunks = [{"id": "a", "meta": {"text": f"They are {passage}."}}]
    query = Query("q", "q", Judgments({passage: 1}))
    suite = Suite("s", "s", (query,), match="text", text_field="meta.text")

    class Engine:
        def texts(self) -> list[dict[str, Any]]:
            return chunks

    def lost() -> Mapping[str, Any] | None:
        target = Target(suite, Path("s.ir.yaml"), "")
        return lost_passages(target, Engine(), Allowed.project(Path()))

    assert lost() == lost() == {}
    chunks[0]["meta"]["text"] = "They are paid within a week."  # type: ignore[index]
    with pytest.warns(UserWarning, match="whole in no chunk"):
        assert {*(lost() or ())} == {passage}
