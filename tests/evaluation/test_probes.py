"""What broken probes have in common."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pytest_irquality.evaluation.evaluate import Evaluation, evaluate
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Probe, Query, Suite
from tests.builders import make_query, make_suite, make_threshold, rank

POSITIONS = {"a": 100, "b": 1500, "c": 2600, "d": 3100, "e": 4000}
SOURCES = {"a": "manual", "b": "manual", "c": "blog", "d": "blog", "e": "blog"}


def make_probe(doc_id: str, way: Literal["whole", "quote"]) -> Query:
    position = POSITIONS[doc_id] if way == "quote" else 0
    probe = Probe(doc_id, field="text", way=way, position=position, source=SOURCES[doc_id])
    return make_query(f"{way} of {doc_id}", {doc_id: 1.0}, probe=probe)


def make_probe_suite() -> Suite:
    """Make a title and a quote from each of five documents."""
    queries = []
    for doc_id in "abcde":
        queries.append(make_probe(doc_id, "whole"))
        queries.append(make_probe(doc_id, "quote"))
    return make_suite(
        queries=queries,
        is_probe_suite=True,
        thresholds=[make_threshold("success@10", min=0.9)],
    )


def evaluate_probes(
    broken_titles: Collection[str] = (),
    broken_quotes: Collection[str] = (),
    missing: Collection[str] = (),
) -> Evaluation:
    suite = make_probe_suite()
    answers: dict[str, tuple[Ranking, ...]] = {}
    for query in suite.queries:
        assert query.probe
        broken = broken_titles if query.probe.way == "whole" else broken_quotes
        found = () if query.probe.doc_id in broken else (query.probe.doc_id,)
        answers[query.request] = (rank("x", *found),)
    return evaluate(suite, Run(answers, missing_doc_ids=frozenset(missing)))


def list_texts(evaluation: Evaluation) -> list[str]:
    return [str(notice.text) for notice in evaluation.notices if "probes" in notice.code]


def test_probes_that_are_found_have_no_notice() -> None:
    evaluation = evaluate_probes()

    assert list_texts(evaluation) == []
    assert evaluation.outcome is Outcome.PASSED


def test_documents_that_are_found_by_title_but_not_by_quote() -> None:
    evaluation = evaluate_probes(broken_quotes="ace")

    assert list_texts(evaluation) == ["3 documents are found by title but not by quote: a, c, e"]
    assert evaluation.outcome is Outcome.FAILED


def test_quotes_behind_the_last_one_that_is_found_point_to_cut_texts() -> None:
    evaluation = evaluate_probes(broken_quotes="cde")

    assert list_texts(evaluation) == [
        "3 documents are found by title but not by quote: c, d, e, all from blog."
        " Texts seem to be cut at about character 1,500."
    ]


def test_no_quote_that_is_found_points_to_a_field_that_is_not_indexed() -> None:
    evaluation = evaluate_probes(broken_quotes="abcde")

    assert list_texts(evaluation) == [
        "5 documents are found by title but not by quote: a, b, c and 2 more."
        " The field 'text' seems not to be indexed."
    ]


def test_broken_probes_that_are_all_from_one_source_name_it() -> None:
    evaluation = evaluate_probes(broken_titles="cde", broken_quotes="cde")

    assert list_texts(evaluation) == [
        "3 documents are not found by any field: c, d, e, all from blog"
    ]


def test_documents_that_are_missing_or_found_by_no_field() -> None:
    evaluation = evaluate_probes(broken_titles="abc", broken_quotes="ab", missing="a")

    assert list_texts(evaluation) == [
        "1 document is not in the index: a",
        "1 document is not found by any field: b",
        "1 document is not found by title: c",
    ]
