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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import compress, count, islice
from operator import gt, ne
from pathlib import Path
from typing import BinaryIO

from pytest_irquality.edges.dataclass import dataclass
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
BLOCK = 2**16
END = "\0"
"""Stands for the end of a line where a block of lines is split at once."""
NOT_BETWEEN_FIELDS = (
    f"{END}\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""White space to Python that is none to trec_eval."""


def is_trec(path: Path) -> bool:
    """Whether a path is named as a TREC run file."""
    return path.name.endswith(SUFFIXES)


def name_of(path: Path) -> str:
    """``bm25`` of ``bm25.run.gz``."""
    return path.name.removesuffix(".gz").rpartition(".")[0]


def read_trec(
    path: Path, shown: str | None = None, allowed: Allowed | None = None
) -> Mapping[str, Ranking]:
    """The rankings by query id, as trec_eval orders them. Scores are rounded to 32 bits, as it
    compares them.

    Raises ``StoredRunError`` for a line that trec_eval would not read either, ``OSError``.
    """
    where = shown or str(path)
    try:
        with opened(path, where, allowed, open_unpacked) as file:
            return _read_regular(file).rankings()
    except ValueError:  # an odd line, or a wrong one
        with opened(path, where, allowed, open_unpacked) as file:
            return _read_carefully(file, where).rankings()


@dataclass
class _Found:
    """The documents and scores of each query, in the order of the lines; ``ours``: we wrote
    them.
    """

    columns: dict[str, tuple[list[str], array[float]]] = field(default_factory=dict)
    ours: bool = False

    def add(self, query: str, documents: Iterable[str], scores: Iterable[float]) -> None:
        """Further lines of a query."""
        known = self.columns.get(query)
        if known is None:
            known = self.columns[query] = [], array("f")
        known[0].extend(documents)
        known[1].extend(scores)

    def rankings(self) -> Mapping[str, Ranking]:
        """Each query's ranking, after which this holds nothing: files of millions of lines are
        never in memory twice. Raises ``ValueError`` for a document that stands twice, a score that
        is no number.
        """
        queries = list(self.columns)
        return {
            _read_id(query, self.ours): _ranking(*self.columns.pop(query), self.ours)
            for query in queries
        }


def _ranking(documents: Sequence[str], scores: array[float], ours: bool) -> Ranking:
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
    ids = (_read_id(document, True) for document in documents) if ours else documents
    return Ranking(tuple(ids), scores)


def _read_regular(file: BinaryIO) -> _Found:
    """A file without a surprise, many lines at a time: six fields on every line.

    Raises ``ValueError`` for any other.
    """
    found, rest = _Found(), b""
    while block := file.read(BLOCK) or (rest and b"\n"):
        lines, end, rest = (rest + block).rpartition(b"\n")
        if len(rest) > BLOCK:
            raise ValueError
        _add_lines((lines + end).decode(), found)
    return found


def _add_lines(text: str, found: _Found) -> None:
    """Add whole lines, a column at a time."""
    if any(map(text.__contains__, NOT_BETWEEN_FIELDS)):
        raise ValueError
    fields = text.replace("\n", f" {END} ").split()
    lines = text.count("\n")
    if len(fields) != 7 * lines or fields[6::7].count(END) != lines:
        raise ValueError
    queries, documents, written = fields[::7], fields[2::7], fields[4::7]
    if not text.isascii() and not "".join(written).isascii():
        raise ValueError  # the digits of other scripts are none to trec_eval
    scores = array("f", map(float, written))
    if not found.ours and TAG in text:
        found.ours = any(tag.startswith(TAG) for tag in fields[5::7])
    changes = list(compress(count(1), map(ne, queries, islice(queries, 1, None))))
    for start, end in zip([0, *changes], [*changes, lines], strict=True):
        if start < end:
            found.add(queries[start], documents[start:end], scores[start:end])


def _read_carefully(file: BinaryIO, where: str) -> _Found:
    """Any file, a line at a time, with an error for whatever is wrong with one."""
    read: dict[bytes, dict[bytes, float]] = {}
    found, number = _Found(), 0
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
            found.ours = found.ours or tag.startswith(TAG.encode())
            if math.isnan(ranked[document]):
                raise ValueError
    except ValueError:
        shown_score = score[:60].decode(errors="replace")
        raise StoredRunError(f"{where}:{number}: the score {shown_score!r} is no number") from None
    try:
        for query, ranked in read.items():
            found.add(query.decode(), map(bytes.decode, ranked), ranked.values())
    except UnicodeDecodeError:
        raise StoredRunError(f"{where}: its ids are not UTF-8") from None
    return found


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
    """Write what was returned, each document once. A query that returned nothing, or failed, has no
    line.

    Scores are the retriever's own where they fall strictly as 32-bit floats, else they count down
    to 1, so that whoever sorts by score gets the order back. Raises ``OSError``.
    """
    lines = _lines(suite, run)
    packed = path.suffix == ".gz"
    write(path, [gzip.compress(b"".join(lines), mtime=0)] if packed else lines, allowed)


def _lines(suite: Suite, run: Run) -> Iterator[bytes]:
    tag = f"{TAG}:{_fit(run.retriever)}" if run.retriever else TAG
    for query in suite.queries:
        if query.id not in run.rankings:
            continue
        id, ranking = _fit(query.id), run.rankings[query.id]
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
    """The scores themselves where each is below the one before it as a 32-bit float, else ``count``
    down to 1.
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
