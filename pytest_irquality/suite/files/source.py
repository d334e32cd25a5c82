"""Files that a suite names: paths, globs and BEIR folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import NoReturn, TextIO

from pytest_irquality.edges.open import Allowed, Unreadable, matching, open_lines
from pytest_irquality.suite.files.formats import (
    OF_QUERIES,
    Bad,
    Format,
    jsonl,
    plain,
    recognise,
    table,
    topics,
    trec,
)
from pytest_irquality.suite.yaml import SuiteError, clipped, short

QUERIES = ("jsonl", "csv", "tsv", "topics", "text")
JUDGMENTS = ("trec", "beir", "jsonl", "csv", "tsv")
NAMES = tuple(dict.fromkeys((*JUDGMENTS, *QUERIES)))

FORMATS: Mapping[str, Format] = {
    "trec": Format("TREC qrels", trec, words=False),
    "beir": Format("BEIR qrels", table("\t"), words=False),
    # Its queries may stand in the same file.
    "jsonl": Format("JSONL", jsonl(beside=OF_QUERIES)),
    "csv": Format("CSV", table(",;")),
    "tsv": Format("TSV", table("\t")),
    "topics": Format("topics", topics),
    "text": Format("a plain list of queries", plain),
}
assert {*FORMATS} == {*NAMES}, "every format holds queries, or judgments, or both"


@dataclass(frozen=True)
class Source:
    """One file of queries or judgments.

    ``name`` is how messages name it; ``format`` None: its content tells.
    """

    path: Path
    name: str
    format: str | None = None
    allowed: Allowed | None = None

    @contextmanager
    def open(self, head: bool = False) -> Iterator[TextIO]:
        """Open it for its lines, or those of its ``head``.

        Whatever is wrong with them becomes the error that names this file.
        """
        try:
            with open_lines(self.path, self.allowed, head) as lines:
                yield lines
        except (Bad, Unreadable) as wrong:
            raise SuiteError(self.name, wrong.line, wrong.column, str(wrong)) from None

    def _guessed(self) -> list[str]:
        """The names of the formats that its content and its suffix tell."""
        with self.open(head=True) as lines:
            suffix = Path(self.path.name.removesuffix(".gz")).suffix.lower()
            return [*recognise(lines, suffix)]

    def recognised(self, known: tuple[str, ...], what: str, otherwise: str | None = None) -> str:
        """The name of the format it is in, which must be one of ``known``.

        ``what`` is what is looked for, ``otherwise`` the format of a file that looks like none.
        """
        if self.format == "beir" and "beir" not in known:
            return "jsonl"  # as BEIR's queries are
        names = [self.format] if self.format else self._guessed()
        if name := next((name for name in names if name in known), None):
            return name
        if otherwise:
            return otherwise
        if names:
            message = f"this is {FORMATS[names[0]].what}, which has no {what}"
        else:
            message = (
                f"cannot tell the format of these {what}; name it, as in {{file: ..., format:"
                f" {known[0]}}} (one of {', '.join(known)})"
            )
        raise SuiteError(self.name, 1, 1, message)


def sources(
    written: str, folder: Path, named_in: Path, format: str | None, allowed: Allowed | None = None
) -> list[Source]:
    """The files a path or a glob means, relative to the suite's folder. Raises ``ValueError``."""
    try:
        if (folder / written).exists():
            found = [written]
        elif not has_magic(written):
            raise ValueError(f"no such file: {clipped(written)}")
        elif not (found := matching(written, folder)):
            raise ValueError(f"no file matches {short(written)}")
        if allowed:
            allowed.check_named([folder / name for name in found])
    except Unreadable as error:
        raise ValueError(f"{short(written)}: {error}") from None
    except OSError as error:  # a name too long, say
        raise ValueError(f"{short(written)} cannot be read: {error.strerror or error}") from None
    files = []
    for name in found:
        in_messages = os.path.normpath(named_in / name).replace(os.sep, "/")
        files.append(Source(folder / name, in_messages, format, allowed))
    return files


def beir_queries(folder: Source) -> Source:
    """The queries of a BEIR folder, of all its splits."""
    names = ("queries.jsonl", "queries.jsonl.gz")
    return _part(folder, names) or _refuse(folder, "is no BEIR folder: it has no queries.jsonl")


def beir_qrels(folder: Source) -> Source:
    """The judgments of a BEIR folder, those of its test split."""
    found = _part(folder, ("qrels/test.tsv", "qrels/test.tsv.gz"))
    return found or _refuse(
        folder, "is no BEIR folder with judgments to test by: it has no qrels/test.tsv"
    )


def _part(folder: Source, names: Iterable[str]) -> Source | None:
    name = next((name for name in names if (folder.path / name).exists()), None)
    if name is None:
        return None
    shown = os.path.normpath(f"{folder.name}/{name}").replace(os.sep, "/")
    part = Source(folder.path / name, shown, None, folder.allowed)
    try:
        if folder.allowed:
            folder.allowed.check_named([part.path])
    except Unreadable as error:
        _refuse(part, str(error))
    return part


def _refuse(folder: Source, message: str) -> NoReturn:
    raise SuiteError(folder.name, 1, 1, message)
