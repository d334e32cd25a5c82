"""TREC run files: ``query Q0 document rank score tag``, plain or gzip."""

from __future__ import annotations

import codecs
import math
import operator
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.io.decoding import MAX_LINE_LENGTH, open_text_blocks, pause_garbage_collection
from pytest_irquality.io.files import FileError, open_binary
from pytest_irquality.retrieval.run import PackedIds, Ranking

TREC_ENDINGS = (".run", ".trec", ".run.gz", ".trec.gz")
MAX_SCORE = sys.float_info.max

_FIELDS = 6
_NUL = b"\0"
# The tokens of a larger block do not stay in the caches of a processor.
_BLOCK_BYTES = 2**15
_MIN_TABLE_SCORES = 1_000
_GZIP_AND_BOM_PREFIXES = (b"\x1f\x8b", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_trec_path(path: Path) -> bool:
    """Return whether a file is named like a run: ``.run``, ``.trec``, or the same with ``.gz``."""
    return path.name.lower().endswith(TREC_ENDINGS)


def read_trec_run(path: Path, *, name: str = "") -> Mapping[str, Ranking]:
    """Read the rankings of a TREC run by query id.

    Documents are in trec_eval's order: by score as a number of 32 bits, equal scores by document
    id, both descending.

    Args:
        path: The file.
        name: The name of the file in messages.

    Raises:
        BaselineError: A line is not a valid line of a run.
    """
    name = name or str(path)
    reader = _TrecReader(name)
    try:
        with pause_garbage_collection():
            for block in _read_blocks(path):
                reader.add_lines(block)
            return reader.finish()
    except FileError as error:
        place = f"{name}:{error.line}" if error.line else name
        raise BaselineError(f"{place}: {error.message}") from None


def _read_blocks(path: Path) -> Iterator[bytes]:
    """Yield blocks of complete lines in UTF-8. Files in plain UTF-8 are not decoded."""
    with open_binary(path) as file:
        if not file.peek(4).startswith(_GZIP_AND_BOM_PREFIXES):  # type: ignore[attr-defined]
            yield from _read_plain_blocks(file, path)
            return
    for text in open_text_blocks(path):
        yield text.removesuffix("\n").encode() + b"\n"


def _read_plain_blocks(file: BinaryIO, path: Path) -> Iterator[bytes]:
    rest = b""
    for block in iter(lambda: file.read(_BLOCK_BYTES), b""):
        lines, line_end, rest = (rest + block).rpartition(b"\n")
        if _NUL in block or len(rest) > MAX_LINE_LENGTH:
            # The decoder's errors have the line. It counts characters, so it may find none.
            for _ in open_text_blocks(path):
                pass
            raise FileError(str(path), f"A line is longer than {MAX_LINE_LENGTH:,} bytes")
        yield lines + line_end
    if rest:
        yield rest + b"\n"


class _QueryHits(NamedTuple):
    """The hits of one query: texts of document ids, each with a line end, and their scores."""

    doc_ids: list[bytes]
    scores: array[float]


class _ScoreTable(dict[bytes, float]):
    """Scores by their text. Many queries share them if they have few digits or come from ranks."""

    def __missing__(self, text: bytes) -> float:
        self[text] = score = float(text)
        return score


class _TrecReader:
    """Reads a run. Usually all lines of a query are read at once, otherwise line by line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._line_count = 0
        self._hits: dict[bytes, _QueryHits] = {}
        self._unordered: set[bytes] = set()
        self._score_table = _ScoreTable()
        self._parse_score: Callable[[bytes], float] = self._score_table.__getitem__
        self._max_query_bytes = _BLOCK_BYTES

    def add_lines(self, block: bytes) -> None:
        """Add some complete lines."""
        start = 0
        while start < len(block):
            end = self._add_lines_of_query(block, start)
            if end is None:
                break
            start = end
        for line in block[start:].splitlines():
            self._line_count += 1
            self._add_line(line)

    def finish(self) -> Mapping[str, Ranking]:
        """Return the rankings, each in the order of its scores."""
        rankings = {}
        for query in list(self._hits):
            query_id = self._decode(query)
            is_ordered = query not in self._unordered
            rankings[query_id] = self._make_ranking(query_id, self._hits.pop(query), is_ordered)
        return rankings

    def _add_lines_of_query(self, block: bytes, start: int) -> int | None:
        """Add lines of the query at ``start``, and return where they end.

        Between the score of a line and the document of the next line, the text is the same for all
        lines of a query. So only document, rank and score are split, which saves a quarter of the
        time. An example, with ``|`` for the end of a line::

            block   q1 Q0 d7 1 9.5 bm25|q1 Q0 d3 2 8.1 bm25|q2 Q0 d5 1 7.0 bm25|
            border                 ( bm25|q1 Q0 )
            lines   q1 Q0 d7 1 9.5 bm25|q1 Q0 d3 2 8.1 bm25|
            fields        d7 1 9.5 NUL        d3 2 8.1

        The next call starts at ``q2``. Every border becomes a NUL, so each fourth field must be
        one if all lines have six fields.

        Returns:
            The end of the lines, or ``None`` if they do not have the usual form.
        """
        first_end = block.find(b"\n", start) + 1
        first_line = block[start:first_end]
        first_fields = first_line.split()
        if len(first_fields) != _FIELDS:
            return None
        query, q0, *_, tag = first_fields
        space = first_line[len(query) : len(query) + 1]
        line_start = query + space + q0 + space
        line_end = space + first_line[first_line.rfind(tag) :]
        border = line_end + line_start
        # Search backwards for the last border, but only within twice the length of the last query.
        # Otherwise the search would pass all other queries of the block. The next call adds any
        # further lines of this query, and searches twice as far.
        last_border = block.rfind(border, start, start + self._max_query_bytes)
        end = block.find(b"\n", last_border + len(line_end)) + 1 if last_border > 0 else first_end
        self._max_query_bytes = 2 * (end - start)
        lines = block[start:end]
        if not lines.startswith(line_start) or not lines.endswith(line_end):
            return None
        # A text of the same length is replaced in place, which takes a third of the time.
        mark = b" \0".ljust(len(border))
        fields = lines[len(line_start) : -len(line_end)].replace(border, mark).split()
        line_count = lines.count(b"\n")
        if len(fields) != 4 * line_count - 1 or fields[3::4].count(_NUL) != line_count - 1:
            return None
        scores = self._parse_scores(fields[2::4])
        if scores is None:
            return None
        self._add_documents(query, fields[::4], scores)
        self._line_count += line_count
        return end

    def _parse_scores(self, texts: Sequence[bytes]) -> list[float] | None:
        """Return the scores, or ``None`` if one is not a number."""
        # `float` accepts `1_0`, which is not a score.
        if b"_" in b" ".join(texts):
            return None
        try:
            scores = list(map(self._parse_score, texts))
        except ValueError:
            return None
        if len(self._score_table) > max(_MIN_TABLE_SCORES, self._line_count // 4):
            self._parse_score = float  # Too few scores occur again.
            self._score_table.clear()
        return scores

    def _add_line(self, line: bytes) -> None:
        """Add one line, or raise an error that says what is wrong with it."""
        fields = line.split()
        if not fields:
            return
        place = f"{self._name}:{self._line_count}"
        if len(fields) != _FIELDS:
            needed = "A line needs six fields, `query Q0 document rank score tag`"
            raise BaselineError(f"{place}: {needed}, and this one has {len(fields)}")
        query, _, doc_id, _, score, _ = fields
        try:
            value = float(score.replace(b"_", b"?"))  # `float` accepts `1_0`.
        except ValueError:
            shown = score[:60].decode(errors="replace")
            raise BaselineError(f"{place}: The score '{shown}' is not a number") from None
        self._add_documents(query, [doc_id], [value])

    def _add_documents(self, query: bytes, doc_ids: list[bytes], scores: list[float]) -> None:
        """Add documents of a query, whose lines need not follow each other."""
        if query not in self._hits:
            self._hits[query] = _QueryHits([], array("d"))
        hits = self._hits[query]
        # Without equal scores, a run is usually in order. NaN cannot be sorted, and `_make_ranking`
        # looks for it.
        compared = array("f", [*hits.scores[-1:], *scores])
        if math.isnan(sum(scores)) or not all(map(operator.gt, compared, compared[1:])):
            self._unordered.add(query)
        # As separate strings, millions of ids would take most of the memory of a run.
        hits.doc_ids.append(b"\n".join(doc_ids) + b"\n")
        hits.scores.fromlist(scores)

    def _make_ranking(self, query_id: str, hits: _QueryHits, is_ordered: bool) -> Ranking:
        doc_ids, scores = self._decode(b"".join(hits.doc_ids)), hits.scores
        highest, lowest = scores[0], scores[-1]
        if not is_ordered:
            if any(map(math.isnan, scores)):
                message = f"A score of query '{query_id}' is not a number"
                raise BaselineError(f"{self._name}: {message}")
            columns = (array("f", scores), doc_ids.split("\n"), scores)
            ordered = sorted(zip(*columns, strict=False), reverse=True)
            doc_ids = "".join(f"{doc_id}\n" for _, doc_id, _ in ordered)
            scores = array("d", [score for _, _, score in ordered])
            highest, lowest = max(scores), min(scores)
        # JSON, and so a baseline, has no infinite numbers.
        if highest > MAX_SCORE or lowest < -MAX_SCORE:
            scores = array("d", [min(max(score, -MAX_SCORE), MAX_SCORE) for score in scores])
        return Ranking(PackedIds(doc_ids), scores)

    def _decode(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise BaselineError(f"{self._name}: The ids are not valid UTF-8") from None
