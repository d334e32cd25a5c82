"""The base branch in git: its merge base, files and baselines."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.baselines.store import update_baseline
from pytest_irquality.io.files import FileError
from pytest_irquality.suite.model import RetrieverId
from tests.baselines.builders import get_doc_ids, make_run, make_suite
from tests.io.helpers import commit_all, make_repository, run_git, write_file

SUITE = make_suite("desk", "lamp")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a suite and a baseline on main, and a branch that is checked out."""
    monkeypatch.delenv("CI", raising=False)
    root = make_repository(tmp_path / "project")
    write_file(root / "shop.ir.yaml", "queries: queries.txt\n")
    write_file(root / "queries.txt", "desk\nlamp\n")
    update_baseline(root, SUITE, make_run({"desk": ["d1"], "lamp": ["d2"]}))
    commit_all(root)
    run_git(root, "checkout", "-qb", "change")
    return root


def test_the_baseline_is_that_of_the_merge_base(repository: Path) -> None:
    base = run_git(repository, "rev-parse", "HEAD")
    update_baseline(repository, SUITE, make_run({"desk": ["d9"]}))
    commit_all(repository)
    run_git(repository, "checkout", "-q", "main")
    update_baseline(repository, SUITE, make_run({"lamp": ["d8"]}))
    commit_all(repository)
    run_git(repository, "checkout", "-q", "change")
    source = GitSource(repository, "main")

    (baseline,) = source.read_baselines([SUITE])

    assert get_doc_ids(baseline.run) == {"desk": [["d1"]], "lamp": [["d2"]]}
    assert (source.commit, source.label) == (base, "git:main")
    provenance = baseline.run.provenance
    assert (provenance.source, provenance.commit) == ("git:main", base)
    assert (baseline.suite_path, baseline.path) == ("shop.ir.yaml", ".ir-baseline/shop.jsonl")


def test_files_are_read_from_the_commit(repository: Path) -> None:
    write_file(repository / "queries.txt", "sofa\n")
    source = GitSource(repository, "main")

    assert source.list_files() == (".ir-baseline/shop.jsonl", "queries.txt", "shop.ir.yaml")
    assert source.read_bytes("queries.txt") == b"desk\nlamp\n"
    assert source.read_file("none.txt") is None


def test_paths_are_relative_to_the_root_of_the_project(repository: Path) -> None:
    write_file(repository / "deep/shop.ir.yaml", "queries: []\n")
    suite = make_suite("desk", retriever=RetrieverId("retriever", ".."))
    update_baseline(repository / "deep", suite, make_run({"desk": ["d1"]}))
    commit_all(repository)
    source = GitSource(repository / "deep", "change")

    assert {".ir-baseline/shop.jsonl", "shop.ir.yaml"} < set(source.list_files())
    assert source.read_bytes("shop.ir.yaml") == b"queries: []\n"
    (baseline,) = source.read_baselines([])
    assert baseline.retriever == RetrieverId("retriever", "..")


def test_a_damaged_baseline_is_named_with_the_branch(repository: Path) -> None:
    write_file(repository / ".ir-baseline/shop.jsonl", "<<<<<<< HEAD\n")
    commit_all(repository)
    source = GitSource(repository, "change")

    assert source.read_baselines([SUITE]) == ()

    (message,) = source.errors.values()
    assert message.startswith(
        "git:change .ir-baseline/shop.jsonl:1: The file is damaged: there is a"
    )
    assert "shop.ir.yaml" in message


def test_a_file_that_git_never_tracked_comes_from_the_working_tree(repository: Path) -> None:
    write_file(repository / "generated.jsonl", "{}\n")
    source = GitSource(repository, "main")

    assert source.read_bytes("generated.jsonl") == b"{}\n"
    assert source.read_bytes("generated.jsonl") == b"{}\n"

    (notice,) = source.notes
    assert str(notice) == "`generated.jsonl` is not in git, so git:main reads the current file"


def test_a_file_that_the_change_adds_is_none_of_the_base_branch(repository: Path) -> None:
    write_file(repository / "new.txt", "x")
    commit_all(repository)
    write_file(repository / "staged.txt", "x")
    run_git(repository, "add", "staged.txt")
    source = GitSource(repository, "main")

    for name in ("new.txt", "staged.txt", "missing.txt"):
        with pytest.raises(FileNotFoundError):
            source.read_bytes(name)


def test_a_file_that_data_may_not_name_is_refused(repository: Path) -> None:
    write_file(repository / ".gitignore", "secrets.txt\n")
    commit_all(repository)
    write_file(repository / "secrets.txt", "token")
    write_file(repository / ".env", "token")
    source = GitSource(repository, "main")

    for name in ("secrets.txt", ".env"):
        with pytest.raises(FileError):
            source.read_bytes(name)


def test_a_file_of_lfs_comes_from_the_local_store(repository: Path) -> None:
    content = b"desk\n" * 100
    digest = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 500\n"
    write_file(repository / "large.txt", pointer)
    commit_all(repository)
    source = GitSource(repository, "change")

    with pytest.raises(BaselineError, match=r"'large\.txt' is in Git LFS and was not fetched"):
        source.read_bytes("large.txt")

    store = repository / ".git/lfs/objects" / digest[:2] / digest[2:4] / digest
    write_file(store, content)
    assert source.read_bytes("large.txt") == content


def test_an_unknown_revision_and_a_folder_without_git_are_errors(
    repository: Path, tmp_path: Path
) -> None:
    with pytest.raises(BaselineError, match="git:mian: Git finds no revision 'mian'"):
        GitSource(repository, "mian")
    (tmp_path / "other").mkdir()
    with pytest.raises(BaselineError, match="run:main: The project is not in a git"):
        GitSource(tmp_path / "other", "main", label="run:main")


def test_the_first_push_of_a_branch_is_compared_with_the_default_branch(repository: Path) -> None:
    base = run_git(repository, "rev-parse", "HEAD")
    write_file(repository / "note.txt", "x")
    head = commit_all(repository)

    assert GitSource(repository, "0" * 40).commit == head

    run_git(repository, "update-ref", "refs/remotes/origin/main", base)
    assert GitSource(repository, "0" * 40).commit == base
