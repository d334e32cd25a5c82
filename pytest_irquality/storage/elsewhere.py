"""Baselines whose suite has another name by now: the queries that they hold tell whose they are.

A suite without a baseline of its own is compared with one that lies elsewhere: with its own, made
before the fixture was parametrised or named otherwise by hand, or with that of a suite which is
gone and asked the same. It never takes the baseline of a suite that still exists.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from pytest_irquality.edges.objects import NowhereError, Tree
from pytest_irquality.edges.project import Project
from pytest_irquality.metrics.errors import MeasureError
from pytest_irquality.storage.jsonl import parse_run, read_header
from pytest_irquality.storage.run_file import RunFile
from pytest_irquality.storage.stored import Header, StoredQuery, StoredRun, StoredRunError
from pytest_irquality.storage.target import Target, run_file, run_name
from pytest_irquality.suite import SuiteError, load_suite
from pytest_irquality.suite.model import Suite

FOLDER = ".ir-baseline"
PASSED_OVER = re.compile(r"\.|(__pycache__|node_modules|site-packages|venv)$")
HALF = 0.5


@dataclass(frozen=True)
class Shelved:
    """A baseline where it lies.

    ``suite`` is the file of the suite that made it, ``gone``: there is no such file. ``stored`` is
    its run, where that is known already. ``lately``: the suite was there at that commit.
    """

    file: RunFile
    suite: Path
    header: Header
    gone: bool
    stored: StoredRun | None = None
    lately: bool = True

    @property
    def of(self) -> str:
        """The suite that made it, and the retriever, as messages name them."""
        return run_name(self.suite.name, self.header.retriever)

    def read(self) -> StoredRun | None:
        """Give its run; None where it is there no more. Raises ``StoredRunError``."""
        return self.stored or self.file.read()

    def shares_half(self, suite: Suite) -> bool:
        """Tell whether it has half of a suite's queries; a damaged file has none."""
        try:
            stored = self.read()
        except StoredRunError:
            return False
        return stored is not None and shares_half(stored, suite)

    def shared(self, suite: Suite) -> int:
        """Count a suite's queries that it has. Raises ``StoredRunError``."""
        stored = self.read()
        return len(stored.matching(suite).same) if stored else 0


@dataclass(frozen=True)
class Shelf:
    """The baselines under a folder of a project, and the suites; ``then``: the commit's files."""

    baselines: Sequence[Shelved] = ()
    suites: Sequence[Path] = ()
    project: Project | None = None
    then: Collection[Path] = ()

    def claimed(self, target: Target) -> Sequence[Shelved]:
        """Give the baselines that are a target's, which has none under its name.

        They are several where suites became one, that with most of its queries first. At a commit a
        suite that was there has what was left lying then; of others that counts only where no suite
        left since: a rename is no way to be compared with more, nor with less. Raises
        ``StoredRunError``.
        """
        as_it_was = (target.retriever, "")  # before there were several
        for some in self._claimed(target):
            for retriever in dict.fromkeys(as_it_was):
                if found := [one for one in some if one.header.retriever == retriever]:
                    was = target.file in self.then
                    found = [one for one in found if one.lately != was] or found
                    return sorted(found, key=lambda one: -one.shared(target.suite))
        return ()

    def any_of(self, target: Target) -> bool:
        """Tell whether there is such a baseline for any retriever of a target's suite."""
        return any(self._claimed(target))

    def _claimed(self, target: Target) -> Iterator[Sequence[Shelved]]:
        """Those that the suite itself made, then those of suites that are gone."""
        yield [one for one in self.baselines if one.suite == target.file]
        yield [one for one in self.baselines if one.gone and one.shares_half(target.suite)]

    def needed(self, shelved: Shelved, but: Path | None = None) -> Path | None:
        """Give a suite other than ``but`` that is compared with a baseline for want of its own."""
        if not shelved.gone:
            return None
        for path in self.suites:
            if path == but or any(own_files(path)):
                continue
            allowed = self.project.allowed(path) if self.project else None
            try:
                takes = shelved.shares_half(load_suite(path, allowed=allowed))
            except (SuiteError, MeasureError, OSError):
                takes = True  # nobody can tell, so the file stays
            if takes:
                return path
        return None


def joined(several: Sequence[Shelved]) -> StoredRun | None:
    """Give the run of the first, with what the others were asked and it was not.

    It is as deep as the least deep of them. Raises ``StoredRunError``.
    """
    runs = [run for run in (one.read() for one in several) if run]
    if not runs:
        return None
    queries = dict(runs[0].queries)
    for run in runs[1:]:
        queries.update(_unknown(run, queries))
    return replace(runs[0], header=_least_deep([run.header for run in runs]), queries=queries)


def _least_deep(headers: Sequence[Header]) -> Header:
    """Give the first header, as deep as all of them are."""
    return replace(
        headers[0],
        depth=min(one.depth for one in headers),
        texts=min((one.texts for one in headers if one.texts), default=None),
        candidates=min(one.candidates or 0 for one in headers) or None,
    )


def _unknown(
    run: StoredRun, queries: Mapping[str, StoredQuery]
) -> Iterator[tuple[str, StoredQuery]]:
    """Give the lines of questions that are not known, with ids that are free."""
    known = {line.question for line in queries.values()}
    for id, line in run.queries.items():
        if not line.of and line.question not in known:
            free = id if id not in queries else f"{run.header.suite}: {id}"
            yield free, replace(line, id=free)


def shares_half(stored: StoredRun, suite: Suite) -> bool:
    """Tell whether a stored run and a suite share half of the queries of the smaller one."""
    smaller = min(len(stored.queries), len(suite.queries))
    return len(stored.matching(suite).same) >= max(1, HALF * smaller)


def own_files(suite_file: Path) -> Iterator[Path]:
    """Find the baselines that a suite's name leads to, for whichever retrievers.

    That of a list of queries, from which a suite of the same stem was made, is the list's.
    """
    stem = run_file(suite_file, "", "")
    for path in (suite_file.parent / FOLDER).glob("*.jsonl"):
        own, _, more = path.stem.partition(f"{stem}.")
        a_list = suite_file.with_name(f"{stem}.{more.partition('.')[0]}")
        if path.stem == stem or (not own and more and not a_list.is_file()):
            yield path


# -- what lies there -------------------------------------------------------------------------------


def in_tree(project: Project) -> Shelf:
    """Give what lies in the project now. What is no run of ours is passed over."""
    baselines: list[Shelved] = []
    suites: list[Path] = []
    for folder, inner, files in os.walk(project.root):
        inner[:] = sorted(name for name in inner if name == FOLDER or not PASSED_OVER.match(name))
        here = Path(folder)
        for name in sorted(files):
            path = here / name
            if here.name == FOLDER and path.suffix == ".jsonl":
                baselines += _shelved(path, project)
            elif any(map(path.match, project.patterns)):
                suites.append(path)
    return Shelf(baselines, suites, project)


def _shelved(path: Path, project: Project) -> Iterator[Shelved]:
    file = RunFile.of(project, path, project.allowed().within(path.parent))
    try:
        header = read_header(*file)
    except (StoredRunError, OSError):  # reported where it is asked for by its name
        return
    suite = path.parent.parent / PurePosixPath(header.path).name
    yield Shelved(file, suite, header, not suite.is_file())


def in_commit(project: Project, tree: Tree, source: str) -> Shelf:
    """Give what lay in the project at a commit.

    A suite is gone where HEAD or the folder has it no more. ``source`` begins the names. Raises
    ``OSError`` with git's words.
    """
    then = tree.files(project.root)
    head = Tree(tree.repository, "HEAD").files(project.root)
    baselines = []
    for file in sorted(then):
        if file.parent.name != FOLDER or file.suffix != ".jsonl":
            continue
        name = f"{source} {project.shown(file)}"
        try:
            stored = parse_run((tree.read(then[file]) or b"").splitlines(True), name)
        except (NowhereError, StoredRunError):  # reported where it is asked for by its name
            continue
        suite = file.parent.parent / PurePosixPath(stored.header.path).name
        gone = suite not in head or not suite.is_file()
        lately = suite in then
        baselines.append(Shelved(RunFile(file, name), suite, stored.header, gone, stored, lately))
    return Shelf(baselines, then=then)
