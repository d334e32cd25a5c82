"""``--ir-audit`` over kept builds of unchanged code: how often the gate is red for nothing."""

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
        pytest.approx(0.127, abs=2e-3),
        pytest.approx(0.558, abs=2e-3),
    )
    assert told[3, 3, False]["share"] < 0.1
    assert told[5, 5, False]["high"] > 0.5, "of ten builds there is one split of five, and no more"
    result.stdout.fnmatch_lines(
        [
            "! red for nothing*1 in 3 (13 to 56 %, 10 builds) with one build a side, the baseline made anew"
            " each time: 'each_query: lost_all_relevant' 1 in 3"
        ]
    )
    assert result.ret == 0, "it says, and does not fail"


def test_an_exact_engine_is_never_red_and_ten_builds_are_no_proof(project: Project) -> None:
    project.suite(SUITE)
    result, _ = gauge(project, *builds(project, 10, lambda build, i: i > 4))
    result.stdout.fnmatch_lines(
        ["  red for nothing*never (up to 21 %, 10 builds) with one build a side*"]
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
    """Three a side of six: 20 splits, in which one build misses ten queries that the others find."""
    project.suite(
        SUITE + "each_query: {lost_all_relevant: ignore}\nthresholds: {recall@5: {max_drop: 0.1}}\n"
    )
    _, found = gauge(project, *builds(project, 6, lambda build, i: build != 2 or i < 10))
    splits = [now for now in combinations(range(6), 3) if 2 in now]
    assert len(splits) / comb(6, 3) == 0.5
    assert rates(found)[3, 3, False]["share"] == pytest.approx(0.5, abs=0.12)
