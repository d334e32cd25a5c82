"""The base's checkout: a commit in a temporary worktree."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pytest_irquality.edges.git import FLAGS, Repository
from pytest_irquality.edges.write import locked

PREFIX = "irquality-base-"
LOCK = "lock"
TREE = "tree"
SUBMODULE = "160000 "


class BaseError(Exception):
    """The reason why nothing can be compared with the base, all that the user reads of it."""


# -- a folder that a killed process leaves to the next ---------------------------------------------


def new_folder() -> tuple[Path, BinaryIO]:
    """A temporary folder of this process and the lock that says so, which ends with the process."""
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=PREFIX)))
    lock = (folder / LOCK).open("wb")
    locked(lock)
    return folder, lock


def remove_leftovers(repository: Repository) -> None:
    """Remove the folders, and their worktrees, whose processes are gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _abandoned(folder):
            remove(repository, folder)
    for tree in worktrees(repository):  # of which a cleaned-up /tmp has left the entry alone
        if tree.parent.name.startswith(PREFIX) and not tree.parent.exists():
            remove(repository, tree.parent)


def _abandoned(folder: Path) -> bool:
    try:
        with (folder / LOCK).open("rb") as lock:
            return bool(locked(lock))  # on Windows, what a kill left stays
    except OSError:  # another user's, or too young to have one
        return False


# -- the worktree ----------------------------------------------------------------------------------


@contextmanager
def checked_out(repository: Repository, commit: str, folder: Path) -> Iterator[Path]:
    """The worktree of a commit in a folder, which goes at the end.

    What is left where that is cut short the next run removes.
    """
    try:
        _check_out(repository, folder / TREE, commit)
        yield folder / TREE
    finally:
        remove_worktree(repository, folder / TREE)


def _check_out(repository: Repository, tree: Path, commit: str) -> None:
    """Check out a commit into a worktree, whole, with the submodules that are here.

    Each of them is at the commit that the base had of it.
    """
    whole = ("-c", "core.sparseCheckout=false")  # which a worktree has of a sparse checkout
    arguments = ("worktree", "add", "--quiet", "--detach", str(tree), commit)
    done = repository.ask(*arguments, patience=None, flags=(*FLAGS, *whole))
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise BaseError(f"git cannot check out {commit[:7]}: {said}")
    for path, of in _submodules(tree).items():
        if os.path.lexists(repository.top / path / ".git"):
            _check_out(Repository(repository.top / path), tree / path, of)


def _submodules(tree: Path) -> dict[str, str]:
    """The commits of a checkout's submodules by their paths."""
    listed = (
        Repository(tree).ask("ls-files", "--stage", "-z").stdout.decode(errors="surrogateescape")
    )
    found = {}
    for line in listed.split("\0"):
        entry, _, path = line.partition("\t")
        if entry.startswith(SUBMODULE):
            found[path] = entry.split()[1]
    return found


def remove_worktree(repository: Repository, tree: Path) -> None:
    """Remove a worktree and all that git knows of it, and of its submodules.

    It may be gone in part already.
    """
    shutil.rmtree(tree, ignore_errors=True)
    for path in _submodules(repository.top):
        if os.path.lexists(repository.top / path / ".git"):
            remove_worktree(Repository(repository.top / path), tree / path)
    repository.ask("worktree", "remove", "--force", str(tree))


def remove(repository: Repository, folder: Path) -> None:
    """Remove a folder of ours with the worktree in it."""
    if (folder / TREE).exists() or folder / TREE in worktrees(repository):
        remove_worktree(repository, folder / TREE)
    shutil.rmtree(folder, ignore_errors=True)


def worktrees(repository: Repository) -> list[Path]:
    """The checkouts that a repository knows."""
    listed = repository.ask("worktree", "list", "--porcelain").stdout.decode(
        errors="surrogateescape"
    )
    name = "worktree "
    return [Path(line[len(name) :]) for line in listed.splitlines() if line.startswith(name)]
