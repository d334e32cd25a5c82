"""The one answer of every source of runs: what was returned for a suite and retriever, and how we
know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.edges.open import Allowed
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.elsewhere import Shelved
from pytest_irquality.storage.matching import Matching
from pytest_irquality.storage.provenance import UPDATE, Baseline, New
from pytest_irquality.storage.stored import Header, StoredRun
from pytest_irquality.storage.target import Target

NAMED = 3


class RunFile(NamedTuple):
    """A file of kept runs, how messages name it, and what it may lead to (None: anything).

    One in TREC's format has an empty ``header``; ``lacking`` are then the ids of the queries that
    it has nothing for, which counts as nothing found.
    """

    path: Path
    shown: str
    allowed: Allowed | None
    header: Header = Header("", "", 0)
    lacking: Sequence[str] = ()


@dataclass(frozen=True)
class Found:
    """What a source has for a target: a stored run, or none.

    ``source`` is its name in messages. ``changed`` are the commit and the time (ISO 8601) of the
    last change of its file, which made a run that does not say so itself. ``of`` is the suite and
    retriever that it was made for, where they have another name now, and ``taken`` its place, where
    it was found under that name. ``files`` are those of kept runs that it was put together
    from.

    Without a run ``damage`` says what is wrong with a file that is there; ``new`` that the suite
    did not exist at the commit asked for, or had no baseline there and this change brings the
    first, so that nothing in it can have got worse.

    ``committed`` is the baseline that the change itself commits, where it is another. ``notes`` are
    what a reader must know of it, ``differing`` counts the files, other than tests and suites, in
    which the code that answered is not today's.
    """

    target: Target
    source: str
    stored: StoredRun | None = None
    changed: tuple[str | None, str | None] = (None, None)
    of: str = ""
    taken: Shelved | None = None
    files: Sequence[RunFile] = ()
    damage: str = ""
    new: New = ""
    committed: StoredRun | None = None
    notes: Sequence[str] = ()
    differing: int = 0

    @cached_property
    def matching(self) -> Matching:
        """Its queries beside today's."""
        assert self.stored is not None
        return self.stored.matching(self.target.suite)

    @cached_property
    def run(self) -> Run | None:
        """Its answers to today's queries; None where there is nothing to compare with."""
        if self.stored is None:
            return Run(self.target.retriever) if self.new else None
        return self.stored.run(self.target.suite, self.matching)

    @property
    def baseline(self) -> Baseline | None:
        """What reports say of it; None where there is nothing to compare with."""
        if self.stored is None:
            return Baseline(self.source, new=self.new) if self.new else None
        header, queries = self.stored.header, self.stored.queries.values()
        commit, time = (header.commit, header.time) if header.time else self.changed
        return Baseline(
            self.source,
            sum(not line.of for line in queries),  # variants stand beside theirs
            commit,
            time,
            self.stored.version,
            left=self.matching.gone,
            edited=tuple(self.matching.edited),
            renamed=len(self.matching.renamed),
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

    def of_today(self, needed: Collection[str]) -> Run:
        """Its answers to the ``needed`` queries, as if they had been asked just now."""
        assert self.run is not None
        return replace(self.run.only(needed), retriever=self.target.retriever, scored={})

    def lacking(self, needed: Collection[str]) -> Iterator[str]:
        """Say which of the ``needed`` queries kept runs have no answer to."""
        assert self.run is not None
        known = self.run.answered | self.run.faults.keys()
        if some := self._some([id for id in needed if id not in known], needed):
            yield f"the kept run lacks {some}, or has other words or params for them"
        for file in self.files:
            if some := self._some(file.lacking, needed):
                yield f"{file.shown} has nothing for {some}, which therefore score 0"

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
        """Give what was returned for a target. Raises ``StoredRunError`` where that cannot be
        told.
        """
        raise NotImplementedError

    def expects(self, target: Target) -> bool:
        """Tell whether it has anything for one of a suite's retrievers, before these are known."""
        return True

    def refuse_unknown(self) -> None:
        """Raise ``StoredRunError`` where it can hold nothing at all."""
