"""Scores of both sides. Each ranking is scored once, however often it is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import NamedTuple

from pytest_irquality.metrics import Aggregate, Measure, Scores, evaluate
from pytest_irquality.metrics.evaluation import scored, see
from pytest_irquality.metrics.hits import Gains, Hits
from pytest_irquality.metrics.scores import together
from pytest_irquality.retrieval.run import Answer
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.passages import one_gain_each, recall_counts_passages
from pytest_irquality.verdict.sides import Ids, JudgedAnswer, Sides

Row = tuple["float | None", ...]
Rows = Mapping[str, Row]


class Known(NamedTuple):
    """A ranking that was scored: its values, and the ranks of the documents with a positive grade.

    What it scores depends on the passages that its results hold besides, too.
    """

    besides: Mapping[str, str]
    row: Row
    gains: Gains


@dataclass(frozen=True)
class Scoring:
    """Scores rankings by the measures and judgments of a suite, and keeps what each scored.

    It is good for every judging by these, whatever the runs, baselines and limits.
    """

    suite: Suite
    known: dict[tuple[str, Ids], list[Known]] = field(default_factory=dict, repr=False)

    def scores(
        self,
        answer: Answer,
        rankings: Mapping[str, Ids],
        before: Mapping[str, Ids] | None = None,
    ) -> Scores:
        """Every measure of some rankings of an answer, of which ``before`` are the baseline's.

        A query that expects nothing is in no mean; it counts in zero_results only if it wrongly
        finds something.
        """
        rows: dict[str, Row] = {}
        fresh: dict[str, Ids] = {}
        for id, ids in rankings.items():
            if id in self._nothing_expected:
                rows[id] = self._of_nothing_expected(ids)
            elif known := self._known(id, ids, answer.rankings[id].besides):
                rows[id] = known.row
            else:
                fresh[id] = ids
        rows.update(self._scored(answer, fresh))
        scores = Scores(self.suite.measures, rows)
        ranked = {id: ids for id, ids in rankings.items() if id not in self._nothing_expected}
        return self._with_more_than_rankings(scores, answer, ranked, before)

    def judged_ranks(self, answer: JudgedAnswer, query: str) -> Mapping[str, int]:
        """The ranks of the documents of an answer, already scored, that have a positive grade."""
        ids = answer.rankings[query]
        known = self._known(query, ids, answer.given.rankings[query].besides)
        return {ids[rank - 1]: rank for rank, _ in known.gains} if known else {}

    def _known(self, query: str, ids: Ids, besides: Mapping[str, str]) -> Known | None:
        for known in self.known.get((query, ids), ()):
            if known.besides == besides:
                return known
        return None

    @cached_property
    def _nothing_expected(self) -> frozenset[str]:
        return frozenset(query.id for query in self.suite.queries if query.expects_nothing)

    def _of_nothing_expected(self, ids: Ids) -> Row:
        found = float(bool(ids))
        return tuple(found if counts_zero(measure) else None for measure in self.suite.measures)

    def _scored(self, answer: Answer, rankings: Mapping[str, Ids]) -> Rows:
        hits, rows = self._by(self.suite.measures, answer, rankings)
        for id, ids, gains in zip(hits.queries, hits.rankings, hits.gains, strict=True):
            known = Known(answer.rankings[id].besides, rows[id], gains)
            self.known.setdefault((id, tuple(ids)), []).append(known)
        return rows

    def _by(
        self, measures: Sequence[Measure], answer: Answer, rankings: Mapping[str, Ids]
    ) -> tuple[Hits, Rows]:
        suite = self.suite
        hits = see(one_gain_each(suite, answer), rankings.items(), measures, suite.depth)
        scores = scored(hits, measures, undefined=suite.undefined)
        return hits, recall_counts_passages(suite, answer, hits, scores).values

    def _within_budgets(self, scores: Scores, answer: Answer, ranked: Mapping[str, Ids]) -> Scores:
        """The scores with those of measures that have a budget in place of a cutoff."""
        found = {}
        for one in scores.measures:
            if one.budget:
                found[one] = Scores((one,), self._within(one, *one.budget, answer, ranked))
        return with_columns(scores, found)

    def _within(
        self, measure: Measure, unit: str, most: float, answer: Answer, ranked: Mapping[str, Ids]
    ) -> Rows:
        fitting: dict[int, dict[str, Ids]] = {}
        for id, ids in ranked.items():
            k = answer.rankings[id].within(unit, most, self.suite.depth)
            if k is not None:
                fitting.setdefault(k, {})[id] = ids[:k]
        rows: dict[str, Row] = {}
        for k, rankings in fitting.items():
            rows.update(self._by((measure.at(max(k, 1)),), answer, rankings)[1])
        return rows

    def _with_more_than_rankings(
        self,
        scores: Scores,
        answer: Answer,
        ranked: Mapping[str, Ids],
        before: Mapping[str, Ids] | None,
    ) -> Scores:
        """The scores with those of measures that read texts, times, or the baseline."""
        scores = self._within_budgets(scores, answer, ranked)
        measures = [
            one for one in scores.measures if one.unit == "seconds" or one.definition.compares
        ]
        if not measures:
            return scores
        seconds = {id: answer.rankings[id].seconds for id in ranked}
        took = {id: time for id, time in seconds.items() if time is not None}
        found = evaluate({}, ranked, measures, seconds=took, before=before)
        return with_columns(scores, dict.fromkeys(measures, found))


@dataclass(frozen=True)
class ScoredSides:
    """The scores of both sides: of each answer, and the means over the answers of a side.

    Both sides are scored by today's judgments. Measures of a stage before the ranking are scored
    there; single answers have none of them.
    """

    sides: Sides
    scoring: Scoring

    @cached_property
    def stages(self) -> Mapping[str, ScoredSides]:
        """The scores of each stage before the ranking."""
        stages = self.sides.stages
        return {name: ScoredSides(stage, self.scoring) for name, stage in stages.items()}

    @cached_property
    def _churn(self) -> Sequence[Measure]:
        return [one for one in self.sides.suite.measures if one.definition.compares]

    def stage_of(self, measure: Measure) -> ScoredSides | None:
        """The scores of what a measure is taken of; None where nothing is known of that stage."""
        return self.stages.get(measure.stage) if measure.stage else self

    @cached_property
    def answers(self) -> Sequence[Scores]:
        """Scores of each of today's answers as it was returned.

        Measures that compare with the baseline's rankings have ties in their order.
        """
        scores = self.scoring.scores
        returned = [scores(one.given, one.rankings) for one in self.sides.answers]
        if not self._churn or not self.sides.before:
            return returned
        return [
            with_columns(scores, dict.fromkeys(self._churn, compared))
            for scores, compared in zip(returned, self.answers_compared, strict=True)
        ]

    @cached_property
    def answers_compared(self) -> Sequence[Scores]:
        """Scores of today's answers to the queries on both sides, ties as in the baseline."""
        return self._compared(self.sides.answers)

    @cached_property
    def answers_before(self) -> Sequence[Scores]:
        """Scores of the baseline's answers, ties in the order of the first."""
        return self._compared(self.sides.answers_before)

    def _compared(self, answers: Iterable[JudgedAnswer]) -> Sequence[Scores]:
        before = self.sides.before
        return [self.scoring.scores(one.given, one.aligned, before) for one in answers]

    @cached_property
    def now(self) -> Scores:
        """Every measure for every answered query."""
        return self._with_stages(self._mean(self.answers), lambda stage: stage.now)

    @cached_property
    def compared(self) -> Scores:
        """The queries on both sides, ties in the baseline's order."""
        return self._with_stages(self._mean(self.answers_compared), lambda stage: stage.compared)

    @cached_property
    def before(self) -> Scores:
        """The baseline's rankings of these queries, which are compared with nothing.

        A kept ranking has no times. They are today's then, so that no report shows a change.
        """
        nothing = Scores(self.scoring.suite.measures, {})
        columns = dict.fromkeys(self._churn, nothing)
        if not self.sides.tells_noise:
            timed = (one for one in nothing.measures if one.unit == "seconds")
            columns.update(dict.fromkeys(timed, self.now))
        scores = with_columns(self._mean(self.answers_before), columns)
        return self._with_stages(scores, lambda stage: stage.before)

    def _mean(self, answers: Sequence[Scores]) -> Scores:
        return mean_scores(answers) if answers else Scores(self.scoring.suite.measures, {})

    def _with_stages(self, own: Scores, of: Callable[[ScoredSides], Scores]) -> Scores:
        if self.sides.stage:
            return own
        nothing = Scores(own.measures, {})
        known = {name: of(stage) for name, stage in self.stages.items()}
        return with_columns(
            own, {one: known.get(one.stage, nothing) for one in own.measures if one.stage}
        )

    def aggregate(self, measure: Measure, queries: Iterable[Query]) -> Aggregate:
        """A measure over the answered ones of some queries; a latency over all their calls."""
        ids = [
            query.id
            for query in queries
            if query.id in self.sides.rankings and counts(measure, query)
        ]
        stage = self.stage_of(measure)
        if stage is None or measure.unit != "seconds":
            return self.now.aggregate(measure, ids, self.sides.suite.weights)
        return stage._latency(measure, ids)

    def _latency(self, measure: Measure, queries: Sequence[str]) -> Aggregate:
        calls = [
            scores.value(id, measure) if id in scores.values else None
            for scores in self.answers
            for id in queries
        ]
        took = [call for call in calls if call is not None]
        return Aggregate(together(measure.aggregate, took), len(took), len(calls) - len(took))


def counts_zero(measure: Measure) -> bool:
    """Tell whether a measure counts the queries that returned nothing."""
    return measure.definition.name == "zero_results"


def counts(measure: Measure, query: Query) -> bool:
    """Tell whether a query's value enters the measure's mean."""
    return counts_zero(measure) or not query.expects_nothing


def defined_for(suite: Suite, measure: Measure, query: Query) -> bool:
    """Tell whether a query enters the measure's mean, once it is answered."""
    if counts_zero(measure):
        return True
    if query.expects_nothing:
        return False
    return not measure.needs_relevant or suite.defines(query)


def with_columns(scores: Scores, others: Mapping[Measure, Scores]) -> Scores:
    """The scores with those of some measures taken from others.

    None for queries that these lack.
    """
    if not others:
        return scores
    columns = [
        (scores.column_of[measure], other.column_of[measure], other.values)
        for measure, other in others.items()
    ]
    rows = {}
    for id, row in scores.values.items():
        values = list(row)
        for place, column, known in columns:
            values[place] = known[id][column] if id in known else None
        rows[id] = tuple(values)
    return Scores(scores.measures, rows)


def mean_scores(answers: Sequence[Scores]) -> Scores:
    """The mean of several answers' scores.

    A query returns nothing where every answer to it is empty.
    """
    if len(answers) == 1:
        return answers[0]
    measures = answers[0].measures
    draw = [min if counts_zero(measure) else _mean for measure in measures]
    rows = {}
    for id in answers[0].values:
        columns = zip(*(answer.values[id] for answer in answers), strict=True)
        rows[id] = tuple(
            None if None in values else mean(values)
            for mean, values in zip(draw, columns, strict=True)
        )
    return Scores(measures, rows)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
