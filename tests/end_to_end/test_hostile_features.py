"""A change that breaks one of several kinds of suites cannot pass, whatever else it edits.

Main has two retrievers of one fixture, and suites with grades and a stage, with rules over fields,
with passages, and with probes. ``IRQUALITY_CHANGES=500`` tries so many random pairs of edits.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from tests.end_to_end.shop import (
    AGAINST_MAIN,
    QUERIES,
    STRICT,
    Build,
    Shop,
    list_docs,
    lose,
    mark_rest_slow,
    sink,
)

PAIRS = range(int(os.environ.get("IRQUALITY_CHANGES", "10")))
TEXTS = QUERIES[:12]
BROKEN = TEXTS[:6]
TITLES = [f"Item {number} of the list" for number in range(20)]
SEARCH = """
import json
from pathlib import Path

FILES = {"a": "changed.json", "b": "sound.json", "c": "sound.json"}


class Search:
    def __init__(self, name):
        self.rankings = json.loads(Path(__file__).with_name(name).read_text())

    def search(self, query, k, tenant="t1"):
        return self.rankings.get(query, [])[:k]

    def stages(self, query, k, tenant="t1"):
        return {"first": self.rankings.get(f"stage {query}", self.rankings.get(query, []))[:k]}


@pytest.fixture(scope="session")
def sound_retriever():
    return Search("sound.json")


@pytest.fixture(scope="session", params=PARAMS)
def retriever(request):
    return Search(FILES[request.param])
"""
Rankings = dict[str, list[Any]]
Suite = dict[str, Any]


def make_passage(query: str) -> str:
    return f"the price of every {query} is fixed for two years by our contract"


def make_rankings() -> Rankings:
    rankings: Rankings = {title: [{"id": title, "tenant": "t1"}] for title in TITLES}
    for query in TEXTS:
        hits = [{"id": doc_id, "tenant": "t1", "text": "other"} for doc_id in list_docs(query)]
        hits[0] |= {"text": make_passage(query), "summary": make_passage(query)}
        rankings[query] = hits
    return rankings


def break_search(kind: str) -> Rankings:
    rankings = make_rankings()
    for query in BROKEN:
        hits = rankings[query]
        if kind == "lose":
            rankings[query] = lose(hits)
        elif kind == "sink":
            rankings[query] = sink(hits)
        elif kind == "empty":
            rankings[query] = []
        elif kind == "tenant":
            hits[4]["tenant"] = "t2"
        elif kind == "passage":
            hits[0]["text"] = "other"
        elif kind == "stage":
            rankings[f"stage {query}"] = []
    if kind == "probes":
        rankings.update({title: [] for title in TITLES[:6]})
    return rankings


KINDS = ["lose", "sink", "empty", "tenant", "passage", "stage", "probes"]


@dataclass
class Branch:
    """The files of a branch, which edits change before they are written."""

    suites: dict[str, Suite]
    titles: list[str] = field(default_factory=lambda: list(TITLES))
    params: str = "['a', 'b']"
    ini: str = ""
    baseline: str = "keep"

    def write(self, shop: Shop, rankings: Rankings) -> None:
        for path in shop.path.glob("*.ir.yaml"):
            path.unlink()
        for name, suite in self.suites.items():
            shop.write(f"{name}.ir.yaml", json.dumps(suite))
        lines = [json.dumps({"id": title, "title": title}) + "\n" for title in self.titles]
        shop.write("catalog.jsonl", "".join(lines))
        shop.write_conftest(SEARCH.replace("PARAMS", self.params))
        shop.write("changed.json", json.dumps(rankings))
        shop.write("sound.json", json.dumps(make_rankings()))
        shop.write_ini(self.ini)

    @property
    def broken_queries(self) -> list[dict[str, Any]]:
        queries = []
        for suite in self.suites.values():
            queries += [each for each in suite.get("queries", []) if each["query"] in BROKEN]
        return queries


def make_branch() -> Branch:
    graded = []
    for query in TEXTS:
        grades = dict(zip(list_docs(query, 3), (3, 2, 1), strict=True))
        graded.append({"query": query, "relevant": grades})
    return Branch(
        {
            "graded": {
                "queries": graded,
                "thresholds": {"first candidates recall@10": {"min": 0.9}},
            },
            "rules": {
                "params": {"tenant": "t1"},
                "each_query": {"every_result": {"tenant": "$params.tenant"}},
                "queries": [{"query": query} for query in TEXTS],
            },
            "passages": {
                "match": "text",
                "text_field": "text",
                "queries": [{"query": q, "relevant": [make_passage(q)]} for q in TEXTS],
            },
            "probes": {
                "probes": {"from": "catalog.jsonl", "by": {"title": "whole"}},
                "thresholds": {"success@10": 0.95},
            },
        }
    )


# -- Edits -----------------------------------------------------------------------------------------

Edit = Callable[[Branch], None]


def set_keys(**keys: object) -> Edit:
    def edit(branch: Branch) -> None:
        for suite in branch.suites.values():
            if "queries" in suite:
                suite.update(keys)

    return edit


def set_query_keys(**keys: object) -> Edit:
    def edit(branch: Branch) -> None:
        for query in branch.broken_queries:
            query.update(keys)

    return edit


def set_field(name: str, value: object) -> Edit:
    return lambda branch: setattr(branch, name, value)


def delete(name: str) -> Edit:
    def edit(branch: Branch) -> None:
        branch.suites.pop(name, None)

    return edit


def remove_queries(branch: Branch) -> None:
    for suite in branch.suites.values():
        if "queries" in suite:
            suite["queries"] = [each for each in suite["queries"] if each["query"] not in BROKEN]


def remove_requirements(branch: Branch) -> None:
    for suite in branch.suites.values():
        suite.pop("thresholds", None)
        suite.pop("each_query", None)


def make_variants(branch: Branch) -> None:
    remove_queries(branch)
    for suite in branch.suites.values():
        if "queries" in suite:
            suite["queries"][0]["variants"] = list(BROKEN)


def rename(branch: Branch) -> None:
    branch.suites = {f"new-{name}": suite for name, suite in branch.suites.items()}


def sample_one(branch: Branch) -> None:
    for suite in branch.suites.values():
        if "probes" in suite:
            suite["probes"]["sample"] = 1


EDITS: Mapping[str, Edit] = {
    "lose a parameter": set_field("params", "['b']"),
    "rename a parameter": set_field("params", "['c', 'b']"),
    "cut the catalog": set_field("titles", TITLES[6:]),
    "sample": sample_one,
    "delete probes": delete("probes"),
    "delete rules": delete("rules"),
    "delete passages": delete("passages"),
    "remove queries": remove_queries,
    "remove requirements": remove_requirements,
    "variants": make_variants,
    "rename": rename,
    "text field": set_keys(text_field="summary"),
    "other tenant": set_keys(params={"tenant": "t2"}),
    "sound retriever": set_keys(retriever="sound_retriever"),
    "sound baseline": set_keys(baseline={"retriever": "sound_retriever"}),
    "top 1": set_keys(top_k=1),
    "repeat": set_keys(repeat=2),
    "errors": set_keys(errors={"max": 99}),
    "ignore lost": set_keys(each_query={"lost_all_relevant": "ignore"}),
    "wide drop": set_keys(thresholds={"ndcg@10": {"max_drop": 0.95}}),
    "known issue": set_query_keys(known_issue="S-1", must_find=["nothing"]),
    "keyword": set_field("ini", "addopts = -k white"),
    "deselect": set_field("ini", "addopts = --deselect rules.ir.yaml"),
    "suite files": set_field("ini", "ir_suite_files = graded*"),
    "new baseline": set_field("baseline", "record"),
    "no baseline": set_field("baseline", "delete"),
}


def build_change(shop: Shop, edits: list[str], kind: str, *arguments: str) -> Build:
    """Build a change of search and suites in a branch of its own."""
    if not (shop.path / ".git").exists():
        make_branch().write(shop, make_rankings())
        shop.record()
        shop.commit()
    shop.git("checkout", "-q", "-f", "-B", "change", "main")
    shop.git("clean", "-qfd")
    branch = make_branch()
    for name in edits:
        EDITS[name](branch)
    branch.write(shop, break_search(kind))
    if branch.baseline == "record":
        shop.build("--ir-update-baseline")
    elif branch.baseline == "delete":
        shutil.rmtree(shop.path / ".ir-baseline")
    shop.commit()
    return shop.build(AGAINST_MAIN, *arguments)


def assert_is_not_green(build: Build, *details: object) -> None:
    message = f"{details} {build.verdict} {build.text}"
    assert build.outcome not in ("", "PASSED"), message
    assert build.outcome != "INCOMPLETE" or build.status == 1, message


def test_sound_change_passes_and_each_broken_search_fails(shop: Shop) -> None:
    assert build_change(shop, [], "", *STRICT).verdict == ("PASSED", 0)
    for kind in KINDS:
        assert build_change(shop, [], kind).verdict == ("FAILED", 1), kind


@pytest.mark.parametrize("edit", mark_rest_slow(1, EDITS))
def test_no_edit_hides_a_broken_search(shop: Shop, edit: str) -> None:
    for kind in KINDS:
        build = build_change(shop, [edit], kind)

        assert_is_not_green(build, edit, kind)


@pytest.mark.slow
@pytest.mark.parametrize("seed", PAIRS)
def test_no_pair_of_edits_hides_a_broken_search(shop: Shop, seed: int) -> None:
    random = Random(seed)
    for _ in range(5):
        edits, kind = random.sample(list(EDITS), 2), random.choice(KINDS)
        gate = random.choice([(), STRICT])

        build = build_change(shop, edits, kind, *gate)

        assert_is_not_green(build, edits, kind, gate)
