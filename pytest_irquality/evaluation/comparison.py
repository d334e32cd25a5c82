"""Comparison of a run with a baseline: pairs of rankings, and how every metric changed.

Metrics are computed from the same pairs of rankings on demand, so a threshold on recall and a
headline on nDCG are certain to read the same rankings.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_
from sys import maxsize

from pytest_irquality.evaluation import constants
from pytest_irquality.evaluation.query_changes import (
    MetricChange,
    MetricColumns,
    QueryChange,
    QueryStatus,
    Side,
)
from pytest_irquality.evaluation.ties import align_ties
from pytest_irquality.io.text import DataPart, DocPart, Part, Text, join, write
from pytest_irquality.metrics import Metric, aggregate_values
from pytest_irquality.passages.diagnosis import (
    CorpusTexts,
    FindingKind,
    PassageFinding,
    diagnose_passage,
)
from pytest_irquality.passages.location import (
    find_ranks,
    list_unknown_passages,
    locate_passages,
)
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import VARIANT_TAG, Query, Suite
from pytest_irquality.suite.parser import get_needed_depth, list_metrics

MAX_LISTED_DOCUMENTS = 20  # of each ranking
# Up to this many documents, a search for each in a ranking is faster than a dict of the ranking.
MAX_SEARCHED_DOCUMENTS = 50


@dataclass(frozen=True, slots=True)  # A report has a dozen for each of thousands of queries.
class DocChange:
    """A document of a query in both rankings.

    With repeats, a rank is the median over the repeats, and the score is of the first repeat.

    Attributes:
        doc_id: The document, or the passage or chunk with ``match: text``.
        grade: Its grade, or ``None`` if it is unjudged.
        rank_before: Its rank in the baseline from 1, or ``None``.
        rank_now: Its current rank in the order as returned, or ``None``.
        score: The retriever's current score.
        finding: Why an expected document is missing or lower, such as ``no longer in the index``.
    """

    doc_id: str
    title: str = ""
    grade: float | None = None
    is_relevant: bool = False
    rank_before: int | None = None
    rank_now: int | None = None
    score: float | None = None
    finding: Text | None = None


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

    def get_stage(self, metric: Metric) -> Comparison:
        """Return the comparison of the stage that a metric scores."""
        return self.stages[metric.stage] if metric.stage else self

    def values(self, metric: Metric, side: Side) -> Mapping[str, float | None]:
        """Return the value of each query, the mean over its repeats, by query id."""
        if metric.stage:
            return self.get_stage(metric).values(replace(metric, stage=""), side)
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
            return self.get_stage(metric).score(replace(metric, stage=""), tag)
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
        for change, value_before, value_now in self._iterate_pairs(metric, tag):
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

    def _iterate_pairs(
        self, metric: Metric, tag: str = ""
    ) -> Iterator[tuple[QueryChange, float, float]]:
        """Yield the changes with the values of both sides, if both are defined."""
        before = self._columns.get_column(metric, Side.BEFORE)
        now = self._columns.get_column(metric, Side.NOW)
        for query in self.suite.list_queries(tag):
            change = self.changes_by_id.get(query.id)
            if change is None:
                continue
            value_before, value_now = before[change.row], now[change.row]
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
            return self.get_stage(metric)._collect_values(replace(metric, stage=""), tag)
        side = Side.NOW if metric.compares else Side.RETURNED
        rows = self._compared_rows if metric.compares else self._answered_rows
        query_ids = self.list_query_ids_in_mean(metric, tag)
        queries = []
        for query in self.suite.list_queries(tag):
            if query.id in rows and query.id in query_ids:
                queries.append(query)
        values: list[float | None] = []
        if metric.unit == "seconds":
            for query in queries:
                values += self._columns.get_repeats(metric, side, rows[query.id])
            return values, None
        column = self._columns.get_column(metric, side)
        values += [column[rows[query.id]] for query in queries]
        return values, [_get_weight(query, metric) for query in queries]

    @cached_property
    def _answered_rows(self) -> Mapping[str, int]:
        return {query_id: row for row, query_id in enumerate(self.answers)}

    @cached_property
    def _compared_rows(self) -> Mapping[str, int]:
        return {change.query.id: change.row for change in self.changes}

    def list_query_ids_in_mean(
        self, metric: Metric, tag: str = "", *, includes_variants: bool = False
    ) -> Collection[str]:
        """Return the queries of the suite or of a tag that enter the mean of a metric."""
        # A variant would count its query several times, but it can be slow or find nothing.
        is_about_variants = not metric.needs_judgments or tag == VARIANT_TAG
        includes_variants = includes_variants or is_about_variants
        query_ids = set()
        # No value of a query that expects no results is good, but its latency counts.
        excluded_ids = self._no_result_ids if metric.unit != "seconds" else ()
        for query in self.suite.list_queries(tag):
            if (includes_variants or not query.variant_of) and query.id not in excluded_ids:
                query_ids.add(query.id)
        return query_ids

    @cached_property
    def _no_result_ids(self) -> frozenset[str]:
        return frozenset(query.id for query in self.suite.queries if query.expects_no_results)

    # -- Changes -----------------------------------------------------------------------------------

    def collect_gains(self, metric: Metric) -> dict[str, float]:
        """Return how far each compared query changed for the better, by query id."""
        if metric.stage:
            return self.get_stage(metric).collect_gains(replace(metric, stage=""))
        sign = 1 if metric.higher_is_better else -1
        gains = {}
        for change, value_before, value_now in self._iterate_pairs(metric):
            gain = sign * (value_now - value_before)
            gains[change.query.id] = gain if abs(gain) > constants.ROUNDING_ERROR else 0.0
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
            plain = replace(metric, stage="")
            stage = self.get_stage(metric)
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

    def list_documents(self, query_id: str) -> tuple[DocChange, ...]:
        """List the first documents of both rankings of a query, then missing expected ones."""
        query = self.suite.queries_by_id[query_id]
        change = self.changes_by_id.get(query_id)
        now = self.answers.get(query_id, ())
        top_k = self.suite.settings.top_k
        limit = min(max(constants.TOP, top_k), MAX_LISTED_DOCUMENTS)
        before = change.before if change else ()
        expected = _list_expected_doc_ids(query)
        expected_ids = set(expected)
        listed = dict.fromkeys((*_list_first(now, limit), *_list_first(before, limit), *expected))
        ranks_before = _find_ranks_of(listed, before)
        ranks_now = _find_ranks_of(listed, now)
        # The score is of the first repeat, in which a document may have another rank.
        first = now[0] if now else Ranking()
        ranks_in_first = ranks_now if len(now) == 1 else find_ranks(first)
        documents = []
        for doc_id in listed:
            rank_before, rank_now = ranks_before.get(doc_id), ranks_now.get(doc_id)
            finding = None
            if doc_id in expected_ids and (rank_now is None or rank_now > top_k):
                finding = self._explain_absence(query, doc_id, rank_before, rank_now)
            rank_in_first = ranks_in_first.get(doc_id)
            score = first.scores[rank_in_first - 1] if first.scores and rank_in_first else None
            documents.append(
                DocChange(
                    doc_id=doc_id,
                    title=self.titles.get(doc_id, ""),
                    grade=query.judgments.grades.get(doc_id),
                    is_relevant=doc_id in query.judgments.relevant,
                    rank_before=rank_before,
                    rank_now=rank_now,
                    score=score,
                    finding=finding,
                )
            )
        return tuple(documents)

    def _explain_absence(
        self, query: Query, doc_id: str, rank_before: int | None, rank_now: int | None
    ) -> Text:
        """Say why an expected document is not among the first results."""
        if self.suite.settings.match == "text":
            return _describe_finding(self.diagnose(query, doc_id))
        if doc_id in self.run.missing_doc_ids:
            return write("no longer in the index" if rank_before else "not in the index")
        if rank_now is not None:
            return write("ranked lower")
        for name, ranking in reversed(list(self._get_stage_rankings(query).items())):
            if doc_id in ranking.doc_ids:
                rank = ranking.doc_ids.index(doc_id) + 1
                return write("not retrieved, but at rank ", rank, " of ", DataPart(name))
        return write("not retrieved")

    def diagnose(self, query: Query, passage: str) -> PassageFinding:
        """Say what happened to a relevant passage."""
        returned = self.run.answers.get(query.request, (Ranking(),))
        return diagnose_passage(
            passage,
            returned[0],
            top_k=self.suite.settings.top_k,
            stages=self._get_stage_rankings(query),
            corpus=self.corpus,
        )

    def _get_stage_rankings(self, query: Query) -> dict[str, Ranking]:
        """Return the rankings of earlier stages by name, in their order."""
        stages = {}
        for name, stage_run in self.run.stages.items():
            if query.request in stage_run.answers:
                stages[name] = stage_run.answers[query.request][0]
        return stages

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
            expected = _list_expected_doc_ids(query)
            if change:
                named = change.doc_ids_before
                for rule in query.rules:
                    named.update(rule.wanted_doc_ids)
                expected = [doc_id for doc_id in expected if doc_id in named]
            for doc_id in expected:
                if not any(doc_id in ranking.doc_ids for ranking in self.answers[query.id]):
                    doc_ids[doc_id] = None
        return tuple(doc_ids)


def _get_weight(query: Query, metric: Metric) -> float:
    """Return how much a query counts in the mean of a metric."""
    return query.weight if metric.weighted else 1.0


# -- Documents -------------------------------------------------------------------------------------


def _list_expected_doc_ids(query: Query) -> list[str]:
    """Return the relevant documents, best first, and then those that rules want."""
    grades = query.judgments.grades
    expected = sorted(query.judgments.relevant)
    expected.sort(key=lambda doc_id: grades.get(doc_id, 0), reverse=True)
    for rule in query.rules:
        expected += rule.wanted_doc_ids
    return list(dict.fromkeys(expected))


def find_median_ranks(rankings: Sequence[Ranking]) -> dict[str, int]:
    """Return the median rank of every document over the repeats, best first.

    A repeat without the document counts as a rank below all others, so a document that fewer than
    half of the repeats have is left out.
    """
    if len(rankings) == 1:
        return find_ranks(rankings[0])
    ranks_by_doc_id: dict[str, list[int]] = {}
    for ranking in rankings:
        for doc_id, rank in find_ranks(ranking).items():
            ranks_by_doc_id.setdefault(doc_id, []).append(rank)
    middle = (len(rankings) - 1) // 2
    medians = {}
    for doc_id, ranks in ranks_by_doc_id.items():
        if len(ranks) > middle:
            medians[doc_id] = sorted(ranks)[middle]
    return dict(sorted(medians.items(), key=lambda item: item[1]))


def _describe_finding(finding: PassageFinding) -> Text:
    """Word what happened to a passage, with chunks, ranks and stages."""
    text = write(finding.kind.value)
    if finding.kind in (FindingKind.FOUND, FindingKind.RANKED_LOWER) and finding.rank:
        text += f" at rank {finding.rank}"
    if finding.kind is FindingKind.SPLIT:
        chunks: list[Part | Text] = []
        for chunk in finding.chunks:
            rank = f" at rank {chunk.rank}" if chunk.rank else ""
            chunks.append(write(DocPart(chunk.chunk_id), rank))
        text += write(" (", join(chunks), "" if finding.is_complete else ", and a part is missing")
        text += ")"
    if finding.stage:
        text += write(", at rank ", finding.stage_rank or 0, " of ", DataPart(finding.stage))
    elif finding.corpus_chunk:
        text += write(", but in the index as chunk ", DocPart(finding.corpus_chunk))
    return text


def _list_first(rankings: Sequence[Ranking], limit: int) -> list[str]:
    """Return the documents down to a (median) rank."""
    if len(rankings) == 1 and not rankings[0].passages:
        return list(rankings[0].doc_ids[:limit])
    return [doc_id for doc_id, rank in find_median_ranks(rankings).items() if rank <= limit]


def _find_ranks_of(doc_ids: Collection[str], rankings: Sequence[Ranking]) -> Mapping[str, int]:
    """Return the (median) ranks of documents, and maybe of others."""
    if len(rankings) != 1 or rankings[0].passages or len(doc_ids) > MAX_SEARCHED_DOCUMENTS:
        return find_median_ranks(rankings)
    # Most documents are at the top, and a thousand others need not be put into a dict for them.
    returned = rankings[0].doc_ids
    ranks = {}
    for doc_id in doc_ids:
        with suppress(ValueError):  # not returned
            ranks[doc_id] = returned.index(doc_id) + 1
    return ranks


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
    for name in {metric.stage for metric in list_metrics(suite) if metric.stage}:
        stage_run = run.stages.get(name, Run())
        baseline_stage = baseline_run.stages.get(name) if baseline_run else None
        pairing = _Pairing(suite, stage_run, baseline_stage, needed_depth=maxsize)
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
        self._max_tie_length = int(suite.settings.top_k * constants.MAX_TIE_FRACTION)
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
            _columns=columns,
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
