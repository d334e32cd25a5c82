"""The base's answers as a source: what ``--ir-baseline=run:REF`` compares with."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pytest_irquality.pipeline.base.messages import ANSWERS, RUNS, BaseAnswers, RunOf
from pytest_irquality.storage.commits import AtCommit
from pytest_irquality.storage.found import Found, Source
from pytest_irquality.storage.jsonl import read_run
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.target import Target


@dataclass(frozen=True)
class AtBase(Source):
    """The answers in a ``folder`` that the base's process gave.

    ``commit`` has the baselines that its commit and HEAD hold.
    """

    commit: AtCommit
    folder: Path

    def find(self, target: Target) -> Found:
        """Give the base's answers for a target.

        Raises ``StoredRunError`` where it was not asked, or its answers cannot be read.
        """
        suite = self.commit.project.repository.path(Path(os.path.realpath(target.file)))
        base, answer = self._answers, self._answers.of(RunOf(suite, target.retriever))
        if answer is None:
            raise StoredRunError(f"run:{base.ref} was not asked the queries of {suite}")
        notes = [*filter(None, [answer.new]), *answer.notes, *base.notes]
        source, differing = f"run:{base.ref}", base.differing
        found = Found(target, source, notes=notes, differing=differing, spoke=base.spoke)
        found = replace(found, committed=self.commit.committed(target))
        if answer.run is None:
            return replace(found, new="suite")
        stored = read_run(self.folder / RUNS / answer.run, found.source)
        header = replace(stored.header, commit=base.commit[:7], time=base.time)
        return replace(found, stored=replace(stored, header=header))

    @cached_property
    def _answers(self) -> BaseAnswers:
        return BaseAnswers.read(self.folder / ANSWERS)
