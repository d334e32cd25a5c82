"""The judge: a suite, a run and perhaps a baseline in, verdicts out. Opens no file and asks nobody
anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.history import Entry
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.demands import Audited, Guard
from pytest_irquality.suite.model import Check, Suite
from pytest_irquality.verdict.accepted import (
    Accepting,
    acceptance,
    judged_with,
    may_be_accepted,
)
from pytest_irquality.verdict.checks import CheckJudge
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.condensed import condensed
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.findings import Loss, Trail
from pytest_irquality.verdict.losses import Losses
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.noticed import noticed
from pytest_irquality.verdict.opinions import with_other_judges
from pytest_irquality.verdict.passages import by_passages
from pytest_irquality.verdict.query_result import query_result
from pytest_irquality.verdict.result import Mean, SuiteResult, Verdict
from pytest_irquality.verdict.texts import with_texts
from pytest_irquality.verdict.trend import Past, lowest_since, measured_now, trails
from pytest_irquality.verdict.wavering import unchanged_code


@no_cycles()
def judge(
    suite: Suite,
    run: Run,
    checks: Iterable[Check] | None = None,
    *,
    before: Run | None = None,
    baseline: Baseline | None = None,
    updating: bool = False,
    accepting: Accepting | None = None,
    past: Past | None = None,
    nowhere: Mapping[str, Loss] | None = None,
) -> SuiteResult:
    """Hold a run against every check of its suite, or against the given ones.

    A query that ``run`` neither answers nor has a fault for was not asked: it is in no figure, and
    a check that needs it is ``not evaluated``. Nothing is rounded before it is compared; a value
    within 1e-9 of a limit satisfies it.

    ``before`` is the baseline's run, with those of today's queries that it holds under the same
    text and params, and ``baseline`` what is known of it; with one, the default guard is among the
    suite's checks. While ``updating`` it, drops are shown and do not fail. ``accepting`` is the
    baseline that the change itself commits: what fails against ``before`` alone, and holds where
    the queries that return what was committed are compared with that, is accepted. ``past`` is the
    history, which limits on many changes together are held against. ``nowhere`` are the passages
    that stand in no chunk of the corpus.
    """
    run, before = by_passages(suite, run), before and by_passages(suite, before, today=run)
    if accepting:
        committed = by_passages(suite, accepting.run, today=run)
        accepting = replace(accepting, run=committed)
    if before is not None and checks is None:
        suite = suite.guarded()
    chosen = suite.checks if checks is None else tuple(checks)
    # Limits under ``audit`` are held against the audit, which is made after the verdicts.
    chosen = tuple(check for check in chosen if not isinstance(check.demand, Audited))
    if before is not None and baseline is None:
        baseline = Baseline(
            before.retriever or "baseline", len(before.answered), version=before.version
        )

    def judging(suite: Suite, checks: Sequence[Check]) -> _Judging:
        sides = Comparison(Measured(suite, run, before), tuple(checks), baseline)
        return _Judging(sides, baseline, updating, accepting, past, nowhere or {})

    judged = judging(suite, chosen)
    result = with_texts(judged.result(), judged.now)
    return with_other_judges(suite, result, lambda suite, checks: judging(suite, checks).verdicts)


@dataclass(frozen=True)
class _Judging:
    """All that one result is made of; ``judge`` says what the fields are."""

    sides: Comparison
    baseline: Baseline | None
    updating: bool
    accepting: Accepting | None
    past: Past | None
    nowhere: Mapping[str, Loss]

    @property
    def now(self) -> Measured:
        return self.sides.measured

    @property
    def suite(self) -> Suite:
        return self.now.suite

    # -- verdicts ----------------------------------------------------------------------------------

    @cached_property
    def check_judge(self) -> CheckJudge:
        return CheckJudge(self.sides, self.baseline, self.updating, self.history)

    @cached_property
    def committed_judge(self) -> CheckJudge | None:
        """Judges the same checks against the baseline that the change itself commits."""
        if self.accepting is None:
            return None
        before = judged_with(self.now, self.accepting.run)
        now = Measured(self.suite, self.now.run, before)
        sides = Comparison(now, self.sides.checks, self.baseline)
        baseline = self.baseline or Baseline("HEAD", len(before.answered))
        return CheckJudge(sides, baseline, self.updating, _history(sides, self.past))

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(self.verdict(check) for check in self.sides.checks)

    def verdict(self, check: Check) -> Verdict:
        """The verdict of a check. Where it failed on drops alone, it is judged once more against
        the baseline that the change commits.
        """
        verdict = self.check_judge.verdict(check)
        if verdict.outcome != "failed" or self.accepting is None:
            return verdict
        comparing = self.check_judge.comparing
        on_drops = all(may_be_accepted(finding, comparing) for finding in verdict.broken)
        if not on_drops or self.committed_judge is None:
            return verdict
        if self.committed_judge.verdict(check).outcome == "failed":
            return verdict
        if self.accepting.refused:
            return replace(verdict, accepted=True)
        return replace(verdict, outcome="accepted", accepted=True)

    @cached_property
    def pardoned(self) -> Sequence[str]:
        """The labels of the checks that failed and would hold if unjudged documents were left
        out.
        """
        failed = {v.check: v for v in self.verdicts if v.outcome == "failed"}
        checks = [
            check
            for check in self.sides.checks
            if check.name in failed and check.demand.needs_relevant
        ]
        queries = {id for check in checks for id in self._rests_on(check, failed[check.name])}
        without_unjudged = condensed(self.now, queries)
        if without_unjudged is None:
            return ()
        sides = replace(self.sides, measured=without_unjudged)
        judge = CheckJudge(sides, self.baseline, self.updating)
        return [check.label for check in checks if judge.verdict(check).outcome != "failed"]

    def _rests_on(self, check: Check, failed: Verdict) -> Iterable[str]:
        """The queries that a failed check could hold by, were their rankings others."""
        if isinstance(check.demand, Guard) and not self.now.several:
            return [finding.subject for finding in failed.broken if finding.subject]
        return [query.id for query in self.suite.needed(check)]

    # -- the history -------------------------------------------------------------------------------

    @cached_property
    def history(self) -> Sequence[Entry]:
        """The entries of past changes and of this one, which is the last."""
        return _history(self.sides, self.past)

    @cached_property
    def trails(self) -> Sequence[Trail]:
        """The measures with limits over the last changes, each with its first floor or ceiling."""
        limited: dict[str, float | None] = {}
        for check in self.suite.checks:
            if check.limits and (check.over.suite or check.over.changes):
                measure = str(check.limits.measure)
                limited.setdefault(measure, None)
                fixed = [b.value for b in check.limits.bounds if b.fixed]
                if fixed:
                    limited[measure] = fixed[0]
        return trails(self.history, limited)

    def lowest(self) -> Iterator[Fact]:
        """The measures that have not been as bad for several changes."""
        better = {str(measure): measure.higher_is_better for measure in self.suite.measures}
        for trail in self.trails:
            if fact := lowest_since(trail, better[trail.measure]):
                yield fact

    # -- the result --------------------------------------------------------------------------------

    def result(self) -> SuiteResult:
        suite, now = self.suite, self.now
        _ = now.scores  # first, since it looks at every id: see hits
        judged, returned = now.judged_share(now.rankings)
        losses = Losses(now, self.nowhere)
        verdicts = tuple(map(losses.named, self.verdicts))
        items = {check.query.id: check.name for check in suite.checks if check.query}
        variants = self.check_judge.variants.values()
        return SuiteResult(
            suite=suite.name,
            path=suite.path,
            retriever=now.run.retriever,
            top_k=suite.top_k,
            remarks=suite.remarks,
            measures=tuple(map(str, suite.measures)),
            formulas=tuple(measure.definition.formula for measure in suite.measures),
            shown=tuple(map(str, suite.metrics)),
            means=tuple(self.means()),
            queries=tuple(
                query_result(now, query, items.get(query.id), losses) for query in now.asked
            ),
            verdicts=verdicts,
            facts=tuple(self.facts()),
            causes=tuple(now.causes),
            gated=suite.gated,
            judged=judged,
            returned=returned,
            interrupted=now.run.interrupted,
            seconds=_seconds(now.run),
            baseline=self.compared_with(),
            version=now.run.version,
            entry=self.history[-1] if self.history else None,
            trails=tuple(self.trails),
            robustness=tuple(of_kind.robustness() for of_kind in variants),
            noise=unchanged_code(now),
        )

    def facts(self) -> Iterator[Fact]:
        """What a reader must know beside the verdicts: the most general first."""
        if self.accepting and any(verdict.accepted for verdict in self.verdicts):
            source = self.baseline.source if self.baseline else ""
            yield acceptance(self.now, self.accepting, source)
        yield from self.lowest()
        yield from noticed(self.sides, self.baseline, self.verdicts, self.pardoned, self.nowhere)

    def compared_with(self) -> Baseline | None:
        if self.baseline is None:
            return None
        judged, returned = self.now.judged_share(self.now.before)
        return replace(self.baseline, judged=judged, returned=returned)

    def means(self) -> Iterator[Mean]:
        """Every measure over the whole suite, then over each tag of which a query was answered."""
        for tag, queries in [(None, self.suite.queries), *self.suite.tags.items()]:
            if tag is not None and not any(query.id in self.now.rankings for query in queries):
                continue
            for measure in self.suite.measures:
                total = self.now.aggregate(measure, queries)
                yield Mean(
                    measure=str(measure),
                    tag=tag,
                    value=total.value,
                    queries=total.n,
                    undefined=total.undefined,
                    unit=measure.unit,
                    higher_is_better=measure.higher_is_better,
                    change=self.sides.over(measure, tag),
                )


def _history(sides: Comparison, past: Past | None) -> Sequence[Entry]:
    """The entries of past changes and of this one; none where no history is kept."""
    return past.with_now(measured_now(sides, past)) if past else ()


def _seconds(run: Run) -> float:
    """How long all calls of a run took together."""
    rankings = chain.from_iterable(answer.rankings.values() for answer in run.answers)
    return sum(ranking.seconds or 0.0 for ranking in rankings)
