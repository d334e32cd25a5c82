"""Sheets of questions and expected passages, read as queries with judgments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.suite import Suite, SuiteError, load_suite

PAID = "Refunds are paid within 14 days."
KEEP = "Keep the receipt, it is asked for."


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def loaded(tmp_path: Path, name: str, text: str, match: str = "text", more: str = "") -> Suite:
    (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "s.ir.yaml"
    path.write_text(f"match: {match}\nqueries: {name}\n{more}", encoding="utf-8")
    return load_suite(path, shown="s.ir.yaml")


def graded(suite: Suite) -> list[tuple[str, dict[str, float]]]:
    return [(query.text, dict(query.judgments.grades)) for query in suite.queries]


@pytest.mark.parametrize(
    "header",
    [
        "query,passage",
        "Question,Expected passage",
        "question;gold_passage",
        "Expected Passage\tQuery",
    ],
)
def test_a_sheet_of_questions_and_passages(header: str, tmp_path: Path) -> None:
    sign = next(sign for sign in ",;\t" if sign in header)
    cells = ["refunds?", f'"{PAID}"' if sign != "\t" else PAID]
    if header.startswith("Expected"):
        cells.reverse()
    suite = loaded(tmp_path, "a.csv", f"{header}\n{sign.join(cells)}\n")
    assert graded(suite) == [("refunds?", {PAID: 1})]
    with pytest.raises(SuiteError, match=r"call passages 'expected passage' \(under"):
        loaded(tmp_path, "a.csv", f"{header}\n{sign.join(cells)}\n", "id")


def test_rows_of_a_question_are_its_passages_and_its_other_cells_stay(tmp_path: Path) -> None:
    text = f'id,question,passage,tags,variants,weight\nq1,refunds?,{PAID},a;b,refund?,2\nq1,refunds?,"{KEEP}",,,\n'
    (query,) = loaded(tmp_path, "a.csv", text).queries
    assert (query.id, dict(query.judgments.grades)) == ("q1", {PAID: 1, KEEP: 1})
    assert (query.tags, query.variants, query.weight) == (("a", "b"), ("refund?",), 2)


def test_a_file_of_judgments_keeps_its_texts_to_itself(tmp_path: Path) -> None:
    suite = loaded(tmp_path, "a.csv", f"query,docid,rating,passage\nrefunds?,d1,2,{PAID}\n", "id")
    assert graded(suite) == [("refunds?", {"d1": 2})]


# -- what promises an expectation ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "column"),
    [
        ("a.csv", "question,expected\nrefunds?,14 days\n", "expected"),
        ("a.csv", "question,Ground truth\nrefunds?,14 days\n", "Ground truth"),
        ("a.csv", "query,docid\nrefunds?,d1\n", "docid"),
        ("a.jsonl", lines({"query": "refunds?", "docid": "d1"}), "docid"),
        ("a.csv", "qid,query,retrieval_gt\n1,refunds?,d1\n", "retrieval_gt"),
        ("a.csv", "question,__expected\nrefunds?,llm-rubric: nice\n", "__expected"),
    ],
)
def test_a_column_that_is_not_read_and_looks_like_an_expectation(
    name: str, text: str, column: str, tmp_path: Path
) -> None:
    with pytest.raises(SuiteError) as error:
        loaded(tmp_path, name, text)
    said = str(error.value)
    assert said.startswith(f"{name}:1:1: nothing says what the queries of this file should find")
    assert f"{column!r} is not read" in said or f"{column} is not read" in said
    (tmp_path / "j.csv").write_text("query,docid,rating\nrefunds?,d1,1\n", encoding="utf-8")
    suite = loaded(tmp_path, name, text, "id", "judgments: j.csv\n")
    assert graded(suite) == [("refunds?", {"d1": 1})]


def test_queries_alone_stay_fine(tmp_path: Path) -> None:
    suite = loaded(tmp_path, "a.csv", "query,clicks,language\nrefunds?,3,en\n", "id")
    assert graded(suite) == [("refunds?", {})]
