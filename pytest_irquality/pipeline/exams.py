"""The exams of the base: which there are, and in what they differ from today's."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pytest_irquality.edges.project import Project
from pytest_irquality.pipeline.base_suite import BaseSuites
from pytest_irquality.pipeline.then import Question, fates, questions, then_of, with_moved
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.commits import AtCommit
from pytest_irquality.storage.elsewhere import in_tree
from pytest_irquality.storage.found import Found, Source
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Check, Place, Query, Suite, SuiteError
from pytest_irquality.suite.by_default import guarded
from pytest_irquality.suite.demands import GUARDS, Examined
from pytest_irquality.verdict.comparison import Then
from pytest_irquality.verdict.differences import Difference, differences
from pytest_irquality.verdict.exam import LABEL, NAME

AS_CODE = (
    "params", "id_field", "text_field", "retry", "concurrency", "timeout",
    "repeat",
)  # fmt: skip
"""Keys of a suite that say how its retriever is asked: today's hold."""

ACTIVATE = ("activate", "activate.csh", "activate.fish", "Activate", "Activate.bat", "Activate.ps1")
HIDING = (
    "conftest.py", "pyvenv.cfg", "conda-meta/history",
    *(f"{folder}/{name}" for folder in ("bin", "Scripts") for name in ACTIVATE),
)  # fmt: skip
"""Files for which pytest may pass over a folder: what a conftest ignores, and environments."""


@dataclass(frozen=True)
class BaseExam:
    """The suite of the base in a file.

    ``ids`` has today's id of each of its queries that is asked as then. ``unread`` says why it
    cannot be read.
    """

    file: Path
    suite: Suite | None
    ids: Mapping[str, str] = field(default_factory=dict)
    fate: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    found: Sequence[Difference] = ()
    unread: str = ""

    @property
    def differs(self) -> bool:
        """True where it is another exam than today's."""
        return bool(self.found or self.unread)

    @property
    def gone(self) -> Sequence[Query]:
        """The queries that are not asked as they were."""
        known = self.suite.queries if self.suite else ()
        return [query for query in known if query.id not in self.ids]

    def left(self, today: Suite) -> Suite:
        """Give a suite that asks these, as today's retriever is asked."""
        assert self.suite is not None
        now = {name: getattr(today, name) for name in AS_CODE}
        depth = max(self.suite.depth, today.depth)
        return replace(self.suite, queries=tuple(self.gone), depth=depth, **now)


@dataclass
class Exams:
    """The exams of the base ``at`` a commit, whose suites are read once.

    ``refused``: no change may accept anything; ``refuses_weaker``: nor have a weaker exam. ``more``
    is what each retriever answered to the queries that left a suite's file. ``others`` are all
    suites that are judged today. ``looked_in`` is where the base looked for suites, where the
    change looks elsewhere.
    """

    at: AtCommit
    project: Project
    refused: bool = False
    refuses_weaker: bool = False
    looked_in: Sequence[Path] = ()
    others: Mapping[Path, Suite] = field(default_factory=dict)
    known: dict[Path, Sequence[BaseExam]] = field(default_factory=dict)
    read: dict[Path, Suite | str | None] = field(default_factory=dict)
    heirs: dict[Path, Path | None] = field(default_factory=dict)
    more: dict[tuple[Path, str], Run] = field(default_factory=dict)

    @cached_property
    def suites(self) -> BaseSuites:
        """The suites of the base. Raises ``OSError``."""
        return BaseSuites(self.project, self.at.tree)

    @cached_property
    def _names(self) -> Sequence[str]:
        """The names of the base's files, and of its submodules."""
        try:
            return [*self.at.tree.names(".")]
        except OSError:  # that git does not know the commit is told elsewhere
            return []

    @cached_property
    def _files(self) -> Sequence[Path]:
        """The files of the base's suites."""
        patterns = self.project.patterns
        names = [name for name in self._names if any(map(Path(name).match, patterns))]
        return [self.project.repository.top / name for name in names]

    @cached_property
    def gone(self) -> Sequence[Path]:
        """The suites of the base whose files are not here."""
        return [file for file in self._files if not file.is_file()]

    def will_judge(self, suites: Mapping[Path, Suite]) -> None:
        """Note what is there to be judged: a query may have moved from one to the other."""
        self.others = suites
        self.known.clear()

    def of(self, suite: Suite, file: Path) -> Sequence[BaseExam]:
        """Give the exams of the base that a suite is held to, where they are not today's.

        These are its own, and those of suites that are gone and of which it asks most.
        """
        return [exam for exam in self._all(suite, file) if exam.differs]

    def left(self, suite: Suite, file: Path) -> Iterator[Suite]:
        """Give what is asked once more of a suite's retriever; nothing where nothing left."""
        return (exam.left(suite) for exam in self.of(suite, file) if exam.gone)

    def notes(self, target: Target) -> Iterator[str]:
        """Say which files of the suites of the base are not the base's."""
        exams = self._all(target.suite, target.file)
        return (note for exam in exams if exam.suite for note in exam.suite.notes)

    def then(self, suite: Suite, file: Path) -> Then | None:
        """Give what the ledger must know of the queries of then."""
        exams = [(exam.suite, exam.fate) for exam in self._all(suite, file) if exam.suite]
        own = exams[0][0] if exams else None
        moved = {id for _, ids in self._moved_in(suite, file, own).values() for id in ids.values()}
        return then_of(exams, moved) if exams or moved else None

    def with_moved(self, found: Found, source: Source) -> Found:
        """Give what a target is compared with; of what moved to it what a source has of then.

        A base that is run was asked all that this suite asks. Raises ``StoredRunError``.
        """
        if not isinstance(source, AtCommit):
            return found
        suite, file, retriever = found.target
        own = self._suite(file, suite)
        if isinstance(own, Suite) and (found.taken or found.stored is None):
            # Of another file's baseline it claims no more than it did then.
            found = with_moved(found, source.find(Target(own, file, retriever)), questions(suite))
        for path, (other, ids) in self._moved_in(suite, file, own).items():
            found = with_moved(found, source.find(Target(other, path, retriever)), ids)
        return found

    def _moved_in(
        self, suite: Suite, file: Path, own: Suite | str | None
    ) -> Mapping[Path, tuple[Suite, Mapping[Question, str]]]:
        """Give what other suites asked that this one asks since the change, and its ids.

        A suite that is gone has them as it was then. ``own`` is what this one was.
        """
        were = questions(own) if isinstance(own, Suite) else {}
        new = {asked: id for asked, id in questions(suite).items() if asked not in were}
        found = dict[Path, tuple[Suite, Mapping[Question, str]]]()
        for path, other, then in self._others_then(suite, file) if new else ():
            if ids := {asked: new[asked] for asked in questions(then) if asked in new}:
                found[path] = other, ids
        return found

    def _others_then(self, suite: Suite, file: Path) -> Iterator[tuple[Path, Suite, Suite]]:
        """Give the other suites that ask the same retriever, as they are and as they were.

        One that is gone, or not judged in this run, is as it was.
        """
        others = {**dict.fromkeys(self._files), **dict(self._beside(suite, file))}
        others.pop(file, None)
        for path, other in others.items():
            then = self._suite(path, other or suite)
            if isinstance(then, Suite) and then.retriever == suite.retriever:
                yield path, other or then, then if other else self._left(path, then, suite)

    def _left(self, path: Path, then: Suite, like: Suite) -> Suite:
        """Give a suite of then with what its file, which this run does not judge, asks no more."""
        assert like.reread is not None
        with suppress(SuiteError, OSError):  # and all of it where that is gone, or unreadable
            project = self.project
            allowed = project.allowed(path)
            now = questions(like.reread(path, shown=project.shown(path), allowed=allowed))
            left = {id for question, id in questions(then).items() if question not in now}
            return replace(then, queries=tuple(q for q in then.queries if q.id in left))
        return then

    def _beside(self, suite: Suite, file: Path) -> Iterator[tuple[Path, Suite]]:
        """Give the other suites that ask the same retriever."""
        every = self.others.items()
        return (
            (path, one) for path, one in every if path != file and one.retriever == suite.retriever
        )

    def elsewhere(
        self, left: Suite, today: Suite, file: Path
    ) -> Iterator[tuple[Path, Suite, Mapping[str, str]]]:
        """Give the other suites that ask some of what is ``left``, with its ids and theirs."""
        for path, other in self._beside(today, file):
            theirs = questions(other)
            ids = {id: theirs[asked] for asked, id in questions(left).items() if asked in theirs}
            if ids:
                yield path, other, ids

    def with_item(self, suite: Suite, file: Path) -> Suite:
        """Give a suite with the check of the base's exam, where that is another."""
        if not self.of(suite, file):
            return suite
        check = Check(NAME, LABEL, Place(1), Examined(), "exam")
        return replace(suite, checks=(*suite.checks, check))

    def not_asked(self, collected: Container[Path], folders: Collection[Path]) -> Iterator[str]:
        """Name the suites in some folders that are gone, and examined with no other.

        So are those of a submodule that left. What a job does not check out it does not want.
        """
        links = [name for name in self._names if name.endswith("/")]
        there = (self.project.repository.top / name for name in links)
        left = [link for link in there if not self.project.repository.tracks(link)]
        for file in (*self.gone, *left):
            if not {*file.parents}.isdisjoint(folders) and self.heirs.get(file) not in collected:
                yield self.project.shown(file)

    def passed_over(self, collected: Collection[Path], folders: Collection[Path]) -> Iterator[str]:
        """Name the suites of then that are there, and that the change hides from pytest."""
        where = {path.resolve() for path in self.looked_in}
        found, known = (
            {file.parent.resolve() / file.name for file in files}  # a link is a suite of its own
            for files in (collected, self._files)
        )
        for file in known - found:
            by_ini = not where.isdisjoint(file.parents)
            by_code = not {*folders}.isdisjoint(file.parents) and self._hides(file)
            if file.is_file() and (by_ini or by_code):
                yield self.project.shown(file)

    def _then(self, file: Path) -> bytes | None:
        return self.at.tree.read(self.project.repository.path(file))

    def _hides(self, file: Path) -> bool:
        """Tell whether a file above a suite that may have pytest pass over it is another now.

        A conftest may that speaks of ignoring.
        """
        top = self.project.repository.top.resolve()
        folders = [folder for folder in file.parents if folder.is_relative_to(top)]
        above = [folder / name for folder in folders for name in HIDING]
        now = {path: path.read_bytes() for path in above if path.is_file()}
        return any(
            (path.suffix != ".py" or b"ignore" in code) and code != self._then(path)
            for path, code in now.items()
        )

    def _all(self, suite: Suite, file: Path) -> Sequence[BaseExam]:
        if file not in self.known:
            left = [other for other in self.gone if self._heir(other, suite) == file]
            read = [self._read(suite, file, other) for other in (file, *left)]
            self.known[file] = [*filter(None, read)]
        return self.known[file]

    def _read(self, today: Suite, file: Path, then: Path) -> BaseExam | None:
        """Give the exam of a suite of then for one of today."""
        suite = self._suite(then, today)
        if suite is None or isinstance(suite, str):
            return BaseExam(then, None, unread=suite) if suite else None
        if suite.queries is today.queries:  # not a byte of it differs
            same = {query.id: query.id for query in suite.queries}
            return BaseExam(then, suite, same, {id: ("same", id) for id in same})
        fate = fates(replace(suite, params=today.params), today, self._moved(today, file))
        ids = {old: id for old, (what, id) in fate.items() if what == "same"}
        same_guards = guarded(suite) if today.guards >= GUARDS.keys() else suite
        return BaseExam(then, suite, ids, fate, differences(same_guards, today, fate))

    def _suite(self, then: Path, today: Suite) -> Suite | str | None:
        """Give a suite of the base, or why it cannot be read; None where it was not there."""
        try:
            suites = self.suites
        except OSError as error:  # that git does not know the commit is told elsewhere
            return str(error)
        if then not in self.read:
            try:
                self.read[then] = suites.read(then, today)
            except SuiteError as error:
                self.read[then] = str(error).partition("\n")[0]
            except OSError as error:  # of git, which may be able to tell another time
                shown = self.project.shown(then)
                raise SuiteError(shown, 1, 1, f"the base's suite: {error}") from None
        return self.read[then]

    def _moved(self, today: Suite, file: Path) -> Collection[Question]:
        """Give what other suites ask the same retriever, and did not at the base."""
        found = set[Question]()
        for path, other in self._beside(today, file):
            then = self._suite(path, other)
            were = questions(then) if isinstance(then, Suite) else {}
            found |= questions(other).keys() - were.keys()
        return found

    def _heir(self, gone: Path, today: Suite) -> Path | None:
        """Give the suite of today that asks the same retriever most of what a suite asked."""
        if gone not in self.heirs:
            then = self._suite(gone, today)
            asks = self._asking(then, today) if isinstance(then, Suite) else {}
            best = max(asks, key=asks.__getitem__, default=None)
            self.heirs[gone] = best if best and asks[best] else None
        return self.heirs[gone]

    def _asking(self, then: Suite, like: Suite) -> dict[Path, int]:
        """Count what each suite of today asks the same retriever of what one of then asked."""
        found, project = dict[Path, int](), self.project
        assert like.reread is not None
        for path in in_tree(project).suites:
            with suppress(SuiteError, OSError):
                allowed = project.allowed(path)
                suite = like.reread(path, shown=project.shown(path), allowed=allowed)
                if suite.retriever == then.retriever:
                    found[path] = len(questions(suite).keys() & questions(then).keys())
        return found
