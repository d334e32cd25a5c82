"""The suite format: from the text of a file to a ``Suite``, or to one error with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_irquality.edges import bounds
from pytest_irquality.edges.open import Allowed, Unreadable, read_text
from pytest_irquality.metrics import DEFINITIONS, Definition, Judgments
from pytest_irquality.suite.judges import Judges, Votes
from pytest_irquality.suite.limits import LimitReader
from pytest_irquality.suite.model import Check, KnownIssue, Place, Query, Rule, Suite
from pytest_irquality.suite.names import check_names
from pytest_irquality.suite.written import QUERY_KEYS, Reader, Word, Written, WrittenFile
from pytest_irquality.suite.yaml import (
    Document,
    SuiteError,
    as_number,
    clipped,
    no_grade,
    short,
)

if TYPE_CHECKING:
    from pytest_irquality.suite.files.formats import Record
    from pytest_irquality.suite.files.judgments import Judged, JudgmentFile
    from pytest_irquality.suite.files.source import Source

NOBODY: Votes = {}
RANK_RULES = ("must_find", "must_find_any", "must_not_find")
SHOWN_BY_DEFAULT = ("ndcg", "mrr", "recall")


def load_suite(
    path: Path | str,
    *,
    shown: str | None = None,
    definitions: Mapping[str, Definition] = DEFINITIONS,
    allowed: Allowed | None = None,
) -> Suite:
    """Read and check a suite file.

    ``shown`` is how errors and reports name the file (default: the path as given); ``definitions`` the measures that
    may be named; ``allowed`` the folders that it and the files it names may lie in (default: anywhere, for suites that
    are the caller's own). Raises ``SuiteError`` with one line, ``path:line:column: what is wrong``.
    """
    path = Path(path)
    shown = shown or str(path)
    try:
        text = read_text(path, bounds.SUITE, allowed)
    except Unreadable as error:
        raise SuiteError(shown, error.line, error.column, str(error)) from None
    document = Document.of_text(shown, text)
    try:
        reader = Reader(document)
        return _Assembly(path, shown, reader.suite(), definitions, reader.fail, allowed).suite()
    except SuiteError:
        document.finish()  # a syntax error further down is the likelier cause of what was misread here
        raise


@dataclass(frozen=True)
class _Assembly:
    """What was written, put together now that every key is known. ``found`` is that of ``Reader.suite``."""

    path: Path
    shown: str
    found: Mapping[str, Any]
    definitions: Mapping[str, Definition]
    fail: Callable[[Place, str], SuiteError]
    allowed: Allowed | None
    opened: list[Path] = field(default_factory=list)

    @cached_property
    def limits(self) -> LimitReader:
        """The reader of the lines of limits."""
        by_text = self.found.get("match") == "text"
        return LimitReader(self.definitions, self.found.get("top_k", 10), by_text, self.fail)

    @cached_property
    def relevant_from(self) -> float:
        """The lowest relevant grade."""
        return float(self.found.get("relevant_from", 1.0))

    @cached_property
    def judges(self) -> Judges:
        """What counts where several judges graded a pair."""
        judges: Judges = self.found.get("judges", Judges())
        return judges

    @cached_property
    def grades(self) -> Mapping[str, float]:
        """The words that may stand for grades."""
        words: Mapping[str, float] = self.found.get("grades", {})
        return words

    def suite(self) -> Suite:
        """All of it."""
        found = self.found
        entries, files = self._open_files()
        ids: dict[str, Written] = {}
        for written in entries:
            id = written.id
            if id in ids:
                place = written.key_places.get("id", written.key_places.get("query", written.place))
                other = ids[id].key_places.get("id", ids[id].key_places.get("query", ids[id].place))
                where = (
                    f"on line {other.line}"
                    if other.path == place.path
                    else f"at {other.path or self.shown}:{other.line}"
                )
                hint = "" if "id" in written.fields else "; give one of the two an 'id'"
                raise self.fail(place, f"the id {short(id)} is already used {where}{hint}")
            ids[id] = written
        judged = self._judged(files, entries)
        queries = [self.query(written, judged) for written in entries]
        metrics = [self.limits.measure(text, place) for text, place in found.get("metrics", ())]
        checks = [*self._query_checks(queries), *self.limits.checks(found, queries)]
        suite = Suite(
            name=found.get("suite", self.path.name.rsplit(".", 1)[0].removesuffix(".ir")),
            path=self.shown,
            files=tuple(self.opened),
            queries=tuple(queries),
            retriever=found.get("retriever", ("retriever", None))[0],
            retriever_place=found.get("retriever", ("retriever", None))[1],
            params_place=found.get("params@"),
            top_k=self.limits.top_k,
            params=found.get("params", {}),
            relevant_from=self.relevant_from,
            undefined=found.get("undefined", "skip"),
            id_field=found.get("id_field"),
            match=found.get("match", "id"),
            duplicates=found.get("duplicates", "collapse"),
            concurrency=found.get("concurrency"),
            timeout=found.get("timeout"),
            warmup=found.get("warmup", 0),
            baseline_retriever=found.get("baseline"),
            judges=self.judges,
            default_guard=all(
                line.name != "lost_all_relevant" for line in found.get("each_query", ())
            ),
            max_errors=found.get("errors", 0),
            metrics=tuple(metrics),
            checks=tuple(check_names(checks)),
            notes=tuple(judged.notes()) if judged else (),
        )
        if not metrics:
            limited = [measure for measure in suite.measures if measure.aggregate == "mean"]
            shown = limited or [self.limits.measure(name, Place(1)) for name in SHOWN_BY_DEFAULT]
            suite = replace(suite, metrics=tuple(shown))
        return replace(suite, depth=self._depth(suite))

    # -- files of queries and judgments ------------------------------------------------------------------------------

    def _open_files(self) -> tuple[list[Written], list[JudgmentFile]]:
        """Every query, those of files read, and every file that judges some."""
        found, grades = self.found, self.grades
        entries: list[Written] = []
        files: list[JudgmentFile] = []
        if not any(
            isinstance(entry, WrittenFile)
            for entry in (*found["queries"], *found.get("judgments", ()))
        ):
            return found["queries"], files
        # Only here: suites without files need no csv, json and gzip.
        from pytest_irquality.suite.files.judgments import read_judgments  # noqa: PLC0415
        from pytest_irquality.suite.files.queries import read_queries  # noqa: PLC0415
        from pytest_irquality.suite.files.source import beir_qrels, beir_queries  # noqa: PLC0415

        further = tuple(key for key in QUERY_KEYS if key not in ("query", "id"))
        for entry in found["queries"]:
            if isinstance(entry, Written):
                entries.append(entry)
                continue
            for source in self._sources(entry):
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
            for source in self._sources(entry):
                folder = source.path.is_dir()
                files.append(
                    read_judgments(beir_qrels(source, entry.split) if folder else source, grades)
                )
        if not entries:
            raise self.fail(found["queries@"], "'queries' is empty: no file has one")
        return entries, files

    def _sources(self, entry: WrittenFile) -> list[Source]:
        from pytest_irquality.suite.files.source import sources  # noqa: PLC0415

        shown = Path(self.shown).parent
        try:
            found = sources(entry.file, self.path.parent, shown, entry.format, self.allowed)
            self.opened.extend(source.path for source in found)
            return found
        except ValueError as error:
            query_meant = entry.bare and (
                not Path(entry.file).suffix or len(entry.file.split()) > 1
            )
            hint = f"; did you mean `- query: {clipped(entry.file)}`?" if query_meant else ""
            raise self.fail(entry.place, f"{error}{hint}") from None

    def _from_record(self, record: Record, shown: str) -> Written:
        """A query of a file; one of JSONL may carry whatever a query of a suite may."""
        from pytest_irquality.suite.files.queries import tags  # noqa: PLC0415

        place = Place(record.line, 1, shown)
        fields: dict[str, Any] = {
            name: record.cells[name] for name in ("query", "id", "why") if record.cells.get(name)
        }
        if record.further:
            document = Document.of_json(shown, {**fields, **record.further}, record.line)
            return replace(Reader(document, shown).query(), bulk=True)
        if found := tags(record):
            fields["tags"] = found
        if weight := record.cells.get("weight"):
            number = as_number(weight)
            if number is None or number < 0:
                raise self.fail(
                    place, f"a weight must be a number of 0 or more, not {short(weight)}"
                )
            fields["weight"] = number
        return Written(fields, place, {}, bulk=True)

    def _judged(self, files: list[JudgmentFile], entries: Iterable[Written]) -> Judged | None:
        if not files:
            return None
        from pytest_irquality.suite.files.judgments import Judged  # noqa: PLC0415

        return Judged(files, {written.id: written.fields["query"] for written in entries})

    def query(self, written: Written, judged: Judged | None) -> Query:
        """A query with its judgments, rules and thresholds."""
        fields, places, top_k = written.fields, written.key_places, self.limits.top_k
        relevant_from = self.relevant_from
        written_grades, lines = fields.get("relevant", ({}, []))
        relevant = {document: self._grade(grade) for document, grade in written_grades.items()}
        judgments, votes = Judgments(relevant, relevant_from), NOBODY
        if judged:

            def place(document: str) -> str:
                return f"{written.place.path or self.shown}:{dict(zip(written_grades, lines, strict=True))[document]}"

            said = judged.joined(written.id, relevant, place)
            judgments, votes = said.judgments(self.judges, relevant_from), said.votes
        rules = []
        for kind in RANK_RULES:
            if kind in fields:
                ranks = {document: rank or top_k for document, rank in fields[kind]}
                rules.append(Rule(kind, ranks, places[kind]))  # type: ignore[arg-type]
        if "in_order" in fields:
            rules.append(
                Rule("in_order", dict.fromkeys(fields["in_order"], top_k), places["in_order"])
            )
        if fields.get("expect_no_results"):
            if wrong := next(
                (
                    key
                    for key in ("relevant", "must_find", "must_find_any", "in_order")
                    if key in fields
                ),
                None,
            ):
                raise self.fail(places[wrong], f"{wrong!r} contradicts 'expect_no_results'")
            rules.append(Rule("expect_no_results", {}, places["expect_no_results"]))
        if fields.get("expect_no_results") and judgments.relevant:
            raise self.fail(
                places["expect_no_results"],
                "a judgment file has relevant documents for this query: it expects results",
            )
        thresholds = []
        for line in fields.get("thresholds", ()):
            limits = self.limits.of_one(line)
            if limits.known_issue:
                raise self.fail(
                    limits.place, "'known_issue' of one query stands on the query, beside its rules"
                )
            if limits.measure.needs_relevant and not judgments.relevant:
                raise self.fail(
                    limits.place,
                    f"{limits.measure} is undefined for this query: it has no relevant document",
                )
            thresholds.append(limits)
        known: KnownIssue | None = fields.get("known_issue")
        if (
            known
            and not rules
            and not any(bound.fails for limit in thresholds for bound in limit.bounds)
        ):
            raise self.fail(
                places["known_issue"],
                "'known_issue' on a query with no rule and no threshold: nothing could fail",
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
            votes=votes,
        )

    def _grade(self, grade: float | Word | None) -> float:
        words = self.grades
        if not isinstance(grade, Word):
            return max(1.0, self.relevant_from) if grade is None else grade
        if grade.text not in words:
            raise self.fail(grade.place, no_grade(grade.text, words))
        return words[grade.text]

    def _query_checks(self, queries: Iterable[Query]) -> Iterator[Check]:
        for query in queries:
            if query.demands or not query.bulk:
                yield Check(query.id, query.text, query.place, query=query)
        if any(query.bulk for query in queries):
            yield Check(
                "every-query-answered", "every query answered", self.found["queries@"], scope="bulk"
            )

    def _depth(self, suite: Suite) -> int:
        """The results asked for: ``depth`` as written, else the deepest cutoff of any measure or rule."""
        cutoffs: dict[int, str] = {suite.top_k: "top_k"}
        as_deep_as_relevant = any(
            measure.definition.reach == "relevant" for measure in suite.measures
        )
        most_relevant = (
            max(len(q.judgments.relevant) for q in suite.queries) if as_deep_as_relevant else 0
        )
        for measure in suite.measures:
            cutoffs.setdefault(measure.depth(most_relevant) or suite.top_k, str(measure))
        rules = [(rule, query.id) for query in suite.queries for rule in query.rules]
        rules += [(check.rule, check.name) for check in suite.checks if check.rule]
        for rule, owner in rules:
            for rank in rule.documents.values():
                cutoffs.setdefault(rank, f"{rule.kind} of {short(owner)}")
        deepest = max(cutoffs)
        depth: int = self.found.get("depth", deepest)
        if depth < deepest:
            raise self.fail(
                self.found["depth@"],
                f"'depth' is {depth}, but {cutoffs[deepest]} reads {deepest} results",
            )
        return depth
