"""Ten suites of 300 queries, asked by four jobs of which one is killed, and judged as one build."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Project
from tests.repository import git

SUITES, QUERIES, JOBS = 10, 300, 4
CONFTEST = """\
import os
from pathlib import Path
asked = []
@pytest.fixture
def retriever():
    def search(query):
        asked.append(query)
        if os.environ.get("KILLED") and len(asked) == 400:
            os._exit(137)
        gone = Path(__file__).with_name("broken").exists()
        return ["x"] if gone else [f"relevant for {query}", "x"]
    return search
"""


@pytest.mark.slow
def test_four_jobs_give_one_build_whatever_happens_to_one_of_them(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.conftest(CONFTEST)
    for suite in range(SUITES):
        texts = [f"suite {suite} query {number}" for number in range(QUERIES)]
        written = "".join(
            f"  - {{query: {one}, must_find: [relevant for {one}]}}\n" for one in texts
        )
        project.suite(f"queries:\n{written}", f"s{suite}.ir.yaml")
    assert project.run("--ir-update-baseline").ret == 0
    (project.path / "broken").touch()
    git(project.path, "init", "-q")  # resume goes on with answers of the same code alone
    git(project.path, "add", ".")
    git(project.path, "commit", "-qm", "worse")

    for job in range(1, JOBS + 1):
        share = f"--ir-save-runs=job{job},shard={job}/{JOBS}"
        if job == 2:
            with monkeypatch.context() as killed:
                killed.setenv("KILLED", "1")
                result = project.pytester.runpytest_subprocess("--ir-suite", share)
                assert result.ret == 137
            share = share.replace(",shard", ",resume,shard")
        assert project.run(share).ret == 1
    runs = [f"--ir-runs=job{job}" for job in range(1, JOBS + 1)]

    without = project.run(*runs[:1], *runs[2:], "--ir-history=lost.jsonl")
    assert without.ret in (1, 2)
    joined = (*runs, "--ir-history=history.jsonl", "--ir-markdown=report.md")
    for _ in range(2):  # the second is a rerun of the job
        assert project.run(*joined).ret == 1
        lines = (project.path / "history.jsonl").read_text().splitlines()
        assert len({json.loads(line)["suite"] for line in lines}) == len(lines) == SUITES
    assert sum(len(suite["queries"]) for suite in project.data["suites"]) == SUITES * QUERIES
    failed = [outcome for outcome in project.outcomes().values() if outcome == "failed"]
    assert failed
    text = (project.path / "report.md").read_text("utf-8")
    assert len(text) < 65_000
