"""From a retriever to its result: one pass over the queries that the selected items need, judged
once.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.edges.printable import terminal
from pytest_irquality.metrics import MeasureError
from pytest_irquality.pipeline.files import Against, Files, Target
from pytest_irquality.pipeline.judge import judge_run, version_of
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.progress import shown_progress
from pytest_irquality.retrieval import Answer, RetrieverError, Run, UnreadableResult, retrieve
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.suite import Check, Place, Suite, SuiteError
from pytest_irquality.suite.lint import IRQualityWarning
from pytest_irquality.verdict import Baseline, SuiteResult, Verdict
from pytest_irquality.verdict.findings import Loss
from pytest_irquality.verdict.pool import Pool, pool


class NotJudged(Exception):
    """Why there is no result, in one line."""


@dataclass
class Judged:
    """A retriever's result, kept for the items that look their verdicts up. ``told``: causes
    already shown in full.

    ``run`` is whole where it may be needed again: for a rerun, or by a retriever that is compared
    with this one. ``attempt``: which run of an item this is of, where a plugin runs those again
    that failed.
    """

    run: Run
    result: SuiteResult
    verdicts: Mapping[str, Verdict]
    attempt: int = 1
    told: dict[str, str] = field(default_factory=dict)
    to_grade: Pool | None = None


class Ended(NamedTuple):
    """A retriever that gave no result: it is not tried again, and every further item ends with such
    an ``error``.
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
    files: Files
    retrievers: Sequence[str] = ()
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def options(self) -> Options:
        """What the session was asked for."""
        return Options(self.session.config)

    def file_of(self, place: Place) -> Path:
        """The file of a place: a query of a JSONL file may carry rules of its own."""
        return (
            Path(self.session.config.invocation_params.dir, place.path) if place.path else self.path
        )

    def judged(
        self,
        name: str,
        retriever: object,
        checks: Sequence[Check],
        *,
        variant: str,
        attempt: int,
        earlier: Judged | None,
    ) -> Judged:
        """Ask a retriever every query that some checks need, and judge these.

        ``variant`` is how the names of its items end, where that is more than its own. After an
        ``earlier`` attempt only those queries are asked that had no answer then. Raises
        ``NotJudged``.
        """
        __tracebackhide__ = True
        files, suite = self.files, self.suite
        target, asked = self.target(name), files.part(suite)
        needed = {query.id for check in checks for query in asked.needed(check)}
        try:
            # One that is damaged is told before anything is asked.
            compared = self._baseline(name, needed)
            lost = self._in_no_chunk(retriever)
            if files.kept:
                run, notes = files.kept_run(target, needed)
            else:
                run, notes = self._ask(name, retriever, needed, earlier)
            past = files.past(target, needed)
        except StoredRunError as error:
            raise NotJudged(str(error)) from None
        known = compared or Against(run, Baseline(name, len(run.answered), version=run.version))
        try:
            result = judge_run(
                files, target, run, checks=checks, compared=known, retriever=retriever, notes=notes,
                nowhere=lost, audit=self.options.audit, past=past,
            )  # fmt: skip
        except MeasureError as error:  # a measure of the project's own
            raise NotJudged(f"{error} ({suite.path})") from None
        result = replace(result, variant=variant)
        to_grade = None
        if self.options.grades:
            to_grade = self._pool(asked, [run, *filter(None, [known.run])], retriever)
        if not (run.unanswered or suite.baseline_retriever):
            # They are large. What reports may show of them keeps them until it is read.
            run = replace(run, answers=(Answer({}),), stages={})
        verdicts = {verdict.check: verdict for verdict in result.verdicts}
        return Judged(run, result, verdicts, attempt, to_grade=to_grade)

    def target(self, name: str) -> Target:
        """What one of its retrievers is judged on."""
        return Target(self.suite, self.path, name)

    def _ask(
        self, name: str, retriever: object, needed: Collection[str], earlier: Judged | None
    ) -> tuple[Run, tuple[str, ...]]:
        """The run of today and notes on it: the queries that are needed, after an earlier attempt
        those of them that had no answer then, and of a kept run that is gone on with those that it
        lacks.
        """
        __tracebackhide__ = True
        suite, session = self.suite, self.session
        kept = None if earlier else self._kept_so_far(name, retriever, needed)
        wanted = {*earlier.run.unanswered} if earlier else {*needed}
        wanted.difference_update(kept.answered if kept else ())
        asked = [query for query in suite.queries if query.id in wanted]
        calls = self.options.calls_at_once(suite.concurrency)
        try:
            with shown_progress(session.config, suite.path) as progress:
                run = retrieve(
                    suite, retriever, asked, name, concurrency=calls, progress=progress,
                    details=bool(self.options.judge),
                )  # fmt: skip
        except RetrieverError as error:
            at = (
                f"{error.place.path or suite.path}:{error.place.line}"
                if error.place
                else suite.path
            )
            raise NotJudged(f"{error} (fixture {suite.retriever!r}, {at})") from None
        if run.interrupted:
            session.shouldstop = f"interrupted while asking the queries of {suite.path}"
        notes = _kept_note(kept, needed) if kept else ()
        before = earlier.run if earlier else kept
        if before:
            run = before.retried(run, suite.readers)
        return replace(run, version=version_of(retriever)), notes

    def _kept_so_far(self, name: str, retriever: object, needed: Collection[str]) -> Run | None:
        """The answers that this session goes on with (``--ir-resume``)."""
        staged = callable(getattr(retriever, "candidates", None))
        version = version_of(retriever)
        return self.files.resumed(self.target(name), needed, version, staged=staged)

    def _pool(self, asked: Suite, runs: Sequence[Run], retriever: object) -> Pool:
        """What there is to grade of these runs and of all others that were named. Raises
        ``NotJudged``.
        """
        from pytest_irquality.pipeline.corpus import chunks_of, on_a_page  # noqa: PLC0415 - only where something is graded

        allowed = self.files.allowed(self.path)
        try:
            every = [*runs, *self.files.every_run(asked)]
            corpus = on_a_page(chunks_of(asked, retriever, self.path.parent, allowed))
        except (StoredRunError, SuiteError, UnreadableResult) as error:
            raise NotJudged(str(error)) from None
        depth = self.options.judge_depth or asked.top_k
        return replace(pool(asked, every, depth), corpus=corpus)

    def _in_no_chunk(self, retriever: object) -> Mapping[str, Loss]:
        """The passages that no ranking can find, said before anything is asked."""
        suite = self.suite
        if not any(map(suite.reads_texts, suite.queries)):
            return {}
        from pytest_irquality.pipeline.corpus import nowhere, told  # noqa: PLC0415 - only where texts are matched

        allowed = self.files.allowed(self.path)
        try:
            lost = nowhere(suite, retriever, self.path.parent, allowed)
        except (SuiteError, UnreadableResult) as error:
            raise NotJudged(str(error)) from None
        if lost:
            place = suite.places.get("corpus") or Place(1)
            said = f"{suite.path}:{place.line}: {told(suite, lost)}"
            if suite.corpus.missing == "fail":
                raise NotJudged(said)
            warning = IRQualityWarning(terminal(said))
            warnings.warn_explicit(warning, None, str(self.path), place.line)
        return lost

    def _baseline(self, name: str, needed: Collection[str]) -> Against | None:
        """What a retriever is compared with: a stored run, or another retriever of this session;
        None: with itself.
        """
        other = self.suite.baseline_retriever
        if other is None:
            return self.files.before(self.target(name), needed)
        if other == name:
            return None
        outcome = self.outcomes.get(other)
        if isinstance(outcome, Judged):
            run = outcome.run
            return Against(run, Baseline(other, len(run.answered), version=run.version))
        path = self.suite.path
        compares = f"{path} compares [{name}] with the retriever {other!r} ('baseline')"
        raise NotJudged(f"{compares}: {self._why_not_judged(other, outcome)}")

    def _why_not_judged(self, other: str, outcome: Outcome | None) -> str:
        if outcome is not None:
            return "its fixture failed"
        if other not in self.retrievers:
            known = ", ".join(map(repr, self.retrievers))
            return f"there is none of that name, but {known}{did_you_mean(other, self.retrievers)}"
        if hasattr(self.session.config, "workerinput"):
            elsewhere = ", or it was by another worker: --dist loadfile keeps them together"
        else:
            elsewhere = ""
        return f"it was not run; select its items, too{elsewhere}"


def _kept_note(kept: Run, needed: Collection[str]) -> tuple[str, ...]:
    return (
        f"resumed: {len(kept.answered)} of {len(needed)} queries had an answer in the kept run and"
        " were not asked again",
    )
