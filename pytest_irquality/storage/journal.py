"""Answers that are written as they come, so that a crash loses none of those that were paid for.

They stand beside the kept run, a file a process, until that is written.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import escape
from typing import Any, BinaryIO

from pytest_irquality.edges.open import bounded_lines
from pytest_irquality.edges.write import begin
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.jsonl import header_in, header_line, line_of, object_on
from pytest_irquality.storage.rows import DamagedRowError, query_of, row_of
from pytest_irquality.storage.run_file import RunFile
from pytest_irquality.storage.stored import (
    Header,
    StoredQuery,
    StoredRun,
    StoredRunError,
    answered,
    opened,
)
from pytest_irquality.suite.model import Query, Suite

NUMBER = "answer"  # of a row: which answer to the query it is, or the name of a stage


@dataclass
class Journal:
    """The file of one pass, which is there from its first answer on."""

    kept: RunFile
    suite: Suite
    header: Header
    _file: BinaryIO | None = None
    _ended: bool = False

    def keep(self, query: Query, number: int, run: Run) -> None:
        """Write an answer to a query or to a variant, or what stages gave.

        A call that failed is none.
        """
        for name, stage in run.stages.items():
            self._keep(answered(self.suite, query, stage), name)
        if not run.stages:
            self._keep(answered(self.suite, query, run), number)

    def _keep(self, line: StoredQuery, number: int | str) -> None:
        if line.ranking is None or self._ended:
            return
        try:
            if self._file is None:
                name = f"{self.kept.path.name}.{os.getpid()}.part"
                self._file = begin(self.kept.path.with_name(name), self.kept.allowed)
                self._file.write(header_line(self.header))
            self._file.write(line_of({**row_of(line), NUMBER: number}))
            self._file.flush()
        except OSError:  # the kept run itself cannot be written either, which says so
            self._ended = True

    def close(self) -> None:
        """End the file, which stays for whoever goes on."""
        self._ended = True
        if self._file:
            with suppress(OSError):
                self._file.close()


def journals(kept: RunFile) -> Sequence[RunFile]:
    """The files of passes that have not written their run."""
    parts = sorted(kept.path.parent.glob(f"{escape(kept.path.name)}.*.part"))
    return [
        kept._replace(path=path, shown=kept.shown + path.name.removeprefix(kept.path.name))
        for path in parts
    ]


def read_journal(file: RunFile) -> StoredRun:
    """The answers in a file, whose last line may be cut off. Raises ``StoredRunError``."""
    with opened(file.path, file.shown, file.allowed) as opened_file:
        lines = bounded_lines(opened_file)
        header = header_in(lines, file.shown)
        answers: defaultdict[str, dict[int | str, StoredQuery]] = defaultdict(dict)
        shared: dict[Any, Any] = {}
        for line in lines:
            if not line.endswith(b"\n"):
                break
            row = object_on(line, file.shown)
            number = row.pop(NUMBER, 0)
            try:
                query = query_of(row, shared)
            except DamagedRowError as error:
                raise StoredRunError(f"{file.shown}: damaged: {error}") from None
            answers[query.id][number] = query
    return StoredRun(header, dict(_whole(answers)))


def _whole(
    answers: Mapping[str, Mapping[int | str, StoredQuery]],
) -> Iterator[tuple[str, StoredQuery]]:
    """Each query with all its answers in order; one without a first answer has none."""
    for id, some in answers.items():
        if 0 in some:
            numbers = sorted(number for number in some if isinstance(number, int) and number)
            stages = {name: stage for name, stage in some.items() if isinstance(name, str)}
            yield id, replace(some[0], answers=tuple(map(some.__getitem__, numbers)), stages=stages)
