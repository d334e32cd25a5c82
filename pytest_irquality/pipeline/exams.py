"""The exams of the base: which there are, and in what they differ from today's."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pytest_irquality.edges.project import Project
from pytest_irquality.pipeline.base_suite import BaseSuites
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.commits import AtCommit
from pytest_irquality.storage.elsewhere import in_tree
from pytest_irquality.storage.matching import Matching, Question
from pytest_irquality.storage.stored import asked
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Check, Place, Query, Suite, SuiteError
from pytest_irquality.suite.by_default import guarded
from pytest_irquality.suite.demands import GUARDS, Examined
from pytest_irquality.verdict.comparison import Then
from pytest_irquality.verdict.differences import Difference, differences
from pytest_irquality.verdict.result import Exam, Outcome, Verdict

MOST = 200
"""Queries that today's suite has no more, and that are asked all the same."""
AS_CODE = (
    "params", "id_field", "text_field", "retry", "concurrency", "timeout",
    "repeat",
)  # fmt: skip
"""Keys of a suite that say how its retriever is asked: today's hold."""
NAME = "exam-of-the-base"
LABEL = "exam of the base"
LEFT = ("removed", "variant", "moved")


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
        """Give a suite that asks some of these, evenly chosen: so many are asked once more."""
        assert self.suite is not None
        asked = self.gone[:: max(1, -(-len(self.gone) // MOST))]
        now = {name: getattr(today, name) for name in AS_CODE}
        depth = max(self.suite.depth, today.depth)
        return replace(self.suite, queries=tuple(asked), depth=depth, **now)


@dataclass
class Exams:
    """The exams of the base ``at`` a commit, whose suites are read once.

    ``refused``: no change may accept anything; ``refuses_weaker``: nor have a weaker exam. ``more``
    is what each retriever answered to the queries that left a suite's file. ``others`` are all
    suites that are judged today.
    """

    at: AtCommit
    project: Project
    refused: bool = False
    refuses_weaker: bool = False
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
    def gone(self) -> Sequence[Path]:
        """The suites of the base whose files are there no more."""
        try:
            tree = self.at.tree
            listed = tree.repository.output(
                "diff", "--name-only", "--no-renames", "--diff-filter=D", "-z", tree.commit
            )
        except OSError:  # that git does not know the commit is told elsewhere
            return []
        names = map(os.fsdecode, listed.split(b"\0")[:-1])
        return [
            tree.repository.top / name
            for name in names
            if any(map(Path(name).match, self.project.patterns))
        ]

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
        exams = [(exam, exam.suite) for exam in self._all(suite, file) if exam.suite]
        if not exams:
            return None
        left = Counter[str]()
        for exam, _ in exams:
            left.update(what for what, _ in exam.fate.values() if what in LEFT)
        own, then = exams[0]  # what a suite took over from others is new to it
        judgments = {id: then.by_id[old].judgments for old, id in own.ids.items()}
        reworded = {id for what, id in own.fate.values() if what == "reworded"}
        return Then(judgments, left, reworded)

    def with_item(self, suite: Suite, file: Path) -> Suite:
        """Give a suite with the check of the base's exam, where that is another."""
        if not self.of(suite, file):
            return suite
        check = Check(NAME, LABEL, Place(1), Examined(), "exam")
        return replace(suite, checks=(*suite.checks, check))

    def not_asked(self, collected: Container[Path], folders: Collection[Path]) -> Iterator[str]:
        """Name the suites in some folders that are gone, and examined with no other."""
        for file in self.gone:
            if not {*file.parents}.isdisjoint(folders) and self.heirs.get(file) not in collected:
                yield self.project.shown(file)

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
        fate = fates(replace(suite, params=today.params), today, self._moved(today, file))
        ids = {old: id for old, (what, id) in fate.items() if what == "same"}
        same_guards = guarded(suite) if today.guards >= GUARDS.keys() else suite
        return BaseExam(then, suite, ids, fate, differences(same_guards, today, fate))

    def _suite(self, then: Path, today: Suite) -> Suite | str | None:
        """Give a suite of the base, or why it cannot be read; None where it was not there."""
        if then not in self.read:
            try:
                self.read[then] = self.suites.read(then, today)
            except (SuiteError, OSError) as error:
                self.read[then] = str(error)
        return self.read[then]

    def _moved(self, today: Suite, file: Path) -> Collection[Question]:
        """Give what other suites ask the same retriever, and did not at the base."""
        found = set[Question]()
        for path, other in self.others.items():
            if path != file and other.retriever == today.retriever:
                then = self._suite(path, other)
                found |= questions(other) - (questions(then) if isinstance(then, Suite) else set())
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
                    found[path] = len(questions(suite) & questions(then))
        return found


def questions(suite: Suite) -> set[Question]:
    """Give all that a suite asks."""
    return {asked(suite, query).question for query in suite.queries}


def fates(
    then: Suite, now: Suite, elsewhere: Collection[Question] = ()
) -> Mapping[str, tuple[str, str]]:
    """Tell what became of each query of then, by id, with its id today where it has one.

    It is asked the same, reworded, another query's variant, moved ``elsewhere``, or removed.
    """
    matching = Matching(
        {query.id: asked(then, query).question for query in then.queries},
        {query.id: asked(now, query).question for query in now.queries},
    )
    same = {old: id for id, old in matching.same.items()}
    edited = {old: id for id, old in matching.edited.items()}
    variants = {asked(now, variant).question: variant.of for variant in now.reworded}

    def fate(id: str) -> tuple[str, str]:
        question = matching.stored[id]
        if id in same:
            return "same", same[id]
        if question in variants:
            return "variant", variants[question]
        if question in elsewhere:
            return "moved", ""
        return ("reworded", edited[id]) if id in edited else ("removed", "")

    return {id: fate(id) for id in matching.stored}


def item(exams: Sequence[Exam]) -> Verdict:
    """Give the verdict of the item of a suite's exams."""
    accepted = any(exam.accepted for exam in exams)
    outcome: Outcome = "accepted" if accepted else "passed"
    if any(exam.failed for exam in exams):
        outcome = "failed"
    return Verdict(NAME, LABEL, 1, outcome, scope="exam", accepted=accepted)
