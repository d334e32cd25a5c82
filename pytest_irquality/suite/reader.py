"""The suite format: from the text of a file to a ``Suite``, or to one error with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_irquality.edges import bounds
from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.edges.open import Allowed, Unreadable, read_text
from pytest_irquality.metrics import Definition, Judgments, Measure
from pytest_irquality.metrics.catalogue import DEFINITIONS
from pytest_irquality.suite.demands import DEFAULT_GUARD
from pytest_irquality.suite.judges import Said
from pytest_irquality.suite.keys import (
    QUERY_KEYS,
    QuerySettings,
    SuiteSettings,
    Word,
    WrittenFile,
    WrittenQuery,
    WrittenSuite,
    read_query,
    read_suite,
)
from pytest_irquality.suite.limit_reader import LimitReader
from pytest_irquality.suite.model import Check, Limits, Place, Query, Rule, Suite
from pytest_irquality.suite.names import check_names
from pytest_irquality.suite.perturb import BY_HAND, PERTURBATIONS, Perturbation, perturbed
from pytest_irquality.suite.rules import RULES, with_ranks
from pytest_irquality.suite.tables import shared
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
    from pytest_irquality.suite.files.judgments import InFiles, JudgmentFile
    from pytest_irquality.suite.files.source import Source

IMPLIED_DEPTH = 1_000
"""How far down a document may be demanded by a suite that does not say its ``depth``."""
SHOWN_BY_DEFAULT = ("ndcg", "mrr", "recall")


@no_cycles()
def load_suite(
    path: Path | str,
    *,
    shown: str | None = None,
    definitions: Mapping[str, Definition] = DEFINITIONS,
    perturbations: Mapping[str, Perturbation] = PERTURBATIONS,
    allowed: Allowed | None = None,
) -> Suite:
    """Read and check a suite file.

    ``shown`` is how errors and reports name the file (default: the path as given); ``definitions``
    the measures that may be named, ``perturbations`` the kinds of variants that may be generated;
    ``allowed`` the folders that it and the files it names may lie in (default: anywhere, for suites
    that are the caller's own). Raises ``SuiteError`` with one line, ``path:line:column: what is
    wrong``.
    """
    path = Path(path)
    shown = shown or str(path)
    try:
        text = read_text(path, bounds.SUITE, allowed)
    except Unreadable as error:
        raise SuiteError(shown, error.line, error.column, str(error)) from None
    document = Document.of_text(shown, text)
    try:
        written = read_suite(document)
        return _Assembly(path, document, written, definitions, allowed, perturbations).suite()
    except SuiteError:
        # a syntax error further down is the likelier cause of what was misread here
        document.finish()
        raise


@dataclass(frozen=True)
class _Assembly:
    """What was written, put together now that every key is known."""

    path: Path
    document: Document
    written: WrittenSuite
    definitions: Mapping[str, Definition]
    allowed: Allowed | None
    perturbations: Mapping[str, Perturbation]
    opened: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @cached_property
    def limits(self) -> LimitReader:
        """The reader of the lines of limits."""
        written = self.written
        return LimitReader(
            self.definitions, written.top_k, written.match == "text", self.document.fail_at
        )

    def suite(self) -> Suite:
        """All of it."""
        written = self.written
        entries, files = self._entries()
        self._refuse_repeated_ids(entries)
        judged = self._judged(files, entries)
        queries = tuple(self.query(entry, judged) for entry in entries)
        doubts = [
            doubt
            for entry, query in zip(entries, queries, strict=True)
            for doubt in self._short(entry, query)
        ]
        reworded = tuple(self._reworded(queries))
        kinds = dict.fromkeys(variant.kind for variant in reworded)
        checks = [*self._query_checks(queries), *self.limits.checks(written, queries, kinds)]
        named = list(check_names(checks))
        suite = Suite(
            name=written.name or self.path.name.rsplit(".", 1)[0].removesuffix(".ir"),
            path=self.document.path,
            files=tuple(self.opened),
            queries=queries,
            reworded=reworded,
            default_guard=all(line.name != DEFAULT_GUARD.key for line in written.each_query),
            metrics=tuple(self.limits.measure(text, place) for text, place in written.metrics),
            checks=tuple(check for check in named if check.scope != "trend"),
            trends=tuple(check for check in named if check.scope == "trend"),
            notes=(*self.notes, *(judged.notes() if judged else ())),
            doubts=tuple(doubts),
            places=written.places,
            **shared(SuiteSettings, written),
        )
        if not suite.metrics:
            suite = replace(suite, metrics=self._usual_metrics(suite))
        return replace(suite, depth=self._depth(suite))

    def _refuse_repeated_ids(self, entries: Iterable[WrittenQuery]) -> None:
        first: dict[str, WrittenQuery] = {}
        for entry in entries:
            other = first.setdefault(entry.name, entry)
            if other is entry:
                continue
            place, before = entry.place_of_id, other.place_of_id
            where = f"at {before.path or self.document.path}:{before.line}"
            if before.path == place.path:
                where = f"on line {before.line}"
            hint = "; give one of the two an 'id'" if entry.id is None else ""
            self.document.fail_at(
                place, f"the id {short(entry.name)} is already used {where}{hint}"
            )

    def _usual_metrics(self, suite: Suite) -> tuple[Measure, ...]:
        """What is shown where the suite does not say: means with limits, else the usual ones."""
        limited = tuple(measure for measure in suite.measures if measure.aggregate == "mean")
        if any(not measure.stage for measure in limited):
            return limited
        usual = tuple(self.limits.measure(name, Place(1)) for name in SHOWN_BY_DEFAULT)
        return (*usual, *limited)

    # -- files of queries and judgments ------------------------------------------------------------

    def _entries(self) -> tuple[Sequence[WrittenQuery], list[JudgmentFile]]:
        """Every query, those of files too, and every file that judges some."""
        written = self.written
        inline = [entry for entry in written.queries if isinstance(entry, WrittenQuery)]
        if len(inline) == len(written.queries) and not written.judgments:
            return inline, []  # suites without files need no csv, json and gzip
        from pytest_irquality.suite.files.judgments import read_judgments  # noqa: PLC0415
        from pytest_irquality.suite.files.source import beir_qrels  # noqa: PLC0415

        entries: list[WrittenQuery] = []
        files: list[JudgmentFile] = []
        for entry in written.queries:
            if isinstance(entry, WrittenQuery):
                entries.append(entry)
                continue
            for source in self._sources(entry):
                self._read_queries(entry, source, entries, files)
        for file in written.judgments:
            for source in self._sources(file):
                folder = source.path.is_dir()
                found = beir_qrels(source, file.split) if folder else source
                files.append(read_judgments(found, written.grades))
        if not entries:
            self.document.fail_at(written.places["queries"], "'queries' is empty: no file has one")
        return entries, files

    def _read_queries(
        self,
        entry: WrittenFile,
        source: Source,
        entries: list[WrittenQuery],
        files: list[JudgmentFile],
    ) -> None:
        """Add the queries of a file or BEIR folder, and the file itself if it judges them too."""
        from pytest_irquality.suite.files.judgments import read_judgments  # noqa: PLC0415
        from pytest_irquality.suite.files.queries import read_queries  # noqa: PLC0415
        from pytest_irquality.suite.files.source import beir_qrels, beir_queries  # noqa: PLC0415

        further = [key for key in QUERY_KEYS if key not in ("query", "id")]
        if not source.path.is_dir():
            records, judges, note = read_queries(
                source, further, by_text=self.written.match == "text"
            )
            if judges:
                files.append(read_judgments(source, self.written.grades))
            if note:
                self.notes.append(note)
            entries += (self._from_record(record, source.name) for record in records)
            return
        texts = beir_queries(source)
        records, _, _ = read_queries(texts, further)
        judgments = read_judgments(beir_qrels(source, entry.split), self.written.grades)
        files.append(judgments)
        # The folder has the queries of all its splits; asked are those of one.
        for record in records:
            query = self._from_record(record, texts.name)
            if query.name in judgments.grades:
                entries.append(query)

    def _sources(self, entry: WrittenFile) -> list[Source]:
        from pytest_irquality.suite.files.source import sources  # noqa: PLC0415

        shown = Path(self.document.path).parent
        try:
            found = sources(entry.file, self.path.parent, shown, entry.format, self.allowed)
            self.opened.extend(source.path for source in found)
            return found
        except ValueError as error:
            message = str(error)
        has_suffix = bool(Path(entry.file).suffix) and len(entry.file.split()) == 1
        if entry.bare and not has_suffix:
            message += f"; did you mean `- query: {clipped(entry.file)}`?"
        self.document.fail_at(entry.place, message)

    def _from_record(self, record: Record, shown: str) -> WrittenQuery:
        """A query of a file; one of JSONL may carry whatever a query of a suite may."""
        from pytest_irquality.suite.files.queries import tags, variants  # noqa: PLC0415

        cells = record.cells
        place = Place(record.line, 1, shown)
        if record.further:
            named = {name: cells[name] for name in ("query", "id", "why") if cells.get(name)}
            document = Document.of_json(shown, {**named, **record.further}, record.line)
            return replace(read_query(document), bulk=True)
        weight = as_number(cells.get("weight") or "1")
        if weight is None or weight < 0:
            self.document.fail_at(
                place, f"a weight must be a number of 0 or more, not {short(cells['weight'])}"
            )
        return WrittenQuery(
            query=cells["query"],
            id=cells.get("id") or None,
            why=cells.get("why") or None,
            tags=tags(record),
            variants=variants(record),
            weight=weight,
            place=place,
            bulk=True,
        )

    def _judged(self, files: list[JudgmentFile], entries: Iterable[WrittenQuery]) -> InFiles | None:
        if not files:
            return None
        from pytest_irquality.suite.files.judgments import InFiles  # noqa: PLC0415

        return InFiles(files, {entry.name: entry.query for entry in entries})

    # -- queries -----------------------------------------------------------------------------------

    def query(self, written: WrittenQuery, judged: InFiles | None) -> Query:
        """A query with its judgments, rules and thresholds."""
        said = self._said(written, judged)
        judgments = said.judgments(self.written.judges, self.written.relevant_from)
        rules = tuple(self._rules(written))
        self._refuse_contradiction(written, rules, judgments)
        thresholds = tuple(self._thresholds(written, judgments))
        limited = any(limits.can_fail for limits in thresholds)
        if written.known_issue and not rules and not limited:
            self.document.fail_at(
                written.places["known_issue"],
                "'known_issue' on a query with no rule and no threshold: nothing could fail",
            )
        return Query(
            id=written.name,
            text=written.query,
            judgments=judgments,
            rules=rules,
            thresholds=thresholds,
            bulk=written.bulk,
            place=written.place,
            votes=said.votes,
            settled=said.settled,
            notes=said.notes,
            passages=frozenset(written.passages.grades),
            **shared(QuerySettings, written),
        )

    def _said(self, written: WrittenQuery, judged: InFiles | None) -> Said:
        """What the suite and its files say of each document."""
        relevant = written.relevant
        grades = {document: self._grade(grade) for document, grade in relevant.grades.items()}
        for passage, grade in written.passages.grades.items():
            if passage in grades:
                self.document.fail_at(
                    written.places["passages"],
                    f"{short(passage)} stands under 'relevant' too: it is an id or a passage",
                )
            grades[passage] = self._grade(grade)
        if judged is None:
            return Said(grades)

        def place(document: str) -> str:
            lines = {
                **dict(zip(written.passages.grades, written.passages.lines, strict=True)),
                **dict(zip(relevant.grades, relevant.lines, strict=True)),
            }
            line = lines[document]
            return f"{written.place.path or self.document.path}:{line}"

        return judged.joined(written.name, grades, place)

    def _grade(self, grade: float | Word | None) -> float:
        if grade is None:
            return max(1.0, self.written.relevant_from)
        if not isinstance(grade, Word):
            return grade
        words = self.written.grades
        if grade.text not in words:
            self.document.fail_at(grade.place, no_grade(grade.text, words))
        return words[grade.text]

    def _short(self, written: WrittenQuery, query: Query) -> Iterator[tuple[Place, str]]:
        """The passages that nearly every text holds, or none, each with its place."""
        by_text = (query.match or self.written.match) == "text"
        listed = [written.passages, *([written.relevant] if by_text else [])]
        if not by_text and not query.passages:
            return
        from pytest_irquality.passages import (  # noqa: PLC0415
            normal,
            too_short,
        )

        places = {
            passage: Place(line, 1, written.place.path)
            for some in listed
            for passage, line in zip(some.grades, some.lines, strict=True)
        }
        for rule in query.rules:
            for passage in rule.documents:
                if by_text or passage in query.passages:
                    places.setdefault(passage, rule.place)
        for passage, place in places.items():
            words = normal(passage).words
            if not words:
                yield place, f"the passage {short(passage)} has no word in it: no text can hold it"
            elif too_short(words):
                yield (
                    place,
                    (
                        f"the passage {short(passage)} is too short to mean anything: nearly every"
                        " text holds it"
                    ),
                )

    def _rules(self, written: WrittenQuery) -> Iterator[Rule]:
        for name, rule in RULES.items():
            documents = written.rules.get(name)
            if documents is not None:
                yield rule(with_ranks(documents, self.written.top_k), written.places[name])

    def _refuse_contradiction(
        self, written: WrittenQuery, rules: Iterable[Rule], judgments: Judgments
    ) -> None:
        """Refuse whatever asks for results of a query that expects none."""
        empty = next((rule for rule in rules if rule.expects_nothing), None)
        if empty is None:
            return
        for name, key in QUERY_KEYS.items():
            if key.wants_results and name in written.places:
                self.document.fail_at(written.places[name], f"{name!r} contradicts {empty.key!r}")
        if judgments.relevant:
            self.document.fail_at(
                empty.place,
                "a judgment file has relevant documents for this query: it expects results",
            )

    def _reworded(self, queries: Iterable[Query]) -> Iterator[Query]:
        """The variants of the queries: those that are written, then those to be generated."""
        everywhere = self._kinds(self.written.perturb)
        of_tags = {block.tag: self._kinds(block.perturb) for block in self.written.tags}
        for query in queries:
            kinds = [*everywhere, *(kind for tag in query.tags for kind in of_tags.get(tag, ()))]
            for number, text in enumerate(query.variants, 1):
                if text == query.text:
                    self.document.fail_at(
                        query.place, f"a variant of {short(query.id)} is the query itself"
                    )
                yield query.variant(BY_HAND, number, text)
            for kind in dict.fromkeys(kinds):
                made = perturbed(kind, query.text, self.perturbations[kind])
                for number, text in enumerate(made, 1):
                    yield query.variant(kind, number, text)

    def _kinds(self, named: Iterable[tuple[str, Place]]) -> Sequence[str]:
        kinds = []
        for kind, place in named:
            if kind not in self.perturbations:
                near = did_you_mean(kind, self.perturbations)
                known = f"; there are {', '.join(self.perturbations)}"
                self.document.fail_at(
                    place, f"nothing is known of the perturbation {short(kind)}{near or known}"
                )
            kinds.append(kind)
        return kinds

    def _thresholds(self, written: WrittenQuery, judgments: Judgments) -> Iterator[Limits]:
        for line in written.thresholds:
            limits = self.limits.of_one(line)
            if limits.known_issue:
                self.document.fail_at(
                    limits.place, "'known_issue' of one query stands on the query, beside its rules"
                )
            if limits.measure.needs_relevant and not judgments.relevant:
                self.document.fail_at(
                    limits.place,
                    f"{limits.measure} is undefined for this query: it has no relevant document",
                )
            yield limits

    def _query_checks(self, queries: Iterable[Query]) -> Iterator[Check]:
        bulk = False
        for query in queries:
            bulk = bulk or query.bulk
            if query.demands or not query.bulk:
                yield Check(query.id, query.text, query.place, query=query)
        if bulk:
            place = self.written.places["queries"]
            yield Check("every-query-answered", "every query answered", place, scope="bulk")

    # -- depth -------------------------------------------------------------------------------------

    def _depth(self, suite: Suite) -> int:
        """The results asked for: ``depth`` as written, else the deepest cutoff of any measure or
        rule. A rank far down is a rule that nothing breaks, and so must be meant.
        """
        readers: dict[int, str] = {}
        for depth, reader in _depths_read(suite):
            readers.setdefault(depth, reader)
        deepest = max(readers)
        if self.written.depth is None:
            most = max(IMPLIED_DEPTH, suite.top_k)
            for query in suite.queries:
                if (rank := _worst_acceptable_rank(query)) > most:
                    self.document.fail_at(
                        query.place,
                        f"{short(query.id)} may be found at rank {rank}, and without a 'depth' at"
                        f" most {most:,} results are asked for",
                    )
            return deepest
        if self.written.depth < deepest:
            self.document.fail_at(
                self.written.places["depth"],
                f"'depth' is {self.written.depth}, but {readers[deepest]} reads {deepest} results",
            )
        return self.written.depth


def _worst_acceptable_rank(query: Query) -> int:
    """The lowest place at which a document that must be found is good enough."""
    return max((rule.documents[id] for rule in query.rules for id in rule.wanted), default=0)


def _depths_read(suite: Suite) -> Iterator[tuple[int, str]]:
    """How many results are read, and by what."""
    yield suite.top_k, "top_k"
    most_relevant = 0
    if any(measure.definition.reach == "relevant" for measure in suite.measures):
        most_relevant = max(len(query.judgments.relevant) for query in suite.queries)
    for measure in suite.measures:
        if not measure.stage:
            yield measure.depth(most_relevant) or suite.top_k, str(measure)
    for query in suite.queries:
        for rule in query.rules:
            yield from _ranks_read(rule, query.id)
    for check in suite.checks:
        if check.rule:
            yield from _ranks_read(check.rule, check.name)


def _ranks_read(rule: Rule, owner: str) -> Iterator[tuple[int, str]]:
    for rank in rule.documents.values():
        yield rank, f"{rule.key} of {short(owner)}"
