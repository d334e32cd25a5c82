"""All that reports may show of a judged suite: its verdicts, means, queries and facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.classes import classes_of
from pytest_irquality.verdict.comparison import Comparison, Then
from pytest_irquality.verdict.findings import Cause, Loss
from pytest_irquality.verdict.not_found import Losses, together
from pytest_irquality.verdict.noticed import noticed
from pytest_irquality.verdict.query_result import query_result
from pytest_irquality.verdict.result import Mean, QueryResult, SuiteResult
from pytest_irquality.verdict.sides import Ids, Sides, causes_of
from pytest_irquality.verdict.texts import with_texts
from pytest_irquality.verdict.together import share_of
from pytest_irquality.verdict.verdicts import Verdicts, on_answers
from pytest_irquality.verdict.wavering import unchanged_code

SHOWN = 50  # lines of the history


def summary(
    judged: Verdicts, nowhere: Mapping[str, Loss] | None, then: Then | None = None
) -> SuiteResult:
    """The result of a judging.

    ``nowhere`` are the passages that stand whole in no chunk of the corpus; None: it is not known.
    """
    comparison = judged.comparison
    suite, sides = comparison.suite, comparison.sides
    before = comparison.baseline
    graded, returned = _judged_share(suite, sides.rankings)
    graded_before, returned_before = _judged_share(suite, sides.before)
    losses = Losses(comparison, nowhere)
    verdicts = tuple(map(losses.named, judged.all))
    items = {check.query.id: check.name for check in suite.checks if check.query}
    queries = tuple(
        query_result(comparison, query, items.get(query.id), losses) for query in sides.asked
    )
    variants = judged.check_judge.variants
    result = SuiteResult(
        suite=suite.name,
        path=suite.path,
        retriever=sides.run.retriever,
        top_k=suite.top_k,
        remarks=suite.remarks,
        measures=tuple(map(str, suite.measures)),
        formulas=tuple(measure.definition.formula for measure in suite.measures),
        shown=tuple(map(str, suite.metrics)),
        means=tuple(_means(comparison)),
        queries=queries,
        verdicts=verdicts,
        facts=tuple(noticed(judged)),
        causes=tuple(_causes(sides.run)),
        gated=suite.gated,
        judged=graded,
        returned=returned,
        interrupted=sides.run.interrupted,
        seconds=_seconds(sides.run),
        baseline=before and replace(before, judged=graded_before, returned=returned_before),
        fates=together(suite, queries, losses),
        version=sides.run.version,
        past=tuple(judged.history[-SHOWN:]),
        robustness=variants.robustness() if variants else None,
        noise=unchanged_code(sides),
        skipped=tuple(judged.skipped.values()),
        classes=classes_of(comparison, then, sides.unsettled),
        deselected=len(on_answers(suite.checks)) - len(judged.checks),
    )
    result = replace(result, share=share_of(judged), fields=_fields(suite, queries, sides))
    return with_texts(result, sides)


def _fields(
    suite: Suite, queries: Iterable[QueryResult], sides: Sides
) -> Mapping[str, Mapping[str, str]]:
    """The fields of documents that are listed, as today's results have them or else those then."""
    if not suite.show:
        return {}
    runs = (sides.baseline_run, sides.run)
    known = {id: one.fields for run in runs if run for id, one in run.first.details.items()}
    rankings = ((*query.ranking, *query.ranking_before, *query.missing) for query in queries)
    listed = {document.id for document in chain.from_iterable(rankings)}
    return {id: dict(known[id]) for id in sorted(listed & known.keys()) if known[id]}


def _judged_share(suite: Suite, rankings: Mapping[str, Ids]) -> tuple[int, int]:
    """The number of the top k results of some rankings that somebody graded, and of all of them.

    Whoever lists passages judges no results.
    """
    judged, returned = 0, 0
    for id, ids in rankings.items() if not suite.by_text else ():
        top = ids[: suite.top_k]
        judged += len(suite.by_id[id].judgments.grades.keys() & top)
        returned += len(top)
    return judged, returned


def _means(comparison: Comparison) -> Iterator[Mean]:
    """Every measure over the whole suite, then over each tag of which a query was answered."""
    suite, rankings = comparison.suite, comparison.sides.rankings
    for tag, queries in [(None, suite.queries), *suite.tags.items()]:
        if tag is not None and not any(query.id in rankings for query in queries):
            continue
        for measure in suite.measures:
            total = comparison.scores.aggregate(measure, queries)
            yield Mean(
                measure=str(measure),
                tag=tag,
                value=total.value,
                queries=total.n,
                undefined=total.undefined,
                unit=measure.unit,
                higher_is_better=measure.higher_is_better,
                change=comparison.over(measure, tag),
            )


def _causes(run: Run) -> Iterator[Cause]:
    """The causes why queries have no ranking, then why they have nothing of a stage alone."""
    yield from causes_of(run.failed)
    staged = {id: fault for id, fault in run.unanswered.items() if id not in run.faults}
    for cause in causes_of(staged):
        yield replace(cause, message=f"candidates: {cause.message}")


def _seconds(run: Run) -> float:
    """The time that all calls of a run took together."""
    rankings = chain.from_iterable(answer.rankings.values() for answer in run.answers)
    return sum(ranking.seconds or 0.0 for ranking in rankings)
