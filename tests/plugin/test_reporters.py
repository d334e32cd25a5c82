"""Other reporters beside ours: each says its own, and none changes what another says."""

from __future__ import annotations

import importlib.util
import json
import xml.etree.ElementTree as ET

import pytest

from tests.conftest import Project, absent, installed

SUITE = """
queries:
  - {query: office chair, relevant: [d1], must_find: [d1]}
  - {query: desk, must_find: [d2]}
  - {query: sofa, must_find: [d2], known_issue: S-1}
  - {query: lamp, must_find: [d1]}
thresholds: {ndcg@10: 0.5}
"""
ANSWERS = (
    "@pytest.fixture\ndef retriever():\n    def find(query):\n"
    "        if query == 'lamp': raise ConnectionError('refused')\n        return [{'id': 'd1', 'title': '<b>Chair'}]\n"
    "    return find\n"
)


@pytest.fixture
def beside(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    installed(monkeypatch)
    for name in ("pytest_html", "pytest_reportlog"):
        if importlib.util.find_spec(name) is None:
            absent(f"{name} is not installed (the extra 'browser')")
    project.suite(SUITE)
    project.conftest(ANSWERS)
    return project


def test_reporters_side_by_side(beside: Project) -> None:
    alone = beside.pytester.runpytest_subprocess("--ir-suite", "--ir-json=alone.json")
    result = beside.pytester.runpytest_subprocess(
        "--ir-suite", "--ir-json=out.json", "--html=theirs.html", "--self-contained-html", "--report-log=log.jsonl",
        "--junitxml=junit.xml",
    )  # fmt: skip
    result.assert_outcomes(passed=1, failed=1, xfailed=1, errors=2)
    assert result.ret == alone.ret == 1
    ours, same = (
        json.loads((beside.path / name).read_text(encoding="utf-8"))
        for name in ("out.json", "alone.json")
    )
    assert ours["suites"] == same["suites"]
    theirs = (beside.path / "theirs.html").read_text(encoding="utf-8")
    for name in ("office-chair", "desk", "sofa", "lamp", "ndcg-10"):
        assert f"shop.ir.yaml::{name}" in theirs
    assert "must be in the top 10: it was not returned" in theirs
    assert (beside.path / "ir-report.html").read_text(encoding="utf-8").count("<h1>") == 1
    logged = [
        json.loads(line)
        for line in (beside.path / "log.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert {entry["nodeid"] for entry in logged if entry["$report_type"] == "TestReport"} == {
        f"shop.ir.yaml::{name}" for name in ("office-chair", "desk", "sofa", "lamp", "ndcg-10")
    }
    kinds = {
        case.get("name"): [child.tag for child in case]
        for case in ET.parse(beside.path / "junit.xml").getroot().iter("testcase")
    }
    assert kinds["desk"] == ["failure"]
    assert kinds["lamp"] == ["error"]
    assert kinds["sofa"] == ["skipped"]


def test_reporters_side_by_side_over_workers(beside: Project) -> None:
    result = beside.pytester.runpytest_subprocess(
        "--ir-suite", "--html=theirs.html", "--report-log=log.jsonl", "-n2", "--dist=loadfile"
    )
    result.assert_outcomes(passed=1, failed=1, xfailed=1, errors=2)
    assert "shop.ir.yaml::desk" in (beside.path / "theirs.html").read_text(encoding="utf-8")
    assert (beside.path / "ir-report.html").exists()
