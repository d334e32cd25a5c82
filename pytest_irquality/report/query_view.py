"""One query, put into the words that its row and its detail show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf

from pytest_irquality.edges.dataclass import dataclass
from pytest_irquality.report.texts_view import elsewhere
from pytest_irquality.report.views import (
    EXPECTED,
    STATES,
    Chip,
    Document,
    Query,
    Rule,
    Value,
    loudness,
)
from pytest_irquality.suite.model import length_of
from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import (
    BAD,
    Mean,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.losses import because
from pytest_irquality.wording.moves import in_answers, place, rank
from pytest_irquality.wording.numbers import apart, counted, figure, signed
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import demand
from pytest_irquality.wording.stages import how_far
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


@dataclass(frozen=True)
class QueryViews:
    """The queries of a result, worst first, under a prefix that keeps their anchors apart on the
    page.
    """

    result: SuiteResult
    prefix: str

    @cached_property
    def ordered(self) -> tuple[QueryResult, ...]:
        place = {query.id: n for n, query in enumerate(self.result.queries)}

        def badness(query: QueryResult) -> tuple[int, float, float, float, int]:
            value = query.values[self.main] if self.main is not None else None
            low = inf if value is None else value
            return (
                loudness(self.outcome(query)),
                -self.damage.loss(query),
                self.gain(query) or 0.0,
                low * self.sign,
                place[query.id],
            )

        return tuple(sorted(self.result.queries, key=badness))

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Where each query stands in ``ordered``, by id."""
        return {query.id: n for n, query in enumerate(self.ordered)}

    @cached_property
    def texts(self) -> Mapping[str, str]:
        return {query.id: query.text for query in self.result.queries}

    @cached_property
    def means(self) -> Mapping[tuple[str | None, str], Mean]:
        return {(mean.tag, mean.measure): mean for mean in self.result.means}

    @cached_property
    def compared(self) -> bool:
        return self.result.baseline is not None

    @cached_property
    def damage(self) -> Damage:
        return Damage(self.result)

    @property
    def main(self) -> int | None:
        """The column of the measure that better and worse are told by."""
        return self.damage.column

    @property
    def sign(self) -> int:
        return self.damage.sign

    def better_side(self, measure: str) -> bool | None:
        mean = self.means.get((None, measure))
        return mean.higher_is_better if mean else True

    def unit(self, measure: str) -> str:
        mean = self.means.get((None, measure))
        return mean.unit if mean else ""

    def gain(self, query: QueryResult) -> float | None:
        """By how much the main measure got better; None where one of the sides is missing."""
        return self.damage.gain(query)

    def change(self, query: QueryResult, column: int) -> float | None:
        """What a measure did; None where one of the sides is missing."""
        if query.before is None or query.compared is None:
            return None
        before, now = query.before[column], query.compared[column]
        return (
            None
            if before is None or now is None
            else 0.0
            if abs(now - before) <= EQUAL
            else now - before
        )

    # -- outcomes ----------------------------------------------------------------------------------

    @cached_property
    def own(self) -> Mapping[str, Verdict]:
        """Each query's verdict on the rules written at it."""
        return {
            v.query: v for v in self.result.verdicts if v.scope == "query" and v.query is not None
        }

    @cached_property
    def guards(self) -> Mapping[str, Sequence[tuple[Verdict, Finding]]]:
        """What the lines for each query demanded of it, where that is broken."""
        found: dict[str, list[tuple[Verdict, Finding]]] = {}
        for verdict in self.result.verdicts:
            if verdict.scope == "each_query":
                for finding in verdict.findings:
                    if not finding.ok:
                        found.setdefault(finding.subject, []).append((verdict, finding))
        return found

    def outcome(self, query: QueryResult) -> str:
        """The loudest of what its own rules say and of what the lines for each query say of it."""
        own = self.own.get(query.id)
        found = ["no rules"]
        if query.fault is not None:
            found.append("error")
        if own is not None and (own.outcome != "passed" or own.findings):
            found.append(own.outcome)
        found += [
            verdict.outcome if verdict.outcome in EXPECTED else "failed"
            for verdict, finding in self.guards.get(query.id, ())
            if finding.fails
        ]
        return min(found, key=loudness)

    def kinds(self, query: QueryResult) -> frozenset[str]:
        outcome, gain = self.outcome(query), self.gain(query)
        told = {
            "failed": outcome in BAD and outcome != "error",
            "worse": gain is not None and gain < -EQUAL,
            "better": gain is not None and gain > EQUAL,
            "new": query.new,
            "known": outcome in EXPECTED,
            "zero": query.returned_nothing,
            "error": outcome == "error" or query.fault is not None,
            "all": True,
        }
        return frozenset(kind for kind, holds in told.items() if holds)

    def chips(self, views: Sequence[Query]) -> tuple[Chip, ...]:
        return tuple(
            Chip(key, label, sum(key in view.kinds for view in views))
            for key, label in KINDS.items()
            if self.compared or key not in COMPARED
        )

    # -- the view ----------------------------------------------------------------------------------

    def views(self) -> tuple[Query, ...]:
        return tuple(map(self.view, self.ordered))

    def anchor(self, id: str) -> str:
        return f"{self.prefix}-q{self.rows[id] + 1}" if id in self.rows else ""

    def view(self, query: QueryResult) -> Query:
        outcome, own = self.outcome(query), self.own.get(query.id)
        issue = own.known_issue if own else None
        state = STATES[outcome]
        forbidden = frozenset(self.forbidden(query, own))
        return Query(
            anchor=self.anchor(query.id),
            text=cut(query.text),
            whole=query.text if len(query.text) > LONGEST else "",
            id=cut(query.id) if query.id != query.text else "",
            tags=query.tags,
            length=length_of(query.text),
            values=tuple(self.value(query, measure) for measure in self.result.shown),
            state=state,
            outcome=f"known issue {issue}" if outcome == "known" and issue else state.word,
            said=self.said(query, own, outcome),
            kinds=self.kinds(query),
            remarks=tuple((name.capitalize(), text) for name, text in query.remarks.items()),
            fault=query.fault or "",
            rules=tuple(self.rules(query, own)),
            ranking=tuple(
                self.document(d, _joined(_came(d, query), in_answers(d, query)), forbidden)
                for d in query.ranking
            ),
            ranked=self.ranked(query),
            ranking_before=tuple(self.document_before(d, query) for d in query.ranking_before),
            ranked_before=self.ranked_before(query),
            missing=(
                tuple(self.absent(document, query) for document in query.missing)
                if query.fault is None
                else ()
            ),
            told=tuple(self.told(query)),
            opened=outcome in BAD and self.rows[query.id] < OPENED,
            place=self.result.place(query),
            texts_elsewhere=elsewhere(self.result) if query.texts_left_out else "",
            stages=how_far(query.stages, self.result.top_k) if query.stages else "",
            latency=figure(query.seconds, "seconds") if query.seconds is not None else "",
            rerun=rerun(self.result, query.check),
        )

    def value(self, query: QueryResult, measure: str) -> Value:
        at, unit = self.result.measures.index(measure), self.unit(measure)
        returned, change = query.values[at], self.change(query, at)
        now = query.compared[at] if query.compared is not None else returned
        before = query.before[at] if query.before is not None else None
        if before is None or now is None or change is None:
            return Value(
                measure, figure(now, unit), figure(before, unit) if query.before is not None else ""
            )
        then, today = apart(before, now, unit)
        if returned is not None and abs(returned - now) > EQUAL:
            today = f"{today} (as returned {figure(returned, unit)})"
        return Value(
            measure,
            today,
            then,
            signed(change, unit) if change else "=",
            side(change, self, measure),
        )

    def said(self, query: QueryResult, own: Verdict | None, outcome: str) -> str:
        """What the row says: why it is not green, or what there is to see."""
        if own is not None and own.outcome == outcome and own.outcome != "passed":
            words = reason(self.result, own)
            return cut(words.removeprefix(f"{quoted(query.text)}: "))  # which begins the row
        guards = [demand(self.result, finding) for _, finding in self.guards.get(query.id, ())]
        if guards or query.fault is not None:
            return cut([*guards, query.fault or ""][0])
        moved = self.moved(query)
        relevant = sum(document.relevant for document in query.ranking)
        came = self.came(query)
        return moved or (
            f"{came}, {relevant} relevant among the shown" if query.ranking and relevant else came
        )

    def moved(self, query: QueryResult) -> str:
        """Which relevant document moved furthest, for a query whose value changed."""
        if not self.kinds(query) & {"worse", "better"}:
            return ""
        lost = [d for d in query.ranking_before if d.relevant and d.rank is None]
        came = [d for d in query.ranking if d.relevant and d.before is None]
        went = [
            d for d in query.ranking if d.relevant and d.before is not None and d.rank != d.before
        ]
        went.sort(key=lambda d: -abs(_rise(d)))
        told = [
            *(f"lost {_named(d)} (was {d.before})" for d in lost),
            *(
                f"{_named(d)} {'rose' if (d.rank or 0) < (d.before or 0) else 'fell'} {d.before} →"
                f" {d.rank}"
                for d in went
            ),
            *(f"found {_named(d)} at {d.rank}" for d in came),
        ]
        return (
            cut(f"{told[0]}{f' and {len(told) - 1} more moved' if len(told) > 1 else ''}")
            if told
            else ""
        )

    def came(self, query: QueryResult) -> str:
        if query.returned:
            return counted(query.returned, "result")
        return "no results, as expected" if query.expects_nothing else "no results"

    def ranked(self, query: QueryResult) -> str:
        if query.fault is not None:
            return ""
        cut_off = len(query.ranking) < query.returned
        return (
            f"the first {len(query.ranking)} of {query.returned} results"
            if cut_off
            else self.came(query)
        )

    def ranked_before(self, query: QueryResult) -> str:
        """What stands over the baseline's ranking; "" where there is no such column."""
        if query.before is None or not self.compared:
            return ""
        if query.ranking_before:
            return counted(len(query.ranking_before), "result")
        return (
            "the same ranking" if query.ranking and query.ranking[0].before == 1 else "no results"
        )

    def rules(self, query: QueryResult, own: Verdict | None) -> Iterable[Rule]:
        for verdict, finding in [
            *((own, f) for f in (own.findings if own else ())),
            *self.guards.get(query.id, ()),
        ]:
            state = STATES["passed" if finding.ok else "failed" if finding.fails else "warned"]
            if (
                verdict is not None
                and verdict.outcome in EXPECTED
                and not finding.ok
                and finding.fails
            ):
                state = STATES[verdict.outcome]
            label = f"{verdict.label}: " if verdict is not None and verdict is not own else ""
            yield Rule(state, cut(f"{label}{demand(self.result, finding)}"))

    def forbidden(self, query: QueryResult, own: Verdict | None) -> Iterable[str]:
        for finding in [
            *(own.findings if own else ()),
            *(f for _, f in self.guards.get(query.id, ())),
        ]:
            if finding.kind == "must_not_find" and not finding.ok:
                yield from (document.id for document in finding.ranked)

    # -- documents ---------------------------------------------------------------------------------

    @cached_property
    def top_grade(self) -> float:
        documents = (d for query in self.result.queries for d in (*query.ranking, *query.missing))
        return max((document.grade or 0.0 for document in documents), default=0.0)

    def document(
        self, document: ShownDocument, move: str, forbidden: frozenset[str] = frozenset()
    ) -> Document:
        grade = document.grade
        if document.id in forbidden:
            css, said = "wrong forbidden", "⊘ forbidden"
        elif grade is None:
            css, said = "unjudged", "unjudged"
        elif document.relevant:
            part = grade / self.top_grade if self.top_grade > 0 else 1.0
            css, said = f"grade{3 if part > 0.9 else 2 if part > 0.5 else 1}", f"{grade:g} ✓"
        else:
            css, said = "wrong", f"{grade:g} ✗"
        return Document(
            rank=str(document.rank or ""),
            id=cut(document.id),
            title=(
                cut(document.title, LONG_TITLE)
                if document.title and document.title != document.id
                else ""
            ),
            css=css,
            grade=said,
            move=move,
            score=f"{document.score:.4g}" if document.score is not None else "",
            chunk=document.chunk,
        )

    def document_before(self, document: ShownDocument, query: QueryResult) -> Document:
        """A document of the baseline's ranking: its rank then, and where it is now."""
        then, now = document.before, document.rank
        move = _joined("=" if now == then else f"→ {rank(document)}", in_answers(document, query))
        shown_then = replace(self.document(document, move), rank=str(then or ""), score="")
        lost = now is None and document.relevant
        return replace(shown_then, css=f"{shown_then.css} lost") if lost else shown_then

    def absent(self, document: ShownDocument, query: QueryResult) -> Document:
        """A document that the shown ranking lacks: what it would have been worth, and where it is
        instead.
        """
        beyond = document.rank is not None
        was = f", was {document.before}" if document.before is not None else ""
        return replace(
            self.document(
                document, _joined(f"{place(document)}{was}", in_answers(document, query))
            ),
            why=because(document),
            css="deep" if beyond else "lost",
            rank="↓" if beyond else "✗",
        )

    def told(self, query: QueryResult) -> Iterable[tuple[str, str]]:
        """What the retriever itself says of documents, once each."""
        said = {
            document.id: document.explanation
            for document in (*query.missing, *query.ranking_before, *query.ranking)
            if document.explanation
        }
        return said.items()


def side(change: float, views: QueryViews, measure: str) -> str:
    """The colour of a change: good, bad, or none where it is nothing or no side is better."""
    better = views.better_side(measure)
    if abs(change) <= EQUAL or better is None:
        return ""
    return "good" if (change > 0) == better else "bad"


def _came(document: ShownDocument, query: QueryResult) -> str:
    """Where a document of today's ranking was in the baseline."""
    if query.before is None:
        return ""
    if document.before is None:
        return "new here"
    if document.rank is None or document.rank == document.before:
        return "="
    return f"{'▲' if document.rank < document.before else '▼'} was {document.before}"


def _joined(move: str, often: str) -> str:
    return ", ".join(filter(None, (move, often)))


def _rise(document: ShownDocument) -> int:
    return (document.before or 0) - (document.rank or 0)


def _named(document: ShownDocument) -> str:
    return cut(document.title, 60) if document.title else document.id
