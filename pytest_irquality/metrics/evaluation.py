"""Rankings and judgments in, one value a query and measure out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_irquality.metrics.definition import Compute
from pytest_irquality.metrics.errors import MeasureError
from pytest_irquality.metrics.hits import Hits
from pytest_irquality.metrics.judgments import Judgments
from pytest_irquality.metrics.measure import Measure
from pytest_irquality.metrics.scores import Scores

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
    others: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> Scores:
    """Score every query of `run`: document ids, best first; of a document that comes twice, the
    first place counts.

    A query without a relevant document is undefined (None) under `skip`; under `zero` it scores
    what a ranking without one would, as in trec_eval. `seconds` and `before` are each query's
    latency and its ranking in the baseline, `others` its rankings in other answers to it.
    """
    if undefined not in ("skip", "zero"):
        raise MeasureError(f"undefined is 'skip' or 'zero', not {undefined!r}")
    hits = see(qrels, run.items(), measures)
    return scored(
        hits, measures, undefined=undefined, seconds=seconds, before=before, others=others
    )


def scored(
    hits: Sequence[Hits],
    measures: Sequence[Measure],
    *,
    undefined: str = "skip",
    seconds: Mapping[str, float] | None = None,
    before: Mapping[str, Sequence[str]] | None = None,
    others: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> Scores:
    """As ``evaluate``, where the judged documents were found already."""
    for name, given in (("seconds", seconds), ("before", before), ("others", others)):
        if given:
            for seen in hits:
                setattr(seen, name, given.get(seen.query))
    all_have_relevant = all(seen.relevant or seen.judgments.relevant for seen in hits)
    columns = []
    for measure in measures:
        may_lack = undefined == "skip" and (measure.rel is not None or not all_have_relevant)
        score = where_defined(measure) if may_lack else measure.compute()
        columns.append([score(seen) for seen in hits])
    rows = zip(*columns, strict=True) if columns else [()] * len(hits)
    queries = (seen.query for seen in hits)
    return Scores(tuple(measures), dict(zip(queries, rows, strict=True)))


def see(
    qrels: Mapping[str, Judgments],
    rankings: Iterable[tuple[str, Sequence[str]]],
    measures: Sequence[Measure],
    depth: int | None = 0,
) -> list[Hits]:
    """Find the judged documents of each query and its ranking, as deep as the measures ask, and at
    least to ``depth`` (None: everywhere).
    """
    asked, at_least_all_relevant = depth_of(measures)
    depth = None if depth is None or asked is None else max(depth, asked)
    top_grade = min((measure.top_grade for measure in measures), default=INFINITE)
    limited = top_grade < INFINITE
    hits = []
    for query, ranking in rankings:
        judgments = qrels.get(query, UNJUDGED)
        if limited and judgments.top_grade > top_grade:
            raise beyond_scale(query, judgments, measures)
        reach = depth
        if at_least_all_relevant and depth is not None:
            reach = max(depth, len(judgments.gains))
        hits.append(Hits(query, ranking, judgments, reach))
    return hits


def depth_of(measures: Sequence[Measure]) -> tuple[int | None, bool]:
    """How deep to look for judged documents (None: everywhere), and whether at least to the number
    of relevant ones.
    """
    deepest: int | None = 0
    for measure in measures:
        if measure.needs_relevant and deepest is not None:
            depth = measure.depth(0)
            deepest = None if depth is None else max(depth, deepest)
    return deepest, any(measure.definition.reach == "relevant" for measure in measures)


def where_defined(measure: Measure) -> Compute:
    """The measure's function, None where the judgments do not allow it."""
    score = measure.compute()
    return lambda hits: score(hits) if measure.defined_for(hits.judgments) else None


def beyond_scale(query: str, judgments: Judgments, measures: Sequence[Measure]) -> MeasureError:
    """A grade that the formula of one of the measures cannot take."""
    measure = min(measures, key=lambda measure: measure.top_grade)
    top = f"the highest that {measure} can take is {measure.top_grade:g}"
    return MeasureError(f"the query {query!r} has the grade {judgments.top_grade}, but {top}")
