"""The plan of a session: its options without pytest, and the sources of what was returned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pytest_irquality.edges.project import Project
from pytest_irquality.pipeline.exams import Exams
from pytest_irquality.retrieval.pace import Pace, Paces
from pytest_irquality.storage.baseline import BaselineFiles
from pytest_irquality.storage.found import Found, Source
from pytest_irquality.storage.history import Past, past_of
from pytest_irquality.storage.kept import KeptRuns
from pytest_irquality.storage.saved import SavedRuns
from pytest_irquality.storage.shards import Shard
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Suite
from pytest_irquality.suite.by_default import guarded


@dataclass
class Plan:
    """The orders of one session, and what was noted for it.

    ``compared`` is the source of what today's answers are compared with (None: nothing), ``kept``
    that of today's answers, where no retriever is asked. ``updating`` writes the baselines anew,
    ``saved`` keeps the runs, of a ``shard`` of the queries or of all. ``accepts_nothing``: a
    change's own baseline accepts no drop, ``strict``: nothing may be left out. ``audit`` looks
    whether the suites are still true.

    ``paces`` are those of the retrievers' calls, ``exams`` those of the base, where today's answers
    are held to them, too. ``over_budget``: why nothing may be asked. ``declared_then``: the
    retrievers that the base of ``git:`` declares by name.

    ``targets`` are those of this session, ``retrievers`` the names of all that a suite's file has.
    """

    project: Project
    compared: Source | None = None
    kept: KeptRuns | None = None
    updating: bool = False
    saved: SavedRuns | None = None
    shard: Shard | None = None
    history: Path | None = None
    accepts_nothing: bool = False
    strict: bool = False
    audit: bool = False
    over_budget: str = ""
    declared_then: Sequence[str] | None = None
    exams: Exams | None = None
    targets: Sequence[Target] = ()
    retrievers: dict[Path, Sequence[str]] = field(default_factory=dict)
    paces: Paces = field(default_factory=Paces)
    _replaced: dict[tuple[Path, str], Found] = field(default_factory=dict)

    def will_judge(self, targets: Iterable[Target]) -> None:
        """Note what is there to be judged."""
        self.targets = [*targets]
        for target in self.targets:
            self.retrievers[target.file] = (*self.retrievers.get(target.file, ()), target.retriever)
        if self.exams:
            self.exams.will_judge({target.file: target.suite for target in self.targets})

    def pace(self, target: Target) -> Pace:
        """Give the pace of a target's retriever, the same for all suites that ask it."""
        name = (target.suite.retriever, target.retriever)
        rates = [
            suite.rate
            for suite, _, retriever in (target, *self.targets)
            if suite.rate and (suite.retriever, retriever) == name
        ]
        return self.paces.of(name, rates)

    def part(self, suite: Suite) -> Suite:
        """Give a suite as far as this job asks it."""
        return self.shard.of(suite) if self.shard else suite

    def guarded(self, suite: Suite, file: Path) -> Suite:
        """Give a suite with the guards that are there where something is compared with.

        And with the check of the base's exam, where that is another.
        """
        whole = guarded(suite) if self.compares(suite, file) else suite
        return self.exams.with_item(whole, file) if self.exams else whole

    def compares(self, suite: Suite, file: Path) -> bool:
        """Tell whether a suite is expected to be compared with anything."""
        expected = self.compared and self.compared.expects(Target(suite, file, ""))
        return bool(suite.baseline_retriever or expected)

    @cached_property
    def files(self) -> BaselineFiles:
        """The files that an update writes."""
        if isinstance(self.compared, BaselineFiles):
            return self.compared
        return BaselineFiles(self.project, updating=self.updating)

    def before(self, target: Target) -> Found:
        """Find what a target is compared with.

        Raises ``StoredRunError`` where that is there, cannot be compared with, and neither an
        update is about to mend it nor the change itself commits another.
        """
        if self.compared is None or target.other:
            return Found(target)
        own = self.updating and self.compared is self.files
        found = self.replaced(target) if own else self.compared.find(target)
        if self.exams:
            found = self._in_its_place(found) if found.stored is None else found
            found = self.exams.with_moved(found, self.compared)
        if not found.unfit:
            return found
        if not self.updating and found.committed is None:
            raise StoredRunError(found.unfit)
        return replace(found, stored=None, damage=found.unfit)

    def _in_its_place(self, found: Found) -> Found:
        """Give what the retriever got whose place a target's has taken since the base."""
        assert self.compared is not None
        target, today = found.target, self.retrievers.get(found.target.file, ())
        then = self.compared.retrievers(target.file)
        gone = [name for name in then if name not in today]
        new = [name for name in today if name not in then]
        if not gone or target.retriever not in new:
            return replace(found, added=bool(then))
        of = target._replace(retriever=gone[min(new.index(target.retriever), len(gone) - 1)])
        return replace(self.compared.find(of), target=target, of=of.name, committed=found.committed)

    def replaced(self, target: Target) -> Found:
        """Find what an update writes over, as it first was. Raises ``StoredRunError``."""
        key = target.file, target.retriever
        if key not in self._replaced:
            self._replaced[key] = self.files.find(target)
        return self._replaced[key]

    def refuse_over_budget(self) -> None:
        """Raise ``StoredRunError`` where nothing may be asked."""
        if self.over_budget:
            raise StoredRunError(self.over_budget)

    def refuse_bad_writing(self, target: Target, needed: Collection[str]) -> None:
        """Raise ``StoredRunError`` where writing would lose something.

        Two targets would be kept in one file, git ignores the file, or the answers to the
        ``needed`` queries alone cannot mend a damaged one.
        """
        if not self.saved and not self.updating:
            return
        if self.saved and self.saved.is_one_file and len(self.targets) > 1:
            raise StoredRunError(
                f"--ir-save-runs {self.saved.given} is one file and here are"
                f" {len(self.targets)} runs: name a folder, or one suite"
            )
        self._refuse_one_file(target)
        if self.updating and not target.other:
            self._refuse_update(target, partial=len(needed) < len(target.suite.queries))

    def _refuse_update(self, target: Target, *, partial: bool) -> None:
        self.files.refuse_ignored(target)
        if partial and (damage := self.replaced(target).damage):
            raise StoredRunError(f"{damage}; only an update of all queries can do that")

    def _refuse_one_file(self, target: Target) -> None:
        # Names that differ in case alone are one on some file systems.
        names = [str(self.files.file(other).path).casefold() for other in self.targets]
        mine = str(self.files.file(target).path).casefold()
        for other, name in zip(self.targets, names, strict=True):
            if name == mine and other != target:
                raise StoredRunError(
                    f"{target.name} and {other.name} would be kept in one file: give one of them"
                    " another name"
                )

    def past(self, target: Target, needed: Collection[str]) -> Past | None:
        """Give the history of a target; None where nothing is to be added to it.

        A run of some of the queries is no line of it. Raises ``StoredRunError``.
        """
        if self.history is None or self.shard or len(needed) < len(target.suite.queries):
            return None
        return past_of(self.history, self.project, target)
