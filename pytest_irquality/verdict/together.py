"""All suites of one retriever together: the drop that no suite needs to have a limit for.

A retriever's suites are one sample of what it is asked, however they are cut into files. So the
drop of their first measure is judged over all of their queries at once. The rule was simulated: see
``benchmarks/simulation.py`` and ``docs/why/simulation.md``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from json import dumps
from math import fsum
from operator import mul
from statistics import fmean
from typing import NamedTuple

from pytest_irquality.suite.model import Limits, Suite
from pytest_irquality.verdict.accepted import acceptance
from pytest_irquality.verdict.comparison import SIGNIFICANT, Comparison
from pytest_irquality.verdict.exam import is_not_passed, item
from pytest_irquality.verdict.facts import Accepted, Fact, RestsOnUnjudged
from pytest_irquality.verdict.findings import Change, Finding
from pytest_irquality.verdict.result import Compared, Exam, Share, SuiteResult, Verdict
from pytest_irquality.verdict.statistics import (
    EQUAL,
    detectable,
    holm,
    interval,
    sign_flip,
    win_tie_loss,
)
from pytest_irquality.verdict.verdicts import Verdicts, on_answers
from pytest_irquality.verdict.wavering import drop_noise
from pytest_irquality.verdict.without_unjudged import without_unjudged

SMALL = 0.01  # a drop that is more than this, and significant, fails
LARGE, LIKELY = 0.15, 0.2  # and one that is more than this at such a p
FEWEST, FEWEST_FOR_A_TEST = 3, 5  # queries for the second, and for the first


class _Held(NamedTuple):
    """The finding over all suites of one retriever, and whether the change accepts it.

    ``pardoned``: it would hold without documents that nobody judged.
    """

    finding: Finding
    accepted: bool
    pardoned: bool


@dataclass(frozen=True)
class NotTogether(Fact):
    """Only a part was asked, so the drop over all suites of the retriever is not judged."""


# -- the share of one suite ------------------------------------------------------------------------


def share_of(judged: Verdicts) -> Share | None:
    """Give the share of a suite in the verdict over all.

    None where it has a limit on a drop of its own.
    """
    comparison, suite = judged.comparison, judged.comparison.suite
    if comparison.baseline is None or judged.updating:
        return None
    for check in suite.checks:
        if check.limits and check.over_suites:
            accepting, committed = judged.accepting, judged.committed_judge
            source = comparison.baseline.source
            returned = comparison.as_returned(check.limits.measure, suite.queries)
            return Share(
                check.name,
                str(check.limits.measure),
                f"{suite.relevant_from:g} {suite.undefined}",
                compared(comparison, check.limits),
                compared(committed.comparison, check.limits) if committed else None,
                acceptance(comparison, accepting, source) if accepting else None,
                _is_whole(judged),
                judged=_compared_as_judged(comparison, check.limits),
                returned=compared(returned, check.limits) if returned else None,
            )
    return None


def _is_whole(judged: Verdicts) -> bool:
    """Tell whether all of a suite was asked and is judged."""
    suite, sides = judged.comparison.suite, judged.comparison.sides
    names = {check.name for check in judged.checks}
    all_judged = all(check.name in names for check in on_answers(suite.checks))
    return all_judged and len(sides.asked) == len(suite.queries) and not sides.run.interrupted


def compared(comparison: Comparison, limits: Limits) -> Compared:
    """The values of a suite, query by query, and of each unit of its sides."""
    suite, measure = comparison.suite, limits.measure
    if comparison.missing_baseline(measure):
        return Compared()
    pairs = comparison.pairs(measure, suite.queries)
    before, now = comparison.units(measure, pairs)
    rows = ((_retrieval(suite, pair.query), pair.before, pair.now) for pair in pairs)
    return Compared(tuple(rows), tuple(before), tuple(now))


def _compared_as_judged(comparison: Comparison, limits: Limits) -> Compared | None:
    """The values without the unjudged documents that came to the queries that got worse."""
    run = without_unjudged(comparison.sides, comparison.worse)
    if run is None:
        return None
    return compared(replace(comparison, sides=replace(comparison.sides, run=run)), limits)


def _retrieval(suite: Suite, id: str) -> str:
    """Name a retrieval by its text and params: the same in every suite that asks it so."""
    query = suite.by_id[id]
    return dumps([query.text, {**suite.params, **query.params}], sort_keys=True, default=repr)


def of_session(result: SuiteResult, fixture: str, *, whole: bool) -> SuiteResult:
    """A result whose shares are those of a fixture, in a session that judges all or a part."""

    def shared(share: Share | None) -> Share | None:
        return share and replace(share, fixture=fixture, whole=share.whole and whole)

    exams = tuple(replace(exam, share=shared(exam.share)) for exam in result.exams)
    return replace(result, share=shared(result.share), exams=exams)


# -- all of them -----------------------------------------------------------------------------------


def judged_together(results: Sequence[SuiteResult]) -> list[SuiteResult]:
    """The results, with what their suites' retrievers did over all suites.

    Each suite that has no limit on a drop of its own gets the same finding, beside that of its
    default limit. It fails those that got worse, and is a warning of the others.
    """
    found = _found((result.retriever, result.share) for result in results)
    judged = [_with(result, found) for result in results]
    if not any(exam.share for result in results for exam in result.exams):
        return judged
    then = _found(chain.from_iterable(map(_of_then, results)))
    return [_examined(result, then) for result in judged]


def _of_then(result: SuiteResult) -> Iterator[tuple[str, Share | None]]:
    """The shares of a suite as the base has it: today's, where that is no other."""
    shares = [exam.share for exam in result.exams] or [result.share]
    return ((result.retriever, share) for share in shares)


def _found(shares: Iterable[tuple[str, Share | None]]) -> Mapping[tuple[str, ...], _Held]:
    """The finding on each pool of shares that are all whole."""
    pools = defaultdict[tuple[str, ...], list[Share]](list)
    for retriever, share in shares:
        if share:
            pools[_pool(retriever, share)].append(share)
    whole = {key: pool for key, pool in pools.items() if all(share.whole for share in pool)}
    return dict(zip(whole, _held([*whole.values()]), strict=True))


def _pool(retriever: str, share: Share) -> tuple[str, ...]:
    return share.fixture, retriever, share.measure, share.relevance


def _held(pools: Sequence[Sequence[Share]]) -> Sequence[_Held]:
    """The finding on each pool; one that fails is looked at again with what was committed."""
    before, committed, graded, returned = (
        _findings([[getattr(share, of) or share.compared for share in pool] for pool in pools])
        for of in ("compared", "committed", "judged", "returned")
    )
    return [
        _Held(
            _tied(replace(now, measure=pool[0].measure), came), now.ok < again.ok, now.ok < known.ok
        )
        for pool, now, again, known, came in zip(
            pools, before, committed, graded, returned, strict=True
        )
    ]


def _tied(finding: Finding, returned: Finding) -> Finding:
    """A finding that says so where it holds in the order of equal scores alone."""
    if not finding.ok or returned.ok or returned.change is None:
        return finding
    return replace(finding, as_returned=returned.change.now)


def _findings(pools: Sequence[Sequence[Compared]]) -> Sequence[Finding]:
    """A finding on each pool, corrected for their number."""
    changes = list(map(change_over, pools))
    ps = [1.0 if change is None or change.p is None else change.p for change in changes]
    corrected: Sequence[float | None] = holm(ps) if len(ps) > 1 else [None] * len(ps)
    return [
        _finding(len(pool), change and replace(change, adjusted=change.p and p))
        for pool, change, p in zip(pools, changes, corrected, strict=True)
    ]


def _finding(suites: int, change: Change | None) -> Finding:
    finding = Finding("", "together", not fails(change), limit=SMALL, suites=suites, change=change)
    if change is None:
        return finding
    return replace(finding, value=max(0.0, -change.difference), queries=change.queries)


def change_over(suites: Sequence[Compared]) -> Change | None:
    """The change over some suites; what stands in several counts once, averaged."""
    rows = defaultdict[str, list[tuple[float, float]]](list)
    for retrieval, before, now in chain.from_iterable(suite.pairs for suite in suites):
        rows[retrieval].append((before, now))
    if not rows:
        return None
    befores, nows = zip(
        *(map(fmean, zip(*some, strict=True)) for some in rows.values()), strict=True
    )
    gains = [now - before for before, now in zip(befores, nows, strict=True)]
    better, equal, worse = win_tie_loss(gains)
    change = Change(fmean(befores), fmean(nows), len(gains), better, worse, equal)
    if not better and not worse:
        return change
    low, high = interval(gains) or (None, None)
    p, least, noise = sign_flip(gains), detectable(gains), _noise(suites)
    return replace(change, p=p, low=low, high=high, detectable=least, noise=noise)


def _noise(suites: Sequence[Compared]) -> float | None:
    """The drop that unchanged code gives, over the units that all suites have."""
    compared = [suite for suite in suites if suite.pairs]
    sizes = [len(suite.pairs) for suite in compared]
    before = _units(sizes, [suite.units_before for suite in compared])
    now = _units(sizes, [suite.units for suite in compared])
    return drop_noise(before, now) if before and now else None


def _units(sizes: Sequence[int], means: Sequence[Sequence[float]]) -> Sequence[float]:
    """The mean of each unit over all suites, each with its number of queries."""
    return [
        fsum(map(mul, sizes, of_unit)) / sum(sizes)
        for of_unit in zip(*means)  # noqa: B905 - as many as all have
    ]


def fails(change: Change | None) -> bool:
    """Tell whether a drop over all suites is one that nobody would sign."""
    if change is None or change.judged_p is None or change.queries < FEWEST:
        return False
    drop, p = -change.difference, change.judged_p
    if drop <= (change.noise or 0.0):
        return False
    tested = change.queries >= FEWEST_FOR_A_TEST and p < SIGNIFICANT
    return (tested and drop > SMALL + EQUAL) or (drop > LARGE + EQUAL and p < LIKELY)


# -- each result -----------------------------------------------------------------------------------


def _with(result: SuiteResult, found: Mapping[tuple[str, ...], _Held]) -> SuiteResult:
    """A result with what its retriever did over all suites; nothing of a part of them."""
    share = result.share
    if share is None:
        return result
    result = replace(result, share=None)  # nothing is said twice
    held = found.get(_pool(result.retriever, share))
    if held is None:
        return replace(result, facts=(*result.facts, NotTogether()))
    verdicts = tuple(
        _joined(verdict, share, held) if verdict.check == share.check else verdict
        for verdict in result.verdicts
    )
    result = _with_pardoned(result, verdicts, share) if held.pardoned else result
    return replace(result, verdicts=verdicts, facts=_with_accepted(result, verdicts, share.accepts))


def _with_pardoned(result: SuiteResult, verdicts: Sequence[Verdict], share: Share) -> SuiteResult:
    """A result with the fact that the verdict over all suites rests on unjudged documents."""
    of_all = [one for one in verdicts if one.check == share.check and one.outcome == "failed"]
    rest = [RestsOnUnjudged((one.label,)) for one in of_all]
    return replace(result, facts=(*rest, *result.facts))


def _with_accepted(
    result: SuiteResult, verdicts: Sequence[Verdict], accepts: Fact | None
) -> tuple[Fact, ...]:
    """The facts, with what the change accepts where only all suites together show it."""
    known = any(isinstance(fact, Accepted) for fact in result.facts)
    if accepts and not known and any(verdict.accepted for verdict in verdicts):
        return (accepts, *result.facts)
    return result.facts


def _of_suite(finding: Finding, own: Change | None) -> Finding:
    """The finding over all suites as one of them has it, which itself changed so."""
    worse = own is not None and own.worse > 0
    if own and worse and own.difference < 0 and finding.ok and finding.suites > 1:
        finding = replace(finding, own_p=own.p)
    return replace(finding, fails=worse)


def _joined(verdict: Verdict, share: Share, held: _Held) -> Verdict:
    """The verdict of a default limit with the finding over all suites."""
    finding = _of_suite(held.finding, change_over([share.compared]))
    if share.returned in (None, share.compared):
        finding = replace(finding, as_returned=None)
    verdict = replace(verdict, findings=(*verdict.findings, finding))
    if not finding.breaks or verdict.outcome not in ("passed", "accepted"):
        return verdict
    if not held.accepted:
        return replace(verdict, outcome="failed", accepted=False)
    refused = isinstance(share.accepts, Accepted) and share.accepts.refused
    return replace(verdict, outcome="failed" if refused else "accepted", accepted=True)


# -- the base's exam -------------------------------------------------------------------------------


def _examined(result: SuiteResult, found: Mapping[tuple[str, ...], _Held]) -> SuiteResult:
    """A result with what the suites of the base come to together."""
    exams = tuple(_exam(exam, exam.share, result, found) for exam in result.exams)
    whole = item(exams)
    verdicts = (whole if one.check == whole.check else one for one in result.verdicts)
    return replace(result, exams=exams, verdicts=tuple(verdicts))


def _exam(
    exam: Exam, share: Share | None, result: SuiteResult, found: Mapping[tuple[str, ...], _Held]
) -> Exam:
    exam = replace(exam, share=None)
    held = share and found.get(_pool(result.retriever, share))
    if not share or not held:
        return exam
    finding = _of_suite(held.finding, change_over([share.compared]))
    verdict = Verdict(
        share.check, f"{share.measure} by default", 1, "accepted" if held.accepted else "failed",
        findings=(finding,), accepted=held.accepted,
    )  # fmt: skip
    today = result.verdict(share.check)
    known = {one.check for one in exam.verdicts}
    if not finding.breaks or share.check in known:
        return exam
    if not is_not_passed(verdict, today.outcome if today else ""):
        return exam
    return replace(exam, verdicts=(*exam.verdicts, verdict))
