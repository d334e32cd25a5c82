"""A stranger's pull request, which changes data alone, through pytest: one clear line each, and nothing happens."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Project

SUITE = "queries: [{query: a, relevant: [d1], must_find: [d1]}]\n"
GOOD = "@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n"
HEADER = {"format": "pytest-irquality run", "format_version": 2, "suite": "shop", "path": "shop.ir.yaml", "depth": 10}  # fmt: skip
LINE = {"id": "a", "query": "a", "docs": [["d1", 1.0, "One"]]}
END = {"end": "pytest-irquality run"}
BASELINE = ".ir-baseline/shop.jsonl"


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest(GOOD)
    return project


@pytest.mark.parametrize(
    "text",
    [
        "queries: {file: /etc/passwd, format: text}\n",
        "queries: {file: ../secret.txt, format: text}\n",
        "queries: {file: link.txt, format: text}\n",
        "queries: {file: up/secret.txt, format: text}\n",
        "queries: '../*.txt'\n",
        "queries: [{query: a}]\njudgments: /etc/passwd\n",
        "queries: {file: /proc/self/environ, format: text}\n",
        "queries: {file: /dev/zero, format: text}\n",
    ],
)
def test_a_suite_reads_nothing_outside_the_project(shop: Project, text: str) -> None:
    (shop.path / "inside").mkdir()
    (shop.path / "secret.txt").write_text("secret words\n")
    (shop.path / "inside" / "link.txt").symlink_to("../secret.txt")
    (shop.path / "inside" / "up").symlink_to("..")
    shop.suite(text, "inside/shop.ir.yaml")
    os.chdir(shop.path / "inside")
    result = shop.run("--rootdir=.", "shop.ir.yaml")  # else pytest follows "up", again and again
    assert result.ret == 2
    assert "secret words" not in result.stdout.str()
    assert "root:" not in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    lines = [line for line in result.outlines if "shop.ir.yaml:" in line]
    assert any("the project" in line or "regular file" in line for line in lines), lines


def test_the_ini_file_may_allow_a_folder_outside(shop: Project) -> None:
    outside = shop.path.parent / "shared-queries"
    outside.mkdir(exist_ok=True)
    (outside / "q.txt").write_text("a\n")
    shop.suite(f"queries: {{file: '{outside}/q.txt', format: text}}\n")
    assert shop.run().ret == 2
    shop.pytester.makeini(f"[pytest]\nir_files = ../{outside.name}\n")
    assert shop.run().ret == 0


@pytest.mark.parametrize("target", ["/dev/zero", "../gone/shop.jsonl", "/etc/passwd", "."])
def test_a_baseline_that_is_a_link_out_is_neither_read_nor_written(
    shop: Project, target: str
) -> None:
    (shop.path / BASELINE).parent.mkdir()
    inside = shop.path / "credentials.json"
    inside.write_text('{"token": "s3cr3t"}\n')
    outside = f"../../{Path(target).parent.name}/x" if target != "." else "../credentials.json"
    (shop.path / BASELINE).symlink_to(target if target.startswith("/") else outside)
    for option in ((), ("--ir-update-baseline",)):
        result = shop.run(*option)
        assert result.ret == 2
        assert "leads outside .ir-baseline/" in result.stdout.str()
        assert "Traceback" not in result.stdout.str()
        assert "s3cr3t" not in result.stdout.str()
    assert inside.read_text() == '{"token": "s3cr3t"}\n'
    assert not (shop.path.parent / "gone").exists()


@pytest.mark.usefixtures("pages")
def test_a_default_report_that_is_a_link_out_is_not_written_through(shop: Project) -> None:
    outside = shop.path.parent / "outside.html"
    (shop.path / "ir-report.html").symlink_to(outside)
    shop.run().stdout.fnmatch_lines(["NOT WRITTEN: ir-report.html: *leads out of the project"])
    assert not outside.exists()


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ({"commit": 5}, {}),
        ({"shard": 5}, {}),
        ({"retriever": []}, {}),
        ({"suite": "x" * 10_000}, {}),
        ({"depth": 10**9}, {}),
        ({"depth": True}, {}),
        ({"depth": 0}, {}),
        ({}, {"docs": [["d1", float("nan")]]}),
        ({}, {"docs": [["d1", int("9" * 400)]]}),
        ({}, {"docs": [["d1", 1e300]]}),
        ({}, {"docs": [[["d1"]]]}),
        ({}, {"docs": {"d1": 1}}),
        ({}, {"docs": [[None, 1.0]]}),
        ({}, {"seconds": 1e300}),
        ({}, {"seconds": "1"}),
        ({}, {"version": 7}),
        ({}, {"params": [1]}),
        ({}, {"id": 5}),
        ({}, {"query": None}),
    ],
)
def test_a_hostile_baseline_is_one_line_with_its_place(
    shop: Project, header: dict[str, object], line: dict[str, object]
) -> None:
    path = shop.path / BASELINE
    path.parent.mkdir()
    lines = [{**HEADER, **header}, {**LINE, **line}, END]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    result = shop.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"*{BASELINE}:{2 if line else 1}: *"])
    assert "Traceback" not in result.stdout.str()
    assert "pytest_irquality/" not in result.stdout.str()


@pytest.mark.parametrize("score", ["inf", "1e400", "1e39", "nan", "-1e39"])
def test_a_hostile_trec_run_is_one_line(shop: Project, score: str) -> None:
    (shop.path / "shop.run").write_text(f"a Q0 d1 1 {score} t\n")
    result = shop.run("--ir-runs=shop.run")
    assert "Traceback" not in result.stdout.str()
    if score == "nan":
        assert result.ret == 2
        result.stdout.fnmatch_lines(["*shop.run:1: the score 'nan' is no number*"])
    else:  # infinite to trec_eval, and a number in our reports
        assert result.ret == 0
        assert shop.outcomes() == {"a": "passed"}


def test_nothing_speaks_to_ci_or_moves_a_cursor(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    evil = r"\n::error::forged ##[group]x \e[2J ::stop-commands::k"
    shop.suite(
        f'suite: "::stop-commands::k{evil}"\nqueries:\n'
        f'  - {{query: "{evil}", tags: ["{evil}"], why: "{evil}", must_find: ["{evil}"]}}\n'
        f'  - {{query: b, must_find: [x], known_issue: "::stop-commands::k{evil}"}}\n'
        f'  - {{query: c, relevant: [y]}}\ntags: {{"{evil}": {{mrr: 0.5}}}}\n'
    )
    shop.conftest(
        "@pytest.fixture\ndef retriever():\n    def ask(query):\n"
        "        if query == 'c': raise SystemExit('::error::x\\n::error::forged\\x1b[2J ##[x]')\n"
        "        return [{'id': 'd', 'title': '::error::t\\x1b[2J'}]\n    return ask\n"
    )
    result = shop.run("-v", "-rA")
    said = [line for line in result.outlines if line.lstrip().startswith("::")]
    assert said
    assert all(line.startswith(("::error file=", "::warning file=")) for line in said)
    assert "##[" not in result.stdout.str()
    assert "\x1b" not in result.stdout.str()


def test_half_a_surrogate_pair_survives_every_report(shop: Project) -> None:
    line = r'{"query": "a\ud800", "id": "a", "relevant": ["d1"], "must_find": ["d9"]}'
    (shop.path / "q.jsonl").write_text(line + "\n")
    shop.suite("queries: q.jsonl\nthresholds: {mrr: 0.5}\n")
    shop.conftest(
        "@pytest.fixture\ndef retriever(): return lambda query: [{'id': 'd1\\ud800', 'title': '\\udfff'}, {'id': 'd1'}]\n"
    )
    result = shop.run("--ir-markdown=r.md", "--ir-judge=u.csv", "--ir-save-runs=kept", "--ir-update-baseline")  # fmt: skip
    assert result.ret == 1
    assert shop.outcomes() == {"a": "failed", "mrr-10": "passed", "every-query-answered": "passed"}
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert "NOT WRITTEN" not in result.stdout.str()
    assert shop.run("--ir-runs=kept").ret == 1
    assert shop.outcomes()["mrr-10"] == "passed"


def test_formulas_in_what_is_to_be_judged_come_back_as_they_were(shop: Project) -> None:
    shop.suite("queries: [{query: '=1+1', relevant: [d1]}]\n")
    shop.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['@d9', \"'=d8\", 'd7']\n")  # fmt: skip
    shop.run("--ir-judge=todo.csv")
    text = (shop.path / "todo.csv").read_text(encoding="utf-8")
    assert not any(cell[:1] in "=+-@" for line in text.splitlines() for cell in line.split(",") if cell)  # fmt: skip
    (shop.path / "todo.csv").write_text(text.replace(",,", ",1,"), encoding="utf-8")
    shop.suite("queries: ['todo.csv']\n")
    shop.run()
    (query,) = shop.data["suites"][0]["queries"]
    assert query["text"] == "=1+1"
    assert {d["id"]: d["grade"] for d in query["ranking"]} == {"@d9": 1, "'=d8": 1, "d7": 1}


def test_a_million_names_fill_no_log(shop: Project) -> None:
    many = ", ".join(f"d{n}" for n in range(2, 3000))
    shop.suite(f"queries: [{{query: a, relevant: [{many}], must_find: [{many}]}}]\n")
    result = shop.run("--ir-markdown=out.md")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["  and 2*978 more, all in the report", "  expected, but not above, the first 20 of 2*998:"]
    )
    assert len(result.outlines) < 120
    assert len((shop.path / "out.md").read_text("utf-8").splitlines()) < 300
