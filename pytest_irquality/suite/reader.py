"""The suite format: from the text of a file to a ``Suite``, or to one error with its place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_irquality.edges import bounds
from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.open import Allowed, Unreadable, read_text
from pytest_irquality.metrics import Definition, Measure
from pytest_irquality.metrics.catalogue import DEFINITIONS
from pytest_irquality.suite.item_names import check_names
from pytest_irquality.suite.key_tables import shared
from pytest_irquality.suite.keys import SuiteSettings, WrittenQuery, WrittenSuite, read_suite
from pytest_irquality.suite.limit_reader import LimitReader
from pytest_irquality.suite.model import Answered, Check, Place, Query, Rule, Suite
from pytest_irquality.suite.query_reader import QueryReader
from pytest_irquality.suite.yaml import Document, SuiteError, short

if TYPE_CHECKING:
    from pytest_irquality.suite.entries import SuiteFiles

LISTS = (".txt", ".csv")
"""How the names of files end that are lists of queries."""
IMPLIED_DEPTH = 1_000
"""How far down a document may be demanded by a suite that does not say its ``depth``."""
SHOWN_BY_DEFAULT = ("ndcg", "mrr", "recall")
SHOWN_OF_CHANGES = ("rbo",)
_is_mean_of_relevance = attrgetter("is_mean_of_relevance")


@no_cycles()
def load_suite(
    path: Path | str,
    *,
    shown: str | None = None,
    definitions: Mapping[str, Definition] = DEFINITIONS,
    allowed: Allowed | None = None,
) -> Suite:
    """Read and check a suite file, or a list of queries, which is a suite that says nothing more.

    ``shown`` is how errors and reports name the file (default: the path as given); ``definitions``
    the measures that may be named; ``allowed`` the folders that it and the files it names may lie
    in (default: anywhere, for suites that are the caller's own). Raises ``SuiteError`` with a line
    for each mistake, at most ten: ``path:line:column: what is wrong``.
    """
    path = Path(path)
    shown = shown or str(path)
    text = json.dumps({"queries": [{"file": path.name}]})
    try:
        if allowed:
            allowed.check_named([path])
        if path.suffix not in LISTS:
            text = read_text(path, bounds.SUITE, allowed)
    except Unreadable as error:
        raise SuiteError(shown, error.line, error.column, str(error)) from None
    document = Document.of_text(shown, text)
    try:
        written = read_suite(document)
        suite = _Assembly(path, document, written, definitions, allowed).suite()
    except SuiteError:
        # a syntax error further down is the likelier cause of what was misread here
        document.finish()
        raise
    return replace(suite, reread=partial(load_suite, definitions=definitions))


@dataclass(frozen=True)
class _Assembly:
    """A suite as written, put together now that every key is known."""

    path: Path
    document: Document
    written: WrittenSuite
    definitions: Mapping[str, Definition]
    allowed: Allowed | None

    @cached_property
    def limits(self) -> LimitReader:
        """The reader of the lines of limits."""
        written = self.written
        return LimitReader(
            self.definitions, written.top_k, written.match == "text", self.document.fail_at
        )

    def suite(self) -> Suite:
        """The whole suite."""
        written = self.written
        files = self._files()
        entries = files.entries if files else self._inline
        self._refuse_repeated_ids(entries)
        reader = QueryReader(self.document, written, self.limits, files)
        queries = tuple(self.document.each(reader.query, entries))
        if files:
            files.refuse_unjudged(queries)
        checks = [*self._query_checks(queries), *self.limits.checks(written, queries)]
        now, over_time = _parted(check_names(checks))
        suite = Suite(
            name=written.name or self.path.name.rsplit(".", 1)[0].removesuffix(".ir"),
            path=self.document.path,
            files=tuple(files.opened) if files else (),
            queries=queries,
            reworded=tuple(reader.reworded(queries)),
            guards=written.guards,
            metrics=tuple(self.limits.measure(text, place) for text, place in written.metrics),
            checks=tuple(now),
            trends=tuple(over_time),
            unasked=tuple(files.judged.notes()) if files else (),
            places=written.places,
            **shared(SuiteSettings, written),
        )
        if not suite.metrics:
            suite = replace(suite, metrics=self._usual_metrics(suite))
        return replace(suite, depth=self._depth(suite), read_depth=_read_depth(suite))

    @property
    def _inline(self) -> list[WrittenQuery]:
        return [entry for entry in self.written.queries if isinstance(entry, WrittenQuery)]

    def _files(self) -> SuiteFiles | None:
        """The files that the suite names; None where it names none."""
        if len(self._inline) == len(self.written.queries) and not self.written.judgments:
            return None  # suites without files need no csv, json and gzip
        from pytest_irquality.suite.entries import SuiteFiles  # noqa: PLC0415

        return SuiteFiles(self.path, self.document, self.written, self.allowed)

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
        """The measures shown where the suite names none: means with limits.

        The usual ones, too, where none of these says how good the rankings are.
        """
        limited = [measure for measure in suite.measures if measure.aggregate == "mean"]
        shows_enough = _is_of_rankings if suite.says_nothing else _is_mean_of_relevance
        if any(map(shows_enough, limited)):
            return tuple(limited)
        names = SHOWN_OF_CHANGES if suite.says_nothing else SHOWN_BY_DEFAULT
        usual = [self.limits.measure(name, Place(1)) for name in names]
        return tuple(dict.fromkeys([*filter(_reads_grades, limited), *usual, *limited]))

    def _query_checks(self, queries: Iterable[Query]) -> Iterator[Check]:
        bulk = False
        for query in queries:
            bulk = bulk or query.bulk
            if query.demands or not query.bulk:
                yield Check(query.id, query.text, query.place, query, "query")
        if bulk:
            place = self.written.places["queries"]
            yield Check("every-query-answered", "every query answered", place, Answered(), "bulk")

    # -- depth -------------------------------------------------------------------------------------

    def _depth(self, suite: Suite) -> int:
        """The results asked for: ``depth`` as written, else the deepest cutoff of any demand.

        A rank far down is a rule that nothing breaks, and so must be meant.
        """
        readers: dict[int, str] = {}
        for depth, reader in _depths_read(suite):
            readers.setdefault(depth, reader)
        deepest = max(readers)
        if self.written.depth is None:
            self._refuse_budgets(suite)
            most = max(IMPLIED_DEPTH, suite.top_k)
            for query in suite.queries:
                ranks = [rule.documents[id] for rule in query.rules for id in rule.wanted]
                rank = max(ranks, default=0)
                if rank > most:
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

    def _refuse_budgets(self, suite: Suite) -> None:
        """Refuse budgets where the suite does not say how many results may go into them."""
        for measure in suite.measures:
            if measure.budget:
                place = suite.places.get("metrics") or suite.places.get("thresholds") or Place(1)
                self.document.fail_at(
                    place, f"{measure} needs 'depth': how many results are asked for to fill it"
                )


def _parted(checks: Iterable[Check]) -> tuple[list[Check], list[Check]]:
    """The checks of a run, and those of the history, which stand apart until there is one."""
    parts: tuple[list[Check], list[Check]] = [], []
    for check in checks:
        parts[check.over.changes].append(check)
    return parts


def _depths_read(suite: Suite) -> Iterator[tuple[int, str]]:
    """The numbers of results that are read, each with what reads them."""
    yield suite.top_k, "top_k"
    for measure in suite.measures:
        if not measure.stage:
            by_relevant = measure.definition.reach == "relevant"
            most_relevant = suite.most_relevant if by_relevant else 0
            yield measure.depth(most_relevant) or suite.top_k, str(measure)
    yield from _ranks_read(suite)


def _read_depth(suite: Suite) -> int | None:
    """The deepest result whose text is read; None, all of them, where they fill a budget."""
    if any(measure.budget for measure in suite.measures):
        return None
    return max(most for most, _ in _depths_read(suite))


def _ranks_read(suite: Suite) -> Iterator[tuple[int, str]]:
    """The ranks that rules look at, each with the rule."""
    rules = [(rule, query.id) for query in suite.queries for rule in query.rules]
    for_all = ((check.demand, check.name) for check in suite.checks)
    rules += [(demand, name) for demand, name in for_all if isinstance(demand, Rule)]
    for rule, owner in rules:
        for rank in rule.documents.values():
            yield rank, f"{rule.key} of {short(owner)}"


def _is_of_rankings(measure: Measure) -> bool:
    """Tell whether a measure is of what users see, and not of the candidates before it."""
    return not measure.stage


def _reads_grades(measure: Measure) -> bool:
    return measure.needs_relevant and not measure.stage
