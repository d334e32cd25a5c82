"""What was measured: a run as the measures see it, beside the baseline's where there is one, and
what both scored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import fsum, inf

from pytest_irquality.metrics import Aggregate, Hits, Measure, Scores
from pytest_irquality.metrics.evaluation import scored, see
from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.metrics.scores import together
from pytest_irquality.retrieval.run import JUDGMENTS, Run
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.findings import Candidate, Cause, Stages
from pytest_irquality.verdict.medians import counted_in, median_ranks
from pytest_irquality.verdict.passages import one_gain_each, ranks_of, recall_counts_passages
from pytest_irquality.verdict.ties import end_in_one_score, in_baseline_order, made_up

KNOWN = 0.1  # the least share of a baseline's documents that today's index or judgments know


@dataclass(frozen=True)
class Measured:
    """A run cut to depth, with duplicates collapsed and queries with faults left out, and its
    scores.

    ``baseline_run`` is what it is compared with. Both sides are scored with today's judgments.
    Where a side has several answers, scores are means over them, and rankings those of the first.
    ``stage``: the run is what this stage before the ranking gave.
    """

    suite: Suite
    run: Run
    baseline_run: Run | None = None
    stage: str = ""

    @property
    def depth(self) -> int:
        """How many results of a query are looked at."""
        return self.suite.depth_of(self.stage)

    @cached_property
    def candidates(self) -> Measured | None:
        """What the first stage gave, measured in the same way; None where nothing is known of it.

        A baseline that holds no query yet holds no candidates either, and lacks none.
        """
        run, then = self.run.stages.get(CANDIDATES), self.baseline_run
        if run is None:
            return None
        before = then and then.stages.get(CANDIDATES)
        if then is not None and before is None and not then.answered:
            before = then
        return Measured(self.suite, run, before, stage=CANDIDATES)

    def staged(self, measure: Measure) -> Measured | None:
        """What a measure is taken of; None where it is of candidates and none are known."""
        return self.candidates if measure.stage else self

    def candidate(self, query: Query, document: str) -> Candidate | None:
        """What the first stage made of a document; None where that is not known."""
        if self.candidates is None or query.id not in self.candidates.rankings:
            return None
        of = len(self.candidates.rankings[query.id])
        return Candidate(self.candidates.ranks(query).get(document), of)

    @cached_property
    def causes(self) -> Sequence[Cause]:
        """Why queries have no ranking, those that failed alike together, the most frequent
        first.
        """
        alike: dict[str, list[str]] = {}
        faults = self.run.faults
        for id, fault in faults.items():
            alike.setdefault(fault.cause, []).append(id)
        groups = sorted(alike.values(), key=len, reverse=True)
        return [Cause(faults[ids[0]].message, tuple(ids)) for ids in groups]

    @cached_property
    def duplicated(self) -> Mapping[str, list[str]]:
        """The documents that a query's ranking holds more than once, in any answer, for the queries
        that have any.
        """
        found: dict[str, list[str]] = {}
        for answer in self.run.answers:
            for id, ranking in answer.rankings.items():
                ids = () if ranking.distinct else ranking.ids[: self.depth]
                if len({*ids}) < len(ids) and id not in found:
                    found[id] = [document for document, times in Counter(ids).items() if times > 1]
        return found

    @cached_property
    def rankings(self) -> Mapping[str, tuple[str, ...]]:
        """What is judged, in the suite's order."""
        return {query.id: self._ranking(query) for query in self._answered}

    @property
    def _answered(self) -> Iterator[Query]:
        return (query for query in self.suite.queries if query.id in self.run.answered)

    def _ranking(self, query: Query) -> tuple[str, ...]:
        return self.run.first.rankings[query.id].collapsed(self.depth)

    @cached_property
    def most_relevant(self) -> int:
        """The largest number of relevant documents that a query has: how deep R-precision reads."""
        return max((len(query.judgments.relevant) for query in self.suite.queries), default=0)

    @cached_property
    def asked(self) -> Sequence[Query]:
        """The queries that were asked, answered or not."""
        return [
            query
            for query in self.suite.queries
            if query.id in self.run.answered or query.id in self.run.faults
        ]

    @cached_property
    def empty(self) -> Sequence[Query]:
        """The queries that returned nothing and should have, in every answer."""
        return [q for q in self.asked if not q.expects_nothing and self.returned(q.id) == 0]

    def returned(self, query: str) -> int | None:
        """How many documents came, at most, in any answer; None for a query that was not
        answered.
        """
        if query not in self.rankings:
            return None
        if self.has_order:
            return len(self.rankings[query])
        return max(len(answer.rankings[query]) for answer in self.answers)

    def returned_before(self, query: str) -> int | None:
        """The same of the baseline."""
        if query not in self.before:
            return None
        if self.baseline_run is None or len(self.baseline_run.answers) == 1:
            return len(self.before[query])
        return max(len(answer.rankings[query]) for answer in self.answers_before)

    @cached_property
    def before(self) -> Mapping[str, tuple[str, ...]]:
        """The baseline's rankings of the queries that have one on both sides: today's own where
        they are the same.
        """
        stored = self.baseline_run.first.rankings if self.baseline_run else {}
        today = self.run.first.rankings
        return {
            id: ids if stored[id].ids == today[id].ids else stored[id].collapsed(self.depth)
            for id, ids in self.rankings.items()
            if id in stored
        }

    @cached_property
    def aligned(self) -> Mapping[str, tuple[str, ...]]:
        """Today's rankings of those queries, ties in the baseline's order: what drops, guards and
        churn look at.
        """
        if not self.before:
            return {}
        stored = self.baseline_run.first.rankings if self.baseline_run else {}
        today = self.run.first.rankings
        if made_up(today.values()) or made_up(stored.values()):
            return {id: self.rankings[id] for id in self.before}
        depth, scaled = self.compared_depth, end_in_one_score(today.values())
        return {
            id: in_baseline_order(
                self.rankings[id], today[id], ids, stored[id], depth, scaled=scaled
            )
            for id, ids in self.before.items()
        }

    @cached_property
    def reordered(self) -> Sequence[str]:
        """The ids of the queries that have another order as returned than the one that is compared.

        Several answers are compared as their means, which have no order.
        """
        if not self.has_order:
            return ()
        return [id for id, ids in self.aligned.items() if ids != self.rankings[id]]

    @cached_property
    def new_judgments(self) -> int:
        """How many judgments the compared queries have more than when the baseline was saved."""
        scored = self.baseline_run.scored if self.baseline_run else {}
        return sum(
            len(self.suite.by_id[id].judgments.grades) - int(scored[id][JUDGMENTS])
            for id in self.before
            if JUDGMENTS in scored.get(id, {})
        )

    @cached_property
    def moved(self) -> Mapping[str, None]:
        """The queries whose rankings changed, ties aside, as deep as both sides were asked for: of
        several answers those that came now and not before, or the other way.
        """
        depth = self.compared_depth
        if self.several:
            sides = (self.answers, self.answers_before)
            now, then = ([answer.aligned for answer in side] for side in sides)
            return {
                id: None
                for id in self.before
                if {ids[id][:depth] for ids in now} != {ids[id][:depth] for ids in then}
            }
        return {
            id: None for id, ids in self.before.items() if ids[:depth] != self.aligned[id][:depth]
        }

    @property
    def compared_depth(self) -> int:
        """The depth of the shallower side."""
        then = self.baseline_run.depth if self.baseline_run else None
        return min(self.depth, then or self.depth)

    @property
    def several(self) -> bool:
        """Whether either side has more than one answer to a query."""
        sides = (self.run, self.baseline_run)
        return any(len(side.answers) > 1 for side in sides if side)

    @property
    def has_order(self) -> bool:
        """Whether today's side is one answer, whose ranking is that of the query."""
        return len(self.run.answers) == 1

    @cached_property
    def answers(self) -> Sequence[Measured]:
        """Each answer of today by itself, beside the baseline's first, whose ties all of them
        follow.
        """
        return self._each_of(self.run)

    @cached_property
    def answers_before(self) -> Sequence[Measured]:
        """The baseline's answers to the queries of both sides in the same way."""
        return self._each_of(self.baseline_run) if self.baseline_run else ()

    def _each_of(self, side: Run) -> Sequence[Measured]:
        then = self.baseline_run
        first = then and replace(then, answers=then.answers[:1])
        ids = self.rankings if side is self.run else self.before
        answers = (replace(side, answers=(one.only(ids),), stages={}) for one in side.answers)
        return [Measured(self.suite, answer, first) for answer in answers]

    @cached_property
    def scores(self) -> Scores:
        """Every measure of the suite for every answered query, the mean over its answers."""
        return self._with_candidates(self._scores, lambda candidates: candidates.scores)

    @property
    def _scores(self) -> Scores:
        if not self.has_order:
            return mean_scores([answer.scores for answer in self.answers])
        scores = self._scored(self.hits, self.run, self.rankings)
        churn = [
            place
            for place, measure in enumerate(self.suite.measures)
            if measure.definition.compares
        ]
        if not churn or not self.before:
            return scores
        values = dict(scores.values)
        for id, row in self._scores_compared.values.items():
            values[id] = tuple(
                row[n] if n in churn else value for n, value in enumerate(values[id])
            )
        return Scores(scores.measures, values)

    @cached_property
    def hits(self) -> Hits:
        """Where the judged documents of today's rankings stand.

        The first look at an id takes longer than all that follow, so a ranking is collapsed and
        searched in one go: whoever reads this first saves one of two such looks.
        """
        scored = [query for query in self._answered if not query.expects_nothing]
        rankings = ((query.id, self._ranking(query)) for query in scored)
        return self._seen(self.run, [query.id for query in scored], rankings)

    @cached_property
    def _place_of(self) -> Mapping[str, int]:
        """Where a query stands among the hits."""
        return {id: place for place, id in enumerate(self.hits.queries)}

    @cached_property
    def scores_before(self) -> Scores:
        """What the baseline's rankings score today, the mean over its answers."""
        if self.baseline_run and len(self.baseline_run.answers) > 1:
            own = mean_scores([answer.scores_compared for answer in self.answers_before])
        else:
            own = self._score_changed(self.baseline_run or self.run, self.before)
        return self._with_candidates(own, lambda candidates: candidates.scores_before)

    @cached_property
    def scores_returned(self) -> Scores:
        """What today's rankings of those queries score as they were returned."""
        own = self._score(self.run, {id: self.rankings[id] for id in self.before}, self.before)
        return self._with_candidates(own, lambda candidates: candidates.scores_returned)

    @cached_property
    def renumbered(self) -> bool:
        """Whether the baseline seems to hold other document ids: hardly any is returned or judged
        today.
        """
        suite = self.suite
        by_id = (id for id in self.before if not suite.reads_texts(suite.by_id[id]))
        top = {document for id in by_id for document in self.before[id][: suite.top_k]}
        judged = (query.judgments.grades for query in self.suite.queries)
        known: set[str] = set()
        for ids in chain(self.rankings.values(), judged):
            if len(known) >= KNOWN * len(top):  # also where passages are found by their words
                return False
            known.update(top.intersection(ids))
        return len(known) < KNOWN * len(top)

    @cached_property
    def scores_compared(self) -> Scores:
        """What today's rankings score with their ties in the baseline's order."""
        own = self._scores_compared
        return self._with_candidates(own, lambda candidates: candidates.scores_compared)

    @cached_property
    def _scores_compared(self) -> Scores:
        if not self.has_order:
            return mean_scores([answer.scores_compared for answer in self.answers])
        return self._score_changed(self.run, self.aligned, self.before)

    def _score_changed(
        self,
        run: Run,
        rankings: Mapping[str, Sequence[str]],
        before: Mapping[str, Sequence[str]] | None = None,
    ) -> Scores:
        """As ``_score``, but for rankings alone: one that is today's scores what that scores."""
        reads_more = any(m.definition.compares or m.unit == "seconds" for m in self.suite.measures)
        if reads_more or self.several or any(map(self.suite.reads_texts, self.suite.queries)):
            return self._score(run, rankings, before)
        known = self.scores.values
        changed = {id: ids for id, ids in rankings.items() if ids != self.rankings[id]}
        scored = self._score(run, changed).values
        values = {id: scored[id] if id in scored else known[id] for id in rankings}
        return Scores(self.scores.measures, values)

    def _with_candidates(self, own: Scores, of: Callable[[Measured], Scores]) -> Scores:
        """The scores, with those of the candidates for the measures that are of them."""
        theirs = [bool(measure.stage) for measure in own.measures]
        if self.stage or not any(theirs):
            return own
        staged = of(self.candidates).values if self.candidates else {}
        nothing = (None,) * len(theirs)
        rows = {
            id: tuple(
                at if is_theirs else value
                for value, at, is_theirs in zip(row, staged.get(id, nothing), theirs, strict=True)
            )
            for id, row in own.values.items()
        }
        return Scores(own.measures, rows)

    def _score(
        self,
        run: Run,
        rankings: Mapping[str, Sequence[str]],
        before: Mapping[str, Sequence[str]] | None = None,
    ) -> Scores:
        by_id = self.suite.by_id
        scored = {id: ids for id, ids in rankings.items() if not by_id[id].expects_nothing}
        hits = self._seen(run, scored, scored.items())
        return self._scored(hits, run, rankings, before)

    def _seen(
        self, run: Run, queries: Iterable[str], rankings: Iterable[tuple[str, Sequence[str]]]
    ) -> Hits:
        qrels = one_gain_each(self.suite, run.first, queries)
        return see(qrels, rankings, self.suite.measures, self.depth)

    def _scored(
        self,
        hits: Hits,
        run: Run,
        rankings: Mapping[str, Sequence[str]],
        before: Mapping[str, Sequence[str]] | None = None,
    ) -> Scores:
        """A query that expects nothing is in no mean; it counts in zero_results only if it wrongly
        finds something.
        """
        suite = self.suite
        ranked = hits.queries
        took = {
            id: seconds
            for id in ranked
            if (seconds := self.run.first.rankings[id].seconds) is not None
        }
        scores = scored(
            hits, suite.measures, undefined=suite.undefined, seconds=took, before=before
        )
        scores = recall_counts_passages(suite, run.first, ranked, rankings, scores)
        empty = {
            id: tuple(
                float(bool(ids)) if counts_zero(measure) else None for measure in suite.measures
            )
            for id, ids in rankings.items()
            if suite.by_id[id].expects_nothing
        }
        return Scores(scores.measures, {**scores.values, **empty})

    def aggregate(self, measure: Measure, queries: Iterable[Query]) -> Aggregate:
        """A measure over the answered ones of some queries; a latency over all their calls."""
        ids = [
            query.id for query in queries if query.id in self.rankings and counts(measure, query)
        ]
        if measure.unit == "seconds" and not self.has_order:
            place = self.suite.column_of[measure]
            calls = [answer.scores.values[id][place] for answer in self.answers for id in ids]
            took = [call for call in calls if call is not None]
            return Aggregate(together(measure.aggregate, took), len(took), len(calls) - len(took))
        return self.scores.aggregate(measure, ids, self.suite.weights)

    def judged_share(self, rankings: Mapping[str, Sequence[str]]) -> tuple[int, int]:
        """How many of the top k results of these rankings somebody graded, and how many there
        are.
        """
        suite, judged, returned = self.suite, 0, 0
        k, queries = suite.top_k, suite.by_id
        for id, ids in rankings.items():
            query, top = queries[id], ids[:k]
            if suite.reads_texts(query):
                continue  # whoever lists passages judges no results
            judged += len(query.judgments.grades.keys() & top)
            returned += len(top)
        return judged, returned

    def is_new(self, query: Query) -> bool:
        """Whether there is a baseline, but none of this query."""
        return self.baseline_run is not None and query.id not in self.baseline_run.answered

    def ranks(self, query: Query) -> dict[str, int]:
        """The rank of each document that a query returned, and of each passage that one of them
        holds besides: the median over its answers.
        """
        if query.id not in self.rankings:
            return {}
        if not self.has_order:
            return median_ranks([answer.ranks(query) for answer in self.answers])
        return ranks_of(self.rankings[query.id], self.run.first.rankings[query.id])

    def ranks_of_judged(self, query: Query) -> Mapping[str, int]:
        """The ranks of the documents alone that have a positive grade: known already."""
        place = self._place_of.get(query.id)
        return {} if place is None else self.hits.ranks(place)

    def ranks_before(self, query: str) -> dict[str, int]:
        """The same of the baseline; empty for a query that it does not have."""
        ids = self.before.get(query, ())
        if ids_in := self._ranks_in_answers_before(query):
            return median_ranks(ids_in)
        return (
            ranks_of(ids, self.baseline_run.first.rankings[query])
            if self.baseline_run and ids
            else {}
        )

    def stages(self, query: Query) -> Stages | None:
        """How far a query's relevant documents got; None where its candidates are not known."""
        relevant = query.judgments.relevant
        if self.candidates is None or query.id not in self.candidates.rankings or not relevant:
            return None
        if query.id not in self.rankings:
            return None
        return self._stages(relevant, self.ranks(query), self.candidates.ranks(query))

    def stages_before(self, query: Query) -> Stages | None:
        """The same of the baseline."""
        relevant = query.judgments.relevant
        if self.candidates is None or query.id not in self.candidates.before or not relevant:
            return None
        ranks, candidates = self.ranks_before(query.id), self.candidates.ranks_before(query.id)
        return self._stages(relevant, ranks, candidates)

    def _stages(
        self, relevant: Collection[str], ranks: Mapping[str, int], candidates: Mapping[str, int]
    ) -> Stages:
        found = {document for document in relevant if ranks.get(document, inf) <= self.suite.top_k}
        sunk = sum(document in candidates for document in relevant if document not in found)
        never = len(relevant) - len(found) - sunk
        return Stages(len(relevant), len(found), sunk, never)

    def _ranks_in_answers_before(self, query: str) -> Sequence[Mapping[str, int]]:
        if (
            query not in self.before
            or self.baseline_run is None
            or len(self.baseline_run.answers) == 1
        ):
            return ()
        asked = self.suite.by_id[query]
        return [answer.ranks(asked) for answer in self.answers_before]

    def often(self, query: Query) -> Mapping[str, int]:
        """How many of a query's answers hold each document; nothing where there is one."""
        if self.has_order or query.id not in self.rankings:
            return {}
        return counted_in(answer.ranks(query) for answer in self.answers)

    def top(self, query: Query) -> tuple[str, ...]:
        """The documents of a query in the order they are shown in: as returned, or by the median of
        their ranks.
        """
        if self.has_order or query.id not in self.rankings:
            return self.rankings.get(query.id, ())
        return tuple(median_ranks([_places(answer, query.id) for answer in self.answers]))

    def top_before(self, query: Query) -> tuple[str, ...]:
        """The same of the baseline."""
        before = self.before.get(query.id, ())
        if not before or self.baseline_run is None or len(self.baseline_run.answers) == 1:
            return before
        return tuple(median_ranks([_places(answer, query.id) for answer in self.answers_before]))

    def lacks_passages(self, document: str) -> bool:
        """Whether it is a result that stands for no passage: under ``match: text`` that is known,
        not unjudged.
        """
        if self.suite.match != "text":
            return False
        then = self.baseline_run.first.texts if self.baseline_run else {}
        return document in self.run.first.texts or document in then

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The titles of documents, as today's results have them or else the baseline's."""
        sides = (self.run.stages.get(CANDIDATES), self.baseline_run, self.run)
        known = [side.first.titles for side in sides if side and side.first.titles]
        if len(known) == 1:
            return known[0]
        return {id: title for titles in known for id, title in titles.items() if title}

    def title(self, document: str) -> str | None:
        """A document's title; None where it has none."""
        return self.titles.get(document) or None


def _places(answer: Measured, query: str) -> Mapping[str, int]:
    return {document: rank for rank, document in enumerate(answer.rankings[query], 1)}


def counts_zero(measure: Measure) -> bool:
    """Whether it counts the queries that returned nothing."""
    return measure.definition.name == "zero_results"


def counts(measure: Measure, query: Query) -> bool:
    """Whether a query's value enters the measure's mean."""
    return counts_zero(measure) or not query.expects_nothing


def defined_for(suite: Suite, measure: Measure, query: Query) -> bool:
    """Whether a query enters the measure's mean, once it is answered."""
    if counts_zero(measure):
        return True
    if query.expects_nothing:
        return False
    return not measure.needs_relevant or suite.undefined == "zero" or bool(query.judgments.relevant)


def mean_scores(answers: Sequence[Scores]) -> Scores:
    """The mean of several answers' scores; a query returns nothing where every answer to it is
    empty.
    """
    measures = answers[0].measures
    draw = [min if counts_zero(measure) else _mean for measure in measures]
    rows = {
        id: tuple(
            None if None in values else together_of(values)
            for together_of, values in zip(
                draw, zip(*(answer.values[id] for answer in answers), strict=True), strict=True
            )
        )
        for id in answers[0].values
    }
    return Scores(measures, rows)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
