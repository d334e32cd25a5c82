"""Files of a commit are read from git's objects: through links and submodules, and from Git LFS."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from pytest_irquality.edges.git import Repository
from pytest_irquality.edges.objects import Tree
from tests.repository import git


def committed(folder: Path) -> Tree:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return Tree(Repository(folder), git(folder, "rev-parse", "HEAD").strip())


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "top"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def test_a_file_is_read_as_the_commit_has_it_through_links(top: Path) -> None:
    (top / "real").mkdir()
    (top / "real" / "a.csv").write_text("then\n")
    (top / "folder").symlink_to("real")
    (top / "b.csv").symlink_to("folder/a.csv")
    tree = committed(top)
    (top / "real" / "a.csv").write_text("now\n")
    for name in ("real/a.csv", "folder/a.csv", "b.csv"):
        assert tree.read(name) == b"then\n"
    assert tree.read("real") is None
    assert tree.read("real/none.csv") is None


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "loop"])
def test_no_link_leads_out_of_the_repository(top: Path, target: str) -> None:
    (top / "loop").symlink_to(target)
    tree = committed(top)
    with pytest.raises(OSError, match=r"leaves the repository|leads nowhere"):
        tree.read("loop")


def test_a_submodule_is_read_as_the_commit_has_it(top: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    (inner / "a.csv").write_text("then\n")
    committed(inner)
    git(top, "submodule", "add", "-q", str(inner), "sub")
    tree = committed(top)
    (top / "sub" / "a.csv").write_text("now\n")
    committed(top / "sub")
    committed(top)
    assert tree.read("sub/a.csv") == b"then\n"


def test_a_pointer_of_git_lfs_is_read_where_its_file_is_here(top: Path) -> None:
    data = b"large\n"
    oid = hashlib.sha256(data).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n"
    (top / "a.csv").write_text(pointer)
    tree = committed(top)
    with pytest.raises(OSError, match="git lfs fetch origin"):
        tree.read("a.csv")
    store = top / ".git" / "lfs" / "objects" / oid[:2] / oid[2:4]
    store.mkdir(parents=True)
    (store / oid).write_bytes(data)
    assert tree.read("a.csv") == data
    (store / oid).unlink()
    (top / "a.csv").write_bytes(data)
    assert tree.read("a.csv") == data


def test_a_folder_is_listed_once_for_all_of_its_files(top: Path) -> None:
    (top / "in").mkdir()
    (top / "in" / "a").write_text("one")
    (top / "in" / "b").write_text("two")
    tree = committed(top)
    assert tree.find("in/none") is None
    shutil.rmtree(top / ".git")
    one, two = tree.find("in/a"), tree.find("in/b")
    assert one is not None
    assert two is not None
    assert one.hash != two.hash
    assert tree.find("in/none") is None
