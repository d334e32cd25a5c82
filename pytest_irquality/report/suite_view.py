"""One suite and retriever, put into the words and widths that the page shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from pytest_irquality.report.views import (
    STATES,
    Bar,
    Cell,
    Document,
    Held,
    Line,
    Name,
    Query,
    Reason,
    Row,
    Rule,
    Section,
    State,
)
from pytest_irquality.verdict.numbers import share, shown, told_apart
from pytest_irquality.verdict.result import (
    BAD,
    Finding,
    Mean,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)

LOUDEST_FIRST = ("failed", "error", "fixed", "not evaluated", "known", "passed", "no rules")
REASONS = 6
OPENED = 3
FOLDED = 200
LONGEST = 300


@dataclass(frozen=True)
class SuiteView:
    """A result under a prefix that keeps its anchors apart from those of other results on the page."""

    result: SuiteResult
    prefix: str
    names: Mapping[str, Name]

    @cached_property
    def position(self) -> Mapping[str, int]:
        return {query.id: n for n, query in enumerate(self.result.queries, 1)}

    @cached_property
    def texts(self) -> Mapping[str, str]:
        return {query.id: query.text for query in self.result.queries}

    @cached_property
    def lines_verdicts(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.result.verdicts if verdict.scope != "query")

    @cached_property
    def own(self) -> Mapping[str, Verdict]:
        """Each query's verdict on the rules written at it."""
        return {v.query: v for v in self.result.verdicts if v.scope == "query" and v.query is not None}

    @cached_property
    def guards(self) -> Mapping[str, list[tuple[Verdict, Finding]]]:
        """What the lines for each query demanded of it, where that is broken."""
        found: dict[str, list[tuple[Verdict, Finding]]] = {}
        for verdict in self.lines_verdicts:
            if verdict.scope == "each_query":
                for finding in verdict.findings:
                    if not finding.ok:
                        found.setdefault(finding.subject, []).append((verdict, finding))
        return found

    @cached_property
    def top_grade(self) -> float:
        documents = (d for query in self.result.queries for d in (*query.ranking, *query.missing))
        return max((document.grade or 0.0 for document in documents), default=0.0)

    @cached_property
    def means(self) -> Mapping[tuple[str | None, str], Mean]:
        return {(mean.tag, mean.measure): mean for mean in self.result.means}

    def unit(self, measure: str) -> str:
        mean = self.means.get((None, measure))
        return mean.unit if mean else ""

    @cached_property
    def shown_at(self) -> tuple[int, ...]:
        return tuple(self.result.measures.index(measure) for measure in self.result.shown)

    def query_anchor(self, id: str) -> str:
        return f"{self.prefix}-q{self.position[id]}" if id in self.position else ""

    def line_anchor(self, verdict: Verdict) -> str:
        return f"{self.prefix}-l{verdict.line}-{self.lines_verdicts.index(verdict) + 1}"

    def rerun(self, verdict: Verdict) -> str:
        retriever = f"[{self.result.retriever}]" if self.result.retriever else ""
        node = f"{self.result.path}::{verdict.check}{retriever}"
        return "pytest --ir-suite '" + node.replace("'", "'\\''") + "'"

    @property
    def facts(self) -> tuple[str, ...]:
        result = self.result
        facts = (
            f"suite {result.path}",
            f"retriever {result.retriever}" if result.retriever else "",
            counted(len(result.queries), "query", "queries"),
            f"{shown(result.seconds, 'seconds')} retrieving",
        )
        return tuple(filter(None, facts))

    @property
    def state(self) -> State:
        if self.result.failed:
            return State("bad", "✗", "fail")
        return State("warn", "⚠", "partial") if self.result.interrupted else State("good", "✓", "pass")

    @property
    def where(self) -> str:
        return " · ".join(filter(None, (self.result.suite, self.result.retriever)))

    def reasons(self, several: bool) -> Iterable[Reason]:
        for verdict in self.result.verdicts:
            if verdict.outcome in BAD:
                opened = f"{self.query_anchor(verdict.query)}-more" if verdict.query in self.position else ""  # type: ignore[arg-type]
                anchor = opened if verdict.scope == "query" else self.line_anchor(verdict)
                text = verdict.reason
                if verdict.outcome == "error" and verdict.query:
                    text = f"{self.texts.get(verdict.query, verdict.query)!r}: {text}"
                state = State("bad", STATES[verdict.outcome].symbol, verdict.outcome)
                yield Reason(state, self.where if several else "", _cut(text), anchor, verdict.scope == "query")

    @property
    def section(self) -> Section:
        result = self.result
        queries = sorted(result.queries, key=self.badness)
        outcomes = [self.outcome(query) for query in queries]
        counts = ((STATES[outcome], str(outcomes.count(outcome))) for outcome in LOUDEST_FIRST)
        judged = result.judged / result.returned if result.returned else None
        return Section(
            anchor=self.prefix,
            title=result.suite,
            retriever=result.retriever,
            path=result.path,
            state=self.state,
            facts=self.facts,
            warnings=result.warnings,
            notes=result.notes,
            measures=tuple(self.names[measure] for measure in result.shown),
            lines=tuple(map(self.line, sorted(self.lines_verdicts, key=lambda v: loudness(v.outcome)))),
            total=self.means_row(None),
            tags=self.tags,
            coverage=f"{share(result.judged, result.returned)} results in the top {result.top_k} are judged.",
            coverage_bar=Bar("quiet", _percent(judged)) if judged is not None else None,
            queries=tuple(self.query(query, n < OPENED) for n, query in enumerate(queries)),
            counts=tuple((state, count) for state, count in counts if count != "0"),
        )

    # -- limits ----------------------------------------------------------------------------------------------------

    def line(self, verdict: Verdict) -> Line:
        held = [(finding, self.held(verdict, finding)) for finding in verdict.findings]
        broken = [view for finding, view in held if not finding.ok]
        kept = [view for finding, view in held if finding.ok]
        what = {"each_tag": ("tag holds", "tags hold"), "each_query": ("query holds", "queries hold")}
        one, many = what.get(verdict.scope, ("", ""))
        alone = len(held) == 1
        if verdict.scope not in what:
            broken, kept = [*broken, *kept], []
        unsaid = max(len(broken) - FOLDED, 0) + max(len(kept) - FOLDED, 0)
        if verdict.outcome == "passed" and not all(finding.ok for finding in verdict.findings):
            state = STATES["warned"]
        else:
            state = self.state_of(verdict)
        return Line(
            anchor=self.line_anchor(verdict),
            label=verdict.label,
            place=f"{self.result.path}:{verdict.line}",
            state=state,
            reason="" if alone and verdict.outcome in ("passed", "failed") and held[0][1].value else verdict.reason,
            rerun=self.rerun(verdict) if verdict.outcome in BAD else "",
            only=held[0][1] if alone else None,
            spread=() if alone else tuple(broken[:FOLDED]),
            kept=() if alone else tuple(kept[:FOLDED]),
            folded=counted(len(kept), one, many),
            unsaid=f"and {unsaid} more, not shown" if unsaid else "",
        )

    def state_of(self, verdict: Verdict) -> State:
        state = STATES[verdict.outcome]
        if verdict.outcome == "known" and verdict.known_issue:
            return State(state.css, state.symbol, f"known issue {verdict.known_issue}")
        return state

    def held(self, verdict: Verdict, finding: Finding) -> Held:
        """A demand as numbers; where it has none, in its own words."""
        state = STATES["passed" if finding.ok else "failed" if finding.fails else "warned"]
        if verdict.outcome == "known" and not finding.ok and finding.fails:
            state = STATES["known"]
        value, limit, bar = "", "", None
        if finding.limit is not None:
            value, limit = _pair(finding)
            limit = f"{SIGNS.get(finding.kind, '')} {limit}".strip()
            bar = _bar(finding, state.css)
        words = "" if finding.limit is not None else finding.text
        anchor = self.query_anchor(finding.subject) if verdict.scope == "each_query" else ""
        subject = self.texts.get(finding.subject, finding.subject) if verdict.scope == "each_query" else finding.subject
        words = words.removeprefix(f"{subject!r}: ")
        return Held(
            subject=_cut(subject or finding.measure),
            anchor=f"{anchor}-more" if anchor else "",
            state=state,
            text=words,
            value=value,
            limit=limit,
            queries=str(finding.queries) if finding.limit is not None else "",
            bar=bar,
        )

    # -- tags --------------------------------------------------------------------------------------------------------

    @property
    def tags(self) -> tuple[Row, ...]:
        first = self.result.shown[0] if self.result.shown else ""

        def lowest(tag: str) -> tuple[float, str]:
            mean = self.means.get((tag, first))
            return (inf if mean is None or mean.value is None else mean.value), tag

        tags = dict.fromkeys(mean.tag for mean in self.result.means if mean.tag is not None)
        return tuple(map(self.means_row, sorted(tags, key=lowest)))

    def means_row(self, tag: str | None) -> Row:
        asked = [query for query in self.result.queries if tag is None or tag in query.tags]
        cells = (self.cell(tag, measure, n == 0) for n, measure in enumerate(self.result.shown))
        return Row("all queries" if tag is None else tag, "", None, self.defined(tag, len(asked)), tuple(cells))

    def defined(self, tag: str | None, asked: int) -> str:
        """How many queries stand behind a row's first mean, of how many."""
        first = self.means.get((tag, self.result.shown[0])) if self.result.shown else None
        return str(asked) if first is None or first.queries == asked else f"{first.queries} of {asked}"

    def cell(self, tag: str | None, measure: str, bar: bool) -> Cell:
        mean = self.means.get((tag, measure))
        value = mean.value if mean else None
        subject = tag or ""
        broken: State | None = None
        for verdict in self.lines_verdicts:
            if verdict.scope != "each_query":
                for finding in verdict.broken:
                    if finding.subject == subject and finding.measure == measure:
                        broken = STATES["known" if verdict.outcome == "known" else "failed"]
        css = broken.css if broken else "quiet"
        scale = bar and value is not None and 0 <= value <= 1
        first = self.means.get((tag, self.result.shown[0]))
        over = f"of {mean.queries}" if mean and first and mean.queries != first.queries else ""
        return Cell(
            measure, shown(value, self.unit(measure)), over, broken, Bar(css, _percent(value)) if scale else None
        )

    def compared(self, measures: Sequence[str]) -> Row:
        cells = tuple(
            self.cell(None, measure, False) if measure in self.result.shown else Cell(measure, "", "", None, None)
            for measure in measures
        )
        return Row(self.where, self.prefix, self.state, self.defined(None, len(self.result.queries)), cells)

    # -- queries -----------------------------------------------------------------------------------------------------

    def outcome(self, query: QueryResult) -> str:
        """The loudest of what its own rules say and of what the lines for each query say of it."""
        own = self.own.get(query.id)
        found = ["no rules"]
        if query.fault is not None:
            found.append("error")
        if own is not None and (own.outcome != "passed" or own.findings):
            found.append(own.outcome)
        found += [
            "known" if verdict.outcome == "known" else "failed"
            for verdict, finding in self.guards.get(query.id, ())
            if finding.fails
        ]
        return min(found, key=loudness)

    def badness(self, query: QueryResult) -> tuple[int, float, int]:
        value = query.values[self.shown_at[0]] if self.shown_at else None
        return loudness(self.outcome(query)), inf if value is None else value, self.position[query.id]

    def query(self, query: QueryResult, early: bool) -> Query:
        outcome = self.outcome(query)
        own = self.own.get(query.id)
        values = (
            (m, shown(query.values[at], self.unit(m))) for m, at in zip(self.result.shown, self.shown_at, strict=True)
        )
        state = STATES[outcome]
        issue = own.known_issue if own else None
        # The fault has a box of its own, in full; what is one line here would only repeat it.
        word = f"known issue {issue}" if outcome == "known" and issue else state.word
        anchor = self.query_anchor(query.id)
        return Query(
            anchor=anchor,
            text=_cut(query.text),
            whole=query.text if len(query.text) > LONGEST else "",
            id=query.id if query.id != query.text else "",
            tags=query.tags,
            values=tuple(values),
            state=state,
            outcome=word,
            summary=self.summary(query, own, outcome),
            opened=early and outcome in BAD,
            why=query.why or "",
            fault=query.fault or "",
            rules=tuple(self.rules(query, own)),
            ranking=tuple(map(self.document, query.ranking)),
            ranked=self.ranked(query),
            missing=tuple(map(self.absent, query.missing)) if query.fault is None else (),
            place=f"{self.result.path}:{query.line}",
            latency=shown(query.seconds, "seconds") if query.seconds is not None else "",
            rerun=self.rerun(own) if own else "",
        )

    def summary(self, query: QueryResult, own: Verdict | None, outcome: str) -> str:
        """What the closed row says: why it is not green, or what there is to see."""
        if own is not None and own.outcome == outcome and own.reason:
            # The row already begins with the query's text.
            return _cut(own.reason.removeprefix(f"{query.text!r}: "))
        guards = [finding.text.removeprefix(f"{query.text!r}: ") for _, finding in self.guards.get(query.id, ())]
        if guards:
            return _cut(guards[0])
        if query.fault is not None:
            return _cut(query.fault)
        relevant = sum(document.relevant for document in query.ranking)
        came = self.came(query)
        return f"{came}, {relevant} relevant among the shown" if query.ranking and relevant else came

    def came(self, query: QueryResult) -> str:
        if query.returned:
            return counted(query.returned, "result")
        return "no results, as expected" if query.expects_nothing else "no results"

    def ranked(self, query: QueryResult) -> str:
        if query.fault is not None:
            return ""
        cut = len(query.ranking) < query.returned
        return f"the first {len(query.ranking)} of {query.returned} results" if cut else self.came(query)

    def rules(self, query: QueryResult, own: Verdict | None) -> Iterable[Rule]:
        for verdict, finding in [*((own, f) for f in (own.findings if own else ())), *self.guards.get(query.id, ())]:
            state = STATES["passed" if finding.ok else "failed" if finding.fails else "warned"]
            if verdict is not None and verdict.outcome == "known" and not finding.ok and finding.fails:
                state = STATES["known"]
            said = finding.text.removeprefix(f"{query.text!r}: ")
            label = f"{verdict.label}: " if verdict is not None and verdict is not own else ""
            yield Rule(state, f"{label}{said}")

    def absent(self, document: ShownDocument) -> Document:
        """A document that the shown ranking lacks: what it would have been worth, and where it is instead."""
        beyond = document.rank is not None
        css, place = ("deep", f"at rank {document.rank}") if beyond else ("lost", "not returned")
        return replace(self.document(document), css=css, rank="↓" if beyond else "✗", place=place)

    def document(self, document: ShownDocument) -> Document:
        grade = document.grade
        if grade is None:
            css, said = "unjudged", "unjudged"
        elif document.relevant:
            part = grade / self.top_grade if self.top_grade > 0 else 1.0
            css, said = f"grade{3 if part > 0.9 else 2 if part > 0.5 else 1}", f"{grade:g} ✓"
        else:
            css, said = "wrong", f"{grade:g} ✗"
        return Document(
            rank=str(document.rank or ""),
            place="",
            id=_cut(document.id),
            title=_cut(document.title) if document.title and document.title != document.id else "",
            css=css,
            grade=said,
            score=f"{document.score:.4g}" if document.score is not None else "",
        )


# -- words and widths -------------------------------------------------------------------------------------------------


SIGNS: Mapping[str, str] = {"min": "≥", "max": "≤", "warn_below": "warn <", "warn_above": "warn >"}


def loudness(outcome: str) -> int:
    """Where an outcome stands in a list that begins with the worst."""
    return LOUDEST_FIRST.index(outcome)


def counted(count: int, one: str, many: str = "") -> str:
    """``1 query``, ``7 000 queries``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _pair(finding: Finding) -> tuple[str, str]:
    """Value and limit as numbers that never read alike where they differ."""
    limit = finding.limit or 0.0
    if finding.value is None:
        return "undefined", shown(limit, finding.unit)
    return told_apart(finding.value, limit, finding.unit)


def _bar(finding: Finding, css: str) -> Bar | None:
    """Drawn on [0, 1]; what goes beyond has a scale with some room above the larger of both."""
    value, limit = finding.value, finding.limit
    if value is None or limit is None or value < 0 or limit < 0:
        return None
    beyond = max(value, limit)
    scale = beyond * 1.25 if beyond > 1 or finding.unit in ("count", "seconds") else 1.0
    return Bar(css, _percent(value / scale), _percent(limit / scale)) if scale else Bar(css, "0", "0")


def _percent(part: float | None) -> str:
    return f"{100 * min(max(part or 0.0, 0.0), 1.0):.4g}"
