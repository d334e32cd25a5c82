"""Rankings and judgments in, one value a query and measure out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from sys import maxsize
from typing import Literal, TypeVar, get_args

from pytest_irquality.metrics.errors import MeasureError
from pytest_irquality.metrics.hits import Hits, Ranking, find, relevant_ranks
from pytest_irquality.metrics.judgments import Judgments
from pytest_irquality.metrics.measure import Measure
from pytest_irquality.metrics.scores import Scores

T = TypeVar("T")
Undefined = Literal["skip", "judged_zero", "zero"]
"""What becomes of queries without a relevant document; ``evaluate`` says more."""
UNJUDGED = Judgments({})
INFINITE = float("inf")


def evaluate(
    qrels: Mapping[str, Judgments],
    run: Mapping[str, Sequence[str]],
    measures: Sequence[Measure],
    *,
    undefined: str = "skip",
    seconds: Mapping[str, float] | None = None,
    before: Mapping[str, Sequence[str]] | None = None,
) -> Scores:
    """Score every query of a run.

    ``qrels`` has each query's judgments, ``run`` its ranking: document ids, best first; of a
    document that comes twice, the first place counts. Both are by the query's id. A query without a
    relevant document is undefined (None) under ``undefined="skip"``; under ``"zero"`` it scores
    what a ranking without one would, as in trec_eval, and under ``"judged_zero"`` only where it has
    judgments. ``seconds`` and ``before`` are each query's latency and its ranking in the baseline.

    Raises ``MeasureError`` for a grade that a measure cannot take, and what a measure of one's own
    raises.
    """
    if undefined not in get_args(Undefined):
        known = " or ".join(map(repr, get_args(Undefined)))
        raise MeasureError(f"undefined is {known}, not {undefined!r}")
    hits = see(qrels, run.items(), measures)
    return scored(hits, measures, undefined=undefined, seconds=seconds, before=before)


def scored(
    hits: Hits,
    measures: Sequence[Measure],
    *,
    undefined: str = "skip",
    seconds: Mapping[str, float] | None = None,
    before: Mapping[str, Ranking] | None = None,
) -> Scores:
    """Score every query of a run in which the judged documents were found already.

    The arguments are those of ``evaluate``.
    """
    queries = hits.queries
    hits = hits._replace(seconds=of_each(queries, seconds), before=of_each(queries, before))
    columns = [column(measure, hits, undefined) for measure in measures]
    rows = zip(*columns, strict=True) if columns else [()] * len(queries)
    return Scores(tuple(measures), dict(zip(queries, rows, strict=True)))


def of_each(queries: Sequence[str], given: Mapping[str, T] | None) -> Sequence[T | None]:
    """The entry of each query in a mapping; None where it has none."""
    return [*map(given.get, queries)] if given else [None] * len(queries)


def column(measure: Measure, hits: Hits, undefined: str) -> Sequence[float | None]:
    """The value of each query by one measure.

    None where the judgments do not allow it, unless such a query scores 0.
    """
    seen = hits if measure.rel is None else hits.at(measure.rel)
    score = measure.compute()
    if undefined == "zero" or all(seen.relevant_counts):
        return score(seen)
    graded = undefined == "judged_zero"
    defined = [
        measure.defined_for(judgments) or (graded and bool(judgments.grades))
        for judgments in seen.judgments
    ]
    values = iter(score(seen.where(defined)))
    return [next(values) if is_defined else None for is_defined in defined]


def see(
    qrels: Mapping[str, Judgments],
    run: Iterable[tuple[str, Ranking]],
    measures: Sequence[Measure],
    depth: int | None = 0,
) -> Hits:
    """Find the judged documents of each query in its ranking.

    They are found as deep as the measures ask, and at least to ``depth`` (None: everywhere).
    """
    deepest = max(depth_of(measures), maxsize if depth is None else depth)
    at_least_all_relevant = any(measure.definition.reach == "relevant" for measure in measures)
    queries, rankings, judgments, gains = [], [], [], []
    for query, ranking in run:
        judged = qrels.get(query, UNJUDGED)
        reach = max(deepest, len(judged.gains)) if at_least_all_relevant else deepest
        distinct, found = find(ranking, judged.gains, reach)
        queries.append(query)
        rankings.append(distinct)
        judgments.append(judged)
        gains.append(found)
    check_scale(queries, judgments, measures)
    return Hits(
        queries=queries,
        rankings=rankings,
        judgments=judgments,
        gains=gains,
        relevant=[*map(relevant_ranks, rankings, judgments, gains)],
        relevant_counts=[judged.relevant_count for judged in judgments],
    )


def depth_of(measures: Sequence[Measure]) -> int:
    """The depth to which judged documents are looked for."""
    depths = [measure.depth(0) for measure in measures if measure.needs_relevant]
    return max((maxsize if depth is None else depth for depth in depths), default=0)


def check_scale(
    queries: Iterable[str], judgments: Iterable[Judgments], measures: Sequence[Measure]
) -> None:
    """Refuse a grade that the formula of one of the measures cannot take."""
    strictest = min(measures, key=lambda measure: measure.top_grade, default=None)
    if strictest is None or strictest.top_grade == INFINITE:
        return
    top = strictest.top_grade
    for query, judged in zip(queries, judgments, strict=True):
        if judged.top_grade > top:
            raise MeasureError(
                f"the query {query!r} has the grade {judged.top_grade}, but the highest that"
                f" {strictest} can take is {top:g}"
            )
