"""Limits of a suite as they are meant: measures by name, bounds in the measure's own unit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NoReturn, cast

from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.metrics import Definition, Measure, MeasureError, parse_measure
from pytest_irquality.suite.blocks import (
    DemandLine,
    LimitLine,
    Line,
    Most,
    TagBlock,
    WrittenBound,
)
from pytest_irquality.suite.demands import BOUNDS, GUARDS, SCOPES, Bound, Guard, Max, MaxDrop, Min
from pytest_irquality.suite.keys import WrittenSuite
from pytest_irquality.suite.model import Check, Limits, Place, Query, TrendLimits
from pytest_irquality.suite.rules import RULES, Rule, Written, with_ranks
from pytest_irquality.suite.yaml import as_duration, as_number, short


@dataclass(frozen=True)
class LimitReader:
    """A reader of lines of limits.

    ``by_text``: the suite matches passages. ``fail`` raises the error of a place.
    """

    definitions: Mapping[str, Definition]
    top_k: int
    by_text: bool
    fail: Callable[[Place, str], NoReturn]

    def measure(self, text: str, place: Place) -> Measure:
        """The measure of a name, at ``top_k`` where it names no cutoff."""
        try:
            measure = parse_measure(text, self.top_k, self.definitions)
        except MeasureError as error:
            message = str(error)
        else:
            if not (self.by_text and measure.definition.name == "judged"):
                return measure
            message = (
                f"{measure} does not apply under 'match: text':"
                " whoever lists passages judges no results"
            )
        self.fail(place, message)

    def limits(self, line: LimitLine) -> Limits:
        """The bounds of a line on one measure."""
        measure = self.measure(line.name, line.place)
        bounds = []
        for name, written in line.bounds.items():
            bare = Min if measure.higher_is_better else Max
            kind = BOUNDS[name] if name else bare
            bounds.append(self._bound(measure, kind, written))
        if not bounds:
            self.fail(
                line.place, f"{line.name} has no limit: give min, max, max_drop or warn_below"
            )
        values = {bound.key: bound.value for bound in bounds if not bound.share}
        low, high = values.get(Min.key, -inf), values.get(Max.key, inf)
        if low > high:
            self.fail(line.place, f"{line.name}: min {low:g} is above max {high:g}")
        limits = Limits(
            measure, tuple(bounds), line.known_issue, line.place, issue_line=line.issue_line
        )
        if line.known_issue and not limits.can_fail:
            self.fail(
                line.place, "'known_issue' on a line whose limits only warn: nothing could fail"
            )
        return limits

    def of_one(self, line: LimitLine) -> Limits:
        """The bounds of a line that is held against single queries."""
        limits = self.limits(line)
        if limits.measure.weighted or limits.measure.aggregate not in ("mean", "sum"):
            self.fail(
                limits.place, f"{limits.measure} is over many queries; it cannot be a limit of one"
            )
        self._refuse_test(limits, "over many queries; for one query")
        return limits

    def _refuse_test(self, limits: Limits, why: str) -> None:
        for bound in limits.bounds:
            if bound.tested:
                self.fail(limits.place, f"{bound.key} is a test {why} use {MaxDrop.key}")

    # -- one bound ---------------------------------------------------------------------------------

    def _bound(self, measure: Measure, kind: type[Bound], written: WrittenBound) -> Bound:
        if kind.on_change:
            return self._bound_on_change(measure, kind, written)
        if measure.unit == "seconds":
            return self._bound_on_time(measure, kind, written)
        return self._bound_on_value(measure, kind, written)

    def _bound_on_time(self, measure: Measure, kind: type[Bound], written: WrittenBound) -> Bound:
        seconds = as_duration(written.text)
        if seconds is None:
            self.fail(
                written.place,
                f"a limit of {measure} is a duration with its unit (200ms, 1.5s),"
                f" not {short(written.text)}",
            )
        return kind(seconds, text=written.text)

    def _bound_on_value(self, measure: Measure, kind: type[Bound], written: WrittenBound) -> Bound:
        text, place = written.text, written.place
        may_be_share = measure.aggregate == "sum" or measure.range[1] == 1
        is_share = may_be_share and text.endswith("%")
        number = as_number(text.removesuffix("%") if is_share else text)
        if number is None or (written.quoted and not is_share):
            self.fail(place, f"a limit of {measure} must be a number, not {short(text)}")
        if is_share:
            number /= 100
            if number > 1:
                self.fail(place, f"a share is between 0% and 100%, not {text}")
        self._refuse_idle(measure, kind, number, written)
        # Only of a count is a share another quantity; of a mean within [0, 1] it is a way to write
        # the number.
        return kind(number, share=is_share and measure.aggregate == "sum", text=text)

    def _refuse_idle(
        self, measure: Measure, kind: type[Bound], number: float, written: WrittenBound
    ) -> None:
        """Refuse a limit that is the wrong way round, or that no value or every value keeps."""
        place, (low, high) = written.place, measure.range
        if kind is Max and measure.higher_is_better and high == 1:
            self.fail(place, f"max on {measure}, which is better high; min is meant")
        if kind is Min and number == 0 == low:
            self.fail(place, f"a min of 0 on {measure} holds whatever happens; leave it out")
        if not low <= number <= high:
            hint = f"; did you mean {number / 100:g}?" if high == 1 and 1 < number <= 100 else ""
            self.fail(
                place,
                f"{measure} is always between {low:g} and {high:g}, so {written.text} is no"
                f" limit{hint}",
            )

    def _bound_on_change(self, measure: Measure, kind: type[Bound], written: WrittenBound) -> Bound:
        text, place = written.text, written.place
        if reason := _unfit_for_change(measure, kind):
            self.fail(place, reason)
        relative = text.endswith("%")
        number = None if written.quoted and not relative else as_number(text.removesuffix("%"))
        if number is None or number < 0:
            self.fail(
                place,
                f"{kind.key} of {measure} is a number of 0 or more, or a percentage of the"
                f" baseline, not {short(text)}",
            )
        if number > _largest_change(measure, kind, relative):
            width = measure.range[1] - measure.range[0]
            percent_meant = not relative and width == 1 and number <= 100
            hint = f"; did you mean {text}%?" if percent_meant else ""
            self.fail(
                place, f"{measure} can never change by {text}, so {kind.key} would never fail{hint}"
            )
        return kind(number / 100 if relative else number, text=text, relative=relative)

    # -- checks ------------------------------------------------------------------------------------

    def checks(self, written: WrittenSuite, queries: Sequence[Query]) -> list[Check]:
        """A check for each line of limits, in the file's order."""
        tags = list(dict.fromkeys(tag for query in queries for tag in query.tags))
        if written.each_tag and not tags:
            self.fail(written.places["each_tag"], "'each_tag' in a suite where no query has a tag")
        checks = [self._of_limits("suite", line) for line in written.thresholds]
        for block in written.tags:
            checks += self._of_tag(block, tags)
        checks += [self._of_limits("each_tag", line) for line in written.each_tag]
        checks += self._robustness(written, queries)
        checks += filter(None, map(self._of_each_query, written.each_query))
        checks += map(self._of_trend, written.trend)
        self._refuse_repeated(checks)
        return sorted(checks, key=lambda check: check.place.line)

    def _of_tag(self, block: TagBlock, tags: Collection[str]) -> Iterator[Check]:
        """The checks of one tag, which is one of ``tags``."""
        if block.tag not in tags:
            near = did_you_mean(block.tag, tags)
            self.fail(block.place, f"no query has the tag {short(block.tag)}{near}")
        for line in block.lines:
            yield self._of_limits("tag", line, block.tag)

    def _robustness(self, written: WrittenSuite, queries: Iterable[Query]) -> Iterator[Check]:
        if written.robustness and not any(query.variants for query in queries):
            self.fail(
                written.places["robustness"],
                "no query has variants; write some under 'variants' of a query",
            )
        return map(self._of_variants, written.robustness)

    def _of_variants(self, line: LimitLine) -> Check:
        """The check of a line that is held against what variants lose."""
        limits = self.limits(line)
        self._refuse_test(limits, "against the baseline; for variants")
        measure = limits.measure
        if measure.unit == "seconds" or measure.definition.compares:
            self.fail(line.place, f"{measure} says nothing of how variants are found")
        if measure.stage:
            self.fail(line.place, f"{measure}: candidates of variants are not asked for")
        return _check("robustness", [str(measure)], limits)

    def _of_limits(self, scope: str, line: LimitLine, tag: str | None = None) -> Check:
        limits = self.limits(line)
        return _check(scope, [str(limits.measure)], limits, tag)

    def _of_each_query(self, line: Line) -> Check | None:
        """The check of a line under ``each_query``; None for what is switched off."""
        if isinstance(line, DemandLine):
            demand = self._demand(line)
            return _check("each_query", [line.name], demand) if demand else None
        limits = self.of_one(line)
        if limits.known_issue and any(bound.on_change for bound in limits.bounds):
            self.fail(
                line.place,
                "'known_issue' would hide the drop of any query, new ones too; no guard has one",
            )
        return _check("each_query", [str(limits.measure)], limits)

    def _demand(self, line: DemandLine) -> Rule | Guard | None:
        if line.name in GUARDS:
            most = cast("Most", line.value)
            return None if most == "ignore" else GUARDS[line.name](most, place=line.place)
        if line.value is None:
            return None
        ranks = with_ranks(cast("Written", line.value), self.top_k)
        return RULES[line.name](ranks, line.place)

    def _of_trend(self, line: LimitLine) -> Check:
        limits = self.limits(line)
        if any(bound.relative for bound in limits.bounds):
            self.fail(line.place, "a trend is limited in points, not in percent")
        demand = TrendLimits(limits.measure, limits.bounds, None, limits.place, line.over)
        return _check("trend", [str(limits.measure)], demand)

    def _refuse_repeated(self, checks: Iterable[Check]) -> None:
        """Two spellings of one measure may not both have limits."""
        lines: dict[str, int] = {}
        for check in checks:
            if check.limits and check.label in lines:
                line = lines[check.label]
                self.fail(
                    check.place, f"{check.limits.measure} already has its limits on line {line}"
                )
            lines[check.label] = check.place.line


def _check(
    scope: str, words: Sequence[str], demand: Limits | Rule | Guard, tag: str | None = None
) -> Check:
    """A check with the name of its item, and the label that people read, both made of words."""
    over = SCOPES[scope]
    if over.each or not over.means:
        words = [scope, *words]
    name, label = "-".join(words), ": ".join(words)
    if tag is not None:
        name, label = f"{tag}-{name}", f"tag {tag}: {label}"
    return Check(name, label, demand.place, demand, scope, tag)


def _largest_change(measure: Measure, kind: type[Bound], relative: bool) -> float:
    """The most that a measure can change, in points or in percent."""
    if not relative:
        return measure.range[1] - measure.range[0]
    return 100 if kind.falls else inf  # nothing falls by more than all of it


def _unfit_for_change(measure: Measure, kind: type[Bound]) -> str | None:
    """The reason why a measure cannot have such a limit on its change, if it cannot."""
    name = kind.key
    if measure.unit == "seconds":
        return f"{name} of {measure}: times are of a machine and no baseline holds them; use max"
    if measure.definition.compares:
        return f"{measure} is a comparison with the baseline already; give it a min"
    if measure.higher_is_better and not kind.falls:
        return f"{name} on {measure}, which is better high; max_drop is meant"
    if not measure.higher_is_better and kind.falls:
        return f"{name} on {measure}, which is better low; max_rise is meant"
    return None
