"""One pass over the queries: requests, repeats, known answers, stages and errors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_irquality.retrieval import hit_reader
from pytest_irquality.retrieval.calling import ExceptionPolicy
from pytest_irquality.retrieval.collect import collect_run, collect_stages
from pytest_irquality.retrieval.errors import RetrieverError, make_query_error
from pytest_irquality.retrieval.run import Run, merge_runs
from pytest_irquality.suite.model import Query, Settings

QUERIES = [Query("q1", "office chair"), Query("q2", "hose")]
TEXT = Settings(match="text")


def get_ids(run: Run) -> dict[str, list[tuple[str, ...]]]:
    return {
        request: [tuple(ranking.doc_ids) for ranking in rankings]
        for request, rankings in run.answers.items()
    }


@dataclass
class CountingEngine:
    """An engine whose every answer differs."""

    calls: list[str] = field(default_factory=list)
    failing_calls: Sequence[int] = ()

    def search(self, query: str) -> list[str]:
        self.calls.append(query)
        if len(self.calls) in self.failing_calls:
            raise OSError("down")
        return [f"d{self.calls.count(query)}"]


# Requests and repeats.


def test_queries_that_share_a_request_are_sent_once() -> None:
    engine = CountingEngine()
    queries = [*QUERIES, Query("q3", "hose"), Query("q4", "hose", params={})]

    run = collect_run(engine, queries)

    assert engine.calls == ["office chair", "hose"]
    assert list(run.answers) == ["office chair", "hose"]


def test_known_answers_need_no_parameters() -> None:
    """The base branch has the same requests, so no call is left, and none has parameters."""

    def search(query: str, k: int, *, tenant: str) -> list[str]:
        return [f"{tenant}-1"]

    queries = [Query("q1", "office chair", params={"tenant": "acme"})]
    known = collect_run(search, queries)

    assert collect_run(search, queries, known=known).answers == {}


def test_all_queries_run_before_any_of_them_is_repeated() -> None:
    engine = CountingEngine()

    run = collect_run(engine, QUERIES, Settings(repeat=3))

    assert engine.calls == ["office chair", "hose"] * 3
    assert get_ids(run) == {
        "office chair": [("d1",), ("d2",), ("d3",)], "hose": [("d1",), ("d2",), ("d3",)],
    }  # fmt: skip


def test_one_failed_repeat_leaves_its_request_without_an_answer() -> None:
    run = collect_run(CountingEngine(failing_calls=[4]), QUERIES, Settings(repeat=3))

    assert run.errors["hose"].message == "OSError: down"
    assert list(run.answers) == ["office chair"]


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("is_async", [False, True])
def test_coroutines_and_threads_repeat_as_often(concurrency: int, is_async: bool) -> None:
    calls: list[str] = []

    def search(query: str) -> list[str]:
        calls.append(query)
        return ["d"]

    async def search_async(query: str) -> list[str]:
        await asyncio.sleep(0)
        return search(query)

    retriever = search_async if is_async else search
    run = collect_run(retriever, QUERIES, Settings(repeat=2), concurrency=concurrency)

    assert sorted(calls) == ["hose", "hose", "office chair", "office chair"]
    assert all(len(rankings) == 2 for rankings in run.answers.values())


def test_a_batch_is_repeated() -> None:
    class Batches:
        calls = 0

        def batch(self, queries: Sequence[str], k: int) -> list[list[str]]:
            self.calls += 1
            return [[f"d{self.calls}"] for _ in queries]

    run = collect_run(Batches(), QUERIES, Settings(repeat=2))

    assert get_ids(run)["hose"] == [("d1",), ("d2",)]


def test_the_depth_is_noted() -> None:
    def search(query: str, k: int) -> list[str]:
        return [f"d{n}" for n in range(50)]

    run = collect_run(search, QUERIES, depth=20)

    assert len(run.answers["hose"][0].doc_ids) == 20
    assert run.provenance.depth == 20


def test_titles_are_those_of_the_first_query_in_one_line() -> None:
    def search(query: str) -> list[dict[str, str]]:
        long = {"id": "e", "text": f" of\n {query} " * 40}
        return [{"id": "d", "title": f"of {query}"}, long, {"id": "d", "title": "again"}]

    run = collect_run(search, QUERIES)

    assert run.titles["d"] == "of office chair"
    assert run.titles["e"].startswith("of office chair of office chair")
    assert len(run.titles["e"]) == 80


# Texts, sizes and fields.


def test_texts_sizes_and_fields_are_read_only_if_needed() -> None:
    class Engine:
        def search(self, query: str) -> list[dict[str, Any]]:
            return [{"id": "d", "text": "one red chair", "price": 30}]

        def tokens(self, text: str) -> list[str]:
            return list(text)

    ((plain,),) = collect_run(Engine(), QUERIES[:1]).answers.values()
    assert (plain.texts, plain.sizes, plain.fields) == ((), {}, ())

    run = collect_run(Engine(), QUERIES[:1], fields=["price"], size_units=["words", "tokens"])
    ((ranking,),) = run.answers.values()
    assert ranking.sizes == {"words": (3.0,), "tokens": (13.0,)}
    assert ranking.fields == ({"price": 30},)


def test_tokens_need_a_method_that_counts_them() -> None:
    with pytest.raises(RetrieverError, match=r"needs the retriever's method tokens\(text\)"):
        collect_run(lambda query: [], QUERIES, size_units=["tokens"])


def test_chunks_with_one_id_are_told_apart_in_all_queries() -> None:
    texts = {"office chair": ["one two", "three four"], "hose": ["three four", "five six"]}

    def search(query: str) -> list[dict[str, str]]:
        return [{"id": "handbook", "text": text} for text in texts[query]]

    run = collect_run(search, QUERIES, TEXT)

    ids = {
        text: doc_id
        for (ranking,) in run.answers.values()
        for doc_id, text in zip(ranking.doc_ids, ranking.texts, strict=True)
    }
    assert ids["one two"] == "handbook"
    assert len(set(ids.values())) == 3
    assert run.answers["office chair"][0].doc_ids[1] == run.answers["hose"][0].doc_ids[0]


def test_a_note_says_that_texts_were_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hit_reader, "MAX_TEXT_CHARS", 5)

    run = collect_run(lambda query: [{"id": "d", "text": "one two"}], QUERIES, TEXT)

    assert run.notes == ("2 texts of results were longer than 1,000,000 characters and were cut",)
    assert run.answers["hose"][0].texts == ("one t",)


# Known answers.


def test_a_rerun_repeats_only_queries_without_an_answer() -> None:
    engine = CountingEngine(failing_calls=[2])
    first = collect_run(engine, QUERIES)

    second = collect_run(engine, QUERIES, known=first)

    assert engine.calls == ["office chair", "hose", "hose"]
    assert list(second.answers) == ["hose"]
    merged = merge_runs([second, first])
    assert set(merged.answers) == {"office chair", "hose"}
    assert not merged.errors


def test_a_rerun_tells_its_chunks_apart_from_known_ones() -> None:
    def search(query: str) -> list[dict[str, str]]:
        return [{"id": "handbook", "text": f"all about {query}"}]

    texts: dict[str, str] = {}
    first = collect_run(search, QUERIES[:1], TEXT, chunk_texts=texts)
    second = collect_run(search, QUERIES, TEXT, known=first, chunk_texts=texts)

    assert first.answers["office chair"][0].doc_ids == ("handbook",)
    assert second.answers["hose"][0].doc_ids[0].startswith("handbook#")


# Errors.


def test_a_failed_query_does_not_stop_the_others() -> None:
    def search(query: str) -> list[str]:
        if query == "hose":
            raise ConnectionError("503: unavailable\nat line 2")
        return ["d"]

    run = collect_run(search, QUERIES)

    error = run.errors["hose"]
    assert error.message == "ConnectionError: 503: unavailable at line 2"
    assert isinstance(error.exception, ConnectionError)
    assert not error.is_skipped
    assert list(run.answers) == ["office chair"]


class Skipped(BaseException):
    """What pytest's skip is: no error of the call, but a word to whoever runs it."""


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_skip_leaves_its_query_out(concurrency: int, is_async: bool) -> None:
    def search(query: str) -> list[str]:
        raise Skipped("no hoses today")

    async def search_async(query: str) -> list[str]:
        return search(query)

    run = collect_run(
        search_async if is_async else search,
        QUERIES,
        exceptions=ExceptionPolicy(skips=(Skipped,)),
        concurrency=concurrency,
    )

    assert run.errors["hose"].message == "no hoses today"
    assert run.errors["hose"].is_skipped


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("is_async", [False, True])
def test_an_exception_that_ends_the_pass_is_raised(concurrency: int, is_async: bool) -> None:
    def search(query: str) -> list[str]:
        raise Skipped

    async def search_async(query: str) -> list[str]:
        return search(query)

    with pytest.raises(Skipped):
        collect_run(
            search_async if is_async else search,
            QUERIES,
            exceptions=ExceptionPolicy(exits=(Skipped,)),
            concurrency=concurrency,
        )


def test_a_failed_repeat_outweighs_a_skipped_one() -> None:
    calls: list[str] = []

    def search(query: str) -> list[str]:
        calls.append(query)
        raise Skipped("later") if len(calls) == 1 else OSError("down")

    policy = ExceptionPolicy(skips=(Skipped,))
    run = collect_run(search, QUERIES[:1], Settings(repeat=2), exceptions=policy)

    assert not run.errors["office chair"].is_skipped


@pytest.mark.parametrize(
    "message",
    [
        "RateLimitError: 429 request req_{n:04}a after {n}20ms, retry in {n}s",
        "429 Too Many Requests: used 1,{n}00 of 90,000 tokens ({n}.5 k), 4{n}1 ms",
        "HTTP 429, request_id: aBc{letter}De{letter}, trace id = {letter}{letter}xy",
        "429 from 10.0.{n}.7:80{n}0 at 2026-11-2{n}T10:4{n}:00Z, 50{n} ms, 4{n}0 tokens",
        "timeout after {n}.25 seconds ({n}0 %), 5{n}0 ms",
        "no index for {query} at http://h/?q={query}",
    ],
)
def test_errors_share_a_cause_whatever_ids_times_and_queries_they_contain(message: str) -> None:
    causes = set()
    for n in range(4):
        query = f"red shoes {'abcd'[n]}"
        text = message.format(n=n, letter="abcd"[n], query=query)
        causes.add(make_query_error(ValueError(text), query).cause)

    assert len(causes) == 1


def test_a_status_tells_causes_apart() -> None:
    assert (
        make_query_error(OSError("HTTP 429: no")).cause
        != make_query_error(OSError("HTTP 503: no")).cause
    )
    assert (
        make_query_error(OSError("in 500 ms")).cause == make_query_error(OSError("in 503 ms")).cause
    )


# Stages.


DENSE = {"office chair": ["d7", "d2"], "hose": ["d9"]}
SPARSE = {"office chair": ["d1"], "hose": ["d8"]}


class HybridEngine:
    def search(self, query: str, k: int) -> list[str]:
        return ["d7"]

    def stages(self, query: str, k: int) -> dict[str, Any]:
        fused = [*DENSE[query], *SPARSE[query]]
        return {"dense": DENSE[query][:k], "BM25": SPARSE[query], "fused": fused}


def test_stages_are_runs_of_the_same_requests() -> None:
    run = collect_run(HybridEngine(), QUERIES, stages=["dense"], stage_depth=1)

    assert list(run.stages) == ["dense", "BM25", "fused"]
    assert get_ids(run.stages["dense"]) == {"office chair": [("d7",)], "hose": [("d9",)]}
    assert get_ids(run) == {"office chair": [("d7",)], "hose": [("d7",)]}


def test_stages_are_not_called_unless_needed() -> None:
    class Engine(HybridEngine):
        def stages(self, query: str, k: int) -> dict[str, Any]:
            raise AssertionError

    assert not collect_run(Engine(), QUERIES).stages


def test_stages_can_be_called_after_comparing() -> None:
    stages = collect_stages(HybridEngine(), QUERIES[1:], depth=100)

    assert get_ids(stages["fused"]) == {"hose": [("d9", "d8")]}
    assert collect_stages(lambda query: [], QUERIES) == {}


@pytest.mark.parametrize(
    ("result", "stage", "message"),
    [
        ({"dense": None}, "dense", "None is not a list of hits"),
        ({"BM25": ["d1"]}, "dense", "There is no stage 'dense'. The retriever's stages: BM25"),
    ],
)
def test_a_stage_that_cannot_be_read_spoils_nothing_else(
    result: Any, stage: str, message: str
) -> None:
    class Engine(HybridEngine):
        def stages(self, query: str, k: int) -> Any:
            return result

    run = collect_run(Engine(), QUERIES, stages=["dense"])

    assert not run.errors
    assert message in run.stages[stage].errors["hose"].message


def test_stages_that_are_no_mapping_are_an_error_of_the_needed_stages() -> None:
    class Engine(HybridEngine):
        def stages(self, query: str, k: int) -> Any:
            return ["d1"]

    run = collect_run(Engine(), QUERIES, stages=["dense"])

    assert not run.errors
    message = run.stages["dense"].errors["hose"].message
    assert message.startswith("stages(query, k) must return a mapping.")


def test_stages_of_a_coroutine_run_in_the_same_loop() -> None:
    loops = set()

    class Engine:
        async def search(self, query: str) -> list[str]:
            loops.add(asyncio.get_running_loop())
            return ["d"]

        async def stages(self, query: str, k: int) -> dict[str, list[str]]:
            loops.add(asyncio.get_running_loop())
            return {"dense": ["e"]}

    run = collect_run(Engine(), QUERIES, stages=[])

    assert get_ids(run.stages["dense"]) == {"office chair": [("e",)], "hose": [("e",)]}
    assert len(loops) == 1
