"""The suite format: from the text of a file to a ``Suite``, or to one error with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from yaml.events import Event, MappingStartEvent, ScalarEvent, SequenceStartEvent

from pytest_irquality.metrics import DEFINITIONS, Definition, Judgments, Measure, MeasureError, parse_measure
from pytest_irquality.suite.model import (
    Bound,
    BoundKind,
    Check,
    Guard,
    GuardKind,
    KnownIssue,
    Limits,
    Place,
    Query,
    Rule,
    Scope,
    Suite,
)
from pytest_irquality.suite.names import check_names
from pytest_irquality.suite.yaml import (
    Document,
    SuiteError,
    as_duration,
    as_number,
    did_you_mean,
    position,
    read_text,
    short,
)

if TYPE_CHECKING:
    from pytest_irquality.suite.files.formats import Record
    from pytest_irquality.suite.files.judgments import Judged, JudgmentFile
    from pytest_irquality.suite.files.source import Source

T = TypeVar("T")

SUITE_KEYS = (
    "suite", "retriever", "top_k", "depth", "params", "grades", "relevant_from", "undefined", "id_field", "match",
    "duplicates", "concurrency", "timeout", "warmup", "errors", "metrics", "thresholds", "tags", "each_tag",
    "each_query", "baseline", "judgments", "queries",
)  # fmt: skip
QUERY_KEYS = (
    "query", "id", "tags", "why", "relevant", "must_find", "must_find_any", "must_not_find", "in_order", "thresholds",
    "weight", "params", "known_issue", "expect_no_results",
)  # fmt: skip
FILE_KEYS = ("file", "format", "split")
RANK_RULES = ("must_find", "must_find_any", "must_not_find")
BOUND_KEYS: Mapping[str, BoundKind] = {
    "min": "min", "max": "max", "warn_below": "warn_below", "warn_above": "warn_above", "max_drop": "max_drop",
    "max_rise": "max_rise", "max_significant_drop": "max_significant_drop",
}  # fmt: skip
GUARDS: tuple[GuardKind, ...] = ("lost_all_relevant", "new_zero_results")
SHOWN_BY_DEFAULT = ("ndcg", "mrr", "recall")
MAX_DEPTH = 100_000


def load_suite(
    path: Path | str, *, shown: str | None = None, definitions: Mapping[str, Definition] = DEFINITIONS
) -> Suite:
    """Read and check a suite file.

    ``shown`` is how errors and reports name the file (default: the path as given); ``definitions`` the measures that
    may be named. Raises ``SuiteError`` with one line, ``path:line:column: what is wrong``.
    """
    path = Path(path)
    shown = shown or str(path)
    document = Document.of_text(shown, read_text(path, shown))
    try:
        return _Reader(document, definitions).suite(path)
    except SuiteError:
        document.finish()  # a syntax error further down is the likelier cause of what was misread here
        raise


@dataclass(frozen=True)
class _Written:
    """A query as read, before the keys that stand anywhere in the file (top_k, grades) can be applied to it."""

    fields: Mapping[str, Any]
    place: Place
    key_places: Mapping[str, Place]
    bulk: bool = False

    @property
    def id(self) -> str:
        """Its id, which is its text where none is given."""
        id: str = self.fields.get("id", self.fields["query"])
        return id


@dataclass(frozen=True)
class _File:
    """A file of queries or judgments, or a pattern for several, as the suite names it."""

    file: str
    place: Place
    format: str | None = None
    split: str = "test"


@dataclass(frozen=True)
class _Word:
    """What stands where a grade should, and is no number: a word of ``grades``, or a mistake."""

    text: str
    place: Place


class _Reader:
    def __init__(self, document: Document, definitions: Mapping[str, Definition]) -> None:
        self.doc = document
        self.definitions = definitions
        self.by_text = False
        self.path = ""  # of what stands in the suite itself
        self.numbers: dict[str, float] = {}
        self.query_readers: Mapping[str, Callable[[Event], Any]] = {
            "query": lambda e: document.text(e, "'query'"),
            "id": lambda e: document.text(e, "'id'"),
            "tags": lambda e: (
                tuple(text for text, _ in document.texts(e, "'tags'"))
                if isinstance(e, SequenceStartEvent)
                else (document.text(e, "'tags'"),)
            ),
            "why": lambda e: document.text(e, "'why'"),
            "relevant": self._relevant,
            "must_find": lambda e: self._ranks(e, "must_find"),
            "must_find_any": lambda e: self._ranks(e, "must_find_any"),
            "must_not_find": lambda e: self._ranks(e, "must_not_find"),
            "in_order": lambda e: [text for text, _ in document.texts(e, "in_order")],
            "thresholds": lambda e: self._lines(e, "'thresholds'"),
            "weight": self._weight,
            "params": self._params,
            "known_issue": self._known_issue,
            "expect_no_results": lambda e: document.choice(e, "'expect_no_results'", ("true", "false")) == "true",
            "file": lambda e: document.text(e, "'file'"),
            "format": self._format,
            "split": lambda e: document.text(e, "'split'"),
        }
        assert tuple(self.query_readers) == (*QUERY_KEYS, *FILE_KEYS)

    def fail(self, place: Place, message: str) -> SuiteError:
        return SuiteError(place.path or self.doc.path, place.line, place.column, message)

    def place(self, event: Event) -> Place:
        return Place(*position(event), self.path)

    # -- first what is written, in the file's order --------------------------------------------------------------------

    def suite(self, path: Path) -> Suite:
        doc = self.doc
        root = doc.root()
        found: dict[str, Any] = {}
        readers: Mapping[str, Callable[[Event], Any]] = {
            "suite": lambda e: doc.text(e, "'suite'"),
            "retriever": lambda e: (self._identifier(e), self.place(e)),
            "top_k": lambda e: self._cutoff(e, "'top_k'"),
            "depth": lambda e: self._cutoff(e, "'depth'"),
            "params": self._params,
            "grades": self._grades,
            "relevant_from": self._relevant_from,
            "undefined": lambda e: doc.choice(e, "'undefined'", ("skip", "zero")),
            "id_field": lambda e: doc.text(e, "'id_field'"),
            "match": lambda e: doc.choice(e, "'match'", ("id", "text")),
            "duplicates": lambda e: doc.choice(e, "'duplicates'", ("collapse", "error")),
            "concurrency": lambda e: doc.count(e, "'concurrency'"),
            "timeout": self._timeout,
            "warmup": lambda e: doc.count(e, "'warmup'", 0),
            "errors": self._errors,
            "metrics": lambda e: [(text, self.place(entry)) for text, entry in doc.texts(e, "'metrics'")],
            "thresholds": lambda e: self._lines(e, "'thresholds'"),
            "tags": self._tag_lines,
            "each_tag": lambda e: self._lines(e, "'each_tag'"),
            "each_query": lambda e: self._lines(e, "'each_query'", rules=True),
            "baseline": self._baseline_retriever,
            "judgments": lambda e: self._list_or_one(e, "'judgments'", self._file),
            "queries": lambda e: self._list_or_one(e, "'queries'", self._query),
        }
        assert tuple(readers) == SUITE_KEYS
        for name, key, value in doc.fields(root, "the suite", SUITE_KEYS):
            found[name] = readers[name](value)
            found[f"{name}@"] = self.place(key)
        doc.finish()
        if "queries" not in found:
            doc.fail(root, "the suite has no 'queries'")
        if not found["queries"]:
            raise self.fail(found["queries@"], "'queries' is empty")
        return self._assemble(path, found)

    def _identifier(self, event: Event) -> str:
        name = self.doc.text(event, "'retriever'")
        if not name.isidentifier():
            self.doc.fail(event, f"'retriever' must be the name of a fixture, not {short(name)}")
        return name

    def _cutoff(self, event: Event, what: str) -> int:
        value = self.doc.count(event, what)
        if value > MAX_DEPTH:
            self.doc.fail(event, f"{what} is at most {MAX_DEPTH}, not {value}")
        return value

    def _params(self, event: Event) -> dict[str, Any]:
        if not isinstance(event, MappingStartEvent):
            self.doc.fail(event, "'params' must be a mapping of keyword arguments")
        params: dict[str, Any] = self.doc.value(event)
        return params

    def _grades(self, event: Event) -> dict[str, float]:
        grades = {}
        for word, key, value in self.doc.items(event, "'grades'"):
            if as_number(word) is not None:
                self.doc.fail(key, f"a grade word cannot be a number: {short(word)}")
            grades[word] = self.doc.number(value, f"the grade {short(word)}")
        return grades

    def _relevant_from(self, event: Event) -> float:
        value = self.doc.number(event, "'relevant_from'")
        if value <= 0:
            self.doc.fail(event, "'relevant_from' must be above 0: a grade of 0 means not relevant")
        return value

    def _timeout(self, event: Event) -> float:
        text = self.doc.text(event, "'timeout'")
        seconds = as_duration(text)
        if not seconds:
            self.doc.fail(event, f"'timeout' is a duration with its unit (500ms, 5s, 1min), not {short(text)}")
        return seconds

    def _baseline_retriever(self, event: Event) -> str | None:
        name = None
        for _, _, value in self.doc.fields(event, "'baseline'", ("retriever",)):
            name = self.doc.text(value, "'baseline: retriever'")
        if name is None:
            self.doc.fail(event, "'baseline' needs 'retriever', the name of one value of the parametrised fixture")
        return name

    def _guard(self, name: str, key: Event, event: Event) -> tuple[str, Place, Guard | None, None]:
        levels = {"fail": 0, "warn": None}
        if isinstance(event, MappingStartEvent):
            most: int | None = 0
            for _, _, value in self.doc.fields(event, name, ("max",)):
                most = self.doc.count(value, f"'{name}: max'", 0)
        elif (level := self.doc.choice(event, name, (*levels, "ignore"))) == "ignore":
            return name, self.place(key), None, None
        else:
            most = levels[level]
        return name, self.place(key), Guard(name, most, self.place(key)), None  # type: ignore[arg-type]

    def _errors(self, event: Event) -> int:
        most = 0
        for _, _, value in self.doc.fields(event, "'errors'", ("max",)):
            most = self.doc.count(value, "'errors: max'", 0)
        return most

    def _tag_lines(self, event: Event) -> list[tuple[str, Place, list[Any]]]:
        return [
            (tag, self.place(key), self._lines(value, f"tag {short(tag)}"))
            for tag, key, value in self.doc.items(event, "'tags'")
        ]

    def _lines(self, event: Event, what: str, rules: bool = False) -> list[Any]:
        """The lines of one block, each ``(name, place, bounds or documents as written, known issue)``."""
        lines: list[Any] = []
        for name, key, value in self.doc.items(event, what):
            if rules and name == "must_not_find":
                lines.append((name, self.place(key), self._ranks(value, name), None))
            elif rules and name in GUARDS:
                lines.append(self._guard(name, key, value))
            elif isinstance(value, MappingStartEvent):
                bounds: list[tuple[str, str, Place, bool]] = []
                known = None
                for bound, bound_key, number in self.doc.fields(value, name, (*BOUND_KEYS, "known_issue")):
                    if bound == "known_issue":
                        known = self._known_issue(number)
                    else:
                        text = self.doc.text(number, f"{bound!r}")
                        bounds.append((bound, text, self.place(number), bool(getattr(number, "style", None))))
                    del bound_key
                lines.append((name, self.place(key), bounds, known))
            else:
                text = self.doc.text(value, f"the limit of {name}")
                lines.append(
                    (name, self.place(key), [("", text, self.place(value), bool(getattr(value, "style", None)))], None)
                )
        return lines

    def _ranks(self, event: Event, what: str) -> list[tuple[str, int | None, Place]]:
        """Documents of a rule, each with its rank; a list leaves the rank to top_k."""
        if isinstance(event, SequenceStartEvent):
            found: list[tuple[str, int | None, Place]] = [
                (document, None, self.place(entry)) for document, entry in self.doc.texts(event, what)
            ]
        else:
            found = [
                (document, self._cutoff(value, f"the rank of {short(document)}"), self.place(key))
                for document, key, value in self.doc.items(event, what)
            ]
        if not found:
            self.doc.fail(event, f"{what} names no document")
        return found

    def _known_issue(self, event: Event) -> KnownIssue:
        if isinstance(event, MappingStartEvent):
            items = self.doc.items(event, "'known_issue'")
            retrievers = {name: self.doc.text(value, f"the known issue of {short(name)}") for name, _, value in items}
            if not retrievers:
                self.doc.fail(event, "'known_issue' names no retriever")
            return KnownIssue(None, retrievers)
        return KnownIssue(self.doc.text(event, "'known_issue'"))

    def _relevant(self, event: Event) -> tuple[Mapping[str, float | _Word | None], list[int]]:
        """Each document's grade (a number, a word still to be looked up, None for a bare list entry), and its line."""
        if isinstance(event, SequenceStartEvent):
            listed = self.doc.texts(event, "'relevant'")
            return {document: None for document, _ in listed}, [position(entry)[0] for _, entry in listed]
        grades: dict[str, float | _Word | None] = {}
        lines = []
        for document, key, value in self.doc.items(event, "'relevant'"):
            grades[document] = self._grade(document, value)
            lines.append(position(key)[0])
        return grades, lines

    def _grade(self, document: str, event: Event) -> float | _Word:
        if not isinstance(event, ScalarEvent):
            self.doc.fail(event, f"the grade of {short(document)} must be a number or a word of 'grades'")
        text = event.value or self.doc.text(event, f"the grade of {short(document)}")
        if not event.style:
            if text in self.numbers:
                return self.numbers[text]
            if (number := as_number(text)) is not None:
                return self.numbers.setdefault(text, number)
        return _Word(text, self.place(event))

    def _list_or_one(self, event: Event, what: str, read: Callable[[Event], T]) -> list[T]:
        if isinstance(event, SequenceStartEvent):
            return [read(entry) for entry in self.doc.entries(event, what)]
        return [] if self.doc.is_empty(event) else [read(event)]

    def _file(self, event: Event) -> _File:
        if isinstance(event, ScalarEvent):
            return _File(self.doc.text(event, "the path of a file"), self.place(event))
        readers = {key: self.query_readers[key] for key in FILE_KEYS}
        found = {name: readers[name](value) for name, _, value in self.doc.fields(event, "a file", readers)}
        if "file" not in found:
            self.doc.fail(event, "no 'file': write the path, or {file: path, format: name}")
        return _File(place=self.place(event), **found)

    def _format(self, event: Event) -> str:
        from pytest_irquality.suite.files.source import NAMES  # noqa: PLC0415 - the formats only where one is named

        return self.doc.choice(event, "'format'", NAMES)

    def _query(self, event: Event) -> _Written | _File:
        """A query, or a file of queries: which of the two the keys tell."""
        if isinstance(event, ScalarEvent):
            return self._file(event)
        found, places = {}, {}
        for name, key, value in self.doc.fields(event, "a query", self.query_readers):
            found[name], places[name] = self.query_readers[name](value), self.place(key)
        if of_file := next((name for name in found if name in FILE_KEYS), None):
            if other := next((name for name in found if name not in FILE_KEYS), None):
                raise self.fail(
                    places[other], f"{other!r} does not go with {of_file!r}: this is a query or a file of them"
                )
            if "file" not in found:
                self.doc.fail(event, "no 'file': write the path, or {file: path, format: name}")
            return _File(place=self.place(event), **found)
        if "query" not in found:
            self.doc.fail(event, "a query has no 'query'")
        if len(found.get("in_order", "ab")) < 2:
            raise self.fail(places["in_order"], "in_order needs at least two documents")
        return _Written(found, self.place(event), places)

    def _weight(self, event: Event) -> float:
        value = self.doc.number(event, "'weight'")
        if value < 0:
            self.doc.fail(event, "'weight' must not be negative")
        return value

    # -- then what it means, once every key is known -----------------------------------------------------------------

    def _assemble(self, path: Path, found: Mapping[str, Any]) -> Suite:
        self.by_text = found.get("match") == "text"
        top_k: int = found.get("top_k", 10)
        relevant_from: float = found.get("relevant_from", 1.0)
        grades: Mapping[str, float] = found.get("grades", {})
        entries, files = self._open_files(path, found, grades)
        ids: dict[str, _Written] = {}
        for written in entries:
            id = written.id
            if id in ids:
                place = written.key_places.get("id", written.key_places.get("query", written.place))
                other = ids[id].key_places.get("id", ids[id].key_places.get("query", ids[id].place))
                where = (
                    f"on line {other.line}"
                    if other.path == place.path
                    else f"at {other.path or self.doc.path}:{other.line}"
                )
                hint = "" if "id" in written.fields else "; give one of the two an 'id'"
                raise self.fail(place, f"the id {short(id)} is already used {where}{hint}")
            ids[id] = written
        judged = self._judged(files, entries)
        queries = [self._assemble_query(written, top_k, relevant_from, grades, judged) for written in entries]
        metrics = [self._measure(text, place, top_k) for text, place in found.get("metrics", ())]
        checks = [*self._query_checks(queries, found["queries@"]), *self._line_checks(found, queries, top_k)]
        suite = Suite(
            name=found.get("suite", path.name.rsplit(".", 1)[0].removesuffix(".ir")),
            path=self.doc.path,
            queries=tuple(queries),
            retriever=found.get("retriever", ("retriever", None))[0],
            retriever_place=found.get("retriever", ("retriever", None))[1],
            params_place=found.get("params@"),
            top_k=top_k,
            params=found.get("params", {}),
            relevant_from=relevant_from,
            undefined=found.get("undefined", "skip"),
            id_field=found.get("id_field"),
            match=found.get("match", "id"),
            duplicates=found.get("duplicates", "collapse"),
            concurrency=found.get("concurrency"),
            timeout=found.get("timeout"),
            warmup=found.get("warmup", 0),
            baseline_retriever=found.get("baseline"),
            default_guard=all(line[0] != "lost_all_relevant" for line in found.get("each_query", ())),
            max_errors=found.get("errors", 0),
            metrics=tuple(metrics),
            checks=tuple(check_names(checks)),
            notes=tuple(judged.notes()) if judged else (),
        )
        if not metrics:
            limited = [measure for measure in suite.measures if measure.aggregate == "mean"]
            shown = limited or [self._measure(name, Place(1), top_k) for name in SHOWN_BY_DEFAULT]
            suite = replace(suite, metrics=tuple(shown))
        return replace(suite, depth=self._depth(suite, found))

    # -- files of queries and judgments ------------------------------------------------------------------------------

    def _open_files(
        self, path: Path, found: Mapping[str, Any], grades: Mapping[str, float]
    ) -> tuple[list[_Written], list[JudgmentFile]]:
        """Every query, those of files read, and every file that judges some."""
        entries: list[_Written] = []
        files: list[JudgmentFile] = []
        if not any(isinstance(entry, _File) for entry in (*found["queries"], *found.get("judgments", ()))):
            return found["queries"], files
        # Only here: suites without files need no csv, json and gzip.
        from pytest_irquality.suite.files.judgments import read_judgments  # noqa: PLC0415
        from pytest_irquality.suite.files.queries import read_queries  # noqa: PLC0415
        from pytest_irquality.suite.files.source import beir_qrels, beir_queries  # noqa: PLC0415

        further = tuple(key for key in QUERY_KEYS if key not in ("query", "id"))
        for entry in found["queries"]:
            if isinstance(entry, _Written):
                entries.append(entry)
                continue
            for source in self._sources(entry, path):
                split = beir_qrels(source, entry.split) if source.path.is_dir() else None
                texts = beir_queries(source) if split else source
                records, judges = read_queries(texts, further)
                if split or judges:
                    files.append(read_judgments(split or source, grades))
                # A BEIR folder has the queries of all its splits; asked are those of one.
                wanted = files[-1].grades if split else None
                written = (self._from_record(record, texts.shown) for record in records)
                entries += (query for query in written if wanted is None or query.id in wanted)
        for entry in found.get("judgments", ()):
            for source in self._sources(entry, path):
                folder = source.path.is_dir()
                files.append(read_judgments(beir_qrels(source, entry.split) if folder else source, grades))
        if not entries:
            raise self.fail(found["queries@"], "'queries' is empty: no file has one")
        return entries, files

    def _sources(self, entry: _File, path: Path) -> list[Source]:
        from pytest_irquality.suite.files.source import sources  # noqa: PLC0415

        shown = Path(self.doc.path).parent
        try:
            return sources(entry.file, path.parent, shown, entry.format)
        except ValueError as error:
            raise self.fail(entry.place, str(error)) from None

    def _from_record(self, record: Record, shown: str) -> _Written:
        """A query of a file; one of JSONL may carry whatever a query of a suite may."""
        from pytest_irquality.suite.files.queries import tags  # noqa: PLC0415

        place = Place(record.line, 1, shown)
        fields: dict[str, Any] = {name: record.cells[name] for name in ("query", "id", "why") if record.cells.get(name)}
        if record.further:
            reader = _Reader(Document.of_json(shown, {**fields, **record.further}, record.line), self.definitions)
            reader.path = shown
            written = reader.one_query()
            return replace(written, bulk=True)
        if found := tags(record):
            fields["tags"] = found
        if weight := record.cells.get("weight"):
            number = as_number(weight)
            if number is None or number < 0:
                raise self.fail(place, f"a weight must be a number of 0 or more, not {short(weight)}")
            fields["weight"] = number
        return _Written(fields, place, {}, bulk=True)

    def one_query(self) -> _Written:
        """The query that is all of the document."""
        query = self._query(self.doc.first())
        assert isinstance(query, _Written)
        return query

    def _judged(self, files: list[JudgmentFile], entries: Iterable[_Written]) -> Judged | None:
        if not files:
            return None
        from pytest_irquality.suite.files.judgments import Judged  # noqa: PLC0415

        return Judged(files, {written.id: written.fields["query"] for written in entries})

    def _assemble_query(
        self, written: _Written, top_k: int, relevant_from: float, grades: Mapping[str, float], judged: Judged | None
    ) -> Query:
        fields, places = written.fields, written.key_places
        listed = max(1.0, relevant_from)
        written_grades, lines = fields.get("relevant", ({}, []))
        relevant = {document: self._grade_of(grade, grades, listed) for document, grade in written_grades.items()}
        if judged:

            def place(document: str) -> str:
                return (
                    f"{written.place.path or self.doc.path}:{dict(zip(written_grades, lines, strict=True))[document]}"
                )

            relevant = judged.joined(written.id, relevant, place)
        rules = []
        for kind in RANK_RULES:
            if kind in fields:
                ranks = {document: rank or top_k for document, rank, _ in fields[kind]}
                rules.append(Rule(kind, ranks, places[kind]))  # type: ignore[arg-type]
        if "in_order" in fields:
            rules.append(Rule("in_order", dict.fromkeys(fields["in_order"], top_k), places["in_order"]))
        if fields.get("expect_no_results"):
            if wrong := next(
                (key for key in ("relevant", "must_find", "must_find_any", "in_order") if key in fields), None
            ):
                raise self.fail(places[wrong], f"{wrong!r} contradicts 'expect_no_results'")
            rules.append(Rule("expect_no_results", {}, places["expect_no_results"]))
        judgments = Judgments(relevant, relevant_from)
        if fields.get("expect_no_results") and judgments.relevant:
            raise self.fail(
                places["expect_no_results"], "a judgment file has relevant documents for this query: it expects results"
            )
        thresholds = []
        for line in fields.get("thresholds", ()):
            limits = self._limits(line, top_k)
            if limits.measure.weighted or limits.measure.aggregate not in ("mean", "sum"):
                raise self.fail(limits.place, f"{limits.measure} is over many queries; it cannot be a limit of one")
            if limits.measure.needs_relevant and not judgments.relevant:
                raise self.fail(
                    limits.place, f"{limits.measure} is undefined for this query: it has no relevant document"
                )
            self._refuse_significance(limits)
            thresholds.append(limits)
        known: KnownIssue | None = fields.get("known_issue")
        if known and not rules and not any(bound.fails for limit in thresholds for bound in limit.bounds):
            raise self.fail(
                places["known_issue"], "'known_issue' on a query with no rule and no threshold: nothing could fail"
            )
        return Query(
            id=written.id,
            text=fields["query"],
            judgments=judgments,
            rules=tuple(rules),
            thresholds=tuple(thresholds),
            tags=fields.get("tags", ()),
            why=fields.get("why"),
            weight=fields.get("weight", 1.0),
            params=fields.get("params", {}),
            known_issue=known,
            bulk=written.bulk,
            place=written.place,
        )

    def _grade_of(self, grade: float | _Word | None, words: Mapping[str, float], listed: float) -> float:
        if not isinstance(grade, _Word):
            return listed if grade is None else grade
        if grade.text not in words:
            raise self.fail(
                grade.place,
                f"a grade must be a number{' or a word of grades' if words else ''}, not {short(grade.text)}"
                f"{did_you_mean(grade.text, words)}",
            )
        return words[grade.text]

    def _measure(self, text: str, place: Place, top_k: int) -> Measure:
        try:
            measure = parse_measure(text, top_k, self.definitions)
        except MeasureError as error:
            raise self.fail(place, str(error)) from None
        if self.by_text and measure.definition.name == "judged":
            raise self.fail(
                place, f"{measure} does not apply under 'match: text': whoever lists passages judges no results"
            )
        return measure

    def _limits(
        self, line: tuple[str, Place, list[tuple[str, str, Place, bool]], KnownIssue | None], top_k: int
    ) -> Limits:
        name, place, written, known = line
        measure = self._measure(name, place, top_k)
        bounds = []
        for kind, text, where, quoted in written:
            if not kind and measure.higher_is_better is None:
                raise self.fail(
                    where, f"{measure} is neither better high nor low; write {{min: {text}}} or {{max: {text}}}"
                )
            bare: BoundKind = "min" if measure.higher_is_better else "max"
            bounds.append(self._bound(measure, BOUND_KEYS[kind] if kind else bare, text, where, quoted))
        if not bounds:
            raise self.fail(place, f"{name} has no limit: give min, max, max_drop or warn_below")
        values = {bound.kind: bound.value for bound in bounds if not bound.share and not bound.on_change}
        if values.get("min", 0.0) > values.get("max", float("inf")):
            raise self.fail(place, f"{name}: min {values['min']:g} is above max {values['max']:g}")
        if known and not any(bound.fails for bound in bounds):
            raise self.fail(place, "'known_issue' on a line whose limits only warn: nothing could fail")
        return Limits(measure, tuple(bounds), known, place)

    def _bound(self, measure: Measure, kind: BoundKind, text: str, place: Place, quoted: bool) -> Bound:
        low, high = measure.range
        if kind in ("max_drop", "max_rise", "max_significant_drop"):
            return self._bound_on_change(measure, kind, text, place, quoted)
        if measure.unit == "seconds":
            seconds = as_duration(text)
            if seconds is None:
                raise self.fail(
                    place, f"a limit of {measure} is a duration with its unit (200ms, 1.5s), not {short(text)}"
                )
            return Bound(kind, seconds, text=text)
        share = text.endswith("%") and (measure.aggregate == "sum" or high == 1)
        number = as_number(text.removesuffix("%")) if share else as_number(text)
        if number is None or (quoted and not share):
            raise self.fail(place, f"a limit of {measure} must be a number, not {short(text)}")
        if share:
            if not 0 <= number <= 100:
                raise self.fail(place, f"a share is between 0% and 100%, not {text}")
            # Only of a count is a share another quantity; of a mean within [0, 1] it is a way to write the number.
            return Bound(kind, number / 100, measure.aggregate == "sum", text)
        if not low <= number <= high:
            hint = f"; did you mean {number / 100:g}?" if high == 1 and 1 < number <= 100 else ""
            raise self.fail(place, f"{measure} is always between {low:g} and {high:g}, so {text} is no limit{hint}")
        return Bound(kind, number, text=text)

    def _bound_on_change(self, measure: Measure, kind: BoundKind, text: str, place: Place, quoted: bool) -> Bound:
        if measure.unit == "seconds":
            raise self.fail(place, f"{kind} of {measure}: times are of a machine and no baseline holds them; use max")
        if measure.definition.compares:
            raise self.fail(place, f"{measure} is a comparison with the baseline already; give it a min")
        falls = kind != "max_rise"
        if measure.higher_is_better is not None and measure.higher_is_better != falls:
            better, meant = ("low", "max_rise") if falls else ("high", "max_drop")
            raise self.fail(place, f"{kind} on {measure}, which is better {better}; {meant} is meant")
        relative = text.endswith("%")
        number = as_number(text.removesuffix("%")) if relative else as_number(text)
        if number is None or number < 0 or (quoted and not relative):
            raise self.fail(
                place,
                f"{kind} of {measure} is a number of 0 or more, or a percentage of the baseline, not {short(text)}",
            )
        width = measure.range[1] - measure.range[0]
        if number > (100 if relative and falls else width if not relative else number):
            hint = f"; did you mean {text}%?" if width == 1 and number <= 100 and not relative else ""
            raise self.fail(place, f"{measure} can never change by {text}, so {kind} would never fail{hint}")
        return Bound(kind, number / 100 if relative else number, text=text, relative=relative)

    def _refuse_significance(self, limits: Limits) -> None:
        if any(bound.kind == "max_significant_drop" for bound in limits.bounds):
            raise self.fail(
                limits.place, "max_significant_drop is a test over many queries; for one query use max_drop"
            )

    def _query_checks(self, queries: list[Query], place: Place) -> Iterator[Check]:
        for query in queries:
            if query.demands or not query.bulk:
                yield Check(query.id, query.text, query.place, query=query)
        if any(query.bulk for query in queries):
            yield Check("every-query-answered", "every query answered", place, scope="bulk")

    def _line_checks(self, found: Mapping[str, Any], queries: list[Query], top_k: int) -> list[Check]:
        tags = list(dict.fromkeys(tag for query in queries for tag in query.tags))
        checks: list[Check] = []

        def add(scope: Scope, line: Any, tag: str | None = None) -> None:
            prefix = {"suite": "", "tag": f"{tag}-"}.get(scope, f"{scope}-")
            said = {"suite": "", "tag": f"tag {tag}: "}.get(scope, f"{scope}: ")
            if line[0] == "must_not_find":
                rule = Rule("must_not_find", {document: rank or top_k for document, rank, _ in line[2]}, line[1])
                checks.append(Check(f"{prefix}{line[0]}", f"{said}{line[0]}", line[1], scope=scope, rule=rule))
                return
            if line[0] in GUARDS:
                if line[2] is not None:
                    name, guard = f"{prefix}{line[0]}", line[2]
                    checks.append(Check(name, f"{said}{line[0]}", line[1], scope=scope, guard=guard))
                return
            limits = self._limits(line, top_k)
            if scope == "each_query":
                self._refuse_significance(limits)
            if scope == "each_query" and (limits.measure.weighted or limits.measure.aggregate not in ("mean", "sum")):
                raise self.fail(
                    limits.place, f"{limits.measure} is over many queries; it cannot be a limit of each query"
                )
            label = f"{said}{limits.measure}"
            checks.append(Check(f"{prefix}{limits.measure}", label, line[1], scope=scope, tag=tag, limits=limits))

        for line in found.get("thresholds", ()):
            add("suite", line)
        for tag, place, lines in found.get("tags", ()):
            if tag not in tags:
                raise self.fail(place, f"no query has the tag {short(tag)}{did_you_mean(tag, tags)}")
            for line in lines:
                add("tag", line, tag)
        if "each_tag" in found and not tags:
            raise self.fail(found["each_tag@"], "'each_tag' in a suite where no query has a tag")
        for scope in ("each_tag", "each_query"):
            for line in found.get(scope, ()):
                add(scope, line)
        twice: dict[tuple[str, str | None, str], int] = {}
        for check in checks:
            key = (check.scope, check.tag, check.label)
            if check.limits and key in twice:
                raise self.fail(check.place, f"{check.limits.measure} already has its limits on line {twice[key]}")
            twice[key] = check.place.line
        return sorted(checks, key=lambda check: check.place.line)

    def _depth(self, suite: Suite, found: Mapping[str, Any]) -> int:
        """The results asked for: ``depth`` as written, else the deepest cutoff of any measure or rule."""
        cutoffs: dict[int, str] = {suite.top_k: "top_k"}
        as_deep_as_relevant = any(measure.definition.reach == "relevant" for measure in suite.measures)
        most_relevant = max(len(q.judgments.relevant) for q in suite.queries) if as_deep_as_relevant else 0
        for measure in suite.measures:
            cutoffs.setdefault(measure.depth(most_relevant) or suite.top_k, str(measure))
        rules = [(rule, query.id) for query in suite.queries for rule in query.rules]
        rules += [(check.rule, check.name) for check in suite.checks if check.rule]
        for rule, owner in rules:
            for rank in rule.documents.values():
                cutoffs.setdefault(rank, f"{rule.kind} of {short(owner)}")
        deepest = max(cutoffs)
        depth: int = found.get("depth", deepest)
        if depth < deepest:
            raise self.fail(found["depth@"], f"'depth' is {depth}, but {cutoffs[deepest]} reads {deepest} results")
        return depth
