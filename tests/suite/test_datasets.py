"""Evaluation sets of other tools: told by their content, read as queries with judgments."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.edges import bounds
from pytest_irquality.suite import Query, Suite, SuiteError, load_suite

PAID = "Refunds are paid within 14 days."
KEEP = "Keep the receipt, it is asked for."
WRITTEN = 'Refunds | "in time"'
WROTE = Path(__file__).parents[1] / "data" / "sets"


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
    "a sheet as JSONL": ("a.jsonl", lines({"question": "refunds?", "expected_passage": [PAID, None, KEEP], "answer": None})),
}  # fmt: skip


@pytest.mark.parametrize("kind", SETS)
def test_each_set_is_read_as_queries_with_passages(kind: str, tmp_path: Path) -> None:
    name, text = SETS[kind]
    query, _ = read(tmp_path, name, text)
    assert query.text == "refunds?"
    assert dict(query.judgments.grades) == {PAID: 1, KEEP: 1}
    assert query.bulk


def test_a_set_without_ids_brings_passages_to_a_suite_that_goes_by_ids(tmp_path: Path) -> None:
    query, _ = read(tmp_path, *SETS["ragas as JSONL"], match="id")
    assert query.passages == {PAID, KEEP} == set(query.judgments.grades)


def test_what_is_no_judgment_is_said_once(tmp_path: Path) -> None:
    row = {"user_input": "refunds?", "reference_contexts": [PAID], "reference": "14", "score": 3}
    _, notes = read(tmp_path, "a.jsonl", lines(row, row))
    assert notes == ("a.jsonl: ignored, as no judgments of rankings: reference, score",)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", lines({"user_input": " ", "reference_contexts": [PAID]}), "a.jsonl:1:15: no query on this line"),
        ("a.jsonl", lines({"user_input": "a", "reference_contexts": []}) + "[1]\n", "a.jsonl:2:1: a line of JSONL is an object"),
        ("a.jsonl", lines({"user_input": "a", "reference_contexts": []}) + "{\n", "a.jsonl:2:2: not JSON"),
        ("a.jsonl", lines({"user_input": "a", "reference_contexts": [True]}), "a.jsonl:1:43: True stands where texts are wanted"),
        ("a.json", json.dumps([{"user_input": "a", "reference_contexts": []}]), "a.json:1:1: cannot tell the format of these queries"),
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


# -- promptfoo, sheets ------------------------------------------------------------------------------


def loaded(tmp_path: Path, name: str, text: str, match: str = "text", more: str = "") -> Suite:
    (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "s.ir.yaml"
    path.write_text(f"match: {match}\nqueries: {name}\n{more}", encoding="utf-8")
    return load_suite(path, shown="s.ir.yaml")


def graded(suite: Suite) -> list[tuple[str, dict[str, float]]]:
    return [(query.text, dict(query.judgments.grades)) for query in suite.queries]


PROMPTFOO = f"""\
language,question,__expected1,__expected2,__metadata:kind
en,refunds?,contains: {PAID},llm-rubric: is it polite?,billing
en,receipts?,"icontains:{KEEP}",,billing
"""


def test_what_promptfoo_says_an_answer_contains_is_a_passage(tmp_path: Path) -> None:
    suite = loaded(tmp_path, "tests.csv", PROMPTFOO)
    assert graded(suite) == [("refunds?", {PAID: 1}), ("receipts?", {KEEP: 1})]
    (note,) = suite.notes
    assert note.endswith(
        "tests.csv: ignored, as no judgments of rankings: __expected2 (llm-rubric), language"
    )


def test_a_file_that_promptfoo_wrote_reads_as_promptfoo_reads_it() -> None:
    """Written by the serializer of promptfoo 0.121 and read by its ``eval``, which saw these assertions."""
    suite = load_suite(WROTE / "promptfoo.ir.yaml")
    assert graded(suite) == [
        ("refunds?", {"Refunds are paid, within 14 days.": 1}),
        ('receipts "now"?', {'Keep the "receipt",\nit is asked for.': 1}),
        ("never", {"spaces and: colons": 1}),
    ]
    (note,) = suite.notes
    assert note.endswith("__expected1 (not-contains), __expected2 (llm-rubric), language")


def test_a_row_of_too_many_cells_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"a\.csv:2:1: a line of 3 cells under a header of 2"):
        loaded(tmp_path, "a.csv", f"question,__expected\na,contains:{KEEP}\n")


def test_the_only_variable_of_promptfoo_is_the_query(tmp_path: Path) -> None:
    suite = loaded(tmp_path, "tests.csv", f"topic,__expected\nrefunds,contains:{PAID}\n", "id")
    assert graded(suite) == [("refunds", {PAID: 1})]
    assert suite.queries[0].passages == {PAID}


@pytest.mark.parametrize(
    "header",
    [
        "query,passage",
        "Question,Expected passage",
        "question;gold_passage",
        "Expected Passage\tQuery",
    ],
)
@pytest.mark.parametrize("match", ["text", "id"])
def test_a_sheet_of_questions_and_passages(header: str, match: str, tmp_path: Path) -> None:
    sign = next(sign for sign in ",;\t" if sign in header)
    cells = ["refunds?", f'"{PAID}"' if sign != "\t" else PAID]
    if header.startswith("Expected"):
        cells.reverse()
    suite = loaded(tmp_path, "a.csv", f"{header}\n{sign.join(cells)}\n", match)
    assert graded(suite) == [("refunds?", {PAID: 1})]


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
        ("a.csv", "question,__expected\nrefunds?,llm-rubric: nice\n", "__expected (llm-rubric)"),
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


# -- parquet ---------------------------------------------------------------------------------------


def parquet(tmp_path: Path, name: str, *rows: dict[str, Any]) -> None:
    arrow = pytest.importorskip("pyarrow")
    files = pytest.importorskip("pyarrow.parquet")
    files.write_table(arrow.Table.from_pylist(list(rows)), tmp_path / name)


def suite_of(tmp_path: Path, match: str, more: str = "", name: str = "qa.parquet") -> Suite:
    path = tmp_path / "s.ir.yaml"
    path.write_text(f"match: {match}\nqueries: {name}\n{more}", encoding="utf-8")
    return load_suite(path, shown="s.ir.yaml")


def test_a_set_of_ragas_in_parquet(tmp_path: Path) -> None:
    row = {"user_input": "refunds?", "reference_contexts": [PAID, KEEP], "score": float("nan")}
    parquet(tmp_path, "qa.parquet", row)
    assert graded(suite_of(tmp_path, "text")) == [("refunds?", {PAID: 1, KEEP: 1})]


def test_queries_and_judgments_in_parquet(tmp_path: Path) -> None:
    parquet(
        tmp_path,
        "qa.parquet",
        {"id": 7, "question": "refunds?", "tags": ["a", "b"], "vector": [0.5]},
    )
    parquet(tmp_path, "j.parquet", {"query-id": 7, "corpus-id": "d1", "score": 2})
    suite = suite_of(tmp_path, "id", "judgments: j.parquet\n")
    assert graded(suite) == [("refunds?", {"d1": 2})]
    assert (suite.queries[0].id, suite.queries[0].tags) == ("7", ("a", "b"))


def test_a_sheet_in_parquet(tmp_path: Path) -> None:
    parquet(tmp_path, "qa.parquet", {"query": "refunds?", "passage": [PAID, KEEP]})
    assert graded(suite_of(tmp_path, "text")) == [("refunds?", {PAID: 1, KEEP: 1})]


def test_parquet_without_pyarrow_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qa.parquet").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SuiteError) as error:
        suite_of(tmp_path, "id")
    assert str(error.value) == "qa.parquet:1:1: parquet, which needs pyarrow: pip install pyarrow"


def test_parquet_that_is_damaged_or_grows_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet(tmp_path, "qa.parquet", *[{"query": "a" * 1_000}] * 1_000)
    monkeypatch.setattr(bounds, "GROWTH_FROM", 10_000)
    with pytest.raises(SuiteError, match="parquet that grows more than 200 times"):
        suite_of(tmp_path, "id")
    (tmp_path / "qa.parquet").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    with pytest.raises(SuiteError, match="damaged parquet: "):
        suite_of(tmp_path, "id")
