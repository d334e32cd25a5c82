"""The checks that nobody needs to write: they hold wherever there is a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count
from operator import attrgetter

from pytest_irquality.metrics import Measure, parse_measure
from pytest_irquality.suite.demands import (
    DEFAULT_GUARD,
    GUARDS,
    Guard,
    MaxDrop,
    Min,
    NewZeroResults,
    NothingInCommon,
    WarnBelow,
)
from pytest_irquality.suite.item_names import slug
from pytest_irquality.suite.model import Check, Limits, Place, Suite

ALIKE = 0.5  # the mean of rbo with the baseline, where nobody said what is right
MOST, LEAST = 1.0, 0.15  # the drop that a suite may show by itself is between these
WORTH = 3  # queries: so many may lose everything


def guarded(suite: Suite) -> Suite:
    """The suite with what nobody needs to write, for where there is a baseline."""
    usual = _stays_alike(suite) if suite.says_nothing else _does_not_drop(suite)
    checks = [
        check._replace(name=_free(suite, check.name)) for check in usual if not _said(suite, check)
    ]
    return replace(suite, guards=frozenset(GUARDS), checks=(*suite.checks, *checks))


def _said(suite: Suite, check: Check) -> bool:
    """Tell whether the suite itself says what a default check does."""
    if isinstance(check.demand, Guard):
        return check.demand.key in suite.guards
    if check.limits and check.limits.measure.definition.compares:
        return any(measure.definition.compares for measure in suite.limited)
    return any(map(_limits_a_drop, suite.checks))


def _limits_a_drop(check: Check) -> bool:
    """Tell whether a check limits the drop of relevance over the whole suite."""
    limits = check.limits
    if limits is None or not (check.over.suite and limits.measure.is_of_relevance):
        return False
    return any(bound.on_change for bound in limits.bounds)


def _does_not_drop(suite: Suite) -> Iterator[Check]:
    """The checks of a suite that says what is right: no query loses it all, nor do all some of it.

    The drop of the mean is judged over all suites of the retriever (``verdict/together.py``), and
    here where it is larger than three queries could explain.
    """
    yield _watch(DEFAULT_GUARD)
    measure = first_mean(suite)
    asked = sum(not query.expects_nothing and suite.defines(query) for query in suite.queries)
    if measure and asked:
        most = default_drop(asked)
        limits = Limits(measure, (MaxDrop(most, text=f"{most:.3g}"),), written=False)
        yield Check(slug(f"{measure}-by-default"), f"{measure} by default", Place(1), limits)


def default_drop(queries: int) -> float:
    """The most that the mean of so many queries may fall in one suite by itself."""
    return min(MOST, max(LEAST, WORTH / queries))


def first_mean(suite: Suite) -> Measure | None:
    """The measure shown first that is a plain mean of relevance; None where none is."""
    return next(means_of_relevance(suite), None)


def means_of_relevance(suite: Suite) -> Iterator[Measure]:
    """The measures shown that are plain means of relevance."""
    return filter(attrgetter("is_mean_of_relevance"), suite.metrics)


def _free(suite: Suite, name: str) -> str:
    """The name, with a number behind it where a check has it already."""
    taken = {check.name for check in suite.checks}
    names = chain([name], (f"{name}-{n}" for n in count(2)))
    return next(name for name in names if name not in taken)


def _stays_alike(suite: Suite) -> Iterator[Check]:
    """The checks of a suite that says nothing else: its rankings stay alike."""
    rbo = parse_measure("rbo", suite.top_k)
    mean = Limits(rbo, (Min(ALIKE, text=str(ALIKE)),), written=False)
    each = Limits(rbo, (WarnBelow(ALIKE, text=str(ALIKE)),))
    name = f"rbo-{suite.top_k}"
    yield Check(name, f"{rbo} by default", Place(1), mean)
    yield Check(f"each_query-{name}", f"each_query: {rbo}", Place(1), each, "each_query")
    yield _watch(NothingInCommon, len(suite.queries) // 10)
    yield _watch(NewZeroResults)


def _watch(guard: type[Guard], most: int = 0) -> Check:
    """The check of a guard that nobody wrote."""
    name, label = f"each_query-{guard.key}", f"each_query: {guard.key}"
    return Check(name, label, Place(1), guard(most, written=False), "each_query")
