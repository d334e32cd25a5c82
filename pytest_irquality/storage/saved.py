"""The files in which ``--ir-save-runs`` keeps what was retrieved, and where it resumes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_irquality.edges.git import now
from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.project import Project
from pytest_irquality.storage.found import Found, Source
from pytest_irquality.storage.journal import Journal, journals, read_journal
from pytest_irquality.storage.jsonl import write_run
from pytest_irquality.storage.run_file import RunFile
from pytest_irquality.storage.shards import Shard
from pytest_irquality.storage.stored import (
    Header,
    StoredQuery,
    StoredRun,
    StoredRunError,
    digest,
    stored_run,
)
from pytest_irquality.storage.target import Target
from pytest_irquality.storage.trec import is_trec, write_trec


@dataclass(frozen=True)
class SavedRuns(Source):
    """The folder that was ``given``, or one file in TREC's format.

    ``shard`` is the share of the queries that is kept. ``resuming`` goes on with what an earlier
    job has kept there.
    """

    given: str
    project: Project
    shard: Shard | None = None
    resuming: bool = False

    @property
    def is_one_file(self) -> bool:
        """Tell whether there is room for one run only."""
        return is_trec(self._place)

    @property
    def _place(self) -> Path:
        return self.project.start / self.given

    def file(self, target: Target) -> RunFile:
        """Give the file in a folder that keeps the run of a target."""
        share = f".{self.shard.index}-of-{self.shard.count}" if self.shard else ""
        path = target.below(self._place, f"{share}.jsonl")
        return RunFile.of(self.project, path, Allowed.project(self._place))

    def find(self, target: Target) -> Found:
        """Give the run that an earlier job has kept. Raises ``StoredRunError`` if it is damaged."""
        file = self.file(target)
        return Found(target, file.shown, self._kept(file) if self.resuming else None)

    def _kept(self, file: RunFile) -> StoredRun | None:
        """Give what was kept in a file, and what came of passes that did not end."""
        kept = [(part, read_journal(part)) for part in journals(file)]
        kept += [(file, run) for run in [file.read()] if run]
        if not kept:
            return None
        newest, first = kept[0]
        queries: dict[str, StoredQuery] = {}
        for one, run in reversed(kept):
            if (run.header.code, run.header.version) != (first.header.code, first.header.version):
                raise StoredRunError(
                    f"{newest.shown} is of other code than {one.shown}: name another folder"
                )
            # What was asked for less is asked for again.
            if (run.header.depth, run.header.candidates) == (
                first.header.depth,
                first.header.candidates,
            ):
                queries |= run.queries
        return StoredRun(first.header, queries)

    def journal(self, target: Target, version: str | None, *, staged: bool) -> Journal | None:
        """Give what writes the answers of a target as they come; a TREC file cannot have them."""
        if self.is_one_file:
            return None
        candidates = target.suite.stage_depth if staged else None
        return Journal(self.file(target), target.suite, self._header(target, version, candidates))

    def _header(self, target: Target, version: str | None, candidates: int | None) -> Header:
        suite = target.suite
        return Header(
            suite.name,
            suite.path,
            suite.depth,
            target.retriever,
            digest(suite),
            str(self.shard) if self.shard else None,
            version,
            self.project.commit,
            now(),
            candidates,
            self.project.code,
        )

    def write(self, today: Found) -> Iterator[str]:
        """Keep what was returned for a target.

        The lines that an earlier job has kept of queries which were not asked now stay beside it.
        Raises ``OSError``, ``StoredRunError``.
        """
        target, run = today.target, today.run
        assert run is not None
        if self.is_one_file:
            write_trec(self._place, target.suite, run)
            several = len(run.answers)
            only = f" (the first of {several} answers: such a file has one)" if several > 1 else ""
            yield f"run kept: {self.given}{only}"
            return
        suite, file = target.suite, self.file(target)
        candidates = next((stage.depth for stage in run.stages.values()), None)
        header = self._header(target, run.version, candidates)
        new = stored_run(suite, run, header)
        if old := self.find(target).stored:
            new = replace(new, queries={**old.queries, **new.queries})
        write_run(file.path, new, file.allowed)
        for part in journals(file):
            part.path.unlink(missing_ok=True)
        yield f"run kept: {file.shown}"
