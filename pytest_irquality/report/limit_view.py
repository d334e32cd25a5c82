"""The limits of a suite as its section shows them: one card each, with a row for each demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_irquality.report.query_view import QueryViews, state_of
from pytest_irquality.report.views import (
    EXPECTED,
    STATES,
    Bar,
    BoundRow,
    LimitView,
    State,
    loudness,
    percent,
    state_in,
)
from pytest_irquality.verdict.findings import Change, Finding
from pytest_irquality.verdict.result import BAD, Mean, SuiteResult, Verdict
from pytest_irquality.wording.caveats import whole
from pytest_irquality.wording.demand_words import of
from pytest_irquality.wording.numbers import apart, counted, figure, probability, signed
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import demand, otherwise, sentence
from pytest_irquality.wording.words import cut, rerun, value_and_limit

MOST_ROWS = 200
MOST_BROKEN_QUERIES = 5
"""How many demands of a limit are listed; of one on every query, the worst that break it."""


@dataclass(frozen=True)
class LimitViews:
    """The limits of a result, and everything else that is no query's own item."""

    result: SuiteResult
    queries: QueryViews

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.result.verdicts if verdict.query is None)

    def views(self) -> tuple[LimitView, ...]:
        """The cards, the loudest outcome first, and of each outcome the most damage."""

        def loudest_first(verdict: Verdict) -> tuple[int, float]:
            return loudness(verdict.outcome), -self.queries.damage.of(verdict)

        return tuple(map(self.view, sorted(self.verdicts, key=loudest_first)))

    def anchor(self, verdict: Verdict) -> str:
        number = self.verdicts.index(verdict) + 1
        return f"{self.queries.prefix}-l{verdict.line}-{number}"

    # -- what means are marked with ----------------------------------------------------------------

    @cached_property
    def broken(self) -> Mapping[tuple[str, str], State]:
        """The means that a limit is broken on, by tag ("" for the whole suite) and measure.

        Each has its state, of several the loudest.
        """
        states = {}
        for verdict in sorted(self.verdicts, key=lambda v: -loudness(v.outcome)):
            if _on_mean(verdict):
                outcome = verdict.outcome if verdict.outcome in EXPECTED else "failed"
                for finding in verdict.broken:
                    states[finding.subject, finding.measure] = STATES[outcome]
        return states

    @cached_property
    def held_to(self) -> Mapping[tuple[str, str], float]:
        """The number a mean is held to, for its tick, by tag and measure."""
        limits = {}
        for verdict in self.verdicts:
            if _on_mean(verdict):
                for finding in verdict.findings:
                    is_fixed = finding.demand.fixed and finding.unit != "share"
                    if is_fixed and finding.limit is not None:
                        limits[finding.subject, finding.measure] = finding.limit
        return limits

    # -- a card ------------------------------------------------------------------------------------

    def view(self, verdict: Verdict) -> LimitView:
        findings = self.worst_first(verdict)
        listed, folded = self.divided(verdict, findings)
        most = MOST_BROKEN_QUERIES if verdict.over.queries else MOST_ROWS
        unlisted = max(len(listed) - most, 0) + max(len(folded) - MOST_ROWS, 0)
        only = self.only_row(verdict, findings)
        row_says_it = (
            only is not None
            and verdict.outcome in ("passed", "failed")
            and verdict.findings[0].value is not None
        )
        return LimitView(
            anchor=self.anchor(verdict),
            label=verdict.label,
            place=self.result.place(verdict),
            state=STATES["warned"] if verdict.warned else self.state(verdict),
            reason="" if row_says_it else reason(self.result, verdict),
            rerun=rerun(self.result, verdict.check) if verdict.outcome in BAD else "",
            only=only,
            rows=self.rows(verdict, listed[:most]) if only is None else (),
            held_rows=self.rows(verdict, folded[:MOST_ROWS]) if only is None else (),
            held_title=_held_title(verdict),
            unlisted=f"and {unlisted} more" if unlisted else "",
            otherwise=otherwise(verdict),
        )

    def worst_first(self, verdict: Verdict) -> Sequence[Finding]:
        if not verdict.over.queries:
            return verdict.findings

        def loss(finding: Finding) -> float:
            query = self.result.by_id.get(finding.subject)
            return self.queries.damage.loss(query) if query else 0.0

        return sorted(verdict.findings, key=loss, reverse=True)

    def divided(
        self, verdict: Verdict, findings: Sequence[Finding]
    ) -> tuple[Sequence[Finding], Sequence[Finding]]:
        """The demands that are listed at once, and those that are folded away since they hold."""
        if not verdict.over.each:
            return findings, ()
        broken = [finding for finding in findings if not finding.ok]
        return broken, [finding for finding in findings if finding.ok]

    def only_row(self, verdict: Verdict, findings: Sequence[Finding]) -> BoundRow | None:
        """The row of a limit that consists of one demand; None where a subject is to be named."""
        if len(findings) != 1:
            return None
        (finding,) = findings
        if verdict.over.each and finding.subject and not finding.ok:
            return None
        return self.row(verdict, finding)

    def rows(self, verdict: Verdict, findings: Iterable[Finding]) -> tuple[BoundRow, ...]:
        return tuple(self.row(verdict, finding) for finding in findings)

    # -- a row -------------------------------------------------------------------------------------

    def row(self, verdict: Verdict, finding: Finding) -> BoundRow:
        """A demand as numbers; where it has none, in its own words."""
        query = finding.subject if verdict.over.queries else ""
        state = self.state_of_row(verdict, finding)
        mean = self.mean(verdict, finding)
        has_change = not finding.demand.on_change or bool(mean and mean.change)
        numbered = finding.limit is not None and has_change and not finding.variants
        before, value, limit, note = self.numbers(mean, finding) if numbered else ("",) * 4
        return BoundRow(
            subject=cut(self.subject(verdict, finding) or finding.measure),
            anchor=self.queries.anchor(query),
            query=self.queries.rows.get(query),
            state=state,
            text="" if numbered else cut(self.words(verdict, finding)),
            before=before,
            value=value,
            limit=limit,
            note=note,
            queries=str(finding.queries) if numbered else "",
            bar=self.bar(finding, state.css),
        )

    def subject(self, verdict: Verdict, finding: Finding) -> str:
        """The subject of a row: a query, a tag, or one bound of a line."""
        if verdict.over.queries:
            return self.queries.texts.get(finding.subject, finding.subject)
        if verdict.over.each_tag:
            return finding.subject
        return of(finding).name or finding.kind

    def state(self, verdict: Verdict) -> State:
        state = state_in(self.result, verdict.caveat or verdict.outcome)
        if verdict.outcome == "known" and verdict.known_issue:
            return State(state.css, state.symbol, f"known issue {verdict.known_issue}")
        return state

    def state_of_row(self, verdict: Verdict, finding: Finding) -> State:
        is_qualified = finding.ok and (finding.lacks or finding.tied)
        return self.state(verdict) if is_qualified else state_of(self.result, verdict, finding)

    def words(self, verdict: Verdict, finding: Finding) -> str:
        """A demand in words. What is broken has a row that names its query; what holds has none."""
        if finding.ok:
            return sentence(self.result, verdict, finding)
        return demand(self.result, finding)

    def mean(self, verdict: Verdict, finding: Finding) -> Mean | None:
        """The mean that a finding is about, unless it is about one query or about variants."""
        if not _on_mean(verdict):
            return None
        return self.result.mean(finding.measure, finding.subject)

    def numbers(self, mean: Mean | None, finding: Finding) -> tuple[str, str, str, str]:
        """Baseline, now, what is demanded, and what statistics say of the change."""
        value, bound = value_and_limit(finding)
        limit = f"{of(finding).sign}\N{NO-BREAK SPACE}{bound}".strip()
        if mean is None or mean.change is None:
            return "", value, limit, ""
        if finding.demand.on_change:
            before, value = apart(mean.change.before, mean.change.now, mean.unit)
            return before, value, limit, change_in_words(mean.change, mean.unit)
        if whole(mean) or finding.unit == "share":
            return "", value, limit, ""
        return figure(mean.change.before, mean.unit), value, limit, ""

    def bar(self, finding: Finding, css: str) -> Bar | None:
        """Drawn on [0, 1]; what goes beyond has a scale with some room above the larger of both."""
        value, limit = finding.value, finding.limit
        if finding.variants or finding.demand.on_change or value is None or limit is None:
            return None
        if min(value, limit) < 0:
            return None
        before = self.before(finding)
        scale = _scale(max(value, limit, before or 0.0), finding.unit)
        if not scale:
            return Bar(css, "0", "0")
        drawn_before = None if before is None else percent(before / scale)
        return Bar(css, percent(value / scale), percent(limit / scale), drawn_before)

    def before(self, finding: Finding) -> float | None:
        """The baseline's value of the mean that a finding is about, if in the same unit."""
        mean = self.result.mean(finding.measure, finding.subject)
        return mean.change.before if mean and mean.change and finding.unit != "share" else None


def _scale(largest: float, unit: str) -> float:
    return largest * 1.25 if largest > 1 or unit in ("count", "seconds") else 1.0


def _on_mean(verdict: Verdict) -> bool:
    """Tell whether a limit is on means that reports show, or on their change."""
    return verdict.over.means or verdict.over.changes


def _held_title(verdict: Verdict) -> str:
    """The title of the subjects that are folded away since they hold."""
    broken = {finding.subject for finding in verdict.findings if not finding.ok}
    if verdict.over.each_tag:
        held = {finding.subject for finding in verdict.findings} - broken
        return counted(len(held), "tag holds", "tags hold")
    return "the rest holds" if broken else "all queries hold"


def change_in_words(change: Change, unit: str) -> str:
    """A change, and what statistics say of it: ``changed by −0.054 (p = 0.021; ...)``."""
    details = []
    if change.low is not None and change.high is not None:
        details.append(f"90 % interval {signed(change.low, unit)} … {signed(change.high, unit)}")
    if change.p is not None:
        details.append(probability(change.p))
    if change.adjusted is not None:
        details.append(f"adjusted {probability(change.adjusted)}")
    details.append(f"{change.worse} worse, {change.better} better, {change.equal} equal")
    return f"changed by {signed(change.difference, unit)} ({'; '.join(details)})"
