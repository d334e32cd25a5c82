"""Git answers for the project's own repository only, and runs nothing that it configures."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from pytest_irquality.io import git
from pytest_irquality.io.git import (
    CommitTree,
    GitError,
    OutsideRepositoryError,
    Repository,
    describe_commit,
    find_checkout,
    find_git,
)

from .helpers import commit_all, make_repository, run_git, write_file


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with one commit, and a folder whose file was edited since."""
    folder = make_repository(tmp_path / "top")
    write_file(folder / "search" / "é a.txt", "old\n")
    commit_all(folder)
    write_file(folder / "search" / "é a.txt", "new\n")
    return folder


class TestCommits:
    def test_files_are_read_as_a_commit_has_them(self, top: Path) -> None:
        repository = Repository.find(top / "search")
        commit = repository.resolve("main")

        assert repository.top == top
        tree = CommitTree(repository, commit)
        assert tree.read_file("search/é a.txt") == b"old\n"
        assert tree.read_file("none") is None
        assert tree.read_file("none/such") is None
        assert tree.read_file("search") is None
        assert list(tree.list_files()) == ["search/é a.txt"]
        assert list(tree.list_files("search")) == ["search/é a.txt"]
        assert list(tree.list_files("none")) == []

    def test_files_behind_links_to_folders_are_listed(self, top: Path) -> None:
        links = {"now": "search", "search/up": "..", "search/self": ".", "out": "/tmp"}
        links |= {"deep/a": "../search", "search/b": "../deep", "gone": "none"}
        (top / "deep").mkdir()
        for link, target in links.items():
            (top / link).symlink_to(target)
        commit_all(top)
        repository = Repository(top)
        tree = CommitTree(repository, repository.resolve("main"))

        names = list(tree.list_files())

        texts = [name for name in names if name.endswith(".txt")]
        folders = ["deep/a", "now", "search/b/a", "search"]
        assert sorted(texts) == [f"{folder}/é a.txt" for folder in folders]
        assert {"search/up", "now/self", "out", "gone"} < set(names)

    def test_an_unknown_revision_says_how_to_get_it(self, top: Path, tmp_path: Path) -> None:
        with pytest.raises(GitError, match=r"no revision 'mian' here. Run `git fetch`"):
            Repository(top).resolve("mian")

        write_file(top / "b.txt")
        commit_all(top)
        run_git(tmp_path, "clone", "-q", "--depth=1", top.as_uri(), "clone")
        with pytest.raises(GitError, match=r"shallow and lacks 'HEAD~1'.*fetch-depth: 0"):
            Repository(tmp_path / "clone").resolve("HEAD~1")

    def test_the_merge_base_is_where_branches_parted(self, top: Path) -> None:
        base = run_git(top, "rev-parse", "HEAD")
        run_git(top, "checkout", "-qb", "change")
        commit_all(top)
        run_git(top, "checkout", "-q", "main")
        write_file(top / "later.txt")
        commit_all(top)
        run_git(top, "checkout", "-q", "change")

        assert Repository(top).merge_base("main") == base

        run_git(top, "checkout", "-q", "--orphan", "other")
        commit_all(top)
        with pytest.raises(GitError, match="'main' and HEAD have no commit in common"):
            Repository(top).merge_base("main")

    def test_the_commit_is_described(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_SHA", "0123456789abcdef")

        assert describe_commit(top) == f"{run_git(top, 'rev-parse', '--short=12', 'HEAD')}-dirty"
        monkeypatch.setenv("PATH", "")
        assert describe_commit(top) == "0123456789ab"
        monkeypatch.delenv("GITHUB_SHA")
        assert describe_commit(top) == ""

    def test_links_are_followed_inside_the_repository(self, top: Path) -> None:
        write_file(top / "real" / "a.csv", "then\n")
        (top / "folder").symlink_to("real")
        (top / "b.csv").symlink_to("folder/a.csv")
        commit = commit_all(top)
        write_file(top / "real" / "a.csv", "now\n")

        tree = CommitTree(Repository(top), commit)

        for name in ("real/a.csv", "folder/a.csv", "b.csv", "./real/../b.csv"):
            assert tree.read_file(name) == b"then\n"
        assert tree.read_file("folder") is None

    @pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "loop"])
    def test_no_link_leads_out_of_the_repository(self, top: Path, target: str) -> None:
        (top / "loop").symlink_to(target)
        commit = commit_all(top)

        with pytest.raises(OutsideRepositoryError, match=r"out of|outside"):
            CommitTree(Repository(top), commit).read_file("loop")

    def test_a_file_of_git_lfs_comes_from_the_local_store(self, top: Path) -> None:
        content = b"large\n"
        object_id = hashlib.sha256(content).hexdigest()
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{object_id}\nsize 6\n"
        write_file(top / "a.csv", pointer)
        commit = commit_all(top)
        tree = CommitTree(Repository(top), commit)

        with pytest.raises(GitError, match="git lfs fetch origin"):
            tree.read_file("a.csv")
        store = top / ".git" / "lfs" / "objects" / object_id[:2] / object_id[2:4]
        write_file(store / object_id, content)
        assert tree.read_file("a.csv") == content
        (store / object_id).unlink()
        write_file(top / "a.csv", content)
        assert tree.read_file("a.csv") == content


class TestWorkingTree:
    def test_tracked_and_ignored_files(self, top: Path) -> None:
        write_file(top / ".gitignore", "/build\n*.log\n!keep.log\n")
        repository = Repository(top)

        assert repository.is_tracked(top / "search" / "é a.txt")
        assert not repository.is_tracked(top / "*.txt")
        assert repository.find_ignore_rule(top / "build" / "a.csv")
        assert repository.find_ignore_rule(top / "x.log") == ".gitignore:2:*.log"
        assert not repository.find_ignore_rule(top / "keep.log")
        with pytest.raises(GitError, match="is not in the git repository 'top'"):
            repository.is_tracked(top.parent / "x")

    def test_a_folder_outside_of_git_has_no_repository(self, tmp_path: Path) -> None:
        if find_checkout(tmp_path):
            pytest.skip("the temporary folder is in a repository")

        with pytest.raises(GitError, match="The project is not in a git repository"):
            Repository.find(tmp_path)

    def test_a_damaged_repository_is_there_and_a_missing_git_is_not(
        self, tmp_path: Path, top: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_file(top / ".git" / "config", "[core\n")

        assert Repository(top).is_available
        (tmp_path / "empty" / ".git").mkdir(parents=True)
        assert not Repository(tmp_path / "empty").is_available
        monkeypatch.setenv("PATH", str(tmp_path))
        assert not Repository(top).is_available

    def test_a_worktree_is_complete_and_removed_again(self, top: Path, tmp_path: Path) -> None:
        commit = commit_all(top)
        run_git(top, "sparse-checkout", "set", "--no-cone", "/*", "!search/")
        repository = Repository(top)
        folder = tmp_path / "tree"

        repository.add_worktree(folder, commit)

        assert (folder / "search" / "é a.txt").read_text() == "new\n"
        assert str(folder) in run_git(top, "worktree", "list")

        repository.remove_worktree(folder)
        assert not folder.exists()
        assert str(folder) not in run_git(top, "worktree", "list")

    def test_a_worktree_of_an_unknown_commit_is_an_error(self, top: Path, tmp_path: Path) -> None:
        with pytest.raises(GitError, match="Git cannot check out 1111111: "):
            Repository(top).add_worktree(tmp_path / "tree", "1" * 40)


class TestHardening:
    def test_git_is_not_taken_from_a_relative_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        planted = write_file(tmp_path / "bin" / "git", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        planted.chmod(0o755)
        monkeypatch.chdir(tmp_path)
        path = os.environ["PATH"]

        monkeypatch.setenv("PATH", os.pathsep.join(["bin", ".", "", path]))

        assert os.path.isabs(find_git())
        assert find_git() != str(planted)
        monkeypatch.setenv("PATH", "bin")
        with pytest.raises(GitError, match="There is no git in PATH"):
            find_git()

    def test_a_planted_bare_repository_is_ignored(
        self, top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run_git(tmp_path, "init", "-q", "--bare", str(tmp_path / "bare"))
        for part in (tmp_path / "bare").iterdir():
            part.rename(top / "search" / part.name)
        with (top / "search" / "config").open("a") as config:
            config.write(f"[core]\n\tfsmonitor = touch {tmp_path}/ran; false\n\tworktree = .\n")
        commit = run_git(top, "rev-parse", "HEAD")

        repository = Repository.find(top / "search")
        # Hooks set this variable.
        monkeypatch.setenv("GIT_DIR", str(top / "search"))

        assert repository.top == top
        assert repository.resolve("HEAD") == commit
        assert describe_commit(top / "search")
        assert not (tmp_path / "ran").exists()

    def test_no_setting_or_hook_starts_a_program(self, top: Path, tmp_path: Path) -> None:
        tool = write_file(
            tmp_path / "tool", f"#!/bin/sh\necho ran $0 $* >> {tmp_path}/ran\nexit 1\n"
        )
        tool.chmod(0o755)
        harmless = {"safe.bareRepository", "protocol.allow", "submodule.recurse"}
        names = {*git.SAFE_CONFIG, "diff.x.textconv", "gpg.program"} - harmless
        for name in names - {"log.showSignature"}:
            value = tool.parent if name == "core.hooksPath" else tool
            run_git(top, "config", name, str(value))
        for hook in ("post-index-change", "reference-transaction", "post-checkout"):
            (tmp_path / hook).symlink_to(tool)
        repository = Repository(top)

        commit = repository.resolve("HEAD")
        CommitTree(repository, commit).read_file("search/é a.txt")
        list(CommitTree(repository, commit).list_files())
        repository.is_tracked(top / "link")
        repository.find_ignore_rule(top / "link")
        describe_commit(top)
        repository.add_worktree(tmp_path / "tree", commit)

        assert not (tmp_path / "ran").exists()

    def test_a_ref_is_never_an_option(self, top: Path, tmp_path: Path) -> None:
        with pytest.raises(GitError, match="no revision '--output="):
            Repository(top).resolve(f"--output={tmp_path}/made")

        assert not (tmp_path / "made").exists()

    def test_git_that_hangs_is_an_error(self, top: Path) -> None:
        with pytest.raises(GitError, match="`git rev-parse` took more than 0 seconds"):
            Repository(top).run("rev-parse", "HEAD", timeout=0)
