"""Compare a run with a baseline: what every query returned before and now, and its values.

Every value is computed from one ``RankingVersion``. Say the baseline of a query is ``a b``, and the
retriever now returns ``b a c`` with equal scores for a and b:

- ``RETURNED`` is ``b a c``. Minimums are about what users see, and no baseline is needed.
- ``ALIGNED`` is ``a b``: cut to the depth of the baseline, because a deeper ranking would seem
  better, and with ties in the order of the baseline, because their order is not a change.
- ``BEFORE`` is ``a b``. If the baseline has repeats, their ties are aligned with the first of them.

The change of a value is always the difference between ``BEFORE`` and ``ALIGNED``. ``QueryChange``
has the rankings that readers see, cut to the same depth: ``before``, ``now`` (as returned) and
``aligned``.

Metrics are computed from the same rankings on demand, so a threshold on recall and a headline on
nDCG are certain to read the same rankings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from pathlib import Path
from statistics import fmean
from sys import maxsize

from pytest_irquality.baselines.trec import is_trec_path
from pytest_irquality.evaluation import constants
from pytest_irquality.evaluation.ties import align_ties
from pytest_irquality.io import dataclass, field
from pytest_irquality.metrics import (
    Judgments,
    Metric,
    RankingBatch,
    aggregate_values,
    compute_overlap,
)
from pytest_irquality.passages import matching
from pytest_irquality.passages.diagnosis import CorpusTexts
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import VARIANT_TAG, Query, Suite
from pytest_irquality.suite.parser import get_needed_depth, list_metrics


class QueryStatus(Enum):
    """The status of a query in a comparison."""

    COMPARED = "compared"
    NEW = "new"
    NO_ANSWER = "no answer"
    NOT_RUN = "not run"


class RankingVersion(Enum):
    """The rankings that a value is computed from.

    Attributes:
        BEFORE: The baseline rankings, with the ties of repeats in the order of the first repeat.
            Only queries with a baseline have values.
        ALIGNED: The current rankings of the same queries, with ties in the baseline's order.
        RETURNED: The current rankings of all answered queries, in the order returned.
    """

    BEFORE = "before"
    ALIGNED = "aligned"
    RETURNED = "returned"


_ValueKey = tuple[Metric, RankingVersion]
_Repeats = dict[str, list[float | None]]  # the value of each repeat, by query id


@dataclass(frozen=True)
class MetricChange:
    """A metric before and now: the mean over repeats and, for a suite, over queries.

    A median over repeats would hide a search that returns nothing every third time.

    Attributes:
        lowest_before: The lowest value among the repeats of the baseline. Current repeats do not
            count, or a search that became nondeterministic would excuse itself.
        highest_before: The highest value among them.
        query_count: The number of queries that the values combine.
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
        return _drop_rounding_error(self.now - self.before)

    @property
    def improvement(self) -> float:
        """Return the change for the better: positive if the metric improved, negative if not."""
        return self.delta if self.metric.higher_is_better else -self.delta

    @property
    def is_within_baseline(self) -> bool:
        """Return whether the current mean is within the range of the baseline's answers."""
        is_low = self.now < self.lowest_before - constants.ROUNDING_ERROR
        is_high = self.now > self.highest_before + constants.ROUNDING_ERROR
        return not (is_low or is_high)


def _drop_rounding_error(delta: float) -> float:
    """Return 0 for a rounding error: the mean of equal values can differ in the last digit."""
    return delta if abs(delta) > constants.ROUNDING_ERROR else 0.0


# -- One query -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class QueryChange:
    """The rankings of a query in the baseline and in the current run.

    Attributes:
        query: The query.
        before: The rankings of the baseline, one for each repeat, cut to the compared depth and,
            with ``match: text``, in terms of passages.
        now: The current rankings as returned, cut to the same depth.
        aligned: The current rankings with ties in the baseline's order.
        test_unit: A name that the query shares with its variants and copies (see ``Comparison``).
        restored: The relevant documents that are taken to be in their old place, because a tie at
            the end of the current ranking may hide them, with this rank.
        is_unchanged: Whether there is one ranking before and one now, and both are equal.
    """

    query: Query
    before: tuple[Ranking, ...]
    now: tuple[Ranking, ...]
    aligned: tuple[Ranking, ...]
    test_unit: str
    restored: Mapping[str, int] = field(repr=False)
    is_unchanged: bool

    @property
    def doc_ids_before(self) -> set[str]:
        """Return the documents of all rankings of the baseline."""
        return {doc_id for ranking in self.before for doc_id in ranking.doc_ids}

    @cached_property
    def lost_doc_ids(self) -> tuple[str, ...]:
        """Return the relevant documents of the baseline's top 10, if none is in the top 10 now."""
        return self._list_vanished_doc_ids(self.before, self.now)

    @cached_property
    def gained_doc_ids(self) -> tuple[str, ...]:
        """Return the relevant documents in the top 10 now, if the baseline had none there."""
        return self._list_vanished_doc_ids(self.now, self.before)

    @property
    def had_relevant_in_top(self) -> bool:
        """Return whether the baseline has a relevant document in its top 10."""
        tops = list(map(_get_top, self.before))
        return any(_is_present(doc_id, tops) for doc_id in self.query.judgments.relevant)

    def _list_vanished_doc_ids(
        self, before: Sequence[Ranking], now: Sequence[Ranking]
    ) -> tuple[str, ...]:
        """Return the relevant documents that were present, best first, if all are absent now."""
        if self.is_unchanged:
            return ()
        tops_before, tops_now = list(map(_get_top, before)), list(map(_get_top, now))
        judgments = self.query.judgments
        vanished = []
        for doc_id in judgments.relevant:
            if _compute_fraction_with(doc_id, tops_now) >= constants.MAX_ABSENT_FRACTION:
                return ()
            if _is_present(doc_id, tops_before):
                vanished.append(doc_id)
        return tuple(sort_by_grade(vanished, judgments))

    @property
    def overlap(self) -> float:
        """Return the mean overlap@10 of the current rankings with the first of the baseline."""
        reference = self.before[0].doc_ids
        return fmean(
            compute_overlap(ranking.doc_ids, reference, constants.TOP) for ranking in self.aligned
        )

    @property
    def is_first_hit_new(self) -> bool:
        """Return whether no current ranking starts with a document that the baseline had first."""
        known = {ranking.doc_ids[:1] for ranking in self.before}
        return all(ranking.doc_ids[:1] not in known for ranking in self.aligned)

    @property
    def is_newly_empty(self) -> bool:
        """Return whether the query returns nothing now, but always returned hits before."""
        was_ever_empty = not all(ranking.doc_ids for ranking in self.before)
        return not was_ever_empty and not any(ranking.doc_ids for ranking in self.now)

    @property
    def is_reordered(self) -> bool:
        """Return whether a current ranking differs from every ranking of the baseline."""
        if self.is_unchanged:
            return False
        known = {ranking.doc_ids for ranking in self.before}
        return any(ranking.doc_ids not in known for ranking in self.aligned)


def sort_by_grade(doc_ids: Iterable[str], judgments: Judgments) -> list[str]:
    """Sort judged documents, those with the best grade first."""
    return sorted(doc_ids, key=lambda doc_id: (-judgments.grades[doc_id], doc_id))


def _get_top(ranking: Ranking) -> set[str]:
    """Return the first documents, and the passages in them."""
    top = set(ranking.doc_ids[: constants.TOP])
    for index, passages in ranking.passages.items():
        if index < constants.TOP:
            top.update(passages)
    return top


def _is_present(doc_id: str, tops: Sequence[set[str]]) -> bool:
    return _compute_fraction_with(doc_id, tops) > constants.MIN_PRESENT_FRACTION


def _compute_fraction_with(doc_id: str, tops: Sequence[set[str]]) -> float:
    return sum(doc_id in top for top in tops) / len(tops)


# -- All queries of a suite ------------------------------------------------------------------------


class _RankingPool:
    """The rankings of all queries of a suite in all versions, which a metric scores in one batch.

    Attributes:
        positions: Where the rankings of each query are in the pool, by version and query id. Equal
            versions share their positions, so these rankings are scored once.
    """

    def __init__(self, suite: Suite) -> None:
        self.positions: dict[RankingVersion, dict[str, tuple[int, ...]]]
        self.positions = {version: {} for version in RankingVersion}
        self._metrics = [suite.primary_metric, *list_metrics(suite)]
        self._undefined = suite.settings.undefined
        self._rankings: list[Ranking] = []
        self._judgments: list[Judgments] = []
        self._references: list[Sequence[str] | None] = []
        self._scores: dict[Metric, list[float | None]] = {}
        self._batch: RankingBatch | None = None

    def add_query(
        self, query: Query, versions: Mapping[RankingVersion, tuple[Ranking, ...]]
    ) -> None:
        """Add the rankings of a query."""
        baseline = versions.get(RankingVersion.BEFORE)
        reference = baseline[0].doc_ids if baseline else None  # for metrics that compare
        positions: dict[int, tuple[int, ...]] = {}
        for version, rankings in versions.items():
            key = id(rankings)  # Comparing the rankings themselves would take longer than scoring.
            if key not in positions:
                start = len(self._rankings)
                self._rankings += rankings
                self._judgments += [query.judgments] * len(rankings)
                self._references += [reference] * len(rankings)
                positions[key] = tuple(range(start, len(self._rankings)))
            self.positions[version][query.id] = positions[key]

    def score(self, metric: Metric) -> list[float | None]:
        """Return the value of every ranking, by position."""
        if metric not in self._scores:
            batch = self._batch or self._create_batch()
            scores = batch.score(metric, self._undefined)
            if metric.needs_judgments and not metric.budget:
                self._score_shared_hits(metric, scores)
            self._scores[metric] = scores
            # A batch has several lists for each ranking. Free them after the last metric.
            self._batch = None if self._scores.keys() >= set(self._metrics) else batch
        return self._scores[metric]

    def _create_batch(self) -> RankingBatch:
        batch = RankingBatch(
            self._judgments,
            [ranking.doc_ids for ranking in self._rankings],
            baseline_rankings=self._references,
            sizes=[ranking.sizes for ranking in self._rankings],
        )
        batch.prepare(self._metrics)
        return batch

    def _score_shared_hits(self, metric: Metric, scores: list[float | None]) -> None:
        """Score rankings in which a hit contains several passages, which a batch cannot know."""
        for position, ranking in enumerate(self._rankings):
            if ranking.passages and matching.has_shared_hits(ranking):
                judgments = self._judgments[position]
                values = matching.score_passages(
                    [metric], judgments, ranking, undefined=self._undefined
                )
                scores[position] = values[0]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The status of every query of a suite, and the changes of those with a baseline.

    A query and its variants are one test unit, named by the request of the query, so copies in
    other suites have the same name.

    Attributes:
        answers: The current rankings of each answered query by its id, cut to the needed depth and,
            with ``match: text``, in terms of passages. (``run.answers`` has them as returned.)
        changes: One for each answered query with a baseline answer, in the order of the suite.
        statuses: The status of every query of the suite, by id.
        is_new: Whether the base branch has no answer to any query. Every status is then ``NEW``,
            even if this change adds a baseline.
        needed_depth: The number of results of a current ranking that are evaluated.
        compared_depth: The number of results that are compared with the baseline. It is smaller
            than ``needed_depth`` if a run is shallower.
        unusable_query_ids: Queries whose baseline answer cannot be compared, because it was stored
            without texts before the suite had their passages.
        corpus: The text of every document or chunk, if known.
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
    corpus: CorpusTexts | None = field(repr=False)
    stages: Mapping[str, Comparison] = field(repr=False)
    _pool: _RankingPool = field(repr=False)
    _repeats: dict[_ValueKey, _Repeats] = field(default_factory=dict, repr=False)
    _values: dict[_ValueKey, dict[str, float | None]] = field(default_factory=dict, repr=False)

    @cached_property
    def compared_search(self) -> str:
        """Return the search that is compared with: another retriever, or the file of a TREC run.

        It is empty if the baseline is an earlier state of the same search.
        """
        return self.suite.baseline_retriever or _get_trec_name(self.baseline_run)

    @cached_property
    def current_search(self) -> str:
        """Return the search that is tested: the retriever, or the file of a TREC run."""
        return _get_trec_name(self.run) or str(self.suite.retriever)

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
        return {**self.baseline_run.titles, **self.run.titles}

    def get_stage(self, metric: Metric) -> Comparison:
        """Return the comparison of the stage that a metric scores, which has no stages itself."""
        return self.stages[metric.stage] if metric.stage and self.stages else self

    def list_query_ids(self, status: QueryStatus) -> tuple[str, ...]:
        """Return the ids of queries with a status, in the order of the suite."""
        statuses = self.statuses
        return tuple(query_id for query_id in statuses if statuses[query_id] is status)

    def list_decided_by_tie(self, metric: Metric) -> list[QueryChange]:
        """Return the changes whose value depends on a tie at the end of the rankings."""
        changes = []
        for change in self.changes:
            depth = metric.cutoff or len(change.now[0].doc_ids)
            if any(rank <= depth for rank in change.restored.values()):
                changes.append(change)
        return changes

    def list_outdated(self, metric: Metric) -> list[QueryChange]:
        """Return the changes whose baseline no longer describes the current answers.

        With repeats, no ranking may ever recur, so only its value has to be within the range.
        """
        outdated = []
        for change in self.changes:
            is_outdated = change.is_reordered
            score = self.compare_query(metric, change.query.id) if len(change.before) > 1 else None
            if score is not None:
                is_outdated = not score.is_within_baseline
            if is_outdated:
                outdated.append(change)
        return outdated

    # -- Values of queries -------------------------------------------------------------------------

    def get_values(self, metric: Metric, version: RankingVersion) -> Mapping[str, float | None]:
        """Return the value of each query, the mean over its repeats, by query id."""
        stage = self.get_stage(metric)
        key = (metric, version)
        values = stage._values.get(key)
        if values is None:
            values = {}
            for query_id, repeats in stage._collect_repeats(metric, version).items():
                values[query_id] = repeats[0] if len(repeats) == 1 else _average(repeats)
            stage._values[key] = values
        return values

    def get_repeats(self, metric: Metric, version: RankingVersion) -> _Repeats:
        """Return the values of each query, one for each repeat, by query id."""
        stage = self.get_stage(metric)
        key = (metric, version)
        if key not in stage._repeats:
            stage._repeats[key] = stage._collect_repeats(metric, version)
        return stage._repeats[key]

    def get_current_values(self, metric: Metric) -> Mapping[str, float | None]:
        """Return the current value of each query, which minimums and maximums are about."""
        return self.get_values(metric, _choose_current_version(metric))

    def _collect_repeats(self, metric: Metric, version: RankingVersion) -> _Repeats:
        repeats: _Repeats = {}
        if metric.unit == "seconds":
            # Equal rankings share their scores, but every call took its own time.
            for query_id, rankings in self._get_rankings(version).items():
                repeats[query_id] = [ranking.seconds for ranking in rankings]
            return repeats
        if metric.definition.compares and version is RankingVersion.BEFORE:
            return {change.query.id: [None] for change in self.changes}
        scores = self._pool.score(metric)
        for query_id, positions in self._pool.positions[version].items():
            repeats[query_id] = [scores[position] for position in positions]
        return repeats

    def _get_rankings(self, version: RankingVersion) -> Mapping[str, Sequence[Ranking]]:
        if version is RankingVersion.BEFORE:
            return {change.query.id: change.before for change in self.changes}
        if version is RankingVersion.ALIGNED:
            return {change.query.id: change.aligned for change in self.changes}
        return self.answers

    def compare_query(self, metric: Metric, query_id: str) -> MetricChange | None:
        """Return the change of a query, or ``None`` if a value is undefined before or now."""
        before = self.get_values(metric, RankingVersion.BEFORE).get(query_id)
        now = self.get_values(metric, RankingVersion.ALIGNED).get(query_id)
        if before is None or now is None:
            return None
        lowest = highest = before
        if len(self.get_stage(metric).changes_by_id[query_id].before) > 1:
            repeats = self.get_repeats(metric, RankingVersion.BEFORE)[query_id]
            defined = [value for value in repeats if value is not None]
            lowest, highest = min(defined), max(defined)
        return MetricChange(metric, before, now, lowest, highest)

    # -- Values of suites and tags -----------------------------------------------------------------

    def list_queries_in_mean(
        self, metric: Metric, tag: str = "", *, includes_variants: bool = False
    ) -> list[Query]:
        """Return the queries of the suite or of a tag that enter the mean of a metric."""
        # Variants would weight their query several times in relevance. Other metrics, such as
        # latency, include them.
        includes_variants |= not metric.needs_judgments or tag == VARIANT_TAG
        # A query that expects no results has no meaningful score, but its latency counts.
        includes_all = metric.unit == "seconds"
        queries = []
        for query in self.suite.list_queries(tag):
            can_have_value = includes_all or query.id not in self._no_result_ids
            if can_have_value and (includes_variants or not query.variant_of):
                queries.append(query)
        return queries

    @cached_property
    def _no_result_ids(self) -> frozenset[str]:
        return frozenset(query.id for query in self.suite.queries if query.expects_no_results)

    def get_mean(self, metric: Metric, tag: str = "") -> float | None:
        """Return the metric over all answered queries, with hits in the order returned.

        Metrics that compare with the baseline are over compared queries, with ties in its order.
        """
        version = _choose_current_version(metric)
        return self._aggregate(metric, version, self._list_with_value(metric, tag, version))

    def compute_repeat_means(self) -> list[float]:
        """Compute the suite's mean of the primary metric for each repeat of all queries."""
        metric = self.suite.primary_metric
        queries = self._list_with_value(metric, "", RankingVersion.RETURNED)
        return self._aggregate_repeats(metric, RankingVersion.RETURNED, queries)

    def count_values(self, metric: Metric, tag: str = "") -> int:
        """Count the queries that ``get_mean`` is computed over."""
        return len(self._list_with_value(metric, tag, _choose_current_version(metric)))

    def compare_means(self, metric: Metric, tag: str = "") -> MetricChange | None:
        """Return the metric over the compared queries of the suite or of a tag.

        Suite means exclude variants, and the mean of the tag ``variant`` includes them. Latencies
        are over all calls.
        """
        compared = (RankingVersion.BEFORE, RankingVersion.ALIGNED)
        queries = self._list_with_value(metric, tag, *compared)
        before = self._aggregate(metric, RankingVersion.BEFORE, queries)
        now = self._aggregate(metric, RankingVersion.ALIGNED, queries)
        if before is None or now is None:
            return None
        means = [before]
        changes = self.get_stage(metric).changes_by_id
        has_repeats = any(len(changes[query.id].before) > 1 for query in queries)
        if has_repeats and metric.unit != "seconds":
            means = self._aggregate_repeats(metric, RankingVersion.BEFORE, queries) or means
        query_count = len(queries)
        if metric.is_weighted:
            query_count = sum(query.weight > 0 for query in queries)
        return MetricChange(metric, before, now, min(means), max(means), query_count)

    def _aggregate_repeats(
        self, metric: Metric, version: RankingVersion, queries: Sequence[Query]
    ) -> list[float]:
        """Combine the values of queries in each repeat, as far as they are defined."""
        repeats = self.get_repeats(metric, version)
        weights = [query.weight for query in queries]
        means = []
        # If queries have different numbers of repeats, the smallest number counts.
        for values in zip(*[repeats[query.id] for query in queries], strict=False):
            mean = aggregate_values(metric, values, weights)
            if mean is not None:
                means.append(mean)
        return means

    def _list_with_value(self, metric: Metric, tag: str, *versions: RankingVersion) -> list[Query]:
        """Return the queries in the mean of a metric that have a value in all these versions."""
        queries = self.list_queries_in_mean(metric, tag)
        for version in versions:
            values = self.get_values(metric, version)
            queries = [query for query in queries if values.get(query.id) is not None]
        return queries

    def _aggregate(
        self, metric: Metric, version: RankingVersion, queries: Sequence[Query]
    ) -> float | None:
        """Combine the values of queries. Percentiles of latencies are over all calls."""
        if metric.unit == "seconds":
            seconds: list[float | None] = []
            for query in queries:
                seconds += self.get_repeats(metric, version)[query.id]
            return aggregate_values(metric, seconds)
        values = self.get_values(metric, version)
        weights = [query.weight for query in queries]
        return aggregate_values(metric, [values[query.id] for query in queries], weights)

    # -- Changes of queries ------------------------------------------------------------------------

    def collect_improvements(self, metric: Metric) -> dict[str, float]:
        """Return the change of each compared query for the better, by query id."""
        sign = 1 if metric.higher_is_better else -1
        values_now = self.get_values(metric, RankingVersion.ALIGNED)
        improvements = {}
        for query_id, before in self.get_values(metric, RankingVersion.BEFORE).items():
            now = values_now[query_id]
            if before is not None and now is not None:
                improvements[query_id] = _drop_rounding_error(sign * (now - before))
        return improvements

    def collect_weighted_improvements(
        self, metric: Metric, tag: str = "", *, includes_variants: bool = True
    ) -> dict[str, list[float]]:
        """Return the improvements of queries times their weights, by test unit.

        Weights are scaled to a mean of 1, so improvements of several suites can be pooled. If the
        metric is not weighted, all weights are 1.

        Args:
            metric: A metric of relevance.
            tag: The tag that a query must have, or empty for all queries.
            includes_variants: Whether variants count. (``compare_means`` leaves them out.)
        """
        improvements = self.collect_improvements(metric)
        weights = {}
        for query in self.list_queries_in_mean(metric, tag, includes_variants=includes_variants):
            if query.id in improvements:
                weights[query.id] = query.weight if metric.is_weighted else 1.0
        total = sum(weights.values())
        weighted: dict[str, list[float]] = {}
        if total > 0:
            changes = self.get_stage(metric).changes_by_id
            for query_id, weight in weights.items():
                improvement = improvements[query_id] * weight * len(weights) / total
                weighted.setdefault(changes[query_id].test_unit, []).append(improvement)
        return weighted


def _choose_current_version(metric: Metric) -> RankingVersion:
    """Return the version that current values of a metric are computed from."""
    # Users see the order returned, but only the aligned order can be compared with the baseline.
    return RankingVersion.ALIGNED if metric.definition.compares else RankingVersion.RETURNED


def _average(repeats: Sequence[float | None]) -> float | None:
    defined = [value for value in repeats if value is not None]
    return fmean(defined) if defined else None


# -- Comparing two runs ----------------------------------------------------------------------------


def _get_trec_name(run: Run | None) -> str:
    """Return the name of the TREC file that a run comes from, or nothing for other runs."""
    path = Path(run.provenance.source if run else "")
    return path.name if is_trec_path(path) else ""


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
        is_new: Whether the base branch has no answer to any query.
        corpus_texts: The text of every document or chunk by id, to explain missing passages.
    """
    stages = {}
    for name in {metric.stage for metric in list_metrics(suite) if metric.stage}:
        stage_run = run.stages.get(name, Run())
        baseline_stage = baseline_run.stages.get(name) if baseline_run else None
        comparer = _Comparer(suite, stage_run, baseline_stage, needed_depth=maxsize)
        stages[name] = comparer.compare(is_new=is_new)
    needed_depth = get_needed_depth(suite, has_baseline=baseline_run is not None)
    comparer = _Comparer(suite, run, baseline_run, needed_depth=needed_depth)
    return comparer.compare(is_new=is_new, corpus_texts=corpus_texts, stages=stages)


class _Comparer:
    """Compares two runs, query by query.

    Args:
        needed_depth: The number of results of a ranking that are evaluated.
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
        self._finds_passages = suite.settings.match == "text"
        self._max_tie_length = int(suite.settings.top_k * constants.MAX_TIE_FRACTION)
        self._pool = _RankingPool(suite)
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
            if self._finds_passages and _has_unknown_passages(query, before):
                unusable.append(query.id)
                before = ()
            statuses[query.id] = _find_status(request, run, bool(before) and not is_new)
            if request in run.answers and request not in run.errors:
                self._add_query(query, run.answers[request], before)
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
            corpus=CorpusTexts(corpus_texts) if corpus_texts else None,
            stages=stages or {},
            _pool=self._pool,
        )

    def _add_query(
        self, query: Query, rankings: Sequence[Ranking], baseline_rankings: Sequence[Ranking]
    ) -> None:
        """Add the current rankings of a query and, if there are any, the baseline rankings."""
        returned = self._answers[query.id] = self._prepare(rankings, query, self.needed_depth)
        before = self._prepare(baseline_rankings, query, self.compared_depth)
        if not before:
            self._pool.add_query(query, {RankingVersion.RETURNED: returned})
            return

        reference = before[0]
        now = returned
        if any(len(ranking.doc_ids) > self.compared_depth for ranking in returned):
            now = tuple(ranking.cut(self.compared_depth) for ranking in returned)
        is_unchanged = len(now) == len(before) == 1 and _are_equal(now[0], reference)
        aligned = aligned_before = now  # Equal rankings are one object, which is scored once.
        restored: dict[str, int] = {}
        if not is_unchanged:
            aligned, restored = self._align(now, reference, query.judgments.relevant)
            # Repeats of the baseline differ by their ties as well.
            aligned_before, _ = self._align(before, reference, ())
        versions = {
            RankingVersion.RETURNED: returned,
            RankingVersion.ALIGNED: aligned,
            RankingVersion.BEFORE: aligned_before,
        }
        self._pool.add_query(query, versions)
        original = self.suite.queries_by_id.get(query.variant_of, query)
        self._changes.append(
            QueryChange(query, before, now, aligned, original.request, restored, is_unchanged)
        )

    def _prepare(
        self, rankings: Sequence[Ranking], query: Query, depth: int
    ) -> tuple[Ranking, ...]:
        """Return the rankings cut to a depth and, if need be, in terms of passages."""
        if self._finds_passages:
            grades = dict.fromkeys(query.passages, 0.0)
            grades.update(query.judgments.grades)
            return tuple(
                matching.locate_passages(ranking.cut(depth), grades) for ranking in rankings
            )
        return tuple(ranking.cut(depth) for ranking in rankings)

    def _align(
        self, rankings: tuple[Ranking, ...], reference: Ranking, relevant: Collection[str]
    ) -> tuple[tuple[Ranking, ...], dict[str, int]]:
        """Return the rankings with ties in the order of the reference, and restored documents."""
        aligned = []
        restored: dict[str, int] = {}
        is_same = True
        for ranking in rankings:
            result = align_ties(
                ranking,
                reference,
                self._max_tie_length,
                relevant=relevant,
                requested_count=self.compared_depth,
            )
            aligned.append(result.ranking)
            restored.update(result.restored)
            is_same = is_same and result.ranking is ranking
        return (rankings if is_same else tuple(aligned)), restored


def _has_unknown_passages(query: Query, baseline_rankings: Sequence[Ranking]) -> bool:
    """Return whether baseline answers lack the record of which passages they contain."""
    relevant = query.judgments.relevant
    return any(matching.list_unknown_passages(ranking, relevant) for ranking in baseline_rankings)


def _find_status(request: str, run: Run, has_baseline: bool) -> QueryStatus:
    if request in run.errors:
        is_skipped = run.errors[request].is_skipped
        return QueryStatus.NOT_RUN if is_skipped else QueryStatus.NO_ANSWER
    if request not in run.answers:
        return QueryStatus.NOT_RUN
    return QueryStatus.COMPARED if has_baseline else QueryStatus.NEW


def _are_equal(ranking: Ranking, other: Ranking) -> bool:
    """Return whether two rankings have equal values of all metrics except latencies."""
    has_same_hits = ranking.doc_ids == other.doc_ids and ranking.passages == other.passages
    return has_same_hits and ranking.sizes == other.sizes
