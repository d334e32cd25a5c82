"""What the limits of a suite mean: measures by their names, bounds in the measure's own unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_irquality.metrics import Definition, Measure, MeasureError, parse_measure
from pytest_irquality.suite.model import Bound, BoundKind, Check, Limits, Place, Query, Rule, Scope
from pytest_irquality.suite.written import BOUND_KEYS, GUARDS, Line
from pytest_irquality.suite.yaml import SuiteError, as_duration, as_number, did_you_mean, short


@dataclass(frozen=True)
class LimitReader:
    """Reads lines of limits. ``by_text``: the suite matches passages. ``fail`` makes the error of a place."""

    definitions: Mapping[str, Definition]
    top_k: int
    by_text: bool
    fail: Callable[[Place, str], SuiteError]

    def measure(self, text: str, place: Place) -> Measure:
        """The measure of a name, at ``top_k`` where it names no cutoff."""
        try:
            measure = parse_measure(text, self.top_k, self.definitions)
        except MeasureError as error:
            raise self.fail(place, str(error)) from None
        if self.by_text and measure.definition.name == "judged":
            raise self.fail(
                place,
                f"{measure} does not apply under 'match: text': whoever lists passages judges no results",
            )
        return measure

    def limits(self, line: Line) -> Limits:
        """The bounds of a line on one measure."""
        name, place, known = line.name, line.place, line.known
        measure = self.measure(name, place)
        bounds = []
        for kind, text, where, quoted in line.bounds:
            if not kind and measure.higher_is_better is None:
                raise self.fail(
                    where,
                    f"{measure} is neither better high nor low; write {{min: {text}}} or {{max: {text}}}",
                )
            bare: BoundKind = "min" if measure.higher_is_better else "max"
            bounds.append(
                self._bound(measure, BOUND_KEYS[kind] if kind else bare, text, where, quoted)
            )
        if not bounds:
            raise self.fail(place, f"{name} has no limit: give min, max, max_drop or warn_below")
        values = {
            bound.kind: bound.value for bound in bounds if not bound.share and not bound.on_change
        }
        if values.get("min", 0.0) > values.get("max", float("inf")):
            raise self.fail(place, f"{name}: min {values['min']:g} is above max {values['max']:g}")
        if known and not any(bound.fails for bound in bounds):
            raise self.fail(
                place, "'known_issue' on a line whose limits only warn: nothing could fail"
            )
        return Limits(measure, tuple(bounds), known, place)

    def _bound(
        self, measure: Measure, kind: BoundKind, text: str, place: Place, quoted: bool
    ) -> Bound:
        low, high = measure.range
        if kind in ("max_drop", "max_rise", "max_significant_drop"):
            return self._bound_on_change(measure, kind, text, place, quoted)
        if measure.unit == "seconds":
            seconds = as_duration(text)
            if seconds is None:
                raise self.fail(
                    place,
                    f"a limit of {measure} is a duration with its unit (200ms, 1.5s), not {short(text)}",
                )
            return Bound(kind, seconds, text=text)
        share = text.endswith("%") and (measure.aggregate == "sum" or high == 1)
        number = as_number(text.removesuffix("%")) if share else as_number(text)
        if number is None or (quoted and not share):
            raise self.fail(place, f"a limit of {measure} must be a number, not {short(text)}")
        if share:
            if not 0 <= number <= 100:
                raise self.fail(place, f"a share is between 0% and 100%, not {text}")
            # Only of a count is a share another quantity; of a mean within [0, 1] it is a way to write the number.
            return Bound(kind, number / 100, measure.aggregate == "sum", text)
        if not low <= number <= high:
            hint = f"; did you mean {number / 100:g}?" if high == 1 and 1 < number <= 100 else ""
            raise self.fail(
                place,
                f"{measure} is always between {low:g} and {high:g}, so {text} is no limit{hint}",
            )
        return Bound(kind, number, text=text)

    def _bound_on_change(
        self, measure: Measure, kind: BoundKind, text: str, place: Place, quoted: bool
    ) -> Bound:
        if measure.unit == "seconds":
            raise self.fail(
                place,
                f"{kind} of {measure}: times are of a machine and no baseline holds them; use max",
            )
        if measure.definition.compares:
            raise self.fail(
                place, f"{measure} is a comparison with the baseline already; give it a min"
            )
        if kind == "max_significant_drop" and measure.higher_is_better is None:
            raise self.fail(
                place,
                f"{measure} is neither better high nor low, so {kind} has nothing to test; use max_drop",
            )
        falls = kind != "max_rise"
        if measure.higher_is_better is not None and measure.higher_is_better != falls:
            better, meant = ("low", "max_rise") if falls else ("high", "max_drop")
            raise self.fail(
                place, f"{kind} on {measure}, which is better {better}; {meant} is meant"
            )
        relative = text.endswith("%")
        number = as_number(text.removesuffix("%")) if relative else as_number(text)
        if number is None or number < 0 or (quoted and not relative):
            raise self.fail(
                place,
                f"{kind} of {measure} is a number of 0 or more, or a percentage of the baseline, not {short(text)}",
            )
        width = measure.range[1] - measure.range[0]
        if number > (100 if relative and falls else width if not relative else number):
            hint = (
                f"; did you mean {text}%?" if width == 1 and number <= 100 and not relative else ""
            )
            raise self.fail(
                place, f"{measure} can never change by {text}, so {kind} would never fail{hint}"
            )
        return Bound(kind, number / 100 if relative else number, text=text, relative=relative)

    def of_one(self, line: Line) -> Limits:
        """The bounds of a line that is held against single queries."""
        limits = self.limits(line)
        if limits.measure.weighted or limits.measure.aggregate not in ("mean", "sum"):
            raise self.fail(
                limits.place, f"{limits.measure} is over many queries; it cannot be a limit of one"
            )
        if any(bound.kind == "max_significant_drop" for bound in limits.bounds):
            raise self.fail(
                limits.place,
                "max_significant_drop is a test over many queries; for one query use max_drop",
            )
        return limits

    def checks(self, found: Mapping[str, Any], queries: Iterable[Query]) -> list[Check]:
        """A check for each line of ``thresholds``, ``tags``, ``each_tag`` and ``each_query``."""
        tags = list(dict.fromkeys(tag for query in queries for tag in query.tags))
        checks: list[Check] = []

        def add(scope: Scope, line: Line, tag: str | None = None) -> None:
            prefix = {"suite": "", "tag": f"{tag}-"}.get(scope, f"{scope}-")
            said = {"suite": "", "tag": f"tag {tag}: "}.get(scope, f"{scope}: ")
            check = partial(
                Check, f"{prefix}{line.name}", f"{said}{line.name}", line.place, scope=scope
            )
            if line.documents:
                ranks = {document: rank or self.top_k for document, rank in line.documents}
                checks.append(check(rule=Rule("must_not_find", ranks, line.place)))
            elif line.name in GUARDS:
                if line.guard is not None:
                    checks.append(check(guard=line.guard))
            else:
                limits = self.of_one(line) if scope == "each_query" else self.limits(line)
                if (
                    scope == "each_query"
                    and limits.known_issue
                    and any(bound.on_change for bound in limits.bounds)
                ):
                    raise self.fail(
                        line.place,
                        "'known_issue' would hide the drop of any query, new ones too; no guard has one",
                    )
                label = f"{said}{limits.measure}"
                name = f"{prefix}{limits.measure}"
                checks.append(Check(name, label, line.place, scope=scope, tag=tag, limits=limits))

        for line in found.get("thresholds", ()):
            add("suite", line)
        for tag, place, lines in found.get("tags", ()):
            if tag not in tags:
                raise self.fail(
                    place, f"no query has the tag {short(tag)}{did_you_mean(tag, tags)}"
                )
            for line in lines:
                add("tag", line, tag)
        if "each_tag" in found and not tags:
            raise self.fail(found["each_tag@"], "'each_tag' in a suite where no query has a tag")
        for scope in ("each_tag", "each_query"):
            for line in found.get(scope, ()):
                add(scope, line)
        twice: dict[tuple[str, str | None, str], int] = {}
        for check in checks:
            key = (check.scope, check.tag, check.label)
            if check.limits and key in twice:
                raise self.fail(
                    check.place,
                    f"{check.limits.measure} already has its limits on line {twice[key]}",
                )
            twice[key] = check.place.line
        return sorted(checks, key=lambda check: check.place.line)
