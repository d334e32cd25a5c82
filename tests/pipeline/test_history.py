"""The history of a project: a line a commit, what many small losses come to, and where they began."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Project
from tests.repository import git

QUERIES = "queries:\n" + "".join(f"  - {{query: q{n}, relevant: [d]}}\n" for n in range(50))
SUITE = (
    QUERIES
    + "thresholds: {mrr: {min: 0.1, max_drop: 0.05}}\ntrend: {mrr: {max_drop: 0.03, over: 20}}\n"
)
CONFTEST = """\
from pathlib import Path
BAD = int(Path(__file__).with_name("bad").read_text())
@pytest.fixture
def retriever():
    return lambda query: ["x", "d"] if int(query[1:]) < BAD else ["d", "x"]
"""
HISTORY = "--ir-history=history.jsonl"


@pytest.fixture
def shop(project: Project) -> Project:
    """A repository in which a number says how many of 50 queries find their document at rank 2."""
    project.suite(SUITE)
    project.conftest(CONFTEST)
    (project.path / ".gitignore").write_text(
        "ir-report.html\nout.json\nhistory.jsonl\n__pycache__\n.pytest_cache\n"
    )
    git(project.path, "init", "-q", "-b", "main")
    change(project, 0)
    project.run("--ir-update-baseline")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-q", "--amend", "--no-edit")
    return project


def change(project: Project, bad: int) -> str:
    (project.path / "bad").write_text(str(bad))
    git(project.path, "add", "-A")
    git(project.path, "commit", "-q", "--allow-empty", "-m", f"{bad} bad")
    return git(project.path, "rev-parse", "--short", "HEAD").strip()


def lines(project: Project) -> list[dict[str, object]]:
    text = (project.path / "history.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_s30_many_small_losses_are_red_together_and_say_where_they_began(shop: Project) -> None:
    shop.run(HISTORY)
    commits = []
    for bad in range(1, 5):  # each loses 0.01, the limit of one change is 0.05
        commits.append(change(shop, bad))
        result = shop.run(HISTORY)
        red = bad > 3
        assert result.ret == int(red), result.stdout.str()
        outcomes, page = shop.outcomes(), (shop.path / "ir-report.html").read_text()
        shop.run("--ir-update-baseline")
        git(shop.path, "commit", "-qam", "its baseline")
    result.stdout.fnmatch_lines([
        "mrr@10 lost 0.040 in the last 4 changes together, each against its own baseline: more than"
        f" 0.030; it began with {commits[0]}*",
    ])  # fmt: skip
    assert outcomes["trend-mrr-10"] == "failed"
    assert outcomes["mrr-10"] == "passed"
    result.stdout.fnmatch_lines(["  mrr@10 is the lowest since *, 4 changes ago"])
    assert page.count("<polyline") >= 1


def test_losses_from_one_baseline_are_not_counted_twice(shop: Project) -> None:
    for bad in (1, 2):  # 0.01 and 0.02 below one and the same baseline, which are not 0.03
        change(shop, bad)
        assert shop.run(HISTORY).ret == 0
    change(shop, 2)
    assert shop.run(HISTORY).ret == 0
    change(shop, 4)
    assert shop.run(HISTORY).ret == 1


def test_a_rerun_of_a_commit_replaces_its_line(shop: Project) -> None:
    shop.run(HISTORY)
    shop.run(HISTORY)
    (line,) = lines(shop)
    head = git(shop.path, "rev-parse", "--short", "HEAD").strip()
    assert (line["commit"], line["time"]) == (head, "2024-05-01T10:00:00Z")
    assert line["values"] == {"mrr@10": [1.0, 50]}
    assert line["changes"] == {"mrr@10": 0.0}
    assert line["outcome"] == "passed"
    change(shop, 1)
    shop.run(HISTORY)
    assert len(lines(shop)) == 2
    # Some of the queries are no line of it.
    change(shop, 2)
    shop.run(HISTORY, "-k", "q1")
    assert len(lines(shop)) == 2


def test_without_a_history_there_is_no_limit_on_one(shop: Project) -> None:
    shop.run()
    assert "trend-mrr-10" not in shop.outcomes()


def test_what_is_no_history_is_one_line_and_stays_as_it_is(shop: Project) -> None:
    path = shop.path / "history.jsonl"
    path.write_text('{"not": "ours"}\n')
    result = shop.run(HISTORY)
    assert result.ret == 1
    assert (
        "history.jsonl:1: not a line of a history that pytest-irquality wrote"
        in result.stdout.str()
    )
    assert path.read_text() == '{"not": "ours"}\n'


@pytest.mark.parametrize(
    ("trend", "said"),
    [
        ("{mrr: {over: 3}}", "the trend of mrr needs one of max_drop and max_rise"),
        ("{mrr: {max_drop: 3%}}", "a trend is limited in points, not in percent"),
        ("{mrr: {max_rise: 0.1}}", "max_rise on mrr@10, which is better high; max_drop is meant"),
    ],
)
def test_a_trend_that_means_nothing_is_an_error(shop: Project, trend: str, said: str) -> None:
    shop.suite(SUITE.replace("{mrr: {max_drop: 0.03, over: 20}}", trend))
    result = shop.run(HISTORY)
    assert result.ret == 2
    assert said in result.stdout.str()
