"""One suite and retriever, put into the words and widths that the page shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from math import inf

from pytest_irquality.edges.dataclass import dataclass
from pytest_irquality.report.answers_view import kinds, loss_rows, noise_view
from pytest_irquality.report.change_view import changes
from pytest_irquality.report.charts import charts
from pytest_irquality.report.query_table import table
from pytest_irquality.report.query_view import QueryViews, side
from pytest_irquality.report.views import (
    EXPECTED,
    STATES,
    Bar,
    Cell,
    Changes,
    Held,
    Line,
    Name,
    Reason,
    Row,
    Section,
    State,
    loudness,
)
from pytest_irquality.verdict.findings import Change, Finding
from pytest_irquality.verdict.result import BAD, Mean, SuiteResult, Verdict
from pytest_irquality.verdict.side_by_side import Side
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.caveats import whole
from pytest_irquality.wording.numbers import apart, counted, few, figure, probability, share, signed
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import demand, otherwise, sentence, warnings
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import (
    BOUNDS,
    ON_CHANGE,
    SIGNS,
    age,
    cut,
    rerun,
    revision,
    value_and_limit,
)

Sides = Mapping[tuple[str, str, str], Side]
"""What a retriever scored beside the others of its suite, by path, retriever and measure."""

FOLDED, WORST = 200, 5
"""How many demands of a limit are listed; of one on every query, the worst that break it."""
MOVERS = 6
"""Documents that moved in several queries, as links."""
LISTED = 20
"""Queries that the page shows where scripts do not run, and prints."""
SPREAD = ("each_tag", "each_query")
APART = ("each_query", "robustness")
"""Limits that are on no mean of the queries."""


@dataclass(frozen=True)
class SuiteView:
    """A result under a prefix that keeps its anchors apart from those of other results on the
    page.
    """

    result: SuiteResult
    prefix: str
    names: Mapping[str, Name]
    now: datetime

    @cached_property
    def queries(self) -> QueryViews:
        return QueryViews(self.result, self.prefix)

    @cached_property
    def story(self) -> Story:
        return Story(self.result)

    @cached_property
    def changes(self) -> Changes | None:
        return changes(self.queries)

    @cached_property
    def lines_verdicts(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.result.verdicts if verdict.scope != "query")

    @cached_property
    def broken(self) -> Mapping[tuple[str, str], State]:
        """Which means a limit is broken on, by tag ("" for the whole suite) and measure."""
        return {
            (finding.subject, finding.measure): STATES[
                verdict.outcome if verdict.outcome in EXPECTED else "failed"
            ]
            for verdict in sorted(
                self.lines_verdicts, key=lambda verdict: -loudness(verdict.outcome)
            )
            if verdict.scope not in APART
            for finding in verdict.broken
        }

    @cached_property
    def limits(self) -> Mapping[tuple[str, str], float]:
        """The number a mean is held to, for its tick, by tag and measure."""
        return {
            (finding.subject, finding.measure): finding.limit
            for verdict in self.lines_verdicts
            if verdict.scope not in APART
            for finding in verdict.findings
            if finding.kind in ("min", "max")
            and finding.limit is not None
            and finding.unit != "share"
        }

    @property
    def means(self) -> Mapping[tuple[str | None, str], Mean]:
        return self.queries.means

    def line_order(self, verdict: Verdict) -> tuple[int, float]:
        return loudness(verdict.outcome), -self.story.damage.of(verdict)

    def line_anchor(self, verdict: Verdict) -> str:
        return f"{self.prefix}-l{verdict.line}-{self.lines_verdicts.index(verdict) + 1}"

    @property
    def facts(self) -> tuple[str, ...]:
        result, before = self.result, self.result.baseline
        facts = [
            f"suite {result.path}",
            *(f"{name} {text}" for name, text in result.remarks.items()),
            (
                f"retriever {result.retriever}{f' {result.version}' if result.version else ''}"
                if result.retriever
                else ""
            ),
            (
                f"retriever version {result.version}"
                if result.version and not result.retriever
                else ""
            ),
            f"commit {revision(result.commit)}" if result.commit else "",
        ]
        if before:
            of = [
                f"commit {revision(before.commit)}" if before.commit else "",
                age(before.time, self.now) if before.time else "",
                (
                    f"retriever version {before.version}"
                    if before.version and before.version != result.version
                    else ""
                ),
                "both sides scored with today's judgments",
            ]
            facts.append(f"compared with {before.source} ({', '.join(filter(None, of))})")
        facts += [
            counted(len(result.queries), "query", "queries"),
            f"{figure(result.seconds, 'seconds')} retrieving",
        ]
        return tuple(filter(None, facts))

    @property
    def state(self) -> State:
        word = {"failed": "fail", "partial": "partial", "passed": "pass"}[self.story.state]
        level = self.story.level
        return State(level, {"bad": "✗", "warn": "⚠", "good": "✓"}[level], word)

    @property
    def where(self) -> str:
        return " · ".join(filter(None, (self.result.suite, self.result.retriever)))

    def reasons(self, several: bool) -> Iterable[Reason]:
        undecided: dict[str, list[str]] = {}
        for verdict in self.result.verdicts:
            if verdict.outcome == "error" and verdict.query is None:
                undecided.setdefault(reason(self.result, verdict), []).append(verdict.label)
        for verdict in self.story.damage.failures:
            if verdict.outcome in BAD:
                text = reason(self.result, verdict)
                if verdict.outcome == "error" and verdict.query is None:
                    labels = undecided.pop(text, [])
                    if not labels:  # told with the first of those that have the same cause
                        continue
                    text = f"{few(labels)}: {text}"
                row = self.queries.rows.get(verdict.query) if verdict.query is not None else None
                anchor = self.line_anchor(verdict) if verdict.scope != "query" else ""
                if row is not None:
                    anchor = self.queries.anchor(verdict.query or "")
                if verdict.outcome == "error" and verdict.query:
                    text = f"{self.queries.texts.get(verdict.query, verdict.query)!r}: {text}"
                state = State("bad", STATES[verdict.outcome].symbol, verdict.outcome)
                where = self.where if several else ""
                yield Reason(state, verdict.label, where, cut(text), anchor, self.prefix, row)

    @cached_property
    def section(self) -> Section:
        result, views = self.result, self.queries.views()
        judged = result.judged / result.returned if result.returned else None
        shown_tags, same_tags = self.tags
        return Section(
            anchor=self.prefix,
            title=result.suite,
            retriever=result.retriever,
            path=result.path,
            texts=result.texts,
            state=self.state,
            facts=self.facts,
            story=self.story,
            rows=self.queries.rows,
            top_k=result.top_k,
            risen=tuple(
                (f"{document.id} ({times})", f'doc:"{document.id}"')
                for document, times in [*self.story.damage.vanished, *self.story.damage.risen][
                    :MOVERS
                ]
            ),
            warnings=warnings(result),
            charts=charts(result.trails),
            notes=(*self.story.notes, *self.story.small_print, *result.written),
            compared=self.queries.compared,
            measures=tuple(self.names[measure] for measure in result.shown),
            lines=tuple(map(self.line, sorted(self.lines_verdicts, key=self.line_order))),
            total=self.means_row(None),
            tags=shown_tags,
            tags_title=(
                "Tags, most damaged first" if self.queries.compared else "Tags, lowest first"
            ),
            tags_same=same_tags,
            tags_folded=f"{counted(len(same_tags), 'tag')} unchanged",
            coverage=(
                f"{share(result.judged, result.returned)} results in the top {result.top_k} are"
                " judged."
                if result.returned
                else ""
            ),
            coverage_top=self.coverage_top,
            coverage_bar=Bar("quiet", _percent(judged)) if judged is not None else None,
            changes=self.changes if self.changes and self.changes.bins else None,
            chips=self.queries.chips(views),
            queries=tuple(self.queries.listed(views[:LISTED])),
            table=table(self.queries, views),
            details=self.queries.details,
            unlisted=(
                counted(len(views) - LISTED, "more query", "more queries")
                if len(views) > LISTED
                else ""
            ),
            left=result.baseline.left if result.baseline else (),
            losses=loss_rows(result),
            kinds=tuple(kinds(result)),
            noise=noise_view(result),
        )

    @property
    def coverage_top(self) -> str:
        """How many of the places that weigh most nobody has judged."""
        top = [document for query in self.result.queries for document in query.ranking[:3]]
        unjudged = sum(document.grade is None for document in top)
        if not unjudged or not self.result.returned:
            return ""
        said = f"{share(unjudged, len(top))} places in the top 3 hold an unjudged document"
        return f"{said}; `pytest --ir-suite --ir-unjudged=PATH` lists what to judge first."

    # -- limits ------------------------------------------------------------------------------------

    def line(self, verdict: Verdict) -> Line:
        held = [(finding, self.held(verdict, finding)) for finding in verdict.findings]
        if verdict.scope == "each_query":
            held.sort(key=lambda pair: -self.loss_of(pair[0]))
        broken = [view for finding, view in held if not finding.ok]
        kept = [view for finding, view in held if finding.ok]
        rest = "the rest holds" if broken else "all queries hold"
        tags = {finding.subject for finding in verdict.findings} - {
            finding.subject for finding in verdict.findings if not finding.ok
        }
        alone = len(held) == 1 and (
            verdict.scope not in SPREAD or not held[0][0].subject or held[0][0].ok
        )
        if verdict.scope not in SPREAD:
            broken, kept = [view for _, view in held], []
        most = WORST if verdict.scope == "each_query" else FOLDED
        unsaid = max(len(broken) - most, 0) + max(len(kept) - FOLDED, 0)
        told = (
            alone
            and verdict.outcome in ("passed", "failed")
            and verdict.findings[0].value is not None
        )
        return Line(
            anchor=self.line_anchor(verdict),
            label=verdict.label,
            place=self.result.place(verdict),
            state=STATES["warned"] if verdict.warned else self.state_of(verdict),
            reason="" if told else reason(self.result, verdict),
            rerun=rerun(self.result, verdict.check) if verdict.outcome in BAD else "",
            only=held[0][1] if alone else None,
            spread=() if alone else tuple(broken[:most]),
            kept=() if alone else tuple(kept[:FOLDED]),
            folded=counted(len(tags), "tag holds", "tags hold")
            if verdict.scope == "each_tag"
            else rest,
            unsaid=f"and {unsaid} more" if unsaid else "",
            otherwise=otherwise(verdict),
        )

    def loss_of(self, finding: Finding) -> float:
        query = self.result.by_id.get(finding.subject)
        return self.story.damage.loss(query) if query else 0.0

    def state_of(self, verdict: Verdict) -> State:
        state = STATES[verdict.caveat or verdict.outcome]
        if verdict.outcome == "known" and verdict.known_issue:
            return State(state.css, state.symbol, f"known issue {verdict.known_issue}")
        return state

    def held(self, verdict: Verdict, finding: Finding) -> Held:
        """A demand as numbers; where it has none, in its own words."""
        state = STATES["passed" if finding.ok else "failed" if finding.fails else "warned"]
        if finding.ok and (finding.lacks or finding.as_returned is not None):
            state = self.state_of(verdict)
        if verdict.outcome in EXPECTED and not finding.ok and finding.fails:
            state = STATES[verdict.outcome]
        one_query = verdict.scope == "each_query"
        row = self.queries.rows.get(finding.subject) if one_query else None
        subject = (
            self.queries.texts.get(finding.subject, finding.subject)
            if one_query
            else finding.subject
        )
        if verdict.scope not in SPREAD:
            subject = BOUNDS.get(finding.kind, finding.kind)
        mean = self.mean(verdict, finding)
        on_mean = finding.kind not in ON_CHANGE or bool(mean and mean.change)
        numbered = finding.limit is not None and on_mean and not finding.variants
        before, value, limit, note = self.numbers(verdict, finding) if numbered else ("",) * 4
        words = "" if numbered else self.said_of(verdict, finding)
        return Held(
            subject=cut(subject or finding.measure),
            anchor=self.queries.anchor(finding.subject) if one_query else "",
            query=row,
            state=state,
            text=cut(words),
            before=before,
            value=value,
            limit=limit,
            note=note,
            queries=str(finding.queries) if numbered else "",
            bar=self.bar(finding, state.css),
        )

    def said_of(self, verdict: Verdict, finding: Finding) -> str:
        """A demand in words; what is broken stands in a row of the query's own, what holds has
        none.
        """
        if finding.ok:
            return sentence(self.result, verdict, finding)
        return demand(self.result, finding)

    def mean(self, verdict: Verdict, finding: Finding) -> Mean | None:
        """The mean that a finding is about, unless it is about one query or about variants."""
        if verdict.scope in APART:
            return None
        return self.means.get((finding.subject or None, finding.measure))

    def numbers(self, verdict: Verdict, finding: Finding) -> tuple[str, str, str, str]:
        """Baseline, now, what is demanded, and what statistics say of the change."""
        value, limit = value_and_limit(finding)
        limit = f"{SIGNS.get(finding.kind, '')}\N{NO-BREAK SPACE}{limit}".strip()
        mean = self.mean(verdict, finding)
        change = mean.change if mean else None
        before = (
            figure(change.before, mean.unit) if mean and change and finding.unit != "share" else ""
        )
        if finding.kind not in ON_CHANGE:
            return "" if mean and whole(mean) else before, value, limit, ""
        if mean and change:
            before, value = apart(change.before, change.now, mean.unit)
            return before, value, limit, change_said(change, mean.unit)
        return "", value, limit, ""

    def bar(self, finding: Finding, css: str) -> Bar | None:
        """Drawn on [0, 1]; what goes beyond has a scale with some room above the larger of both."""
        value, limit = finding.value, finding.limit
        if value is None or limit is None or value < 0 or limit < 0 or finding.kind in ON_CHANGE:
            return None
        if finding.variants:
            return None
        mean = self.means.get((finding.subject or None, finding.measure))
        before = mean.change.before if mean and mean.change and finding.unit != "share" else None
        beyond = max(value, limit, before or 0.0)
        scale = beyond * 1.25 if beyond > 1 or finding.unit in ("count", "seconds") else 1.0
        filled, tick = (_percent(part / scale) if scale else "0" for part in (value, limit))
        return Bar(
            css, filled, tick, _percent(before / scale) if before is not None and scale else None
        )

    # -- tags --------------------------------------------------------------------------------------

    @property
    def tags(self) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
        """A row each, most damaged first: broken limits, then the largest loss, then the lowest
        value.

        Where something is compared, the tags in which nothing changed and nothing is broken come
        apart.
        """
        main = self.queries.main
        first = self.result.measures[main] if main is not None else ""

        def damage(tag: str) -> tuple[bool, float, float, str]:
            mean = self.means.get((tag, first))
            change = mean.change.difference if mean and mean.change else 0.0
            value = inf if mean is None or mean.value is None else mean.value
            return (
                not self.tag_broken(tag),
                self.queries.sign * change,
                value * self.queries.sign,
                tag,
            )

        tags = sorted(
            dict.fromkeys(mean.tag for mean in self.result.means if mean.tag is not None),
            key=damage,
        )
        same = [
            tag
            for tag in tags
            if self.queries.compared and self.unchanged(tag) and not self.tag_broken(tag)
        ]
        same = same if len(same) < len(tags) else []
        return (
            tuple(self.means_row(tag) for tag in tags if tag not in same),
            tuple(map(self.means_row, same)),
        )

    def tag_broken(self, tag: str) -> bool:
        return any((tag, measure) in self.broken for measure in self.result.measures)

    def unchanged(self, tag: str) -> bool:
        found = (self.means.get((tag, measure)) for measure in self.result.shown)
        return all(
            mean is None or mean.change is None or abs(mean.change.difference) <= EQUAL
            for mean in found
        )

    @cached_property
    def tagged(self) -> Mapping[str, int]:
        """How many queries each tag has."""
        return Counter(tag for query in self.result.queries for tag in {*query.slices})

    def means_row(self, tag: str | None) -> Row:
        asked = len(self.result.queries) if tag is None else self.tagged[tag]
        cells = (self.cell(tag, measure, n == 0) for n, measure in enumerate(self.result.shown))
        return Row(
            "all queries" if tag is None else tag,
            "",
            None,
            self.defined(tag, asked),
            tuple(cells),
        )

    def defined(self, tag: str | None, asked: int) -> str:
        """How many queries stand behind a row's first mean, of how many."""
        first = self.means.get((tag, self.result.shown[0])) if self.result.shown else None
        return str(asked) if first is None or first.queries == asked else f"{first.queries}/{asked}"

    def cell(self, tag: str | None, measure: str, bar: bool) -> Cell:
        mean = self.means.get((tag, measure))
        value, change = (mean.value, mean.change) if mean else (None, None)
        value = change.now if change else value  # over all is another, and stands apart
        unit = self.queries.unit(measure)
        broken = self.broken.get((tag or "", measure))
        limit = self.limits.get((tag or "", measure))
        first = self.means.get((tag, self.result.shown[0]))
        over = f"of {mean.queries}" if mean and first and mean.queries != first.queries else ""
        difference = change.difference if change else 0.0
        drawn = None
        if bar and value is not None and 0 <= value <= 1:
            drawn = Bar(
                broken.css if broken else "quiet",
                _percent(value),
                _percent(limit) if limit is not None and 0 <= limit <= 1 else None,
                _percent(change.before) if change else None,
            )
        return Cell(
            measure=measure,
            before=figure(change.before, unit) if change else "",
            value=figure(value, unit),
            change=signed(difference, unit) if bar and abs(difference) > EQUAL else "",
            css=side(difference, self.queries, measure),
            over="; ".join(filter(None, (over, whole(mean) if mean else ""))),
            state=broken,
            bar=drawn,
        )

    def compared(self, measures: Sequence[str], sides: Sides) -> Row:
        """A line among those of all suites and retrievers."""
        cells = (
            self.beside(measure, sides.get((self.result.path, self.result.retriever, measure)))
            for measure in measures
        )
        return Row(
            self.where,
            self.prefix,
            self.state,
            self.defined(None, len(self.result.queries)),
            tuple(cells),
            str(len(self.story.damage.failures) or ""),
            self.story.tally,
            self.latency,
        )

    @property
    def latency(self) -> str:
        """The median time of a call."""
        times = sorted(q.seconds for q in self.result.queries if q.seconds is not None)
        return figure(times[len(times) // 2], "seconds") if times else ""

    def beside(self, measure: str, side: Side | None) -> Cell:
        if measure not in self.result.shown:
            return Cell(measure, "", "", "", "", "", None, None)
        cell = self.cell(None, measure, False)
        if side is None:
            return cell
        held = side.better + side.equal + side.worse
        tested = f"; two-sided {probability(side.p)}" if side.p is not None else ""
        note = (
            f"{side.worse} worse, {side.better} better than the best{tested}"
            if held and not side.best
            else ""
        )
        return replace(cell, best=side.best, note=note)


def change_said(change: Change, unit: str) -> str:
    """What a change is, and what statistics say of it: ``changed by −0.054 (90 % interval −0.170 …
    +0.030; ...)``.
    """
    told = []
    if change.low is not None and change.high is not None:
        told.append(f"90 % interval {signed(change.low, unit)} … {signed(change.high, unit)}")
    if change.p is not None:
        told.append(probability(change.p))
    if change.adjusted is not None:
        told.append(f"adjusted {probability(change.adjusted)}")
    told.append(f"{change.worse} worse, {change.better} better, {change.equal} equal")
    return f"changed by {signed(change.difference, unit)} ({'; '.join(told)})"


def _percent(part: float | None) -> str:
    return f"{100 * min(max(part or 0.0, 0.0), 1.0):.4g}"
