"""A skip in a call leaves that query out, and hides nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import QUIET, Project
from tests.repository import git

SUITE = (
    "queries:\n  - {query: good, relevant: [d1], must_find: [d1]}\n"
    "  - {query: down, relevant: [d1], must_find: [d1], tags: [t]}\n"
    "  - {query: bad, must_find: [d9]}\n"
    "thresholds: {mrr: 0.5}\ntags: {t: {mrr: 0.5}}\n"
)
HOLDS = SUITE.replace("[d9]", "[d1]")
ASK = "    if query == 'down': {raised}\n    return ['d1', 'd2']\n"
PLAIN = "def ask(query):\n" + ASK
FORMS = {
    "plain": PLAIN,
    "async": "async " + PLAIN,
    "coroutine that waits": "import asyncio\nasync def ask(query):\n    await asyncio.sleep(0)\n" + ASK,
    "generator": "def ask(query):\n    if query == 'down': {raised}\n    yield 'd1'\n",
    "object": "class Engine:\n    def search(self, query):\n        if query == 'down': {raised}\n        return ['d1']\nask = Engine()\n",
    "batch": (
        "class Engine:\n    def one(self, query):\n        if query == 'down': {raised}\n        yield 'd1'\n"
        "    def batch(self, queries): return list(map(self.one, queries))\nask = Engine()\n"
    ),
}  # fmt: skip


def skipping(raised: str = "pytest.skip('503 from a shard')", form: str = "plain") -> str:
    return f"{FORMS[form].format(raised=raised)}\n@pytest.fixture\ndef retriever(): return ask\n"


WAYS = {
    "one by one": "",
    "concurrency": "concurrency: 3\n",
    "timeout": "timeout: 60s\n",
    "repeat": "repeat: 3\n",
    "retry": "retry: {times: 1, on: [5xx]}\n",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", FORMS)
def test_a_skip_is_that_querys_alone(project: Project, form: str, way: str) -> None:
    project.suite(SUITE + WAYS[way])
    project.conftest(skipping(form=form))
    result = project.run("-v", "-rs")
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=1, skipped=2)
    assert project.outcomes() == {"good": "passed", "bad": "failed", "mrr-10": "passed"}
    (suite,) = project.data["suites"]
    assert suite["skipped"] == ["down (503 from a shard)", "tag t: mrr@10 (503 from a shard)"]
    assert suite["ledger"]["queries"] == {"skipped": 1, "other": 2}
    assert suite["ledger"]["checks"] == {"judged": 3, "skipped": 2}
    assert suite["causes"] == []
    assert "SKIPPED [1] shop.ir.yaml:3: 503 from a shard" in result.outlines
    result.stdout.fnmatch_lines(["*1 of 3 (33 %) queries in no figure: 'down' (skipped: 503 from a shard)*"])  # fmt: skip
    result.stdout.no_fnmatch_line("*could not be answered*")


@pytest.mark.parametrize("args", [(), pytest.param(("-n2",), marks=pytest.mark.slow)], ids=str)
@pytest.mark.usefixtures("pages")
def test_what_is_skipped_costs_the_tick(project: Project, args: tuple[str, ...]) -> None:
    project.suite(HOLDS)
    project.conftest(skipping())
    result = project.run(*args, "--ir-markdown=out.md")
    assert result.ret == 0
    result.assert_outcomes(passed=3, skipped=2)
    result.stdout.fnmatch_lines(["! PARTIAL  shop (shop.ir.yaml): Partial: 2 of 3 queries, 1 skipped, 2 checks skipped*"])  # fmt: skip
    assert project.data["outcome"] == "partial"
    for text in (result.stdout.str(), Path(project.path, "out.md").read_text("utf-8")):
        assert "✓" not in text.splitlines()[-1]
        assert "503 from a shard" in text
    page = Path(project.path, "ir-report.html").read_text("utf-8")
    assert "skipped: 503 from a shard" in page
    assert "<title>PARTIAL" in page


@pytest.mark.parametrize("chosen", [(), ("-k", "down or good")], ids=str)
def test_strict_fails_it_whatever_was_chosen(project: Project, chosen: tuple[str, ...]) -> None:
    project.suite(HOLDS)
    project.conftest(skipping())
    project.pytester.makeini("[pytest]\nir_strict = true\n")
    assert project.run(*chosen).ret == 1
    assert project.data["suites"][0]["refused"][0] == "skipped"


def test_a_query_without_an_item_is_skipped_too(project: Project) -> None:
    rows = [{"query": text, "relevant": ["d1"]} for text in ("good", "down", "other")]
    Path(project.path, "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    project.suite("queries: q.jsonl\nthresholds: {mrr: 0.5}\n")
    project.conftest(skipping())
    result = project.run()
    assert result.ret == 0
    result.assert_outcomes(passed=len(project.outcomes()))
    assert project.data["suites"][0]["ledger"]["queries"] == {"skipped": 1, "other": 2}
    project.pytester.makeini("[pytest]\nir_strict = true\n")
    assert project.run().ret == 1


@pytest.mark.parametrize("allowed", ["", "errors: {max: 1}\n"])
def test_it_counts_under_no_errors(project: Project, allowed: str) -> None:
    """One call fails, another is skipped: only the first is counted, and it still fails."""
    project.suite(allowed + HOLDS)
    raised = "pytest.skip('503')\n    if query == 'bad': raise OSError('refused')"
    project.conftest(skipping(raised))
    assert project.run().ret == 1
    assert project.outcomes()["bad"] == "error"
    assert project.outcomes()["mrr-10"] == ("passed" if allowed else "error")
    (suite,) = project.data["suites"]
    assert [cause["queries"] for cause in suite["causes"]] == [["bad"]]


def test_an_answer_that_failed_is_louder_than_one_that_was_skipped(project: Project) -> None:
    project.suite(f"repeat: 2\n{HOLDS}")
    project.conftest(
        "calls = []\n" + skipping("calls.append(1); (pytest.skip if len(calls) == 1 else pytest.fail)('x')")
    )  # fmt: skip
    assert project.run().ret == 1
    assert project.outcomes()["down"] == "error"


def test_a_drop_beside_a_skip_fails_by_the_default_limit(project: Project) -> None:
    """Trials 1.8 for the default: a skip must not take the suite out of its pool."""
    names = ["down", *(f"q{n}" for n in range(11))]
    queries = "".join(f"  - {{query: {name}, relevant: [d1]}}\n" for name in names)
    project.suite(f"queries:\n{queries}")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1', 'd2']\n")
    assert project.run("--ir-update-baseline").ret == 0
    project.conftest(skipping("pytest.skip('503')\n    return ['d2', 'd1']"))
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*11 worse, 0 better*"])
    assert "only a part" not in result.stdout.str()


def test_an_update_leaves_it_as_it_was(project: Project) -> None:
    project.suite(HOLDS)
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1', 'd2']\n")
    project.run("--ir-update-baseline")
    file = Path(project.path, ".ir-baseline", "shop.jsonl")
    before = file.read_text("utf-8").splitlines()
    project.conftest(skipping("pytest.skip('503')\n    return ['d3', 'd1']"))
    result = project.run("--ir-update-baseline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*: 2 rankings changed; 1 had no answer, and stay as they were"])
    after = file.read_text("utf-8").splitlines()
    kept = [line for line in before if '"down"' in line]
    assert kept == [line for line in after if '"down"' in line]
    assert len(after) == len(before)


def test_a_first_baseline_lacks_it(project: Project) -> None:
    project.suite(HOLDS)
    project.conftest(skipping())
    assert project.run("--ir-update-baseline").ret == 0
    text = Path(project.path, ".ir-baseline", "shop.jsonl").read_text("utf-8")
    assert '"down"' not in text
    assert text.count('"query"') == 2


def test_a_kept_run_keeps_it(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(skipping())
    project.run("--ir-save-runs=kept")
    asked = project.data["suites"][0]
    result = project.run("--ir-runs=kept")
    result.assert_outcomes(passed=2, failed=1, skipped=2)
    judged = project.data["suites"][0]
    assert (judged["skipped"], judged["ledger"]) == (asked["skipped"], asked["ledger"])
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    project.run("--ir-baseline=kept")
    assert project.data["suites"][0]["ledger"]["queries"] == {"unanswered then": 1, "compared": 2}


def test_candidates_that_are_skipped_cost_only_what_reads_them(project: Project) -> None:
    project.suite(SUITE.replace("thresholds: {", "thresholds: {candidates recall@5: 0.5, "))
    project.conftest(
        "class Engine:\n    def search(self, query): return ['d1']\n"
        "    def candidates(self, query, k):\n        if query == 'down': pytest.skip('503')\n        return ['d1']\n"
        "@pytest.fixture\ndef retriever(): return Engine()\n"
    )
    project.run()
    assert "error" not in project.outcomes().values()
    assert project.outcomes()["down"] == "passed"


@pytest.mark.parametrize(
    ("raised", "ended"),
    [
        ("pytest.xfail('SEARCH-1')", {"xfailed": 2}),
        ("import unittest; raise unittest.SkipTest('503')", {"skipped": 2}),
    ],
)
def test_other_words_for_it_are_that_querys_alone_too(
    project: Project, raised: str, ended: dict[str, int]
) -> None:
    project.suite(SUITE)
    project.conftest(skipping(raised))
    result = project.run()
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=1, **ended)
    assert project.data["suites"][0]["ledger"]["queries"] == {"skipped": 1, "other": 2}


def test_check_leaves_it_out(project: Project) -> None:
    project.suite(HOLDS)
    project.conftest(skipping())
    project.pytester.makepyfile(
        "import pytest\nfrom conftest import ask\nfrom pytest_irquality import check\n"
        "def test_check():\n"
        "    (result,) = check('shop.ir.yaml', ask).results\n"
        "    assert result.skipped == ('down (503 from a shard)', 'tag t: mrr@10 (503 from a shard)')\n"
        "    assert result.partial and not result.failed\n"
        "def test_all():\n    check('shop.ir.yaml', lambda query: pytest.skip('no GPU'))\n"
    )
    result = project.pytester.runpytest(
        "-rs", *QUIET, "--ir-json=out.json", "test_check_leaves_it_out.py"
    )
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * no GPU"])


@pytest.mark.parametrize("whole", [False, True], ids=["one is left", "none is left"])
def test_a_skip_in_a_query_that_left_hides_and_passes_nothing(
    project: Project, whole: bool
) -> None:
    """The change removes the query that breaks, and skips it where the base's exam asks it."""
    (project.path / ".gitignore").write_text("ir-report.html\nout.*\n__pycache__\n.pytest_cache\n")
    project.suite(HOLDS)
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1', 'd2']\n")
    git(project.path, "init", "-q", "-b", "main")
    project.run("--ir-update-baseline")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "base")
    left = HOLDS.replace(HOLDS.splitlines(keepends=True)[2], "").replace(
        "tags: {t: {mrr: 0.5}}\n", ""
    )
    if not whole:
        left = left.replace(left.splitlines(keepends=True)[2], "")
    project.suite(left)
    lost = "" if whole else "\n    if query == 'bad': return ['d7']"
    project.conftest(skipping("pytest.skip('503 from a shard')" + lost))
    result = project.run("--ir-baseline=git:main")
    text = result.stdout.str()
    assert result.ret == 0
    result.stdout.fnmatch_lines([
        "*Accepted, not passed: today's suite lets pass what that of git:main fails:*503 from a shard*",
        "! ACCEPTED *",
    ])  # fmt: skip
    assert "skipped: 503" not in text
    (exam,) = project.data["suites"][0]["exams"]
    failed = {verdict["check"]: verdict["outcome"] for verdict in exam["verdicts"]}
    assert failed["down"] == "error"
    assert ("bad" in failed) != whole
    project.pytester.makeini("[pytest]\nir_accepted = fail\n")
    assert project.run("--ir-baseline=git:main").ret == 1
