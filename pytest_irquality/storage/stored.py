"""A run as a file: JSONL with one header line and one line a query, in suite order.

The same format serves as a baseline (rankings alone, so that equal rankings are equal bytes), as a kept run (with
faults and times, to be judged again) and as one share of a run. Every line stands for itself, so that a diff of two
files reads as the list of queries that changed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from pytest_irquality.edges.open import Allowed, Unreadable, bounded_lines, open_bytes
from pytest_irquality.edges.write import write
from pytest_irquality.retrieval.run import Fault, Ranking, Run
from pytest_irquality.storage.matching import Matching, asks
from pytest_irquality.suite.model import Query, Suite

FORMAT = "pytest-irquality run"
VERSION = 1
Opener = Callable[[Path, "Allowed | None"], BinaryIO]


class StoredRunError(Exception):
    """A file that is no run, or not the one that is asked for: one line, ``path:line: what is wrong``."""


@dataclass(frozen=True)
class Header:
    """What is known of a run but its rankings. ``path`` is the suite's, as messages name it.

    ``digest`` stands for the queries that the suite asks (not for what it demands of them), ``depth`` is how many
    results were asked for, ``shard`` (``2/5``) which share of the queries this is. ``version`` is the retriever's own,
    ``commit`` that of the code, ``time`` ISO 8601 in UTC, ``package`` the version of pytest-irquality. ``means`` holds
    what the rankings scored over all queries under the judgments of then: changed judgments are told from it.
    """

    suite: str
    path: str
    digest: str
    depth: int
    retriever: str = ""
    shard: str | None = None
    version: str | None = None
    commit: str | None = None
    time: str | None = None
    package: str | None = None
    means: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredQuery:
    """One line: a query as it was asked and its ranking, or the fault of one that could not be answered.

    ``titles`` and ``texts`` are those of its documents, one each where any is known.
    """

    id: str
    text: str
    params: Mapping[str, Any] = field(default_factory=dict)
    ranking: Ranking | None = None
    fault: str | None = None
    titles: Sequence[str | None] = ()
    texts: Sequence[str | None] = ()

    def by_document(self, words: Sequence[str | None]) -> dict[str, str]:
        """Its ``titles`` or ``texts`` by document id."""
        known = zip(self.ranking.ids if self.ranking else (), words, strict=False)
        return {id: text for id, text in known if text is not None}

    def same_question(self, other: StoredQuery) -> bool:
        """Whether both ask the same text with the same params."""
        return asks(self) == asks(other)

    def same_ranking(self, other: StoredQuery) -> bool:
        """Whether both got the same documents in the same order for the same question: scores and titles may wobble."""
        ids = [query.ranking.ids if query.ranking else None for query in (self, other)]
        return ids[0] == ids[1] and (*self.texts,) == (*other.texts,) and self.same_question(other)


@dataclass(frozen=True)
class StoredRun:
    """A run that was read from a file or is about to be written to one: its queries by id, in suite order."""

    header: Header
    queries: Mapping[str, StoredQuery]

    def run(self, suite: Suite) -> Run:
        """What it holds of today's queries. One that has another text or other params by now is not among them."""
        rankings: dict[str, Ranking] = {}
        faults: dict[str, Fault] = {}
        titles: dict[str, str] = {}
        texts: dict[str, str] = {}
        for id, stored_id in self.matching(suite).same.items():
            stored = self.queries[stored_id]
            if stored.ranking is None:
                faults[id] = Fault(stored.fault or "no ranking was kept")
            else:
                rankings[id] = stored.ranking
            for document, title in stored.by_document(stored.titles).items():
                titles.setdefault(document, title)
            texts.update(stored.by_document(stored.texts))
        header = self.header
        return Run(header.retriever, rankings, faults, titles, texts, header.version, header.depth)

    def lacks_texts(self, suite: Suite) -> bool:
        """Whether it was kept without the passages that the suite now looks for: none of them would be found."""
        answered = (query for query in self.queries.values() if query.ranking and query.ranking.ids)
        return suite.match == "text" and any(not query.texts for query in answered)

    def matching(self, suite: Suite) -> Matching:
        """Which of its queries is which of today's."""
        return Matching([*self.queries.values()], [asked(suite, query) for query in suite.queries])


def asked(suite: Suite, query: Query) -> StoredQuery:
    """A query as a retriever is asked it, with no answer yet."""
    return StoredQuery(query.id, query.text, {**suite.params, **query.params})


def answered(suite: Suite, query: Query, run: Run) -> StoredQuery:
    """A query with what a run has for it. Raises ``KeyError`` where the run never asked it."""
    question = asked(suite, query)
    if query.id in run.faults:
        return StoredQuery(
            query.id, query.text, question.params, fault=run.faults[query.id].message
        )
    ranking = run.rankings[query.id]
    titles, texts = (
        tuple(map(words.get, ranking.ids)) if words else () for words in (run.titles, run.texts)
    )
    return StoredQuery(query.id, query.text, question.params, ranking, None, titles, texts)


def stored_run(suite: Suite, run: Run, header: Header) -> StoredRun:
    """A run as it is to be written: every query that was asked, in the suite's order."""
    known = run.rankings.keys() | run.faults.keys()
    return StoredRun(
        header, {q.id: answered(suite, q, run) for q in suite.queries if q.id in known}
    )


def digest(suite: Suite) -> str:
    """A short hash of what the suite asks: ids, texts and params of its queries, in any order."""
    questions = sorted(
        _canonical([query.id, query.text, {**suite.params, **query.params}])
        for query in suite.queries
    )
    return hashlib.sha256(
        "\n".join([suite.match, *questions]).encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


# -- writing ----------------------------------------------------------------------------------------------------------


def write_run(path: Path, stored: StoredRun, allowed: Allowed | None = None) -> None:
    """Write a run, or leave the file as it is: nobody ever reads half of it. Raises ``OSError``."""
    write(path, _lines(stored), allowed)


def _lines(stored: StoredRun) -> Iterator[bytes]:
    known = {
        name: value for name, value in asdict(stored.header).items() if value not in (None, "", {})
    }
    yield _line(
        {"format": FORMAT, "format_version": VERSION, **known, "queries": len(stored.queries)}
    )
    for query in stored.queries.values():
        data: dict[str, Any] = {"id": query.id, "query": query.text}
        if query.params:
            data["params"] = query.params
        if query.ranking is None:
            data["fault"] = query.fault
        else:
            if query.ranking.seconds is not None:
                data["seconds"] = query.ranking.seconds
            data["docs"] = _documents(query, query.ranking)
        yield _line(data)


def _documents(query: StoredQuery, ranking: Ranking) -> list[Any]:
    """``[id, score, title, text]`` as far as any document of the query has them; ids alone as themselves."""
    scores = [score if math.isfinite(score) else None for score in ranking.scores or ()]
    columns: list[Sequence[object]] = [ranking.ids, scores, query.titles, query.texts]
    while not any(value is not None for value in columns[-1]) and len(columns) > 1:
        columns.pop()
    if len(columns) == 1:
        return list(ranking.ids)
    return list(zip(*(column or [None] * len(ranking.ids) for column in columns), strict=True))


def _line(data: Mapping[str, object]) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can hold
        return (
            json.dumps(data, separators=(",", ":"), allow_nan=False, default=str).encode() + b"\n"
        )


# -- reading ----------------------------------------------------------------------------------------------------------


def read_run(path: Path, shown: str | None = None, allowed: Allowed | None = None) -> StoredRun:
    """The run in a file. Raises ``StoredRunError`` where it is damaged or something else, ``OSError``."""
    with opened(path, shown or str(path), allowed) as file:
        return parse_run(bounded_lines(file), shown or str(path))


def read_header(path: Path, shown: str | None = None, allowed: Allowed | None = None) -> Header:
    """The header alone. Raises as ``read_run`` does."""
    with opened(path, shown or str(path), allowed) as file:
        return _header(next(bounded_lines(file), b""), shown or str(path))[0]


@contextmanager
def opened(
    path: Path, shown: str, allowed: Allowed | None, how: Opener = open_bytes
) -> Iterator[BinaryIO]:
    """A stored run's file. What is no file to read, in whole or on a line, is a ``StoredRunError``."""
    try:
        with how(path, allowed) as file:
            yield file
    except Unreadable as error:
        raise StoredRunError(f"{shown}:{error.line}: {error}") from None


def parse_run(lines: Iterable[bytes], shown: str) -> StoredRun:
    """The run in the lines of a file that messages call ``shown``. Raises ``StoredRunError``."""
    lines = iter(lines)
    header, count = _header(next(lines, b""), shown)
    queries: dict[str, StoredQuery] = {}
    same: dict[Any, Any] = {}  # a document is in many rankings: its id and title are kept once
    number = 1
    for number, line in enumerate(lines, 2):
        query = _query(line, f"{shown}:{number}", same)
        if query.id in queries:
            raise StoredRunError(f"{shown}:{number}: the query {query.id!r} stands here twice")
        queries[query.id] = query
    if len(queries) != count:
        raise StoredRunError(
            f"{shown}:{number}: damaged: its header promises {count} queries, here are {len(queries)}"
        )
    return StoredRun(header, queries)


HEADER_TYPES: Mapping[str, type] = {"suite": str, "path": str, "digest": str, "depth": int}


def _header(line: bytes, shown: str) -> tuple[Header, int]:
    where = f"{shown}:1"
    data = _object(line, where)
    if data.get("format") != FORMAT:
        raise StoredRunError(f"{where}: not a run that pytest-irquality wrote")
    version = data.get("format_version")
    if version != VERSION:
        raise StoredRunError(
            f"{where}: written in format {version}; this pytest-irquality reads format {VERSION}"
        )
    count = data.get("queries")
    wrong = [name for name, kind in HEADER_TYPES.items() if not isinstance(data.get(name), kind)]
    if wrong or not isinstance(count, int):
        raise StoredRunError(
            f"{where}: damaged: no {wrong[0] if wrong else 'queries'!r} in the header"
        )
    means = data.get("means", {})
    if not isinstance(means, dict) or not all(
        isinstance(mean, (int, float)) for mean in means.values()
    ):
        raise StoredRunError(f"{where}: damaged: 'means' is no table of numbers")
    known = {name: data[name] for name in Header.__dataclass_fields__ if name in data}
    return Header(**known), count


def _query(line: bytes, where: str, same: dict[Any, Any]) -> StoredQuery:
    data = _object(line, where)
    id, text, params = data.get("id"), data.get("query"), data.get("params", {})
    if not isinstance(id, str) or not isinstance(text, str) or not isinstance(params, dict):
        raise StoredRunError(f"{where}: damaged: a line needs 'id' and 'query'")
    if isinstance(fault := data.get("fault"), str):
        return StoredQuery(id, text, params, fault=fault)
    documents, seconds = data.get("docs"), data.get("seconds")
    if not isinstance(documents, list) or not isinstance(seconds, (float, int, type(None))):
        raise StoredRunError(f"{where}: damaged: the query {id!r} has neither 'docs' nor 'fault'")
    columns = list(
        zip_longest(
            *(document if isinstance(document, list) else [document] for document in documents)
        )
    )
    if (
        any(set(map(type, column)) - kinds for column, kinds in zip(columns, COLUMNS, strict=False))
        or len(columns) > 4
    ):
        raise StoredRunError(f"{where}: damaged: a document is [id, score, title]")
    ids, scores, titles, texts = (*columns, (), (), (), ())[:4]
    known = any(score is not None for score in scores)
    numbers = (
        tuple(math.nan if score is None else float(score) for score in scores) if known else None
    )
    ids, titles, texts = (
        tuple(map(same.setdefault, column, column)) for column in (ids, titles, texts)
    )
    return StoredQuery(id, text, params, Ranking(ids, numbers, seconds), None, titles, texts)


COLUMNS: Sequence[set[type]] = (
    {str},
    {float, int, type(None)},
    {str, type(None)},
    {str, type(None)},
)


def _object(line: bytes, where: str) -> dict[str, Any]:
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>")):
        raise StoredRunError(
            f"{where}: an unresolved merge conflict: take either side, then update it"
        )
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise StoredRunError(
            f"{where}: {'not a line of JSON' if line.strip() else 'empty'}"
        ) from None
    if not isinstance(data, dict):
        raise StoredRunError(f"{where}: not a JSON object")
    return data
