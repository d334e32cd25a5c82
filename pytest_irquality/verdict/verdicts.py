"""The verdicts of all checks of a suite.

Each is against the baseline, and where that is not enough against what the change commits, without
unjudged documents, and with the changes before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pytest_irquality.storage.history import Entry, Past
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.demands import Audited, Examined
from pytest_irquality.suite.model import Check
from pytest_irquality.verdict.accepted import Accepting, judged_with, may_be_accepted
from pytest_irquality.verdict.checks import CheckJudge
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.result import Verdict
from pytest_irquality.verdict.trend import measured_now
from pytest_irquality.verdict.without_unjudged import without_unjudged


@dataclass(frozen=True)
class Verdicts:
    """Judges the checks of a comparison; ``judge`` says what the other fields are."""

    comparison: Comparison
    checks: Sequence[Check]
    updating: bool
    accepting: Accepting | None
    past: Past | None

    @cached_property
    def check_judge(self) -> CheckJudge:
        """Judges checks against the baseline."""
        return CheckJudge(self.comparison, self.updating, self.history)

    @cached_property
    def committed_judge(self) -> CheckJudge | None:
        """Judges checks against the baseline that the change itself commits."""
        if self.accepting is None:
            return None
        before = judged_with(self.comparison, self.accepting.run)
        comparison = replace(
            self.comparison,
            sides=replace(self.comparison.sides, baseline_run=before),
            baseline=self.comparison.baseline or Baseline("HEAD", len(before.answered)),
        )
        return CheckJudge(comparison, self.updating, _history(comparison, self.past))

    @cached_property
    def skipped(self) -> Mapping[str, str]:
        """The checks (names) all of whose queries were skipped: each as it is told."""
        why = [(check, self.check_judge.why_skipped(check)) for check in self.checks]
        return {
            check.name: f"{check.label} ({reason})" if reason else check.label
            for check, reason in why
            if reason is not None
        }

    @cached_property
    def judged(self) -> Sequence[Check]:
        """The checks that have a verdict."""
        return [check for check in self.checks if check.name not in self.skipped]

    @cached_property
    def all(self) -> tuple[Verdict, ...]:
        """The verdict of each check, but for those that were skipped."""
        return tuple(map(self.verdict, self.judged))

    def verdict(self, check: Check) -> Verdict:
        """The verdict of a check.

        Where it failed on drops alone, it is judged once more against the baseline that the change
        commits.
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
        """The labels of the failed checks that would hold without unjudged documents."""
        failed = [
            check
            for check, verdict in zip(self.judged, self.all, strict=True)
            if verdict.outcome == "failed" and check.demand.needs_relevant
        ]
        sides = self.comparison.sides
        run = without_unjudged(sides, sides.before) if failed else None
        if run is None:
            return ()
        comparison = replace(self.comparison, sides=replace(sides, run=run))
        judge = CheckJudge(comparison, self.updating)
        return [check.label for check in failed if judge.verdict(check).outcome != "failed"]

    # -- the history -------------------------------------------------------------------------------

    @cached_property
    def history(self) -> Sequence[Entry]:
        """The entries of past changes and of this one, which is the last."""
        return _history(self.comparison, self.past)


def on_answers(checks: Iterable[Check]) -> Sequence[Check]:
    """Those of some checks that are held against answers.

    Limits under ``audit`` are held against the audit, and the base's exam is another's: both come
    after the verdicts.
    """
    return [check for check in checks if not isinstance(check.demand, (Audited, Examined))]


def _history(comparison: Comparison, past: Past | None) -> Sequence[Entry]:
    """The entries of past changes and of this one; none where no history is kept."""
    return past.with_now(measured_now(comparison, past)) if past else ()
