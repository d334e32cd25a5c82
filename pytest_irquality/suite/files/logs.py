"""Logs of searches: queries with how often each was asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_irquality.suite.files.formats import Bad, Record
from pytest_irquality.suite.files.queries import read_queries
from pytest_irquality.suite.files.source import Source
from pytest_irquality.suite.yaml import SuiteError, as_number, short


@dataclass(frozen=True)
class Logged:
    """A query of a log, by its first record.

    ``searches`` is None where the file does not count them.
    """

    record: Record
    searches: float | None = None

    @property
    def text(self) -> str:
        """The text that was searched for."""
        return self.record.cells["query"].strip()


def read_log(path: Path, name: str) -> list[Logged]:
    """The queries of a file, which messages call by that name. Raises ``SuiteError``."""
    return logged(read_queries(Source(path, name), (), "text").records, name)


def logged(records: Iterable[Record], file: str) -> list[Logged]:
    """Each text once, with the sum of its counts. Raises ``SuiteError`` where one is no count."""
    first: dict[str, Logged] = {}
    for record in records:
        try:
            new = Logged(record, _searches(record))
        except Bad as bad:
            raise SuiteError(file, bad.line, bad.column, str(bad)) from None
        known = first.get(new.text)
        if known is None or known.searches is None or new.searches is None:
            first.setdefault(new.text, new)
        else:
            first[new.text] = Logged(known.record, known.searches + new.searches)
    return list(first.values())


def _searches(record: Record) -> float | None:
    written = record.cells.get("count", "").strip()
    if "count" not in record.cells:
        return None
    number = as_number(written)
    if number is None or number < 0:
        record.fail("count", f"a count must be a number of 0 or more, not {short(written)}")
    return number
