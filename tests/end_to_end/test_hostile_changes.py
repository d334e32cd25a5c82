"""A change that breaks search cannot pass, whatever else it edits, alone or several edits at once.

The edits are those that somebody could make to suites, baselines, the ini file and conftest files.
``IRQUALITY_CHANGES=500`` tries so many random combinations.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from tests.end_to_end.shop import (
    AGAINST_MAIN,
    QUERIES,
    STRICT,
    Build,
    Ranking,
    Shop,
    find,
    list_docs,
    lose,
    mark_rest_slow,
    sink,
)

SEEDS = range(int(os.environ.get("IRQUALITY_CHANGES", "40")))
BROKEN = QUERIES[:8]
FOLDER = "tests/search"
CONFTEST = """
import json
from pathlib import Path
import pytest

RANKINGS = Path(__file__).{place} / "rankings.json"

class Search:
    def __init__(self, path):
        self.rankings = json.loads(path.read_text())

    def search(self, query, k, **params):
        return self.rankings.get(query, [])[:k]

@pytest.fixture{arguments}
def retriever(request):
    return Search(RANKINGS)

@pytest.fixture
def old_retriever():
    return Search(RANKINGS.with_name("old.json"))
"""


@dataclass
class Tree:
    """The files of a branch, which edits change before they are written.

    Attributes:
        answers: What the search returns for queries that the edits add.
        hooks: Code at the end of the conftest.
        baseline: Whether the baseline is kept, recorded again or deleted.
    """

    path: str = f"{FOLDER}/shop.ir.yaml"
    keys: dict[str, Any] = field(default_factory=dict)
    queries: list[dict[str, Any]] = field(default_factory=list)
    other_keys: dict[str, Any] = field(default_factory=dict)
    other_queries: list[dict[str, Any]] = field(default_factory=list)
    ini: list[str] = field(default_factory=list)
    arguments: str = ""
    hooks: str = ""
    has_nearer_conftest: bool = False
    is_deleted: bool = False
    baseline: str = "keep"
    answers: dict[str, Ranking] = field(default_factory=dict)

    @property
    def broken(self) -> list[dict[str, Any]]:
        return [query for query in self.queries if query["query"].replace("good ", "") in BROKEN]

    def write(self, shop: Shop, rankings: dict[str, Ranking]) -> None:
        for file in (shop.path / FOLDER).glob("*.ir.yaml"):
            file.unlink()
        if not self.is_deleted:
            shop.write(self.path, json.dumps({**self.keys, "queries": self.queries}))
        if self.other_queries:
            other = {**self.other_keys, "queries": self.other_queries}
            shop.write(f"{FOLDER}/other.ir.yaml", json.dumps(other))
        shop.write_ini("\n".join(self.ini))
        conftest = CONFTEST.format(place="parent", arguments=self.arguments)
        shop.write("conftest.py", conftest + self.hooks)
        if self.has_nearer_conftest:
            conftest = CONFTEST.format(place="parents[2]", arguments=self.arguments)
            shop.write(f"{FOLDER}/conftest.py", conftest)
        shop.write("rankings.json", json.dumps({**rankings, **self.answers}))
        shop.write("old.json", json.dumps({**find(), **self.answers}))


def make_tree() -> Tree:
    queries = []
    for query in QUERIES:
        grades = dict(zip(list_docs(query, 3), (3, 2, 1), strict=True))
        queries.append({"query": query, "relevant": grades})
    return Tree(queries=queries)


# -- Edits -----------------------------------------------------------------------------------------

Edit = Callable[[Tree], None]


def remove(tree: Tree) -> None:
    broken = tree.broken
    tree.queries = [query for query in tree.queries if query not in broken]


def move(tree: Tree) -> None:
    tree.other_queries = [dict(query) for query in tree.broken]
    remove(tree)


def move_loosened(tree: Tree) -> None:
    move(tree)
    tree.other_keys = {"thresholds": {"ndcg@10": {"max_drop": 0.9}}}


def add_friendly_copies(tree: Tree) -> None:
    for query in tree.broken:
        first = sink(list_docs(query["query"]))[0]
        tree.other_queries.append({**query, "relevant": {first: 3}})


def add_easy_queries(tree: Tree) -> None:
    for number in range(40):
        tree.queries.append({"query": f"easy {number}", "relevant": {f"easy-{number}": 3}})
        tree.answers[f"easy {number}"] = [f"easy-{number}"]


def regrade(tree: Tree) -> None:
    for query in tree.broken:
        docs = sink(list_docs(query["query"]))
        query["relevant"] = dict(zip(docs, (3, 2, 1), strict=False))


def reword(tree: Tree) -> None:
    for query in tree.broken:
        tree.answers[f"good {query['query']}"] = list_docs(query["query"])
        query["query"] = f"good {query['query']}"


def expect_nothing(tree: Tree) -> None:
    for query in tree.broken:
        query.pop("relevant", None)
        query["expect_no_results"] = True


def make_variants(tree: Tree) -> None:
    texts = [query["query"] for query in tree.broken]
    remove(tree)
    tree.queries[0]["variants"] = texts


def set_weight_0(tree: Tree) -> None:
    tree.keys["metrics"] = ["weighted ndcg@10"]
    edit_broken(weight=0)(tree)


def renumber(tree: Tree) -> None:
    for number, query in enumerate(tree.queries):
        query["id"] = f"n{number}"


def edit_broken(**keys: object) -> Edit:
    def edit(tree: Tree) -> None:
        for query in tree.broken:
            query.update(keys)

    return edit


def drop_judgments(tree: Tree) -> None:
    for query in tree.broken:
        query.pop("relevant", None)


def set_keys(**keys: object) -> Edit:
    return lambda tree: tree.keys.update(keys)


def limit(**bounds: object) -> Edit:
    return set_keys(thresholds={"ndcg@10": bounds})


def set_field(name: str, value: object) -> Edit:
    return lambda tree: setattr(tree, name, value)


def add_ini(line: str) -> Edit:
    key = line.partition(" ")[0]

    def edit(tree: Tree) -> None:
        # pytest refuses a key that appears twice, so the later edit counts.
        tree.ini[:] = [other for other in tree.ini if other.partition(" ")[0] != key]
        tree.ini.append(line)

    return edit


def add_hook(code: str) -> Edit:
    def edit(tree: Tree) -> None:
        tree.hooks += f"\n{code}\n"

    return edit


EDITS: dict[str, Edit] = {
    "remove": remove,
    "move": move,
    "move, loosened": move_loosened,
    "friendly copies": add_friendly_copies,
    "easy queries": add_easy_queries,
    "regrade": regrade,
    "no judgments": drop_judgments,
    "reword": reword,
    "expect no results": expect_nothing,
    "variants": make_variants,
    "known issue": edit_broken(known_issue="S-1", must_find=["nothing"]),
    "weight 0": set_weight_0,
    "renumber": renumber,
    "other params": set_keys(params={"shop": "x"}),
    "wide drop": limit(max_drop=0.9),
    "wide significant drop": limit(max_significant_drop=0.9),
    "warning": limit(max_drop=0.01, warn=True),
    "ignore lost": set_keys(each_query={"lost_all_relevant": "ignore"}),
    "20 lost": set_keys(each_query={"lost_all_relevant": {"max": 20}}),
    "baseline retriever": set_keys(baseline={"retriever": "old_retriever"}),
    "old retriever": set_keys(retriever="old_retriever"),
    "errors": set_keys(errors={"max": 100}),
    "recall": set_keys(metrics=["recall@10"]),
    "latency": set_keys(metrics=["latency_p95"]),
    "undefined zero": set_keys(undefined="zero"),
    "repeat": set_keys(repeat=2),
    "top 1": set_keys(top_k=1),
    "depth": set_keys(depth=50),
    "id field": set_keys(id_field="id"),
    "passages": set_keys(match="text"),
    "relevant from": set_keys(relevant_from=9),
    "delete": set_field("is_deleted", True),
    "rename": set_field("path", f"{FOLDER}/market.ir.yaml"),
    "other folder": set_field("path", "tests/find/shop.ir.yaml"),
    "parameters": set_field("arguments", "(params=['a', 'b'])"),
    "nearer conftest": set_field("has_nearer_conftest", True),
    "new baseline": set_field("baseline", "record"),
    "no baseline": set_field("baseline", "delete"),
    "suite files": add_ini("ir_suite_files = *.none.yaml"),
    "testpaths": add_ini("testpaths = docs"),
    "norecursedirs": add_ini("norecursedirs = search"),
    "keyword": add_ini("addopts = -k white"),
    "marker": add_ini("addopts = -m 'not ir_suite'"),
    "collect_ignore": add_hook("collect_ignore = ['tests']"),
    "skip": add_hook("def pytest_itemcollected(item): item.add_marker(pytest.mark.skip('later'))"),
    "xfail": add_hook(
        "def pytest_itemcollected(item): item.add_marker(pytest.mark.xfail(reason='later'))"
    ),
    "skip in a fixture": add_hook(
        "@pytest.fixture(autouse=True)\ndef stop(): pytest.skip('later')"
    ),
    "no items": add_hook(
        "@pytest.hookimpl(trylast=True)\ndef pytest_collection_modifyitems(items): items.clear()"
    ),
    "no protocol": add_hook("def pytest_runtest_protocol(item, nextitem): return True"),
}
CHANGES: dict[str, Callable[[Sequence[str]], Ranking]] = {
    "sink": sink,
    "lose": lose,
    "empty": lambda docs: [],
}


def build_change(shop: Shop, edits: Sequence[str], change: str, *arguments: str) -> Build:
    """Build a change of search and suites in a branch of its own."""
    if not (shop.path / ".git").exists():
        make_tree().write(shop, find())
        shop.record()
        shop.commit()
    shop.git("checkout", "-q", "-f", "-B", "change", "main")
    shop.git("clean", "-qfd")
    tree = make_tree()
    for name in edits:
        EDITS[name](tree)
    tree.write(shop, find(QUERIES, BROKEN, CHANGES[change]) if change else find())
    if tree.baseline == "record":
        shop.build("--ir-update-baseline")
    elif tree.baseline == "delete":
        shutil.rmtree(shop.path / FOLDER / ".ir-baseline")
    shop.commit()
    return shop.build(AGAINST_MAIN, *arguments)


def assert_is_not_green(build: Build, *details: object) -> None:
    message = f"{details} {build.verdict} {build.text}"
    assert build.outcome not in ("", "PASSED"), message
    # "Not run" says enough only if it fails the build.
    assert build.outcome != "INCOMPLETE" or build.status == 1, message
    assert "INTERNALERROR" not in build.text, message


@pytest.mark.parametrize("first", mark_rest_slow(0, range(0, len(EDITS), 10)))
def test_no_single_edit_hides_a_broken_search(shop: Shop, first: int) -> None:
    for number, edit in enumerate(list(EDITS)[first : first + 10]):
        change = list(CHANGES)[number % len(CHANGES)]

        build = build_change(shop, [edit], change)

        assert_is_not_green(build, edit, change)


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
def test_no_single_edit_hides_any_broken_search_from_a_strict_gate(shop: Shop, edit: str) -> None:
    for change in CHANGES:
        build = build_change(shop, [edit], change, *STRICT)

        assert_is_not_green(build, edit, change)
        assert build.status > 0


def draw_edits(random: Random) -> list[str]:
    """Draw edits that can be made together, in any order."""
    return random.sample(list(EDITS), random.randint(2, 4))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_no_combination_of_edits_hides_a_broken_search(shop: Shop, seed: int) -> None:
    random = Random(seed)
    for _ in range(5):
        edits, change = draw_edits(random), random.choice(list(CHANGES))
        arguments = random.choice([(), STRICT, ("-x",), ("--ir-concurrency=4",), ("-q",)])

        build = build_change(shop, edits, change, *arguments)

        assert_is_not_green(build, edits, change, arguments)


HARMLESS = [
    "easy queries",
    "renumber",
    "undefined zero",
    "depth",
    "rename",
    "new baseline",
    "repeat",
]


@pytest.mark.parametrize("edit", mark_rest_slow(1, ["", *HARMLESS]))
def test_harmless_edit_of_a_sound_search_passes(shop: Shop, edit: str) -> None:
    edits = [edit] if edit else []

    for gate in ((), STRICT):
        assert build_change(shop, edits, "", *gate).verdict == ("PASSED", 0)
