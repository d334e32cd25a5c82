"""The table of queries, worst first, with what each row opens to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import BAD, QueryResult, SuiteResult, Verdict
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.block import (
    EXPECTED,
    Cell,
    Column,
    Opened,
    Row,
    State,
    Table,
    loudness,
    state_in,
    state_of,
)
from pytest_irquality.wording.losses import FATES, fates_of
from pytest_irquality.wording.mean_tables import coloured
from pytest_irquality.wording.moves import moves
from pytest_irquality.wording.numbers import apart, figure, signed, times
from pytest_irquality.wording.pair import found, pair_of, top_grade
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import demand
from pytest_irquality.wording.words import LONGEST, cut, quoted, rerun

KINDS: Mapping[str, str] = {
    "failed": "Failed",
    "worse": "Worse",
    "better": "Better",
    "new": "New",
    "known": "Known issue",
    "zero": "Zero results",
    "error": "Errors",
    "all": "All",
}
COMPARED = ("worse", "better", "new")
MEASURES = 3
"""Measures that have a column; the others are seen in details, and can be sorted by."""
LISTED, DETAILED = 200, 20
"""Queries that a page shows where scripts do not run, and those of them in full."""
HIDDEN = 9
"""The rank of columns that no list of rows shows."""


@dataclass(frozen=True)
class Queries:
    """The queries of a result, worst first."""

    result: SuiteResult
    damage: Damage

    @cached_property
    def ordered(self) -> tuple[QueryResult, ...]:
        """Failures first, then what lost most."""
        damage, place = self.damage, {query.id: n for n, query in enumerate(self.result.queries)}

        def badness(query: QueryResult) -> tuple[float, float, float, float, int, int]:
            value = query.values[damage.column] if damage.column is not None else None
            low = inf if value is None else value
            return (
                loudness(outcome) if (outcome := self.outcomes[query.id]) in BAD else inf,
                -damage.loss(query),
                damage.gain(query) or 0.0,
                low * damage.sign,
                loudness(outcome),
                place[query.id],
            )

        return tuple(sorted(self.result.queries, key=badness))

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """The place of each query in ``ordered``, by id."""
        return {query.id: n for n, query in enumerate(self.ordered)}

    # -- outcomes ----------------------------------------------------------------------------------

    @cached_property
    def own(self) -> Mapping[str, Verdict]:
        """Each query's verdict on the rules written at it."""
        return {v.query: v for v in self.result.verdicts if v.query is not None}

    @cached_property
    def guards(self) -> Mapping[str, Sequence[tuple[Verdict, Finding]]]:
        """The broken demands of the lines for each query, by its id."""
        found: dict[str, list[tuple[Verdict, Finding]]] = {}
        for verdict in self.result.verdicts:
            if verdict.over.each_query:
                for finding in verdict.findings:
                    if not finding.ok:
                        found.setdefault(finding.subject, []).append((verdict, finding))
        return found

    @cached_property
    def outcomes(self) -> Mapping[str, str]:
        """The outcome of each query, by id."""
        return {query.id: self._outcome(query) for query in self.result.queries}

    def _outcome(self, query: QueryResult) -> str:
        """The loudest of what its own rules say and of what the lines for each query say of it."""
        own = self.own.get(query.id)
        found = ["no rules"]
        if query.fault is not None:
            found.append("not evaluated" if query.skipped else "error")
        if own is not None and (own.outcome != "passed" or own.findings):
            found.append(own.outcome)
        found += [
            verdict.outcome if verdict.outcome in EXPECTED else "failed"
            for verdict, finding in self.guards.get(query.id, ())
            if finding.fails
        ]
        return min(found, key=loudness)

    def _kinds(self, query: QueryResult) -> tuple[str, ...]:
        outcome, gain = self.outcomes[query.id], self.damage.gain(query)
        told = {
            "failed": outcome in BAD and outcome != "error",
            "worse": (gain or 0.0) < 0,
            "better": (gain or 0.0) > 0,
            "new": query.new,
            "known": outcome in EXPECTED,
            "zero": query.returned_nothing,
            "error": outcome == "error" or (query.fault is not None and not query.skipped),
            "all": True,
        }
        fates = dict.fromkeys(one.now for one in query.fates if one.now != "found")
        return (*[kind for kind, holds in told.items() if holds], *fates)

    # -- the table ---------------------------------------------------------------------------------

    @cached_property
    def table(self) -> Table:
        """Text, tags, measures and outcome of each query; with a baseline what changed."""
        rows = tuple(map(self._row, self.ordered))
        return Table(tuple(self._columns()), rows, filters=self._filters(rows))

    def _filters(self, rows: Iterable[Row]) -> Mapping[str, tuple[str, int]]:
        """The kinds that a suite may have, and the places where something was lost."""
        passing = Counter(kind for row in rows for kind in row.kinds)
        kinds = {kind: KINDS[kind] for kind in KINDS if self._compared or kind not in COMPARED}
        fates = {fate: words.capitalize() for fate, words in FATES.items() if passing[fate]}
        return {kind: (words, passing[kind]) for kind, words in (kinds | fates).items()}

    def listed(self) -> Table:
        """The first queries in the columns that are seen, the first of these in full."""
        table = self.table.most(LISTED)
        seen = [at for at, column in enumerate(table.columns) if column.rank < HIDDEN]
        rows = tuple(
            row._replace(opens=self.opened(query) if at < DETAILED else None)
            for at, (row, query) in enumerate(zip(table.rows, self.ordered, strict=False))
        )
        return table._replace(rows=rows).only(seen).without_empty()

    def _columns(self) -> Iterator[Column]:
        queries = self.ordered
        yield Column("Query", key="query", order=_order(q.text.casefold() for q in queries))
        tags = (" ".join(query.tags).casefold() for query in queries)
        yield Column("Tags", key="tags", order=_order(tags))
        for place, measure in enumerate(self.result.shown):
            yield from self._of(measure, place)
        yield Column("Outcome", key="outcome", order=tuple(range(len(queries))))

    def _of(self, measure: str, place: int) -> Iterator[Column]:
        """The columns of a measure; with a baseline two more, what it was and what changed."""
        at, queries = self.result.measures.index(measure), self.ordered
        main = at == self.damage.column
        beside, rank = (0 if main else HIDDEN), 0 if main or place < MEASURES else HIDDEN
        now = _order(query.values[at] for query in queries)
        column = Column(measure, True, rank, measure, measure, now)
        if not self._compared:
            yield column
            return
        then = _order(query.before[at] if query.before else None for query in queries)
        change = _order(query.change(at) for query in queries)
        yield Column("before", True, beside, measure, f"{measure} before", then)
        yield column
        yield Column("change", True, beside, measure, f"{measure} change", change)

    def _row(self, query: QueryResult) -> Row:
        outcome, own = self.outcomes[query.id], self.own.get(query.id)
        state = state_in(self.result, outcome)
        if outcome == "known" and own and own.known_issue:
            state = state._replace(word=f"known issue {own.known_issue}")
        return Row(
            (
                Cell(cut(query.text), beside=cut(query.id) if query.id != query.text else ""),
                Cell("", tags=query.tags),
                *(cell for measure in self.result.shown for cell in self._value(query, measure)),
                Cell(self._said(query, own, outcome), state=state),
            ),
            state=state,
            kinds=self._kinds(query),
        )

    def _value(self, query: QueryResult, measure: str) -> Sequence[Cell | str]:
        """A measure's value; with a baseline between what it was and what changed."""
        at, unit = self.result.measures.index(measure), self.result.unit(measure)
        returned, sides, change = query.values[at], query.sides(at), query.change(at)
        if sides is None:
            now = query.compared[at] if query.compared is not None else returned
            value = figure(now, unit)
            return (_then(query, at, now, unit), value, "") if self._compared else (value,)
        then, today = apart(*sides, unit)
        if returned is not None and abs(returned - sides[1]) > EQUAL:
            today = f"{today} (as returned {figure(returned, unit)})"
        if not change:
            return then, today, "="
        weight = times(self.damage.weight(query)) if measure == self.damage.measure else ""
        words = f"{signed(change, unit)}{weight}"
        return then, today, Cell(words, css=coloured(self.result, measure, change))

    @property
    def _compared(self) -> bool:
        return self.result.baseline is not None

    def _said(self, query: QueryResult, own: Verdict | None, outcome: str) -> str:
        """The words of the row: why it is not green, or what there is to see."""
        if own is not None and own.outcome == outcome and own.outcome != "passed":
            words = reason(self.result, own)
            return cut(words.removeprefix(f"{quoted(query.text)}: "))  # which begins the row
        guards = [demand(self.result, finding) for _, finding in self.guards.get(query.id, ())]
        if first := next(iter(guards), query.fault):
            return cut(first)
        moved = moves(query) if self.damage.gain(query) else ""
        return cut(moved) or found(query)

    # -- what a row opens to -----------------------------------------------------------------------

    def opened(self, query: QueryResult) -> Opened:
        """All that there is to say of a query."""
        return Opened(
            whole=query.text if len(query.text) > LONGEST else "",
            remarks=tuple((name.capitalize(), text) for name, text in query.remarks.items()),
            fault=query.fault or "",
            rules=tuple(self._rules(query)),
            pair=pair_of(self.result, query, frozenset(self._forbidden(query)), self._top_grade),
            fates=fates_of(query),
            at=self.result.place(query),
            again=rerun(self.result, query.check),
        )

    @cached_property
    def _top_grade(self) -> float:
        return top_grade(self.result)

    def _demands(self, query: QueryResult) -> Iterator[tuple[Verdict, Finding]]:
        """The demands on a query: those of its own rules, and of the lines for each query."""
        if own := self.own.get(query.id):
            for finding in own.findings:
                yield own, finding
        yield from self.guards.get(query.id, ())

    def _rules(self, query: QueryResult) -> Iterator[tuple[State, str]]:
        for verdict, finding in self._demands(query):
            label = f"{verdict.label}: " if verdict is not self.own.get(query.id) else ""
            said = cut(f"{label}{demand(self.result, finding)}")
            yield state_of(self.result, verdict, finding), said

    def _forbidden(self, query: QueryResult) -> Iterator[str]:
        for _, finding in self._demands(query):
            if not finding.ok:
                unwanted = finding.demand.having(finding.ranked, "unwanted")
                yield from (document.id for document in unwanted)


def _order(keys: Iterable[float | str | None]) -> tuple[int, ...]:
    """The rows as sorted by their keys, those that have none left out."""
    of_rows: dict[int, Any] = {row: key for row, key in enumerate(keys) if key not in (None, "")}
    return tuple(sorted(of_rows, key=of_rows.__getitem__))


def _then(query: QueryResult, at: int, now: float | None, unit: str) -> str:
    """The value that a query had, where it has none on both sides."""
    if query.before is None:
        return ""
    then = query.before[at]
    return "unknown then" if then is None and now is not None else figure(then, unit)
