"""The outcomes of a suite's retrievers: each is asked once and judged once in a session.

Items look their verdicts up in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.pipeline.grading import to_grade
from pytest_irquality.pipeline.judged import Asking, NotJudged, judged
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.progress import shown_progress
from pytest_irquality.retrieval import Answer, Run
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Check, Place, Suite
from pytest_irquality.verdict import SuiteResult, Verdict
from pytest_irquality.verdict.pool import Pool
from pytest_irquality.verdict.together import of_session

SELECTED = pytest.StashKey[bool]()
"""True where some checks were deselected: what is left is no verdict over all suites."""


@dataclass
class Judged:
    """A retriever's result, kept for the items that look their verdicts up.

    ``shown_at`` names the items at which causes were already shown in full. ``run`` is whole where
    it may be needed again: for a rerun, or by a retriever that is compared with this one.
    ``attempt``: which run of an item this is of, where a plugin runs those again that failed.
    """

    run: Run
    result: SuiteResult
    verdicts: Mapping[str, Verdict]
    attempt: int = 1
    shown_at: dict[str, str] = field(default_factory=dict)
    to_grade: Pool | None = None


class Ended(NamedTuple):
    """A retriever that gave no result.

    It is not tried again, and every further item ends with such an ``error``.
    """

    error: type[BaseException]
    reason: str
    attempt: int = 1


Outcome = Judged | Ended


@dataclass(eq=False)
class Judging:
    """The judging of one suite in this session: what its items share.

    ``retrievers`` are all there are, selected or not; ``outcomes`` is what became of those that
    were asked.
    """

    session: pytest.Session
    suite: Suite
    path: Path
    plan: Plan
    retrievers: Sequence[str] = ()
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def options(self) -> Options:
        """The options of the session."""
        return Options(self.session.config)

    def file_of(self, place: Place) -> Path:
        """Give the file of a place: a query of a JSONL file may carry rules of its own."""
        return (
            Path(self.session.config.invocation_params.dir, place.path) if place.path else self.path
        )

    def target(self, name: str) -> Target:
        """Give what one of its retrievers is judged on."""
        return Target(self.suite, self.path, name)

    def judged(
        self,
        name: str,
        retriever: object,
        checks: Sequence[Check],
        *,
        variant: str,
        fixture: str,
        attempt: int,
        earlier: Judged | None,
    ) -> Judged:
        """Ask a retriever every query that some checks need, and judge these.

        ``variant`` is how the names of its items end, where that is more than its own; ``fixture``
        tells it from fixtures of the same name. After an ``earlier`` attempt only those queries are
        asked that had no answer then. Raises ``NotJudged``.
        """
        __tracebackhide__ = True
        suite, options, config = self.suite, self.options, self.session.config
        asking = Asking(
            retriever,
            f"fixture {suite.retriever!r}",
            options.concurrency,
            shown_progress(config, suite.path),
            bool(options.judge),
            earlier.run if earlier else None,
        )
        result, today, before = judged(
            self.plan, self.target(name), checks, asking, reference=self._reference(name)
        )
        run = today.run
        assert run is not None
        if run.interrupted:
            self.session.shouldstop = f"interrupted while asking the queries of {suite.path}"
        to_grade = None
        if options.judge:
            to_grade = self._pool(name, [run, *filter(None, [before.run])], retriever)
        if not (run.unanswered or suite.baseline_retriever):
            # They are large. What reports may show of them keeps them until it is read.
            run = replace(run, answers=(Answer({}),), stages={})
        verdicts = {verdict.check: verdict for verdict in result.verdicts}
        whole = not config.stash.get(SELECTED, False)
        result = replace(of_session(result, fixture, whole=whole), variant=variant)
        return Judged(run, result, verdicts, attempt, to_grade=to_grade)

    def _pool(self, name: str, runs: Sequence[Run], retriever: object) -> Pool:
        """Give what there is to grade of these runs and of all others that were named.

        Raises ``NotJudged``.
        """
        options, project, part = self.options, self.plan.project, self.plan.part(self.suite)
        named = [
            one for one in (*options.runs, *options.baseline) if (project.start / one).exists()
        ]
        target, depth = Target(part, self.path, name), options.judge_depth or part.top_k
        return to_grade(target, runs, named, retriever, project, depth=depth)

    def _reference(self, name: str) -> Run | None:
        """Give the answers of the retriever that others are compared with.

        None: there is none, or it is this one.
        """
        other = self.suite.baseline_retriever
        if other in (None, name):
            return None
        outcome = self.outcomes.get(other)
        if isinstance(outcome, Judged):
            return outcome.run
        raise NotJudged(
            f"{self.suite.path} compares [{name}] with the retriever {other!r} ('baseline'):"
            f" {self._why_not_judged(other, outcome)}"
        )

    def _why_not_judged(self, other: str, outcome: Outcome | None) -> str:
        if outcome is not None:
            return "its fixture failed"
        if other not in self.retrievers:
            known = ", ".join(map(repr, self.retrievers))
            return f"there is none of that name, but {known}{did_you_mean(other, self.retrievers)}"
        return "it was not run here; select its items, too (with xdist: --dist loadfile)"
