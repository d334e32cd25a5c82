"""A baseline guards by default: the drop over all suites of a retriever, which no suite has to limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from pytest_irquality import check
from tests.conftest import Project

Answers = Mapping[str, Sequence[str]]


def answers(
    queries: Sequence[str], worse: Sequence[str] = (), better: Sequence[str] = ()
) -> Answers:
    """The right document first; third where that is worse; second where it may get better."""
    found = {}
    for query in queries:
        right, others = f"{query}-d", [f"{query}-x{n}" for n in range(9)]
        place = 2 if query in worse else 0 if query in better else 1
        found[query] = [*others[:place], right, *others[place:]]
    return found


def text(queries: Sequence[str], more: str = "") -> str:
    lines = [f"  - {{query: {query}, relevant: [{query}-d]}}\n" for query in queries]
    return f"queries:\n{''.join(lines)}{more}"


def names(letter: str, many: int) -> list[str]:
    return [f"{letter}{n}" for n in range(many)]


def compared(
    project: Project,
    suites: Mapping[str, Sequence[str]],
    worse: Sequence[str],
    *options: str,
    better: Sequence[str] = (),
    more: str = "",
) -> pytest.RunResult:
    every = [query for queries in suites.values() for query in queries]
    for name, queries in suites.items():
        project.suite(text(queries, more), f"{name}.ir.yaml")
    project.answers(answers(every))
    assert project.run("--ir-update-baseline").ret == 0
    project.answers(answers(every, worse, better))
    return project.run(*options)


def test_s39_a_reversed_engine_is_red_by_the_default(project: Project) -> None:
    queries = names("q", 8)
    project.suite(text(queries))
    before = answers(queries)
    project.answers(before)
    assert project.run("--ir-update-baseline").ret == 0
    project.answers({query: [*reversed(ids)] for query, ids in before.items()})
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["✗ FAILED  shop (shop.ir.yaml): Search got worse: 1 of 2 limits broken*"]
    )
    assert project.outcomes()["ndcg-10-by-default"] == "failed"


TWO = {"s": names("s", 20), "t": names("t", 20)}
BUG = [*names("s", 4), *names("t", 3)]


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_s41_one_bug_in_two_suites_is_red_as_one_build(
    project: Project, workers: Sequence[str]
) -> None:
    result = compared(project, TWO, BUG, "--junitxml=junit.xml", "--ir-markdown=out.md", *workers)
    assert result.ret == 1
    result.assert_outcomes(passed=44, failed=1)
    result.stdout.fnmatch_lines(
        [
            "over 2 suites together ndcg@10 fell 0.631 → 0.608, which chance does not explain: p = 0.008"
            " (7 worse, 0 better of 40 queries)",
            "✗ FAILED  2 of 2 suites, the worst is s: 7 worse, 0 better",
            "FAILED s.ir.yaml::ndcg-10-together - over 2 suites together ndcg@10 fell*",
        ]
    )
    doubts = [line for line in result.outlines if "no test could tell" in line]
    assert all("in this suite alone" in line for line in doubts)
    junit = (project.path / "junit.xml").read_text(encoding="utf-8")
    assert junit.count("<failure") == 1
    assert "ndcg-10-together" in junit
    assert (
        (project.path / "out.md")
        .read_text(encoding="utf-8")
        .startswith("## ✗ FAILED 2 of 2 suites")
    )
    assert project.data["outcome"] == "failed"


def test_what_chance_explains_over_all_suites_is_green_and_counted(project: Project) -> None:
    result = compared(project, TWO, names("s", 3), better=names("t", 3))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["✓ 2 suites passed: 3 worse, 3 better*"])


def test_a_suite_that_is_worse_alone_is_named_in_a_green_build(project: Project) -> None:
    result = compared(project, TWO, names("s", 6), better=names("t", 6))
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["✓ 2 suites passed: 6 worse, 6 better; s alone is worse (p = 0.016), one of 2 suites*"]
    )


def test_a_limit_on_a_drop_of_its_own_takes_the_place_of_the_default(project: Project) -> None:
    more = "thresholds: {ndcg@10: {max_drop: 0.3}}\n"
    result = compared(project, TWO, BUG, more=more)
    assert result.ret == 0
    assert not any("by-default" in name for name in project.outcomes())
    result.stdout.fnmatch_lines(["✓ 2 suites passed: 7 worse, 0 better*"])


@pytest.mark.parametrize(
    "selection", [("-kndcg",), ("--deselect=t.ir.yaml::t3",), ("s.ir.yaml::s0",)]
)
def test_a_selection_judges_nothing_over_all_suites(
    project: Project, selection: Sequence[str]
) -> None:
    result = compared(project, TWO, BUG, *selection)
    assert result.ret == 0
    if selection != ("s.ir.yaml::s0",):
        result.stdout.fnmatch_lines(["*the drop over all suites is not judged: *"])


def test_two_fixtures_of_one_name_are_two_retrievers(project: Project) -> None:
    """Each of the two falls by what chance may explain."""
    for folder, letter in (("one", "s"), ("two", "t")):
        queries, file = names(letter, 20), f"{folder}/{letter}.ir.yaml"
        project.suite(text(queries), file)
        fixture = "@pytest.fixture\ndef retriever():\n    return lambda query: ANSWERS[query]\n"
        project.conftest(f"ANSWERS = {answers(queries)!r}\n{fixture}", folder)
    assert project.run("--ir-update-baseline").ret == 0
    for folder, letter in (("one", "s"), ("two", "t")):
        queries = names(letter, 20)
        now = answers(queries, names(letter, 4))
        fixture = "@pytest.fixture\ndef retriever():\n    return lambda query: ANSWERS[query]\n"
        project.conftest(f"ANSWERS = {now!r}\n{fixture}", folder)
    assert project.run().ret == 0


def test_a_query_of_several_suites_counts_once(project: Project) -> None:
    """Four of twenty are worse: nine copies of the file are no nine times as many."""
    same = {f"copy{n}": names("q", 20) for n in range(9)}
    result = compared(project, same, names("q", 4))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["✓ 9 suites passed: 36 worse, 0 better*"])


def test_two_queries_are_too_few_and_three_need_a_large_drop(project: Project) -> None:
    def dropped(queries: int, place: int) -> int:
        found = names("q", queries)
        project.suite(text(found))
        project.answers({query: [f"{query}-d"] for query in found})
        project.run("--ir-update-baseline")
        project.answers({query: [*["x", "y", "z"][:place], f"{query}-d"] for query in found})
        return int(project.run().ret)

    assert dropped(2, 1) == 0
    assert dropped(3, 1) == 1
    assert dropped(5, 1) == 1


def test_check_judges_it_too(project: Project) -> None:
    compared(project, {"s": names("s", 20)}, ())
    now = answers(names("s", 20), names("s", 6))
    result = check(project.path / "s.ir.yaml", rankings=now)
    assert result.failed
    assert "which chance does not explain: p = 0.016" in result.failures[0]
    assert "write another under 'thresholds'" in result.failures[0]


def test_the_next_update_forgives_it(project: Project) -> None:
    assert compared(project, TWO, BUG, "--ir-update-baseline").ret == 0
    assert project.run().ret == 0
