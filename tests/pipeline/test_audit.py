"""``--ir-audit``: names what was planted, and nothing false."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.conftest import Project

ENGINE = """\
GONE = {gone!r}
class Engine:
    def search(self, query, k): return ANSWERS[query]
    def {method}(self, ids): {body}
ANSWERS = {answers!r}
@pytest.fixture
def retriever(): return Engine()
"""
EACH = ("exists", "return ids not in GONE")


def queries(n: int, more: str = "") -> str:
    return "queries:\n" + "".join(
        f"  - {{query: word{i}, tags: [all], relevant: [d{i}]{more}}}\n" for i in range(n)
    )


def engine(
    project: Project, answers: dict[str, Any], gone: Iterable[str] = (), how: tuple[str, str] = EACH
) -> None:
    method, body = how
    text = ENGINE.format(gone=set(gone), method=method, body=body, answers=answers)
    project.conftest(text)


def found(project: Project, *args: str) -> tuple[pytest.RunResult, dict[str, Any]]:
    result = project.run("--ir-audit", *args)
    return result, project.data["suites"][0]["audit"]


@pytest.mark.usefixtures("pages")
def test_s27_documents_that_left_the_index_are_named_with_the_queries_they_decide(
    project: Project,
) -> None:
    text = queries(20) + "thresholds: {recall@10: {min: 0.7, max_drop: 0.3}}\n"
    project.suite(text.replace("[d1]", "{d1: 1, bad: 0}"))
    answers: dict[str, Any] = {f"word{i}": [f"d{i}", "x"] for i in range(20)}
    engine(project, answers)
    project.run("--ir-update-baseline")
    gone = ["d3", "d4", "d5", "d6", "bad"]
    left = {q: [d for d in ids if d not in gone] for q, ids in answers.items()}
    engine(project, left, gone)
    project.suite(
        text.replace("[d1]", "{d1: 1, bad: 0}") + "each_query: {lost_all_relevant: ignore}\n"
    )
    result, audit = found(project)
    assert result.ret == 0, "it says, and does not fail"
    assert {one["document"]: one["queries"] for one in audit["dead"]} == {
        "d3": ["word3"], "d4": ["word4"], "d5": ["word5"], "d6": ["word6"], "bad": [],
    }  # fmt: skip
    result.stdout.fnmatch_lines(
        [
            "*4 documents have left the index, which no ranking can mend: d3, d4, d5 and 1 more;"
            " they decide 'word3', 'word4', 'word5' and 1 more",
            "! dead*5 judged documents no longer exist, of 21 looked up",
            "*d3: decides 'word3'",
            "*bad: decides no query",
        ]
    )
    assert "no longer exist" in (project.path / "ir-report.html").read_text("utf-8")


def test_s28_a_limit_nothing_breaks_and_a_query_nothing_protects(project: Project) -> None:
    project.suite(
        queries(20)
        + "  - {query: free, tags: [all]}\neach_query: {lost_all_relevant: ignore}\n"
        + "thresholds:\n  mrr@10: {min: 0.30}\n  recall@10: {min: 0.95}\n"
        + "  ndcg@10: {min: 0.2, max_drop: 0.01}\n"
        + "  precision@1: {max_drop: 1}\n"
    )
    answers = {f"word{i}": [f"d{i}", "x"] for i in range(20)} | {"free": ["x"]}
    engine(project, answers)
    project.run("--ir-update-baseline")
    result, audit = found(project)
    assert result.ret == 0
    assert audit["watch"] == {"tried": 21, "unwatched": ["free"], "unbroken": ["precision@1"]}
    floors = [(one["label"], one["floor"], one["value"]) for one in audit["low_floors"]]
    assert floors == [("mrr@10", 0.3, 1.0)], "ndcg@10 has a low floor, and a limit that tells"
    result.stdout.fnmatch_lines(
        [
            "! would find *1 of 21 queries could lose all*, and no check would fail: 'free'",
            "*1 limit holds even where every query loses all that it finds: 'precision@1'",
            "*1 floor lies far below today's value: 'mrr@10' 0.300, today 1.000",
        ]
    )


@pytest.mark.usefixtures("pages")
def test_s29_judges_who_disagree_on_what_decides_are_named_beside_the_verdict(
    project: Project,
) -> None:
    project.suite(
        "judgments: [anna.csv, ben.csv]\nqueries:\n  - {query: chair, thresholds: {mrr@3: 0.9}}\n"
        "thresholds: {precision@1: {min: 0.9}}\n"
    )
    header = "query_id,query,doc_id,rating,judge,date,note\n"
    for judge, grades in (("anna", (2, 0)), ("ben", (0, 2))):
        rows = "".join(f"chair,chair,d{n},{grade},{judge},,\n" for n, grade in enumerate(grades))
        (project.path / f"{judge}.csv").write_text(header + rows, encoding="utf-8")
    engine(project, {"chair": ["d0", "d1"]})
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "  'chair': it would fail under the grades of ben alone",
            "  'precision@1': it would fail under the grades of ben alone",
        ]
    )
    verdicts = {one["check"]: one["otherwise"] for one in project.data["suites"][0]["verdicts"]}
    assert verdicts == {"chair": ["ben"], "precision-1": ["ben"]}
    assert "it would fail under the grades of ben alone" in (
        project.path / "ir-report.html"
    ).read_text("utf-8")
    cleo = (project.path / "ben.csv").read_text("utf-8").replace("ben", "cleo")
    (project.path / "cleo.csv").write_text(cleo, encoding="utf-8")
    suite = (project.path / "shop.ir.yaml").read_text("utf-8")
    project.suite(suite.replace("ben.csv", "ben.csv, cleo.csv"))
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*it would pass under the grades of anna alone*"])


def test_judges_who_disagree_on_nothing_that_decides_turn_no_verdict(project: Project) -> None:
    project.suite("judgments: j.csv\nqueries: [{query: a}]\nthresholds: {mrr@10: {min: 0.9}}\n")
    (project.path / "j.csv").write_text(
        "query,docid,rating,judge\na,d,2,anna\na,d,1,ben\na,e,0,anna\na,e,0,ben\n"
    )
    engine(project, {"a": ["d", "e"]})
    result = project.run()
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*alone*")


def test_the_limit_of_the_audit_fails_and_only_where_there_is_one(project: Project) -> None:
    project.suite(queries(4) + "audit: {dead: 0}\nthresholds: {mrr@10: {min: 0.1}}\n")
    answers = {f"word{i}": [f"d{i}"] for i in range(4)}
    answers["word3"] = ["x"]
    engine(project, answers, ["d3"])
    assert project.run().ret == 0
    result, _ = found(project)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 judged document no longer exists, more than the 0 allowed"])
    assert project.outcomes()["audit-dead"] == "failed"


OWN = """\
from pytest_irquality import own_measure
def first(ranking, grades, k):
    return float(grades.get(ranking[0], 0) > 0) if ranking else {empty}
def pytest_ir_measures(config): return [own_measure("first_ok", first)]
@pytest.fixture
def retriever(): return lambda query: ["d" + query[-1]]
"""


def test_a_measure_that_has_no_value_of_nothing_leaves_the_verdict(project: Project) -> None:
    project.suite(queries(8) + "metrics: [first_ok@5]\nthresholds: {first_ok@5: 0.5}\n")
    project.conftest(OWN.format(empty="None"))
    result, audit = found(project)
    assert result.ret == 0
    assert not audit["failed"]
    assert audit["watch"]["tried"] == 8


def test_an_audit_that_fails_changes_no_verdict_but_its_own(project: Project) -> None:
    text = queries(8) + "metrics: [first_ok@5]\nthresholds: {first_ok@5: 0.5}\n"
    project.suite(text)
    project.conftest(OWN.format(empty="1 / 0"))
    result, audit = found(project)
    assert result.ret == 0
    assert "ZeroDivisionError" in audit["failed"]
    result.stdout.fnmatch_lines(["! could not be made *the function raised ZeroDivisionError*"])
    project.suite(text + "audit: {dead: 0}\n")
    result, _ = found(project)
    assert result.ret == 1, "what nobody knows holds no limit"
    result.stdout.fnmatch_lines(["*the audit could not be made: *ZeroDivisionError*"])
    failed = [name for name, outcome in project.outcomes().items() if outcome == "failed"]
    assert failed == ["audit-dead"]


def test_a_limit_on_what_nobody_can_say_is_no_pass(project: Project) -> None:
    project.suite(queries(2) + "audit: {dead: 0}\n")
    project.answers({"word0": ["d0"], "word1": ["d1"]})
    result = project.run("--ir-audit")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*nobody can say which documents exist: the retriever has no exists(id), and no corpus is known that has these ids"
        ]
    )
    engine(project, {"word0": ["d0"], "word1": ["d1"]}, how=("exists", "raise OSError('down')"))
    result = project.run("--ir-audit")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*exists raised OSError: down"])


GRADED = "query_id,query,doc_id,rating,decision,judge,date,note\n"


CORPUS = '{"id": "d", "title": "Desk"}\n{"id": "e", "title": "Lamp"}\n'


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        (CORPUS, "! dead *1 judged document no longer exists, of 2 looked up"),
        ('{"id": "other", "title": "Desk"}\n', "*dead *not known what still exists*"),
        (
            "no JSON\n",
            "! dead *not known what still exists: c.jsonl:1:1: a corpus has a chunk a line*",
        ),
    ],
)
def test_an_added_document_that_is_not_in_the_corpus_is_found(
    project: Project, corpus: str, said: str
) -> None:
    project.suite("judgments: j.csv\ncorpus: {files: c.jsonl}\nqueries: [{query: a}]\n")
    (project.path / "j.csv").write_text(f"{GRADED}a,a,d,2,,anna,,\na,a,typo,3,,anna,,\n")
    (project.path / "c.jsonl").write_text(corpus)
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d']\n")
    result, _ = found(project)
    result.stdout.fnmatch_lines([said])
