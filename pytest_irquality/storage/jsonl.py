"""A stored run as a file: JSONL with a header, one line a query in suite order, and a last line
that says so.

The same format serves as a baseline (rankings alone, so that equal rankings are equal bytes), as a
kept run (with faults and times, to be judged again) and as one share of a run. Every line stands
for itself, so that a diff of two files reads as the list of queries that changed. Each query has a
blank line and one with its id before it: git merges changes of neighbours, and queries that come or
go beside a changed one, only where a line that nobody changed is between the two.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from pytest_irquality.edges import bounds
from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.open import Allowed, bounded_lines
from pytest_irquality.edges.write import write
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.storage.provenance import UPDATE
from pytest_irquality.storage.stored import (
    DamagedRunError,
    Header,
    StoredQuery,
    StoredRun,
    StoredRunError,
    opened,
)

FORMAT = "pytest-irquality run"
VERSION = 2
END = {"end": FORMAT}  # a file that was cut off has none
OURS = json.dumps(FORMAT).encode()
SIDES = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")
LABEL = b'"'  # with which the id before a query's line begins
NAMED = 3

# -- writing ---------------------------------------------------------------------------------------


def write_run(path: Path, stored: StoredRun, allowed: Allowed | None = None) -> None:
    """Write a run, or leave the file as it is: nobody ever reads half of it. Raises ``OSError``."""
    write(path, _lines(stored), allowed)


def _lines(stored: StoredRun) -> Iterator[bytes]:
    known = {
        name: value for name, value in asdict(stored.header).items() if value not in (None, "")
    }
    yield _line({"format": FORMAT, "format_version": VERSION, **known})
    for query in stored.queries.values():
        yield b"\n"
        yield _line(query.id)
        yield _line(_data(query))
    yield b"\n"
    yield _line(END)


def _data(query: StoredQuery) -> dict[str, Any]:
    data: dict[str, Any] = {"id": query.id, "query": query.text}
    if query.of:
        data["of"] = query.of
    if query.params:
        data["params"] = query.params
    if query.ranking is None:
        return {**data, "fault": query.fault}
    data |= _answer(query, query.ranking)
    if texts := query.by_document(query.texts):
        data["texts"] = texts
    if query.values:
        data["values"] = query.values
    if query.version is not None:
        data["version"] = query.version
    if query.answers:
        data["answers"] = [_beside(answer, texts) for answer in query.answers if answer.ranking]
    if query.candidates:
        data["candidates"] = _beside(query.candidates, texts)
    return data


def _beside(query: StoredQuery, texts: Mapping[str, str]) -> dict[str, Any]:
    """Another ranking on a query's line. A text that stands there already is not repeated."""
    if query.ranking is None:
        return {"fault": query.fault}
    data = _answer(query, query.ranking)
    own = query.by_document(query.texts)
    if new := {id: text for id, text in own.items() if texts.get(id) != text}:
        data["texts"] = new
    return data


def _answer(query: StoredQuery, ranking: Ranking) -> dict[str, Any]:
    """One answer: its documents, how long it took, and of which build it is where there are
    several.
    """
    data: dict[str, Any] = {}
    if ranking.seconds is not None:
        data["seconds"] = ranking.seconds
    if query.build:
        data["build"] = query.build
    data["docs"] = _documents(query, ranking)
    return data


def _documents(query: StoredQuery, ranking: Ranking) -> list[Any]:
    """``[id, score, title]`` as far as any document of the query has them; ids alone as
    themselves.
    """
    scores = [score if math.isfinite(score) else None for score in ranking.scores or ()]
    columns: list[Sequence[object]] = [ranking.ids, scores, query.titles]
    while not any(value is not None for value in columns[-1]) and len(columns) > 1:
        columns.pop()
    if len(columns) == 1:
        return list(ranking.ids)
    return list(zip(*(column or [None] * len(ranking.ids) for column in columns), strict=True))


def _line(data: Mapping[str, object] | str) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can hold
        return (
            json.dumps(data, separators=(",", ":"), allow_nan=False, default=str).encode() + b"\n"
        )


# -- reading ---------------------------------------------------------------------------------------


def read_run(path: Path, shown: str | None = None, allowed: Allowed | None = None) -> StoredRun:
    """The run in a file. Raises ``StoredRunError`` where it is damaged or something else,
    ``OSError``.
    """
    with opened(path, shown or str(path), allowed) as file:
        return parse_run(bounded_lines(file), shown or str(path))


def read_header(path: Path, shown: str | None = None, allowed: Allowed | None = None) -> Header:
    """The header alone. Raises as ``read_run`` does."""
    with opened(path, shown or str(path), allowed) as file:
        return _header(bounded_lines(file), shown or str(path))


@no_cycles()
def parse_run(lines: Iterable[bytes], shown: str) -> StoredRun:
    """The run in the lines of a file that messages call ``shown``. Raises ``StoredRunError``."""
    lines = iter(lines)
    header = _header(lines, shown)
    queries: dict[str, StoredQuery] = {}
    places: dict[str, int] = {}
    same: dict[Any, Any] = {}  # a document is in many rankings: its id and title are kept once
    number, ended = 1, False
    for number, line in enumerate(lines, 2):
        where = f"{shown}:{number}"
        if not line.strip() or line.startswith(LABEL):
            continue
        if line.startswith(SIDES):
            raise DamagedRunError(f"{where}: {_conflict(line, lines)}")
        if ended:
            raise DamagedRunError(f"{where}: damaged: this stands behind its last line")
        data = _object(line, where)
        if ended := data == END:
            continue
        query = _query(data, where, same)
        if query.id in queries:
            raise DamagedRunError(
                f"{where}: the query {query.id!r} stands here twice (line {places[query.id]} is the"
                " other), as a merge may leave it: keep one, or write the file anew with"
                f" `{UPDATE}`"
            )
        queries[query.id], places[query.id] = query, number
    if not ended:
        raise DamagedRunError(f"{shown}:{number}: damaged: it was cut off here")
    return StoredRun(header, queries)


def _conflict(marker: bytes, rest: Iterator[bytes]) -> str:
    """What a conflict is between and about, read to its end: the names of both sides, and the
    queries between them.
    """
    sides, queries = [_text(marker[7:])], dict[str, None]()
    for line in rest:
        if line.startswith(SIDES[-1]):
            sides.append(_text(line[7:]))
            break
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict) and isinstance(data.get("query"), str):
            queries[data["query"]] = None
    named = ", ".join(map(repr, islice(queries, NAMED)))
    more = f" and {len(queries) - NAMED} more" if len(queries) > NAMED else ""
    between = f" between {' and '.join(sides)}" if all(sides) and len(sides) > 1 else ""
    over = f" over {named}{more}" if queries else ""
    return (
        f"an unresolved merge conflict{between}{over}: keep either line of each query, or write the"
        f" file anew with `{UPDATE}`"
    )


def _text(line: bytes) -> str:
    return line.decode(errors="replace").strip()


NEEDED = ("suite", "path", "depth")
LARGEST = 1e15  # of numbers that are no scores of documents


def _header(lines: Iterable[bytes], shown: str) -> Header:
    lines, where = iter(lines), f"{shown}:1"
    line = next(lines, b"")
    if line.startswith(SIDES[0]) and OURS in (ours := next(lines, b"")):
        raise DamagedRunError(f"{where}: {_conflict(line, iter([ours, *lines]))}")
    data = _object(line, where, StoredRunError)
    if data.get("format") != FORMAT:
        raise StoredRunError(f"{where}: not a run that pytest-irquality wrote")
    version = data.get("format_version")
    if isinstance(version, int) and version < VERSION:
        raise DamagedRunError(
            f"{where}: written in format {version}, and this pytest-irquality reads format"
            f" {VERSION}: write it anew with `{UPDATE}`"
        )
    if version != VERSION:
        raise StoredRunError(
            f"{where}: written in format {version}; this pytest-irquality reads format {VERSION}: a"
            " newer one wrote it"
        )
    known = {name: data[name] for name in Header.__dataclass_fields__ if name in data}
    wrong = [name for name in NEEDED if name not in known]
    wrong += [name for name, value in known.items() if not HEADER_TYPES.get(name, _is_name)(value)]
    if wrong:
        raise DamagedRunError(f"{where}: damaged: no {wrong[0]!r} in the header, or no such thing")
    return Header(**known)


def _query(data: dict[str, Any], where: str, same: dict[Any, Any]) -> StoredQuery:
    id, text, params = data.get("id"), data.get("query"), data.get("params", {})
    if not isinstance(id, str) or not isinstance(text, str) or not isinstance(params, dict):
        raise DamagedRunError(f"{where}: damaged: a line needs 'id' and 'query'")
    if params and not _can_be_written(params):
        raise DamagedRunError(f"{where}: damaged: 'params' holds what is no number")
    of = data.get("of", "")
    if not isinstance(of, str):
        raise DamagedRunError(f"{where}: damaged: 'of' is the id of a query")
    if isinstance(fault := data.get("fault"), str):
        return StoredQuery(id, text, params, fault=fault, of=of)
    texts, others = data.get("texts", {}), data.get("answers", [])
    if not isinstance(texts, dict) or {*map(type, texts.values())} - {str}:
        raise DamagedRunError(f"{where}: damaged: 'texts' is a table of texts")
    if not isinstance(others, list) or not all(isinstance(other, dict) for other in others):
        raise DamagedRunError(f"{where}: damaged: 'answers' is a list of answers")
    if len(others) >= bounds.ANSWERS:
        raise DamagedRunError(f"{where}: damaged: more than {bounds.ANSWERS:,} answers")

    def beside(other: dict[str, Any]) -> StoredQuery:
        own = other.get("texts", {})
        known = {**texts, **own} if isinstance(own, dict) else own
        line: dict[str, Any] = {"answers": [], "candidates": None, "texts": known}
        return _query({**other, "id": id, "query": text, "params": params, **line}, where, same)

    answers = tuple(map(beside, others))
    first_stage = data.get("candidates")
    if not isinstance(first_stage, (dict, type(None))):
        raise DamagedRunError(f"{where}: damaged: 'candidates' is an answer")
    candidates = None if first_stage is None else beside(first_stage)
    build = data.get("build", 0)
    if type(build) is not int or not 0 <= build < LARGEST:
        raise DamagedRunError(f"{where}: damaged: 'build' is a whole number")
    documents, seconds = data.get("docs"), data.get("seconds")
    if not isinstance(documents, list) or not (seconds is None or _is_number(seconds)):
        raise DamagedRunError(f"{where}: damaged: the query {id!r} has neither 'docs' nor 'fault'")
    version, values = data.get("version"), data.get("values", {})
    if not isinstance(version, (str, type(None))) or not _are_numbers(values):
        raise DamagedRunError(f"{where}: damaged: 'version' is a text, 'values' a table of numbers")
    rows = (document if isinstance(document, list) else [document] for document in documents)
    columns = list(zip_longest(*rows))
    types = [set(map(type, column)) for column in columns]
    if len(columns) > 3 or any(
        some - allowed for some, allowed in zip(types, COLUMNS, strict=False)
    ):
        raise DamagedRunError(f"{where}: damaged: a document is [id, score, title]")
    ids, scores, titles = (*columns, (), (), ())[:3]
    ids, titles = (tuple(map(same.setdefault, some, some)) for some in (ids, titles))
    if len(ids) > bounds.CUTOFF:
        raise DamagedRunError(f"{where}: damaged: more than {bounds.CUTOFF:,} documents")
    if not all(score is None or abs(score) <= bounds.NUMBER for score in scores):
        raise DamagedRunError(f"{where}: damaged: a score is too large")
    ranking = Ranking(ids, _scores(scores), seconds)
    return StoredQuery(
        id, text, params, ranking, None, titles, tuple(map(texts.get, ids)) if texts else (),
        version, values, answers, build, of, candidates,
    )  # fmt: skip


COLUMNS: Sequence[set[type]] = (
    {str},
    {float, int, type(None)},
    {str, type(None)},
)


def _scores(column: Sequence[float | None]) -> tuple[float, ...] | None:
    if all(score is None for score in column):
        return None
    return tuple(math.nan if score is None else float(score) for score in column)


def _can_be_written(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _is_name(value: object) -> bool:
    return type(value) is str and len(value) <= bounds.PATH


def _is_depth(value: object) -> bool:
    return type(value) is int and 1 <= value <= bounds.CUTOFF


HEADER_TYPES: Mapping[str, Callable[[object], bool]] = {
    "depth": _is_depth,
    "candidates": _is_depth,
}  # others are texts


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < LARGEST  # type: ignore[arg-type]


def _are_numbers(values: object) -> bool:
    return isinstance(values, dict) and all(map(_is_number, values.values()))


def _object(
    line: bytes, where: str, error: type[StoredRunError] = DamagedRunError
) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise error(f"{where}: {'not a line of JSON' if line.strip() else 'empty'}") from None
    if not isinstance(data, dict):
        raise error(f"{where}: not a JSON object")
    return data
