"""The Markdown report and GitHub's annotations: what they say, and that no text can break out of its place."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from pytest_irquality.report.annotations import github_annotations
from pytest_irquality.report.markdown import LONGEST, markdown_report
from pytest_irquality.verdict.facts import Remark, Unanswered
from pytest_irquality.verdict.findings import Cause, Finding
from pytest_irquality.verdict.result import Verdict
from tests.conftest import Project
from tests.report.made import HOSTILE, check, compared, floor, moved, query, suite

NOW = datetime(2026, 1, 3, 12, tzinfo=timezone.utc)


def test_verdict_limits_queries_and_the_documents_that_moved() -> None:
    text = markdown_report([compared()])
    lines = text.splitlines()
    assert lines[:3] == [
        "## ✗ Search got worse",
        "",
        "1 of 1 query broke a rule, 1 of 1 limit broken",
    ]
    assert "**1 worse, 1 better, 1 unchanged**; the mean fell 0.733 → 0.650." in lines
    assert (
        "| office chair | −0.500 | 0.900 → 0.400 | lost 2 → left the index, best 1 → 2 |"
    ) in lines
    assert "✗ ndcg@10 0.733 → 0.650 drop ≤ 0.02" in lines
    assert text.index("office chair") < text.index("<details>") < text.index("drop ≤ 0.02 |")
    assert "<details><summary>desk</summary>" in lines
    assert "- ✗ banned must not be in the top 3: it is at rank 3" in lines
    assert "| 2 | 1 | 3 ✓ | The best one | best |  |" in lines
    assert "| – | 2 | 2 ✓ | Lost one | lost | ← left the index |" in lines
    assert "shop.ir.yaml:10 · `pytest --ir-suite shop.ir.yaml`" in lines


def test_a_green_run_is_short() -> None:
    text = markdown_report(
        [suite(query("sofa"), verdicts=(check("sofa"), floor(0.9, 0.8, "passed")))]
    )
    assert text.startswith(
        "## ✓ Search is as good as demanded\n\n1 query, 1 limit holds, but nothing was compared\n"
    )
    assert "| ndcg@10 | 0.900 | ≥ 0.8 | ✓ | 1 |" in text
    assert "<details><summary>sofa" not in text


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
    text = markdown_report([made, made], not_evaluated=[hostile])
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
    assert [heading[0] for heading in headings] == ["✗"]
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
    text = markdown_report([made] * 12)
    assert len(text) < LONGEST
    assert "The rest is in the HTML report." in text[-100:]
    assert text.count("<details>") == text.count("</details>")


def test_at_most_ten_queries() -> None:
    made = compared(*(moved(f"q{n}", 0.9, 0.1) for n in range(14)))
    text = markdown_report([made])
    assert len(re.findall(r"<summary>q\d+</summary>", text)) == 10
    assert "4 more queries failed or got worse." in text


def test_a_rule_that_an_unchanged_ranking_breaks_shows_that_ranking(project: Project) -> None:
    project.suite("queries: [{query: chair, relevant: [d1], must_find: {d3: 1}}]")
    project.answers({"chair": ["d1", "d2", "d3"]})
    project.run("--ir-update-baseline")
    project.run("--ir-markdown=report.md")
    text = (project.path / "report.md").read_text("utf-8")
    assert "none of 1 rankings changed" in text
    assert "| 3 | 3 | unjudged | d3 |" in text


# -- annotations -------------------------------------------------------------------------------------------------------


def test_annotations_stand_on_the_line_of_the_suite_file(tmp_path: Path) -> None:
    warned = Finding("", "warn_below", False, False, "judged@10", 0.4, 0.8, 20)
    made = suite(
        query("a", fault="100 %\nsecond line \x1b[31m"),
        causes=(Cause("100 %\nsecond line \x1b[31m", ("a",)),),
        facts=(Unanswered(("a",), 1, 0),),
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
    causes, *rest = github_annotations([made], folder, tmp_path)
    assert causes.startswith(
        "::error file=search/shop.ir.yaml,line=1,title=Shop search [bm25]::Search is not good enough: "
    )
    assert (
        "%0A1 of 1 (100 %25) queries had no answer and are in no figure ('a'): 100 %25%0Asecond line"
        in causes
    )
    assert rest == [
        "::error file=search/shop.ir.yaml,line=4,title=Shop search [bm25]%3A ndcg@10::ndcg@10 is 0.500, below its floor 0.800",
        "::error file=search/shop.ir.yaml,line=10,title=Shop search [bm25]%3A a%2C b%3A c"
        "::100 %25%0Asecond line ⟨U+001B⟩[31m",
        "::warning file=search/shop.ir.yaml,line=7,title=Shop search [bm25]%3A judged@10::judged@10 is 0.400, below 0.800",
    ]


def test_no_more_annotations_than_github_shows() -> None:
    made = suite(query("a"), verdicts=tuple(check(f"q{n}", "failed") for n in range(30)))
    lines = list(github_annotations([made, replace(made, path="other.ir.yaml")], Path()))
    assert len(lines) == 10


def test_annotations_name_the_worst_of_all_suites_first() -> None:
    slight = compared(moved("a", 0.9, 0.8), verdicts=(check("a", "failed"),), path="a.ir.yaml")
    grave = compared(moved("b", 0.9, 0.1), verdicts=(check("b", "failed"),), path="b.ir.yaml")
    titles = [
        line.split("title=")[1].split("::")[0]
        for line in github_annotations([slight, grave], Path())
    ]
    assert titles[2:] == [f"Shop search%3A {name}" for name in ("ndcg@10", "ndcg@10", "b", "a")]
    assert ["file=b" in line for line in github_annotations([slight, grave], Path())][:3] == [
        True,
        False,
        True,
    ]


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
        f"::error file={file},line=1,title=shop%3A a::d2 must be in the top 10: it was not returned"
        in (result.outlines)
    )
    made = (project.path / "out/report.md").read_text(encoding="utf-8")
    assert made.startswith("## ✗ Search is not good enough\n")
    assert summary.read_text(encoding="utf-8") == f"# Before\n{made}"
    assert "report: out/report.md" in result.outlines
