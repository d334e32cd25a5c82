"""Faults of a search that suites without a single grade find, and what the message leads to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.end_to_end.shop import AGAINST_MAIN, QUERIES, STRICT, Shop, list_docs

Document = dict[str, Any]

# A search that ranks documents by the number of words that they share with the query.
WORD_SEARCH = """
import json
import re
from pathlib import Path

DOCUMENTS = json.loads(Path(__file__).with_name("index.json").read_text())
WORDS = [set(re.findall(r"\\w+", f"{d['title']} {d['text']}".lower())) for d in DOCUMENTS]


class Search:
    def search(self, query, k):
        asked = set(re.findall(r"\\w+", query.lower()))
        scored = [(len(asked & words), i) for i, words in enumerate(WORDS) if asked & words]
        scored.sort(key=lambda pair: (-pair[0], pair[1]))
        return [DOCUMENTS[i] for _, i in scored[:k]]

    def exists(self, doc_id):
        return any(d["id"] == doc_id for d in DOCUMENTS)


@pytest.fixture(scope="session")
def retriever():
    return Search()
"""
PROBES = """\
probes: {from: catalog.jsonl, by: {title: whole, text: quote}, sample: 200}
thresholds: {success@10: 0.98}
"""
RULES = """\
  every_result: {tenant: $params.tenant, status: {not: [draft, withdrawn]}}
  newest_first: {within: policy, by: version}
  max_per: {source: 3}
"""
SOUND = {"tenant": "shop-1", "status": "active", "policy": "p1", "version": 2, "source": "manual"}


def make_catalog() -> list[Document]:
    """Make documents whose texts have 120 words of their own, from two sources."""
    documents = []
    for number in range(60):
        source = "manual" if number % 4 else "blog"
        text = " ".join(f"w{number}x{place}" for place in range(120))
        documents.append(
            {"id": f"d{number}", "title": f"Title {number}", "text": text, "source": source}
        )
    return documents


def cut(documents: Iterable[Document]) -> list[Document]:
    return [{**document, "text": document["text"][:400]} for document in documents]


def drop(field: str) -> Callable[[list[Document]], list[Document]]:
    return lambda documents: [{**document, field: ""} for document in documents]


def shift(documents: list[Document]) -> list[Document]:
    """Give each document the id of the next one."""
    ids = [document["id"] for document in documents]
    return [{**d, "id": i} for d, i in zip(documents, [*ids[1:], ids[0]], strict=True)]


def leave_out_a_tenth(documents: list[Document]) -> list[Document]:
    return [document for number, document in enumerate(documents) if number % 10]


def leave_out_a_source(documents: list[Document]) -> list[Document]:
    return [document for document in documents if document["source"] != "blog"]


FAULTS: dict[str, tuple[Callable[[list[Document]], list[Document]], str]] = {
    "a tenth is missing": (leave_out_a_tenth, "6 documents are not in the index"),
    "a source is missing": (leave_out_a_source, "not in the index, all from blog: "),
    "texts are cut": (cut, "as if texts were cut off at about character"),
    "texts are dropped": (drop("text"), "as if the field were not indexed"),
    "titles are dropped": (drop("title"), "documents are not found by 'title'"),
    "ids are shifted": (shift, "documents are returned with another id"),
}


@pytest.fixture
def words(shop: Shop) -> Shop:
    """Return a shop whose search is WORD_SEARCH over a catalog."""
    shop.write_conftest(WORD_SEARCH)
    documents = make_catalog()
    shop.write("catalog.jsonl", "".join(json.dumps(document) + "\n" for document in documents))
    shop.write("index.json", json.dumps(documents))
    return shop


@pytest.mark.parametrize("fault", FAULTS)
def test_probes_find_a_fault_of_the_index(words: Shop, fault: str) -> None:
    words.write_suite(PROBES)
    assert words.build().verdict == ("PASSED", 0)
    break_index, message = FAULTS[fault]
    words.write("index.json", json.dumps(break_index(make_catalog())))

    build = words.build(in_subprocess=True)

    assert build.verdict == ("FAILED", 1)
    assert message in build.top


def make_rules_suite(place: str) -> str:
    """Make a suite with rules over fields under ``each_query`` or under each of its queries."""
    head = "params: {tenant: shop-1}\n"
    if place == "each_query":
        queries = "".join(f"  - {{query: {query}}}\n" for query in QUERIES[:5])
        return f"{head}each_query:\n{RULES}queries:\n{queries}"
    rules = "".join(f"  {line}\n" for line in RULES.splitlines())
    return f"{head}queries:\n" + "".join(f"  - query: {q}\n{rules}" for q in QUERIES[:5])


RULE_SEARCH = """
import json
from pathlib import Path

@pytest.fixture(scope="session")
def retriever():
    rankings = json.loads(Path(__file__).with_name("rankings.json").read_text())
    return lambda query, k, tenant: rankings[query][:k]
"""


def write_results(shop: Shop, **changed: object) -> None:
    """Write three sound results of each query. The second one of the first query is changed."""
    rankings: dict[str, list[Any]] = {}
    for query in QUERIES:
        rankings[query] = [{"id": doc_id, **SOUND} for doc_id in list_docs(query, 3)]
    rankings[QUERIES[0]][1].update(changed)
    shop.write_conftest(RULE_SEARCH)
    shop.write_rankings(rankings)


@pytest.mark.parametrize("place", ["each_query", "queries"])
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tenant": "shop-2"}, "result 2, red-kettle-2, has tenant 'shop-2', but must be 'shop-1'"),
        ({"status": "draft"}, "has status 'draft', but must not be 'draft' or 'withdrawn'"),
        ({"version": 3}, "result 1, red-kettle-1, has version '2', and is above result 2"),
        ({"status": None}, "result 2, red-kettle-2, has no field 'status'"),
    ],
    ids=["tenant", "draft", "outdated", "no field"],
)
def test_rules_find_a_result_that_nobody_should_see(
    shop: Shop, place: str, changed: Document, message: str
) -> None:
    shop.write_suite(make_rules_suite(place))
    write_results(shop)
    assert shop.build().verdict == ("PASSED", 0)
    write_results(shop, **changed)

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert message in build.text


@pytest.mark.parametrize("place", ["each_query", "queries"])
def test_rules_that_met_no_result_did_not_pass(shop: Shop, place: str) -> None:
    shop.write_suite(make_rules_suite(place))
    shop.write_conftest(RULE_SEARCH)
    shop.write_rankings({query: [] for query in QUERIES})

    assert shop.build().verdict == ("INCOMPLETE", 0)
    assert shop.build(*STRICT).verdict == ("INCOMPLETE", 1)


@pytest.mark.parametrize(
    "edit",
    [
        ("0.98", "0.1"),
        ("sample: 200", "sample: 1"),
        (", text: quote", ""),
        (PROBES, "queries: [{query: Title 1, relevant: [d1]}]\n"),
    ],
    ids=["minimum", "sample", "field", "queries"],
)
def test_probes_of_main_see_a_broken_index(words: Shop, edit: tuple[str, str]) -> None:
    words.write_suite(PROBES)
    words.commit()
    words.start_branch()
    words.write_suite(PROBES.replace(*edit))
    words.write("index.json", json.dumps(cut(make_catalog())))

    build = words.build(AGAINST_MAIN, in_subprocess=True)

    assert build.verdict == ("REVIEW", 0)
    assert build.list_failed("base_checks")
