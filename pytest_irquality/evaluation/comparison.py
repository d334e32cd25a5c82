"""Comparison of a run with a baseline: pairs of rankings, and how every metric changed.

Metrics are computed from the same pairs of rankings on demand, so a threshold on recall and a
headline on nDCG are certain to read the same rankings.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from statistics import fmean
from sys import maxsize

from pytest_irquality.evaluation.columns import MetricColumns, Side
from pytest_irquality.evaluation.constants import (
    MAX_ABSENT_FRACTION,
    MAX_TIE_FRACTION,
    MIN_PRESENT_FRACTION,
    ROUNDING_ERROR,
    TOP,
)
from pytest_irquality.evaluation.documents import (
    DocChange,
    QueryAnswers,
    list_expected_doc_ids,
)
from pytest_irquality.evaluation.ties import align_ties
from pytest_irquality.metrics import Metric, aggregate_values, compute_overlap
from pytest_irquality.passages import CorpusTexts, list_unknown_passages, locate_passages
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import VARIANT_TAG, Query, Suite

MAX_LISTED_DOCUMENTS = 20


class QueryStatus(Enum):
    """The status of a query in a comparison."""

    COMPARED = "compared"
    NEW = "new"
    NO_ANSWER = "no answer"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class MetricChange:
    """A metric before and now: the mean over repeats and, for a suite, over queries.

    A median over repeats would hide a search that returns nothing every third time.

    Attributes:
        lowest_before: The lowest value among the repeats of the baseline. Current repeats do not
            count, or a search that became nondeterministic would excuse itself.
        highest_before: The highest value among them.
        query_count: Over how many queries the values are.
    """

    metric: Metric
    before: float
    now: float
    lowest_before: float
    highest_before: float
    query_count: int = 1

    @property
    def delta(self) -> float:
        """Return ``now - before``, and 0 if they differ by rounding only."""
        delta = self.now - self.before
        # The mean of equal values can differ from them in the last digit.
        return delta if abs(delta) > ROUNDING_ERROR else 0.0

    @property
    def gain(self) -> float:
        """Return the change for the better: positive if the metric improved, negative if not."""
        return self.delta if self.metric.higher_is_better else -self.delta

    @property
    def is_within_baseline(self) -> bool:
        """Return whether the current mean is within the range of the baseline's answers."""
        is_low = self.now < self.lowest_before - ROUNDING_ERROR
        is_high = self.now > self.highest_before + ROUNDING_ERROR
        return not (is_low or is_high)


@dataclass(frozen=True, eq=False)
class QueryChange:
    """The answers to a query in the baseline and in the current run.

    Attributes:
        query: The query.
        before: The rankings of the baseline, one for each repeat, cut to the compared depth and,
            with ``match: text``, in terms of passages.
        now: The current rankings as returned, cut alike.
        aligned: The current rankings with ties in the baseline's order.
        test_unit: What the query shares with its variants and copies (see ``Comparison``).
        restored: The relevant documents that are taken to be in their old place, because a tie at
            the end of the current ranking may hide them, with this rank.
        is_unchanged: Whether both sides have one and the same ranking.
        row: The row of the query in the columns of compared queries.
    """

    query: Query
    before: tuple[Ranking, ...]
    now: tuple[Ranking, ...]
    aligned: tuple[Ranking, ...]
    test_unit: str
    restored: Mapping[str, int] = field(repr=False)
    is_unchanged: bool
    row: int
    _pairs: _RankingPairs = field(repr=False)

    def score(self, metric: Metric) -> MetricChange | None:
        """Score both sides, or return ``None`` if the metric is undefined."""
        if metric.stage:
            stage = self._pairs.stages.get(metric.stage)
            change = stage.changes_by_id.get(self.query.id) if stage else None
            return change.score(replace(metric, stage="")) if change else None
        columns = self._pairs.columns
        before = columns.get_column(metric, Side.BEFORE)[self.row]
        now = columns.get_column(metric, Side.NOW)[self.row]
        if before is None or now is None:
            return None
        lowest = highest = before
        if len(self.before) > 1:
            repeats = columns.get_repeats(metric, Side.BEFORE, self.row)
            values = [value for value in repeats if value is not None]
            lowest, highest = min(values), max(values)
        return MetricChange(metric, before, now, lowest, highest)

    def is_undecided(self, metric: Metric) -> bool:
        """Return whether a tie at the end of the rankings decides the value of the metric."""
        depth = metric.cutoff or len(self.now[0].doc_ids)
        return any(rank <= depth for rank in self.restored.values())

    @property
    def lost_doc_ids(self) -> tuple[str, ...]:
        """Return the relevant documents of the baseline's top 10, if none is in the top 10 now."""
        return _list_vanished_doc_ids(self, self.before, self.now)

    @property
    def gained_doc_ids(self) -> tuple[str, ...]:
        """Return the relevant documents in the top 10 now, if the baseline had none there."""
        return _list_vanished_doc_ids(self, self.now, self.before)

    @property
    def can_lose(self) -> bool:
        """Return whether the baseline has a relevant document in its top 10."""
        relevant = self.query.judgments.relevant
        tops = [_get_top(ranking) for ranking in self.before]
        return any(_is_present(doc_id, tops) for doc_id in relevant)

    @property
    def overlap(self) -> float:
        """Return the mean overlap@10 of the current rankings with the first of the baseline."""
        if self.is_unchanged:
            return 1.0
        reference = self.before[0].doc_ids
        return fmean(compute_overlap(ranking.doc_ids, reference, TOP) for ranking in self.aligned)

    @property
    def is_first_hit_new(self) -> bool:
        """Return whether no current ranking starts with a document that the baseline had first."""
        known = {ranking.doc_ids[:1] for ranking in self.before}
        return all(ranking.doc_ids[:1] not in known for ranking in self.aligned)

    @property
    def is_newly_empty(self) -> bool:
        """Return whether the query returns nothing now, but always returned hits before."""
        was_empty = not all(ranking.doc_ids for ranking in self.before)
        return not was_empty and not any(ranking.doc_ids for ranking in self.now)

    @property
    def is_reordered(self) -> bool:
        """Return whether a current ranking differs from every ranking of the baseline."""
        if self.is_unchanged:
            return False
        known = {ranking.doc_ids for ranking in self.before}
        return any(ranking.doc_ids not in known for ranking in self.aligned)

    def is_outdated(self, metric: Metric) -> bool:
        """Return whether the baseline no longer describes the current answers.

        With repeats, no ranking may ever recur, so only its value has to be within the range.
        """
        score = self.score(metric) if len(self.before) > 1 else None
        return self.is_reordered if score is None else not score.is_within_baseline

    def list_documents(self) -> tuple[DocChange, ...]:
        """List the documents of both rankings, as ``Comparison.list_documents`` does."""
        return self._pairs.explain(self.query).list_documents(self._pairs.listed_depth)


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
        column = self._pairs.columns.get_column(metric, side)
        if side is Side.RETURNED:
            return dict(zip(self.answers, column, strict=True))
        values = {}
        for change, value in zip(self.changes, column, strict=True):
            values[change.query.id] = value
        return values

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
        return self.explain(query_id).list_documents(self._pairs.listed_depth)

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
    """The rankings of both sides, from which a comparison computes everything else."""

    def __init__(
        self,
        suite: Suite,
        run: Run,
        baseline_run: Run | None,
        corpus_texts: Mapping[str, str] | None,
    ) -> None:
        self.suite = suite
        self.run = run
        self.baseline_run = baseline_run
        self.columns = MetricColumns(list_metrics(suite), suite.settings.undefined)
        self.answers: dict[str, tuple[Ranking, ...]] = {}
        self.before: dict[str, tuple[Ranking, ...]] = {}
        self.scores: dict[tuple[Metric, str], MetricChange | None] = {}
        self.stages: dict[str, Comparison] = {}
        # Queries that expect no results are in no mean, because no value of theirs is good.
        self.no_result_ids = frozenset(q.id for q in suite.queries if q.expects_no_results)
        self.listed_depth = min(max(TOP, suite.settings.top_k), MAX_LISTED_DOCUMENTS)
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
            finds_passages=self.suite.settings.match == "text",
        )


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
    needed_depth = _get_needed_depth(suite, baseline_run is not None)
    comparison = _compare(suite, run, baseline_run, is_new, needed_depth, corpus_texts)
    stage_names = {metric.stage for metric in list_metrics(suite) if metric.stage}
    for name in stage_names & run.stages.keys():
        baseline_stage = baseline_run.stages.get(name) if baseline_run else None
        stage = _compare(suite, run.stages[name], baseline_stage, is_new, None, None)
        comparison._pairs.stages[name] = stage
    return comparison


def _compare(
    suite: Suite,
    run: Run,
    baseline_run: Run | None,
    is_new: bool,
    needed_depth: int | None,
    corpus_texts: Mapping[str, str] | None,
) -> Comparison:
    """Compare a run or a stage of it. Without a needed depth, rankings are not cut."""
    pairs = _RankingPairs(suite, run, baseline_run, corpus_texts)
    baseline_answers = baseline_run.answers if baseline_run else {}
    needed_depth = maxsize if needed_depth is None else needed_depth
    compared_depth = needed_depth
    for compared_run in (run, baseline_run):
        if compared_run and compared_run.provenance.depth is not None:
            compared_depth = min(compared_depth, compared_run.provenance.depth)
    max_tie_length = int(suite.settings.top_k * MAX_TIE_FRACTION)
    finds_passages = suite.settings.match == "text"
    changes: list[QueryChange] = []
    statuses: dict[str, QueryStatus] = {}
    unusable: list[str] = []
    comparable_count = 0
    for query in suite.queries:
        request = query.request
        before = baseline_answers.get(request, ())
        if finds_passages and before and _has_unknown_passages(query, before):
            unusable.append(query.id)
            before = ()
        comparable_count += bool(before) and not is_new
        statuses[query.id] = _find_status(request, run, bool(before) and not is_new)
        if request not in run.answers or request in run.errors:
            continue
        now = _prepare(run.answers[request], query, needed_depth, finds_passages)
        pairs.answers[query.id] = now
        positions = pairs.columns.add(query.judgments, now)
        pairs.columns.add_row(Side.RETURNED, positions)
        if before:
            before = _prepare(before, query, compared_depth, finds_passages)
            pairs.before[query.id] = before
            change = _pair_rankings(
                pairs, query, now, before, positions, compared_depth, max_tie_length, len(changes)
            )
            changes.append(change)
    return Comparison(
        suite=suite,
        run=run,
        baseline_run=baseline_run,
        changes=tuple(changes),
        statuses=statuses,
        comparable_count=comparable_count,
        is_new=is_new,
        needed_depth=needed_depth,
        compared_depth=compared_depth,
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


def _prepare(
    rankings: tuple[Ranking, ...], query: Query, depth: int, finds_passages: bool
) -> tuple[Ranking, ...]:
    """Return the rankings cut to a depth and, if need be, in terms of passages."""
    if finds_passages:
        grades = dict.fromkeys(query.passages, 0.0)
        grades.update(query.judgments.grades)
        return tuple(locate_passages(ranking.cut(depth), grades) for ranking in rankings)
    if any(len(ranking.doc_ids) > depth for ranking in rankings):
        return tuple(ranking.cut(depth) for ranking in rankings)
    return rankings


def _has_unknown_passages(query: Query, rankings: Sequence[Ranking]) -> bool:
    return any(list_unknown_passages(ranking, query.judgments.relevant) for ranking in rankings)


def _pair_rankings(
    pairs: _RankingPairs,
    query: Query,
    now: tuple[Ranking, ...],
    before: tuple[Ranking, ...],
    positions: tuple[int, ...],
    compared_depth: int,
    max_tie_length: int,
    row: int,
) -> QueryChange:
    """Pair the rankings of a query and add both to the columns."""
    columns = pairs.columns
    judgments = query.judgments
    cut = now
    if any(len(ranking.doc_ids) > compared_depth for ranking in now):
        cut = tuple(ranking.cut(compared_depth) for ranking in now)
        positions = columns.add(judgments, cut)
    restored: dict[str, int] = {}
    aligned = cut
    is_unchanged = len(cut) == len(before) == 1 and _are_equal(cut[0], before[0])
    if is_unchanged:
        positions_before = positions
    else:
        relevant = judgments.relevant
        aligned_now = [
            align_ties(
                ranking, before[0], max_tie_length, relevant=relevant, requested=compared_depth
            )
            for ranking in cut
        ]
        for aligned_ranking in aligned_now:
            restored.update(aligned_ranking.restored)
        if any(one.ranking is not own for one, own in zip(aligned_now, cut, strict=True)):
            aligned = tuple(one.ranking for one in aligned_now)
            positions = columns.add(judgments, aligned)
        # Repeats of the baseline differ by their ties as well.
        aligned_before = [before[0]]
        for ranking in before[1:]:
            aligned_before.append(align_ties(ranking, before[0], max_tie_length).ranking)
        positions_before = columns.add(judgments, aligned_before)
    columns.add_row(Side.NOW, positions)
    columns.add_row(Side.BEFORE, positions_before)
    columns.add_baseline(judgments, before)
    test_unit = query.request
    if query.variant_of in pairs.suite.queries_by_id:
        test_unit = pairs.suite.queries_by_id[query.variant_of].request
    return QueryChange(query, before, cut, aligned, test_unit, restored, is_unchanged, row, pairs)


def _are_equal(ranking: Ranking, other: Ranking) -> bool:
    return ranking.doc_ids == other.doc_ids and ranking.passages == other.passages


def _get_needed_depth(suite: Suite, has_baseline: bool) -> int:
    # TODO: import at the top once suite/depth.py (or parser.py) has it.
    try:
        from pytest_irquality.suite import parser

        return parser.get_needed_depth(suite, has_baseline=has_baseline)
    except (ImportError, AttributeError, NotImplementedError):
        cutoffs = [metric.cutoff or 0 for metric in list_metrics(suite)]
        return max(TOP, suite.settings.top_k, suite.settings.depth or 0, *cutoffs)


def list_metrics(suite: Suite) -> tuple[Metric, ...]:
    """Return all metrics that a suite shows or puts a threshold on, and its primary metric."""
    metrics = [suite.primary_metric, *suite.metrics]
    for item in suite.items:
        if item.threshold:
            metrics.append(item.threshold.metric)
    for query in suite.queries:
        metrics += [threshold.metric for threshold in query.thresholds]
    return tuple(dict.fromkeys(metrics))


def get_weight(query: Query, metric: Metric) -> float:
    """Return how much a query counts in the mean of a metric."""
    return query.weight if metric.weighted else 1.0


# -- Lost and gained documents ---------------------------------------------------------------------


def _list_vanished_doc_ids(
    change: QueryChange, before: Sequence[Ranking], now: Sequence[Ranking]
) -> tuple[str, ...]:
    """Return the relevant documents that were present, if all relevant documents are absent."""
    if change.is_unchanged:
        return ()
    tops_now = [_get_top(ranking) for ranking in now]
    tops_before = [_get_top(ranking) for ranking in before]
    vanished = []
    for doc_id in _list_relevant(change.query):
        if _compute_fraction_with(doc_id, tops_now) >= MAX_ABSENT_FRACTION:
            return ()
        if _is_present(doc_id, tops_before):
            vanished.append(doc_id)
    return tuple(vanished)


def _list_relevant(query: Query) -> list[str]:
    """Return the relevant documents, those with the best grade first."""
    grades = query.judgments.grades
    relevant = query.judgments.relevant
    return sorted((doc_id for doc_id in grades if doc_id in relevant), key=lambda d: -grades[d])


def _get_top(ranking: Ranking) -> set[str]:
    """Return the first documents, and the passages in them."""
    top = set(ranking.doc_ids[:TOP])
    for index, passages in ranking.passages.items():
        if index < TOP:
            top.update(passages)
    return top


def _is_present(doc_id: str, tops: Sequence[set[str]]) -> bool:
    return _compute_fraction_with(doc_id, tops) > MIN_PRESENT_FRACTION


def _compute_fraction_with(doc_id: str, tops: Sequence[set[str]]) -> float:
    return sum(doc_id in top for top in tops) / len(tops)
