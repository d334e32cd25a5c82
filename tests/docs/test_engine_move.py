"""The recipe of a move to another engine, from its settings to its verdict."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ..conftest import Project
from ..servers import Asked, Server, found, served
from .pages import ROOT

PAGE = (ROOT / "docs/recipes/engine.md").read_text("utf-8")
QUERIES = [f"query {n}" for n in range(12)]
ALIKE = {"query 0", "query 1"}  # what these return stays


def old(asked: Asked) -> bytes:
    return found(*(f"{asked.query} old {rank}" for rank in range(3)), f"{asked.query} both")


def new(asked: Asked) -> bytes:
    if asked.query in ALIKE:
        return old(asked)
    return found(f"{asked.query} both", f"{asked.query} new")


@pytest.fixture
def engines(project: Project) -> Iterator[list[Server]]:
    """The project of the page, its two addresses those of two servers."""
    with ExitStack() as stack:
        servers = [stack.enter_context(served(answer)) for answer in (old, new)]
        settings = block("ini", "pytest.ini")
        for port, server in zip(("8080", "8081"), servers, strict=True):
            settings = settings.replace(f"http://127.0.0.1:{port}", server.origin)
        (project.path / "pytest.ini").write_text(settings)
        (project.path / "queries.txt").write_text("\n".join(QUERIES))
        yield servers


def block(language: str, name: str, which: int = 0) -> str:
    found: list[str] = re.findall(rf"```{language}\n# {re.escape(name)}\n(.*?)```", PAGE, re.S)
    return found[which]


def graded(path: Path, good: str) -> list[str]:
    """Fill in the list: one kind of document is right. Gives its queries in their order."""
    rows = [*csv.DictReader(path.read_text("utf-8").splitlines())]
    lines = [f"{row['query']},{row['docid']},{int(good in row['docid'])}\n" for row in rows]
    path.write_text("query,docid,rating\n" + "".join(lines))
    return [*dict.fromkeys(row["query"] for row in rows)]


@pytest.mark.parametrize(("good", "best", "status"), [("both", "new", 0), ("old", "old", 1)])
def test_a_list_to_grade_settles_which_is_better(
    project: Project, engines: list[Server], good: str, best: str, status: int
) -> None:
    project.suite(block("yaml", "move.ir.yaml"), "move.ir.yaml")
    first = project.run("-v", "move.ir.yaml", "--ir-judge=grades.csv")
    assert first.ret == 1
    first.stdout.fnmatch_lines(
        [
            "  measure * new *old",
            "  rbo(p=0.9)@10  0.* over 12  – over 0",  # other is not worse: none is the best
            "*Lowest rbo(p=0.9)@10, the worst of 10:",
            "*10 of 12 (83 %) rankings changed",
            "*to grade: grades.csv: * documents of 12 queries that nobody has graded*",
        ]
    )
    (of_new,) = [suite for suite in project.data["suites"] if suite["retriever"] == "new"]
    by_id = {query["id"]: query for query in of_new["queries"]}
    assert by_id["query 5"]["ranking_before"][0]["id"] == "query 5 old 0"
    assert by_id["query 5"]["ranking"][0]["id"] == "query 5 both"

    # What cannot tell them apart comes last, and what either returned is on the list.
    order = graded(project.path / "grades.csv", good)
    assert {*order[-2:]} == ALIKE
    listed = (project.path / "grades.csv").read_text()
    assert "query 5 new" in listed
    assert "query 5 old 2" in listed

    project.suite(block("yaml", "move.ir.yaml", 1), "move.ir.yaml")
    second = project.run("-v", "move.ir.yaml", "--ir-judge=more.csv")
    assert second.ret == status
    if best == "new":
        (shown,) = re.findall(r"```text\n(Move to .*?)```", PAGE, re.S)
        second.stdout.fnmatch_lines([line.rstrip() for line in shown.splitlines()])
    line = "*ndcg@10  * ★  * (* worse, 0 better)"
    if best == "old":
        line = "*ndcg@10  * (* worse, 0 better) * ★"
    second.stdout.fnmatch_lines([line])
    assert (
        not (project.path / "more.csv").exists()
        or "query 5" not in (project.path / "more.csv").read_text()
    )


def test_what_is_unjudged_on_either_side_is_said(project: Project, engines: list[Server]) -> None:
    project.suite(block("yaml", "move.ir.yaml", 1), "move.ir.yaml")
    one_side = "".join(f"{query},{query} old {rank},1\n" for query in QUERIES for rank in range(3))
    (project.path / "grades.csv").write_text("query,docid,rating\n" + one_side)
    project.run("-v", "move.ir.yaml").stdout.fnmatch_lines(
        ["*22 of 28 (79 %) results in the top 10 are not judged; 12 of 48 (25 %) in the baseline*"]
    )
