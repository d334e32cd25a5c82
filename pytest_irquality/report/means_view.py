"""The means of a suite, tag by tag, and beside those of its other retrievers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from pytest_irquality.report.limit_view import LimitViews
from pytest_irquality.report.query_view import QueryViews, side
from pytest_irquality.report.views import Bar, Cell, MeansRow, State, percent
from pytest_irquality.verdict.result import Mean, SuiteResult
from pytest_irquality.verdict.side_by_side import Side
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.caveats import whole
from pytest_irquality.wording.numbers import figure, probability, signed
from pytest_irquality.wording.story import Story

Sides = Mapping[tuple[str, str, str], Side]
"""What a retriever scored beside the others of its suite, by path, retriever and measure."""
HEATS = (0.005, 0.02, 0.05, 0.1)
"""The changes from which on a cell is a shade darker; of times and counts, parts of what was."""


@dataclass(frozen=True)
class MeansViews:
    """The means of a result, marked where a limit on them is broken."""

    result: SuiteResult
    queries: QueryViews
    limits: LimitViews

    @cached_property
    def queries_of(self) -> Mapping[str, int]:
        """The number of queries of each tag."""
        return Counter(tag for query in self.result.queries for tag in query.tags)

    def row(self, tag: str | None) -> MeansRow:
        """The means of a tag, or of all queries."""
        asked = len(self.result.queries) if tag is None else self.queries_of[tag]
        cells = [self.cell(tag, measure) for measure in self.result.shown]
        name = "all queries" if tag is None else tag
        return MeansRow(name, "", None, self.defined(tag, asked), tuple(cells))

    def defined(self, tag: str | None, asked: int) -> str:
        """The number of queries that a row's first mean is over, of how many."""
        first = self.result.mean(self.result.shown[0], tag) if self.result.shown else None
        if first is None or first.queries == asked:
            return str(asked)
        return f"{first.queries}/{asked}"

    # -- tags --------------------------------------------------------------------------------------

    def tags(self) -> tuple[tuple[MeansRow, ...], tuple[MeansRow, ...]]:
        """A row each, most damaged first, and apart from them those of unchanged tags.

        A tag is unchanged where something is compared, nothing changed and nothing is broken.
        """
        tags = dict.fromkeys(mean.tag for mean in self.result.means if mean.tag is not None)
        listed, unchanged = [], []
        for tag in sorted(tags, key=self.most_damaged_first):
            if self.queries.compared and self.is_unchanged(tag):
                unchanged.append(self.row(tag))
            else:
                listed.append(self.row(tag))
        if not listed:
            return tuple(unchanged), ()
        return tuple(listed), tuple(unchanged)

    def most_damaged_first(self, tag: str) -> tuple[bool, float, float, str]:
        """Broken limits, then the largest loss, then the lowest value."""
        sign = self.queries.damage.sign
        mean = self.result.mean(self.queries.damage.measure, tag)
        change = mean.change.difference if mean and mean.change else 0.0
        value = inf if mean is None or mean.value is None else mean.value
        return not self.is_broken(tag), sign * change, sign * value, tag

    def is_broken(self, tag: str) -> bool:
        return any((tag, measure) in self.limits.broken for measure in self.result.measures)

    def is_unchanged(self, tag: str) -> bool:
        means = [self.result.mean(measure, tag) for measure in self.result.shown]
        changes = [mean.change.difference for mean in means if mean and mean.change]
        return not self.is_broken(tag) and all(abs(change) <= EQUAL for change in changes)

    # -- one mean ----------------------------------------------------------------------------------

    def cell(self, tag: str | None, measure: str, *, of_several: bool = False) -> Cell:
        """A mean. The first of a row is drawn, too, unless it stands beside other retrievers'."""
        first = self.result.shown[0]
        is_drawn = measure == first and not of_several
        mean, first_mean = self.result.mean(measure, tag), self.result.mean(first, tag)
        if mean is None:
            return Cell(measure, "", figure(None), "", "", "", None, None)
        change, unit = mean.change, mean.unit
        difference = change.difference if change else 0.0
        notes = [f"of {mean.queries}"] if mean.queries != (first_mean or mean).queries else []
        state = self.limits.broken.get((tag or "", measure))
        return Cell(
            measure=measure,
            before=figure(change.before, unit) if change else "",
            value=figure(mean.now, unit),  # that over all queries is noted as ``over``
            change=signed(difference, unit) if not of_several and abs(difference) > EQUAL else "",
            css=side(difference, self.queries, measure),
            over="; ".join(filter(None, [*notes, whole(mean)])),
            state=state,
            bar=self.bar(mean, state) if is_drawn else None,
            heat=_heat(mean) if not of_several else 0,
        )

    def bar(self, mean: Mean, state: State | None) -> Bar | None:
        """A mean drawn on [0, 1]; None where it is beyond."""
        if mean.now is None or not 0 <= mean.now <= 1:
            return None
        css = state.css if state else "quiet"
        limit = self.limits.held_to.get((mean.tag or "", mean.measure))
        limit_tick = percent(limit) if limit is not None and 0 <= limit <= 1 else None
        before_tick = percent(mean.change.before) if mean.change else None
        return Bar(css, percent(mean.now), limit_tick, before_tick)

    # -- beside other retrievers and suites --------------------------------------------------------

    def row_of_several(
        self, measures: Sequence[str], sides: Sides, story: Story, title: str, state: State
    ) -> MeansRow:
        """A row among those of all suites and retrievers."""
        result = self.result
        cells = [
            self.beside_others(measure, sides.get((result.path, result.retriever, measure)))
            for measure in measures
        ]
        return MeansRow(
            title,
            self.queries.prefix,
            state,
            self.defined(None, len(result.queries)),
            tuple(cells),
            str(len(story.damage.failures) or ""),
            story.tally,
            self.latency,
        )

    def beside_others(self, measure: str, side: Side | None) -> Cell:
        """A mean, and how far it is from the best that a retriever of the suite has."""
        if measure not in self.result.shown:
            return Cell(measure, "", "", "", "", "", None, None)
        cell = self.cell(None, measure, of_several=True)
        if side is None or side.best or not (side.better or side.equal or side.worse):
            return cell._replace(best=side is not None and side.best)
        tested = f"; two-sided {probability(side.p)}" if side.p is not None else ""
        note = f"{side.worse} worse, {side.better} better than the best{tested}"
        return cell._replace(note=note)

    @property
    def latency(self) -> str:
        """The median time of a call."""
        times = sorted(q.seconds for q in self.result.queries if q.seconds is not None)
        return figure(times[len(times) // 2], "seconds") if times else ""


def _heat(mean: Mean) -> int:
    """The shade of a change."""
    if mean.change is None:
        return 0
    by = abs(mean.change.difference) / (abs(mean.change.before) or 1 if mean.unit else 1)
    return sum(by >= step for step in HEATS)
