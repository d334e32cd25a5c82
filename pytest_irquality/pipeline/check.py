"""The whole path from Python: a suite file and a search, judged as ``pytest --ir-suite`` does."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pytest_irquality.edges.git import checkout_above
from pytest_irquality.edges.project import Project
from pytest_irquality.metrics import Definition, MeasureError
from pytest_irquality.metrics.catalogue import with_own
from pytest_irquality.pipeline.check_result import CheckResult
from pytest_irquality.pipeline.judged import Asking, NotJudged, judged
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.storage.sources import compared_with
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Suite, load_suite
from pytest_irquality.suite.lint import IRQualityWarning, lint
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.verdict.together import judged_together

Compared = bool | str | Path
"""True: the baseline beside the suite. False: nothing. Else a file, a folder or ``git:REF``."""


def check(
    suite: Path | str,
    retriever: object = None,
    *,
    retrievers: Mapping[str, object] | None = None,
    baseline: Compared = True,
    update_baseline: bool = False,
    concurrency: int | None = None,
    measures: Iterable[Definition] = (),
    start: Path | None = None,
    files: Sequence[str] = (),
) -> CheckResult:
    """Judge a suite file as ``pytest --ir-suite`` does.

    What answers its queries is ``retriever``, whatever the fixture may give, or ``retrievers``,
    several of them by name. ``baseline`` says what to compare with: what stands beside the suite in
    ``.ir-baseline/`` (True), nothing (False), a file or folder, or ``git:REF``; with
    ``update_baseline`` it is written. ``measures`` are the project's own, made by ``own_measure``.
    Paths are relative to ``start`` (default: the working directory), and so are those that are
    printed. The suite may name files of its project, which is the git checkout that it is in:
    those that git tracks (elsewhere than in CI also new ones that it does not ignore), and what
    ``files`` name as ``ir_files`` does: patterns of files that jobs make, and folders outside.

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
        named=[file.parent],
        files=files,
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
    asked = _asked(read, retriever, retrievers)
    results = _judge_all(plan, file, plan.guarded(read, file), asked, concurrency)
    return CheckResult(tuple(judged_together([*results])))


def _asked(
    suite: Suite,
    retriever: object,
    retrievers: Mapping[str, object] | None,
) -> dict[str, object]:
    """Give the retrievers by name, first the one that others are compared with."""
    if (retriever is None) == (retrievers is None):
        raise TypeError("check() takes a retriever, or retrievers by name")
    named = dict(retrievers) if retrievers is not None else {"": retriever}
    base = suite.baseline_retriever
    if base is None:
        return named
    if base not in named:
        known = ", ".join(map(repr, retrievers or ())) or "no retriever has a name"
        raise ValueError(f"{suite.path} compares with the retriever {base!r}; here: {known}")
    return {base: named.pop(base), **named}


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
