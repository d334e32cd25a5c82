"""The whole path from Python: a suite file and a search, judged as ``pytest --ir-suite`` does."""

from __future__ import annotations

import html
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_irquality.edges.git import checkout_above
from pytest_irquality.edges.project import Project
from pytest_irquality.metrics import Definition, MeasureError
from pytest_irquality.metrics.catalogue import with_own
from pytest_irquality.pipeline.judged import Asking, NotJudged, judged
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.report.failure import explain
from pytest_irquality.report.text import summary
from pytest_irquality.storage.sources import compared_with
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Suite, load_suite
from pytest_irquality.suite.lint import IRQualityWarning, lint
from pytest_irquality.verdict import SuiteResult, Verdict
from pytest_irquality.verdict.result import BAD
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.story import Story

Compared = bool | str | Path
"""True: the baseline beside the suite. False: nothing. Else a file, a folder or ``git:REF``."""

FRAMES = ("pandas", "polars")
COLUMNS = 120
HEIGHT = 720  # of the report in a notebook, in pixels


class SearchQualityError(AssertionError):
    """A suite that failed. Its text is what the terminal says of each check that failed."""


@dataclass(frozen=True)
class CheckResult:
    """The results of a suite, one for each retriever.

    Printed it says what the terminal says; in a notebook it shows as the report.
    """

    results: tuple[SuiteResult, ...]

    @property
    def failed(self) -> bool:
        """True where anything failed. A known issue that is still broken has not."""
        return any(result.failed for result in self.results)

    @property
    def failures(self) -> tuple[str, ...]:
        """Everything about each check that failed, as in pytest's FAILURES."""
        broken = [
            _full_text(result, verdict)
            for result in self.results
            for verdict in result.verdicts
            if verdict.outcome in BAD
        ]
        unnoticed = [Story(result) for result in self.results if result.unnoticed]
        return (*broken, *(f"{story.name}: {story.headline}" for story in unnoticed))

    def raise_for_failures(self) -> None:
        """Raise ``SearchQualityError`` where anything failed."""
        __tracebackhide__ = True
        if self.failed:
            raise SearchQualityError("\n\n".join(self.failures))

    def to_frame(self) -> Any:
        """Give one row a query and retriever, with every measure now and in the baseline.

        It is a data frame of pandas or polars. Raises ``ImportError`` where neither is installed.
        """
        rows = [row for result in self.results for row in _rows(result)]
        return _frame_library().DataFrame(rows)

    def to_html(self) -> str:
        """The report, a whole page."""
        from pytest_irquality.report.html import report_of  # noqa: PLC0415 - a page alone needs it

        return report_of(self.results)

    def __str__(self) -> str:
        return "\n\n".join((*self.failures, "\n".join(summary(self.results, COLUMNS))))

    def __repr__(self) -> str:
        stories = map(Story, self.results)
        outcomes = (f"{story.name}: {story.headline}" for story in stories)
        return f"<{type(self).__name__} {'; '.join(outcomes)}>"

    def _repr_html_(self) -> str:
        # In a frame of its own, where neither side's styles and scripts reach the other's.
        return (
            f'<iframe srcdoc="{html.escape(self.to_html())}" title="search quality"'
            f' style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )


def check(
    suite: Path | str,
    retriever: object = None,
    *,
    retrievers: Mapping[str, object] | None = None,
    rankings: Mapping[str, object] | None = None,
    baseline: Compared = True,
    update_baseline: bool = False,
    concurrency: int | None = None,
    measures: Iterable[Definition] = (),
    start: Path | None = None,
    outside: Iterable[Path | str] = (),
) -> CheckResult:
    """Judge a suite file as ``pytest --ir-suite`` does.

    What answers its queries is one of: ``retriever``, whatever the fixture may give;
    ``retrievers``, several of them by name; ``rankings``, results that are there already, by the
    query's id or text. ``baseline`` says what to compare with: what stands in ``.ir-baseline/``
    beside the suite (True), nothing (False), a file or folder, or ``git:REF``; with
    ``update_baseline`` it is written. ``measures`` are the project's own, made by ``own_measure``.
    Paths are relative to ``start`` (default: the working directory), and so are those that are
    printed. The suite may name files of its project, which is the git checkout that it is in, and
    of the folders ``outside`` it.

    Raises ``SuiteError`` for a suite that cannot be read, and ``NotJudged`` where there is no
    result: for a baseline that cannot be read, a retriever that cannot be called, passages that
    the corpus lacks, a measure that fails. A call that fails is an error of its query.
    """
    start = (start or Path.cwd()).absolute()
    file = start / suite
    above = start if file.is_relative_to(start) else file.parent  # where there is no git
    project = Project(
        start,
        checkout_above(file.parent) or above,
        outside=[start / name for name in outside],
        named=[file.parent],
    )
    plan = Plan(project, updating=update_baseline)
    try:
        read = load_suite(
            file,
            shown=project.shown(file),
            definitions=with_own(list(measures)),
            allowed=project.allowed(file),
        )
        if baseline:
            given = [] if baseline is True else [str(baseline)]
            plan.compared = compared_with(given, project, updating=update_baseline)
            plan.compared.refuse_unknown()
    except (MeasureError, StoredRunError) as error:
        raise NotJudged(str(error)) from None
    for place, text in lint(read):
        at = str(start / place.path if place.path else file)
        warnings.warn_explicit(IRQualityWarning(text), None, at, place.line)
    asked = _asked(read, retriever, retrievers, rankings)
    return CheckResult(tuple(_judge_all(plan, file, plan.guarded(read, file), asked, concurrency)))


def _asked(
    suite: Suite,
    retriever: object,
    retrievers: Mapping[str, object] | None,
    rankings: Mapping[str, object] | None,
) -> dict[str, object]:
    """Give the retrievers by name, first the one that others are compared with."""
    if [retriever, retrievers, rankings].count(None) != 2:
        raise TypeError(
            "check() takes one of a retriever, retrievers by name, or rankings by query"
        )
    if rankings is not None:
        retriever = _Rankings(suite, rankings)
    named = dict(retrievers) if retrievers is not None else {"": retriever}
    base = suite.baseline_retriever
    if base is None:
        return named
    if base not in named:
        known = ", ".join(map(repr, retrievers or ())) or "no retriever has a name"
        raise ValueError(f"{suite.path} compares with the retriever {base!r}; here: {known}")
    return {base: named.pop(base), **named}


class _Rankings:
    """Results that are there already, given out as if they were asked for."""

    def __init__(self, suite: Suite, rankings: Mapping[str, object]) -> None:
        self.by_text: dict[str, object] = {}
        known, texts = set[str](), set[str]()
        for query in suite.queries:
            if query.text in texts:
                raise ValueError(
                    f"{suite.path} has two queries {query.text!r}: rankings cannot tell them apart"
                )
            texts.add(query.text)
            known.update((query.text, query.id))
            for name in (query.text, query.id):
                if name in rankings:
                    self.by_text[query.text] = rankings[name]
        if unknown := [name for name in rankings if name not in known]:
            raise ValueError(f"{suite.path} has no query {unknown[0]!r}, whose ranking is given")

    def search(self, query: str, **params: object) -> object:
        if query not in self.by_text:
            raise LookupError("no ranking of this query is given")
        return self.by_text[query]


def _judge_all(
    plan: Plan, file: Path, suite: Suite, asked: Mapping[str, object], concurrency: int | None
) -> Iterator[SuiteResult]:
    """Give each retriever's result."""
    targets = [Target(suite, file, name) for name in asked]
    plan.will_judge(targets)
    reference = None
    for target, retriever in zip(targets, asked.values(), strict=True):
        asking = Asking(retriever, concurrency=concurrency)
        result, today, _ = judged(plan, target, suite.checks, asking, reference=reference)
        if target.retriever == suite.baseline_retriever:
            reference = today.run
        yield result


def _full_text(result: SuiteResult, verdict: Verdict) -> str:
    if verdict.outcome in ("failed", "fixed"):
        return explain(result, verdict)
    return f"{reason(result, verdict)}\n  at {result.place(verdict)}"


def _rows(result: SuiteResult) -> Iterable[dict[str, Any]]:
    outcomes = {verdict.query: verdict.outcome for verdict in result.verdicts if verdict.query}
    undefined = (None,) * len(result.measures)
    for query in result.queries:
        yield {
            "retriever": result.retriever,
            "id": query.id,
            "query": query.text,
            "tags": ", ".join(query.tags),
            "outcome": outcomes.get(query.id),
            **dict(zip(result.measures, query.values or undefined, strict=True)),
            **{
                f"{measure} before": value
                for measure, value in zip(result.measures, query.before or undefined, strict=True)
            },
        }


def _frame_library() -> Any:
    """The library of data frames that is in use here, or else one that is installed."""
    for name in sorted(FRAMES, key=lambda name: name not in sys.modules):
        try:
            return import_module(name)
        except ImportError:
            pass
    raise ImportError(f"to_frame() needs {' or '.join(FRAMES)}: neither is installed")
