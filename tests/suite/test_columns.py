"""Columns of tables: one meaning each, or an error that says how to choose."""

from __future__ import annotations

import pytest

from pytest_irquality.suite.data_files import ColumnError, assign_columns


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("query docid rating", {"query": "query", "document": "docid", "grade": "rating"}),
        ("Query-ID DocNo Relevance", {"id": "Query-ID", "document": "DocNo", "grade": "Relevance"}),
        ("qid docno rank score label", {"id": "qid", "document": "docno", "grade": "label"}),
        ("query-id corpus-id score", {"id": "query-id", "document": "corpus-id", "grade": "score"}),
        ("_id text", {"id": "_id", "query": "text"}),
        ("query text", {"query": "query"}),
        ("id query_id query", {"id": "query_id", "query": "query"}),
        ("id query docid rating", {"query": "query", "document": "docid", "grade": "rating"}),
        ("example_id query query_id product_id esci_label", {"id": "query_id", "query": "query", "document": "product_id", "grade": "esci_label"}),
    ],
)  # fmt: skip
def test_meanings(header: str, names: dict[str, str]) -> None:
    assert assign_columns(header.split(), {}).names == names


def test_an_engines_score_is_a_grade_only_if_the_suite_says_so() -> None:
    header = ["query", "docid", "score"]

    with pytest.raises(ColumnError, match="No column is the grade"):
        assign_columns(header, {})
    assert assign_columns(header, {"grade": "score"}).names["grade"] == "score"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("query docid rating rating", "There are 2 columns named 'rating'. Rename one."),
        ("query docid rating label", "'rating' and 'label' could both be the grade. Choose one with columns: {grade: 'rating'}."),
        ("query docno document label", "'docno' and 'document' could both be the document. Choose one with columns: {document: 'docno'}."),
        ("query question", "'query' and 'question' could both be the query. Choose one with columns: {query: 'query'}."),
        ("qid query_id query", "'qid' and 'query_id' could both be the id of the query. Choose one with columns: {id: 'qid'}."),
    ],
)  # fmt: skip
def test_two_columns_of_one_meaning_are_an_error(header: str, message: str) -> None:
    with pytest.raises(ColumnError) as info:
        assign_columns(header.split(), {})

    assert str(info.value) == message


def test_the_suite_can_choose() -> None:
    columns = assign_columns(["query", "docno", "document", "label"], {"document": "docno"})

    assert columns.names["document"] == "docno"
    assert columns.ignored == ("document",)
    assert columns.describe() == (
        "'docno' is the document, 'query' is the query, 'label' is the grade; ignored: 'document'"
    )


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("grad", "There is no column 'grad'. The columns are 'query', 'x' and 'x'."),
        ("x", "There are 2 columns named 'x'. Rename one."),
    ],
)
def test_a_chosen_column_must_exist_once(chosen: str, message: str) -> None:
    with pytest.raises(ColumnError) as info:
        assign_columns(["query", "x", "x"], {"grade": chosen})

    assert str(info.value) == message
