"""From a retriever to its result: one pass over the queries that the selected items need, judged
once.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import pytest

from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.edges.printable import terminal
from pytest_irquality.metrics import MeasureError
from pytest_irquality.pipeline.files import Against, Target
from pytest_irquality.pipeline.judge import judge_run, version_of
from pytest_irquality.plugin.collect import FILES, SuiteModule, variant
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.progress import shown_progress
from pytest_irquality.retrieval import RetrieverError, Run, UnreadableResult, retrieve
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.suite import Check, Place, SuiteError
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


@dataclass(frozen=True)
class Ended:
    """A retriever that gave no result: it is not tried again, and every further item ends with such
    an ``error``.
    """

    error: type[BaseException]
    reason: str
    attempt: int = 1


Outcome = Judged | Ended
OUTCOMES = pytest.StashKey[dict[str, Outcome]]()


def judged(
    item: pytest.Function, retriever: object, earlier: Judged | None, attempt: int
) -> Judged:
    """Ask every query the selected items of this suite and retriever need, and judge those items'
    checks.

    After an ``earlier`` attempt only those queries are asked that had no answer then. Raises
    ``NotJudged``.
    """
    __tracebackhide__ = True
    module, key = _module(item), variant(item)
    files, suite, options = item.config.stash[FILES], module.suite, Options(item.config)
    target, asked = Target(suite, module.path, key), files.part(suite)
    checks = _selected(item)
    needed = {query.id for check in checks for query in asked.needed(check)}
    try:
        # One that is damaged is told before anything is asked.
        compared = _baseline(module, key, needed)
        lost = _in_no_chunk(module, retriever)
        if files.kept:
            run, notes = files.kept_run(target, needed)
        else:
            run, notes = _ask(item, retriever, needed, earlier)
        past = files.past(target, needed)
    except StoredRunError as error:
        raise NotJudged(str(error)) from None
    known = compared or Against(run, Baseline(key, len(run.rankings), version=run.version))
    try:
        result = judge_run(
            files, target, run, checks=checks, compared=known, retriever=retriever, notes=notes,
            nowhere=lost, audit=options.audit, past=past,
        )  # fmt: skip
    except MeasureError as error:  # a measure of the project's own
        raise NotJudged(f"{error} ({suite.path})") from None
    result = replace(result, variant=_variant(item, key))
    to_grade = None
    if options.grades:
        sides = [side for side in (run, known.run) if side is not None]
        to_grade = pool(asked, sides, options.judge_depth or suite.top_k)
    if not (run.unanswered or suite.baseline_retriever):
        # They are large, and nobody will ask for them again.
        run = replace(run, rankings={}, titles={}, texts={}, candidates=None)
    verdicts = {verdict.check: verdict for verdict in result.verdicts}
    return Judged(run, result, verdicts, attempt, to_grade=to_grade)


def _module(item: pytest.Function) -> SuiteModule:
    assert isinstance(item.parent, SuiteModule)
    return item.parent


def _variant(item: pytest.Function, key: str) -> str:
    """``[bm25-1-2]`` of a node id, where that is more than the retriever's name."""
    written = item.name.removeprefix(item.originalname)
    return "" if written == (f"[{key}]" if key else "") else written


def _selected(item: pytest.Function) -> list[Check]:
    """The checks of the items that this session runs of the same suite and retriever."""
    module, key = _module(item), variant(item)
    names = {
        getattr(other, "originalname", "")
        for other in item.session.items
        if other.parent is module and variant(other) == key
    }
    return [check for check in module.suite.checks if check.name in names]


def _ask(
    item: pytest.Function, retriever: object, needed: Collection[str], earlier: Judged | None
) -> tuple[Run, tuple[str, ...]]:
    """The run of today and notes on it: the queries that are needed, after an earlier attempt those
    of them that had no answer then, and of a kept run that is gone on with those that it lacks.
    """
    __tracebackhide__ = True
    suite = _module(item).suite
    kept = None if earlier else _kept_so_far(item, retriever, needed)
    wanted = {*earlier.run.unanswered} if earlier else {*needed}
    wanted.difference_update(kept.rankings if kept else ())
    asked = [query for query in suite.queries if query.id in wanted]
    options = Options(item.config)
    calls = options.calls_at_once(suite.concurrency)
    try:
        with shown_progress(item.config, suite.path) as progress:
            run = retrieve(
                suite, retriever, asked, variant(item), concurrency=calls, progress=progress,
                details=bool(options.judge),
            )  # fmt: skip
    except RetrieverError as error:
        at = f"{error.place.path or suite.path}:{error.place.line}" if error.place else suite.path
        raise NotJudged(f"{error} (fixture {suite.retriever!r}, {at})") from None
    if run.interrupted:
        item.session.shouldstop = f"interrupted while asking the queries of {suite.path}"
    notes = _kept_note(kept, needed) if kept else ()
    before = earlier.run if earlier else kept
    if before:
        run = before.retried(run, suite.readers)
    return replace(run, version=version_of(retriever)), notes


def _kept_so_far(item: pytest.Function, retriever: object, needed: Collection[str]) -> Run | None:
    """The answers that this session goes on with (``--ir-resume``)."""
    module = _module(item)
    target = Target(module.suite, module.path, variant(item))
    staged = callable(getattr(retriever, "candidates", None))
    files = item.config.stash[FILES]
    return files.resumed(target, needed, version_of(retriever), staged=staged)


def _kept_note(kept: Run, needed: Collection[str]) -> tuple[str, ...]:
    return (
        f"resumed: {len(kept.rankings)} of {len(needed)} queries had an answer in the kept run and"
        " were not asked again",
    )


def _in_no_chunk(module: SuiteModule, retriever: object) -> Mapping[str, Loss]:
    """The passages that no ranking can find, said before anything is asked."""
    suite = module.suite
    if not any(map(suite.reads_texts, suite.queries)):
        return {}
    from pytest_irquality.pipeline.corpus import nowhere, told  # noqa: PLC0415 - only where texts are matched

    allowed = module.config.stash[FILES].allowed(module.path)
    try:
        lost = nowhere(suite, retriever, module.path.parent, allowed)
    except (SuiteError, UnreadableResult) as error:
        raise NotJudged(str(error)) from None
    if lost:
        place = suite.places.get("corpus") or Place(1)
        said = f"{suite.path}:{place.line}: {told(suite, lost)}"
        if suite.corpus.missing == "fail":
            raise NotJudged(said)
        warning = IRQualityWarning(terminal(said))
        warnings.warn_explicit(warning, None, str(module.path), place.line)
    return lost


def _baseline(module: SuiteModule, key: str, needed: Collection[str]) -> Against | None:
    """What a retriever is compared with: a stored run, or another retriever of this session; None:
    with itself.
    """
    other = module.suite.baseline_retriever
    if other is None:
        return module.config.stash[FILES].before(Target(module.suite, module.path, key), needed)
    if other == key:
        return None
    outcome = module.stash[OUTCOMES].get(other)
    if isinstance(outcome, Judged):
        run = outcome.run
        return Against(run, Baseline(other, len(run.rankings), version=run.version))
    why = _why_not_judged(module, other, outcome)
    compares = f"{module.suite.path} compares [{key}] with the retriever {other!r} ('baseline')"
    raise NotJudged(f"{compares}: {why}")


def _why_not_judged(module: SuiteModule, other: str, outcome: Outcome | None) -> str:
    if outcome is not None:
        return "its fixture failed"
    if other not in module.variants:
        known = ", ".join(map(repr, module.variants))
        return f"there is none of that name, but {known}{did_you_mean(other, module.variants)}"
    if hasattr(module.config, "workerinput"):
        elsewhere = ", or it was by another worker: --dist loadfile keeps them together"
    else:
        elsewhere = ""
    return f"it was not run; select its items, too{elsewhere}"
