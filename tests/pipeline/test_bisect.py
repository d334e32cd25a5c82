"""The line of the page on bisecting, in a real repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.repository import WHO, git

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "recipes" / "bisect.md"
SUITE = "queries: [{query: desk, relevant: [d1]}]\nthresholds: {mrr: {min: 0.9}}\n"
IGNORED = "ir-report.html\nout.json\nhistory.jsonl\n__pycache__\n.pytest_cache\n"


def recipe(number: int) -> str:
    """One block of commands of the page."""
    blocks: list[str] = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return blocks[number]


def run(project: Project, script: str) -> subprocess.CompletedProcess[str]:
    """A script as a user's shell runs it, with this Python's pytest."""
    folder = project.path.parent / f"bin-{project.path.name}"
    folder.mkdir(exist_ok=True)
    for name, module in (("pytest", "-m pytest"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        (folder / name).chmod(0o755)
    environment = {**os.environ, **WHO, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTEST_ADDOPTS"] = "-p no:cacheprovider"
    return subprocess.run(
        ["sh", "-e", "-c", script], cwd=project.path, env=environment, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


def answer(project: Project, ranking: str, message: str) -> None:
    project.answers({"desk": ranking.split()})
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", message)


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    (project.path / ".gitignore").write_text(IGNORED)
    git(project.path, "init", "-q", "-b", "main")
    answer(project, "d1", "good")
    git(project.path, "tag", "v1.4")
    return project


def test_bisecting_finds_the_commit_and_passes_over_what_cannot_be_judged(shop: Project) -> None:
    answer(shop, "d1 d2", "still good")
    shop.conftest("this is no Python\n")
    git(shop.path, "commit", "-qam", "cannot be judged")
    answer(shop, "d1 d3", "good again")
    answer(shop, "d2 d1", "the culprit")
    culprit = git(shop.path, "rev-parse", "HEAD").strip()
    answer(shop, "d3 d2 d1", "worse still")
    done = run(shop, recipe(0))
    assert f"{culprit} is the first bad commit" in done.stdout, done.stdout + done.stderr


def test_a_fixture_that_fails_is_passed_over_and_a_release_is_what_all_are_compared_with(
    shop: Project,
) -> None:
    shop.suite(SUITE.replace("{min: 0.9}", "{max_drop: 0.1}"))
    answer(shop, "d1", "good")
    git(shop.path, "tag", "-f", "v1.4")
    answer(shop, "d1 d2", "still good")
    shop.conftest(
        "@pytest.fixture\ndef retriever():\n    import gone_for_good\n    return lambda query: []\n"
    )
    git(shop.path, "commit", "-qam", "a package that is not here")
    answer(shop, "d1 d3", "good again")
    answer(shop, "d2 d1", "the culprit")
    culprit = git(shop.path, "rev-parse", "HEAD").strip()
    answer(shop, "d3 d2 d1", "worse still")
    done = run(shop, recipe(1).replace("../released", f"../released-{shop.path.name}"))
    assert f"{culprit} is the first bad commit" in done.stdout, done.stdout + done.stderr


def test_exit_statuses_tell_what_is_worse_from_what_cannot_be_judged(shop: Project) -> None:
    broken = "@pytest.fixture\ndef retriever():\n    raise OSError('no index')\n"
    shop.conftest(broken)
    assert shop.run().ret == 2
    assert shop.run("-n1").ret == 2
    assert shop.run("-x").ret == 2
    # With an ordinary test beside it that fails, with another suite that got worse, or with a
    # search that fails when it is asked.
    (shop.path / "test_other.py").write_text("def test_other():\n    assert False\n")
    assert shop.run().ret == 1
    (shop.path / "test_other.py").unlink()
    shop.suite(
        SUITE.replace("queries:", "retriever: other_retriever\nqueries:", 1), "other.ir.yaml"
    )
    shop.conftest(
        broken + "@pytest.fixture\ndef other_retriever():\n    return lambda query: ['d2']\n"
    )
    assert shop.run().ret == 1
    shop.conftest(
        broken + "@pytest.fixture\ndef other_retriever():\n    return lambda query: ['d1']\n"
    )
    assert shop.run().ret == 2
    assert shop.run("--deselect=shop.ir.yaml").ret == 0
    shop.conftest(
        broken + "@pytest.fixture\ndef other_retriever():\n    return lambda query: 1 / 0\n"
    )
    assert shop.run("--deselect=shop.ir.yaml").ret == 1
