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
Lines = dict[bytes, tuple[list[bytes], "array[float]"]]
"""The documents and scores of each query."""


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
    with opened(path, where, allowed, open_unpacked) as file:
        return _read(file, where)


def _read(file: BinaryIO, where: str) -> Mapping[str, Ranking]:
    read: Lines = {}
    number, last, ours, score = 0, None, False, b""
    documents, scores = list[bytes](), array("f")
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
            if query != last:
                documents, scores = read.setdefault(query, ([], array("f")))
                last, ours = query, ours or tag.startswith(TAG.encode())
            documents.append(document)
            scores.append(float(score))
    except ValueError:
        shown = score[:60].decode(errors="replace")
        raise StoredRunError(f"{where}:{number}: the score {shown!r} is no number") from None
    try:
        return dict(_rankings(read, ours, where))
    except UnicodeDecodeError:
        raise StoredRunError(f"{where}: its ids are not UTF-8") from None


def _rankings(read: Lines, ours: bool, where: str) -> Iterator[tuple[str, Ranking]]:
    for query in [*read]:  # files of millions of lines are never in memory twice
        documents, scores = read.pop(query)
        id, names = _read_id(query.decode(), ours), [*map(bytes.decode, documents)]
        if len({*names}) < len(names):
            raise StoredRunError(f"{where}: a document stands twice in the query {id!r}")
        if any(map(math.isnan, scores)):
            raise StoredRunError(f"{where}: a score of the query {id!r} is no number")
        yield id, _ranking(names, scores, ours)


def _ranking(documents: Sequence[str], scores: array[float], ours: bool) -> Ranking:
    if not all(map(gt, scores, scores[1:])):
        # strcmp compares UTF-8 as Python compares strings.
        ordered = sorted(zip(scores, documents, strict=True), reverse=True)
        documents = [document for _, document in ordered]
        scores = array("f", [score for score, _ in ordered])
    if not -LARGEST <= scores[-1] <= scores[0] <= LARGEST:
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
