"""Chunks that have their document's id in common."""

from __future__ import annotations

import pytest

from tests.conftest import Project
from tests.repository import git

SUITE = """
match: text
metrics: [recall@3]
queries:
  - {query: one, relevant: [paid within days], must_find: [paid within days]}
  - {query: two, relevant: [keep the receipt], must_find: [keep the receipt]}
  - {query: three, relevant: [ask the office], must_find: [ask the office]}
"""
TEXTS = {"one": "paid within days", "two": "keep the receipt", "three": "ask the office"}
RETRIEVER = f"""
import pathlib
TEXTS = {TEXTS!r}

@pytest.fixture
def retriever():
    def search(query):
        if query in pathlib.Path("down.txt").read_text():
            raise ConnectionError("503: unavailable")
        return [dict(id="handbook", text=TEXTS[query])]
    return search
"""
RESUMED = ("--ir-save-runs=kept,resume",)
PASSED = dict.fromkeys(TEXTS, "passed")


def down(project: Project, queries: str = "") -> None:
    """Data, and no code: the engine does not answer some queries."""
    (project.path / "down.txt").write_text(queries, encoding="utf-8")


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest(RETRIEVER)
    git(project.path, "init", "-q")
    git(project.path, "add", "conftest.py")
    git(project.path, "commit", "-qm", "search")
    down(project)
    return project


def test_each_query_keeps_its_texts_when_others_are_asked_again(shop: Project) -> None:
    down(shop, "two three")
    shop.run(*RESUMED)
    assert shop.outcomes() == {"one": "passed", "two": "error", "three": "error"}
    down(shop)
    shop.run(*RESUMED)
    assert shop.outcomes() == PASSED
    shop.run("--ir-runs=kept")
    assert shop.outcomes() == PASSED


@pytest.mark.slow
def test_runs_of_several_sessions_keep_every_text(shop: Project) -> None:
    down(shop, "two three")
    shop.run(*RESUMED)
    down(shop)
    for query in ("two", "three"):
        shop.run(*RESUMED, "-k", query)
    shop.run(*RESUMED)
    assert shop.outcomes() == PASSED
    shop.run("--ir-runs=kept")
    assert shop.outcomes() == PASSED


def test_shares_keep_every_text(shop: Project) -> None:
    for share in ("1/2", "2/2"):
        shop.run(f"--ir-save-runs=kept,shard={share}")
    shop.run("--ir-runs=kept")
    assert shop.outcomes() == PASSED


@pytest.mark.slow
def test_a_baseline_that_was_updated_in_parts_keeps_every_text(shop: Project) -> None:
    for query in ("two", "one", "three"):
        shop.run("--ir-update-baseline", "-k", query)
    result = shop.run()
    assert shop.outcomes().items() >= PASSED.items()
    result.stdout.fnmatch_lines(["*3 queries are unchanged in recall@3*", "*1.000  1.000   0.000*"])


def test_a_suite_that_looks_for_passages_by_now_is_asked_again(shop: Project) -> None:
    by_ids = SUITE.replace("match: text\n", "")
    for passage in TEXTS.values():
        by_ids = by_ids.replace(passage, "handbook")
    shop.suite(by_ids)
    shop.run(*RESUMED)
    assert shop.outcomes() == PASSED
    shop.suite(SUITE)
    shop.run(*RESUMED)
    assert shop.outcomes() == PASSED
