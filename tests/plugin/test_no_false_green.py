"""A pass that says less than it seems to is red, or says so in its last line and where every report begins."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_irquality import check
from tests.conftest import QUIET, Project
from tests.repository import git

NOTHING = "@pytest.fixture\ndef retriever(): return lambda query: []\n"
GOOD = "@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n"
NEGATIVE = [
    "queries: [{query: a, must_not_find: [x]}, {query: b, must_not_find: [x]}]\n",
    "queries: [{query: a, expect_no_results: true}]\n",
    "each_query: {must_not_find: [x]}\nqueries: [{query: a, expect_no_results: true}, {query: b, relevant: [d1]}]\n",
]


@pytest.mark.parametrize("text", NEGATIVE)
@pytest.mark.usefixtures("pages")
def test_an_engine_that_is_down_passes_no_suite_of_prohibitions(
    project: Project, text: str
) -> None:
    project.suite(text)
    project.conftest(NOTHING)
    result = project.run("-v", "--ir-markdown=out.md")
    assert result.ret == 1
    assert result.parseoutcomes().keys() == {"passed"}
    result.stdout.fnmatch_lines(
        [
            "*nothing was returned for any query, and every check holds: an engine that is down would pass*",
            "✗ FAILED  shop (shop.ir.yaml): Nothing was returned, and no check noticed: *",
        ]
    )
    assert project.data["outcome"] == "failed"
    for name in ("out.md", "ir-report.html"):
        assert "Nothing was returned, and no check noticed" in (project.path / name).read_text("utf-8")  # fmt: skip


def test_one_result_or_a_rule_that_breaks_is_enough_to_notice(project: Project) -> None:
    project.suite(NEGATIVE[0])
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1'] if query == 'a' else []\n")  # fmt: skip
    assert project.run().ret == 0
    # Where the suite as a whole would notice, a part of it that would not is no failure.
    project.suite("queries: [{query: a, expect_no_results: true}, {query: b, must_find: [d1]}]\n")
    project.conftest(NOTHING)
    assert project.run("shop.ir.yaml::a").ret == 0
    for share in ("1/2", "2/2"):
        result = project.run(f"--ir-save-runs=kept,shard={share}")
        assert result.ret == ("failed" in result.parseoutcomes())


def test_a_known_issue_that_is_broken_anyway_notices_nothing(project: Project) -> None:
    known = "  - {query: b, must_find: [d1], known_issue: S-1}\n"
    project.suite(f"queries:\n  - {{query: a, must_not_find: [d9]}}\n{known}")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d2']\n")
    assert project.run().ret == 0
    project.conftest(NOTHING)
    result = project.run()
    assert result.ret == 1
    assert "Nothing was returned, and no check noticed" in result.stdout.str()


def test_python_says_it_too(tmp_path: Path) -> None:
    (tmp_path / "shop.ir.yaml").write_text(NEGATIVE[0])
    result = check(tmp_path / "shop.ir.yaml", lambda query: [])
    assert result.failed
    with pytest.raises(AssertionError, match="Nothing was returned, and no check noticed"):
        result.raise_for_failures()


# -- a kept run ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("pages")
def test_a_kept_run_says_of_which_commit_it_is_and_how_old(project: Project) -> None:
    project.suite("queries: [{query: a, must_find: [d1]}]\n")
    project.conftest(GOOD)
    git(project.path, "init", "-q")
    git(project.path, "add", "shop.ir.yaml", "conftest.py")
    git(project.path, "commit", "-qm", "one")
    first = git(project.path, "rev-parse", "HEAD")[:7]
    project.run("--ir-save-runs=kept")
    kept = project.path / "kept" / "shop.jsonl"
    header, rest = kept.read_text("utf-8").split("\n", 1)
    old = {**json.loads(header), "time": "2020-01-01T00:00:00Z"}
    kept.write_text(f"{json.dumps(old)}\n{rest}", encoding="utf-8")
    result = project.run("--ir-runs=kept")
    assert result.ret == 0
    result.stdout.re_match_lines([rf".*a kept run is judged, of commit {first}, \d years old$"])
    result.stdout.no_fnmatch_line("*the kept run is of*")
    (project.path / "conftest.py").write_text("# another\n" + (project.path / "conftest.py").read_text())  # fmt: skip
    git(project.path, "commit", "-qam", "two")
    second = git(project.path, "rev-parse", "HEAD")[:7]
    result = project.run("--ir-runs=kept")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [f"✓ passed  shop *, but the kept run is of commit {first}, and here is {second}*"]
    )
    assert f"here is {second}" in (project.path / "ir-report.html").read_text("utf-8")


def test_a_trec_run_cannot_say(project: Project) -> None:
    project.suite("queries: [{query: a, must_find: [d1]}]\n")
    project.conftest(GOOD)
    (project.path / "shop.run").write_text("a Q0 d1 1 1 t\n")
    result = project.run("--ir-runs=shop.run")
    result.stdout.fnmatch_lines(["*a run in TREC's format is judged: it says neither its commit*"])


# -- a rank that nothing breaks ---------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["must_find", "must_find_any"])
def test_a_rank_far_down_must_be_meant(project: Project, rule: str) -> None:
    project.conftest(GOOD)
    text = f"queries:\n  - {{query: b, relevant: [d1]}}\n  - {{query: a, {rule}: {{d1: 100000}}}}\n"
    project.suite(text)
    result = project.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        [
            "*shop.ir.yaml:3:5: 'a' may be found at rank 100000, and without a 'depth' at most 1,000 *"
        ]
    )
    project.suite(f"depth: 100000\n{text}")
    assert project.run().ret == 0
    project.suite(f"depth: 50000\n{text}")
    assert project.run().ret == 2
    project.suite(text.replace("100000", "1000"))
    assert project.run().ret == 0


# -- commands that can be pasted --------------------------------------------------------------------


@pytest.mark.parametrize("retrievers", [(), ("x", "y z")])
def test_commands_to_run_again_can_be_pasted_beside_foreign_parameters(
    project: Project, retrievers: tuple[str, ...]
) -> None:
    project.suite("queries: [{query: a, must_find: [d9]}]\n")
    params = f"params={list(retrievers)!r}" if retrievers else ""
    project.conftest(
        "@pytest.fixture(params=[1, 2], autouse=True)\ndef unrelated(request): pass\n"
        f"@pytest.fixture({params})\ndef retriever(): return lambda query: ['d1']\n"
    )
    project.pytester.runpytest("--ir-suite", "--ir-markdown=out.md")
    commands = re.findall(r"· `pytest --ir-suite '?(shop.ir.yaml::[^'`\n]+)", (project.path / "out.md").read_text("utf-8"))  # fmt: skip
    assert len(commands) == max(1, len(retrievers))
    for node in commands:
        project.pytester.runpytest(node, *QUIET).assert_outcomes(failed=1)


# -- what stands beside a failure ---------------------------------------------------------------------


@pytest.mark.usefixtures("pages")
def test_a_page_that_failed_carries_what_a_pass_would(project: Project) -> None:
    project.suite(
        "errors: {max: 9}\nqueries:\n  - {query: a, must_find: [d9]}\n"
        "  - {query: b, relevant: [d1]}\n  - {query: c, relevant: [d1], weight: 0}\nmetrics: [p@1]\n"
    )
    project.conftest(
        "@pytest.fixture\ndef retriever():\n    def ask(query):\n"
        "        if query == 'b': raise OSError('down')\n        return ['d1']\n    return ask\n"
    )
    result = project.run("--ir-markdown=out.md")
    assert result.ret == 1
    said = "nothing was compared; 1 query has weight 0"
    result.stdout.fnmatch_lines([f"✗ FAILED  shop (*): *1 query had no answer*; {said}"])
    for name in ("out.md", "ir-report.html"):
        assert said in (project.path / name).read_text("utf-8")[:60_000]


@pytest.mark.usefixtures("pages")
def test_the_last_line_of_several_suites_carries_what_each_of_them_would(project: Project) -> None:
    for name in ("one", "two"):
        project.suite("queries: [{query: a, relevant: [d1], must_find: [d1]}]\n", f"{name}.ir.yaml")
    project.suite("queries: [{query: a, relevant: [d1], must_find: [d1], weight: 0}]\n", "three.ir.yaml")  # fmt: skip
    project.conftest(GOOD)
    result = project.run("--ir-markdown=out.md")
    said = (
        "3 suites passed, but nothing was compared (one, three, two), 1 query has weight 0 (three)"
    )
    result.stdout.fnmatch_lines([f"✓ {said}"])
    assert (project.path / "out.md").read_text("utf-8").startswith(f"## ✓ {said}\n")
    page = (project.path / "ir-report.html").read_text("utf-8")
    assert "nothing was compared (one, three, two), 1 query has weight 0 (three)" in page
