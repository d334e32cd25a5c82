"""The HTML report: one self-contained page without scripts, drawn from ``SuiteResult`` by way of plain view values.

Everything a person reads is put into words here; the templates only lay it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from types import MappingProxyType

import jinja2

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


def html_report(
    results: Sequence[SuiteResult],
    *,
    definitions: Mapping[str, str] = MappingProxyType({}),
    not_evaluated: Sequence[str] = (),
    generated: str = "",
) -> str:
    """The whole page. ``definitions`` says what measures mean, ``generated`` when and by what the page was made."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pytest_irquality.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = _page(results, definitions, not_evaluated, generated)
    text = environment.get_template("report.html").render(page=page)
    # A title may hold half of a surrogate pair, which no file in UTF-8 can.
    return text.encode("utf-8", "replace").decode("utf-8")


# -- what the templates are given ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """An outcome, never told by its colour alone. ``css`` is one of good, bad, warn, quiet."""

    css: str
    symbol: str
    word: str


STATES: Mapping[str, State] = {
    "passed": State("good", "✓", "passed"),
    "failed": State("bad", "✗", "failed"),
    "error": State("bad", "⊘", "error"),
    "fixed": State("bad", "★", "fixed, still marked as known issue"),
    "not evaluated": State("bad", "◌", "not evaluated"),
    "known": State("warn", "⚠", "known issue"),
    "warned": State("warn", "⚠", "warning"),
    "no rules": State("quiet", "·", "no rules"),
}


@dataclass(frozen=True)
class Name:
    """A measure, with the anchor of its definition ("" where the page has none)."""

    text: str
    anchor: str


@dataclass(frozen=True)
class Bar:
    """Percent of the width: how far it is filled, and where the tick stands."""

    css: str
    filled: str
    tick: str | None = None


@dataclass(frozen=True)
class Reason:
    """A line under the headline, linked to where the rest is told."""

    state: State
    where: str
    text: str
    anchor: str
    query: bool


@dataclass(frozen=True)
class Held:
    """One demand of a line of limits, as a row."""

    subject: str
    anchor: str
    state: State
    text: str
    value: str
    limit: str
    queries: str
    bar: Bar | None


@dataclass(frozen=True)
class Line:
    """A line of limits: one demand tells it whole, of several only the broken are spread out."""

    anchor: str
    label: str
    place: str
    state: State
    reason: str
    rerun: str
    only: Held | None
    spread: tuple[Held, ...]
    kept: tuple[Held, ...]
    folded: str
    unsaid: str


@dataclass(frozen=True)
class Cell:
    """A mean, marked where a limit on it is broken. ``over`` says of how many, where its row does not."""

    measure: str
    value: str
    over: str
    state: State | None
    bar: Bar | None


@dataclass(frozen=True)
class Row:
    """A tag's means, or a retriever's."""

    name: str
    anchor: str
    state: State | None
    queries: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Document:
    """A document. ``css`` is its grade's colour, ``grade`` that in words; ``place`` where a missing one is instead."""

    rank: str
    place: str
    id: str
    title: str
    css: str
    grade: str
    score: str


@dataclass(frozen=True)
class Rule:
    """A demand on this query, kept or not."""

    state: State
    text: str


@dataclass(frozen=True)
class Query:
    """A query's row, and what it opens to."""

    anchor: str
    text: str
    whole: str
    id: str
    tags: tuple[str, ...]
    values: tuple[tuple[str, str], ...]
    state: State
    outcome: str
    summary: str
    opened: bool
    why: str
    fault: str
    rules: tuple[Rule, ...]
    ranking: tuple[Document, ...]
    ranked: str
    missing: tuple[Document, ...]
    place: str
    latency: str
    rerun: str


@dataclass(frozen=True)
class Section:
    """A suite and retriever."""

    anchor: str
    title: str
    retriever: str
    path: str
    state: State
    facts: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    measures: tuple[Name, ...]
    lines: tuple[Line, ...]
    total: Row
    tags: tuple[Row, ...]
    coverage: str
    coverage_bar: Bar | None
    queries: tuple[Query, ...]
    counts: tuple[tuple[State, str], ...]


@dataclass(frozen=True)
class Page:
    """The report."""

    title: str
    state: State
    headline: str
    reasons: tuple[Reason, ...]
    more: str
    facts: tuple[str, ...]
    not_evaluated: tuple[str, ...]
    generated: str
    compared: tuple[Name, ...]
    sections: tuple[Section, ...]
    rows: tuple[Row, ...]
    definitions: tuple[tuple[Name, str], ...]


# -- the page --------------------------------------------------------------------------------------------------------


def _page(
    results: Sequence[SuiteResult], definitions: Mapping[str, str], not_evaluated: Sequence[str], generated: str
) -> Page:
    named = list(dict.fromkeys(measure for result in results for measure in result.shown))
    names = {m: Name(m, f"measure-{n}" if m in definitions else "") for n, m in enumerate(named, 1)}
    several = len(results) > 1
    views = [_Suite(result, f"s{n}", names) for n, result in enumerate(results, 1)]
    state, headline = _headline(results, not_evaluated)
    reasons = [reason for view in views for reason in view.reasons(several)]
    more = len(reasons) - REASONS
    return Page(
        title=f"{state.word}: {', '.join(dict.fromkeys(result.suite for result in results)) or 'search quality'}",
        state=state,
        headline=headline,
        reasons=tuple(_foremost(reasons)),
        more=f"and {more} more, below" if more > 0 else "",
        facts=() if several or not views else views[0].facts,
        not_evaluated=tuple(not_evaluated),
        generated=generated,
        compared=tuple(names.values()),
        sections=tuple(view.section for view in views),
        rows=tuple(view.compared(named) for view in views) if several else (),
        definitions=tuple((names[m], definitions[m]) for m in named if m in definitions),
    )


def _foremost(reasons: Sequence[Reason]) -> Iterable[Reason]:
    """The few that stand under the headline, loudest first: some of every kind, so that no kind crowds out another."""
    kinds: dict[tuple[int, bool], list[Reason]] = {}
    for reason in reasons:
        kinds.setdefault((_loudness(reason.state.word), reason.query), []).append(reason)
    turns = [(turn, kind) for kind in sorted(kinds) for turn in range(len(kinds[kind]))]
    chosen = sorted(turns)[:REASONS]
    return [kinds[kind][turn] for turn, kind in sorted(chosen, key=lambda place: (place[1], place[0]))]


def _headline(results: Sequence[SuiteResult], not_evaluated: Sequence[str]) -> tuple[State, str]:
    """The verdict in words, counted in checks as pytest counts them."""
    verdicts = [verdict for result in results for verdict in result.verdicts]

    def count(outcome: str, one: str, many: str = "", *, query: bool | None = None) -> str:
        found = [v for v in verdicts if v.outcome == outcome and query in (None, v.scope == "query")]
        return _count(len(found), one, many) if found else ""

    unseen = len(not_evaluated) + sum(verdict.outcome == "not evaluated" for verdict in verdicts)
    said = [
        count("failed", "limit", query=False),
        count("failed", "query", "queries", query=True),
        count("error", "query unanswered", "queries unanswered", query=True),
        count("error", "limit undecided", "limits undecided", query=False),
        count("fixed", "known issue fixed", "known issues fixed"),
        f"{_count(unseen, 'check')} not evaluated" if unseen else "",
    ]
    bad = any(said)
    partial = "partial: the run was interrupted" if any(result.interrupted for result in results) else ""
    if not bad:
        limits = sum(verdict.scope != "query" and verdict.outcome == "passed" for verdict in verdicts)
        gated = any(finding.fails for verdict in verdicts for finding in verdict.findings)
        said = [
            _count(sum(len(result.queries) for result in results), "query", "queries"),
            f"{_count(limits, 'limit')} {'holds' if limits == 1 else 'hold'}" if limits and gated else "",
            "" if gated else "nothing gated",
        ]
    words = ", ".join(filter(None, [*said, count("known", "known issue"), partial]))
    if bad:
        return State("bad", "✗", "FAIL"), words
    if partial or not verdicts:
        return State("warn", "⚠", "PARTIAL" if partial else "NOTHING JUDGED"), words
    return State("good", "✓", "PASS"), words


# -- a suite and retriever -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Suite:
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
            _count(len(result.queries), "query", "queries"),
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
            lines=tuple(map(self.line, sorted(self.lines_verdicts, key=lambda v: _loudness(v.outcome)))),
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
            folded=_count(len(kept), one, many),
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
        return Cell(measure, shown(value, _unit(measure)), over, broken, Bar(css, _percent(value)) if scale else None)

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
        return min(found, key=_loudness)

    def badness(self, query: QueryResult) -> tuple[int, float, int]:
        value = query.values[self.shown_at[0]] if self.shown_at else None
        return _loudness(self.outcome(query)), inf if value is None else value, self.position[query.id]

    def query(self, query: QueryResult, early: bool) -> Query:
        outcome = self.outcome(query)
        own = self.own.get(query.id)
        values = (
            (m, shown(query.values[at], _unit(m))) for m, at in zip(self.result.shown, self.shown_at, strict=True)
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
            return _count(query.returned, "result")
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


# -- words and widths ------------------------------------------------------------------------------------------------

SIGNS: Mapping[str, str] = {"min": "≥", "max": "≤", "warn_below": "warn <", "warn_above": "warn >"}


def _loudness(outcome: str) -> int:
    return LOUDEST_FIRST.index(outcome)


def _count(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _unit(measure: str) -> str:
    if measure.startswith("latency"):
        return "seconds"
    return "count" if measure.startswith("zero_results") else ""


def _pair(finding: Finding) -> tuple[str, str]:
    """Value and limit as numbers that never read alike where they differ."""
    limit = finding.limit or 0.0
    unit = _unit(finding.measure)
    if finding.value is None:
        return "undefined", shown(limit, unit)
    if unit == "count" and (finding.value % 1 or limit % 1):
        return f"{100 * finding.value:g} %", f"{100 * limit:g} %"
    return told_apart(finding.value, limit, unit)


def _bar(finding: Finding, css: str) -> Bar | None:
    """Drawn on [0, 1]; what goes beyond has a scale with some room above the larger of both."""
    value, limit = finding.value, finding.limit
    if value is None or limit is None or value < 0 or limit < 0:
        return None
    beyond = max(value, limit)
    scale = beyond * 1.25 if beyond > 1 or _unit(finding.measure) else 1.0
    return Bar(css, _percent(value / scale), _percent(limit / scale)) if scale else Bar(css, "0", "0")


def _percent(part: float | None) -> str:
    return f"{100 * min(max(part or 0.0, 0.0), 1.0):.4g}"
