"""Real collections and the field's worked examples, through ``pytest --ir-suite`` and the stages."""

from __future__ import annotations

import json

import pytest

from pytest_irquality import judge, load_suite, retrieve
from pytest_irquality.wording.reasons import reason
from tests.conftest import SHARED, Project

FTS5 = """
import json, re, sqlite3
from pathlib import Path
@pytest.fixture(scope="session")
def retriever():
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table docs using fts5(id unindexed, title, text, tokenize='porter unicode61')")
    lines = Path({corpus!r}).read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    db.executemany("insert into docs values (?, ?, ?)", [(r["_id"], r["title"], r["text"]) for r in rows])
    def search(query, k):
        match = " OR ".join(f'"{{word}}"' for word in dict.fromkeys(re.findall(r"\\w+", query.lower())))
        sql = "select id, bm25(docs) from docs where docs match ? order by bm25(docs), rowid limit ?"
        return db.execute(sql, (match, k)).fetchall()
    yield search
    db.close()
"""


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collection of ../shared is not here")
def test_cranfield_with_fts5_reproduces_the_reference_figures(project: Project) -> None:
    folder = SHARED / "data" / "cranfield"
    relevant: dict[str, dict[str, str]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        relevant.setdefault(query, {})[document] = grade
    queries = [
        json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()
    ]
    assert len(queries) == 225
    project.suite(
        "metrics: [ndcg@10, map@100, recall@100, mrr@10]\nqueries:\n"
        + "".join(
            f"  - {{id: {q['_id']}, query: {json.dumps(q['text'])}, relevant: {{{', '.join(f'{d}: {g}' for d, g in relevant[q['_id']].items())}}}}}\n"
            for q in queries
        )
    )
    project.conftest(FTS5.format(corpus=str(folder / "corpus.jsonl")))
    result = project.run()
    result.assert_outcomes(passed=225)
    result.stdout.fnmatch_lines(["*no rule and no limit that could fail*"])
    truth = json.loads((folder / "truth.json").read_text("utf-8"))["sqlite-fts5"]["list"]
    means = {mean["measure"]: mean["value"] for mean in project.data["suites"][0]["means"]}
    for ours, theirs in {
        "ndcg@10": "nDCG@10",
        "map@100": "AP@100",
        "recall@100": "R@100",
        "mrr@10": "RR@10",
    }.items():
        assert means[ours] == pytest.approx(truth[theirs], abs=1e-6)


def test_fractional_grades_and_relevant_from(project: Project) -> None:
    path = project.suite(
        "relevant_from: 0.5\nmetrics: [ndcg@2, precision@2, mrr@2, mrr@3]\nqueries:\n"
        "  - {query: a, relevant: {w: 1.0, x: .5, y: .3, z: .1}}\n"
        "  - {query: b, relevant: {w: .7, x: 1.0, y: .2, z: .1}}\n"
        "  - {query: c, relevant: {w: .4, x: .2, y: 1.0, z: .1}}\n"
    )
    suite = load_suite(path)
    result = judge(suite, retrieve(suite, lambda query: ["w", "x", "y", "z"]))
    columns = list(zip(*(query.values for query in result.queries), strict=True))
    assert columns[0] == pytest.approx((1.0, 0.9232, 0.4202), abs=5e-5)
    assert columns[1] == (1.0, 1.0, 0.0)
    assert [mean.value for mean in result.means][2:] == pytest.approx([2 / 3, (1 + 1 + 1 / 3) / 3])


def test_a_query_that_expects_nothing_is_in_no_mean_and_counts_only_if_it_finds(
    project: Project,
) -> None:
    path = project.suite(
        "queries: [{query: a, relevant: [d]}, {query: z, expect_no_results: true}]\nthresholds: {mrr: 1, zero_results: 0}\n"
    )
    suite = load_suite(path)
    assert not judge(suite, retrieve(suite, lambda query: ["d"] if query == "a" else [])).failed
    wrong = judge(suite, retrieve(suite, lambda query: ["d"]))
    assert {verdict.check: verdict.outcome for verdict in wrong.verdicts} == {
        "a": "passed",
        "z": "failed",
        "mrr-10": "passed",
        "zero_results": "failed",
    }


def test_a_limit_over_no_defined_query_fails(project: Project) -> None:
    path = project.suite(
        "queries: [{query: a, must_find: [d]}]\nthresholds: {mrr: 0.1}\neach_query: {mrr: 0.1}\n"
    )
    suite = load_suite(path)
    outcomes = [
        verdict.outcome for verdict in judge(suite, retrieve(suite, lambda query: ["d"])).verdicts
    ]
    assert outcomes == ["passed", "failed", "failed"]


@pytest.mark.parametrize(
    ("order", "ok"),
    [("xy", True), ("yx", False), ("x", True), ("y", False), ("", False), ("xzy", True)],
)
def test_in_order(project: Project, order: str, ok: bool) -> None:
    suite = load_suite(project.suite("queries: [{query: a, in_order: [x, y]}]\n"))
    assert judge(suite, retrieve(suite, lambda query: list(order))).failed is not ok


def test_values_are_compared_unrounded_and_never_printed_alike(project: Project) -> None:
    path = project.suite(
        "queries: [{query: a, relevant: [d, e, f]}]\nthresholds: {recall: {min: 0.3334}, precision: {min: 0.1}, map: {min: 0.33333333334}}\n"
    )
    suite = load_suite(path)
    result = judge(suite, retrieve(suite, lambda query: ["d", *"012345678"]))
    assert [reason(result, verdict) for verdict in result.verdicts][1:] == [
        "recall@10 is 0.3333, below its floor 0.3334",
        "",
        "",
    ]


def test_weights_are_read_by_weighted_means_only(project: Project) -> None:
    path = project.suite(
        "queries: [{query: a, relevant: [d], weight: 3}, {query: b, relevant: [x]}]\nthresholds: {weighted mrr: 0.75, mrr: 0.5}\n"
    )
    suite = load_suite(path)
    result = judge(suite, retrieve(suite, lambda query: ["d"]))
    assert not result.failed
    assert {mean.measure: mean.value for mean in result.means} == {
        "weighted mrr@10": 0.75,
        "mrr@10": 0.5,
    }


@pytest.mark.parametrize(
    ("limit", "failed"), [("1", False), ("0", True), ("50%", False), ("49%", True)]
)
def test_zero_results_as_a_count_and_as_a_share(project: Project, limit: str, failed: bool) -> None:
    path = project.suite(
        f"queries: [{{query: a, relevant: [d]}}, {{query: b, relevant: [d]}}]\nthresholds: {{zero_results: {{max: {limit}}}}}\n"
    )
    suite = load_suite(path)
    assert (
        judge(suite, retrieve(suite, lambda query: ["d"] if query == "a" else [])).failed is failed
    )
