"""The base's checkout as ``ir_prepare`` makes it, kept for the next run on the same commit."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from pytest_irquality.edges.git import Repository
from pytest_irquality.retrieval.secrets import Secrets
from pytest_irquality.retrieval.server import prepare

MOST = 5  # checkouts that are kept, those used last


def prepare_base(commands: Sequence[str], folder: Path, tree: Path, secrets: Secrets) -> None:
    """Run the commands in a folder of the base's checkout, or take what they made of the same.

    The same is the tree of the commit at the same place, prepared by the same commands with the
    same search path. Raises ``RetrieverError``.
    """
    repository = Repository(tree)
    same = [
        repository.output("rev-parse", "HEAD^{tree}").decode(), str(folder), [*commands],
        os.environ.get("PATH"), platform.platform(),
    ]  # fmt: skip
    kept = _kept_checkouts() / sha256(json.dumps(same).encode()).hexdigest()
    if kept.is_dir():
        _copy(kept, tree)
        kept.touch()
        return
    prepare(commands, folder, secrets)
    if repository.output("ls-files", "--deleted"):  # which a copy over the commit would bring back
        return
    with suppress(OSError):  # no room, or no home: it is made again
        _keep(tree, kept)


def _keep(tree: Path, kept: Path) -> None:
    """Copy a checkout, whole or not at all, and drop those that were not used for longest."""
    begun = kept.with_name(f"{kept.name}.{os.getpid()}")
    begun.mkdir(mode=0o700, parents=True)
    try:
        _copy(tree, begun)
        begun.touch()
        begun.rename(kept)
    finally:
        shutil.rmtree(begun, ignore_errors=True)
    by_use = sorted(kept.parent.iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)
    for old in by_use[MOST:]:
        shutil.rmtree(old, ignore_errors=True)


def _copy(one: Path, other: Path) -> None:
    shutil.copytree(one, other, symlinks=True, dirs_exist_ok=True, ignore=_of_git)


def _of_git(folder: str, names: Iterable[str]) -> Iterable[str]:
    """The files by which git knows its worktrees: each checkout has its own."""
    return [name for name in names if name == ".git" and os.path.isfile(os.path.join(folder, name))]


def _kept_checkouts() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "pytest-irquality", "prepared")
