"""The gate of a suite over builds, of which it compares some with others again and again.

Each check is judged as everywhere else; a ranking is scored once, however often it is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from pytest_irquality.retrieval.run import Answer, Run
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.model import Check, Query, Suite
from pytest_irquality.verdict.checks import CheckJudge
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.scoring import Scoring
from pytest_irquality.verdict.sides import Sides
from pytest_irquality.verdict.together import change_over, compared, fails
from pytest_irquality.verdict.verdicts import on_answers

Unit = tuple[Answer, ...]
"""A build of the index: all its answers."""
Units = Sequence[Unit]


@dataclass(frozen=True)
class Gate:
    """Judges builds against builds by the checks of a suite.

    ``run`` has all builds, and what is not in their rankings: stages and variants.
    """

    suite: Suite
    run: Run

    @cached_property
    def scoring(self) -> Scoring:
        """Knows what each ranking scores."""
        return Scoring(self.suite)

    @cached_property
    def queries(self) -> Sequence[Query]:
        """The queries that every build answered."""
        return [query for query in self.suite.queries if query.id in self.run.answered]

    @cached_property
    def checks(self) -> Sequence[Check]:
        """The checks that can fail on these answers."""
        return [
            check
            for check in on_answers(self.suite.checks)
            if check.demand.can_fail and not check.demand.known_issue
        ]

    def red(self, before: Units, now: Units) -> frozenset[str]:
        """The names of the checks that fail where some builds are compared with others."""
        judge = CheckJudge(self.compared(before, now), False)
        return frozenset(check.name for check in self.checks if _fails(check, judge))

    def compared(self, before: Units, now: Units) -> Comparison:
        """Some builds beside others."""
        sides = Sides(self.suite, self._run(now), self._run(before))
        return Comparison(sides, self.scoring, Baseline("", len(self.queries)))

    def _run(self, units: Units) -> Run:
        """Some builds as a side, with their stages and variants."""
        answers = tuple(chain.from_iterable(units))
        builds = {answer.build for answer in answers}
        run = self.run

        def of_builds(other: Run) -> Run:
            some = tuple(one for one in other.answers if one.build in builds)
            return replace(other, answers=some)

        stages = {name: of_builds(stage) for name, stage in run.stages.items()}
        variants = run.variants and of_builds(run.variants)
        return replace(run, answers=answers, stages=stages, variants=variants)


def _fails(check: Check, judge: CheckJudge) -> bool:
    """Tell whether a check fails, be it by what a retriever's suites may lose together."""
    if judge.verdict(check).outcome == "failed":
        return True
    if check.limits is None or not check.over_suites:
        return False
    return fails(change_over([compared(judge.comparison, check.limits)]))
