"""The session without pytest: who runs which queries, and what is decided."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_irquality.baselines.store import get_baseline_path
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.plugin.query_plan import find_needed_queries
from pytest_irquality.plugin.session import ItemAnswers, SearchSession
from pytest_irquality.suite.model import RetrieverId, Suite
from pytest_irquality.suite.parser import load_suite

SUITE = """\
top_k: 3
metrics: [ndcg@3]
thresholds: {recall@3: {min: 0.5}}
tags: {head: {ndcg@3: {min: 0.1}}}
queries:
  - {query: red, tags: [head], relevant: [a]}
  - {query: blue, relevant: [b]}
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str, str], Suite]:
    def load(text: str, name: str = "shop.ir.yaml") -> Suite:
        path = tmp_path / name
        path.write_text(text)
        return load_suite(path, root=tmp_path)

    return load


class Recorder:
    """A retriever that remembers its calls."""

    def __init__(self, *doc_ids: str) -> None:
        self.doc_ids = doc_ids
        self.calls: list[tuple[str, int]] = []

    def search(self, query: str, k: int) -> list[str]:
        self.calls.append((query, k))
        return list(self.doc_ids[:k])


def test_suite_is_run_evaluated_and_decided(tmp_path: Path, load: Callable[..., Suite]) -> None:
    session = SearchSession(tmp_path)
    key = session.current.add_suite(load(SUITE), RetrieverId())
    retriever = Recorder("a", "b")

    session.run_suite_queries(key, retriever)

    assert session.evaluate(key).outcome is Outcome.PASSED
    assert session.decide().outcome is Outcome.PASSED
    assert retriever.calls == [("red", 3), ("blue", 3)]


def test_shared_request_is_asked_once_and_as_deep_as_any_suite_needs(
    tmp_path: Path, load: Callable[..., Suite]
) -> None:
    session = SearchSession(tmp_path)
    one = session.current.add_suite(load(SUITE), RetrieverId())
    deep = "metrics: [ndcg@20]\nqueries: [{query: red, relevant: [a]}]\n"
    two = session.current.add_suite(load(deep, "deep.ir.yaml"), RetrieverId())
    retriever = Recorder("a", "b")

    session.run_suite_queries(one, retriever)
    session.run_suite_queries(two, retriever)

    assert retriever.calls == [("red", 20), ("blue", 20)]


def test_retriever_is_asked_for_the_stages_that_metrics_name(
    tmp_path: Path, load: Callable[..., Suite]
) -> None:
    class Staged(Recorder):
        def stages(self, query: str, k: int) -> dict[str, list[str]]:
            return {"candidates": ["b", "a"][:k]}

    session = SearchSession(tmp_path)
    text = SUITE.replace("[ndcg@3]", "[ndcg@3, candidates recall@2]")
    key = session.current.add_suite(load(text), RetrieverId())

    session.run_suite_queries(key, Staged("a", "b"))

    (run,) = session.runs.values()
    assert set(run.stages["candidates"].answers) == set(run.answers)


def test_update_asks_for_what_a_baseline_needs(tmp_path: Path, load: Callable[..., Suite]) -> None:
    session = SearchSession(tmp_path, is_update=True)
    key = session.current.add_suite(load(SUITE), RetrieverId())
    retriever = Recorder("a", "b")

    session.run_suite_queries(key, retriever)
    session.decide()
    session.update_baselines()

    assert {k for _, k in retriever.calls} == {10}
    assert (tmp_path / ".ir-baseline/shop.jsonl").exists()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["red"], ["red"]),
        (["head-ndcg-3"], ["red"]),
        (["recall-3"], ["red", "blue"]),
        (["answers"], ["red", "blue"]),
        ([], []),
    ],
)
def test_items_need_their_queries_only(
    load: Callable[..., Suite], names: list[str], expected: list[str]
) -> None:
    queries = find_needed_queries(load(SUITE), names)

    assert [query.id for query in queries] == expected


def test_answers_of_other_processes_are_merged(tmp_path: Path, load: Callable[..., Suite]) -> None:
    session = SearchSession(tmp_path)
    key = session.current.add_suite(load(SUITE), RetrieverId())
    worker = SearchSession(tmp_path)
    worker.current.add_suite(load(SUITE), RetrieverId())
    worker.run_suite_queries(key, Recorder("a", "b"))

    session.add_item_answers(worker.get_item_answers(key))

    assert session.decide().outcome is Outcome.PASSED


def test_retriever_that_cannot_be_used_is_an_error(
    tmp_path: Path, load: Callable[..., Suite]
) -> None:
    session = SearchSession(tmp_path)
    key = session.current.add_suite(load(SUITE), RetrieverId())

    session.add_item_answers(ItemAnswers(key, error="OSError: no engine"))

    decision = session.decide()
    assert decision.outcome is Outcome.ERROR
    assert decision.exit_status == 2


def test_deciding_twice_gives_equal_decisions(tmp_path: Path, load: Callable[..., Suite]) -> None:
    """The update replaces a damaged baseline, and a suite whose retriever fails is an error."""
    baseline = tmp_path / get_baseline_path("shop.ir.yaml")
    baseline.parent.mkdir()
    baseline.write_text("damaged\n")
    session = SearchSession(tmp_path, is_update=True)
    key = session.current.add_suite(load(SUITE), RetrieverId())
    broken = session.current.add_suite(load(SUITE, "broken.ir.yaml"), RetrieverId())
    session.run_suite_queries(key, Recorder("a", "b"))
    session.add_item_answers(ItemAnswers(broken, error="ValueError: no field"))

    decisions = [session.decide(), session.decide()]

    for decision in decisions:
        assert list(decision.current.branch.errors) == ["broken.ir.yaml"]
        assert [suite.path for suite in decision.current.branch.suites] == ["shop.ir.yaml"]


def test_unsteady_answers_are_refused_as_a_baseline(
    tmp_path: Path, load: Callable[..., Suite]
) -> None:
    session = SearchSession(tmp_path, is_update=True, repeat=3)
    key = session.current.add_suite(load(SUITE), RetrieverId())
    calls: dict[str, int] = {}

    def search(query: str) -> list[str]:
        calls[query] = calls.get(query, 0) + 1
        return [] if calls[query] == 3 else ["a", "b"]

    session.run_suite_queries(key, search)
    (update,) = session.update_baselines()

    assert "Repeat 3" in update.refusal
    assert not (tmp_path / ".ir-baseline").exists()


def test_retriever_is_asked_whether_a_lost_document_exists(
    tmp_path: Path, load: Callable[..., Suite]
) -> None:
    update = SearchSession(tmp_path, is_update=True)
    key = update.current.add_suite(load(SUITE), RetrieverId())
    update.run_suite_queries(key, Recorder("a", "b"))
    update.update_baselines()
    session = SearchSession(tmp_path)
    session.current.add_suite(load(SUITE), RetrieverId())

    class Index(Recorder):
        def exists(self, doc_id: str) -> bool:
            return doc_id != "b"

    retriever = Index("a")
    session.run_suite_queries(key, retriever)

    session.evaluate(key, retriever)

    (run,) = session.runs.values()
    assert run.missing_doc_ids == {"b"}
