"""Comparison of a run with a baseline: pairs of rankings, and how every metric changed.

Metrics are computed from the same pairs of rankings on demand, so a threshold on recall and a
headline on nDCG are certain to read the same rankings.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_
from sys import maxsize

from pytest_irquality.evaluation.columns import MetricColumns, Side
from pytest_irquality.evaluation.constants import MAX_TIE_FRACTION, ROUNDING_ERROR
from pytest_irquality.evaluation.documents import (
    DocChange,
    QueryAnswers,
    list_expected_doc_ids,
)
from pytest_irquality.evaluation.query_changes import MetricChange, QueryChange, QueryStatus
from pytest_irquality.evaluation.ties import align_ties
from pytest_irquality.metrics import Metric, aggregate_values
from pytest_irquality.passages.diagnosis import CorpusTexts
from pytest_irquality.passages.location import list_unknown_passages, locate_passages
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import VARIANT_TAG, Query, Suite
from pytest_irquality.suite.parser import get_needed_depth, list_metrics

__all__ = [
    "Comparison",
    "MetricChange",
    "QueryChange",
    "QueryStatus",
    "Side",
    "compare_runs",
    "get_weight",
]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The status of every query of a suite, and the changes of those with a baseline.

    A query and its variants are one test unit, named by the request of the query, so copies in
    other suites have the same name.

    Attributes:
        changes: One for each answered query with a baseline answer, in the order of the suite.
        statuses: The status of every query of the suite, by id.
        comparable_count: How many queries have a baseline answer, whether they ran or not.
        is_new: Whether the suite has new queries only. They are compared with the answers that
            come with them, and nothing else depends on the result.
        needed_depth: To which depth current rankings are evaluated.
        compared_depth: To which depth both sides are compared, which is less if a run is shallower.
        unusable_query_ids: Queries whose baseline answer is of no use, because it was stored
            without texts before the suite had their passages.
    """

    suite: Suite
    run: Run = field(repr=False)
    baseline_run: Run | None = field(repr=False)
    changes: tuple[QueryChange, ...] = field(repr=False)
    statuses: Mapping[str, QueryStatus] = field(repr=False)
    comparable_count: int
    is_new: bool
    needed_depth: int
    compared_depth: int
    unusable_query_ids: tuple[str, ...]
    _pairs: _RankingPairs = field(repr=False)

    @property
    def answers(self) -> Mapping[str, tuple[Ranking, ...]]:
        """Return the current rankings of each answered query, as they are evaluated, by id."""
        return self._pairs.answers

    @property
    def titles(self) -> Mapping[str, str]:
        """Return the titles of documents, current ones first."""
        return self._pairs.titles

    @property
    def corpus(self) -> CorpusTexts | None:
        """Return the texts of the corpus, if they are known."""
        return self._pairs.corpus

    @cached_property
    def changes_by_id(self) -> Mapping[str, QueryChange]:
        """Return the changes by the id of their query."""
        return {change.query.id: change for change in self.changes}

    @cached_property
    def answered_queries(self) -> tuple[Query, ...]:
        """Return the queries with an answer, in the order of the suite."""
        return tuple(query for query in self.suite.queries if query.id in self.answers)

    def list_query_ids(self, status: QueryStatus) -> tuple[str, ...]:
        """Return the ids of queries with a status, in the order of the suite."""
        query_ids = []
        for query_id, query_status in self.statuses.items():
            if query_status is status:
                query_ids.append(query_id)
        return tuple(query_ids)

    # -- Values ------------------------------------------------------------------------------------

    def get_stage(self, metric: Metric) -> Comparison | None:
        """Return the comparison of the stage that a metric scores, or ``None`` without answers."""
        return self._pairs.stages.get(metric.stage) if metric.stage else self

    def values(self, metric: Metric, side: Side) -> Mapping[str, float | None]:
        """Return the value of each query, the mean over its repeats, by query id."""
        if metric.stage:
            stage = self.get_stage(metric)
            return stage.values(replace(metric, stage=""), side) if stage else {}
        key = (metric, side)
        if key not in self._pairs.values:
            column = self._pairs.columns.get_column(metric, side)
            query_ids: Iterable[str] = self.answers
            if side is not Side.RETURNED:
                query_ids = self.changes_by_id
            self._pairs.values[key] = dict(zip(query_ids, column, strict=True))
        return self._pairs.values[key]

    def score(self, metric: Metric, tag: str = "") -> MetricChange | None:
        """Return the metric over the compared queries of the suite or of a tag.

        Suite means leave variants out, and those of the tag ``variant`` do not. Latencies are over
        all calls.
        """
        key = (metric, tag)
        if key not in self._pairs.scores:
            self._pairs.scores[key] = self._score(metric, tag)
        return self._pairs.scores[key]

    def _score(self, metric: Metric, tag: str) -> MetricChange | None:
        if metric.stage:
            stage = self.get_stage(metric)
            return stage.score(replace(metric, stage=""), tag) if stage else None
        columns = self._pairs.columns
        is_percentile = metric.unit == "seconds"
        weights: list[float] = []
        before: list[float | None] = []
        now: list[float | None] = []
        rows = list(self._iterate_pairs(metric, self._create_filter(metric, tag)))
        for change, value_before, value_now in rows:
            if is_percentile:
                before += columns.get_repeats(metric, Side.BEFORE, change.row)
                now += columns.get_repeats(metric, Side.NOW, change.row)
            else:
                before.append(value_before)
                now.append(value_now)
                weights.append(get_weight(change.query, metric))
        mean_before = aggregate_values(metric, before, weights)
        mean_now = aggregate_values(metric, now, weights)
        if mean_before is None or mean_now is None:
            return None
        change_count = sum(weight > 0 for weight in weights) or len(rows)
        lowest = highest = mean_before
        if columns.has_repeats(Side.BEFORE) and not is_percentile:
            repeats = [
                columns.get_repeats(metric, Side.BEFORE, change.row) for change, _, _ in rows
            ]
            means = []
            # If queries have different numbers of repeats, the smallest number counts.
            for repeat in zip(*repeats, strict=False):
                mean = aggregate_values(metric, repeat, weights)
                means.append(mean_before if mean is None else mean)
            lowest, highest = min(means), max(means)
        return MetricChange(metric, mean_before, mean_now, lowest, highest, change_count)

    def _iterate_pairs(
        self, metric: Metric, is_in_mean: _QueryFilter
    ) -> Iterator[tuple[QueryChange, float, float]]:
        """Yield the changes in a mean with both values, if both are defined."""
        before = self._pairs.columns.get_column(metric, Side.BEFORE)
        now = self._pairs.columns.get_column(metric, Side.NOW)
        for change, value_before, value_now in zip(self.changes, before, now, strict=True):
            if value_before is not None and value_now is not None and is_in_mean(change.query):
                yield change, value_before, value_now

    def suite_value(self, metric: Metric, tag: str = "") -> float | None:
        """Return the metric over all answered queries, with hits in the order as returned.

        Metrics that compare with the baseline are over compared queries, with ties in its order.
        """
        values, weights = self._collect_values(metric, tag)
        return aggregate_values(metric, values, weights)

    def count_values(self, metric: Metric, tag: str = "") -> int:
        """Count the queries (for latencies: calls) that ``suite_value`` is computed over."""
        values, _ = self._collect_values(metric, tag)
        return sum(value is not None for value in values)

    def _collect_values(
        self, metric: Metric, tag: str
    ) -> tuple[list[float | None], list[float] | None]:
        if metric.stage:
            stage = self.get_stage(metric)
            return stage._collect_values(replace(metric, stage=""), tag) if stage else ([], None)
        side = Side.NOW if metric.compares else Side.RETURNED
        queries: Sequence[Query] = self.answered_queries
        if side is Side.NOW:
            queries = [change.query for change in self.changes]
        columns = self._pairs.columns
        is_in_mean = self._create_filter(metric, tag)
        values: list[float | None] = []
        weights: list[float] = []
        if metric.unit == "seconds":
            for row, query in enumerate(queries):
                if is_in_mean(query):
                    values += columns.get_repeats(metric, side, row)
            return values, None
        for query, value in zip(queries, columns.get_column(metric, side), strict=True):
            if is_in_mean(query):
                values.append(value)
                weights.append(get_weight(query, metric))
        return values, weights

    def is_in_mean(self, query: Query, metric: Metric, tag: str = "") -> bool:
        """Return whether a query enters the mean of a metric over the suite or a tag."""
        return self._create_filter(metric, tag)(query)

    def _create_filter(self, metric: Metric, tag: str) -> _QueryFilter:
        return _QueryFilter(
            tag=tag,
            # A variant would count its query several times, but it can be slow or find nothing.
            includes_variants=not metric.needs_judgments or tag == VARIANT_TAG,
            excluded_ids=frozenset() if metric.unit == "seconds" else self._pairs.no_result_ids,
        )

    # -- Changes -----------------------------------------------------------------------------------

    def collect_deltas(
        self, metric: Metric, tag: str = "", *, is_for_mean: bool = False
    ) -> dict[str, list[float]]:
        """Return the changes of queries by test unit, negative for the worse.

        Weights are scaled to a mean of 1, so deltas of several suites can be pooled.

        Args:
            metric: A metric of relevance.
            tag: The tag that a query must have, or empty for all queries.
            is_for_mean: Whether to leave out the queries that ``score`` leaves out.
        """
        if metric.stage:
            stage, plain = self.get_stage(metric), replace(metric, stage="")
            return stage.collect_deltas(plain, tag, is_for_mean=is_for_mean) if stage else {}
        is_in_mean = self._create_filter(metric, tag)
        if not is_for_mean:
            is_in_mean = replace(is_in_mean, includes_variants=True)
        weights: list[float] = []
        scored: list[tuple[str, float]] = []
        sign = 1 if metric.higher_is_better else -1
        for change, value_before, value_now in self._iterate_pairs(metric, is_in_mean):
            delta = sign * (value_now - value_before)
            weights.append(get_weight(change.query, metric))
            scored.append((change.test_unit, delta if abs(delta) > ROUNDING_ERROR else 0.0))
        deltas: dict[str, list[float]] = {}
        total = sum(weights)
        if total > 0:
            scale = len(weights) / total
            for weight, (test_unit, delta) in zip(weights, scored, strict=True):
                deltas.setdefault(test_unit, []).append(delta * weight * scale)
        return deltas

    def collect_gains(self, metric: Metric) -> dict[str, float]:
        """Return how far each compared query changed for the better, by query id."""
        sign = 1 if metric.higher_is_better else -1
        gains = {}
        before, now = self.values(metric, Side.BEFORE), self.values(metric, Side.NOW)
        for query_id, value_before in before.items():
            value_now = now[query_id]
            if value_before is not None and value_now is not None:
                gain = sign * (value_now - value_before)
                gains[query_id] = gain if abs(gain) > ROUNDING_ERROR else 0.0
        return gains

    def list_undecided(self, metric: Metric) -> tuple[QueryChange, ...]:
        """Return the changes that a tie at the end of the rankings leaves undecided."""
        return tuple(
            change for change in self.changes if change.restored and change.is_undecided(metric)
        )

    # -- Documents ---------------------------------------------------------------------------------

    def explain(self, query_id: str) -> QueryAnswers:
        """Return what is known about the answers to a query, to explain its documents."""
        return self._pairs.explain(self.suite.queries_by_id[query_id])

    def list_documents(self, query_id: str) -> tuple[DocChange, ...]:
        """List the documents of both rankings of a query, and relevant ones that are missing."""
        return self.explain(query_id).list_documents()

    def list_query_ids_with_duplicates(self) -> list[str]:
        """Return the ids of queries whose answers contain a document twice."""
        query_ids = list(self.answers)
        return [query_ids[row] for row in self._pairs.columns.list_rows_with_duplicates()]

    def list_unreturned_doc_ids(self) -> tuple[str, ...]:
        """Return the expected documents that no current answer has, to ask ``exists`` about.

        Of a compared query, these are the relevant documents of the baseline and those that rules
        want, since most documents of a large judgment file were never returned.
        """
        if self.suite.settings.match == "text":
            return ()
        doc_ids: dict[str, None] = {}
        for query in self.answered_queries:
            change = self.changes_by_id.get(query.id)
            if change and change.is_unchanged and not query.rules:
                continue
            expected = list_expected_doc_ids(query)
            if change:
                before = {doc_id for ranking in change.before for doc_id in ranking.doc_ids}
                wanted = {doc_id for rule in query.rules for doc_id in rule.wanted_doc_ids}
                expected = [doc_id for doc_id in expected if doc_id in before or doc_id in wanted]
            for doc_id in expected:
                if not any(doc_id in ranking.doc_ids for ranking in self.answers[query.id]):
                    doc_ids[doc_id] = None
        return tuple(doc_ids)


@dataclass(frozen=True)
class _QueryFilter:
    """Decides which queries enter a mean."""

    tag: str
    includes_variants: bool
    excluded_ids: frozenset[str]

    def __call__(self, query: Query) -> bool:
        if self.tag and self.tag not in query.tags:
            return False
        if query.variant_of and not self.includes_variants:
            return False
        return query.id not in self.excluded_ids


class _RankingPairs:
    """The rankings of both sides, from which a comparison computes everything else.

    Args:
        needed_depth: To which depth rankings are evaluated.
    """

    def __init__(
        self,
        suite: Suite,
        run: Run,
        baseline_run: Run | None,
        *,
        needed_depth: int,
        corpus_texts: Mapping[str, str] | None = None,
    ) -> None:
        settings = suite.settings
        self.suite = suite
        self.run = run
        self.baseline_run = baseline_run
        metrics = [suite.primary_metric, *list_metrics(suite)]
        self.columns = MetricColumns(metrics, settings.undefined)
        self.answers: dict[str, tuple[Ranking, ...]] = {}
        self.before: dict[str, tuple[Ranking, ...]] = {}
        self.scores: dict[tuple[Metric, str], MetricChange | None] = {}
        self.values: dict[tuple[Metric, Side], Mapping[str, float | None]] = {}
        self.stages: dict[str, Comparison] = {}
        # Queries that expect no results are in no mean, because no value of theirs is good.
        self.no_result_ids = frozenset(q.id for q in suite.queries if q.expects_no_results)
        self.finds_passages = settings.match == "text"
        self.needed_depth = needed_depth
        self.compared_depth = needed_depth
        for compared_run in (run, baseline_run):
            if compared_run and compared_run.provenance.depth is not None:
                self.compared_depth = min(self.compared_depth, compared_run.provenance.depth)
        self._max_tie_length = int(settings.top_k * MAX_TIE_FRACTION)
        self._corpus_texts = corpus_texts

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Return the titles of documents, current ones first."""
        titles = [self.run.titles]
        if self.baseline_run is not None:
            titles.append(self.baseline_run.titles)
        return ChainMap(*map(dict, titles)) if len(titles) > 1 else titles[0]

    @cached_property
    def corpus(self) -> CorpusTexts | None:
        """Return the corpus, prepared to look for passages."""
        return None if self._corpus_texts is None else CorpusTexts(self._corpus_texts)

    def explain(self, query: Query) -> QueryAnswers:
        """Return what is known about the answers to a query."""
        returned = self.run.answers.get(query.request, (Ranking(),))
        stages = {}
        for name, stage_run in self.run.stages.items():
            if query.request in stage_run.answers:
                stages[name] = stage_run.answers[query.request][0]
        return QueryAnswers(
            query=query,
            before=self.before.get(query.id, ()),
            now=self.answers.get(query.id, ()),
            returned=returned[0],
            stages=stages,
            titles=self.titles,
            missing_doc_ids=self.run.missing_doc_ids,
            corpus=self.corpus,
            top_k=self.suite.settings.top_k,
            finds_passages=self.finds_passages,
        )

    def find_stage_change(self, stage: str, query_id: str) -> QueryChange | None:
        """Return the change of a query in a stage of the retriever."""
        comparison = self.stages.get(stage)
        return comparison.changes_by_id.get(query_id) if comparison else None

    def is_usable(self, query: Query, before: Sequence[Ranking]) -> bool:
        """Return whether baseline answers say whether the passages of a query are in them."""
        if not self.finds_passages:
            return True
        relevant = query.judgments.relevant
        return not any(list_unknown_passages(ranking, relevant) for ranking in before)

    def add_answer(self, query: Query, rankings: Sequence[Ranking]) -> tuple[int, ...]:
        """Add the current rankings of a query, and return their positions in the columns."""
        now = self._prepare(rankings, query, self.needed_depth)
        self.answers[query.id] = now
        positions = self.columns.add(query.judgments, now)
        self.columns.add_row(Side.RETURNED, positions)
        return positions

    def pair(
        self, query: Query, rankings: Sequence[Ranking], positions: tuple[int, ...]
    ) -> QueryChange:
        """Pair the current rankings of a query with those of the baseline."""
        columns, judgments = self.columns, query.judgments
        row = len(self.before)
        before = self._prepare(rankings, query, self.compared_depth)
        self.before[query.id] = before
        now = self.answers[query.id]
        if any(len(ranking.doc_ids) > self.compared_depth for ranking in now):
            now = tuple(ranking.cut(self.compared_depth) for ranking in now)
            positions = columns.add(judgments, now)
        is_unchanged = len(now) == len(before) == 1 and _are_equal(now[0], before[0])
        aligned = now
        restored: dict[str, int] = {}
        if is_unchanged:
            positions_before = positions
        else:
            aligned, restored = self._align(now, before[0], judgments.relevant)
            if aligned is not now:
                positions = columns.add(judgments, aligned)
            # Repeats of the baseline differ by their ties as well.
            aligned_before, _ = self._align(before, before[0], ())
            positions_before = columns.add(judgments, aligned_before)
        columns.add_row(Side.NOW, positions)
        columns.add_row(Side.BEFORE, positions_before)
        columns.add_baseline(judgments, before)
        original = self.suite.queries_by_id.get(query.variant_of, query)
        return QueryChange(
            query, before, now, aligned, original.request, restored, is_unchanged, row, self
        )

    def _prepare(
        self, rankings: Sequence[Ranking], query: Query, depth: int
    ) -> tuple[Ranking, ...]:
        """Return the rankings cut to a depth and, if need be, in terms of passages."""
        if self.finds_passages:
            grades = dict.fromkeys(query.passages, 0.0)
            grades.update(query.judgments.grades)
            return tuple(locate_passages(ranking.cut(depth), grades) for ranking in rankings)
        return tuple(ranking.cut(depth) for ranking in rankings)

    def _align(
        self, rankings: tuple[Ranking, ...], reference: Ranking, relevant: Collection[str]
    ) -> tuple[tuple[Ranking, ...], dict[str, int]]:
        """Return the rankings with ties in the order of the reference, and restored documents."""
        aligned = []
        restored: dict[str, int] = {}
        for ranking in rankings:
            result = align_ties(
                ranking,
                reference,
                self._max_tie_length,
                relevant=relevant,
                requested=self.compared_depth,
            )
            aligned.append(result.ranking)
            restored.update(result.restored)
        is_same = all(map(is_, aligned, rankings))
        return (rankings if is_same else tuple(aligned)), restored


def compare_runs(
    suite: Suite,
    run: Run,
    baseline_run: Run | None = None,
    *,
    is_new: bool = False,
    corpus_texts: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare the answers to the queries of a suite with a baseline.

    Args:
        suite: The queries to compare.
        run: The current answers.
        baseline_run: The answers to compare with.
        is_new: Whether the base branch has an answer to none of the queries.
        corpus_texts: The text of every document or chunk by id, to explain missing passages.
    """
    needed_depth = get_needed_depth(suite, has_baseline=baseline_run is not None)
    pairs = _RankingPairs(
        suite, run, baseline_run, needed_depth=needed_depth, corpus_texts=corpus_texts
    )
    for name in {metric.stage for metric in list_metrics(suite)} & run.stages.keys():
        baseline_stage = baseline_run.stages.get(name) if baseline_run else None
        stage = _RankingPairs(suite, run.stages[name], baseline_stage, needed_depth=maxsize)
        pairs.stages[name] = _compare(stage, is_new)
    return _compare(pairs, is_new)


def _compare(pairs: _RankingPairs, is_new: bool) -> Comparison:
    run, baseline_run = pairs.run, pairs.baseline_run
    baseline_answers = baseline_run.answers if baseline_run else {}
    changes: list[QueryChange] = []
    statuses: dict[str, QueryStatus] = {}
    unusable: list[str] = []
    comparable_count = 0
    for query in pairs.suite.queries:
        request = query.request
        before = baseline_answers.get(request, ())
        if before and not pairs.is_usable(query, before):
            unusable.append(query.id)
            before = ()
        has_baseline = bool(before) and not is_new
        comparable_count += has_baseline
        statuses[query.id] = _find_status(request, run, has_baseline)
        if request in run.answers and request not in run.errors:
            positions = pairs.add_answer(query, run.answers[request])
            if before:
                changes.append(pairs.pair(query, before, positions))
    return Comparison(
        suite=pairs.suite,
        run=run,
        baseline_run=baseline_run,
        changes=tuple(changes),
        statuses=statuses,
        comparable_count=comparable_count,
        is_new=is_new,
        needed_depth=pairs.needed_depth,
        compared_depth=pairs.compared_depth,
        unusable_query_ids=tuple(unusable),
        _pairs=pairs,
    )


def _find_status(request: str, run: Run, has_baseline: bool) -> QueryStatus:
    if request in run.errors:
        is_skipped = run.errors[request].is_skipped
        return QueryStatus.NOT_RUN if is_skipped else QueryStatus.NO_ANSWER
    if request not in run.answers:
        return QueryStatus.NOT_RUN
    return QueryStatus.COMPARED if has_baseline else QueryStatus.NEW


def _are_equal(ranking: Ranking, other: Ranking) -> bool:
    return ranking.doc_ids == other.doc_ids and ranking.passages == other.passages


def get_weight(query: Query, metric: Metric) -> float:
    """Return how much a query counts in the mean of a metric."""
    return query.weight if metric.weighted else 1.0
