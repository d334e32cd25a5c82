"""Several answers to a query, and its other wordings: asked in one pass, each once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from pytest_irquality.retrieval import Answer, retrieve
from pytest_irquality.suite import Query, Suite

QUERIES = (Query("q1", "office chair"), Query("q2", "hose"))


def suite(repeat: int = 1, **keys: object) -> Suite:
    variants = tuple(
        query.variant(number, f"{query.text} {number}") for query in QUERIES for number in (1, 2)
    )
    return Suite("s", "s.ir.yaml", QUERIES, repeat=repeat, reworded=variants, **keys)  # type: ignore[arg-type]


@dataclass
class Counting:
    """An engine whose every answer is another one."""

    asked: list[str] = field(default_factory=list)
    broken: Sequence[int] = ()

    def search(self, query: str) -> list[str]:
        self.asked.append(query)
        if len(self.asked) in self.broken:
            raise OSError("down")
        return [f"d{self.asked.count(query)}"]


def ids(answer: Answer) -> dict[str, str]:
    return {id: ranking.ids[0] for id, ranking in answer.rankings.items()}


def test_each_query_and_variant_is_asked_once_a_round() -> None:
    engine = Counting()
    run = retrieve(suite(3), engine)
    texts = ["office chair", "hose", "office chair 1", "office chair 2", "hose 1", "hose 2"]
    assert engine.asked == texts * 3  # a round after the other, not back to back
    assert [ids(answer) for answer in run.answers] == [
        {"q1": f"d{n}", "q2": f"d{n}"} for n in (1, 2, 3)
    ]
    assert run.variants is not None
    assert [set(ids(answer).values()) for answer in run.variants.answers] == [
        {"d1"},
        {"d2"},
        {"d3"},
    ]
    assert list(run.variants.first.rankings) == [
        "q1 ~ variants 1", "q1 ~ variants 2", "q2 ~ variants 1", "q2 ~ variants 2"
    ]  # fmt: skip


def test_only_the_variants_of_the_queries_asked() -> None:
    engine = Counting()
    retrieve(suite(), engine, [QUERIES[1]])
    assert engine.asked == ["hose", "hose 1", "hose 2"]


def test_one_failed_call_leaves_its_query_unanswered() -> None:
    run = retrieve(suite(3), Counting(broken=[8]))
    assert list(run.faults) == ["q2"]
    assert [list(answer.rankings) for answer in run.answers] == [["q1"]] * 3
    assert run.variants is not None
    assert not run.variants.faults


def test_a_variants_failed_call_is_its_own() -> None:
    run = retrieve(suite(2), Counting(broken=[9]))
    assert not run.faults
    assert run.variants is not None
    assert list(run.variants.faults) == ["q1 ~ variants 1"]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_coroutines_and_threads_answer_as_often(concurrency: int) -> None:
    asked: list[str] = []

    async def search(query: str) -> list[str]:
        asked.append(query)
        await asyncio.sleep(0)
        return ["d"]

    def plain(query: str) -> list[str]:
        asked.append(query)
        return ["d"]

    for retriever in (search, plain):
        asked.clear()
        run = retrieve(suite(2), retriever, concurrency=concurrency)
        assert len(asked) == len(set(asked)) * 2 == 12
        assert len(run.answers) == 2


def test_a_batch_is_asked_once_a_round() -> None:
    class Batches:
        calls = 0

        def batch(self, queries: Sequence[str], k: int) -> list[list[str]]:
            self.calls += 1
            return [[f"d{self.calls}"] for _ in queries]

    engine = Batches()
    run = retrieve(suite(2), engine)
    assert engine.calls == 2
    assert [ids(answer)["q1"] for answer in run.answers] == ["d1", "d2"]
