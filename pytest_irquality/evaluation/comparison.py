"""Comparison of a run with a baseline: pairs of rankings, and how every metric changed.

Metrics are computed from the same pairs of rankings on demand, so a threshold on recall and a
headline on nDCG are certain to read the same rankings.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from operator import is_
from statistics import fmean
from sys import maxsize

from pytest_irquality.evaluation.constants import MAX_TIE_FRACTION, ROUNDING_ERROR
from pytest_irquality.evaluation.query_changes import (
    DocChange,
    MetricChange,
    QueryAnswers,
    QueryChange,
    QueryStatus,
    list_expected_doc_ids,
)
from pytest_irquality.evaluation.ties import align_ties
from pytest_irquality.metrics import Judgments, Metric, RankingBatch, aggregate_values
from pytest_irquality.passages.diagnosis import CorpusTexts
from pytest_irquality.passages.location import (
    has_shared_hits,
    list_unknown_passages,
    locate_passages,
    score_passages,
)
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import VARIANT_TAG, Query, Suite
from pytest_irquality.suite.parser import get_needed_depth, list_metrics


class Side(Enum):
    """The rankings that a value is computed from.

    Attributes:
        BEFORE: Those of the baseline. Only queries with a baseline have values.
        NOW: The current ones of the same queries, with ties in the baseline's order.
        RETURNED: The current ones of all answered queries, in the order as returned.
    """

    BEFORE = "before"
    NOW = "now"
    RETURNED = "returned"


@dataclass(frozen=True, eq=False)
class Comparison:
    """The status of every query of a suite, and the changes of those with a baseline.

    A query and its variants are one test unit, named by the request of the query, so copies in
    other suites have the same name.

    Attributes:
        answers: The current rankings of each answered query, as they are evaluated, by id.
        changes: One for each answered query with a baseline answer, in the order of the suite.
        statuses: The status of every query of the suite, by id.
        is_new: Whether the suite has new queries only. They are compared with the answers that
            come with them, and nothing else depends on the result.
        needed_depth: To which depth current rankings are evaluated.
        compared_depth: To which depth both sides are compared, which is less if a run is shallower.
        unusable_query_ids: Queries whose baseline answer is of no use, because it was stored
            without texts before the suite had their passages.
        corpus_texts: The text of every document or chunk by id, if known.
        stages: The comparisons of the stages of the retriever that metrics score, by name.
    """

    suite: Suite
    run: Run = field(repr=False)
    baseline_run: Run | None = field(repr=False)
    answers: Mapping[str, tuple[Ranking, ...]] = field(repr=False)
    changes: tuple[QueryChange, ...] = field(repr=False)
    statuses: Mapping[str, QueryStatus] = field(repr=False)
    is_new: bool
    needed_depth: int
    compared_depth: int
    unusable_query_ids: tuple[str, ...]
    corpus_texts: Mapping[str, str] | None = field(repr=False)
    stages: Mapping[str, Comparison] = field(repr=False)
    _columns: MetricColumns = field(repr=False)
    _values: dict[tuple[Metric, Side], dict[str, float | None]] = field(
        default_factory=dict, repr=False
    )
    _scores: dict[tuple[Metric, str], MetricChange | None] = field(default_factory=dict, repr=False)

    @cached_property
    def changes_by_id(self) -> Mapping[str, QueryChange]:
        """Return the changes by the id of their query."""
        return {change.query.id: change for change in self.changes}

    @cached_property
    def answered_queries(self) -> tuple[Query, ...]:
        """Return the queries with an answer, in the order of the suite."""
        return tuple(query for query in self.suite.queries if query.id in self.answers)

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Return the titles of documents, current ones first."""
        if self.baseline_run is None:
            return self.run.titles
        return ChainMap(dict(self.run.titles), dict(self.baseline_run.titles))

    @cached_property
    def corpus(self) -> CorpusTexts | None:
        """Return the corpus, prepared to look for passages, if its texts are known."""
        return None if self.corpus_texts is None else CorpusTexts(self.corpus_texts)

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
        return self.stages.get(metric.stage) if metric.stage else self

    def values(self, metric: Metric, side: Side) -> Mapping[str, float | None]:
        """Return the value of each query, the mean over its repeats, by query id."""
        if metric.stage:
            stage = self.get_stage(metric)
            return stage.values(replace(metric, stage=""), side) if stage else {}
        if (metric, side) not in self._values:
            query_ids = self.answers if side is Side.RETURNED else self.changes_by_id
            column = self._columns.get_column(metric, side)
            self._values[metric, side] = dict(zip(query_ids, column, strict=True))
        return self._values[metric, side]

    def score(self, metric: Metric, tag: str = "") -> MetricChange | None:
        """Return the metric over the compared queries of the suite or of a tag.

        Suite means leave variants out, and those of the tag ``variant`` do not. Latencies are over
        all calls.
        """
        if metric.stage:
            stage = self.get_stage(metric)
            return stage.score(replace(metric, stage=""), tag) if stage else None
        if (metric, tag) not in self._scores:
            self._scores[metric, tag] = self._compute_score(metric, tag)
        return self._scores[metric, tag]

    def _compute_score(self, metric: Metric, tag: str) -> MetricChange | None:
        columns = self._columns
        is_latency = metric.unit == "seconds"
        query_ids = self.list_query_ids_in_mean(metric, tag)
        changes: list[QueryChange] = []
        before: list[float | None] = []
        now: list[float | None] = []
        for change, value_before, value_now in self._iterate_pairs(metric):
            if change.query.id not in query_ids:
                continue
            changes.append(change)
            if is_latency:
                before += columns.get_repeats(metric, Side.BEFORE, change.row)
                now += columns.get_repeats(metric, Side.NOW, change.row)
            else:
                before.append(value_before)
                now.append(value_now)
        weights = [] if is_latency else [_get_weight(change.query, metric) for change in changes]
        mean_before = aggregate_values(metric, before, weights)
        mean_now = aggregate_values(metric, now, weights)
        if mean_before is None or mean_now is None:
            return None
        lowest = highest = mean_before
        if columns.has_repeats(Side.BEFORE) and not is_latency:
            repeats = [columns.get_repeats(metric, Side.BEFORE, each.row) for each in changes]
            means = []
            # If queries have different numbers of repeats, the smallest number counts.
            for repeat in zip(*repeats, strict=False):
                mean = aggregate_values(metric, repeat, weights)
                means.append(mean_before if mean is None else mean)
            lowest, highest = min(means), max(means)
        query_count = sum(weight > 0 for weight in weights) or len(changes)
        return MetricChange(metric, mean_before, mean_now, lowest, highest, query_count)

    def _iterate_pairs(self, metric: Metric) -> Iterator[tuple[QueryChange, float, float]]:
        """Yield the changes with the values of both sides, if both are defined."""
        before = self._columns.get_column(metric, Side.BEFORE)
        now = self._columns.get_column(metric, Side.NOW)
        for change, value_before, value_now in zip(self.changes, before, now, strict=True):
            if value_before is not None and value_now is not None:
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
        query_ids = self.list_query_ids_in_mean(metric, tag)
        values: list[float | None] = []
        weights: list[float] = []
        if metric.unit == "seconds":
            for row, query in enumerate(queries):
                if query.id in query_ids:
                    values += self._columns.get_repeats(metric, side, row)
            return values, None
        for query, value in zip(queries, self._columns.get_column(metric, side), strict=True):
            if query.id in query_ids:
                values.append(value)
                weights.append(_get_weight(query, metric))
        return values, weights

    def list_query_ids_in_mean(
        self, metric: Metric, tag: str = "", *, includes_variants: bool = False
    ) -> Collection[str]:
        """Return the queries of the suite or of a tag that enter the mean of a metric."""
        # A variant would count its query several times, but it can be slow or find nothing.
        is_about_variants = not metric.needs_judgments or tag == VARIANT_TAG
        includes_variants = includes_variants or is_about_variants
        query_ids = set()
        for query in self.suite.queries:
            has_tag = not tag or tag in query.tags
            if has_tag and (includes_variants or not query.variant_of):
                query_ids.add(query.id)
        # No value of a query that expects no results is good, but its latency counts.
        if metric.unit != "seconds":
            query_ids.difference_update(self._no_result_ids)
        return query_ids

    @cached_property
    def _no_result_ids(self) -> list[str]:
        return [query.id for query in self.suite.queries if query.expects_no_results]

    # -- Changes -----------------------------------------------------------------------------------

    def collect_gains(self, metric: Metric) -> dict[str, float]:
        """Return how far each compared query changed for the better, by query id."""
        if metric.stage:
            stage = self.get_stage(metric)
            return stage.collect_gains(replace(metric, stage="")) if stage else {}
        sign = 1 if metric.higher_is_better else -1
        gains = {}
        for change, value_before, value_now in self._iterate_pairs(metric):
            gain = sign * (value_now - value_before)
            gains[change.query.id] = gain if abs(gain) > ROUNDING_ERROR else 0.0
        return gains

    def collect_deltas(
        self, metric: Metric, tag: str = "", *, includes_variants: bool = True
    ) -> dict[str, list[float]]:
        """Return the changes of queries by test unit, negative for the worse.

        Weights are scaled to a mean of 1, so deltas of several suites can be pooled.

        Args:
            metric: A metric of relevance.
            tag: The tag that a query must have, or empty for all queries.
            includes_variants: Whether variants count, which ``score`` leaves out.
        """
        if metric.stage:
            stage, plain = self.get_stage(metric), replace(metric, stage="")
            if stage is None:
                return {}
            return stage.collect_deltas(plain, tag, includes_variants=includes_variants)
        gains = self.collect_gains(metric)
        query_ids = self.list_query_ids_in_mean(metric, tag, includes_variants=includes_variants)
        changes = []
        for change in self.changes:
            if change.query.id in gains and change.query.id in query_ids:
                changes.append(change)
        total = sum(_get_weight(change.query, metric) for change in changes)
        deltas: dict[str, list[float]] = {}
        if total > 0:
            scale = len(changes) / total
            for change in changes:
                delta = gains[change.query.id] * _get_weight(change.query, metric) * scale
                deltas.setdefault(change.test_unit, []).append(delta)
        return deltas

    def list_undecided(self, metric: Metric) -> tuple[QueryChange, ...]:
        """Return the changes that a tie at the end of the rankings leaves undecided."""
        return tuple(change for change in self.changes if change.is_undecided(metric))

    # -- Documents ---------------------------------------------------------------------------------

    def explain(self, query_id: str) -> QueryAnswers:
        """Return what is known about the answers to a query, to explain its documents."""
        query = self.suite.queries_by_id[query_id]
        change = self.changes_by_id.get(query_id)
        returned = self.run.answers.get(query.request, (Ranking(),))
        stages = {}
        for name, stage_run in self.run.stages.items():
            if query.request in stage_run.answers:
                stages[name] = stage_run.answers[query.request][0]
        return QueryAnswers(
            query=query,
            before=change.before if change else (),
            now=self.answers.get(query_id, ()),
            returned=returned[0],
            stages=stages,
            titles=self.titles,
            missing_doc_ids=self.run.missing_doc_ids,
            corpus=self.corpus,
            top_k=self.suite.settings.top_k,
            finds_passages=self.suite.settings.match == "text",
        )

    def list_documents(self, query_id: str) -> tuple[DocChange, ...]:
        """List the documents of both rankings of a query, and relevant ones that are missing."""
        return self.explain(query_id).list_documents()

    def list_query_ids_with_duplicates(self) -> list[str]:
        """Return the ids of queries whose answers contain a document twice."""
        query_ids = list(self.answers)
        return [query_ids[row] for row in self._columns.list_rows_with_duplicates()]

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


def _get_weight(query: Query, metric: Metric) -> float:
    """Return how much a query counts in the mean of a metric."""
    return query.weight if metric.weighted else 1.0


# -- Values of metrics -----------------------------------------------------------------------------


class MetricColumns:
    """The rankings of all queries of a suite, and the values of metrics for them.

    An unchanged ranking is scored once for both sides. A column is computed when it is first read,
    and ``RankingBatch`` finds the judged documents of all rankings once for all metrics.

    Rows of ``RETURNED`` are answered queries. Rows of ``BEFORE`` and ``NOW`` are compared ones.

    Args:
        metrics: The metrics that will be read, so that rankings are searched only once.
        undefined: What a query without relevant documents scores (see ``RankingBatch.score``).
    """

    def __init__(self, metrics: Sequence[Metric], undefined: str) -> None:
        self._metrics = metrics
        self._undefined = undefined
        self._judgments: list[Judgments] = []
        self._rankings: list[Ranking] = []
        self._rows: dict[Side, list[tuple[int, ...]]] = {side: [] for side in Side}
        self._baseline_rows: list[tuple[Judgments, Sequence[Ranking]]] = []
        self._batch: RankingBatch | None = None
        self._scores: dict[Metric, list[float | None]] = {}
        self._columns: dict[tuple[Metric, Side], list[float | None]] = {}

    def add(self, judgments: Judgments, rankings: Sequence[Ranking]) -> tuple[int, ...]:
        """Add the rankings of a query and return their positions."""
        start = len(self._rankings)
        self._rankings += rankings
        if len(rankings) == 1:
            self._judgments.append(judgments)
            return (start,)
        self._judgments += [judgments] * len(rankings)
        return tuple(range(start, len(self._rankings)))

    def add_row(self, side: Side, positions: tuple[int, ...]) -> None:
        """Add the next row of a side."""
        self._rows[side].append(positions)

    def add_baseline(self, judgments: Judgments, before: Sequence[Ranking]) -> None:
        """Add the baseline's rankings of the next compared row."""
        self._baseline_rows.append((judgments, before))

    def get_column(self, metric: Metric, side: Side) -> list[float | None]:
        """Return the value of each row, the mean over its repeats."""
        # Weights do not change the values of queries, so both spellings share a column.
        plain = replace(metric, weighted=False) if metric.weighted else metric
        key = (plain, side)
        if key not in self._columns:
            self._columns[key] = self._compute_column(plain, side)
        return self._columns[key]

    def _compute_column(self, metric: Metric, side: Side) -> list[float | None]:
        rows = self._rows[side]
        if side is Side.BEFORE:
            if metric.compares:
                return [None] * len(rows)
            if metric.unit == "seconds" or metric.budget:
                return self._baseline_columns.get_column(metric, Side.RETURNED)
        scores = self._score(metric)
        if not self.has_repeats(side):
            return [scores[positions[0]] for positions in rows]
        column: list[float | None] = []
        for positions in rows:
            values = [scores[position] for position in positions]
            defined = [value for value in values if value is not None]
            column.append(fmean(defined) if defined else None)
        return column

    def get_repeats(self, metric: Metric, side: Side, row: int) -> list[float | None]:
        """Return the value of each repeat of a row."""
        plain = replace(metric, weighted=False) if metric.weighted else metric
        if side is Side.BEFORE and (plain.unit == "seconds" or plain.budget):
            return self._baseline_columns.get_repeats(plain, Side.RETURNED, row)
        scores = self._score(plain)
        return [scores[position] for position in self._rows[side][row]]

    def score_row(self, metric: Metric, row: int) -> MetricChange | None:
        """Return the change of a compared query, or ``None`` if the metric is undefined."""
        before = self.get_column(metric, Side.BEFORE)[row]
        now = self.get_column(metric, Side.NOW)[row]
        if before is None or now is None:
            return None
        lowest = highest = before
        if len(self._rows[Side.BEFORE][row]) > 1:
            repeats = self.get_repeats(metric, Side.BEFORE, row)
            values = [value for value in repeats if value is not None]
            lowest, highest = min(values), max(values)
        return MetricChange(metric, before, now, lowest, highest)

    def list_rows_with_duplicates(self) -> list[int]:
        """Return the current rows with a document twice, as deep as metrics read."""
        if self._batch is None:
            self._batch = self._create_batch()
        distinct = self._batch.judged_rankings.rankings
        rows = []
        for row, positions in enumerate(self._rows[Side.RETURNED]):
            # The search for judged documents copies only rankings with duplicates.
            if any(distinct[at] is not self._rankings[at].doc_ids for at in positions):
                rows.append(row)
        return rows

    def has_repeats(self, side: Side) -> bool:
        """Return whether any query of a side has several answers."""
        return any(len(positions) > 1 for positions in self._rows[side])

    @cached_property
    def _baseline_columns(self) -> MetricColumns:
        """The baseline's rankings by themselves, for what equal rankings may differ in."""
        columns = MetricColumns(self._metrics, self._undefined)
        for judgments, rankings in self._baseline_rows:
            columns.add_row(Side.RETURNED, columns.add(judgments, rankings))
        return columns

    def _score(self, metric: Metric) -> list[float | None]:
        """Return the value of every ranking, by position."""
        if metric not in self._scores:
            if self._batch is None:
                self._batch = self._create_batch()
            scores = self._batch.score(metric, self._undefined)
            if metric.needs_judgments and not metric.budget:
                self._score_shared_hits(metric, scores)
            self._scores[metric] = scores
        return self._scores[metric]

    def _create_batch(self) -> RankingBatch:
        baseline_rankings: list[Sequence[str] | None] = [None] * len(self._rankings)
        for row, (_, before) in enumerate(self._baseline_rows):
            for position in self._rows[Side.NOW][row]:
                baseline_rankings[position] = before[0].doc_ids
        batch = RankingBatch(
            self._judgments,
            [ranking.doc_ids for ranking in self._rankings],
            seconds=[ranking.seconds for ranking in self._rankings],
            baseline_rankings=baseline_rankings,
            sizes=[ranking.sizes for ranking in self._rankings],
        )
        batch.prepare(self._metrics)
        return batch

    def _score_shared_hits(self, metric: Metric, scores: list[float | None]) -> None:
        """Score rankings in which a hit contains several passages, which a batch cannot know."""
        for position, ranking in enumerate(self._rankings):
            if ranking.passages and has_shared_hits(ranking):
                judgments = self._judgments[position]
                values = score_passages([metric], judgments, ranking, undefined=self._undefined)
                scores[position] = values[0]


# -- Pairs of rankings -----------------------------------------------------------------------------


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
    stages = {}
    for name in {metric.stage for metric in list_metrics(suite)} & run.stages.keys():
        baseline_stage = baseline_run.stages.get(name) if baseline_run else None
        pairing = _Pairing(suite, run.stages[name], baseline_stage, needed_depth=maxsize)
        stages[name] = pairing.compare(is_new=is_new)
    needed_depth = get_needed_depth(suite, has_baseline=baseline_run is not None)
    pairing = _Pairing(suite, run, baseline_run, needed_depth=needed_depth)
    return pairing.compare(is_new=is_new, corpus_texts=corpus_texts, stages=stages)


class _Pairing:
    """Pairs the rankings of both runs, query by query.

    Args:
        needed_depth: To which depth rankings are evaluated.
    """

    def __init__(
        self, suite: Suite, run: Run, baseline_run: Run | None, *, needed_depth: int
    ) -> None:
        self.suite = suite
        self.run = run
        self.baseline_run = baseline_run
        self.needed_depth = needed_depth
        self.compared_depth = needed_depth
        for compared_run in (run, baseline_run):
            if compared_run and compared_run.provenance.depth is not None:
                self.compared_depth = min(self.compared_depth, compared_run.provenance.depth)
        self.finds_passages = suite.settings.match == "text"
        self._max_tie_length = int(suite.settings.top_k * MAX_TIE_FRACTION)
        metrics = [suite.primary_metric, *list_metrics(suite)]
        self._columns = MetricColumns(metrics, suite.settings.undefined)
        self._answers: dict[str, tuple[Ranking, ...]] = {}
        self._changes: list[QueryChange] = []

    def compare(
        self,
        *,
        is_new: bool,
        corpus_texts: Mapping[str, str] | None = None,
        stages: Mapping[str, Comparison] | None = None,
    ) -> Comparison:
        """Compare the answers to all queries."""
        run = self.run
        baseline_answers = self.baseline_run.answers if self.baseline_run else {}
        statuses: dict[str, QueryStatus] = {}
        unusable: list[str] = []
        for query in self.suite.queries:
            request = query.request
            before = baseline_answers.get(request, ())
            if self.finds_passages and _has_unknown_passages(query, before):
                unusable.append(query.id)
                before = ()
            statuses[query.id] = _find_status(request, run, bool(before) and not is_new)
            if request in run.answers and request not in run.errors:
                self._add(query, run.answers[request], before)
        return Comparison(
            suite=self.suite,
            run=run,
            baseline_run=self.baseline_run,
            answers=self._answers,
            changes=tuple(self._changes),
            statuses=statuses,
            is_new=is_new,
            needed_depth=self.needed_depth,
            compared_depth=self.compared_depth,
            unusable_query_ids=tuple(unusable),
            corpus_texts=corpus_texts,
            stages=stages or {},
            _columns=self._columns,
        )

    def _add(self, query: Query, rankings: Sequence[Ranking], before: Sequence[Ranking]) -> None:
        """Add the current rankings of a query, paired with those of the baseline if there are."""
        now = self._prepare(rankings, query, self.needed_depth)
        self._answers[query.id] = now
        positions = self._columns.add(query.judgments, now)
        self._columns.add_row(Side.RETURNED, positions)
        if before:
            self._changes.append(self._pair(query, now, positions, before))

    def _pair(
        self,
        query: Query,
        now: tuple[Ranking, ...],
        positions: tuple[int, ...],
        baseline_rankings: Sequence[Ranking],
    ) -> QueryChange:
        """Pair current rankings, and their positions in the columns, with those of the baseline."""
        columns, judgments = self._columns, query.judgments
        before = self._prepare(baseline_rankings, query, self.compared_depth)
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
            query=query,
            before=before,
            now=now,
            aligned=aligned,
            test_unit=original.request,
            restored=restored,
            is_unchanged=is_unchanged,
            row=len(self._changes),
            score_row=columns.score_row,
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


def _has_unknown_passages(query: Query, baseline_rankings: Sequence[Ranking]) -> bool:
    """Return whether baseline answers do not say which passages of a query they contain."""
    relevant = query.judgments.relevant
    return any(list_unknown_passages(ranking, relevant) for ranking in baseline_rankings)


def _find_status(request: str, run: Run, has_baseline: bool) -> QueryStatus:
    if request in run.errors:
        is_skipped = run.errors[request].is_skipped
        return QueryStatus.NOT_RUN if is_skipped else QueryStatus.NO_ANSWER
    if request not in run.answers:
        return QueryStatus.NOT_RUN
    return QueryStatus.COMPARED if has_baseline else QueryStatus.NEW


def _are_equal(ranking: Ranking, other: Ranking) -> bool:
    return ranking.doc_ids == other.doc_ids and ranking.passages == other.passages
