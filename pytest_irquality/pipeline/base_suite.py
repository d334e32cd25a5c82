"""The base's suite: written from git's objects to a temporary folder, and read as any suite is."""

from __future__ import annotations

import os
import posixpath
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from glob import has_magic
from itertools import chain
from pathlib import Path

from pytest_irquality.edges import bounds
from pytest_irquality.edges.objects import NowhereError, Tree, placed
from pytest_irquality.edges.open import Allowed, Unreadable, read_text
from pytest_irquality.edges.project import Project
from pytest_irquality.suite import Suite, SuiteError
from pytest_irquality.suite.keys import WrittenFile, read_suite
from pytest_irquality.suite.reader import LISTS
from pytest_irquality.suite.yaml import Document

DEEP = ("base",) * 16
"""Folders around the checkout, so that a name may lead out of it."""
OF_BEIR = ("queries.jsonl*", "qrels/*.tsv*")


@dataclass(frozen=True)
class BaseSuites:
    """The suites of a commit. ``project`` is today's."""

    project: Project
    tree: Tree

    def read(self, file: Path, today: Suite) -> Suite | None:
        """Give the suite that a file was at the commit; None where it was not there.

        A file that it names, and the commit does not track, is today's, which its notes say. Raises
        ``SuiteError`` and ``OSError``.
        """
        path, top = self.tree.repository.path(file), self.tree.repository.top
        assert today.reread is not None
        if self._is_same(path, today):
            return replace(today, notes=(), files=())
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, *DEEP)
            if not self._is_there(path, root):
                return None
            todays = [name for name in _named(root / path) if not self._placed(path, name, root)]
            shown, allowed = self.project.shown(file), self.project.allowed(file)
            try:
                found = [n for n in todays if _linked(top / path, root / path, n, allowed)]
            except Unreadable as error:
                raise SuiteError(shown, 1, 1, f"the base's suite: {error}") from None
            folders = (Path(os.path.realpath(folder)), *allowed.folders)
            suite = today.reread(root / path, shown=shown, allowed=Allowed(folders))
        kept = tuple(
            f"{name} is not in git at the base: today's is read for both" for name in found
        )
        return replace(suite, notes=kept, files=())

    def _is_there(self, suite: str, root: Path) -> bool:
        try:
            return placed(self.tree, suite, root)
        except NowhereError as error:
            raise SuiteError(suite, 1, 1, f"the base's suite: {error}") from None

    def _is_same(self, suite: str, today: Suite) -> bool:
        """Tell whether a suite and all files that it names are those of the commit."""
        top, folder = self.tree.repository.top, posixpath.dirname(suite)
        if not (top / suite).is_file():
            return False
        named = [posixpath.normpath(posixpath.join(folder, name)) for name in _named(top / suite)]
        if any(name.startswith(("..", "/")) for name in named):
            return False
        then = {path for name in named for path in self._meant(name)}
        now = {self.tree.repository.path(Path(os.path.abspath(file))) for file in today.files}
        same = then | {suite} == now | {suite}
        return same and all(
            self.tree.read(path) == (top / path).read_bytes() for path in (suite, *then)
        )

    def _placed(self, suite: str, name: str, root: Path) -> bool:
        """Write what a suite means by a name below a folder. False where nothing is there."""
        at = posixpath.normpath(posixpath.join(posixpath.dirname(suite), name))
        if os.path.isabs(name) or at.startswith(".."):
            return False
        written = [placed(self.tree, path, root) for path in self._meant(at)]
        return any(written)

    def _meant(self, path: str) -> Iterator[str]:
        """Give the files of a path: those that it matches, or those of a BEIR folder."""
        entry = self.tree.find(path)
        if entry is not None and not entry.is_folder:
            yield path
        elif entry is not None:
            yield from _matching(self.tree, path, OF_BEIR)
        elif has_magic(path):
            parts = path.split("/")
            plain = next(n for n, part in enumerate(parts) if has_magic(part))
            folder = "/".join(parts[:plain])
            yield from _matching(self.tree, folder or ".", ["/".join(parts[plain:])])


def _matching(
    tree: Tree, folder: str, patterns: Iterator[str] | list[str] | tuple[str, ...]
) -> Iterator[str]:
    for name in tree.names(folder):
        parts = name.split("/")
        for pattern in patterns:
            wanted = pattern.split("/")
            if "**" in wanted or (len(wanted) == len(parts) and all(map(fnmatch, parts, wanted))):
                yield posixpath.join(folder, name)
                break


def _named(file: Path) -> Iterator[str]:
    """Give the names of the files that a suite names. Raises ``SuiteError``."""
    if file.suffix in LISTS:
        return
    written = read_suite(Document.of_text(file.name, read_text(file, bounds.SUITE)))
    for entry in (*written.queries, *written.judgments):
        if isinstance(entry, WrittenFile):
            yield entry.file


def _linked(today: Path, then: Path, name: str, allowed: Allowed) -> bool:
    """Link what today's suite means by a name to where the base's looks for it.

    Raises ``Unreadable`` for what a suite must not name today.
    """
    found = sorted(today.parent.glob(name)) if has_magic(name) else [today.parent / name]
    in_folders = chain(*(source.glob(pattern) for source in found for pattern in OF_BEIR))
    allowed.check_named([*filter(Path.exists, found), *in_folders])
    for source in found if not os.path.isabs(name) else ():
        target = Path(os.path.normpath(then.parent / os.path.relpath(source, today.parent)))
        if source.exists() and not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(os.path.realpath(source))
    return any(source.exists() for source in found)
