"""Baselines whose suite has another name by now: the queries that they hold tell whose they are.

A suite without a baseline of its own is compared with one that lies elsewhere: with its own, made
before the fixture was parametrised or named otherwise by hand, or with that of a suite which is
gone and asked the same. It never takes the baseline of a suite that still exists.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pytest_irquality.edges.git import Repository
from pytest_irquality.edges.open import Allowed
from pytest_irquality.metrics.errors import MeasureError
from pytest_irquality.storage.jsonl import parse_run, read_header, read_run
from pytest_irquality.storage.provenance import run_name
from pytest_irquality.storage.stored import Header, StoredRun, StoredRunError
from pytest_irquality.suite import SuiteError, load_suite
from pytest_irquality.suite.model import Suite

FOLDER = ".ir-baseline"
PASSED_OVER = {"__pycache__", "node_modules", "site-packages", "venv"}
HALF = 0.5


class Shelved(NamedTuple):
    """A baseline where it lies. ``suite`` is the file of the suite that made it, ``gone``: there is
    no such file.

    ``name`` is how messages name it, ``file`` where it is in the working tree.
    """

    name: str
    file: Path
    suite: Path
    header: Header
    gone: bool
    read: Callable[[], StoredRun]

    @property
    def of(self) -> str:
        """The suite that made it, and the retriever, as messages name them."""
        return run_name(self.suite.name, self.header.retriever)

    def shares_half(self, suite: Suite) -> bool:
        """As the function does; a damaged file shares nothing."""
        try:
            return shares_half(self.read(), suite)
        except (StoredRunError, OSError):
            return False


@dataclass
class Trees:
    """The baselines under ``root``, in its files and at commits, each looked for once. ``patterns``
    name suites.

    No file is read that leads out of what is ``allowed``.
    """

    root: Path
    start: Path
    patterns: Sequence[str]
    allowed: Allowed
    _at: dict[str, Tree] = field(default_factory=dict)

    @cached_property
    def here(self) -> Tree:
        """What lies there now."""
        return in_folder(self.root, self.start, self.patterns, self.allowed)

    def first_suite(self, folder: Path) -> Path | None:
        """The suite of a folder that comes first by its name."""
        return min((path for name in self.patterns for path in folder.glob(name)), default=None)

    def gone_beside(self, folder: Path) -> Sequence[Shelved]:
        """The baselines of a folder whose suites are gone."""
        files = sorted((folder / FOLDER).glob("*.jsonl"))
        found = (shelved for path in files for shelved in _shelved(path, self.start, self.allowed))
        return [shelved for shelved in found if shelved.gone]

    def at(self, commit: str, source: str) -> Tree:
        """What lay there at a commit. Raises ``OSError`` as git does."""
        if commit not in self._at:
            self._at[commit] = in_commit(self.root, self.start, commit, source)
        return self._at[commit]


class Tree(NamedTuple):
    """The baselines under a folder, and the suites, which may read what is ``allowed``."""

    baselines: Sequence[Shelved] = ()
    suites: Sequence[Path] = ()
    allowed: Allowed | None = None

    def of(self, suite: Suite, file: Path, retriever: str | None = None) -> Shelved | None:
        """The baseline of a suite that has none under its name; of any of its retrievers where none
        is named.

        Raises ``StoredRunError`` where there are two.
        """
        wanted: list[str | None] = [retriever]
        if retriever:
            wanted.append("")  # as it was before there were several
        own = [shelved for shelved in self.baselines if shelved.suite == file]
        gone = [one for one in self.baselines if one.gone and one.shares_half(suite)]
        for some in (own, gone):
            for name in wanted:
                found = [one for one in some if name is None or one.header.retriever == name]
                if len(found) > 1 and retriever is not None:
                    raise StoredRunError(_two(suite, found))
                if found:
                    return found[0]
        return None

    def needed(self, shelved: Shelved, but: Path | None = None) -> Path | None:
        """A suite other than ``but`` that is compared with a baseline for want of its own."""
        if not shelved.gone:
            return None
        for path in self.suites:
            if path != but and not any(own_files(path)) and self._may_take(path, shelved):
                return path
        return None

    def _may_take(self, path: Path, shelved: Shelved) -> bool:
        try:
            return shelved.shares_half(load_suite(path, allowed=self.allowed))
        except (SuiteError, MeasureError, OSError):
            return True  # nobody can tell, so the file stays


def shares_half(stored: StoredRun, suite: Suite) -> bool:
    """Whether a stored run and a suite have at least half of the queries of the smaller one in
    common.
    """
    smaller = min(len(stored.queries), len(suite.queries))
    return len(stored.matching(suite).same) >= max(1, HALF * smaller)


def own_files(suite_file: Path) -> Iterator[Path]:
    """The baselines that a suite's name leads to, for whichever retrievers."""
    stem = suite_file.stem.removesuffix(".ir")
    for path in (suite_file.parent / FOLDER).glob("*.jsonl"):
        if path.name == f"{stem}.jsonl" or path.name.startswith(f"{stem}."):
            yield path


def in_folder(root: Path, start: Path, patterns: Sequence[str], allowed: Allowed) -> Tree:
    """What lies under ``root`` now. Names are relative to ``start``; what is no run of ours is
    passed over.
    """
    baselines: list[Shelved] = []
    suites: list[Path] = []
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if name == FOLDER or not _passed_over(name))
        here = Path(folder)
        for name in sorted(files):
            path = here / name
            if here.name == FOLDER and path.suffix == ".jsonl":
                baselines += _shelved(path, start, allowed)
            elif any(fnmatch(name, pattern) for pattern in patterns):
                suites.append(path)
    return Tree(baselines, suites, allowed)


def in_commit(root: Path, start: Path, commit: str, source: str) -> Tree:
    """What lay under ``root`` at a commit. A suite is gone where HEAD or the folder has it no more.

    ``source`` begins the names. Raises ``OSError`` as git does.
    """
    repository = Repository.holding(root)
    head = {*repository.files("HEAD", root)}
    baselines = []
    for file in repository.files(commit, root):
        if file.parent.name != FOLDER or file.suffix != ".jsonl":
            continue
        name = f"{source} {_relative(file, start)}"
        try:
            stored = parse_run((repository.content(commit, file) or b"").splitlines(True), name)
        except StoredRunError:  # reported where it is asked for by its name
            continue
        suite = file.parent.parent / PurePosixPath(stored.header.path).name
        gone = suite not in head or not suite.is_file()
        baselines.append(Shelved(name, file, suite, stored.header, gone, partial(_same, stored)))
    return Tree(baselines)


def _same(stored: StoredRun) -> StoredRun:
    return stored


def _shelved(path: Path, start: Path, allowed: Allowed) -> Iterator[Shelved]:
    name = _relative(path, start)
    try:
        header = read_header(path, name, allowed)
    except (StoredRunError, OSError):  # reported where it is asked for by its name
        return
    suite = path.parent.parent / PurePosixPath(header.path).name
    read = partial(read_run, path, name, allowed)
    yield Shelved(name, path, suite, header, not suite.is_file(), read)


def _passed_over(name: str) -> bool:
    return name.startswith(".") or name in PASSED_OVER


def _two(suite: Suite, found: Iterable[Shelved]) -> str:
    first, second, *_ = found
    return (
        f"{suite.path} has no baseline under its name, and two may be its: {first.name}"
        f" ({first.of}) and {second.name} ({second.of}); rename or delete one"
    )


def _relative(path: Path, start: Path) -> str:
    try:
        return path.relative_to(start).as_posix()
    except ValueError:
        return str(path)
