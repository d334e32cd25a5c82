"""``--ir-audit`` over kept builds of unchanged code: how often the gate is red for nothing.

And what it would find of harm, and the limits that follow.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb
from random import Random
from typing import Any

import pytest

from tests.conftest import Project

SUITE = "metrics: [recall@5]\nqueries:\n" + "".join(
    f"  - {{query: word{i}, id: q{i}, relevant: [d{i}], tags: [t{i % 4}]}}\n" for i in range(20)
)


def builds(project: Project, number: int, finds: Callable[[int, int], bool]) -> list[str]:
    """Kept builds in TREC's format; ``finds`` tells of a build and a query whether it is found."""
    for build in range(number):
        folder = project.path / f"runs/{build}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"q{i} Q0 {document} {rank} {1 / (rank + i)} x\n"
            for i in range(20)
            for rank, document in enumerate(
                [f"a{build}", f"d{i}" if finds(build, i) else "b", "c"], 1
            )
        ]
        (folder / "shop.run").write_text("".join(lines), encoding="utf-8")
    return [f"--ir-runs=runs/{build}" for build in range(number)]


def gauge(project: Project, *args: str) -> tuple[pytest.RunResult, dict[str, Any]]:
    result = project.run("--ir-audit", *args)
    return result, project.data["suites"][0]["audit"]["gauge"]


def rates(found: dict[str, Any]) -> dict[tuple[int, int, bool], dict[str, Any]]:
    return {(one["before"], one["now"], one["kept"]): one for one in found["rates"]}


@pytest.mark.slow
def test_s50_ten_builds_tell_how_often_the_gate_is_red_for_nothing(project: Project) -> None:
    """A query is missed by each of three builds alone: red is any pair whose second is one of them."""
    project.suite(SUITE)
    result, found = gauge(project, *builds(project, 10, lambda build, i: build > 2 or build != i))
    told = rates(found)
    assert found["builds"] == 10
    one = told[1, 1, False]
    assert one["share"] == pytest.approx(3 * 9 / 90)
    assert one["checks"][0] == ["each_query: lost_all_relevant", pytest.approx(0.3)]
    assert (one["low"], one["high"]) == (
        pytest.approx(0.096, abs=2e-3),
        pytest.approx(0.604, abs=2e-3),
    )
    assert told[3, 3, False]["share"] < 0.1
    assert told[5, 5, False]["high"] > 0.5, "of ten builds there is one split of five, and no more"
    result.stdout.fnmatch_lines(
        [
            "! red for nothing*1 in 3 (10 to 60 %, 10 builds) where one build is compared with one:"
            " 'each_query: lost_all_relevant' 1 in 3"
        ]
    )
    assert result.ret == 0, "it says, and does not fail"


@pytest.mark.slow
def test_an_exact_engine_is_never_red_and_ten_builds_are_no_proof(project: Project) -> None:
    project.suite(SUITE)
    result, _ = gauge(project, *builds(project, 10, lambda build, i: i > 4))
    result.stdout.fnmatch_lines(
        ["  red for nothing*never (up to 28 %, 10 builds) where one build is compared with one*"]
    )


def test_under_six_builds_the_spread_and_no_rate(project: Project) -> None:
    project.suite(SUITE)
    result, found = gauge(project, *builds(project, 5, lambda build, i: build != i))
    assert found["rates"] == []
    result.stdout.fnmatch_lines(
        [
            "*red for nothing*not known: 5 builds show how far they lie apart (recall@5 0.950 to 0.950), and no"
            " more; a rate takes 6 builds of unchanged code, each kept and given as --ir-runs"
        ]
    )


@pytest.mark.parametrize(
    ("repeat", "said"),
    [
        (3, "3 answers of one build show what asking again does*, and no more"),
        (1, "one build tells nothing of it"),
    ],
)
def test_repeats_are_not_builds(project: Project, repeat: int, said: str) -> None:
    project.suite(f"repeat: {repeat}\n{SUITE}")
    project.conftest(
        "@pytest.fixture\ndef retriever(): return lambda query: [f'd{query[4:]}', 'x']\n"
    )
    result, found = gauge(project)
    assert (found["builds"], found["answers"], found["rates"]) == (1, repeat, [])
    result.stdout.fnmatch_lines([f"*red for nothing*not known: {said}; a rate takes 6 builds*"])


@pytest.mark.slow
def test_of_this_baseline_only_builds_that_are_not_in_it_tell(project: Project) -> None:
    """The baseline is of the builds 0 to 3, which are given again among the ten."""
    project.suite(SUITE)
    given = builds(project, 10, lambda build, i: build != i + 5)
    project.run(*given[:4], "--ir-update-baseline")
    _, found = gauge(project, *given)
    (of_it,) = [one for key, one in rates(found).items() if key[2]]
    assert (of_it["before"], of_it["now"], of_it["builds"]) == (4, 1, 6)
    assert of_it["share"] == pytest.approx(5 / 6), "builds 5 to 9 lose a query each, and 4 none"


def test_a_drop_that_no_check_names_is_no_red(project: Project) -> None:
    project.suite(
        SUITE + "each_query: {lost_all_relevant: ignore}\nthresholds: {recall@5: {max_drop: 0.5}}\n"
    )
    draw = Random(1)
    _, found = gauge(project, *builds(project, 6, lambda build, i: draw.random() < 0.9))
    assert [one["share"] for one in found["rates"]] == [0.0, 0.0]


def test_a_rate_is_that_of_every_split(project: Project) -> None:
    """Three a side of six: 20 splits, in which one build misses three queries that others find."""
    project.suite(
        SUITE
        + "each_query: {lost_all_relevant: ignore}\nthresholds: {recall@5: {max_drop: 0.03}}\n"
    )
    _, found = gauge(project, *builds(project, 6, lambda build, i: build != 2 or i < 17))
    splits = [now for now in combinations(range(6), 3) if 2 in now]
    assert len(splits) / comb(6, 3) == 0.5
    assert rates(found)[3, 3, False]["share"] == pytest.approx(0.5, abs=0.12)


@pytest.mark.slow
def test_a_broken_build_is_no_measure_of_the_gate(project: Project) -> None:
    project.suite(SUITE)
    _, found = gauge(project, *builds(project, 8, lambda build, i: build != 2 or i < 10))
    assert found["builds"] == 7
    assert all(rate["share"] == 0 for rate in rates(found).values())


# -- what it would see -----------------------------------------------------------------------------


def seen(found: dict[str, Any], what: str) -> tuple[int, float, list[str]]:
    harms = found["power"][what]
    return harms["of"], harms["found"], harms["never"]


def test_every_query_and_tag_is_seen_where_the_default_guard_stands(project: Project) -> None:
    project.suite(SUITE)
    result, found = gauge(project, *builds(project, 1, lambda build, i: i != 7))
    assert seen(found, "lost") == (19, 1.0, []), "the twentieth has nothing to lose"
    assert seen(found, "tags") == (4, 1.0, [])
    result.stdout.fnmatch_lines(
        [
            "  would find *a drop of recall@5 of 0.05: always, of 0.1: always (if the next build answers alike)",
            "*a query that loses all it found: always; a broken tag of 5 queries: always",
        ]
    )


def test_what_no_check_watches_is_named(
    project: Project,
) -> None:
    """Nine queries of a tag are held to a mean, and one by a rule of its own; nothing sees the rest."""
    project.suite(
        "metrics: [recall@5]\neach_query: {lost_all_relevant: ignore}\n"
        "tags:\n  one: {recall@5: {max_drop: 0.15}}\nqueries:\n"
        + "".join(
            f"  - {{query: word{i}, id: q{i}, relevant: [d{i}], tags: [{'one' if i < 9 else 'two'}]"
            f"{', must_find: [d9]' if i == 9 else ''}}}\n"
            for i in range(20)
        )
    )
    result, found = gauge(project, *builds(project, 1, lambda build, i: True))
    of, share, never = seen(found, "lost")
    assert (of, share) == (20, 0.05), "one of nine is a drop of 0.11, within 0.15"
    assert never == [f"word{i}" for i in range(20) if i != 9]
    assert seen(found, "tags") == (2, 1.0, []), "two has the query with the rule"
    result.stdout.fnmatch_lines(
        ["! would find*", "*loses all it found: 5 %, never 'word0', 'word1'*"]
    )


@pytest.mark.slow
def test_a_drop_is_found_as_often_as_the_limits_say(project: Project) -> None:
    """A limit of 0.08 lets every drop of 0.05 pass, and finds every one of 0.1, by the mean alone."""
    project.suite(
        SUITE
        + "each_query: {lost_all_relevant: ignore}\nthresholds: {recall@5: {max_drop: 0.08}}\n"
    )
    _, found = gauge(project, *builds(project, 6, lambda build, i: True))
    power = found["power"]
    drops = {drop["size"]: drop for drop in power["drops"]}
    assert (power["before"], power["now"], power["kept"]) == (3, 3, False)
    assert [drops[size]["found"] for size in (0.05, 0.1, 0.2)] == [0.0, 1.0, 1.0]
    assert 0.02 not in drops, "of twenty queries each is worth 0.05"


def test_harm_is_counted_where_it_makes_the_difference(project: Project) -> None:
    """Each build loses another query, so one build a side is red anyway, and shows nothing more."""
    project.suite(SUITE)
    result, found = gauge(project, *builds(project, 5, lambda build, i: build != i))
    assert (found["power"]["red"], seen(found, "lost")[1]) == (1.0, 0.0)
    result.stdout.fnmatch_lines(["*of 0.05: never*red without any harm: always)"])


# -- a blind guard ---------------------------------------------------------------------------------


def test_a_guard_that_a_baselines_builds_blind_says_so(project: Project) -> None:
    """Each query is missed by one of five builds, so none is found by all of them."""
    project.suite(SUITE)
    given = builds(project, 5, lambda build, i: i % 5 != build)
    kept = [name.replace("runs=", "baseline=") for name in given]
    builds(project, 1, lambda build, i: True)
    result = project.run("--ir-runs=runs/0", *kept[1:])
    result.stdout.fnmatch_lines(
        ["*passed*but 'lost_all_relevant' can see a lost query in 0 of 20*"]
    )
    builds(project, 1, lambda build, i: i > 17)
    result = project.run("--ir-runs=runs/0", *kept[1:])
    result.stdout.fnmatch_lines(["*FAILED*'lost_all_relevant' can see a lost query in 0 of 20*"])


def test_a_guard_that_sees_is_silent(project: Project) -> None:
    project.suite(SUITE)
    given = builds(project, 5, lambda build, i: i > 4)
    result = project.run(given[0], *(name.replace("runs=", "baseline=") for name in given[1:]))
    result.stdout.no_fnmatch_line("*can see a lost query*")
