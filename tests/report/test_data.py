"""The JSON report: its schema, its order, and where times go."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_irquality.edges.codec import decode, encode
from pytest_irquality.report import json_schema
from pytest_irquality.report.data import document
from pytest_irquality.verdict.facts import Remark
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import Mean, Outcome, SuiteResult, Verdict
from tests.conftest import Project
from tests.report.made import check, compared, query, suite

jsonschema = pytest.importorskip("jsonschema")


def valid(text: str) -> Any:
    """The document, held against the schema and against the same one that allows no field it does not name."""

    def strict(part: Any) -> Any:
        if isinstance(part, dict):
            closed = {"additionalProperties": False} if "properties" in part else {}
            return {name: strict(entry) for name, entry in part.items()} | closed
        return [strict(entry) for entry in part] if isinstance(part, list) else part

    data = json.loads(text)
    shipped = json.loads(json_schema.FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(shipped)
    jsonschema.Draft202012Validator(shipped).validate(data)
    jsonschema.Draft202012Validator(strict(shipped)).validate(data)
    return data


def timed(seconds: float, outcome: Outcome = "passed") -> SuiteResult:
    finding = Finding(
        "",
        "max",
        outcome == "passed",
        True,
        "latency_p95",
        seconds,
        0.1,
        1,
        "seconds",
    )
    return suite(
        query("a", 0.5, values=(0.5, seconds), seconds=seconds),
        measures=("ndcg@10", "latency_p95"),
        verdicts=(
            check("a"),
            Verdict("latency_p95", "latency_p95", 3, outcome, (finding,), "suite"),
        ),
        means=(
            Mean("ndcg@10", None, 0.5, 1, 0),
            Mean("latency_p95", None, seconds, 1, 0, "seconds", False),
        ),
        facts=(Remark("1 query is new"), Remark(f"latency_p95 took {seconds}")),
        seconds=seconds,
    )


def test_documents_are_valid() -> None:
    for results in ([], [compared()], [timed(0.1), suite(query("b"), interrupted=True)]):
        data = valid(document(results, ["other.ir.yaml"]))
        assert data["version"] == 1
        assert data["outcome"] == "failed"
        assert [entry["path"] for entry in data["timing"]] == [result.path for result in results]


def test_what_is_no_number_in_json_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        document([suite(query("a", float("nan")))], [])


def test_the_time_of_each_call_stands_under_timing_alone() -> None:
    data = valid(document([timed(0.15)], []))
    assert data["timing"][0]["queries"] == {"a": 0.15}
    assert "seconds" not in data["suites"][0]["queries"][0]


def test_a_limit_on_latency_says_why_it_fails_where_every_limit_does() -> None:
    data = valid(document([timed(0.15, "failed")], []))
    latency = data["suites"][0]["verdicts"][1]
    assert (latency["outcome"], latency["findings"][0]["value"]) == ("failed", 0.15)
    assert latency["reason"] == "latency_p95 is 150 ms, above its ceiling 100 ms"


def test_a_result_survives_the_way_through_json() -> None:
    for result in (compared(), timed(0.5), replace(compared(), retriever="ünï\x1b\u202e")):
        assert decode(encode(result), SuiteResult) == result


@pytest.mark.slow
def test_equal_runs_give_equal_bytes_but_for_timing(project: Project) -> None:
    project.suite(
        "queries:\n  - {query: b, relevant: [d1], tags: [t]}\n  - {query: a, must_find: [d2]}\n"
    )
    project.answers({"a": ["d1"], "b": [("d2", 2.5), ("d1", 1.0)]})
    texts = []
    for _ in range(2):
        project.run()
        data = valid((project.path / "out.json").read_text(encoding="utf-8"))
        del data["timing"]
        texts.append(json.dumps(data))
    assert texts[0] == texts[1]
