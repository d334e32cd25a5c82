"""The pull requests a gate must judge right, each a real suite file and a real ``pytest --ir-suite``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from docs.tools.pages import (
    BLOCK,
    PICTURES,
    blocks,
    first_screen,
    red_example,
    renewed,
    stamp_of,
)
from tests.conftest import Project
from tests.repository import git

EXAMPLE = Path(__file__).parents[2] / "example_project"


def queries(n: int, tags: str = "[all]") -> str:
    return "queries:\n" + "".join(
        f"  - {{query: q{i}, tags: {tags}, relevant: [d{i}]}}\n" for i in range(n)
    )


def save_baseline(project: Project) -> None:
    """Keep what the retriever returns now; the limits on drops do not fail while there is nothing to drop from."""
    project.run("--ir-update-baseline")


def test_s1_a_lost_head_query_is_red_by_name_though_no_test_could_tell(project: Project) -> None:
    project.suite(queries(20) + "thresholds: {ndcg@10: {max_significant_drop: 0.02}}\n")
    before = {f"q{i}": [(f"d{i}", 9.0), ("x", 8.0), ("y", 7.0), ("z", 6.0)] for i in range(20)}
    before["q2"] = [("x", 9.0), ("d2", 8.0)]
    project.answers(before)
    save_baseline(project)
    lost = {
        "q0": [("x", 9.0), ("y", 8.0)],
        "q1": [("x", 9), ("y", 8), ("z", 7), ("d1", 6)],
        "q2": [("d2", 9.0)],
    }
    project.answers({**before, **lost})
    result = project.run("-v")
    assert result.ret == 1
    result.assert_outcomes(passed=21, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*'q0' lost all its relevant documents of the top 10: d0 1 → not returned",
            "*only 3 of 20 queries changed in ndcg@10: no test could tell"
            " this from chance; the failures above do not rest on it",
        ]
    )


def test_s2_queries_that_return_nothing_are_named_score_0_and_fail_for_quality(
    project: Project,
) -> None:
    project.suite(queries(20) + "thresholds: {ndcg@10: 0.9, zero_results: {max: 0}}\n")
    project.answers({f"q{i}": [] if i < 3 else [f"d{i}"] for i in range(20)})
    result = project.run()
    assert result.ret == 1
    result.assert_outcomes(passed=20, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*ndcg@10 is 0.850, below its floor 0.900",
            "*zero_results is 3, above its ceiling 0: 'q0', 'q1', 'q2'",
        ]
    )


def test_s3_a_query_added_and_one_removed_is_green_and_both_are_reported(project: Project) -> None:
    limits = (
        "thresholds: {ndcg@10: {min: 0.5, max_drop: 0}}\neach_query: {ndcg@10: {max_drop: 0}}\n"
    )
    project.suite(queries(4) + limits)
    project.answers({f"q{i}": [f"d{i}"] for i in range(4)} | {"new": ["x", "dn"]})
    save_baseline(project)
    project.suite(queries(3) + "  - {query: new, relevant: [dn]}\n" + limits)
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*1 query is new: floors apply, drops do not: 'new'",
            "*1 query of the baseline left the suite: 'q3'",
        ]
    )
    result.stdout.fnmatch_lines(["*ndcg@10 * 1.000 *1.000 *0.000 *4, 3 compared; 0.908 over all 4"])
    project.suite(
        queries(3) + "  - {query: new, relevant: [dn]}\nthresholds: {ndcg@10: {min: 0.95}}\n"
    )
    assert project.run().ret == 1


def test_s4_a_regraded_document_is_no_regression(project: Project) -> None:
    text = "queries: [{query: a, relevant: {d: %s, e: %s}}]\nthresholds: {ndcg@10: {max_drop: 0}}\n"
    project.suite(text % (3, 1))
    project.answers({"a": ["d", "e"]})
    save_baseline(project)
    project.suite(text % (1, 3))
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*none of 1 rankings changed*"])


def test_s5_unjudged_documents_on_top_are_told_apart_from_worse_ranking(project: Project) -> None:
    project.suite(queries(20) + "thresholds: {mrr: {max_drop: 0.1}}\n")
    project.answers({f"q{i}": [f"d{i}", "x"] for i in range(20)})
    save_baseline(project)
    project.answers(
        {
            f"q{i}": [{"id": "new", "title": "Fresh"}, {"id": f"d{i}"}, {"id": "x"}]
            for i in range(20)
        }
    )
    result = project.run("-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*without unjudged documents 'mrr@10' would hold",
            "*judge these first: Fresh (new) (20 queries, best rank 1)",
            "*40 of 60 (67 %) results in the top 10 are not judged; 20 of 40 (50 %) in the baseline",
        ]
    )


@pytest.mark.usefixtures("pages")
def test_s5_within_the_limits_it_is_green_and_says_how_much_nobody_judged(project: Project) -> None:
    project.suite(queries(20) + "thresholds: {mrr: {max_drop: 0.6}}\n")
    project.answers({f"q{i}": [f"d{i}", "x"] for i in range(20)})
    save_baseline(project)
    project.answers({f"q{i}": ["new", f"d{i}", "x"] for i in range(20)})
    result = project.run("--ir-markdown=out.md")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*without unjudged documents*")
    told = "40 of 60 (67 %) results in the top 10 are not judged; 20 of 40 (50 %) in the baseline"
    assert told in (project.path / "out.md").read_text(encoding="utf-8")
    assert told in (project.path / "ir-report.html").read_text(encoding="utf-8")


def test_s6_a_known_issue_is_green_and_visible_and_loud_once_it_is_fixed(project: Project) -> None:
    project.suite("queries:\n  - {query: a, must_find: {d: 1}, known_issue: SEARCH-212}\n")
    project.answers({"a": ["x", "d"]})
    result = project.run("-rx")
    assert result.ret == 0
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(
        ["*known issue SEARCH-212: 'a': d must be in the top 1: it is at rank 2"]
    )
    assert project.outcomes() == {"a": "known"}

    result = project.run("--runxfail")
    assert result.ret == 1

    project.answers({"a": ["d"]})
    result = project.run()
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*remove 'known_issue' at *: known issue SEARCH-212 no longer fails*"]
    )


def test_s6_a_known_issue_on_a_line_of_limits_and_a_mark_for_one_retriever(
    project: Project,
) -> None:
    project.suite(
        "queries: [{query: a, relevant: [d]}]\n"
        "thresholds:\n  mrr: {min: 0.9}\n  recall: {min: 0.5, known_issue: SEARCH-10}\n"
    )
    project.conftest(
        "@pytest.fixture(params=['old', 'new'])\ndef retriever(request):\n"
        "    return lambda query: ['x', 'd'] if request.param == 'old' else ['d']\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        "        if item.name == 'mrr-10[old]':\n"
        "            item.add_marker(pytest.mark.xfail(reason='SEARCH-9', strict=True))\n"
    )
    result = project.run()
    result.assert_outcomes(passed=3, xfailed=1, failed=2)
    assert {
        (s["retriever"], v["check"]): v["outcome"]
        for s in project.data["suites"]
        for v in s["verdicts"]
    } == {
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


def test_s6_a_known_issue_never_covers_a_guard(project: Project) -> None:
    project.suite(
        "queries:\n  - {query: a, relevant: [d], must_find: {d: 1}, known_issue: SEARCH-212}\n"
    )
    project.answers({"a": ["x", "d"]})
    save_baseline(project)
    project.answers({"a": ["x"]})
    project.run().assert_outcomes(
        xfailed=1, failed=1, passed=1
    )  # one query is too few for its mean


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
    assert "undecided, because of 'q7', 'q150': ConnectionError: index is down" in text
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
        [
            "*1 of 1 (100 %) queries returned a result more than once, credited once*'a' returned d twice"
        ]
    )
    assert project.data["suites"][0]["queries"][0]["values"] == [1.0, 1.0, 1.0, 1.0]


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


TIES = "queries: [{query: a, relevant: [d], must_find: [d]}]\nthresholds: {mrr: {max_drop: 0}, rbo@2: 1}\ntop_k: 2\n"


def test_s10_ties_in_another_order_are_no_drift_and_what_moved_is_shown(project: Project) -> None:
    project.suite(TIES)
    project.answers({"a": [("d", 2.5), ("e", 2.5), ("f", 1.0)]})
    save_baseline(project)
    project.answers({"a": [("e", 2.5), ("d", 2.5), ("f", 1.0)]})
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*none of 1 rankings changed*",
            "*differ in equal scores only, which is no drift: 'a' d 1 → 2, e 2 → 1",
        ]
    )
    project.answers({"a": [("e", 2.5), ("d", 2.4)]})
    assert project.run().ret == 1


def test_s11_a_document_that_left_the_index_is_told_apart(project: Project) -> None:
    project.suite(queries(2))
    project.answers({"q0": [{"id": "d0", "title": "Oak desk"}], "q1": ["d1"]})
    save_baseline(project)
    project.conftest(
        "class Shop:\n"
        "    version = 'v2'\n"
        "    def search(self, query): return ['x', 'd1'] if query == 'q1' else ['x']\n"
        "    def exists(self, id): return id != 'd0'\n"
        "@pytest.fixture\ndef retriever(): return Shop()\n"
    )
    result = project.run("-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*'q0' lost all its relevant documents of the top 10: Oak desk (d0) 1 → left the index",
            "*1 document has left the index, which no ranking can mend: Oak desk (d0)*",
            "*1 relevant document of the baseline is in no ranking now: Oak desk (d0)",
        ]
    )
    missing = project.data["suites"][0]["queries"][0]["missing"][0]
    assert (missing["gone"], missing["before"]) == (True, 1)


def test_s12_a_broad_small_drop_is_red_with_its_size_its_certainty_and_the_slices(
    project: Project,
) -> None:
    lines = "".join(
        f"  - {{query: q{i}, tags: [{'head' if i < 50 else 'tail'}], relevant: [d{i}]}}\n"
        for i in range(200)
    )
    project.suite(f"queries:\n{lines}thresholds: {{ndcg@10: {{max_drop: 0.02}}}}\n")
    project.answers({f"q{i}": [f"d{i}", "x"] for i in range(200)})
    save_baseline(project)
    project.answers(
        {f"q{i}": ["x", f"d{i}"] if i % 12 == 0 else [f"d{i}", "x"] for i in range(200)}
    )
    result = project.run()
    assert result.ret == 1
    result.assert_outcomes(passed=201, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*ndcg@10 fell 1.000 → 0.969, by 0.031: more than max_drop 0.020 (17 worse, 0 better of 200 queries)",
            "*90 % interval −0.049 to −0.019, p < 0.001",
            "*tags that lost most: head −0.037, tail −0.030",
        ]
    )


@pytest.mark.slow
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


@pytest.fixture(scope="module")
def red(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the example prints where the pages break it, and the folder of its report."""
    folder = tmp_path_factory.mktemp("red")
    return red_example(folder), folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["example_project/README.md", "README.md", "docs/start/reading.md"]
)
def test_what_the_pages_show_of_a_red_build_is_what_one_sees(
    red: tuple[str, Path], page: str
) -> None:
    shown = blocks(red[0])
    text = (EXAMPLE.parent / page).read_text(encoding="utf-8")
    assert set(BLOCK.findall(text)), "the page shows nothing of the example"
    assert timeless(renewed(text, shown)) == timeless(text), "run python -m docs.tools.pages"


@pytest.mark.slow
def test_the_pictures_show_what_the_report_says(red: tuple[str, Path]) -> None:
    said = first_screen(red[1] / "ir-report.html")
    assert "mechanical keyboard" in said
    for name in PICTURES:
        shown = stamp_of((EXAMPLE.parent / name).read_bytes())
        assert shown == said, "run python -m docs.tools.pages"


def timeless(text: str) -> str:
    """A page without what differs from one checkout to another: the baseline's commit and day."""
    return re.sub(r"(compared with \S+) \(.*\)", r"\1", text)


def _items(project: Project) -> int:
    from pytest_irquality import load_suite
    from pytest_irquality.suite.by_default import guarded

    return len(guarded(load_suite(EXAMPLE / "shop.ir.yaml")).checks)


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
            "*tag small: recall@10 is 0.000, below its floor 0.700",
            "*Lowest recall@10:",
            "*s  0.000 *",
        ]
    )


def test_s15_against_a_baseline_the_mean_rises_and_the_slice_alone_is_red(project: Project) -> None:
    project.suite(
        queries(8, "[big]")
        + "  - {query: s, tags: [small], relevant: [ds]}\n"
        + "thresholds: {mrr: {max_drop: 0}}\neach_tag: {mrr: {max_drop: 0.1}}\n"
    )
    project.answers({**{f"q{i}": ["x", f"d{i}"] for i in range(8)}, "s": ["ds", "x"]})
    save_baseline(project)
    project.answers({**{f"q{i}": [f"d{i}", "x"] for i in range(8)}, "s": ["x", "y", "ds"]})
    result = project.run()
    assert result.ret == 1
    outcomes = project.outcomes()
    assert (outcomes["mrr-10"], outcomes["each_tag-mrr-10"]) == ("passed", "failed")
    result.stdout.fnmatch_lines(
        ["*tag small: mrr@10 fell 1.000 → 0.333, by 0.667: more than max_drop 0.100*"]
    )
    means = {mean["tag"]: mean["change"] for mean in project.data["suites"][0]["means"]}
    assert means[None]["now"] > means[None]["before"]


@pytest.mark.slow
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


def test_s16_a_change_that_updates_its_own_baseline_still_shows_the_drop(project: Project) -> None:
    project.suite(queries(4) + "thresholds: {mrr: {max_drop: 0.05}}\n")
    project.answers({f"q{i}": [f"d{i}"] for i in range(4)})
    save_baseline(project)
    git(project.path, "init", "-q", "-b", "main")
    git(project.path, "add", ".")
    git(project.path, "commit", "-qm", "baseline")
    project.answers({f"q{i}": ["x", f"d{i}"] for i in range(4)})
    result = project.run("-v", "--ir-update-baseline")
    assert result.ret == 0
    assert re.search(r"mrr@10 +1\.000 +0\.500 .* drop ≤ 0\.05 +⚠ warning +4", result.stdout.str())
    result.stdout.fnmatch_lines(
        ["*! mrr@10 fell 1.000 → 0.500*", "*baseline written: *: 4 rankings changed"]
    )
    assert project.run("-v").ret == 0
    result = project.run("-v", "--ir-baseline=git:main")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*mrr@10 fell 1.000 → 0.500, by 0.500: more than max_drop 0.050*"])


COMPARED = """queries: [{query: a, relevant: [d]}, {query: b, relevant: [d]}]
baseline: {retriever: bm25}
thresholds: {mrr: {max_drop: 0.1}}
"""


def test_a_retriever_of_the_same_run_takes_the_place_of_the_baseline(project: Project) -> None:
    project.suite(COMPARED)
    project.conftest(
        "RANKED = {'hybrid': ['x', 'd'], 'bm25': ['d', 'x']}\n"
        "@pytest.fixture(params=['hybrid', 'bm25'])\n"
        "def retriever(request):\n    return lambda query: RANKED[request.param]\n"
    )
    result = project.run("-v")
    result.assert_outcomes(passed=7, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*mrr@10 fell 1.000 → 0.500*",
            "shop (shop.ir.yaml)  retrievers side by side, ★ the best",
            "  measure  bm25 *hybrid",
            "  mrr@10   1.000 ★  0.500 (2 worse, 0 better)",
            "*compared with bm25; *",
        ]
    )
    for selected in ("-k hybrid", "--lf", "shop.ir.yaml::mrr-10[hybrid]"):
        result = project.run("-v", *selected.split())  # what it is compared with comes along
        result.stdout.fnmatch_lines(["*mrr@10 fell 1.000 → 0.500*"])
        assert result.ret == 1
    project.suite(COMPARED.replace("bm25", "bm52"))
    project.run("-v").stdout.fnmatch_lines(
        ["*there is none of that name, but 'hybrid', 'bm25'; did you mean 'bm25'?*"]
    )


def test_a_star_is_explained_only_where_one_stands(project: Project) -> None:
    project.suite("metrics: [mrr]\nqueries: [{query: a}]\n")
    project.conftest(
        "@pytest.fixture(params=['hybrid', 'bm25'])\n"
        "def retriever(request):\n    return lambda query: ['d']\n"
    )
    result = project.run("-v", "--ir-markdown=out.md")
    result.stdout.fnmatch_lines(["shop (shop.ir.yaml)  retrievers side by side"])
    assert "★" not in result.stdout.str()
    assert "★" not in (project.path / "out.md").read_text()


def test_no_update_excuses_a_drop_against_a_retriever_of_the_same_run(project: Project) -> None:
    project.suite(COMPARED.replace("baseline:", "errors: {max: 1}\nbaseline:"))
    project.conftest(
        "ASK = {'hybrid': lambda query: ['x', 'd'], 'bm25': lambda query: {'a': ['d']}[query]}\n"
        "@pytest.fixture(params=['hybrid', 'bm25'])\n"
        "def retriever(request):\n    return ASK[request.param]\n"
    )
    result = project.run("-v", "--ir-update-baseline")
    result.assert_outcomes(passed=6, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*bm25 has no answer to 1 of 2 (50 %) queries, to which no limit on a drop applies: 'b'",
            "*baseline not written: shop.ir.yaml compares with the retriever 'bm25', not with a file",
        ]
    )
    assert [file.name for file in project.path.glob(".ir-baseline/*")] == ["shop.bm25.jsonl"]
