"""The baseline: which stored run a suite is compared with.

Knows files and git; of pytest nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from pytest_irquality.edges.git import Repository, time_of
from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.printable import file_name as safe
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.jsonl import parse_run, read_run
from pytest_irquality.storage.provenance import UPDATE, Baseline, New, run_name
from pytest_irquality.storage.renamed import (
    FOLDER,
    Shelved,
    Tree,
    Trees,
    own_files,
    shares_half,
)
from pytest_irquality.storage.stored import (
    StoredRun,
    StoredRunError,
)
from pytest_irquality.suite.model import Suite

GIT, RUN = "git:", "run:"
COMMITS = (GIT, RUN)
SUITE_SUFFIXES = (".ir.yaml", ".ir.yml", ".yaml", ".yml")


@dataclass(frozen=True)
class FoundBaseline:
    """A baseline and where it came from; ``stored`` is None where there is none.

    ``new``: the suite did not exist at the revision asked for, or had no baseline there and this
    change brings the first, so that nothing in it can have got worse. ``taken`` is the file of
    another name that was found for it, ``of`` the suite and retriever that made what was found,
    where they have other names now. ``commit`` and ``time`` are those of its last change.
    """

    source: str
    stored: StoredRun | None = None
    new: New = ""
    commit: str | None = None
    time: str | None = None
    taken: Shelved | None = None
    of: str = ""


def file_name(suite_file: Path, retriever: str, suffix: str = ".jsonl") -> str:
    """``shop.bm25.jsonl`` of ``shop.ir.yaml`` and the retriever ``bm25``, percent-encoded where
    need be.
    """
    variant = f".{safe(retriever)}" if retriever else ""
    return suite_file.stem.removesuffix(".ir") + variant + suffix


def below(folder: Path, suite: Suite, name: str) -> Path:
    """Where a folder of runs keeps the one of a suite: as deep in it as the suite stands in the
    project.
    """
    path = Path(suite.path)
    parts = [part for part in path.parent.parts if part not in ("..", path.anchor)]
    return Path(folder, *parts, name)


@dataclass(frozen=True)
class BaselineLocation:
    """Where the baseline of one suite and retriever is, after the value of ``--ir-baseline``.

    ``file`` is the suite's own, ``start`` the folder that paths are relative to, ``root`` pytest's
    rootdir, whose checkout answers for git. ``project`` is where a file of no name of the user's
    may be, ``trees`` what lies elsewhere.
    """

    suite: Suite
    file: Path
    retriever: str
    option: str | None
    start: Path
    root: Path
    project: Allowed
    trees: Trees

    @property
    def allowed(self) -> Allowed | None:
        """Where the file may lead to; one that the user named, anywhere."""
        if self.option is None or self.in_git:
            return self.project
        given = self.start / self.option
        return None if self.path == given else Allowed.project(given)

    @property
    def in_git(self) -> bool:
        """Whether what is compared with is a commit's and not the file that an update writes."""
        return self.option is not None and self.option.startswith(COMMITS)

    @property
    def path(self) -> Path:
        """The file that is read, and written by an update. Under ``git:REF`` that is the default
        one.
        """
        name = file_name(self.file, self.retriever)
        if self.option is None or self.in_git:
            return self.file.parent / FOLDER / name
        given = self.start / self.option
        if given.is_file() or (given.suffix == ".jsonl" and not given.is_dir()):
            return given
        nested, flat = below(given, self.suite, name), given / name
        return flat if flat.is_file() and not nested.is_file() else nested

    @property
    def shown(self) -> str:
        """The path as messages name it."""
        try:
            return self.path.relative_to(self.start).as_posix()
        except ValueError:
            return str(self.path)

    @property
    def expected(self) -> bool:
        """Whether there is a baseline for any of the suite's retrievers, before these are known."""
        if self.option is not None or any(own_files(self.file)):
            return True
        return self.trees.here.of(self.suite, self.file) is not None

    def find(self) -> FoundBaseline:
        """What to compare with. Raises ``StoredRunError``: damaged, of another suite, or a revision
        that git lacks.
        """
        return self._at(self.option) if self.option and self.in_git else self.here()

    def _provenance(
        self, stored: StoredRun, file: Path, at: str | None = None
    ) -> tuple[str | None, str | None]:
        """The commit and the time that made it. A kept run says so itself; a baseline's header must
        merge.
        """
        if stored.header.time:
            return stored.header.commit, stored.header.time
        try:
            if known := Repository.holding(self.root).last_change(file, at):
                return known
        except OSError:  # no git, or a file outside the checkout
            pass
        return None, None if at else time_of(file.stat().st_mtime)

    def here(self) -> FoundBaseline:
        """What an update writes over. Raises ``StoredRunError``."""
        try:
            stored = read_run(self.path, self.shown, self.allowed)
        except (FileNotFoundError, NotADirectoryError):
            if self.option is None or self.in_git:
                return self._elsewhere(self.trees.here, self.shown)
            return FoundBaseline(self.shown)
        except OSError as error:
            raise StoredRunError(
                f"{self.shown}: cannot be read: {error.strerror or error}"
            ) from None
        return self._own(stored, self.shown)

    def _elsewhere(self, tree: Tree, source: str, at: str | None = None) -> FoundBaseline:
        """What lies under another name; nothing, as a rule."""
        taken = tree.of(self.suite, self.file, self.retriever)
        if taken is None:
            return FoundBaseline(source)
        stored = taken.read()
        commit, time = self._provenance(stored, taken.file, at)
        return FoundBaseline(taken.name, stored, "", commit, time, taken, taken.of)

    def _own(self, stored: StoredRun, source: str, at: str | None = None) -> FoundBaseline:
        """What has the right name: refuse the file of another suite or retriever, unless the user
        named this very file.

        A suite that was renamed together with its baseline has the old name in it still.
        """
        found = FoundBaseline(source, stored, "", *self._provenance(stored, self.path, at))
        header, made_by = stored.header, self.file.with_name(Path(stored.header.path).name)
        if self.option is not None and self.path == self.start / self.option:
            if stored.queries and not stored.matching(self.suite).same:
                raise StoredRunError(
                    f"{source}:1: holds no query of {self.suite.path}; it is a run of {header.path}"
                )
            return found
        if (made_by, header.retriever) == (self.file, self.retriever):
            return found
        theirs = run_name(made_by.name, header.retriever)
        ours = run_name(self.file.name, self.retriever)
        theirs_too = made_by.is_file() and file_name(made_by, header.retriever) == self.path.name
        if theirs_too or not shares_half(stored, self.suite):
            raise StoredRunError(
                f"{source}:1: is the baseline of {theirs}, not of {ours}: rename one, or delete it"
            )
        return replace(found, of=theirs)

    def _at(self, option: str) -> FoundBaseline:
        source = f"{option} {self.shown}"
        try:
            repository = Repository.holding(self.root)
            at = repository.merge_base(option.removeprefix(GIT))
            content = repository.content(at, self.path)
            if content is not None:
                return self._own(parse_run(content.splitlines(keepends=True), source), source, at)
            found = self._elsewhere(self.trees.at(at, option), source, at)
            was_there = self.file.name in repository.names(at, self.file.parent)
        except OSError as error:
            raise StoredRunError(f"--ir-baseline {option}: {error}") from None
        if found.stored is not None:
            return found
        # Without a baseline in this change either nothing would ever be compared, which must not
        # look like a pass.
        if not was_there:
            return replace(found, new="suite")
        return replace(found, new="baseline" if self.path.is_file() else "")


def suites_in_git(root: Path) -> Iterator[Path]:
    """The suite files that committed baselines are beside, in the checkout of pytest's rootdir."""
    try:
        repository = Repository.holding(root)
        listed = repository.output("ls-files", "-z").decode(errors="surrogateescape").split("\0")
    except OSError:
        return
    for file in (PurePosixPath(name) for name in listed if f"{FOLDER}/" in name):
        if file.parent.name == FOLDER and file.suffix == ".jsonl":
            folder = repository.top / file.parent.parent
            # The last part of the name may be that of a retriever.
            for name in filter(None, (file.stem, file.stem.rpartition(".")[0])):
                candidates = (folder / f"{name}{suffix}" for suffix in SUITE_SUFFIXES)
                yield from (path for path in candidates if path.is_file())


def unknown_revision(root: Path, option: str) -> str | None:
    """What is wrong with ``git:REF`` where the checkout of pytest's rootdir does not know it."""
    try:
        Repository.holding(root).merge_base(option.removeprefix(GIT))
    except OSError as error:
        return f"--ir-baseline {option}: {error}"
    return None


# -- comparing -------------------------------------------------------------------------------------


def compare_with(
    found: FoundBaseline, suite: Suite, retriever: str
) -> tuple[Run, Baseline] | tuple[None, None]:
    """What ``judge`` is given: the baseline's rankings of today's queries, and where they come
    from.

    Raises ``StoredRunError`` where it has no texts to look for passages in.
    """
    if found.stored is None:
        new = Baseline(found.source, new=found.new)
        return (Run(retriever), new) if found.new else (None, None)
    if found.stored.lacks_texts(suite):
        raise StoredRunError(
            f"{found.source}: kept without texts, which 'match: text' needs; renew it with"
            f" `{UPDATE}`"
        )
    stored = found.stored
    matching = stored.matching(suite)
    queries = sum(not line.of for line in stored.queries.values())  # variants stand beside theirs
    known = Baseline(
        found.source,
        queries,
        found.commit,
        found.time,
        stored.version,
        left=matching.gone,
        edited=tuple(matching.edited),
        renamed=len(matching.renamed),
        of=found.of,
    )
    return found.stored.run(suite), known
