from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

from pytest_irquality.metrics import Judgments
from pytest_irquality.reports.grading import render_grading
from pytest_irquality.reports.view_model import OUTPUT_MARKER
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.data_files import GRADED_COLUMNS, TO_GRADE_COLUMNS
from pytest_irquality.suite.model import Query, RetrieverId, Settings, Suite
from tests.reports.builders import make_decision, make_query, make_run, make_suite, make_threshold


def parse_page(text: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


def render(suite: Suite, run: Run, before: Run | None = None) -> dict[str, Any]:
    return parse_page(render_grading(make_decision(suite, run, before), "grade.html"))


def test_page_has_the_documents_of_the_run_and_of_the_baseline() -> None:
    suite = make_suite(queries=[make_query("table")])

    (query,) = render(suite, make_run(suite), make_run(suite, worse=1))["queries"]

    documents = {doc["id"]: doc for doc in query["documents"]}
    assert documents.keys() == {
        f"{role}:table" for role in ("best", "good", "fair", "junk-1", "junk-2", "junk-3")
    }
    assert documents["junk-1:table"]["assessors"] == []
    assert documents["best:table"]["assessors"] == [""]


def test_page_does_not_tell_ranks_or_retrievers() -> None:
    suite = make_suite(queries=[make_query("table")], retriever=RetrieverId("secret_engine"))

    text = render_grading(make_decision(suite, make_run(suite, worse=1)), "grade.html")

    ids = [doc["id"] for doc in parse_page(text)["queries"][0]["documents"]]
    assert ids == sorted(ids)
    assert "secret_engine" not in text
    assert OUTPUT_MARKER in text


def test_queries_that_could_turn_the_outcome_come_first() -> None:
    queries = [make_query("fine"), make_query("broken", {"best": 1})]
    suite = make_suite(queries=queries, thresholds=[make_threshold("ndcg@10", min=0.9)])
    run = make_run(suite, {"broken": Ranking(("junk-1", "best"))})

    data = render(suite, run)

    assert [query["id"] for query in data["queries"]] == ["broken", "fine"]
    assert [query["decides"] for query in data["queries"]] == [True, False]


def test_disagreement_is_shown_with_the_name_of_each_assessor() -> None:
    query = Query(
        "q", "table", Judgments({"d1": 1.5}), assessor_grades={"d1": {"Anna": 3.0, "Ben": 0.0}}
    )
    suite = make_suite(queries=[query])

    data = render(suite, Run({"table": (Ranking(("d1",)),)}))

    (doc,) = data["queries"][0]["documents"]
    assert doc["opinions"] == [["Anna", 3.0], ["Ben", 0.0]]


def test_scale_has_the_words_of_the_suite_and_a_key_for_each() -> None:
    suite = make_suite(grades={"good": 2.0, "bad": 0.0})

    (encoded,) = render(suite, make_run(suite))["suites"]

    assert encoded["scale"] == [
        {"word": "bad", "grade": 0.0, "key": "0"},
        {"word": "good", "grade": 2.0, "key": "2"},
    ]


def test_scale_without_words_has_the_grades_in_use() -> None:
    suite = make_suite()

    (encoded,) = render(suite, make_run(suite))["suites"]

    assert [entry["word"] for entry in encoded["scale"]] == ["0", "1", "2", "3"]


def test_missing_documents_are_found_in_the_corpus(tmp_path: Any) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text('{"id": "sku-9", "title": "Walnut Table", "text": "A table."}\n')
    settings = Settings(corpus_files=(str(file),))
    suite = make_suite(settings=settings)

    (encoded,) = render(suite, make_run(suite))["suites"]

    assert encoded["corpus"] == [["sku-9", "Walnut Table", "A table."]]


def test_queries_of_several_retrievers_are_one_pool() -> None:
    suites = [make_suite(queries=1, retriever=RetrieverId(parameter=name)) for name in "ab"]

    data = parse_page(render_grading(make_decision(suites, make_run(suites)), "grade.html"))

    assert len(data["queries"]) == 1


def test_list_has_one_row_for_each_ungraded_document() -> None:
    suite = make_suite(queries=[make_query("=table")])

    text = render_grading(make_decision(suite, make_run(suite, worse=1)), "list.csv")

    header, *rows = list(csv.reader(io.StringIO(text)))
    assert tuple(header) == TO_GRADE_COLUMNS
    assert [row[:3] for row in rows] == [
        ["'=table", f"junk-{number}:=table", ""] for number in (1, 2, 3)
    ]


def test_page_saves_columns_that_suites_read() -> None:
    suite = make_suite()

    assert render(suite, make_run(suite))["columns"] == list(GRADED_COLUMNS)


def test_build_without_suites_has_a_page() -> None:
    data = parse_page(render_grading(make_decision([], make_run([])), "grade.html"))

    assert data["queries"] == []


def test_picture_is_never_cut() -> None:
    """Half of its data is no picture, and as a text it would fill the page."""
    picture = f"data:image/png;base64,{'A' * 10_000}"
    fields = ({"picture": picture}, {"picture": f"{picture}…"})
    answer = Ranking(("d1", "d2"), fields=fields)
    suite = make_suite(queries=[make_query("table")])

    (query,) = render(suite, Run({"table": (answer,)}))["queries"]

    shown = [doc["fields"] for doc in query["documents"]]
    assert shown == [[["picture", picture]], [["picture", "a picture that is too large to show"]]]
