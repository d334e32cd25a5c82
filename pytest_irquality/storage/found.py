"""The one answer of every source of runs: what was returned for a target, and how we know."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.elsewhere import Shelved
from pytest_irquality.storage.matching import Matching
from pytest_irquality.storage.provenance import UPDATE, Baseline, New
from pytest_irquality.storage.stored import Header, StoredRun
from pytest_irquality.storage.target import Target

NAMED = 3
UNGUARDED = (
    "others are compared with this retriever, and it is unguarded: it has no baseline of its own;"
    f" make one with `{UPDATE}` and commit it"
)


@dataclass(frozen=True)
class Found:
    """The run that a source has for a target, or the reason why it has none.

    ``source`` is its name in messages. ``of`` is the suite and
    retriever that it was made for, where they have another name now, and ``taken`` its place, where
    it was found under that name. ``headers`` are those of all files that it was put together from;
    ``lacking`` names what TREC's format cannot tell: by file the queries that it has nothing for,
    which counts as nothing found. ``answers`` are those of today, where they were just asked for or
    stand for such ones.

    Without a run ``damage`` says what is wrong with a file that is there; ``new`` that the suite
    did not exist at the commit asked for, or had no baseline there and this change brings the
    first, so that nothing in it can have got worse.

    ``committed`` is the baseline that the change itself commits, where it is another. ``notes`` are
    what a reader must know of it, ``differing`` counts the files, other than documentation, tests
    and suites, in which the code that answered is not today's; ``spoke``: it asked another process.
    ``added``: the suite had other retrievers then.
    """

    target: Target
    source: str = ""
    stored: StoredRun | None = None
    of: str = ""
    taken: Shelved | None = None
    headers: Sequence[Header] = ()
    lacking: Mapping[str, Sequence[str]] = field(default_factory=dict)
    answers: Run | None = None
    damage: str = ""
    new: New = ""
    committed: StoredRun | None = None
    notes: Sequence[str] = ()
    differing: int = 0
    spoke: bool = False
    added: bool = False

    @cached_property
    def matching(self) -> Matching:
        """The queries that were found beside today's."""
        assert self.stored is not None
        return self.stored.matching(self.target.suite)

    @cached_property
    def run(self) -> Run | None:
        """The answers to today's queries; None where there is nothing to compare with."""
        if self.answers is not None:
            return self.answers
        if self.stored is not None:
            return self.stored.run(self.target.suite, self.matching)
        return Run(self.target.retriever) if self.new else None

    @property
    def unguarded(self) -> bool:
        """True for a retriever that others are compared with, and that itself is with nothing."""
        suite, _, retriever = self.target
        return suite.baseline_retriever == retriever and self.run is None

    @property
    def baseline(self) -> Baseline | None:
        """The description in reports; None where there is nothing to compare with."""
        if self.answers is not None:
            return Baseline(self.source, len(self.answers.answered), version=self.answers.version)
        if self.stored is None:
            return Baseline(self.source, new=self.new) if self.new else None
        header, queries = self.stored.header, self.stored.queries.values()
        return Baseline(
            self.source,
            sum(not line.of for line in queries),  # variants stand beside theirs
            header.commit,
            header.time,
            self.stored.version,
            left=self.matching.gone,
            edited=tuple(self.matching.edited),
            of=self.of,
        )

    @property
    def unfit(self) -> str:
        """The reason why it cannot be compared with, though it is there; "" where it can."""
        if self.stored is None or not self.stored.lacks_texts(self.target.suite):
            return self.damage
        return (
            f"{self.source}: kept without texts, which 'match: text' needs; renew it with"
            f" `{UPDATE}`"
        )

    def of_today(self, needed: Collection[str]) -> Found:
        """Give its answers to the ``needed`` queries, as if these had been asked just now.

        Those that it lacks are in the notes.
        """
        assert self.run is not None
        known = self.run.answered | self.run.faults.keys()
        notes = []
        if some := self._some([id for id in needed if id not in known], needed):
            notes.append(f"the kept run lacks {some}, or has other words or params for them")
        for shown, ids in self.lacking.items():
            if some := self._some(ids, needed):
                notes.append(f"{shown} has nothing for {some}, which therefore score 0")
        run = replace(self.run.only(needed), retriever=self.target.retriever)
        return replace(self, answers=run, notes=notes)

    def _some(self, ids: Collection[str], needed: Collection[str]) -> str:
        """Name a few of the needed queries that have one of the ids, in the suite's order."""
        wanted = {*ids}.intersection(needed)
        texts = [query.text for query in self.target.suite.queries if query.id in wanted]
        more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
        named = ", ".join(map(repr, texts[:NAMED]))
        return f"{len(texts)} of {len(needed)} queries ({named}{more})" if texts else ""


class Source:
    """A place in which runs are found."""

    def find(self, target: Target) -> Found:
        """Give the run of a target. Raises ``StoredRunError`` where it cannot be told."""
        raise NotImplementedError

    def retrievers(self, suite: Path) -> Sequence[str]:
        """Give the retrievers of a suite, where they are known. Raises ``OSError``."""
        return ()

    def expects(self, target: Target) -> bool:
        """Tell whether any retriever of a suite has a run, before the retrievers are known."""
        return True

    def refuse_unknown(self) -> None:
        """Raise ``StoredRunError`` where it can hold nothing at all."""
