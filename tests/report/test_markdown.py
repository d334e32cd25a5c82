"""The Markdown report and GitHub's annotations: what they say, and that no text can break out of its place."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from pytest_irquality.report.annotations import github_annotations
from pytest_irquality.report.markdown import LONGEST, markdown_report
from pytest_irquality.verdict.facts import Cause, Finding, Remark
from pytest_irquality.verdict.result import Verdict
from tests.conftest import Project
from tests.report.made import HOSTILE, check, compared, floor, moved, query, suite

NOW = datetime(2026, 1, 3, 12, tzinfo=timezone.utc)


def test_verdict_limits_queries_and_the_documents_that_moved() -> None:
    text = markdown_report([compared()], now=NOW)
    lines = text.splitlines()
    assert lines[0] == "## ✗ FAIL — 1 limit, 1 query"
    assert (
        "1 of 3 compared queries are unchanged in ndcg@10, 1 worse, 1 better; 1 query is new"
        in text
    )
    assert "| ✗ | ndcg@10 | 0.733 | 0.650 | drop ≤ 0.020 | 3 | changed by −0.083" in text
    assert (
        "| ✗ | desk | 0.500 | 0.750 | banned must not be in the top 3: it is at rank 3 |" in lines
    )
    assert "| · | office chair | 0.900 | 0.400 | lost Lost one (was 2) and 1 more moved |" in lines
    assert "<details><summary>desk</summary>" in lines
    assert "| 2 | best The best one | ▼ was 1 | 3 ✓ |" in lines
    assert "| ✗ | lost Lost one | left the index, was 2 | 2 ✓ |" in lines
    assert "- `lost`: no stock" in lines
    assert "shop.ir.yaml:10 · `pytest --ir-suite shop.ir.yaml`" in lines


def test_a_green_run_is_short() -> None:
    text = markdown_report(
        [suite(query("sofa"), verdicts=(check("sofa"), floor(0.9, 0.8, "passed")))]
    )
    assert text.startswith(
        "## ✓ PASS — 1 query, 1 limit holds, but nothing was compared\n\nsuite shop.ir.yaml"
    )
    assert "| ✓ | ndcg@10 | 0.900 | ≥ 0.800 | 20 |" in text
    assert "<details><summary>sofa" not in text


def test_what_a_guard_saw_is_not_what_it_demands() -> None:
    held = Finding("", "lost_all_relevant", True, queries=3)
    guard = Verdict("guard", "each_query: lost_all_relevant", 9, "passed", (held,), "each_query")
    lines = markdown_report([compared(verdicts=(guard,))], now=NOW).splitlines()
    assert "|  | Limit | Before | Now | Demanded | n | Seen |" in lines
    assert (
        "| ✓ | each\\_query: lost\\_all\\_relevant |  |  | — |  | no query of 3 with a baseline did so |"
        in lines
    )


def test_no_text_breaks_out_of_its_place() -> None:
    hostile = (
        f"{HOSTILE} | a `b` ``c`` *d* _e_ [f](javascript:alert(1)) </details>\n\n# g\r\n```\n| h |"
    )
    ids = tuple(f"{hostile} {n}" for n in range(3))
    made = compared(
        *(moved(id, 0.9, 0.1, tags=(hostile,), remarks={"why": hostile}, check=hostile) for id in ids),
        verdicts=(check(ids[0], "failed"), floor(0.5, 0.8, "failed", label=hostile)),
        suite=hostile, path=hostile, retriever=hostile, facts=(Remark(hostile),),
    )  # fmt: skip
    text = markdown_report([made, made], not_evaluated=[hostile], now=NOW)
    assert not re.search("[\x1b\u202e]", text)
    tokens = [
        token
        for block in MarkdownIt("commonmark").enable("table").parse(text)
        for token in (block, *(block.children or ()))
    ]
    html = "".join(token.content for token in tokens if token.type.startswith("html"))
    tags = re.findall(r"<[^>]*>", html)
    assert set(tags) == {"<details>", "</details>", "<summary>", "</summary>"}
    assert tags.count("<details>") == tags.count("</details>") == 8
    assert {token.type for token in tokens}.isdisjoint(
        {"fence", "code_block", "link_open", "em_open", "image"}
    )
    headings = [
        tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"
    ]
    assert [heading[0] for heading in headings] == ["✗"] * 3
    assert (
        len({token.type for token in tokens} & {"table_open", "bullet_list_open", "code_inline"})
        == 3
    )


def test_it_stays_under_what_github_takes_whatever_the_run() -> None:
    long = "x|`<" * 3000
    queries = [
        moved(f"{long} {n}", 0.9, 0.1, tags=(f"t{n}",), remarks={"why": long}) for n in range(200)
    ]
    made = compared(
        *queries,
        verdicts=tuple(check(q.id, "failed") for q in queries),
        facts=(Remark(long),) * 300,
    )
    text = markdown_report([made] * 12, now=NOW)
    assert len(text) < LONGEST
    assert text.endswith("The rest is in the HTML report.\n")
    assert text.count("<details>") == text.count("</details>")


def test_at_most_ten_queries() -> None:
    made = compared(*(moved(f"q{n}", 0.9, 0.1) for n in range(14)))
    text = markdown_report([made], now=NOW)
    assert len(re.findall(r"<summary>q\d+</summary>", text)) == 10
    assert "4 more queries failed or got worse." in text


# -- annotations -------------------------------------------------------------------------------------------------------


def test_annotations_stand_on_the_line_of_the_suite_file(tmp_path: Path) -> None:
    warned = Finding("", "warn_below", False, False, "judged@10", 0.4, 0.8, 20)
    made = suite(
        query("a", fault="100 %\nsecond line \x1b[31m"),
        causes=(Cause("100 %\nsecond line \x1b[31m", ("a",)),),
        path="shop.ir.yaml",
        retriever="bm25",
        verdicts=(
            check("a, b: c", "error", unanswered=("a",)),
            floor(0.5, 0.8, "failed"),
            check("known", "known"),
            Verdict("judged-10", "judged@10", 7, "passed", (warned,), "suite"),
        ),
    )
    folder = tmp_path / "search"
    folder.mkdir()
    assert list(github_annotations([made], folder, tmp_path)) == [
        "::error file=search/shop.ir.yaml,line=4,title=Shop search [bm25]%3A ndcg@10::ndcg@10 is 0.500, below its floor 0.800",
        "::error file=search/shop.ir.yaml,line=10,title=Shop search [bm25]%3A a%2C b%3A c"
        "::100 %25%0Asecond line ⟨U+001B⟩[31m",
        "::warning file=search/shop.ir.yaml,line=7,title=Shop search [bm25]%3A judged@10::judged@10 is 0.400, below 0.800",
    ]


def test_no_more_annotations_than_github_shows() -> None:
    made = suite(query("a"), verdicts=tuple(check(f"q{n}", "failed") for n in range(30)))
    assert len(list(github_annotations([made], Path()))) == 10


def test_on_github_both_come_by_themselves(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.suite("queries: [{query: a, must_find: [d2]}]\n", "search/shop.ir.yaml")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    summary = project.path / "summary.md"
    summary.write_text("# Before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path.parent))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    result = project.run("--ir-markdown=out/report.md")
    file = f"{project.path.name}/search/shop.ir.yaml"
    assert (
        f"::error file={file},line=1,title=shop%3A a::'a': d2 must be in the top 10: it was not returned"
        in (result.outlines)
    )
    made = (project.path / "out/report.md").read_text(encoding="utf-8")
    assert made.startswith("## ✗ FAIL — 1 query\n")
    assert summary.read_text(encoding="utf-8") == f"# Before\n{made}"
    assert "report: out/report.md" in result.outlines
