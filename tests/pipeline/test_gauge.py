"""``--ir-audit`` over kept builds of unchanged code: how often the gate is red for nothing.

And what no check of it would notice.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb
from random import Random
from typing import Any

import pytest

from pytest_irquality.verdict.gauge import share_interval
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
    return result, project.data["suites"][0]["audit"]


def rates(found: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {one["a_side"]: one for one in found["rates"]}


@pytest.mark.slow
def test_s50_ten_builds_tell_how_often_the_gate_is_red_for_nothing(project: Project) -> None:
    """A query is missed by each of three builds alone: red is any pair whose second is one of them."""
    project.suite(SUITE)
    result, found = gauge(project, *builds(project, 10, lambda build, i: build > 2 or build != i))
    told = rates(found)
    assert found["builds"] == 10
    one = told[1]
    assert one["share"] == pytest.approx(3 * 9 / 90)
    assert one["checks"][0] == ["each_query: lost_all_relevant", pytest.approx(0.3)]
    assert (one["low"], one["high"]) == (
        pytest.approx(0.096, abs=2e-3),
        pytest.approx(0.604, abs=2e-3),
    )
    assert told[3]["share"] < 0.1
    assert told[5]["high"] > 0.5, "of ten builds there is one split of five, and no more"
    result.stdout.fnmatch_lines(
        [
            "! red for nothing*1 build a side: 30 % (10 to 60 %, of 10 builds) 'each_query: lost_all_relevant' 30 %"
        ]
    )
    assert result.ret == 0, "it says, and does not fail"


@pytest.mark.slow
def test_an_exact_engine_is_never_red_and_ten_builds_are_no_proof(project: Project) -> None:
    project.suite(SUITE)
    result, _ = gauge(project, *builds(project, 10, lambda build, i: i > 4))
    result.stdout.fnmatch_lines(["  red for nothing*1 build a side: 0 % (0 to 28 %, of 10 builds)"])


def test_under_six_builds_the_spread_and_no_rate(project: Project) -> None:
    project.suite(SUITE)
    result, found = gauge(project, *builds(project, 5, lambda build, i: build != i))
    assert found["rates"] == []
    result.stdout.fnmatch_lines(
        [
            "*red for nothing*not known: a rate takes 6 builds of unchanged code, each kept and given as --ir-runs;"
            " here are 5"
        ]
    )


def test_repeats_are_not_builds(project: Project) -> None:
    project.suite(f"repeat: 3\n{SUITE}")
    project.conftest(
        "@pytest.fixture\ndef retriever(): return lambda query: [f'd{query[4:]}', 'x']\n"
    )
    result, found = gauge(project)
    assert (found["builds"], found["rates"]) == (1, [])
    result.stdout.fnmatch_lines(["*red for nothing*not known: *; here is 1"])


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
    rate = rates(found)[3]
    assert rate["share"] == pytest.approx(0.5, abs=0.12)
    # Three of six builds a side are two groups of builds, however many splits are judged.
    assert (rate["low"], rate["high"]) == pytest.approx(share_interval(rate["share"], 2))


@pytest.mark.slow
def test_a_broken_build_is_no_measure_of_the_gate(project: Project) -> None:
    project.suite(SUITE)
    _, found = gauge(project, *builds(project, 8, lambda build, i: build != 2 or i < 10))
    assert found["builds"] == 7
    assert all(rate["share"] == 0 for rate in rates(found).values())


# -- what it would see -----------------------------------------------------------------------------


def test_every_query_is_seen_where_the_default_guard_stands(project: Project) -> None:
    project.suite(SUITE)
    result, found = gauge(project, *builds(project, 1, lambda build, i: i != 7))
    assert found["watch"] == {"tried": 19, "unwatched": [], "unbroken": []}, "one has none to lose"
    result.stdout.fnmatch_lines(
        ["  would find *a check fails where any of 19 queries loses all that it finds"]
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
    assert found["watch"]["tried"] == 20
    assert found["watch"]["unwatched"] == [f"word{i}" for i in range(20) if i != 9], (
        "one of nine is a drop of 0.11, within 0.15"
    )
    result.stdout.fnmatch_lines(["! would find *19 of 20 queries could lose all*'word0', 'word1'*"])


def test_what_fails_anyway_watches_over_nothing(project: Project) -> None:
    project.suite(SUITE + "each_query: {lost_all_relevant: ignore}\nthresholds: {recall@5: 0.99}\n")
    _, found = gauge(project, *builds(project, 1, lambda build, i: i > 0))
    assert len(found["watch"]["unwatched"]) == 19


def test_a_query_lost_today_leaves_the_guard_to_the_others(project: Project) -> None:
    project.suite(SUITE)
    project.run(*builds(project, 1, lambda build, i: True), "--ir-update-baseline")
    result, found = gauge(project, *builds(project, 1, lambda build, i: i > 0))
    assert result.ret == 1
    assert found["watch"] == {"tried": 19, "unwatched": [], "unbroken": []}


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
