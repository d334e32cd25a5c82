"""Today's answers held to the base's exam, too."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pytest_irquality.metrics import MeasureError
from pytest_irquality.pipeline.asking import Asking
from pytest_irquality.pipeline.exams import BaseExam, Exams
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.retrieval import Answer, RetrieverError, Run, UnreadableResult, retrieve
from pytest_irquality.storage import StoredRunError
from pytest_irquality.storage.commits import AtCommit
from pytest_irquality.storage.found import Found
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Check, Query, Suite, SuiteError
from pytest_irquality.suite.by_default import guarded
from pytest_irquality.verdict import Accepting, Exam, SuiteResult, Then, judge
from pytest_irquality.verdict.exam import NAME, held_to, item
from pytest_irquality.verdict.verdicts import on_answers

CANNOT = (MeasureError, RetrieverError, StoredRunError, SuiteError, UnreadableResult)


def then_of(plan: Plan, before: Found) -> Then | None:
    """Give what the base's suite says of the queries of what is compared with ``before``.

    None where no exam is read, or the base did not have the retriever.
    """
    suite, file, _ = before.target
    return plan.exams.then(suite, file) if plan.exams and not before.added else None


def examined(
    plan: Plan, today: Found, before: Found, asking: Asking, result: SuiteResult,
    *, checks: Sequence[Check],
) -> SuiteResult:  # fmt: skip
    """Give a result with what the base's exam comes to, where that is another than today's.

    ``checks`` are those that are judged of today's.
    """
    exams = plan.exams
    if exams is None:
        return result
    chosen = {check.name for check in checks}
    found = exams.of(today.target.suite, today.target.file)
    sittings = [Sitting(plan, exams, base, today, before, chosen) for base in found]
    held = tuple(sitting.exam(asking, result) for sitting in sittings)
    judged = (item(held),) if held and NAME in chosen else ()
    return replace(result, exams=held, verdicts=(*result.verdicts, *judged))


@dataclass(frozen=True)
class Sitting:
    """Today's answers of a target, ``today``, held to an exam.

    ``before`` is what they were compared with, ``chosen`` the names of the checks that are judged.
    """

    plan: Plan
    exams: Exams
    base: BaseExam
    today: Found
    before: Found
    chosen: Collection[str]

    def exam(self, asking: Asking, result: SuiteResult) -> Exam:
        """Give the exam with what it comes to, or why it comes to nothing."""
        base, exams = self.base, self.exams
        exam = Exam(
            exams.project.shown(base.file), exams.at.given, tuple(base.found), unread=base.unread,
            refused=exams.refused, refuses_weaker=exams.refuses_weaker,
        )  # fmt: skip
        if base.suite is None:
            return exam
        try:
            return self.held(exam, base.suite, asking, result)
        except CANNOT as error:
            return replace(exam, unread=str(error).partition("\n")[0])

    def held(self, exam: Exam, suite: Suite, asking: Asking, result: SuiteResult) -> Exam:
        """Give the exam with what it comes to. Raises what asking and judging do."""
        target = self.today.target
        more, asked = Run(target.retriever), tuple[Query, ...]()
        if self.base.gone and not result.deselected and not self.plan.kept:
            left = self.base.left(target.suite)
            asked = left.queries
            more = retrieve(
                left, asking.retriever, name=target.retriever, concurrency=asking.concurrency,
                pace=self.plan.pace(target),
            )  # fmt: skip
            # What today's suite does not ask, no skip of it excuses.
            faults = {id: replace(fault, skipped=False) for id, fault in more.faults.items()}
            more = replace(more, faults=faults)
            self.exams.more[self.base.file, more.retriever] = more
        elif self.base.gone and self.plan.kept:
            more = self._kept(self.base.left(target.suite))
        found = self._compared_with(suite, asked)
        suite = guarded(suite) if found.run is not None else suite
        assert self.today.run is not None
        run = joined_runs(self.today.run.under(self.base.ids), more)
        return self._judged(exam, suite, run, found, result)

    def _kept(self, left: Suite) -> Run:
        """Give what was kept of other suites for the queries that moved there.

        Raises ``StoredRunError``.
        """
        target = self.today.target
        more = Run(target.retriever)
        for path, other, ids in self.exams.elsewhere(left, target.suite, target.file):
            assert self.plan.kept is not None
            found = self.plan.kept.find(Target(other, path, target.retriever))
            if run := found.of_today(ids.values()).run:
                more = joined_runs(more, run.under(ids))
        return more

    def _judged(
        self, exam: Exam, suite: Suite, run: Run, found: Found, result: SuiteResult
    ) -> Exam:
        checks = on_answers(suite.checks)
        if result.deselected:
            checks = [check for check in checks if check.name in self.chosen]
        run = run.only({query.id for check in checks for query in suite.needed(check)})
        accepting = None
        if found.committed is not None:
            accepting = Accepting(found.committed.run(suite), found.damage, self.exams.refused)
        suite = replace(suite, baseline_retriever=found.target.other)
        # That the base had nothing to compare with is no doing of this change.
        then = judge(
            suite, run, checks, before=found.run, baseline=found.baseline, accepting=accepting,
            updating=found.run is None or found.added,
        )  # fmt: skip
        return held_to(exam, then, result)

    def _compared_with(self, suite: Suite, asked: Sequence[Query]) -> Found:
        """Find what the base's suite compares with. Raises ``StoredRunError``.

        A retriever that others are compared with was asked the queries that left before them.
        """
        today = self.today.target
        of_today = not isinstance(self.plan.compared, AtCommit)  # but the base was run for it
        target = Target(suite, today.file if of_today else self.base.file, today.retriever)
        other = target.other
        if not other:
            return self.plan.before(target)
        if other != today.other or self.before.run is None:
            raise StoredRunError(f"it compares with the retriever {other}, which today's does not")
        more = self.exams.more.get((self.base.file, other), Run(other))
        if {query.id for query in asked} - more.answered - more.faults.keys():
            raise StoredRunError(f"the retriever {other} was not asked the queries that left")
        run = joined_runs(self.before.run.under(self.base.ids), more)
        return Found(target, self.before.source, answers=run)


def joined_runs(run: Run, more: Run) -> Run:
    """Put answers to other queries to those of a run."""
    answers = tuple(
        answer.with_more(other)
        for answer, other in zip(run.answers, more.answers or (Answer({}),), strict=False)
    )
    return replace(run, answers=answers, faults={**run.faults, **more.faults})
