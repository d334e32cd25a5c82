"""Every source of runs, asked by the plugin and by ``check``: one way, one answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality import NotJudged, check
from pytest_irquality.report.data import document
from tests.conftest import SCHEMA, Once, Project, complete
from tests.repository import git

SUITE = """
queries:
  - {query: chair, relevant: [d1], must_find: {d1: 3}}
  - {query: desk, relevant: [d2]}
  - {query: lamp, relevant: [d3], must_not_find: [d9]}
thresholds: {ndcg@10: {max_drop: 0.05}, mrr@10: 0.9}
"""
GOOD = {"chair": ["d1", "d2"], "desk": ["d2"], "lamp": ["d3", "d1"]}
WORSE = {"chair": ["d2", "d1"], "desk": ["d2"], "lamp": ["d9", "d3"]}
BASELINE = Path(".ir-baseline/shop.jsonl")


@pytest.fixture
def shop(project: Project, monkeypatch: pytest.MonkeyPatch, once: Once) -> Project:
    """A suite in git with a baseline, and a search that got worse since."""
    monkeypatch.chdir(project.path)
    return once(project, worse)


def worse(project: Project) -> None:
    suite = project.suite(SUITE)
    check(suite, GOOD.get, update_baseline=True)
    project.answers(GOOD)
    for name in ("runs", "shop.run"):
        assert project.run(f"--ir-save-runs={name}", "shop.ir.yaml").ret == 0
    shutil.copytree("runs", "again")
    again = Path("again/shop.jsonl")
    again.write_text(again.read_text().replace('"seconds":', '"seconds":1'))
    git(project.path, "init", "-q", "-b", "main")
    git(project.path, "add", "shop.ir.yaml", ".ir-baseline", "conftest.py")
    git(project.path, "commit", "-qm", "a baseline")
    project.answers(WORSE)


def rename() -> None:
    old = BASELINE.read_text()
    BASELINE.unlink()
    BASELINE.with_name("store.jsonl").write_text(old.replace("shop.ir.yaml", "store.ir.yaml"))


def damage() -> None:
    BASELINE.write_text(BASELINE.read_text()[:-20])


def options(baseline: str | bool) -> list[str]:
    """The option by which the suite's items ask."""
    return [f"--ir-baseline={baseline}"] if isinstance(baseline, str) else []


def plain(suite: dict[str, Any]) -> dict[str, Any]:
    """A suite's part of the JSON, without the times of calls."""
    text = json.dumps(suite, sort_keys=True)
    timeless: dict[str, Any] = json.loads(
        text, object_hook=lambda one: {**one, "seconds": None, "latency": None}
    )
    return timeless


@pytest.mark.parametrize(
    ("baseline", "first", "source"),
    [
        (True, None, ".ir-baseline/shop.jsonl"),
        (True, rename, ".ir-baseline/store.jsonl"),
        (".ir-baseline/shop.jsonl", None, ".ir-baseline/shop.jsonl"),
        (".ir-baseline", None, ".ir-baseline/shop.jsonl"),
        ("runs", None, "runs/shop.jsonl"),
        ("shop.run", None, "shop.run"),
        ("git:main", None, "git:main .ir-baseline/shop.jsonl"),
        ("git:main", damage, "git:main .ir-baseline/shop.jsonl"),
    ],
)
def test_both_ways_lead_to_one_verdict(
    shop: Project, baseline: str | bool, first: Callable[[], None] | None, source: str
) -> None:
    if first:
        first()
    (result,) = check("shop.ir.yaml", WORSE.get, baseline=baseline).results
    by_check = complete(json.loads(document([result], [])), SCHEMA)["suites"][0]
    shop.run("shop.ir.yaml", *options(baseline))
    (by_items,) = shop.data["suites"]
    assert by_check["baseline"]["source"] == source
    assert {one["outcome"] for one in by_check["verdicts"]} == {"passed", "failed"}
    assert plain(by_items) == plain(by_check)


@pytest.mark.parametrize(
    ("baseline", "first", "said"),
    [
        (True, damage, ".ir-baseline/shop.jsonl:12: not a line of JSON"),
        ("conftest.py", None, "conftest.py:1: "),
        ("nowhere", None, "--ir-baseline nowhere: there is no such file or folder"),
        ("git:nowhere", None, "--ir-baseline git:nowhere: git knows no revision 'nowhere' here"),
    ],
)
def test_what_is_wrong_with_a_source_is_said_in_the_same_words(
    shop: Project, baseline: str | bool, first: Callable[[], None] | None, said: str
) -> None:
    if first:
        first()
    with pytest.raises(NotJudged) as raised:
        check("shop.ir.yaml", WORSE.get, baseline=baseline)
    assert str(raised.value).startswith(said)
    result = shop.run("shop.ir.yaml", *options(baseline))
    assert result.ret != 0
    assert str(raised.value) in result.stdout.str() + result.stderr.str()
