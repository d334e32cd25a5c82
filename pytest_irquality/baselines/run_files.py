"""Run files: JSON lines with a header, one line for each request, and a last line.

Baselines, saved runs, shards and the answers from another process have this format::

    {"format":"pytest-irquality run","format_version":2,"path":"shop.ir.yaml","depth":10,…}

    "office chair"
    {"query":"office chair","docs":[["sku-102",10.92,"Executive Office Chair"],…]}

    {"end":"pytest-irquality run"}

A blank line and a line with the query's text come before each line of answers. Git merges two
changes only if an unchanged line is between them, so branches that update, add or remove different
queries merge without conflicts. Requests are sorted for the same reason. The last line shows that
the file is complete.
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any, NamedTuple, NoReturn

from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.io import decoding
from pytest_irquality.io.escaping import clip, escape_log_line
from pytest_irquality.io.files import FileError
from pytest_irquality.passages.matching import ALL_PASSAGES
from pytest_irquality.retrieval.run import Provenance, QueryError, Ranking, Run
from pytest_irquality.suite.kinds import MAX_CUTOFF
from pytest_irquality.suite.model import make_request

FORMAT = "pytest-irquality run"
FORMAT_VERSION = 2
SCORE_DIGITS = 7  # significant ones, in files that people commit
MAX_ANSWERS = 1_000
MAX_SHOWN_LENGTH = 80
MAX_RARE_TEXTS = 4_000

_PROVENANCE_FIELDS = ("source", "commit", "retry_count", "is_interrupted")
_END_LINE = {"end": FORMAT}
_CONFLICT_MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
_LABEL_START = '"'
_EMPTY: dict[Any, Any] = {}  # shared by millions of rankings

Json = dict[str, Any]


class RunHeader(NamedTuple):
    """The first line of a file, which applies to all answers in it.

    Baselines have only ``path``, ``depth``, ``stage_depth`` and the retriever, which do not change
    if one query is updated. Only saved runs have the other fields.

    Attributes:
        path: The file name of the suite that a baseline belongs to, which is in the folder above.
        fixture: The retriever fixture, or empty in files that do not say.
        conftest: The folder of the fixture's conftest: relative to the suite in a baseline, so that
            the project can move, and to the root in a saved run.
    """

    path: str = ""
    depth: int | None = None
    stage_depth: int | None = None
    fixture: str = ""
    conftest: str = ""
    parameter: str = ""
    id_field: str = ""
    text_field: str = ""
    match: str = ""
    shard: str = ""
    commit: str = ""
    source: str = ""
    retry_count: int = 0
    is_interrupted: bool = False
    notes: tuple[str, ...] = ()
    missing_doc_ids: tuple[str, ...] = ()


class StoredRun(NamedTuple):
    """The content of a file.

    Attributes:
        run: The answers. Its depth is the smallest of the header and all lines.
        lines: The text of each line by request, if ``keep_lines`` was set.
    """

    header: RunHeader
    run: Run
    lines: Mapping[str, str]


# -- Writing ---------------------------------------------------------------------------------------


def encode_run_file(header: RunHeader, lines: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the content of a file.

    Args:
        header: The header.
        lines: The line of each request (see ``encode_row``), without a line end.
    """
    yield _encode_header(header)
    for request in sorted(lines):
        yield b"\n"
        yield decoding.encode_json_line(split_request(request)[0])
        # The backslash sequence of a lone surrogate is the one that JSON has for it.
        yield lines[request].encode("utf-8", "backslashreplace") + b"\n"
    yield b"\n"
    yield decoding.encode_json_line(_END_LINE)


def encode_row(
    run: Run,
    request: str,
    *,
    depth: int | None = None,
    score_digits: int | None = None,
    known_titles: set[str] | None = None,
) -> str:
    """Encode everything that a run has for a request as one line.

    Args:
        run: The run, with its stages.
        request: The request, which has an answer or an error.
        depth: The number of requested results, if it differs from the header's.
        score_digits: The number of significant digits of scores, or ``None`` for all.
        known_titles: Documents whose titles are in the file already. The documents of this line are
            added. With ``None``, all titles are written, so that no line depends on others.
    """
    text, params = split_request(request)
    row: Json = {"query": text}
    if params:
        row["params"] = params
    if depth is not None:
        row["depth"] = depth
    encoder = _RankingEncoder(run.titles, score_digits, known_titles)
    error = run.errors.get(request)
    answers = run.answers.get(request, ())
    if answers:
        row.update(encoder.encode_ranking(answers[0]))
        if len(answers) > 1:
            row["answers"] = [encoder.encode_ranking(answer) for answer in answers[1:]]
    elif error is not None:
        row.update(_encode_error(error))
    stages: Json = {}
    for name, stage in run.stages.items():
        parts = [encoder.encode_ranking(answer) for answer in stage.answers.get(request, ())]
        if request in stage.errors:
            parts = [_encode_error(stage.errors[request])]
        if parts:
            stages[name] = parts[0] if len(parts) == 1 else parts
    if stages:
        row["stages"] = stages
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)


def make_header(run: Run, **values: Any) -> RunHeader:
    """Make a header with the provenance of a run."""
    stage_depths = [stage.provenance.depth for stage in run.stages.values()]
    header = RunHeader(
        **{name: getattr(run.provenance, name) for name in _PROVENANCE_FIELDS},
        depth=run.provenance.depth,
        stage_depth=min((depth for depth in stage_depths if depth is not None), default=None),
        notes=run.notes,
        missing_doc_ids=tuple(sorted(run.missing_doc_ids)),
    )
    return header._replace(**values)


def encode_run(run: Run) -> str:
    """Encode a run as one text, from which ``decode_run`` makes an equal run.

    Only the exceptions of errors are lost, and infinite scores become NaN.
    """
    requests = run.answers.keys() | run.errors.keys()
    for stage in run.stages.values():
        requests |= stage.answers.keys() | stage.errors.keys()
    return b"".join(encode_run_file(make_header(run), encode_rows(run, requests))).decode()


def encode_rows(run: Run, requests: Iterable[str]) -> dict[str, str]:
    """Encode the answers to some requests as lines, with each title once."""
    known_titles: set[str] = set()
    lines = {}
    for request in sorted(requests):
        lines[request] = encode_row(run, request, known_titles=known_titles)
    return lines


def split_request(request: str) -> tuple[str, Json]:
    """Split a request into the text of the query and its parameters (see ``Query.request``)."""
    text, line_end, tail = request.rpartition("\n")
    if line_end and tail.startswith("{"):
        try:
            params = json.loads(tail)
        except ValueError:
            return request, {}
        if make_request(text, params) == request:
            return text, params
    return request, {}


class _RankingEncoder:
    """Encodes the rankings of one line. See ``encode_row`` for the arguments."""

    def __init__(
        self, titles: Mapping[str, str], score_digits: int | None, known_titles: set[str] | None
    ) -> None:
        self._titles = titles
        self._score_digits = score_digits
        self._known_titles = known_titles

    def encode_ranking(self, ranking: Ranking) -> Json:
        if len(ranking.doc_ids) > MAX_CUTOFF:
            problem = f"An answer has {len(ranking.doc_ids):,} documents"
            raise BaselineError(f"{problem}, and a file holds at most {MAX_CUTOFF:,}")
        part: Json = {"docs": self._encode_hits(ranking)}
        if ranking.seconds is not None:
            part["seconds"] = ranking.seconds
        if ranking.sizes:
            part["sizes"] = {unit: list(sizes) for unit, sizes in ranking.sizes.items()}
        if ranking.texts:
            part["texts"] = list(ranking.texts)
        if ranking.fields:
            part["fields"] = [dict(fields) for fields in ranking.fields]
        if ranking.passages:
            part["passages"] = _encode_passages(ranking.passages)
        return part

    def _encode_hits(self, ranking: Ranking) -> list[Any]:
        """Encode each hit as ``[id, score, title]``, or all as ids if there is nothing more."""
        hits: list[list[Any]] = []
        for index, doc_id in enumerate(ranking.doc_ids):
            title = self._titles.get(doc_id)
            if self._known_titles is not None:
                title = None if doc_id in self._known_titles else title
                self._known_titles.add(doc_id)
            hit: list[Any] = [doc_id]
            if ranking.scores is not None:
                hit.append(self._encode_score(ranking.scores[index]))
            elif title:
                hit.append(None)
            if title:
                hit.append(title)
            hits.append(hit)
        if max(map(len, hits), default=1) == 1:
            return list(ranking.doc_ids)
        return hits

    def _encode_score(self, score: float) -> float | None:
        if not math.isfinite(score):
            return None
        return score if self._score_digits is None else float(f"{score:.{self._score_digits}g}")


def _encode_passages(passages: Mapping[int, tuple[str, ...]]) -> dict[str, list[int]]:
    """Encode the indexes of hits by passage. A passage without hits was not found in any."""
    encoded: dict[str, list[int]] = {name: [] for name in passages.get(ALL_PASSAGES, ())}
    for index, names in passages.items():
        for name in names if index != ALL_PASSAGES else ():
            encoded.setdefault(name, []).append(index)
    return encoded


def _encode_error(error: QueryError) -> Json:
    part: Json = {"error": error.message}
    if error.cause:
        part["cause"] = error.cause
    if error.is_skipped:
        part["skipped"] = True
    return part


def _encode_header(header: RunHeader) -> bytes:
    data: Json = {"format": FORMAT, "format_version": FORMAT_VERSION}
    default = RunHeader()
    for name, value in header._asdict().items():
        if value != getattr(default, name):
            data[name] = value
    return decoding.encode_json_line(data)


# -- Reading ---------------------------------------------------------------------------------------


class DamagedFileError(BaselineError):
    """A run file cannot be read. Writing it again repairs most of them."""


def read_run_lines(
    lines: Iterable[tuple[int, str]], name: str, *, repair_hint: str = "", keep_lines: bool = False
) -> StoredRun:
    """Read the lines of a file.

    Args:
        lines: The numbers and texts of the lines.
        name: The name of the file in messages.
        repair_hint: The sentence that says how to repair a damaged file.
        keep_lines: Whether to return the texts of the lines.

    Raises:
        BaselineError: The file is not a run file.
        DamagedFileError: The file is damaged. The message names the line and its query.
    """
    try:
        return _RunReader(name, repair_hint, keep_lines).read(lines)
    except FileError as error:
        place = f"{name}:{error.line}" if error.line else name
        raise DamagedFileError(f"{place}: {error.message}") from None


def decode_run(text: str) -> Run:
    """Decode a run that ``encode_run`` has encoded."""
    return read_run_lines(enumerate(text.split("\n"), start=1), "the answers").run


class _RunReader:
    """Reads one file line by line."""

    def __init__(self, name: str, repair_hint: str, keep_lines: bool) -> None:
        self._name = name
        self._repair_hint = repair_hint
        self._keep_lines = keep_lines
        self._header = RunHeader()
        self._line_number = 1
        self._query_text = ""
        self._answers: dict[str, tuple[Ranking, ...]] = {}
        self._errors: dict[str, QueryError] = {}
        self._stages: dict[str, tuple[dict[str, tuple[Ranking, ...]], dict[str, QueryError]]] = {}
        self._titles: dict[str, str] = {}
        self._depths: set[int] = set()
        # The number and the hash of each line, by request.
        self._line_of_request: dict[str, tuple[int, int]] = {}
        self._lines: dict[str, str] = {}
        self._shared: dict[str, str] = {}
        self._shared_count = 0

    def read(self, lines: Iterable[tuple[int, str]]) -> StoredRun:
        lines = iter(lines)
        with decoding.pause_garbage_collection():
            self._read_header(lines)
            has_end = False
            label = ""
            for self._line_number, line in lines:
                self._query_text = ""
                if line.startswith(_LABEL_START):
                    if label:
                        self._fail("the line after a query is not its answer")
                    label = line
                    continue
                if not line.strip():
                    continue
                if line.startswith(_CONFLICT_MARKERS):
                    self._fail_conflict(lines)
                row = self._parse_object(line)
                if has_end:
                    self._fail("there is text after the last line")
                has_end = row == _END_LINE
                if label and has_end:
                    self._fail("the line after a query is not its answer")
                label = ""
                if not has_end:
                    self._add_row(row, line)
        if not has_end:
            self._query_text = ""
            self._fail("the file is cut off here")
        return self._make_stored_run()

    def _make_stored_run(self) -> StoredRun:
        header = self._header
        shared = {name: getattr(header, name) for name in _PROVENANCE_FIELDS}
        stages = {}
        for name, (answers, errors) in self._stages.items():
            stages[name] = Run(answers, errors, provenance=Provenance(depth=header.stage_depth))
        run = Run(
            answers=self._answers,
            errors=self._errors,
            titles=self._titles,
            stages=stages,
            missing_doc_ids=frozenset(header.missing_doc_ids),
            provenance=Provenance(depth=min(self._depths, default=header.depth), **shared),
            notes=header.notes,
        )
        return StoredRun(header, run, self._lines)

    # -- The header --------------------------------------------------------------------------------

    def _read_header(self, lines: Iterator[tuple[int, str]]) -> None:
        self._line_number, line = next(lines, (1, ""))
        if line.startswith(_CONFLICT_MARKERS):
            self._fail_conflict(lines)
        try:
            data = decoding.parse_json(line)
        except decoding.JsonError:
            data = None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            problem = "This is not a baseline or a saved run of pytest-irquality"
            raise BaselineError(f"{self._name}:1: {problem}")
        version = data.get("format_version")
        if version != FORMAT_VERSION:
            reads = f"this version of pytest-irquality reads {FORMAT_VERSION}"
            raise DamagedFileError(f"{self._name}:1: The format is {version!r}, and {reads}.")
        self._header = self._parse_header(data)
        if self._header.depth is not None:
            self._depths.add(self._header.depth)

    def _parse_header(self, data: Json) -> RunHeader:
        values: Json = {}
        default = RunHeader()
        for name in RunHeader._fields:
            if name not in data:
                continue
            value, expected = data[name], getattr(default, name)
            if isinstance(expected, tuple):
                is_valid = _is_list_of_texts(value)
                value = tuple(value) if is_valid else ()
            elif name in ("depth", "stage_depth", "retry_count"):
                is_valid = type(value) is int and value >= 0
            else:
                is_valid = type(value) is type(expected)
            if not is_valid:
                self._fail(f"the header has no valid '{name}'")
            values[name] = value
        return RunHeader(**values)

    # -- Rows --------------------------------------------------------------------------------------

    def _parse_object(self, line: str) -> Json:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            self._fail("the line is not JSON")
        if not isinstance(data, dict):
            self._fail("the line is not a JSON object")
        return data

    def _add_row(self, row: Json, line: str) -> None:
        text, params = row.get("query"), row.get("params", {})
        if type(text) is not str:
            self._fail("the line has no 'query'")
        self._query_text = text
        self._check_keys(row, _ROW_KEYS)
        if type(params) is not dict or (params and decoding.exceeds_nesting(params)):
            self._fail("'params' is not an object")
        request = make_request(text, params) if params else text
        place = (self._line_number, hash(line))
        first, first_hash = self._line_of_request.setdefault(request, place)
        if first != self._line_number:
            # Both branches of a merge may have added the same line.
            if hash(line) != first_hash:
                self._fail(f"line {first} has another answer to this query, perhaps after a merge")
            return
        if self._keep_lines:
            self._lines[request] = line
        if type(row.get("id", "")) is not str:
            self._fail("'id' is not text")
        if "depth" in row:
            if type(row["depth"]) is not int or row["depth"] < 1:
                self._fail("'depth' is not a number above 0")
            self._depths.add(row["depth"])
        self._add_answers(row, request)
        self._add_stages(row.get("stages", {}), request)

    def _add_answers(self, row: Json, request: str) -> None:
        if "error" in row:
            self._errors[request] = self._parse_error(row)
            return
        others = row.get("answers", [])
        if "docs" not in row:
            if row.get("stages") and not others:
                return  # Only stages answered, which is written for other processes.
            self._fail("the line has neither 'docs' nor 'error'")
        if type(others) is not list or len(others) >= MAX_ANSWERS:
            self._fail(f"'answers' is not a list of at most {MAX_ANSWERS:,} answers")
        answers = [self._parse_ranking(row)]
        for other in others:
            self._check_part(other)
            answers.append(self._parse_ranking(other))
        self._answers[request] = tuple(answers)

    def _add_stages(self, stages: Any, request: str) -> None:
        if type(stages) is not dict:
            self._fail("'stages' is not an object")
        for name, value in stages.items():
            parts = value if type(value) is list else [value]
            answers, errors = self._stages.setdefault(name, ({}, {}))
            for part in parts:
                self._check_part(part)
            if len(parts) == 1 and "error" in parts[0]:
                errors[request] = self._parse_error(parts[0])
            elif parts:
                answers[request] = tuple(map(self._parse_ranking, parts))

    def _check_part(self, part: Any) -> None:
        if type(part) is not dict:
            self._fail("an answer is not an object")
        self._check_keys(part, _PART_KEYS)

    def _check_keys(self, part: Json, known: frozenset[str]) -> None:
        unknown = part.keys() - known
        if unknown:
            self._fail(f"the key '{_shorten(min(unknown))}' is unknown")

    def _parse_error(self, part: Json) -> QueryError:
        message, cause = part["error"], part.get("cause", "")
        is_skipped = part.get("skipped", False)
        if type(message) is not str or type(cause) is not str or type(is_skipped) is not bool:
            self._fail("'error', 'cause' or 'skipped' has a wrong type")
        return QueryError(message, cause, is_skipped=is_skipped)

    def _parse_ranking(self, part: Json) -> Ranking:
        docs = part.get("docs")
        if type(docs) is not list or len(docs) > MAX_CUTOFF:
            self._fail(f"'docs' is not a list of at most {MAX_CUTOFF:,} documents")
        doc_ids, scores = self._parse_hits(docs)
        if _DETAIL_KEYS.isdisjoint(part):
            return Ranking(doc_ids, scores, passages=_EMPTY, sizes=_EMPTY)
        seconds = part.get("seconds")
        if seconds is not None and not _is_number(seconds):
            self._fail("'seconds' is not a number")
        count = len(doc_ids)
        return Ranking(
            doc_ids,
            scores,
            seconds,
            texts=self._parse_texts(part.get("texts", []), count),
            passages=self._parse_passages(part.get("passages"), count),
            fields=self._parse_fields(part.get("fields", []), count),
            sizes=self._parse_sizes(part.get("sizes", {}), count),
        )

    def _parse_hits(self, docs: list[Any]) -> tuple[tuple[str, ...], Sequence[float] | None]:
        types = set(map(type, docs))
        if types <= {str}:
            return self._share_strings(docs), None
        if types != {list} or not all(docs):
            self._fail_hit()
        columns = list(zip_longest(*docs))
        if len(columns) > 3 or set(map(type, columns[0])) != {str}:
            self._fail_hit()
        doc_ids = self._share_strings(columns[0])
        if len(columns) > 2:
            for doc_id, title in zip(doc_ids, columns[2], strict=True):
                if type(title) is str:
                    self._titles.setdefault(doc_id, title)
                elif title is not None:
                    self._fail_hit()
        return doc_ids, self._parse_scores(columns[1]) if len(columns) > 1 else None

    def _parse_scores(self, column: Sequence[Any]) -> Sequence[float] | None:
        types = set(map(type, column))
        if not types <= {float, int, type(None)}:
            self._fail_hit()
        if types == {type(None)}:
            return None
        try:
            scores = array("d", [math.nan if score is None else score for score in column])
        except OverflowError:  # an integer beyond any float
            self._fail_hit()
        has_gaps = type(None) in types
        if any(map(math.isinf, scores)) or (not has_gaps and any(map(math.isnan, scores))):
            self._fail_hit()
        return scores

    def _parse_texts(self, texts: Any, count: int) -> tuple[str, ...]:
        if not _is_list_of_texts(texts) or len(texts) not in (0, count):
            self._fail("'texts' is not a list of one text for each document")
        return self._share_strings(texts)

    def _parse_fields(self, fields: Any, count: int) -> tuple[Mapping[str, object], ...]:
        is_valid = type(fields) is list and set(map(type, fields)) <= {dict}
        if not is_valid or len(fields) not in (0, count) or decoding.exceeds_nesting(fields):
            self._fail("'fields' is not a list of one object for each document")
        return tuple(fields)

    def _parse_sizes(self, sizes: Any, count: int) -> Mapping[str, tuple[float, ...]]:
        if type(sizes) is not dict:
            self._fail("'sizes' is not an object")
        parsed: dict[str, tuple[float, ...]] = {}
        for unit, numbers in sizes.items():
            is_list = type(numbers) is list and len(numbers) == count
            if not is_list or not all(_is_number(number) and number >= 0 for number in numbers):
                self._fail("'sizes' is not a list of one number for each document")
            parsed[unit] = tuple(numbers)
        return parsed or _EMPTY

    def _parse_passages(self, passages: Any, count: int) -> Mapping[int, tuple[str, ...]]:
        if passages is None:
            return _EMPTY
        if type(passages) is not dict:
            self._fail("'passages' is not an object")
        by_index: dict[int, tuple[str, ...]] = {ALL_PASSAGES: tuple(passages)}
        for name, indexes in passages.items():
            if type(indexes) is not list:
                self._fail("'passages' is not a list of indexes for each passage")
            for index in indexes:
                if type(index) is not int or not 0 <= index < count:
                    self._fail(f"'passages' names document {index!r} of {count}")
                by_index[index] = (*by_index.get(index, ()), name)
        return by_index

    def _share_strings(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return texts with one string object for equal texts, which saves memory."""
        shared = tuple(map(self._shared.setdefault, texts, texts))
        self._shared_count += len(texts)
        if MAX_RARE_TEXTS < len(self._shared) > self._shared_count // 2:
            # If few texts occur again, the table needs more memory than it saves.
            self._shared.clear()
            self._shared_count = 0
        return shared

    # -- Failures ----------------------------------------------------------------------------------

    def _fail_hit(self) -> NoReturn:
        self._fail("a document is neither an id nor [id, score, title]")

    def _fail(self, problem: str) -> NoReturn:
        answer = f"The answer to '{_shorten(self._query_text)}'"
        subject = answer if self._query_text else "The file"
        message = f"{self._name}:{self._line_number}: {subject} is damaged: {problem}."
        raise DamagedFileError(f"{message} {self._repair_hint}".rstrip())

    def _fail_conflict(self, lines: Iterator[tuple[int, str]]) -> NoReturn:
        """Fail for a merge conflict, and name the first query in it."""
        for _, line in lines:
            if self._query_text or line.startswith(_CONFLICT_MARKERS[-1]):
                break
            with suppress(ValueError, RecursionError):
                row = json.loads(line)
                self._query_text = str(row.get("query", "")) if isinstance(row, dict) else ""
        self._fail("there is a merge conflict")


_DETAIL_KEYS = frozenset(("seconds", "sizes", "texts", "fields", "passages"))
_PART_KEYS = _DETAIL_KEYS | {"docs", "error", "cause", "skipped"}
_ROW_KEYS = _PART_KEYS | {"id", "query", "params", "depth", "answers", "stages"}


def _shorten(text: str) -> str:
    return clip(escape_log_line(text), MAX_SHOWN_LENGTH)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= sys.float_info.max  # `isfinite` raises if an integer is too large.


def _is_list_of_texts(value: object) -> bool:
    return type(value) is list and set(map(type, value)) <= {str}
