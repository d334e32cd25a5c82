"""The pull requests a gate must judge right, each a real suite file and a real ``pytest --ir-suite``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Project

EXAMPLE = Path(__file__).parents[1] / "example_project"


def queries(n: int, tags: str = "[all]") -> str:
    return "queries:\n" + "".join(f"  - {{query: q{i}, tags: {tags}, relevant: [d{i}]}}\n" for i in range(n))


def test_s2_queries_that_return_nothing_are_named_score_0_and_fail_for_quality(project: Project) -> None:
    project.suite(queries(20) + "thresholds: {ndcg@10: 0.9, zero_results: {max: 0}}\n")
    project.answers({f"q{i}": [] if i < 3 else [f"d{i}"] for i in range(20)})
    result = project.run()
    assert result.ret == 1
    result.assert_outcomes(passed=20, failed=2)
    result.stdout.fnmatch_lines(
        ["ndcg@10 is 0.850, below its floor 0.900", "zero_results is 3, above its ceiling 0: 'q0', 'q1', 'q2'"]
    )


def test_s6_a_known_issue_is_green_and_visible_and_loud_once_it_is_fixed(project: Project) -> None:
    project.suite("queries:\n  - {query: a, must_find: {d: 1}, known_issue: SEARCH-212}\n")
    project.answers({"a": ["x", "d"]})
    result = project.run("-rx")
    assert result.ret == 0
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["*known issue SEARCH-212: 'a': d must be in the top 1: it is at rank 2"])
    assert project.outcomes() == {"a": "known"}

    result = project.run("--runxfail")
    assert result.ret == 1

    project.answers({"a": ["d"]})
    result = project.run()
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["known issue SEARCH-212 no longer fails*remove 'known_issue'"])


def test_s6_a_known_issue_on_a_line_of_limits_and_for_one_retriever(project: Project) -> None:
    project.suite(
        "queries: [{query: a, relevant: [d]}]\n"
        "thresholds:\n  mrr: {min: 0.9, known_issue: {old: SEARCH-9}}\n  recall: {min: 0.5, known_issue: SEARCH-10}\n"
    )
    project.conftest(
        "@pytest.fixture(params=['old', 'new'])\ndef retriever(request):\n"
        "    return lambda query: ['x', 'd'] if request.param == 'old' else ['d']\n"
    )
    result = project.run()
    result.assert_outcomes(passed=3, xfailed=1, failed=2)
    assert {(s["retriever"], v["check"]): v["outcome"] for s in project.data["suites"] for v in s["verdicts"]} == {
        ("new", "a"): "passed",
        ("new", "mrr-10"): "passed",
        ("new", "recall-10"): "fixed",
        ("old", "a"): "passed",
        ("old", "mrr-10"): "known",
        ("old", "recall-10"): "fixed",
    }


def test_a_known_issue_never_hides_an_outage(project: Project) -> None:
    project.suite("queries:\n  - {query: a, must_find: {d: 1}, known_issue: SEARCH-212}\n")
    project.answers({})
    project.run().assert_outcomes(errors=1)


def test_s7_two_of_200_fail_the_rest_is_judged_and_the_cause_is_told_once(project: Project) -> None:
    project.suite(queries(200) + "thresholds: {ndcg@10: 0.9}\n")
    project.conftest(
        "def ask(query):\n"
        "    if query in ('q7', 'q150'):\n        raise ConnectionError('index is down')\n"
        "    return ['d' + query[1:]]\n"
        "@pytest.fixture\ndef retriever():\n    return ask\n"
    )
    result = project.run()
    assert result.ret == 1
    result.assert_outcomes(passed=198, errors=3)
    text = result.stdout.str()
    assert text.count("raise ConnectionError('index is down')") == 1  # the user's code, once
    assert "2 of 200 queries could not be answered ('q7', 'q150'): ConnectionError: index is down" in text
    assert "pytest_irquality" not in text.partition("search quality")[0].partition("ERRORS")[2]
    outcomes = project.outcomes()
    assert (outcomes["q7"], outcomes["q8"], outcomes["ndcg-10"]) == ("error", "passed", "error")
    mean = project.data["suites"][0]["means"][0]
    assert (mean["value"], mean["queries"]) == (1.0, 198)


def test_s7_errors_max_lets_the_lines_be_judged_over_the_rest(project: Project) -> None:
    project.suite(queries(10) + "thresholds: {ndcg@10: 0.9}\nerrors: {max: 1}\n")
    project.answers({f"q{i}": [f"d{i}"] for i in range(9)})
    project.run().assert_outcomes(passed=10, errors=1)
    assert project.outcomes()["ndcg-10"] == "passed"


def test_s8_a_document_returned_twice_is_credited_once_and_said(project: Project) -> None:
    project.suite(
        "queries: [{query: a, relevant: [d, e], must_find: {e: 2}}]\nmetrics: [ndcg, recall, precision@2, map]\n"
    )
    project.answers({"a": ["d", "d", "d", "e"]})
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*1 of 1 (100 %) queries returned a document more than once, credited once*'a' returned d twice"]
    )
    assert project.data["suites"][0]["queries"][0]["values"] == [1.0, 1.0, 1.0, 1.0]
    project.suite("queries: [{query: a, relevant: [d]}]\nduplicates: error\n")
    project.run().assert_outcomes(errors=1)


@pytest.mark.parametrize("id", ["0123", "22:22", "NO", "1e3", "2024-01-01", "1.10", "~", "007"])
def test_s9_ids_are_the_text_as_written(project: Project, id: str) -> None:
    project.suite(
        f"queries:\n  - {{query: a, id: {id}, relevant: {{{id}: 1}}, must_find: [{id}]}}\nthresholds: {{recall: 1}}\n"
    )
    project.answers({"a": [id]})
    project.run().assert_outcomes(passed=2)
    assert project.data["suites"][0]["queries"][0]["id"] == id


def test_s9_ints_from_the_engine_meet_text_in_the_file(project: Project) -> None:
    project.suite("queries: [{query: a, must_find: {51: 1, 7: 2}}]\n")
    project.answers({"a": [51, 7]})
    project.run().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "broken",
    [
        "lambda query, k: []",
        "lambda query, k: shop.search('office chair', k)",
        "lambda query, k: random.Random(1).sample(shop.search(query, k), len(shop.search(query, k)))",
        "lambda query, k: shop.search(query, k)[::-1]",
    ],
    ids=["empty", "same", "shuffled", "reversed"],
)
def test_s14_the_example_is_able_to_fail(project: Project, broken: str) -> None:
    shutil.copytree(EXAMPLE, project.path, dirs_exist_ok=True)
    project.run().assert_outcomes(passed=_items(project) - 2, xfailed=2)
    (project.path / "conftest.py").write_text(
        "import random, pytest\nfrom contextlib import closing\nfrom shop_search import ShopSearch\n"
        f"@pytest.fixture(scope='session')\ndef retriever():\n    with closing(ShopSearch()) as shop:\n        yield {broken}\n"
    )
    result = project.run()
    assert result.ret == 1
    assert list(project.outcomes().values()).count("failed") > 10


def _items(project: Project) -> int:
    from pytest_irquality import load_suite

    return len(load_suite(EXAMPLE / "shop.ir.yaml").checks)


def test_s15_a_slice_that_collapses_is_red_while_the_mean_rises(project: Project) -> None:
    project.suite(
        queries(8, "[big]")
        + "  - {query: s, tags: [small], relevant: [ds]}\neach_tag: {recall@10: 0.7}\nthresholds: {recall@10: 0.8}\n"
    )
    project.answers({**{f"q{i}": [f"d{i}"] for i in range(8)}, "s": ["x"]})
    result = project.run()
    result.assert_outcomes(passed=10, failed=1)
    result.stdout.fnmatch_lines(
        [
            "tag small: recall@10 is 0.000, below its floor 0.700",
            "*lowest recall@10 of small:",
            "*0.000  s (shop.ir.yaml:10)*",
        ]
    )


def test_s13_equal_runs_give_equal_bytes(project: Project) -> None:
    project.suite(queries(5) + "thresholds: {ndcg@10: 0.9}\n")
    project.suite(queries(3) + "thresholds: {mrr: 0.9}\n", "b.ir.yaml")
    project.answers({f"q{i}": [f"d{i}"] for i in range(5)})
    seen = set()
    for args in ([], ["b.ir.yaml", "shop.ir.yaml"], ["-n2", "--dist=loadfile"], ["-n2"]):
        project.run(*args)
        data = project.data
        del data["timing"]
        seen.add(str(data))
    assert len(seen) == 1
