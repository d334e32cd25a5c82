"""Evaluation sets of other tools: told by their content, read as queries with judgments."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.suite import Query, SuiteError, load_suite

PAID = "Refunds are paid within 14 days."
KEEP = "Keep the receipt, it is asked for."
WRITTEN = 'Refunds | "in time"'


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def table(*rows: dict[str, str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read(
    tmp_path: Path, name: str, text: str, match: str = "text"
) -> tuple[Query, tuple[str, ...]]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "s.ir.yaml"
    path.write_text(f"match: {match}\nqueries: {name}\n", encoding="utf-8")
    suite = load_suite(path, shown="s.ir.yaml")
    assert len(suite.queries) == 1
    return suite.queries[0], suite.notes


SETS = {
    "ragas as JSONL": ("a.jsonl", lines({"user_input": "refunds?", "reference_contexts": [PAID, KEEP], "reference": "14"})),
    "ragas as CSV": ("a.csv", table({"user_input": "refunds?", "reference_contexts": repr([PAID, KEEP]), "reference": "14"})),
    "ragas as CSV with JSON": ("a.csv", table({"user_input": "refunds?", "reference_contexts": json.dumps([PAID, KEEP])})),
    "ragas as one value": ("a.json", json.dumps([{"user_input": "refunds?", "reference_contexts": [PAID, KEEP]}], indent=1)),
    "LlamaIndex": ("a.json", json.dumps({"queries": {"q1": "refunds?"}, "corpus": {"n1": PAID, "n2": KEEP},
                                        "relevant_docs": {"q1": ["n1", "n2"]}, "mode": "text"}, indent=4)),
    "LlamaIndex on one line": ("a.json", json.dumps({"queries": {"q1": "refunds?"}, "corpus": {"n1": PAID, "n2": KEEP},
                                                    "relevant_docs": {"q1": ["n1", "n2"]}})),
    "a labelled dataset of LlamaIndex": ("a.json", json.dumps({"examples": [{"query": "refunds?", "query_by": None,
                                         "reference_contexts": [PAID, KEEP], "reference_answer": "14"}]})),
    "goldens as JSON": ("a.json", json.dumps([{"input": "refunds?", "actual_output": None, "expected_output": "14",
                                              "context": [PAID, KEEP], "source_file": "x.md"}])),
    "goldens as CSV": ("a.csv", table({"input": "refunds?", "actual_output": "", "expected_output": "14",
                                       "context": f"{PAID}|{KEEP}", "source_file": "x.md"})),
    "LangSmith as CSV": ("a.csv", table({"inputs.question": "refunds?", "outputs.answer": "14",
                                         "outputs.contexts": json.dumps([PAID, KEEP])})),
    "LangSmith as CSV, by columns": ("a.csv", table({"id": "1", "input_question": "refunds?", "output_answer": "14",
                                                     "output_contexts": json.dumps([PAID, KEEP])})),
    "LangSmith as JSONL": ("a.jsonl", lines({"inputs": {"question": "refunds?"}, "outputs": {"answer": "14",
                                            "contexts": [PAID, KEEP]}})),
}  # fmt: skip


@pytest.mark.parametrize("kind", SETS)
def test_each_set_is_read_as_queries_with_passages(kind: str, tmp_path: Path) -> None:
    name, text = SETS[kind]
    query, _ = read(tmp_path, name, text)
    assert query.text == "refunds?"
    assert dict(query.judgments.grades) == {PAID: 1, KEEP: 1}
    assert query.bulk


def test_ids_are_taken_where_the_suite_goes_by_ids(tmp_path: Path) -> None:
    query, _ = read(tmp_path, *SETS["LlamaIndex"], match="id")
    assert set(query.judgments.grades) == {"n1", "n2"}
    assert not query.passages


def test_a_set_without_ids_brings_passages_to_a_suite_that_goes_by_ids(tmp_path: Path) -> None:
    query, _ = read(tmp_path, *SETS["ragas as JSONL"], match="id")
    assert query.passages == {PAID, KEEP} == set(query.judgments.grades)


def test_ids_of_ragas(tmp_path: Path) -> None:
    row = {"user_input": "refunds?", "reference_contexts": [PAID], "reference_context_ids": ["c1"]}
    query, _ = read(tmp_path, "a.jsonl", lines(row), match="id")
    assert dict(query.judgments.grades) == {"c1": 1}


def test_null_is_no_text(tmp_path: Path) -> None:
    row = {
        "user_input": "refunds?",
        "reference_contexts": [PAID, None],
        "reference_context_ids": None,
    }
    query, _ = read(tmp_path, "a.jsonl", lines(row))
    assert set(query.judgments.grades) == {PAID}


def test_what_is_no_judgment_is_said_once(tmp_path: Path) -> None:
    row = {
        "user_input": "refunds?",
        "reference_contexts": [PAID],
        "reference": "14",
        "response": "30",
    }
    _, notes = read(tmp_path, "a.jsonl", lines(row))
    assert notes == (
        "a.jsonl is a set of ragas: ignored, as no judgments of rankings: reference, response",
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", lines({"user_input": " ", "reference_contexts": [PAID]}), "a.jsonl:1:1: no question in this row"),
        ("a.jsonl", lines({"user_input": "a", "reference_contexts": []}) + "[1]\n", "a.jsonl:2:1: a line of JSONL is an object"),
        ("a.jsonl", lines({"user_input": "a", "reference_contexts": []}) + "{\n", "a.jsonl:2:1: not JSON"),
        ("a.jsonl", lines({"user_input": "a", "reference_contexts": [True]}), "a.jsonl:1:1: in a row of a set of ragas: True stands where texts"),
        ("a.jsonl", lines({"user_input": "a", "reference_contexts": {"page": 3}}), "a.jsonl:1:1: in a row of a set of ragas: {'page': '3'} stands where"),
        ("a.jsonl", lines({"user_input": "a", "reference_context_ids": [["c"]]}), "a.jsonl:1:1: in a row of a set of ragas: [['c']] stands where"),
        ("a.json", json.dumps([{"user_input": "a", "reference_contexts": []}, 3]), "a.json:1:1: a row is an object, {...}, not '3'"),
        ("a.json", '[{"user_input": "a",\n "reference_contexts": [}]', "a.json:2:25: not JSON"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line(name: str, text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as error:
        read(tmp_path, name, text)
    assert str(error.value).startswith(said)


def test_plain_queries_stay_what_they_are(tmp_path: Path) -> None:
    query, notes = read(tmp_path, "a.jsonl", lines({"query": "refunds?", "relevant": [PAID]}))
    assert (dict(query.judgments.grades), notes) == ({PAID: 1}, ())
    query, _ = read(tmp_path, "b.csv", table({"question": "refunds?", "tags": "head"}))
    assert query.tags == ("head",)
