"""A list of queries is a suite that says nothing of what is right: its rankings must stay alike."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from ..conftest import Project
from ..repository import git

QUERIES = [f"query {n}" for n in range(20)]
GOOD = {query: [f"{query} d{n}" for n in range(10)] for query in QUERIES}
NAMED = [
    "rbo-10",
    "each_query-rbo-10",
    "each_query-nothing_in_common",
    "each_query-new_zero_results",
]


def changed(how: str, queries: int) -> dict[str, list[str]]:
    """What is returned where so many queries, the first ones, are answered otherwise."""
    ways: dict[str, Callable[[list[str]], list[str]]] = {
        "other": lambda ids: [f"new {id}" for id in ids],
        "reversed": lambda ids: ids[::-1],
        "empty": lambda ids: [],
        "one left": lambda ids: [f"new {id}" for id in ids[1:]] + ids[:1],
    }
    return {q: ways[how](ids) if n < queries else ids for n, (q, ids) in enumerate(GOOD.items())}


@pytest.fixture
def listed(project: Project) -> Project:
    (project.path / "queries.txt").write_text("\n".join(QUERIES) + "\n")
    project.answers(GOOD)
    return project


def with_baseline(project: Project, name: str = "queries.txt") -> None:
    project.run(name, "--ir-update-baseline")


def failed(project: Project, name: str = "queries.txt") -> set[str]:
    project.run(name)
    return {check for check, outcome in project.outcomes().items() if outcome == "failed"}


def test_a_list_is_asked_and_says_what_is_next(listed: Project) -> None:
    result = listed.run("queries.txt")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*keep today's rankings as the baseline, to see changes:",
            "*pytest --ir-suite * --ir-update-baseline queries.txt",
            "! passed  queries (queries.txt): *nothing is graded: grade one query to tell worse from different*",
        ]
    )
    result.stdout.no_fnmatch_line("*rbo*")  # which has no value yet
    result.stdout.no_fnmatch_line("*no git here*")
    # Nobody meant all texts of a folder.
    assert listed.run().ret == 5


@pytest.mark.parametrize(
    "text",
    ["query\nquery 1\nquery 2\n", "id;query;tags\na;query 1;x\nb;query 2;\n", 'query,note\n"query 1",x\nquery 2,\nquery 2,\n'],
    ids=["one column", "semicolons", "a line twice"],
)  # fmt: skip
def test_a_csv_with_a_column_of_queries_is_one(listed: Project, text: str) -> None:
    (listed.path / "q.csv").write_text(text)
    listed.run("q.csv").assert_outcomes(passed=1)
    assert len(listed.data["suites"][0]["queries"]) == 2


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.csv", "words\nquery 1\n", "q.csv"),
        ("q.txt", "", "q.txt:1:2: 'queries' is empty: no file has one"),
        ("q.csv", "id,query\na,query 1\na,query 2\n", "q.csv:3:1: the id 'a' is already used on line 2"),
    ],
)  # fmt: skip
def test_what_is_no_list_is_one_line(listed: Project, name: str, text: str, said: str) -> None:
    (listed.path / name).write_text(text)
    result = listed.run(name)
    assert result.ret == 2
    assert said in result.stdout.str()


@pytest.mark.parametrize(
    ("how", "queries", "broken"),
    [
        ("other", 0, set()),
        ("other", 2, set()),
        ("other", 3, {"each_query-nothing_in_common"}),
        ("other", 20, {"rbo-10", *NAMED[2:]}),  # as if documents had other ids
        ("reversed", 20, {"rbo-10"}),
        ("empty", 1, {"each_query-new_zero_results"}),
        ("one left", 3, set()),
        ("one left", 12, {"rbo-10"}),
    ],
)
def test_rankings_must_stay_alike(
    listed: Project, how: str, queries: int, broken: set[str]
) -> None:
    with_baseline(listed)
    listed.answers(changed(how, queries))
    assert failed(listed) == broken
    assert [*listed.outcomes()][-4:] == NAMED
    # Each query below is named, though none of them alone fails.
    below = {
        finding["subject"]
        for verdict in listed.data["suites"][0]["verdicts"]
        if verdict["check"] == "each_query-rbo-10"
        for finding in verdict["findings"]
        if not finding["ok"]
    }
    assert below in ({""}, set(QUERIES[:queries]))  # of other ids all at once


def test_a_suite_without_judgments_is_held_to_the_same(listed: Project) -> None:
    listed.suite("queries: [queries.txt]\nthresholds: {zero_results: {max: 3}}\n")
    with_baseline(listed, "shop.ir.yaml")
    listed.answers(changed("reversed", 20))
    assert failed(listed, "shop.ir.yaml") == {"rbo-10"}


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ("thresholds: {rbo@5: 0.1}", NAMED[2:]),
        ("each_query: {nothing_in_common: ignore}", [*NAMED[:2], NAMED[3]]),
        ("each_query: {new_zero_results: {max: 3}}", NAMED),
        ("each_query: {must_not_find: [d9]}", []),
    ],
)
def test_what_is_written_stands_instead(listed: Project, more: str, names: list[str]) -> None:
    listed.suite(f"queries: [queries.txt]\n{more}\n")
    with_baseline(listed, "shop.ir.yaml")
    listed.run("shop.ir.yaml")
    assert {*NAMED} & {*listed.outcomes()} == {*names}


def test_one_grade_makes_it_a_suite_like_any_other(listed: Project) -> None:
    listed.suite("queries: [queries.txt, {query: one, relevant: [d]}]\n")
    listed.answers({**GOOD, "one": ["d"]})
    with_baseline(listed, "shop.ir.yaml")
    listed.run("shop.ir.yaml")
    assert not {*NAMED} & {*listed.outcomes()}


def test_an_update_forgives_all_of_it(listed: Project) -> None:
    with_baseline(listed)
    listed.answers(changed("other", 20))
    assert listed.run("queries.txt", "--ir-update-baseline").ret == 0
    assert failed(listed) == set()


def test_a_suite_that_was_made_of_a_list_has_a_baseline_of_its_own(listed: Project) -> None:
    with_baseline(listed)
    listed.pytester.runpytest("--ir-init=queries.txt")
    suite = listed.path / "queries.ir.yaml"
    suite.write_text(suite.read_text().replace("    # relevant:\n    #", "    relevant:\n     ", 1))
    result = listed.run("--ir-update-baseline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*baseline written: .ir-baseline/queries.jsonl: 20 new"])
    for name in ("queries.txt", "queries.ir.yaml"):
        listed.run(name).stdout.fnmatch_lines(["*none of 20 rankings changed*"])


def test_queries_without_a_baseline_are_new(listed: Project) -> None:
    with_baseline(listed)
    more = {f"more {n}": ["x"] for n in range(30)}
    listed.answers({**GOOD, **more})
    with (listed.path / "queries.txt").open("a") as file:
        file.writelines(f"{query}\n" for query in more)
    assert failed(listed) == set()


@pytest.mark.slow
def test_a_list_is_compared_with_the_code_of_the_base(listed: Project) -> None:
    git(listed.path, "init", "-q")
    git(listed.path, "add", "conftest.py")
    git(listed.path, "commit", "-qm", "search")
    listed.answers(changed("reversed", 20))
    result = listed.run("queries.txt", "--ir-baseline=run:HEAD")
    result.stdout.fnmatch_lines(["rbo(p=0.9)@10 is *, below its floor 0.500"])
    result.stdout.fnmatch_lines(["*✗ FAILED  queries (queries.txt): *"])


@pytest.mark.parametrize("ci", ["", "true"])
def test_a_list_that_git_ignores_is_read_where_it_is_named(
    listed: Project, ci: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever names a file on the command line chose it; only what a suite names is held to git."""
    monkeypatch.setenv("CI", ci)
    git(listed.path, "init", "-q")
    (listed.path / ".gitignore").write_text("made/\n")
    for folder in ("made", ".made"):
        (listed.path / folder).mkdir()
        (listed.path / folder / "asked.txt").write_text("query 1\n")
        listed.run(f"{folder}/asked.txt").assert_outcomes(passed=1)


def test_s40_every_result_another_is_red_and_nothing_changed_green(listed: Project) -> None:
    with_baseline(listed)
    result = listed.run("queries.txt")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["✓ passed  queries (queries.txt): *"])
    for queries, said in ((20, "Search could not be compared"), (17, "Rankings changed too much")):
        listed.answers(changed("other", queries))
        result = listed.run("queries.txt")
        assert result.ret == 1
        result.stdout.fnmatch_lines(
            ["  Lowest rbo*", "*0.000  query 0*", f"✗ FAILED  queries *: {said}*"]
        )


def test_what_nobody_graded_is_told_alike_or_changed_and_never_good(listed: Project) -> None:
    with_baseline(listed)
    result = listed.run("-v", "queries.txt", "--ir-markdown=out.md")
    assert "Rankings stayed alike" in result.stdout.str()
    listed.answers(changed("reversed", 20))
    result = listed.run("-v", "queries.txt", "--ir-markdown=out.md")
    said = result.stdout.str() + (listed.path / "out.md").read_text("utf-8")
    result.stdout.fnmatch_lines([
        "  by default: write another limit under 'thresholds'",
        "  *0.2*  query 0*1 → *",
        "  ✗ rbo(p=0.9)@10  0.250  ≥ 0.5 by default",
    ])  # fmt: skip
    assert not re.search(r"good (enough|as)|as good", said)
    assert not re.search(r"^- *$", said, re.MULTILINE)
