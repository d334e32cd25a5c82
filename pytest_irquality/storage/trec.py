"""TREC run files: ``query Q0 document rank score tag``, plain or gzip.

A foreign file is read in the order in which trec_eval reads it: score descending as a 32-bit float,
ties by document id descending; ranks and the order of its lines count for nothing. White space
cannot stand in such a file, so ids are percent-encoded where they have any; the tag says that we
did so, and only such files are decoded.
"""

from __future__ import annotations

import gzip
import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import gt
from pathlib import Path
from typing import BinaryIO

from pytest_irquality.edges.open import Allowed, bounded_lines, open_unpacked
from pytest_irquality.edges.write import write
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.storage.stored import StoredRunError, opened
from pytest_irquality.suite.model import Suite

SUFFIXES = (".run", ".trec", ".run.gz", ".trec.gz")
TAG = "pytest-irquality"
LARGEST = 3.4028234663852886e38  # of 32 bits; what is beyond is infinite to trec_eval
UNFIT = re.compile(r"\s|%(?=[0-9A-Fa-f]{2})|^%$")
ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
BLOCK = 2**14
"""Bytes whose lines are split at once: what becomes of more does not fit a processor's caches."""
END, MARKED_END = "\0", b" \0 "
"""Stands for the end of a line where a block of lines is split at once."""
NOT_BETWEEN_FIELDS = (
    "\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""White space to Python that is none to trec_eval."""


def is_trec(path: Path) -> bool:
    """Tell whether a path is named as a TREC run file."""
    return path.name.endswith(SUFFIXES)


def name_of(path: Path) -> str:
    """``bm25`` of ``bm25.run.gz``."""
    return path.name.removesuffix(".gz").rpartition(".")[0]


def read_trec(
    path: Path, shown: str | None = None, allowed: Allowed | None = None
) -> Mapping[str, Ranking]:
    """Read the rankings by query id, in trec_eval's order.

    Scores are rounded to 32 bits, as trec_eval compares them. Raises ``StoredRunError`` for a line
    that trec_eval would not read either, ``OSError``.
    """
    where = shown or str(path)
    try:
        with opened(path, where, allowed, open_unpacked) as file:
            return _read_regular(file)
    except ValueError:  # an odd line, or a wrong one
        with opened(path, where, allowed, open_unpacked) as file:
            return _read_carefully(file, where)


# -- many lines at a time --------------------------------------------------------------------------


def _read_regular(file: BinaryIO) -> Mapping[str, Ranking]:
    """A file without a surprise: six fields on every line, the lines of each query together.

    Raises ``ValueError`` for any other.
    """
    found, rest = _Found(), b""
    while block := file.read(BLOCK) or (rest and b"\n"):
        lines, end, rest = (rest + block).rpartition(b"\n")
        if len(rest) > BLOCK:
            raise ValueError
        _add_lines(lines + end, found)
    found.close()
    return found.rankings


@dataclass
class _Found:
    """The rankings so far, and the lines of the query that is being read.

    Each ranking is made as soon as its lines are complete, while the processor still has them at
    hand. ``ours``: we wrote the file; None before the first line.
    """

    rankings: dict[str, Ranking] = field(default_factory=dict)
    query: str | None = None
    documents: list[str] = field(default_factory=list)
    scores: array[float] = field(default_factory=lambda: array("f"))
    ours: bool | None = None

    def add(self, query: str, documents: Sequence[str], scores: array[float]) -> None:
        """Further lines of a query."""
        if query != self.query:
            self.close()
            self.query, self.documents, self.scores = query, [], array("f")
        self.documents += documents
        self.scores += scores

    def close(self) -> None:
        """The query has no further lines. Raises ``ValueError`` where it had some before."""
        if self.query is None:
            return
        id = _read_id(self.query, bool(self.ours))
        if id in self.rankings:
            raise ValueError
        self.rankings[id] = _ranking(self.documents, self.scores, bool(self.ours))


def _add_lines(lines: bytes, found: _Found) -> None:
    """Add whole lines, a column at a time."""
    if b"\0" in lines:
        raise ValueError
    marked = lines.replace(b"\n", MARKED_END)
    count = (len(marked) - len(lines)) // (len(MARKED_END) - 1)
    text = marked.decode()
    if any(map(text.__contains__, NOT_BETWEEN_FIELDS)):
        raise ValueError
    fields = text.split()
    if len(fields) != 7 * count or fields[6::7].count(END) != count:
        raise ValueError
    queries, documents, written = fields[::7], fields[2::7], fields[4::7]
    if not text.isascii() and not "".join(written).isascii():
        raise ValueError  # the digits of other scripts are none to trec_eval
    ours = TAG in text and any(tag.startswith(TAG) for tag in fields[5::7])
    if found.ours not in (None, ours):
        raise ValueError
    found.ours = ours
    scores = array("f", [*map(float, written)])
    start = 0
    for query, same in groupby(queries):
        end = start + len([*same])
        found.add(query, documents[start:end], scores[start:end])
        start = end


# -- a line at a time ------------------------------------------------------------------------------


def _read_carefully(file: BinaryIO, where: str) -> Mapping[str, Ranking]:
    """Any file, with an error for whatever is wrong with a line."""
    read: dict[bytes, dict[bytes, float]] = {}
    ours, number = False, 0
    try:
        for number, line in enumerate(bounded_lines(file), 1):
            fields = line.split()
            if len(fields) != 6:
                if not fields:
                    continue
                raise StoredRunError(
                    f"{where}:{number}: {len(fields)} fields; a line is: query Q0 document rank"
                    " score tag"
                )
            query, _, document, _, score, tag = fields
            ranked = read.setdefault(query, {})
            if document in ranked:
                shown_document = document.decode(errors="replace")
                raise StoredRunError(
                    f"{where}:{number}: the document {shown_document!r} stands twice in this query"
                )
            ranked[document] = float(score)
            ours = ours or tag.startswith(TAG.encode())
            if math.isnan(ranked[document]):
                raise ValueError
    except ValueError:
        shown_score = score[:60].decode(errors="replace")
        raise StoredRunError(f"{where}:{number}: the score {shown_score!r} is no number") from None
    rankings = {}
    try:
        for query in [*read]:  # files of millions of lines are never in memory twice
            ranked = read.pop(query)
            documents, scores = [*map(bytes.decode, ranked)], array("f", ranked.values())
            rankings[_read_id(query.decode(), ours)] = _ranking(documents, scores, ours)
    except UnicodeDecodeError:
        raise StoredRunError(f"{where}: its ids are not UTF-8") from None
    return rankings


def _ranking(documents: Sequence[str], scores: array[float], ours: bool) -> Ranking:
    """Make a ranking of the lines of a query.

    Raises ``ValueError`` for a document that stands twice, a score that is no number.
    """
    if len({*documents}) < len(documents):
        raise ValueError
    if not all(map(gt, scores, scores[1:])):
        if any(map(math.isnan, scores)):
            raise ValueError
        # strcmp compares UTF-8 as Python compares strings.
        ordered = sorted(zip(scores, documents, strict=True), reverse=True)
        documents = [document for _, document in ordered]
        scores = array("f", [score for score, _ in ordered])
    if not -LARGEST <= scores[-1] <= scores[0] <= LARGEST:
        if math.isnan(scores[0]):
            raise ValueError
        scores = array("f", [min(max(score, -LARGEST), LARGEST) for score in scores])
    if ours:
        return Ranking(tuple([_read_id(document, True) for document in documents]), scores)
    return Ranking(tuple(documents), scores)


def _read_id(id: str, ours: bool) -> str:
    if not ours:
        return id
    return "" if id == "%" else ENCODED.sub(_decoded, id)


def _decoded(found: re.Match[str]) -> str:
    try:
        return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # no text that we wrote
        return found[0]


def write_trec(path: Path, suite: Suite, run: Run, allowed: Allowed | None = None) -> None:
    """Write what was returned, each document once.

    A query that returned nothing, or failed, has no line. Scores are the retriever's own where they
    fall strictly as 32-bit floats, else they count down to 1, so that whoever sorts by score gets
    the order back. Raises ``OSError``.
    """
    lines = _lines(suite, run)
    packed = path.suffix == ".gz"
    write(path, [gzip.compress(b"".join(lines), mtime=0)] if packed else lines, allowed)


def _lines(suite: Suite, run: Run) -> Iterator[bytes]:
    tag = f"{TAG}:{_fit(run.retriever)}" if run.retriever else TAG
    for query in suite.queries:
        if query.id not in run.answered:
            continue
        id, ranking = _fit(query.id), run.first.rankings[query.id]
        documents = {document: index for index, document in reversed(list(enumerate(ranking.ids)))}
        first = sorted(documents.values())
        scores = falling(
            [ranking.scores[index] for index in first] if ranking.scores else (), len(first)
        )
        for rank, (index, score) in enumerate(zip(first, scores, strict=True), 1):
            yield f"{id} Q0 {_fit(ranking.ids[index])} {rank} {score!r} {tag}\n".encode(
                "utf-8", "surrogatepass"
            )


def falling(scores: Sequence[float], count: int) -> Sequence[float]:
    """Give the scores themselves where they fall, else ``count`` down to 1.

    They fall where each is below the one before it as a 32-bit float.
    """
    rounded = array("f", scores)
    strictly = all(map(gt, rounded, rounded[1:]))
    if len(rounded) == count and strictly and all(map(math.isfinite, rounded)):
        return scores
    return [float(count - index) for index in range(count)]


def _fit(id: str) -> str:
    if not id:
        return "%"
    return UNFIT.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), id)
