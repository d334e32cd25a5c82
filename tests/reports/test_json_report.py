from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from docs.tools.report_schema import create_schema
from pytest_irquality.reports.json_report import render_json, render_short_json
from pytest_irquality.reports.query_rows import QUERY_COLUMNS
from pytest_irquality.reports.view_model import MARKED_BYTES, OUTPUT_MARKER, View
from pytest_irquality.retrieval.run import Ranking, Run
from tests.reports.builders import (
    LOST,
    SETTINGS,
    make_query,
    make_run,
    make_suite,
    make_threshold,
    make_view,
)


def load_schema() -> Any:
    text = files("pytest_irquality.reports").joinpath("schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def make_failed_view(**settings: Any) -> View:
    queries = [make_query(f"q{n}", tags=("head",)) for n in range(20)]
    suite = make_suite(queries=queries, thresholds=[make_threshold("ndcg@10", min=0.9)])
    answers = {"q19": "TimeoutError"}
    run = make_run(suite, answers, worse=10)
    return make_view(suite, run, make_run(suite), settings=replace(SETTINGS, **settings))


def make_review_view() -> View:
    base_suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])
    suite = make_suite(queries=15, thresholds=[make_threshold("ndcg@10", min=0.2, max_drop=0.9)])
    run = make_run([suite, base_suite], worse=10)
    return make_view(suite, run, make_run(base_suite), base_suite)


def test_shipped_schema_is_the_one_of_the_classes() -> None:
    """Run ``python -m pytest_irquality.reports.json_report`` if this fails."""
    assert load_schema() == create_schema()


@pytest.mark.parametrize("make", [make_failed_view, make_review_view])
def test_report_follows_its_schema(make: Any) -> None:
    report = json.loads(render_json(make()))

    jsonschema.Draft202012Validator(load_schema()).validate(report)


def test_build_without_suites_has_a_report() -> None:
    view = make_view([], make_run([]))

    jsonschema.Draft202012Validator(load_schema()).validate(json.loads(render_json(view)))
    assert json.loads(render_short_json(view))["outcome"] == "INCOMPLETE"


def test_report_has_values_baseline_values_and_bounds() -> None:
    report = json.loads(render_json(make_failed_view()))

    assert report["outcome"] == "FAILED"
    (check,) = [check for check in report["checks"] if check["label"] == "ndcg@10"]
    assert check["bound"] == 0.9
    assert check["value"] < 0.9 < check["baseline_value"]
    assert check["location"] == "shop.ir.yaml:3"


def test_query_has_every_column_and_its_documents() -> None:
    report = json.loads(render_json(make_failed_view()))

    row = report["suites"][0]["rows"][0]
    assert [row[column.key] for column in QUERY_COLUMNS][:2] == ["q0", "head"]
    first = row["documents"][0]
    assert (first["doc_id"], first["rank_before"], first["rank_now"]) == ("junk-1:q0", None, 1)
    assert row["values"][0]["metric"] == "ndcg@10"


def test_row_and_values_of_a_query_agree_about_tied_documents() -> None:
    """The baseline is `a b c`, and now a and b are tied and come as `b a c`."""
    suite = make_suite(queries=[make_query("table", {"a": 1})], metrics=["mrr@10", "success@1"])
    before = Ranking(("a:table", "b:table", "c:table"), (2.0, 2.0, 1.0))
    now = Ranking(("b:table", "a:table", "c:table"), (2.0, 2.0, 1.0))

    report = json.loads(
        render_json(make_view(suite, Run({"table": (now,)}), Run({"table": (before,)})))
    )

    (row,) = report["suites"][0]["rows"]
    assert (row["before"], row["now"], row["change"]) == (1.0, 1.0, 0.0)
    assert row["values"] == [
        {"metric": "mrr@10", "before": 1.0, "now": 1.0, "change": 0.0},
        {"metric": "success@1", "before": 1.0, "now": 1.0, "change": 0.0},
    ]


def test_runs_differ_in_their_timing_only() -> None:
    one = make_failed_view(seconds=1.5)
    assert SETTINGS.now is not None
    other = make_failed_view(seconds=2.5, now=SETTINGS.now + timedelta(days=1))

    reports = [json.loads(render_json(view)) for view in (one, other)]

    timings = [report.pop("timing") for report in reports]
    assert reports[0] == reports[1]
    assert (timings[0]["seconds"], timings[1]["seconds"]) == (1.5, 2.5)


@pytest.mark.parametrize("render", [render_json, render_short_json])
def test_report_is_recognized_as_ours(render: Any) -> None:
    text = render(make_failed_view())

    assert OUTPUT_MARKER in text[:MARKED_BYTES]


def test_short_document_has_one_line_for_each_entry() -> None:
    view = make_failed_view()

    text = render_short_json(view, exit_status=1, protected_paths=["pytest.ini"])

    document = json.loads(text)
    assert len(text.splitlines()) < 60
    assert document["exit_status"] == 1
    assert len(document["worse"]) == 5
    assert document["not_shown"] == {"worse": 5}
    assert document["next"][0]["text"].startswith("Grade these first")
    assert document["do_not_edit"] == ["pytest.ini"]


def test_short_document_is_short_whatever_the_data() -> None:
    suite = make_suite("s" * 5000, [make_query("q" * 5000)])

    text = render_short_json(make_view(suite, make_run(suite, worse=1, ranking=LOST)))

    assert max(map(len, text.splitlines())) < 8000
