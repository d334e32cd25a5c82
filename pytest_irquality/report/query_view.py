"""One query, put into the words that its row and its detail show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import cache, cached_property
from math import inf

from pytest_irquality.report.texts_view import elsewhere
from pytest_irquality.report.views import (
    Chip,
    DemandRow,
    Detail,
    DocumentRow,
    Listed,
    QueryRow,
    Value,
)
from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import (
    BAD,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.block import EXPECTED, loudness, state_in, state_of
from pytest_irquality.wording.losses import because, fates_of
from pytest_irquality.wording.mean_tables import coloured
from pytest_irquality.wording.moves import in_answers, moves, place, rank, rises
from pytest_irquality.wording.numbers import apart, counted, figure, signed, times
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
LONG_TITLE = 160
OPENED = 3
MOST_MISSING = 100  # documents that a query expects and did not find, as its detail lists them


@dataclass(frozen=True)
class QueryViews:
    """The queries of a result, worst first.

    ``prefix`` keeps their anchors apart on the page.
    """

    result: SuiteResult
    prefix: str
    damage: Damage

    @cached_property
    def ordered(self) -> tuple[QueryResult, ...]:
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

    @cached_property
    def texts(self) -> Mapping[str, str]:
        return {query.id: query.text for query in self.result.queries}

    @cached_property
    def compared(self) -> bool:
        return self.result.baseline is not None

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

    def kinds(self, query: QueryResult) -> tuple[str, ...]:
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
        return tuple([kind for kind, holds in told.items() if holds])

    def chips(self, views: Sequence[QueryRow]) -> tuple[Chip, ...]:
        return tuple(
            Chip(key, label, sum(key in view.kinds for view in views))
            for key, label in KINDS.items()
            if self.compared or key not in COMPARED
        )

    # -- rows ------------------------------------------------------------------------------------

    def views(self) -> tuple[QueryRow, ...]:
        return tuple(map(self.row, self.ordered))

    def listed(self, rows: Sequence[QueryRow], detailed: int) -> Iterator[Listed]:
        """The first queries, as many as there are ``rows``, the first of them in full."""
        for at, (row, query) in enumerate(zip(rows, self.ordered, strict=False)):
            values = (self.value(query, measure) for measure in self.result.shown)
            yield Listed(row, tuple(values), self.detail(query) if at < detailed else None)

    def anchor(self, id: str) -> str:
        return f"{self.prefix}-q{self.rows[id] + 1}" if id in self.rows else ""

    def row(self, query: QueryResult) -> QueryRow:
        outcome, own = self.outcomes[query.id], self.own.get(query.id)
        state = state_in(self.result, outcome)
        issue = own.known_issue if own else None
        return QueryRow(
            anchor=self.anchor(query.id),
            text=cut(query.text),
            id=cut(query.id) if query.id != query.text else "",
            tags=query.tags,
            state=state,
            outcome=f"known issue {issue}" if outcome == "known" and issue else state.word,
            said=self.said(query, own, outcome),
            kinds=self.kinds(query),
            opened=outcome in BAD and self.rows[query.id] < OPENED,
            latency=figure(query.seconds, "seconds") if query.seconds is not None else "",
        )

    def value(self, query: QueryResult, measure: str) -> Value:
        at, unit = self.result.measures.index(measure), self.result.unit(measure)
        returned, sides, change = query.values[at], query.sides(at), query.change(at)
        if sides is None:
            now = query.compared[at] if query.compared is not None else returned
            then = figure(query.before[at], unit) if query.before is not None else ""
            if query.before is not None and query.before[at] is None and now is not None:
                then = "unknown then"
            return Value(measure, figure(now, unit), then)
        then, today = apart(*sides, unit)
        if returned is not None and abs(returned - sides[1]) > EQUAL:
            today = f"{today} (as returned {figure(returned, unit)})"
        if not change:
            return Value(measure, today, then, "=")
        words = f"{signed(change, unit)}{self._times(query, measure)}"
        return Value(measure, today, then, words, coloured(self.result, measure, change))

    def _times(self, query: QueryResult, measure: str) -> str:
        return times(self.damage.weight(query)) if measure == self.damage.measure else ""

    def said(self, query: QueryResult, own: Verdict | None, outcome: str) -> str:
        """The words of the row: why it is not green, or what there is to see."""
        if own is not None and own.outcome == outcome and own.outcome != "passed":
            words = reason(self.result, own)
            return cut(words.removeprefix(f"{quoted(query.text)}: "))  # which begins the row
        guards = [demand(self.result, finding) for _, finding in self.guards.get(query.id, ())]
        if first := next(iter(guards), query.fault):
            return cut(first)
        moved = (moves(query) or rises(query)) if self.damage.gain(query) else ""
        return cut(moved) or self.found(query)

    def found(self, query: QueryResult) -> str:
        """The number of results, and of those that are relevant."""
        relevant = sum(document.relevant for document in query.ranking)
        of_them = f", {relevant} relevant among the shown" if relevant else ""
        return self.came(query) + of_them

    def came(self, query: QueryResult) -> str:
        if query.returned:
            return counted(query.returned, "result")
        return "no results, as expected" if query.expects_nothing else "no results"

    # -- details -----------------------------------------------------------------------------------

    def details(self) -> Iterator[Detail]:
        """The contents of the rows, one after the other."""
        return map(self.detail, self.ordered)

    def detail(self, query: QueryResult) -> Detail:
        forbidden = frozenset(self.forbidden(query))
        missing = query.missing if query.fault is None else ()
        return Detail(
            whole=query.text if len(query.text) > LONGEST else "",
            remarks=tuple((name.capitalize(), text) for name, text in query.remarks.items()),
            fault=query.fault or "",
            rules=tuple(self.rules(query)),
            ranking=tuple([self.document_now(d, query, forbidden) for d in query.ranking]),
            ranked=self.ranked(query),
            ranking_before=tuple([self.document_before(d, query) for d in query.ranking_before]),
            ranked_before=self.ranked_before(query),
            missing=tuple(self.absent(d, query) for d in missing[:MOST_MISSING]),
            listed=_listed(len(missing)),
            place=self.result.place(query),
            texts_elsewhere=elsewhere(self.result) if query.texts_left_out else "",
            fates=fates_of(query),
            rerun=rerun(self.result, query.check),
        )

    def ranked(self, query: QueryResult) -> str:
        if query.fault is not None:
            return ""
        if len(query.ranking) < query.returned:
            return f"the first {len(query.ranking)} of {query.returned} results"
        return self.came(query)

    def ranked_before(self, query: QueryResult) -> str:
        """The title of the baseline's ranking; "" where there is no such column."""
        if query.before is None or not self.compared:
            return ""
        if query.ranking_before:
            return counted(len(query.ranking_before), "result")
        unchanged = query.ranking and query.ranking[0].before == 1
        return "the same ranking" if unchanged else "no results"

    def demands(self, query: QueryResult) -> Iterator[tuple[Verdict, Finding]]:
        """The demands on a query: those of its own rules, and of the lines for each query."""
        if own := self.own.get(query.id):
            for finding in own.findings:
                yield own, finding
        yield from self.guards.get(query.id, ())

    def rules(self, query: QueryResult) -> Iterator[DemandRow]:
        for verdict, finding in self.demands(query):
            label = f"{verdict.label}: " if verdict is not self.own.get(query.id) else ""
            said = cut(f"{label}{demand(self.result, finding)}")
            yield DemandRow(state_of(self.result, verdict, finding), said)

    def forbidden(self, query: QueryResult) -> Iterator[str]:
        for _, finding in self.demands(query):
            if not finding.ok:
                unwanted = finding.demand.having(finding.ranked, "unwanted")
                yield from (document.id for document in unwanted)

    # -- documents ---------------------------------------------------------------------------------

    @cached_property
    def top_grade(self) -> float:
        documents = (d for query in self.result.queries for d in (*query.ranking, *query.missing))
        return max((document.grade or 0.0 for document in documents), default=0.0)

    def document(
        self,
        document: ShownDocument,
        query: QueryResult,
        rank: int | str,
        score: float | None,
        move: str,
    ) -> DocumentRow:
        """A document as every ranking shows it; ``move`` says where it was or went."""
        id, title = document.id, document.title
        css, grade = _graded(document.grade, document.relevant, self.top_grade)
        if document.in_answers and (often := in_answers(document, query)):
            move = f"{move}, {often}" if move else often
        return DocumentRow(
            rank,
            cut(id),
            cut(title, LONG_TITLE) if title and title != id else "",
            css,
            grade,
            move,
            "" if score is None else f"{score:.4g}",
            document.chunk,
        )

    def document_now(
        self, document: ShownDocument, query: QueryResult, forbidden: AbstractSet[str]
    ) -> DocumentRow:
        """A document of today's ranking: where it was in the baseline."""
        came = _came(document, query)
        shown = self.document(document, query, document.rank or "", document.score, came)
        if document.id in forbidden:
            return shown._replace(css="wrong forbidden", grade="⊘ forbidden")
        return shown

    def document_before(self, document: ShownDocument, query: QueryResult) -> DocumentRow:
        """A document of the baseline's ranking: its rank then, and where it is now."""
        then, now = document.before, document.rank
        move = "=" if now == then else f"→ {rank(document)}"
        shown = self.document(document, query, then or "", None, move)
        lost = now is None and document.relevant
        return shown._replace(css=f"{shown.css} lost") if lost else shown

    def absent(self, document: ShownDocument, query: QueryResult) -> DocumentRow:
        """A document that the shown ranking lacks.

        It says what that would have been worth, and where it is instead.
        """
        was = f", was {document.before}" if document.before is not None else ""
        css, symbol = ("lost", "✗") if document.rank is None else ("deep", "↓")
        move = f"{place(document)}{was}"
        shown = self.document(document, query, symbol, document.score, move)
        return shown._replace(why=because(document), css=css)


def _listed(missing: int) -> str:
    """The number of missing documents that are listed, where that is not all."""
    return f"the first {MOST_MISSING} of {missing:,}" if missing > MOST_MISSING else ""


@cache
def _graded(grade: float | None, relevant: bool, top: float) -> tuple[str, str]:
    """A grade's colour, by how near it comes to the highest, and the grade in words."""
    if grade is None:
        return "unjudged", "unjudged"
    if not relevant:
        return "wrong", f"{grade:g} ✗"
    part = grade / top if top > 0 else 1.0
    step = 3 if part > 0.9 else 2 if part > 0.5 else 1
    return f"grade{step}", f"{grade:g} ✓"


def _came(document: ShownDocument, query: QueryResult) -> str:
    """The place in the baseline of a document of today's ranking."""
    if query.before is None:
        return ""
    if document.before is None:
        return "new here"
    if document.rank is None or document.rank == document.before:
        return "="
    return f"{'▲' if document.rank < document.before else '▼'} was {document.before}"
