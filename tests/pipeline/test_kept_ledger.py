"""The ledger of runs that were kept: in shares, resumed, with stages and repeats, or without what it needs."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from tests.conftest import Project
from tests.pipeline.test_one_place import CONFTEST, STAGES, World, worlds
from tests.repository import git


def served(project: Project, world: World, *failing: str) -> None:
    (project.path / "world.json").write_text(json.dumps({**world._asdict(), "failing": failing}))


def judged(project: Project, *arguments: str) -> dict[str, Any]:
    project.run("-q", *arguments)
    (result,) = project.data["suites"]
    queries = {query["id"]: query["fates"] for query in result["queries"]}
    return {"queries": queries, "counts": result["fates"]["counts"]}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(int(os.environ.get("IRQUALITY_PLACES", "6"))))
def test_shares_that_were_resumed_have_the_ledger_of_one_run(
    seed: int, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)  # there no corpus is read that is not committed
    draw = random.Random(seed)
    then, now = worlds(draw)
    project.conftest(CONFTEST.format(stages=draw.choice(STAGES), texts=""))
    corpus = "\n".join(map(json.dumps, then.chunks)) + "\n"
    (project.path / "chunks.jsonl").write_text(corpus)
    repeat = len(then.results["q0"])
    suite = {"match": "text", "top_k": 3, "depth": 8, "repeat": repeat, "metrics": ["recall@3"],
             "queries": [{"query": query, "relevant": some} for query, some in then.passages.items()],
             **({"corpus": {"files": "chunks.jsonl"}} if draw.random() < 0.5 else {})}  # fmt: skip
    project.suite(json.dumps(suite))
    git(project.path, "init", "-q")
    git(project.path, "add", "conftest.py")
    git(project.path, "commit", "-qm", "search")
    served(project, then)
    whole = judged(project, "--ir-save-runs=whole")
    for share in ("1/2", "2/2"):
        saved = f"--ir-save-runs=shares,resume,shard={share}"
        served(project, then, *draw.sample([*then.passages], 3))
        project.run("-q", saved)
        served(project, then)
        project.run("-q", saved)
    assert judged(project, "--ir-runs=shares") == whole

    (project.path / "chunks.jsonl").write_text("\n".join(map(json.dumps, now.chunks)) + "\n")
    served(project, World(then.passages, now.chunks, now.results, now.stages))
    compared = judged(project, "--ir-baseline=whole")
    assert judged(project, "--ir-baseline=shares") == compared
    for query, fates in compared["queries"].items():
        first = {id: fate for id, fate, _ in whole["queries"][query]}
        for id, _, before in fates:
            known = first[id] in ("found", "further down", "in stage")
            assert before == first[id] or not known, (query, id)
    before = {one["fate"]: one["before"] for one in compared["counts"]}
    assert before["not in the corpus"] is None


SHOP = """
import os
TEXTS = {"a": "refunds are paid within 14 days of receipt", "b": "write to the shop", "c": "vouchers are valid"}
class Shop:
    def search(self, query, k):
        return [{"id": id, "text": TEXTS[id]} for id in (os.environ["ORDER"])][:k]
    def candidates(self, query, k):
        return [{"id": id, "text": TEXTS[id]} for id in "abc"]
@pytest.fixture
def retriever(): return Shop()
"""


def test_a_run_that_knows_no_stages_leaves_them_unknown(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in TREC's format: no stage is counted 0."""
    project.suite(
        "top_k: 2\ndepth: 3\nmetrics: [recall@2]\nqueries: [{query: vouchers, relevant: [c, a]}]\n"
    )
    project.conftest(SHOP)
    monkeypatch.setenv("ORDER", "abc")
    project.run("--ir-save-runs=old.run")
    monkeypatch.setenv("ORDER", "cb")
    compared = judged(project, "--ir-baseline=old.run")
    assert compared["queries"] == {
        "vouchers": [["a", "in stage", "found"], ["c", "found", "further down"]],
    }
    before = {one["fate"]: one["before"] for one in compared["counts"]}
    assert (before["found"], before["further down"]) == (1, 1)
    assert {before[fate] for fate in ("in stage", "in no stage", "not in the corpus")} == {None}
