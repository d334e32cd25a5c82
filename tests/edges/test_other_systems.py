"""What is otherwise on Windows and macOS, by the branches that are taken there, forced here."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pytest

from pytest_irquality.edges import write
from pytest_irquality.edges.git import Repository
from pytest_irquality.pipeline.base import worktree
from pytest_irquality.plugin import base
from pytest_irquality.wording import words
from tests.conftest import Project
from tests.repository import git


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("search/shop.ir.yaml::ndcg-10", "search/shop.ir.yaml::ndcg-10"),
        (r"C:\search\shop.ir.yaml", r"C:\search\shop.ir.yaml"),
        ("shop.ir.yaml::ndcg-10[bm25]", '"shop.ir.yaml::ndcg-10[bm25]"'),
        ("it's & so on", '"it\'s & so on"'),
        ('say "desk"', r'"say \"desk\""'),
    ],
)
def test_advised_commands_are_quoted_for_cmd(
    monkeypatch: pytest.MonkeyPatch, word: str, said: str
) -> None:
    monkeypatch.setattr(words, "WINDOWS", True)
    assert words.shell_word(word) == said


def test_files_are_replaced_where_nothing_can_be_locked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "fcntl", None)
    project.suite("queries: [{query: desk, relevant: [d1]}]\n")
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d1']\n")
    for _ in range(2):
        assert project.run("--ir-update-baseline", "--ir-history=history.jsonl").ret == 0
    assert len((project.path / "history.jsonl").read_text().splitlines()) == 2
    assert not [*project.path.rglob("*.tmp")]


@pytest.mark.slow
def test_the_lock_of_the_bases_folder_is_closed_before_that_goes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows removes no file that is open."""
    locks = []

    def new_folder(repository: Repository) -> tuple[Path, BinaryIO]:
        folder, lock = worktree.new_folder(repository)
        locks.append(lock)
        return folder, lock

    def remove(repository: Repository, folder: Path) -> None:
        assert [lock.closed for lock in locks] == [True]
        worktree.remove(repository, folder)

    monkeypatch.setattr(worktree, "fcntl", None)
    monkeypatch.setattr(base, "new_folder", new_folder)
    monkeypatch.setattr(base, "remove", remove)
    project.suite("queries: [{query: desk, relevant: [d1]}]\n")
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d1']\n")
    git(project.path, "init", "-q")
    git(project.path, "add", ".")
    git(project.path, "commit", "-qm", "main")
    assert project.run("--ir-baseline=run:HEAD").ret == 0
    assert locks
