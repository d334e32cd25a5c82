"""Doubts about suites that load."""

from __future__ import annotations

import pytest

from pytest_irquality.suite.lint import find_doubts
from tests.suite.helpers import SuiteFolder


def find(folder: SuiteFolder, text: str) -> list[str]:
    return [f"{doubt.location.line}: {doubt.message}" for doubt in find_doubts(folder.load(text))]


def make_queries(*queries: str) -> str:
    return "queries:\n" + "".join(f"  - {{{query}}}\n" for query in queries)


MANY = [f"query: q{number}, relevant: [d], tags: [t]" for number in range(5)]


@pytest.mark.parametrize(
    ("text", "doubts"),
    [
        (make_queries("query: a, relevant: [d]", "query: b"), ["3: These queries have neither judgments nor rules: 'b'"]),
        (make_queries("query: a", "query: b"), []),
        (make_queries("query: a, relevant: {d: 0}"), ["2: No graded document is relevant (in no mean): 'a'. Grade what is right as relevant, or write 'expect_no_results: true'."]),
        ("undefined: zero\n" + make_queries("query: a, relevant: {d: 0}"), ["3: No graded document is relevant (always scored 0): 'a'. Grade what is right as relevant, or write 'expect_no_results: true'."]),
        (make_queries("query: a, must_find: {d: 2}, must_not_find: {d: 5}"), ["2: The rules of 'a' contradict each other: 'd' must be in the top 2, and not above rank 6"]),
        (make_queries("query: a, must_find: {d: 1, e: 1}"), ["2: The rules of 'a' contradict each other: 2 documents must be in the top 1"]),
        (make_queries("query: a, must_find: {d: 1}, in_order: [e, d]"), ["2: The rules of 'a' contradict each other: 'd' must be in the top 1, and not above rank 2"]),
        (make_queries("query: a, must_find_any: {d: 3}") + "each_query: {must_not_find: [d]}\n", ["2: The rules of 'a' contradict each other: other rules forbid every document of 'must_find_any'"]),
        ("match: text\n" + make_queries("query: a, must_find: {one two: 1, three four: 1}"), []),
        (make_queries(*MANY) + "tags: {t: {ndcg@10: {max_significant_drop: 0.1}}}\n", []),
        (make_queries(*MANY[:4]) + "thresholds: {ndcg@10: {max_significant_drop: 0.1}}\n", ["6: 'max_significant_drop' needs at least 5 queries: this suite (4)"]),
        (make_queries(*MANY[:2]) + "tags: {t: {ndcg@10: 0.5}}\n", ["4: One query moves ndcg@10 a lot in so few queries: tag t (2)"]),
        (make_queries(*MANY[:2]) + "each_tag: {ndcg@10: {min: 0.5, warn: true}}\n", []),
    ],
)  # fmt: skip
def test_doubts(folder: SuiteFolder, text: str, doubts: list[str]) -> None:
    assert find(folder, text) == doubts


def test_ids_that_do_not_match_are_asked_about(folder: SuiteFolder) -> None:
    folder.write("q.trec", "q1 0 d1 1\nb 0 d 1\n")

    (doubt,) = find(folder, make_queries("query: a, id: Q1", "query: b") + "judgments: q.trec\n")

    assert doubt.endswith("'a'. Files judge other queries. Do the ids match?")


def test_at_most_a_few_doubts_of_a_kind_are_listed(folder: SuiteFolder) -> None:
    text = make_queries(*(f"query: q{n}, must_find: {{d: 1, e: 1}}" for n in range(30)))

    doubts = find(folder, text)

    assert len(doubts) == 10
    assert doubts[-1].endswith("and 21 more like this")
