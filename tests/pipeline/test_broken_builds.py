"""A build of which something went wrong: it blinds no gate, and no gate hides it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from pytest_irquality.metrics import Judgments, parse_measure
from pytest_irquality.retrieval import Answer, Ranking, Run
from pytest_irquality.suite import Query, Suite
from pytest_irquality.verdict import judge
from tests.conftest import Project
from tests.repository import git

QUERIES = [f"q{number}" for number in range(20)]
SUITE = "metrics: [mrr@10]\nqueries:\n" + "".join(
    f"  - {{query: {query}, relevant: [good]}}\n" for query in QUERIES
)
ALL = frozenset(QUERIES)


def builds(project: Project, side: str, *lost: Collection[str]) -> list[str]:
    """Builds in TREC's format, each of which has lost some queries; where they are kept."""
    folders = []
    for number, queries in enumerate(lost, 1):
        path = project.path / f"{side}/{number}/shop.run"
        path.parent.mkdir(parents=True)
        lines = (f"{id} Q0 {'bad' if id in queries else 'good'} 1 1 x\n" for id in QUERIES)
        path.write_text("".join(lines), encoding="utf-8")
        folders.append(f"{side}/{number}")
    return folders


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest("@pytest.fixture\ndef retriever(): pass\n")
    return project


def options(before: Sequence[str], now: Sequence[str]) -> list[str]:
    return [*(f"--ir-baseline={path}" for path in before), *(f"--ir-runs={path}" for path in now)]


def test_a_broken_build_of_the_baseline_blinds_no_guard(shop: Project) -> None:
    before = builds(shop, "before", *[()] * 9, ALL)
    now = builds(shop, "now", *[QUERIES[:5]] * 3)
    result = shop.run("-v", *options(before, now))
    assert result.ret == 1
    result.stdout.fnmatch_lines([
        "*build 10 of the baseline's 10 is left out (mrr@10 0.000, median 1.000): unchanged code *",
        "*; build 10 of the baseline's 10 is left out (mrr@10 0.000, median 1.000)*",
    ])  # fmt: skip
    assert "'q0' lost all its relevant documents" in result.stdout.str()
    assert shop.data["suites"][0]["noise"]["builds_before"] == 9


def test_an_unchanged_side_is_green_and_the_headline_names_the_build(shop: Project) -> None:
    before = builds(shop, "before", (), (), ALL, (), ())
    result = shop.run(*options(before, builds(shop, "now", (), ())))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*, but build 3 of the baseline's 5 is left out (mrr@10 0.000*"])
    (suite,) = shop.data["suites"]
    assert suite["means"][0]["change"]["before"] == 1.0


def test_too_few_that_are_alike_are_no_baseline_until_it_is_made_again(shop: Project) -> None:
    before = builds(shop, "before", (), ALL, ())
    now = [f"--ir-runs={path}" for path in builds(shop, "now", (), (), ())]
    result = shop.run(*options(before, []), *now)
    assert result.ret == 2
    assert "make the baseline again" in result.stdout.str()
    made = shop.run(*options([], before), "--ir-update-baseline")
    assert made.ret == 1  # what is written is said to be broken
    assert shop.run(*now).ret == 2
    assert shop.run(*now, "--ir-update-baseline").ret == 0
    assert shop.run(*now).ret == 0


def test_a_broken_build_of_today_stays_in_and_fails(shop: Project) -> None:
    before = builds(shop, "before", *[()] * 5)
    now = builds(shop, "now", (), ALL, *[()] * 8)
    result = shop.run(*options(before, now), "--ir-markdown=out.md")
    assert result.ret == 1
    words = "build 2 of today's 10 is broken (mrr@10 0.000, median 1.000)"
    result.stdout.fnmatch_lines([f"*A build of today is broken: *; {words}*"])
    assert words in (shop.path / "out.md").read_text("utf-8")
    assert shop.data["outcome"] == "failed"
    assert shop.data["suites"][0]["noise"]["builds"] == 10
    assert shop.data["suites"][0]["means"][0]["value"] == 0.9


def test_a_wavering_engine_has_no_broken_builds(shop: Project) -> None:
    lost = [{f"q{(7 * build + step) % 20}" for step in (0, 9)} for build in range(3)]
    assert shop.run(*options([], builds(shop, "now", *lost))).ret == 0


def test_a_gate_is_not_locked_by_what_the_base_committed(shop: Project) -> None:
    (shop.path / ".gitignore").write_text("ir-report.html\n__pycache__\n.pytest_cache\nruns*\n")
    git(shop.path, "init", "-q", "-b", "main")
    bad = builds(shop, "runs/bad", (), ALL, ())
    good = [f"--ir-runs={path}" for path in builds(shop, "runs/good", (), (), ())]
    shop.run(*options([], bad), "--ir-update-baseline")
    git(shop.path, "add", "-A")
    git(shop.path, "commit", "-qm", "a broken one")
    git(shop.path, "checkout", "-qb", "change")
    assert shop.run(*good, "--ir-baseline=git:main").ret == 2
    shop.run(*good, "--ir-update-baseline")
    git(shop.path, "commit", "-qam", "made again")
    result = shop.run(*good, "--ir-baseline=git:main")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*compared with the baseline that HEAD commits, because *"])


def test_answers_of_one_build_are_told_as_answers() -> None:
    queries = tuple(Query(id, id, Judgments({"good": 1})) for id in QUERIES)
    suite = Suite("s", "s.ir.yaml", queries, metrics=(parse_measure("mrr@10"),))
    good, bad = (Answer(dict.fromkeys(QUERIES, Ranking((found,)))) for found in ("good", "bad"))
    result = judge(suite, Run("", (good, good, bad)))
    assert result.failed
    (fact,) = (fact for fact in result.facts if fact.alarms)
    assert (fact.builds, fact.means) == (False, ((3, 0.0),))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ([["q1"], ["q2"], []], [()], "queries that waver, of 20: 2 in the baseline"),
        ([["q1"], ["q2"], []], [()] * 3, "queries that waver, of 20: 0 today, 2 in the baseline"),
        ([()] * 3, [()] * 3, "queries that waver, of 20: 0 today, 0 in the baseline"),
    ],
)
def test_of_sides_with_several_answers_it_is_said_how_many_queries_waver(
    shop: Project, before: Sequence[Collection[str]], now: Sequence[Collection[str]], said: str
) -> None:
    result = shop.run(*options(builds(shop, "before", *before), builds(shop, "now", *now)), "-v")
    assert f"  {said}" in result.outlines
