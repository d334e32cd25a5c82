"""Git answers for the project's own checkout alone, and runs nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_irquality.edges.git import (
    CI_COMMITS,
    HARMLESS,
    Repository,
    checkout_above,
    code,
    commit,
)
from pytest_irquality.edges.objects import NowhereError, Tree
from tests.conftest import Project
from tests.repository import git

SUITE = "queries: [{query: a, relevant: [d1]}]\nthresholds: {mrr: {max_drop: 0.1}}\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    top = tmp_path / "checkout"
    (top / "search").mkdir(parents=True)
    git(top, "init", "-q")
    (top / "search" / "é a.txt").write_text("old\n")
    (top / "link").symlink_to("/etc/passwd")
    git(top, "add", ".")
    git(top, "commit", "-qm", "one")
    return top


def test_files_as_they_stood_at_a_commit(checkout: Path) -> None:
    repository = Repository.holding(checkout / "search")
    at = repository.commit_of("HEAD")
    file = checkout / "search" / "é a.txt"
    file.write_text("new\n")
    tree = Tree(repository, at)
    assert tree.read(repository.path(file)) == b"old\n"
    assert tree.read("none") is None
    assert tree.read("none/such") is None
    assert tree.read("search") is None
    with pytest.raises(NowhereError):
        tree.read("link")
    assert tree.files(checkout / "search") == {file: "search/é a.txt"}
    assert {*tree.files(checkout)} == {checkout / "link", file}
    assert tree.files(checkout / "none") == {}
    with pytest.raises(OSError, match="lies outside the git checkout"):
        repository.path(checkout.parent / "x")
    with pytest.raises(OSError, match="knows no revision 'none'"):
        repository.commit_of("none")
    assert (commit(checkout / "search") or "").endswith("-dirty")


def test_without_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if checkout_above(tmp_path):
        pytest.skip("the temporary folder lies in a checkout")
    with pytest.raises(OSError, match="in no git checkout"):
        Repository.holding(tmp_path)
    for name in CI_COMMITS:
        monkeypatch.delenv(name, raising=False)
    assert commit(tmp_path) is None
    monkeypatch.setenv("GITHUB_SHA", "0123456789abcdef")
    assert commit(tmp_path) == code(tmp_path, ()) == "0123456789ab"


def test_a_planted_repository_answers_for_nothing(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = checkout / "search"
    git(tmp_path, "init", "-q", "--bare", str(tmp_path / "bare"))
    for part in (tmp_path / "bare").iterdir():
        part.rename(bare / part.name)
    with (bare / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = touch {tmp_path}/ran; false\n\tworktree = .\n")
    repository = Repository.holding(bare)
    assert repository.top == checkout
    assert repository.commit_of("HEAD") == git(checkout, "rev-parse", "HEAD").strip()
    assert commit(bare)
    monkeypatch.setenv("GIT_DIR", str(bare))  # as a hook would have it
    assert repository.commit_of("HEAD") == git(checkout, "--git-dir=.git", "rev-parse", "HEAD").strip()  # fmt: skip
    assert not (tmp_path / "ran").exists()


def test_no_configuration_starts_anything(checkout: Path, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\necho ran $0 $* >> {tmp_path}/ran\nexit 1\n")
    tool.chmod(0o755)
    for name in (*HARMLESS, "credential.helper", "diff.external", "diff.x.textconv", "gpg.program"):
        if name not in ("safe.bareRepository", "protocol.allow", "submodule.recurse", "log.showSignature"):  # fmt: skip
            git(checkout, "config", name, str(tool.parent if "hooks" in name else tool))
    for hook in ("post-index-change", "reference-transaction", "post-checkout"):
        (tmp_path / hook).symlink_to(tool)
    (checkout / "search" / "é a.txt").write_text("new\n")
    repository = Repository.holding(checkout)
    head = repository.commit_of("HEAD")
    Tree(repository, head).read("search/é a.txt")
    Tree(repository, head).files(checkout)
    repository.tracks(checkout / "link")
    commit(checkout)
    assert not (tmp_path / "ran").exists()


def test_a_planted_repository_changes_no_verdict(project: Project) -> None:
    """The suite's folder is a bare repository whose baseline is as bad as today's search."""
    evil = project.path / "evil"
    suite, top = project.suite(SUITE, "search/shop.ir.yaml"), project.path
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    project.run("--ir-update-baseline")
    git(top, "init", "-q", "-b", "main")
    git(top, "add", "search", "conftest.py")
    git(top, "commit", "-qm", "good")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['x', 'd1']\n")
    project.run("--ir-update-baseline")
    (evil / "tree").mkdir(parents=True)
    git(evil / "tree", "init", "-q", "-b", "main")
    for name in ("shop.ir.yaml", ".ir-baseline/shop.jsonl"):
        (evil / "tree" / name).parent.mkdir(exist_ok=True)
        (evil / "tree" / name).write_bytes((suite.parent / name).read_bytes())
    git(evil / "tree", "add", ".")
    git(evil / "tree", "commit", "-qm", "bad")
    for part in (evil / "tree" / ".git").iterdir():
        part.rename(suite.parent / part.name)
    with (suite.parent / "config").open("a") as config:
        config.write(f"[core]\n\tbare = true\n\tfsmonitor = touch {top}/ran\n")
    result = project.run("--ir-baseline=git:main")
    assert result.ret == 1
    assert project.outcomes()["mrr-10"] == "failed"
    assert not os.path.lexists(top / "ran")
