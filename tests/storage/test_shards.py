"""Runs that are kept and judged again, whole or as the shares of several jobs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Project
from tests.repository import git

QUERIES = [f"query {n}" for n in range(12)]
SUITE = (
    "queries:\n"
    + "".join(
        f"  - {{query: {text}, relevant: [d{n}], must_find: {{d{n}: 2}}}}\n"
        for n, text in enumerate(QUERIES)
    )
    + "thresholds: {mrr: 0.9, zero_results: {max: 0}}\nerrors: {max: 1}\n"
)
LIVE = (
    "import itertools\n"
    "@pytest.fixture(params=['bm25', 'hybrid'])\ndef retriever(request):\n"
    "    def ask(query):\n"
    "        n = int(query.split()[1])\n"
    "        if n == 7: raise ConnectionError('index is down')\n"
    "        mine = ('d%d' % n, 2.5, 'Thing %d' % n)\n"
    "        other = ('x', 1.5, 'Other')\n"
    "        hits = [other, mine] if n % 3 == 0 and request.param == 'hybrid' else [mine, other]\n"
    "        return [dict(zip(('id', 'score', 'title'), hit)) for hit in hits]\n"
    "    ask.version = 'v' + request.param\n"
    "    return ask\n"
)
GONE = (
    "@pytest.fixture(autouse=True)\ndef engine(): raise OSError('no engine in this job')\n"
    "@pytest.fixture(params=['bm25', 'hybrid'])\ndef retriever(engine): return engine\n"
)


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE, "search/shop.ir.yaml")
    project.conftest(LIVE)
    return project


def judged(project: Project) -> list[dict[str, Any]]:
    suites: list[dict[str, Any]] = project.data["suites"]
    for suite in suites:  # a kept run says of which commit it is, and how old
        for key in ("facts", "notes"):
            suite[key] = [said for said in suite[key] if "a kept run is judged" not in str(said)]
    return [{name: value for name, value in suite.items() if name != "written"} for suite in suites]


def test_a_kept_run_is_judged_as_it_was_without_its_retriever_and_under_other_limits(
    shop: Project,
) -> None:
    result = shop.run("-v", "--ir-save-runs=runs")
    assert result.ret == 1
    result.assert_outcomes(passed=25, failed=1, errors=2)
    result.stdout.fnmatch_lines(
        ["  run kept: runs/search/shop.bm25.jsonl", "  run kept: runs/search/shop.hybrid.jsonl"]
    )
    before, timing = judged(shop), shop.data["timing"]

    shop.conftest(GONE)
    result = shop.run("-v", "--ir-runs=runs")
    result.assert_outcomes(passed=25, failed=1, errors=2)
    assert (judged(shop), shop.data["timing"]) == (before, timing)
    assert "query 7': ConnectionError: index is down" in result.stdout.str()

    shop.suite(SUITE.replace("0.9", "0.8"), "search/shop.ir.yaml")
    result = shop.run("-v", "--ir-runs=runs", "-k", "mrr or query-3")
    assert result.ret == 0
    result.assert_outcomes(passed=4, deselected=24)

    shop.suite(SUITE.replace("query 3,", "query three,").replace("query 4,", "query 4, params: {a: 1},"), "search/shop.ir.yaml")  # fmt: skip
    result = shop.run(
        "-v",
        "--ir-runs=runs/search/shop.bm25.jsonl",
        "-k",
        "bm25 and (query-t or query-4 or query-5)",
    )
    result.assert_outcomes(passed=1, errors=2, deselected=25)
    result.stdout.fnmatch_lines(["  the kept run lacks 2 of 3 queries ('query three', 'query 4'), or has other words or params for them"])  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ir-runs=nowhere"], "ERROR: --ir-runs nowhere: there is no such file or folder"),
        (
            ["--ir-runs=."],
            "no kept run of search/shop.ir.yaml [[]bm25] in .: there is none of any suite (passed over: queries.jsonl:1: not a run that pytest-irquality wrote)",
        ),
        (["--ir-runs=queries.jsonl"], "queries.jsonl:1: not a run that pytest-irquality wrote"),
        (
            ["--ir-save-runs=all.run"],
            "--ir-save-runs all.run is one file and here are 2 runs: name a folder, or one suite",
        ),
        (
            ["--ir-save-runs=x,shard=6/5"],
            "ERROR: --ir-save-runs: shard: '6/5' is no share: it must be I/N, such as 2/5, with I from 1 to N",
        ),
        (
            ["--ir-save-runs=x,shard=1/5", "--ir-runs=."],
            "ERROR: a shard asks a share of the queries, and --ir-runs and *",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_one_line(shop: Project, arguments: list[str], said: str) -> None:
    (shop.path / "queries.jsonl").write_text('{"id": "q"}\n')
    result = shop.run(*arguments)
    of_the_option = said.startswith("ERROR: ")
    assert result.ret == (4 if of_the_option else 2)
    (result.stderr if of_the_option else result.stdout).fnmatch_lines([said])


def test_shares_of_several_jobs_give_the_verdict_of_one(shop: Project) -> None:
    shop.run("-v", "--ir-save-runs=whole")
    whole = judged(shop)
    outcomes, asked = [], []
    for index in (1, 2, 3):
        result = shop.run("-v", f"--ir-save-runs=jobs/{index},shard={index}/3")
        outcomes.append(result.ret)
        asked.append({query["id"] for query in judged(shop)[0]["queries"]})
        result.stdout.fnmatch_lines([f"  share {index}/3: {len(asked[-1])} of 12 queries; limits over many wait for --ir-runs"])  # fmt: skip
        assert "nothing gated" not in result.stdout.str()
        assert {verdict["scope"] for verdict in judged(shop)[0]["verdicts"]} == {"query"}
    assert sorted(outcomes) == [
        0,
        0,
        1,
    ]  # only the share with the query that raises fails by itself
    assert sorted(id for ids in asked for id in ids) == sorted(QUERIES)

    shop.conftest(GONE)
    result = shop.run("-v", "--ir-runs=jobs")
    result.assert_outcomes(passed=25, failed=1, errors=2)
    assert judged(shop) == whole
    assert shop.run("-v", "--ir-runs=jobs/1", "--ir-runs=jobs/2", "--ir-runs=jobs/3", "-q").ret == 1
    assert judged(shop) == whole

    result = shop.run("-v", "--ir-runs=jobs/1", "--ir-runs=jobs/3")
    assert result.ret == 2
    result.assert_outcomes(errors=28)
    result.stdout.fnmatch_lines(
        ["search/shop.ir.yaml: share 2/3 is missing; there is 1/3 (jobs/1/*), 3/3 (jobs/3/*)"]
    )

    shop.run("-v", "--ir-runs=jobs", "--ir-runs=whole")  # the shares of one build, and another one
    assert [suite["noise"]["builds"] for suite in shop.data["suites"]] == [2, 2]

    shop.suite(SUITE.replace("query 3,", "query three,"), "search/shop.ir.yaml")
    result = shop.run("-v", "--ir-runs=jobs")
    result.stdout.fnmatch_lines(["jobs/1/search/shop.bm25.1-of-3.jsonl:1: share 1/3 is of other queries than search/shop.ir.yaml has now"])  # fmt: skip


def test_shares_of_two_commits_are_no_run(shop: Project) -> None:
    """Else what an earlier commit answered stands for this one."""
    git(shop.path, "init", "-q")
    for share in (1, 2):
        git(shop.path, "add", "search", "conftest.py")
        git(shop.path, "commit", "-qm", "search")
        shop.run(f"--ir-save-runs=kept,shard={share}/2", "--ir-report=none")
        shop.conftest(LIVE.replace("'Other'", "'Another'"))
    result = shop.run("--ir-runs=kept")
    assert result.ret == 2
    wrong = r"kept/search/shop\.bm25\.2-of-2\.jsonl:1: share 2/2 and kept/\S+ are of other code"
    result.stdout.re_match_lines([wrong])


@pytest.mark.parametrize("knows", [True, False])
def test_shares_of_one_commit_are_a_run_whatever_a_job_calls_it(shop: Project, knows: bool) -> None:
    git(shop.path, "init", "-q")
    git(shop.path, "add", "search", "conftest.py")
    git(shop.path, "commit", "-qm", "search")
    shop.run("--ir-save-runs=kept,shard=1/2", "--ir-report=none")
    if knows:
        git(shop.path, "config", "core.abbrev", "10")
    else:
        (shop.path / ".git").rename(shop.path / "elsewhere")
    shop.run("--ir-save-runs=kept,shard=2/2", "--ir-report=none")
    result = shop.run("--ir-runs=kept")
    assert result.ret == 1
    assert "of other code" not in result.stdout.str()


def test_a_share_that_no_query_falls_into_neither_fails_nor_is_missed(project: Project) -> None:
    project.suite("queries: [{query: a, must_find: [d]}]\n")
    project.answers({"a": ["d"]})
    codes = [project.run(f"--ir-save-runs=runs,shard={index}/3").ret for index in (1, 2, 3)]
    assert codes == [0, 0, 0]
    assert len(list(project.path.glob("runs/*"))) == 1
    project.run("--ir-runs=runs").assert_outcomes(passed=1)


def test_bulk_queries_are_shared_out_too(project: Project) -> None:
    (project.path / "queries.jsonl").write_text(
        "".join(f'{{"_id": "{n}", "text": "query {n}"}}\n' for n in range(4))
    )
    (project.path / "qrels.txt").write_text("".join(f"{n} 0 d{n} 1\n" for n in range(4)))
    project.suite("queries: queries.jsonl\njudgments: qrels.txt\nthresholds: {mrr: 1.0}\n")
    project.answers({f"query {n}": [f"d{n}"] for n in range(4)})
    asked = []
    for index in range(
        1, 4
    ):  # three shares of four queries: at least one is empty, or has one query
        project.run(f"--ir-save-runs=runs,shard={index}/3").assert_outcomes(passed=1, deselected=1)
        asked += [query["id"] for query in project.data["suites"][0]["queries"]]
    assert sorted(asked) == ["0", "1", "2", "3"]
    project.conftest(GONE)
    project.run("--ir-runs=runs").assert_outcomes(errors=4)  # of other retrievers
    project.conftest("@pytest.fixture\ndef retriever(): raise OSError\n")
    (project.path / "moved").mkdir()
    for name in ("queries.jsonl", "qrels.txt", "shop.ir.yaml"):
        (project.path / name).rename(project.path / "moved" / name)
    project.run("--ir-runs=runs").assert_outcomes(passed=2)  # found by its name
    project.run(
        "--ir-runs=runs", "--ir-update-baseline", "--ir-save-runs=again", "-q"
    ).stdout.fnmatch_lines(
        [
            "run kept: again/moved/shop.jsonl",
            "baseline written: moved/.ir-baseline/shop.jsonl: 4 new",
        ]
    )


@pytest.mark.slow
def test_under_xdist_files_are_written_as_without_and_told_once(shop: Project) -> None:
    result = shop.pytester.runpytest_subprocess(
        "--ir-suite",
        "-n2",
        "--ir-save-runs=runs",
        "--ir-update-baseline",
        "-p",
        "xdist",
    )
    text = result.stdout.str()
    assert text.count("run kept: ") == 2
    assert (
        text.count("baseline written: search/.ir-baseline/shop.bm25.jsonl: 11 new; 1 had no answer")
        == 1
    )
    assert text.count("baseline written: ") == 2
    lines = (shop.path / "runs/search/shop.hybrid.jsonl").read_text().splitlines()
    assert [json.loads(line)["query"] for line in lines[3:-2:3]] == QUERIES


def test_a_run_kept_elsewhere_is_taken_by_its_name_only_where_one_suite_has_it(
    project: Project,
) -> None:
    """Two folders have a suite of this name: neither's run, nor a share of each, is that of a third."""
    for folder in ("one", "two", "three"):
        project.suite(SUITE, f"{folder}/shop.ir.yaml")
    project.answers({text: [f"d{n}"] for n, text in enumerate(QUERIES)})
    project.run("one/shop.ir.yaml", "--ir-save-runs=runs")
    project.run("one/shop.ir.yaml", "--ir-save-runs=shares,shard=1/2")
    assert project.run("three/shop.ir.yaml", "--ir-runs=runs").ret == 0, "no other has that name"
    project.run("two/shop.ir.yaml", "--ir-save-runs=runs")
    project.run("two/shop.ir.yaml", "--ir-save-runs=shares,shard=2/2")
    for kept in ("runs", "shares"):
        result = project.run("three/shop.ir.yaml", f"--ir-runs={kept}")
        assert result.ret != 0
        none = f"no kept run of three/shop.ir.yaml in {kept}: there is one/shop.ir.yaml, two/shop"
        result.stdout.fnmatch_lines([f"*{none}*"])
    assert project.run("two/shop.ir.yaml", "--ir-runs=runs").ret == 0
