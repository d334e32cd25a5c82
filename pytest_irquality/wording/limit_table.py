"""The table of measures and limits: a row for each thing that a limit is on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.limits import margin
from pytest_irquality.verdict.result import BAD, Mean, SuiteResult, Verdict
from pytest_irquality.wording.answers import interval
from pytest_irquality.wording.block import (
    EXPECTED,
    STATES,
    Cell,
    Column,
    Row,
    State,
    Table,
    loudness,
    state_in,
    state_of,
)
from pytest_irquality.wording.caveats import whole
from pytest_irquality.wording.demand_words import bound
from pytest_irquality.wording.numbers import digits_apart, figure, grouped, signed
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import demand
from pytest_irquality.wording.words import cut, rerun, value_and_limit

COLUMNS = (
    Column("measure"),
    Column("of", rank=2),
    Column("before", number=True),
    Column("now", number=True),
    Column("change", number=True),
    Column("limit"),
    Column("", about="outcome"),
    Column("queries", number=True, rank=4),
)
MOST, MOST_QUERIES = 200, 5
"""How many tags of a limit have a row, and how many queries."""


@dataclass(frozen=True)
class Limits:
    """The limits of a result: everything that is no query's own check."""

    result: SuiteResult
    damage: Damage

    @cached_property
    def verdicts(self) -> Sequence[Verdict]:
        """The loudest outcome first, and of each outcome the most damage."""
        verdicts = (verdict for verdict in self.result.verdicts if verdict.query is None)
        return sorted(verdicts, key=lambda v: (loudness(v.outcome), -self.damage.of(v)))

    @cached_property
    def table(self) -> Table:
        """The measures that are shown, and every limit."""
        rows = [row for verdict in self.verdicts for row in self._rows(verdict)]
        limited = {*map(self._measure, self.verdicts)}
        means = (self.result.mean(measure) for measure in self.result.shown)
        rows += (
            Row((mean.measure, "", *_numbers(mean, []), "", "", _over(mean)))
            for mean in means
            if mean and mean.measure not in limited and self._tells(mean)
        )
        held = sum(row.holds for row in rows)
        return Table(COLUMNS, tuple(rows), fold=f"{held} more, which hold")

    def _tells(self, mean: Mean) -> bool:
        """Tell whether a mean is known; what compares is not, as long as there is no baseline."""
        return mean.value is not None or self.result.baseline is not None

    def _measure(self, verdict: Verdict) -> str:
        """The measure whose mean over the suite a limit is on; a default one has no written one."""
        if verdict.by_default and verdict.findings:
            measure = verdict.findings[0].measure
            written = any(one.label == measure for one in self.result.verdicts)
            return "" if written else measure
        return verdict.label if verdict.over.suite else ""

    def _rows(self, verdict: Verdict) -> Iterator[Row]:
        """A row for each tag or query that a limit is on, those that break it first."""
        subjects = self._by_subject(verdict)
        broken = sum(not all(one.ok for one in some) for some in subjects)
        most = min(broken, MOST_QUERIES) or 1 if verdict.over.queries else MOST
        for place, some in enumerate(subjects[:most] or [[]]):
            on = some[0] if some else None
            mean = self.result.mean(on.measure, on.subject) if on and _on_mean(verdict) else None
            yield self._row(verdict, mean, some, place, broken)

    def _by_subject(self, verdict: Verdict) -> Sequence[Sequence[Finding]]:
        """The findings on each tag or query, broken ones first, then those that came nearest."""
        subjects: dict[str, list[Finding]] = {}
        others = [finding for finding in verdict.findings if not finding.breaks]
        nearest = sorted(others, key=margin)
        for one in (*self.damage.broken(verdict), *nearest):
            subjects.setdefault(one.subject, []).append(one)
        return [*subjects.values()]

    def _row(
        self,
        verdict: Verdict,
        mean: Mean | None,
        findings: Sequence[Finding],
        place: int,
        broken: int,
    ) -> Row:
        """A thing that a limit is on. The first row of several counts those that break it."""
        state = self._state(verdict, findings)
        measure = self._measure(verdict)
        holds = state.css == "good" and measure not in self.result.shown
        row = Row(
            (
                (verdict.by_default and measure) or verdict.label,
                self._subject(verdict, findings),
                *_numbers(mean, findings),
                Cell(_bounds(verdict, findings), beside="" if place else _broken(broken)),
                Cell("", state=state),
                _over(mean),
            ),
            tuple(self._notes(verdict, mean, findings)),
            rank=2 * holds + bool(place),
            holds=holds,
            at=self.result.place(verdict),
        )
        if place:
            return row
        again = rerun(self.result, verdict.check) if verdict.outcome in BAD else ""
        return row._replace(again=again)

    def _subject(self, verdict: Verdict, findings: Sequence[Finding]) -> Cell | str:
        """The query or tag of a row, where the limit is on each."""
        subject = findings[0].subject if findings and verdict.over.each else ""
        query = self.result.by_id.get(subject) if verdict.over.queries else None
        return Cell(cut(query.text), query=query.id) if query else cut(subject)

    def _state(self, verdict: Verdict, findings: Sequence[Finding]) -> State:
        """The state of a row: that of what it breaks, or else the limit's own."""
        worst = findings[0] if findings else None
        if worst and not worst.ok and verdict.outcome in ("passed", "failed"):
            return state_of(self.result, verdict, worst)
        outcome = verdict.caveat or verdict.outcome
        if verdict.over.each and findings and all(map(_plainly_holds, findings)):
            outcome = "passed"
        return _with_issue(state_in(self.result, outcome), verdict)

    def _notes(
        self, verdict: Verdict, mean: Mean | None, findings: Sequence[Finding]
    ) -> Iterator[str]:
        """The sentences of what is broken, of changes, and of what has no number."""
        if verdict.outcome in ("error", "not evaluated", "fixed") or verdict.over.exam:
            yield reason(self.result, verdict)
        yield from filter(None, (self._said(finding, mean) for finding in findings))

    def _said(self, finding: Finding, mean: Mean | None) -> str:
        """A demand in words; "" where it holds, and the numbers of its row say all of it."""
        if finding.ok and not (finding.lacks or finding.tied):
            return ""
        said = demand(self.result, finding)
        between = interval(finding.change, mean.unit) if mean and finding.change else ""
        return cut(f"{said}; 90 % interval {between}" if between else said)

    # -- what means are marked with ----------------------------------------------------------------

    @cached_property
    def broken(self) -> Mapping[tuple[str, str], State]:
        """The means that a limit is broken on, by tag ("" for the whole suite) and measure.

        Each has its state, of several the loudest.
        """
        return {
            (one.subject, one.measure): STATES[v.outcome if v.outcome in EXPECTED else "failed"]
            for v in reversed(self.verdicts)
            for one in (v.broken if _on_mean(v) else ())
        }


def _with_issue(state: State, verdict: Verdict) -> State:
    issue = verdict.known_issue if state is STATES["known"] else ""
    return state._replace(word=f"{state.word} {issue}") if issue else state


def _plainly_holds(finding: Finding) -> bool:
    return finding.ok and not (finding.lacks or finding.tied)


def _on_mean(verdict: Verdict) -> bool:
    """Tell whether a limit is on means that reports show, or on their change."""
    return verdict.over.means or verdict.over.changes


def _bounds(verdict: Verdict, findings: Sequence[Finding]) -> str:
    """All that a limit demands of one thing."""
    allowed = [f"{grouped(verdict.allowed)} allowed"] if verdict.allowed else []
    bounds = ", ".join(filter(None, (*dict.fromkeys(map(bound, findings)), *allowed)))
    return f"{bounds} by default" if verdict.by_default else bounds


def _broken(many: int) -> str:
    return f"{grouped(many)} broken" if many > 1 else ""


def _numbers(mean: Mean | None, findings: Sequence[Finding]) -> tuple[str, str, str]:
    """Before, now, and the change.

    They have digits that tell them from limits that are broken.
    """
    on = findings[0] if findings else None
    if mean is None or _is_in_another_unit(on, mean):
        return ("", *_value(on))
    change, unit = mean.change, mean.unit
    digits = _digits([finding for finding in findings if finding.breaks], unit)
    now = figure(mean.now, unit, digits)
    if change is None:
        return "", now, ""
    return figure(change.before, unit, digits), now, signed(change.difference, unit, digits)


def _is_in_another_unit(finding: Finding | None, mean: Mean) -> bool:
    """Tell whether a value is a share of what the mean counts."""
    return finding is not None and finding.unit != mean.unit and not finding.demand.on_change


def _value(finding: Finding | None) -> tuple[str, str]:
    """The value or else the change of what is no mean."""
    if finding is None or finding.value is None or finding.variants:
        return "", ""
    if finding.demand.on_change:
        rise = -finding.value if finding.demand.falls else finding.value
        return "", signed(rise, finding.unit)
    return figure(finding.value, finding.unit) if finding.ok else value_and_limit(finding)[0], ""


def _digits(broken: Sequence[Finding], unit: str) -> int:
    """The number of digits that tells values from the limits that they break."""
    some = [one for one in broken if one.unit == unit and one.value is not None]
    each = (digits_apart(one.value or 0.0, one.limit or 0.0, unit) for one in some)
    return max(each, default=3)


def _over(mean: Mean | None) -> str:
    """The number of queries that a mean is over; where others are compared both numbers stand."""
    if mean is None:
        return ""
    said = f"{mean.queries}"
    if mean.undefined:
        said = f"{said} ({mean.undefined} without a value)"
    if mean.change and mean.change.queries != mean.queries:
        said = f"{said}, {mean.change.queries} compared"
    return "; ".join(filter(None, (said, whole(mean))))
