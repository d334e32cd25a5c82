"""Payloads of strangers: files that are none, numbers without end, texts that act. One clear line each."""

from __future__ import annotations

import gzip
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_irquality import SuiteError, load_suite
from tests.conftest import Project
from tests.repository import git

SUITE = "queries: [{query: a, relevant: [d1], must_find: [d1]}]\nthresholds: {mrr: 0.9}\n"
GOOD = "@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n"
PATIENCE = 20.0
"""Seconds of our own work, in which anything here is done on a slow machine. The clock on the wall is not asked."""


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest(GOOD)
    return project


def one_line(path: Path, text: str) -> str:
    """What is said of a suite, "" where it is read."""
    path.write_text(text, encoding="utf-8")
    start = time.process_time()
    try:
        load_suite(path, shown=path.name)
    except SuiteError as error:
        said = str(error)
        assert re.fullmatch(r"s\.ir\.yaml:\d+:\d+: .{1,600}", said), said
    else:
        said = ""
    assert time.process_time() - start < PATIENCE
    return said


# -- numbers and sizes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("top_k: 1e18", "at most 100000"),
        ("top_k: 1000000000000000000", "at most 100000"),
        ("repeat: 1000000000", "at most 1000"),
        ("concurrency: 1000000000", "at most 1000000"),
        ("retry: {times: 1000000000}", "at most 1000000"),
        ("top_k: 1000000000", "at most 100000"),
        (f'metrics: ["ndcg{" " * 16_000}x"]', "a measure's name longer than 1000"),
        (f"metrics: [ndcg@{'9' * 5_000}]", "a measure's name longer than 1000"),
        (f"metrics: ['ndcg{'(' * 100_000}']", "a measure's name longer than 1000"),
        (f"params: {{a: {':'.join('1' * 20_000)}}}", "a number longer than 400"),
        (f"params: {{a: 0x{'f' * 6_000}}}", "a number longer than 400"),
        (f"params: {{a: 0b{'1' * 6_000}}}", "a number longer than 400"),
        (f"params: {{a: 1{'_0' * 6_000}}}", "a number longer than 400"),
        (f"timeout: {'9' * 10_000}s", "is a duration with its unit"),
        (f"thresholds: {{mrr: {'9' * 10_000}%}}", "must be a number"),
        ("grades: {good: 1e308}", "must be a number"),
        (f"params: {{a: {'[' * 39}{']' * 39}}}", "nested deeper than 40 levels"),
        ("<<: {top_k: 3}", "unknown key '<<'"),
        ("show: &a [x]\nmetrics: *a", "aliases"),
        (f"{'k' * 2_000_000}: 1", "not YAML"),
        ("---\n" * 100_000, "one document"),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_a_value_without_end_is_one_line(tmp_path: Path, line: str, said: str) -> None:
    assert said in one_line(tmp_path / "s.ir.yaml", f"queries: [{{query: a, relevant: [d]}}]\n{line}\n")  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [
        lambda: f"queries:\n  - query: a\n    relevant: [{','.join(f'd{n}' for n in range(200_000))}]\n",
        lambda: "queries:\n" + "".join(f"  - {{query: 'a{'?' * (n % 7)} {n // 7}!', must_find: [d]}}\n" for n in range(8_000)),
        lambda: "queries:\n" + "".join(f"  - {{query: '{'?' * (n + 1)}', must_find: [d]}}\n" for n in range(1_000)),
        lambda: f"queries: [{{query: a, relevant: [d], variants: [{','.join(f'v{n}' for n in range(200_000))}]}}]\n",
        lambda: f"queries: [{{query: {'k' * 5_000_000}, relevant: [d]}}]\n",
        lambda: f"{'#' * 20_000_000}\nqueries: [{{query: a, relevant: [d]}}]\n",
        lambda: f"each_tag: {{mrr: 0.5}}\nqueries: [{{query: a, relevant: [d], tags: [{','.join(f't{n}' for n in range(20_000))}]}}]\n",
    ],
    ids=["relevant", "slugs", "one-slug", "variants", "text", "comment", "tags"],
)  # fmt: skip
def test_much_of_anything_takes_time_by_its_length(tmp_path: Path, make: Callable[[], str]) -> None:
    assert one_line(tmp_path / "s.ir.yaml", make()) == ""


def test_two_largest_weights_stay_finite(shop: Project) -> None:
    shop.suite(
        "queries: [{query: a, relevant: [d1], weight: 1e30}, {query: b, relevant: [d1], weight: 1e30}]\n"
        "thresholds: {weighted mrr: 0.9}\n"
    )
    assert shop.run().ret == 0
    shop.suite("queries: [{query: a, relevant: [d1], weight: 1e308}]\n")
    assert shop.run().ret == 2


# -- files that are none ----------------------------------------------------------------------------


def bomb() -> bytes:
    """A line of 200 MB, packed a thousandfold: parts that a reader joins."""
    return gzip.compress(b"a Q0 d1 1 1 ") + 200 * gzip.compress(b"t" * (1 << 20))


def plant(path: Path, kind: str) -> None:
    path.parent.mkdir(exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "bomb":
        path.write_bytes(bomb())
    elif kind == "endless line":
        with path.open("wb") as file:
            file.truncate(2 << 30)  # sparse: two gigabytes of NUL, and no byte of them on the disk
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(kind)


KINDS = ["fifo", "folder", "endless line", "/dev/zero", "/proc/kmsg", "/etc/passwd", "loop"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_baseline_that_is_no_file_of_the_project(shop: Project, kind: str) -> None:
    path = shop.path / ".ir-baseline" / "shop.jsonl"
    plant(path, path.name if kind == "loop" else kind)
    said = shop.run()
    assert said.ret == 2
    assert "root:" not in said.stdout.str()
    said.stdout.no_fnmatch_line("*Traceback*")
    said.stdout.fnmatch_lines(["*.ir-baseline/shop.jsonl*: *"])


@pytest.mark.parametrize(
    ("name", "kind"),
    [*(("shop.jsonl", kind) for kind in KINDS[:3]), ("shop.run.gz", "bomb"), ("shop.run", "fifo"), ("shop.run", "/dev/zero")],
)  # fmt: skip
def test_a_kept_run_that_is_no_file(shop: Project, name: str, kind: str) -> None:
    plant(shop.path / "kept" / name, kind)
    said = shop.run("--ir-runs=kept")
    assert said.ret == 2
    said.stdout.no_fnmatch_line("*Traceback*")
    assert any("kept" in line and line.startswith(("E ", "FAILED", "ERROR", "shop", "no ", "kept", "'")) for line in said.outlines)  # fmt: skip


@pytest.mark.parametrize("key", ["queries", "judgments"])
@pytest.mark.parametrize("kind", ["fifo", "bomb", "endless line", "/proc/kmsg", "/dev/zero", "/etc/shadow"])  # fmt: skip
def test_a_file_of_a_suite_that_is_none(shop: Project, key: str, kind: str) -> None:
    plant(shop.path / "in" / "x.trec", kind)
    asked = "queries: [{query: a}]\n" if key == "judgments" else ""
    shop.suite(f"{asked}{key}: {{file: in/x.trec, format: {'trec' if asked else 'text'}}}\n")
    said = shop.run()
    assert said.ret == 2
    said.stdout.no_fnmatch_line("*Traceback*")
    assert "root:" not in said.stdout.str()
    said.stdout.fnmatch_lines(["*in/x.trec*: *"])


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside.yaml", "/proc/self/environ"])  # fmt: skip
def test_a_suite_that_is_a_link_out_is_not_read(shop: Project, target: str) -> None:
    (shop.path.parent / "outside.yaml").write_text("secret: words\n")
    (shop.path / "evil.ir.yaml").symlink_to(target)
    said = shop.run()
    assert said.ret == 2
    assert "secret" not in said.stdout.str()
    assert "root:" not in said.stdout.str()
    said.stdout.fnmatch_lines(["*evil.ir.yaml:1:1: leads outside *"])


def test_a_folder_of_baselines_that_is_a_link_out_is_neither_read_nor_written(
    shop: Project,
) -> None:
    outside = shop.path.parent / "elsewhere"
    outside.mkdir(exist_ok=True)
    (shop.path / ".ir-baseline").symlink_to(outside)
    said = shop.run("--ir-update-baseline")
    assert said.ret == 2
    said.stdout.fnmatch_lines(["*the project*"])
    assert list(outside.iterdir()) == []


# -- texts that act -----------------------------------------------------------------------------------

ACTING = (
    "@octocat", "@org/team", "mail@example.org", "https://evil.example/x", "www.evil.example", "#123", "org/repo#5", "gh-7",
    "<img src=x onerror=alert(1)>", "![p](http://evil.example/p.png)", "[l](javascript:alert(1))", "</script><script>alert(1)</script>",
    "::error::forged", "::set-output name=x::y", "##[error]forged", "##vso[task.complete]", "##teamcity[testStarted]",
    "\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\x07", "\r\n::warning::x", "\u202e\u2066", "\ud800", "\x00", "=1+1", "+1", "-1", "@SUM(1)",
    "|a|b|", "`code`", "$math$", "~~~", "```", "&lt;b&gt;",
)  # fmt: skip
LIVE = re.compile(r"(?<![\w\u200b])@(?=[a-z])|https?://(?!\u200b)\w+\.example|<img|<script|\bwww\.evil|\x1b|\x9b|\x07|\u202e|\x00")  # fmt: skip


@pytest.mark.usefixtures("pages")
def test_no_text_acts_in_any_medium(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(shop.path / "summary.md"))
    queries = []
    for n, text in enumerate(ACTING):
        if text == "\ud800":  # which YAML refuses
            continue
        shown = json.dumps(f"{text} {n}")
        queries.append(
            f"  - {{query: {shown}, id: q{n}, tags: [{shown}], why: {shown}, relevant: [{shown}], must_find: [{shown}]}}"
        )
    shop.suite(f"suite: {json.dumps(ACTING[0] + ' ' + ACTING[12])}\nqueries:\n" + "\n".join(queries) + "\n")  # fmt: skip
    shop.conftest(
        f"ACTING = {ACTING!r}\n@pytest.fixture\ndef retriever():\n    def ask(query):\n"
        "        if query.endswith(' 3'): raise OSError(' '.join(ACTING))\n"
        "        return [{'id': f'{text} x', 'title': text} for text in ACTING]\n    return ask\n"
    )
    result = shop.run("--ir-markdown=out.md", "--ir-judge=todo.csv", "-rA", "-v")
    said = result.stdout.str()
    assert result.ret == 1
    assert "INTERNALERROR" not in said
    assert "NOT WRITTEN" not in said
    for character in "\x1b\x9b\x07\x00\u202e\u2066":
        assert character not in said
    commands = [line for line in result.outlines if line.lstrip().startswith("::")]
    assert commands
    assert all(re.match("::(error|warning|notice) file=", line) for line in commands)
    assert not re.search(r"##(\[|vso|teamcity)", said)
    for name in ("out.md", "summary.md"):
        text = (shop.path / name).read_text("utf-8")
        outside_code = re.sub(r"(`+).+?\1", "", text)
        assert not LIVE.search(outside_code), LIVE.search(outside_code)
    page = (shop.path / "ir-report.html").read_text("utf-8")
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    for line in (shop.path / "todo.csv").read_text("utf-8").splitlines()[1:]:
        assert not re.match(r'"?[=+\-@\t\r]', line)


@pytest.mark.usefixtures("pages")
def test_ids_that_look_alike_are_told_apart_in_every_medium(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    shop.suite("queries: [{query: desk, must_find: [sku-a1]}]\n")
    shop.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['sku-\u04301']\n")
    said = shop.run("--ir-markdown=out.md").stdout.str()
    assert "sku-⟨U+0430⟩1" in said
    for name in ("out.md", "ir-report.html"):
        text = (shop.path / name).read_text("utf-8")
        assert "⟨U+0430⟩1" in text
        assert "sku-\u04301" not in text, name
    assert '"sku-\u04301"' in (shop.path / "out.json").read_text(
        "utf-8"
    )  # programs see the id itself


# -- one line, and the good one beside it -------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    ["3", "None", "object()", "'text'", "True", "float('nan')", "{'hits': 3}", "{'hits': {'hits': {}}}", "[[[]], 3]",
     "{'ids': 'x'}", "iter([None])", "[{}]", "[float('inf')]", "lambda: []", "type", "[{'id': {}}]"],
)  # fmt: skip
def test_an_answer_that_is_no_list_is_one_line_and_the_suite_beside_it_is_judged(
    shop: Project, answer: str
) -> None:
    shop.suite("queries: [{query: bad, relevant: [d1]}]\n", "bad.ir.yaml")
    shop.suite("queries: [{query: good, relevant: [d1], must_find: [d1]}]\n", "good.ir.yaml")
    (shop.path / "shop.ir.yaml").unlink(missing_ok=True)
    shop.conftest(
        "@pytest.fixture\ndef retriever():\n"
        f"    return lambda query: ['d1'] if query == 'good' else {answer}\n"
    )
    said = shop.run("-rA")
    text = said.stdout.str()
    assert said.ret == 1
    assert "INTERNALERROR" not in text
    assert "Traceback" not in text
    assert "pytest_irquality/" not in text
    reasons = [line for line in said.outlines if line.startswith("ERROR bad.ir.yaml::bad - ")]
    assert [" cannot read the retriever's result: " in reason for reason in reasons] == [True], text
    said.stdout.fnmatch_lines(["PASSED good.ir.yaml::good*"])


FOREIGN = {
    "SQuAD": {"data": [{"paragraphs": [{"context": "c", "qas": [{"question": "q", "answers": [{"text": "a", "answer_start": {}}]}]}]}]},
    "a list of rows": [1, 2, {"user_input": 3, "reference_contexts": {"text": []}}],
    "a sheet": {"user_input": 3, "reference_contexts": {"text": []}},
}  # fmt: skip


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_with_a_wrong_type_is_one_line_and_the_suite_beside_it_is_judged(
    shop: Project, kind: str
) -> None:
    (shop.path / "shop.ir.yaml").unlink(missing_ok=True)
    (shop.path / "set.json").write_text(json.dumps(FOREIGN[kind]))
    shop.suite("queries: set.json\n", "bad.ir.yaml")
    shop.suite("queries: [{query: good, relevant: [d1], must_find: [d1]}]\n", "good.ir.yaml")
    shop.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d1']\n")
    said = shop.run("-rA", "--continue-on-collection-errors")
    lines = {line.strip(" E") for line in said.outlines if "set.json:" in line}
    assert len(lines) == 1, said.stdout.str()
    assert "Traceback" not in said.stdout.str()
    said.stdout.fnmatch_lines(["PASSED good.ir.yaml::good*"])


# -- git ----------------------------------------------------------------------------------------------


def test_s31_a_planted_repository_commands_escapes_and_an_endless_baseline(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    shop.suite(
        "queries:\n  - query: a\n    relevant: [d1]\n    must_find: [d1]\n"
        '    tags: ["x\\n::stop-commands::k", "##[group]y"]\nthresholds: {mrr: {max_drop: 0.1}}\n',
        "search/shop.ir.yaml",
    )
    shop.suite(SUITE, "other/endless.ir.yaml")
    shop.conftest("@pytest.fixture\ndef retriever(): return lambda query: [{'id': 'd1', 'title': '\\x1b[2Jx'}]\n")  # fmt: skip
    git(shop.path, "init", "-q", "-b", "main")
    git(shop.path, "add", "search", "conftest.py")
    git(shop.path, "commit", "-qm", "base")
    planted = shop.path / "search"
    git(planted, "init", "-q", "--bare", ".")
    (planted / "hooks").mkdir()
    hook = planted / "hooks" / "post-checkout"
    for file in (hook, planted / "hooks" / "reference-transaction", planted / "run"):
        file.write_text(f"#!/bin/sh\ntouch {shop.path}/ran\n")
        file.chmod(0o755)
    (planted / "objects" / "info").mkdir(exist_ok=True)
    (planted / "objects" / "info" / "alternates").write_text("/proc/self/environ\n")
    with (planted / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {planted}/run\n\tpager = {planted}/run\n\thooksPath = {planted}/hooks\n")  # fmt: skip
    plant(shop.path / "other" / ".ir-baseline" / "endless.jsonl", "/dev/zero")
    for options in ((), ("--ir-baseline=git:main",), ("--ir-update-baseline",)):
        result = shop.run(*options)
        said = result.stdout.str()
        assert "Traceback" not in said
        assert "\x1b" not in said
        assert "##[" not in said
        assert all(line.startswith(("::error file=", "::warning file=")) for line in result.outlines if line.lstrip().startswith("::"))  # fmt: skip
    assert not (shop.path / "ran").exists()
    assert (shop.path / "other" / ".ir-baseline" / "endless.jsonl").is_symlink()
