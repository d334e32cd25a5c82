"""What broken probes have in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import pytest

from pytest_irquality.evaluation.evaluate import Evaluation, evaluate
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Probe, Query, Suite
from tests.builders import make_query, make_suite, make_threshold, rank

POSITIONS = {"a": 100, "b": 1500, "c": 2600, "d": 3100, "e": 4000, "f": 5000, "g": 6000}
SOURCES = {"a": "manual", "b": "manual"}
Way = Literal["whole", "quote"]


def make_probe(doc_id: str, way: Way) -> Query:
    position = POSITIONS[doc_id] if way == "quote" else 0
    field = "text" if way == "quote" else "title"
    title = f"Title of {doc_id}"
    probe = Probe(doc_id, title, field, way, position=position, source=SOURCES.get(doc_id, "blog"))
    return make_query(f"{way} of {doc_id}", {doc_id: 1.0}, probe=probe)


def make_probe_suite(doc_ids: str = "abcde", ways: Sequence[Way] = ("whole", "quote")) -> Suite:
    """Make a title and a quote from each of some documents."""
    queries = [make_probe(doc_id, way) for doc_id in doc_ids for way in ways]
    return make_suite(
        queries=queries, is_probe_suite=True, thresholds=[make_threshold("success@10", min=0.9)]
    )


def evaluate_probes(
    broken_titles: Collection[str] = (),
    broken_quotes: Collection[str] = (),
    missing: Collection[str] = (),
    *,
    suite: Suite | None = None,
    instead: Mapping[str, str] | None = None,
) -> Evaluation:
    """Evaluate probes, of which some return no document, or another one with their title."""
    suite = suite or make_probe_suite()
    answers: dict[str, tuple[Ranking, ...]] = {}
    for query in suite.queries:
        assert query.probe
        doc_id = query.probe.doc_id
        broken = broken_titles if query.probe.way == "whole" else broken_quotes
        found = () if doc_id in broken else (doc_id,)
        if instead and doc_id in instead:
            found = (instead[doc_id],)
        answers[query.request] = (rank("x", *found),)
    titles = {other_id: f"Title of {doc_id}" for doc_id, other_id in (instead or {}).items()}
    run = Run(answers, missing_doc_ids=frozenset(missing), titles=titles)
    return evaluate(suite, run)


def list_texts(evaluation: Evaluation) -> list[str]:
    return [str(notice.text) for notice in evaluation.notices if "probes" in notice.code]


def test_probes_that_are_found_have_no_notice() -> None:
    evaluation = evaluate_probes()

    assert list_texts(evaluation) == []
    assert evaluation.outcome is Outcome.PASSED


def test_documents_that_are_found_by_title_but_not_by_quote() -> None:
    evaluation = evaluate_probes(broken_quotes="bd")

    assert list_texts(evaluation) == [
        "2 documents are found by 'title', but not by a quote from 'text':"
        " Title of b (b), Title of d (d)"
    ]
    assert evaluation.outcome is Outcome.FAILED


def test_quotes_behind_the_last_one_that_is_found_point_to_cut_texts() -> None:
    evaluation = evaluate_probes(broken_quotes="cde")

    assert list_texts(evaluation) == [
        "3 documents are found by 'title', but not by a quote from 'text', all from blog, as if texts"
        " were cut off at about character 1,500: Title of c (c), Title of d (d), Title of e (e)"
    ]


@pytest.mark.parametrize("broken", ["abcde", "ace"], ids=["all quotes", "quotes from all parts"])
def test_lost_quotes_from_all_parts_point_to_a_field_that_is_not_indexed(broken: str) -> None:
    evaluation = evaluate_probes(broken_quotes=broken)

    (text,) = list_texts(evaluation)
    assert ", as if the field were not indexed: Title of a (a), " in text


def test_broken_probes_that_are_all_from_one_source_name_it() -> None:
    evaluation = evaluate_probes(broken_titles="cde", broken_quotes="cde")

    assert list_texts(evaluation) == [
        "3 documents are not found by any field, all from blog:"
        " Title of c (c), Title of d (d), Title of e (e)"
    ]


def test_a_source_without_any_found_probe_is_named_although_another_probe_is_broken() -> None:
    suite = make_probe_suite("abcdefg")

    evaluation = evaluate_probes("acdefg", "acdefg", suite=suite)

    (text,) = list_texts(evaluation)
    assert ", 10 of 12 from blog: " in text


def test_documents_that_are_missing_or_found_by_no_field() -> None:
    evaluation = evaluate_probes(broken_titles="abc", broken_quotes="ab", missing="a")

    assert list_texts(evaluation) == [
        "1 document is not in the index: Title of a (a)",
        "1 document is not found by any field: Title of b (b)",
        "1 document is not found by 'title': Title of c (c)",
    ]


def test_a_result_with_the_title_of_the_document_points_to_another_id() -> None:
    evaluation = evaluate_probes(instead={"a": "a-en", "c": "c-en", "d": "d-en"})

    assert list_texts(evaluation) == [
        "3 documents are returned with another id, such as a-en instead of a:"
        " Title of a (a), Title of c (c), Title of d (d)"
    ]


def test_a_title_that_another_document_has_too_is_no_other_id() -> None:
    evaluation = evaluate_probes("cde", "cde", instead={"a": "a-en"})

    assert list_texts(evaluation) == [
        "4 documents are not found by any field:"
        " Title of a (a), Title of c (c), Title of d (d) and 1 more"
    ]


def test_the_only_field_is_named() -> None:
    suite = make_probe_suite(ways=("whole",))

    evaluation = evaluate_probes(broken_titles="a", suite=suite)

    assert list_texts(evaluation) == ["1 document is not found by 'title': Title of a (a)"]
