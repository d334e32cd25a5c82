"""Chunks that have their document's id in common, where some queries go by texts and some by
ids.
"""

from __future__ import annotations

import pytest

from tests.conftest import Project

SUITE = """
metrics: [recall@3]
queries:
  - {query: one, match: text, relevant: [paid within days], must_find: [paid within days]}
  - {query: two, match: text, relevant: [keep the receipt], must_find: [keep the receipt]}
  - {query: three, relevant: [handbook], must_find: [handbook]}
"""
TEXTS = {"one": "paid within days", "two": "keep the receipt", "three": "ask the office"}
RETRIEVER = f"""
TEXTS = {TEXTS!r}
DOWN = set()

@pytest.fixture
def retriever():
    def search(query):
        if query in DOWN:
            raise ConnectionError("429: too many requests")
        return [dict(id="handbook", text=TEXTS[query])]
    return search
"""
RESUMED = ("--ir-save-runs=kept", "--ir-resume")
PASSED = dict.fromkeys(TEXTS, "passed")


def down(*queries: str) -> str:
    return RETRIEVER.replace("set()", repr({*queries}))


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest(RETRIEVER)
    return project


def test_a_query_judged_by_ids_keeps_them_when_it_is_asked_again(shop: Project) -> None:
    shop.conftest(down("two", "three"))
    shop.run(*RESUMED)
    assert shop.outcomes() == {"one": "passed", "two": "error", "three": "error"}
    shop.conftest(RETRIEVER)
    shop.run(*RESUMED)
    assert shop.outcomes() == PASSED
