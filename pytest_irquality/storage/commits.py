"""Baselines of a commit, for ``--ir-baseline=git:REF``, and what HEAD commits in their place."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pytest_irquality.edges.objects import Tree
from pytest_irquality.edges.project import Project
from pytest_irquality.storage.baseline import BaselineFiles, taken_over, whose
from pytest_irquality.storage.elsewhere import Shelf, in_commit
from pytest_irquality.storage.found import Found, Source
from pytest_irquality.storage.jsonl import parse_run
from pytest_irquality.storage.stored import StoredRun, StoredRunError
from pytest_irquality.storage.target import Target

GIT, RUN = "git:", "run:"
COMMITS = (GIT, RUN)
FIRST_PUSH = re.compile("0{40}|0{64}")
"""The hash by which CI services say that a branch was not there before."""
DEFAULT = ("origin/HEAD", "origin/main", "origin/master")


def at_commit(project: Project, given: str, *, accepting: bool) -> Source:
    """Give the source of ``git:REF`` or ``run:REF``.

    That of a branch's first push is where it left the default branch, if it did.
    """
    kind, _, ref = given.partition(":")
    if not FIRST_PUSH.fullmatch(ref):
        return AtCommit(project, given, accepting)
    by_service = os.environ.get("CI_DEFAULT_BRANCH")  # GitLab's
    for branch in (f"origin/{by_service}", *DEFAULT):
        with suppress(OSError):
            at = AtCommit(project, f"{kind}:{branch}", accepting)
            is_new = at.base == project.repository.commit_of("HEAD")
            return FirstPush(given) if is_new else at
    return FirstPush(given)


@dataclass(frozen=True)
class FirstPush(Source):
    """A source that has nothing, as before the first push of the default branch."""

    given: str

    def find(self, target: Target) -> Found:
        """Say that nothing can be compared."""
        return Found(target, f"{self.given} (a first push)", new="suite")

    def expects(self, target: Target) -> bool:
        """Expect nothing."""
        return False


@dataclass(frozen=True)
class AtCommit(Source):
    """The baselines as they stand at the merge base of a revision and HEAD.

    ``given`` is ``git:REF``, or ``run:REF``. ``accepting``: what HEAD commits in their place may
    accept a drop. ``pinned`` is the merge base, where another process of the session found it: REF
    may move meanwhile.
    """

    project: Project
    given: str
    accepting: bool = True
    pinned: str = ""

    @cached_property
    def base(self) -> str:
        """The merge base. Raises ``OSError`` where git does not know it."""
        ref = self.given.partition(":")[2]
        return self.pinned or self.project.repository.merge_base(ref)

    def refuse_unknown(self) -> None:
        """Raise ``StoredRunError`` where git does not know that commit."""
        try:
            _ = self.base
        except OSError as error:
            raise StoredRunError(f"--ir-baseline {self.given}: {error}") from None

    @cached_property
    def tree(self) -> Tree:
        """The files of that commit. Raises ``OSError``."""
        return Tree(self.project.repository, self.base)

    @cached_property
    def head(self) -> Tree:
        """The files of the commit that is checked out. Raises ``OSError``."""
        return Tree(self.project.repository, "HEAD")

    @cached_property
    def shelf(self) -> Shelf:
        """All baselines of that commit, looked for once. Raises ``OSError``."""
        return in_commit(self.project, self.tree, self.given)

    def retrievers(self, suite: Path) -> Sequence[str]:
        """Give the retrievers of which a suite had baselines there. Raises ``OSError``."""
        return [one.header.retriever for one in self.shelf.baselines if one.suite == suite]

    def find(self, target: Target) -> Found:
        """Give the baseline that a target had at the commit. Raises ``StoredRunError``.

        One that cannot be read is damage where HEAD commits another.
        """
        path = BaselineFiles(self.project).file(target).path
        source = f"{self.given} {self.project.shown(path)}"
        found = Found(target, source, committed=self.committed(target))
        try:
            return self._at_base(found, path)
        except OSError as error:
            wrong = StoredRunError(f"--ir-baseline {self.given}: {error}")
        except StoredRunError as error:
            wrong = error
        if found.committed is None:
            raise wrong
        return replace(found, damage=str(wrong))

    def _at_base(self, found: Found, path: Path) -> Found:
        repository, file = self.project.repository, found.target.file
        content = self.tree.read(repository.path(path))
        if content is not None:
            stored = parse_run(content.splitlines(keepends=True), found.source)
            found = replace(found, stored=stored)
            return replace(found, of=whose(found, path))
        found = taken_over(found, self.shelf)
        if found.stored is not None:
            return found
        # Without a baseline in this change either nothing would ever be compared, which must not
        # look like a pass.
        if self.tree.find(repository.path(file)) is None:
            return replace(found, new="suite")
        return replace(found, new="baseline" if path.is_file() else "")

    def committed(self, target: Target) -> StoredRun | None:
        """Give the baseline that HEAD commits, where the merge base has another.

        None where nothing can be accepted by it.
        """
        if not self.accepting:
            return None
        file = BaselineFiles(self.project).file(target)
        try:
            repository = self.project.repository
            path = repository.path(file.path)
            then, now = self.tree.find(path), self.head.find(path)
            same = now is None or (then is not None and then.hash == now.hash)
            content = None if same else self.head.read(path)
            if content is None or content == self.tree.read(path):
                return None
            stored = parse_run(content.splitlines(keepends=True), f"HEAD:{file.shown}")
        except (OSError, StoredRunError):
            return None
        return None if stored.lacks_texts(target.suite) else stored
