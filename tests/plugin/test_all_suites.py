"""A baseline guards by default: the drop over all suites of a retriever, which no suite has to limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from pytest_irquality import check
from tests.conftest import Project
from tests.repository import git

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
    return project.run("-v", *options)


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


@pytest.mark.parametrize("workers", [(), pytest.param(("-n2",), marks=pytest.mark.slow)])
def test_s41_one_bug_in_two_suites_is_red_as_one_build(
    project: Project, workers: Sequence[str]
) -> None:
    result = compared(project, TWO, BUG, "--junitxml=junit.xml", "--ir-markdown=out.md", *workers)
    assert result.ret == 1
    result.assert_outcomes(passed=44, failed=1)
    result.stdout.fnmatch_lines(
        [
            "over 2 suites together ndcg@10 fell 0.631 → 0.608, which chance does not explain (p = 0.008)"
            ": 7 worse, 0 better of 40 queries",
            "✗ FAILED  2 of 2 suites failed, the worst is s: over 2 suites together ndcg@10 fell 0.631 → 0.608,"
            " which chance does not explain (p = 0.008); 7 worse, 0 better",
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
        .startswith("## ✗ 2 of 2 suites failed, the worst is s: ")
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


@pytest.mark.slow
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
        result = project.run()
        assert "may be chance" not in str(result.stdout)
        return int(result.ret)

    assert dropped(2, 1) == 0
    assert dropped(3, 1) == 1
    assert dropped(5, 1) == 1


def test_check_judges_it_too(project: Project) -> None:
    compared(project, {"s": names("s", 20)}, ())
    now = answers(names("s", 20), names("s", 6))
    result = check(project.path / "s.ir.yaml", lambda query: now[query])
    assert result.failed
    assert "which chance does not explain (p = 0.016)" in result.failures[0]
    assert "write another limit under 'thresholds'" in result.failures[0]


@pytest.mark.slow
def test_the_next_update_forgives_it(project: Project) -> None:
    assert compared(project, TWO, BUG, "--ir-update-baseline").ret == 0
    assert project.run().ret == 0


# -- with other things that excuse a drop ----------------------------------------------------------


def newcomers(queries: Sequence[str], among: Sequence[str]) -> Answers:
    """A document that nobody has seen before stands above the right one in some queries."""
    found = answers(queries)
    return {id: [ids[0], "new", *ids[1:]] if id in among else ids for id, ids in found.items()}


def graded(queries: Sequence[str], more: str) -> str:
    lines = [f"  - {{query: {id}, relevant: {{{id}-d: 1{more}}}}}\n" for id in queries]
    return f"queries:\n{''.join(lines)}"


def with_newcomers(project: Project, among: Sequence[str], grade: str = "") -> pytest.RunResult:
    every = [*TWO["s"], *TWO["t"]]
    compared(project, TWO, ())
    for name, queries in TWO.items():
        project.suite(graded(queries, grade), f"{name}.ir.yaml")
    project.answers(newcomers(every, among))
    return project.run("-v")


def test_a_drop_by_unjudged_newcomers_fails_and_says_what_to_judge(project: Project) -> None:
    result = with_newcomers(project, BUG)
    assert result.ret == 1
    result.stdout.fnmatch_lines([
        "over 2 suites together ndcg@10 fell*",
        "*without unjudged documents 'ndcg@10 by default' would hold",
        "*not judged, and new in the top 10 of queries that got worse: new (4 queries, best rank 2)",
    ])  # fmt: skip


def test_newcomers_that_are_judged_excuse_nothing(project: Project) -> None:
    result = with_newcomers(project, BUG, ", new: 0")
    assert result.ret == 1
    assert "would hold" not in result.stdout.str()
    assert "not judged, and new" not in result.stdout.str()


@pytest.mark.parametrize(
    ("committed", "ret"),
    [(BUG, 0), (names("s", 4), 0), (names("t", 3), 0), ([], 1), (["s0"], 1)],
    ids=str,
)
def test_a_drop_over_all_suites_is_accepted_as_far_as_it_is_committed(
    project: Project, committed: Sequence[str], ret: int
) -> None:
    """What is left of seven is four or three of forty, or six: which chance does not explain."""
    every = [*TWO["s"], *TWO["t"]]
    (project.path / ".gitignore").write_text("ir-report.html\nout.*\n__pycache__\n.pytest_cache\n")
    git(project.path, "init", "-q", "-b", "main")
    compared(project, TWO, ())
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "base")
    git(project.path, "checkout", "-qb", "change")
    project.answers(answers(every, committed))
    project.run("-v", "--ir-update-baseline")
    project.answers(answers(every, BUG))
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "change")
    result = project.run("-v", "--ir-baseline=git:main")
    assert result.ret == ret, result.stdout.str()
    if not ret:
        result.stdout.fnmatch_lines(["This change accepts a drop: *over 2 suites together*"])
        result.stdout.fnmatch_lines(
            ["! ACCEPTED  2 of 2 suites accepted, not passed*; s, t accepted a drop"]
        )
        assert "✓" not in result.outlines[-1]


@pytest.mark.parametrize(("wavers", "ret"), [(False, 1), (True, 0)])
def test_a_drop_over_all_suites_must_exceed_what_builds_differ_in(
    project: Project, wavers: bool, ret: int
) -> None:
    """Builds of either side lie as far apart as both sides do, or all are alike."""
    project.conftest("@pytest.fixture\ndef retriever(): pass\n")
    options = []
    for name, queries in TWO.items():
        project.suite(text(queries), f"{name}.ir.yaml")
    for side, worse in (("--ir-baseline", ()), ("--ir-runs", BUG)):
        for build in range(3):
            folder = project.path / f"{side.strip('-')}{build}"
            folder.mkdir()
            for name, queries in TWO.items():
                others = queries[10 : 10 + 3 * build] if wavers else ()
                found = answers(queries, [*worse, *others])
                lines = (
                    f"{id} Q0 {document} {rank} {1 / rank} x\n"
                    for id, ids in found.items()
                    for rank, document in enumerate(ids, 1)
                )
                (folder / f"{name}.run").write_text("".join(lines), encoding="utf-8")
            options.append(f"{side}={folder.name}")
    result = project.run("-v", *options)
    assert result.ret == ret, result.stdout.str()
    result.stdout.fnmatch_lines([f"*{'✗' if ret else '✓'} *2 *suites*7 worse, 0 better*"])


@pytest.mark.parametrize(
    ("measures", "ret"), [(("ndcg@10", "ndcg@10"), 1), (("ndcg@10", "mrr@10"), 0)]
)
def test_two_pools_are_corrected_for_their_number(
    project: Project, measures: Sequence[str], ret: int
) -> None:
    """Five of twenty worse in one suite is p = 0.031, and 0.062 where two are tested."""
    worse = names("s", 5)
    for (name, queries), measure in zip(TWO.items(), measures, strict=True):
        project.suite(f"metrics: [{measure}]\n{text(queries)}", f"{name}.ir.yaml")
    every = [*TWO["s"], *TWO["t"]]
    project.answers(answers(every))
    assert project.run("--ir-update-baseline").ret == 0
    project.answers(answers(every, worse))
    assert project.run().ret == ret
    if not ret:
        assert project.run("s.ir.yaml").ret == 1


def test_a_pass_by_the_order_of_equal_scores_has_no_tick_where_it_is_over_all_suites_either(
    project: Project,
) -> None:
    def ranked(*ids: str) -> list[dict[str, object]]:
        return [{"id": id, "score": len(id)} for id in ids]

    every = [*TWO["s"], *TWO["t"]]
    for name, queries in TWO.items():
        project.suite(graded(queries, ""), f"{name}.ir.yaml")
    before = {id: ranked(f"{id}-d", f"{id}-x") for id in every}
    project.answers(before)
    project.run("--ir-update-baseline")
    swapped = {id: ranked(f"{id}-x", f"{id}-d") for id in TWO["s"]}
    project.answers(before | swapped)
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines([
        "✓ passed *t*: Search is as good as demanded: *",
        "! 2 suites passed, but held in the order of equal scores only: ndcg@10 by default*(s)",
    ])  # fmt: skip
    project.answers(before)
    assert "equal scores only" not in project.run().stdout.str()


@pytest.mark.parametrize(
    "limit",
    ["zero_results: {max_rise: 3}", "judged@10: {warn_below: 0.1}", "rank_of_first@10: {max: 11}"],
)
def test_limits_on_something_else_take_nothing_from_the_default(
    project: Project, limit: str
) -> None:
    queries = names("q", 8)
    project.suite(text(queries, f"thresholds:\n  {limit}\n"))
    before = answers(queries)
    project.answers(before)
    assert project.run("--ir-update-baseline").ret == 0
    project.answers({query: [*reversed(ids)] for query, ids in before.items()})
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["ndcg@10 fell*", "✗ FAILED  *: Search got worse: 1 of 3 limits*"])
