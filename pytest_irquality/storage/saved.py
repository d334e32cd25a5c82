"""The files in which ``--ir-save-runs`` keeps what was retrieved, for ``--ir-resume`` to find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_irquality.edges.git import now, package_version
from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.project import Project
from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.storage.found import Found, Source
from pytest_irquality.storage.jsonl import write_run
from pytest_irquality.storage.run_file import RunFile
from pytest_irquality.storage.shards import Shard
from pytest_irquality.storage.stored import Header, digest, stored_run
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
        return Found(target, file.shown, file.read() if self.resuming else None)

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
        suite, file, staged = target.suite, self.file(target), run.stages.get(CANDIDATES)
        header = Header(
            suite.name,
            suite.path,
            suite.depth,
            run.retriever,
            digest(suite),
            str(self.shard) if self.shard else None,
            run.version,
            self.project.commit,
            now(),
            package_version(),
            staged.depth if staged else None,
        )
        new = stored_run(suite, run, header)
        if old := self.find(target).stored:
            new = replace(new, queries={**old.queries, **new.queries})
        write_run(file.path, new, file.allowed)
        yield f"run kept: {file.shown}"
