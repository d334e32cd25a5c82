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

PAGE = Path(__file__).parents[2] / "docs" / "recipes" / "bisect.md"
SUITE = "queries: [{query: desk, relevant: [d1]}]\nthresholds: {mrr: {min: 0.9}}\n"
IGNORED = "ir-report.html\nout.json\nhistory.jsonl\n__pycache__\n.pytest_cache\n"


def recipe() -> str:
    """The first commands of the page."""
    first: str = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    return first


def run(project: Project, script: str) -> subprocess.CompletedProcess[str]:
    """A script as a user's shell runs it, with this Python's pytest."""
    folder = project.path.parent / f"bin-{project.path.name}"
    folder.mkdir(exist_ok=True)
    for name, module in (("pytest", "-m pytest"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        (folder / name).chmod(0o755)
    environment = {**os.environ, **WHO, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTHONDONTWRITEBYTECODE"] = (
        "1"  # checkouts of one second, which a .pyc cannot tell
    )
    environment["PYTEST_ADDOPTS"] = "-p no:hypothesispytest -p no:anyio -p no:cacheprovider"
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
    done = run(shop, recipe())
    assert f"{culprit} is the first bad commit" in done.stdout, done.stdout + done.stderr
