"""Rankings of both sides as they are judged.

Today's stand beside the baseline's where there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeVar

from pytest_irquality.metrics import Measure
from pytest_irquality.retrieval.run import Answer, Fault, Ranking, Run
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.findings import Cause
from pytest_irquality.verdict.passages import ranks_of, text_in
from pytest_irquality.verdict.ties import (
    Cut,
    cut_of,
    end_in_one_score,
    in_baseline_order,
    made_up,
)

KNOWN = 0.1  # the least share of a baseline's documents that today's index or judgments know

Ids = tuple[str, ...]
Ranks = Mapping[str, int]
T = TypeVar("T")


class JudgedAnswer(NamedTuple):
    """One of a side's answers, with its rankings as they are judged.

    They stand as they were returned, cut to the depth that is looked at, a document that came twice
    where it first stood.

    ``aligned`` are those of the queries on both sides, with ties in the order of the baseline's
    first answer: what drops, guards and churn look at. ``cuts`` are the ties at their ends of which
    others are returned.
    """

    given: Answer
    rankings: Mapping[str, Ids]
    aligned: Mapping[str, Ids]
    cuts: Mapping[str, Cut]

    def ranks(self, query: str) -> Ranks:
        """The rank of each document that a query returned, and of the passages in them."""
        return ranks_of(self.rankings[query], self.given.rankings[query])


class Side(tuple[JudgedAnswer, ...]):
    """The answers of one side, all to the same queries.

    Over several of them a document has the median of its ranks.
    """

    @property
    def builds(self) -> int:
        """The number of builds of the index that the answers are of."""
        return len({answer.given.build for answer in self})

    @cached_property
    def returned(self) -> Mapping[str, int]:
        """The number of documents that each query returned, at most, in any answer."""
        most: dict[str, int] = {}
        for answer in self:
            for id, ids in answer.rankings.items():
                most[id] = max(most.get(id, 0), len(ids))
        return most

    def ranks(self, query: str) -> Ranks:
        """The rank of each document that a query returned, and of the passages in them.

        Empty for a query without an answer.
        """
        return median_ranks([answer.ranks(query) for answer in self.to(query)])

    def often(self, query: str) -> Mapping[str, int]:
        """The number of a query's answers that hold each document."""
        return counted_in(answer.ranks(query) for answer in self.to(query))

    def shown(self, query: str) -> Ids:
        """The documents of a query in the order that people are shown.

        They stand as returned, or by the median of their ranks.
        """
        rankings = [answer.rankings[query] for answer in self.to(query)]
        if len(rankings) == 1:
            return rankings[0]
        ranks = [{document: rank for rank, document in enumerate(ids, 1)} for ids in rankings]
        return tuple(median_ranks(ranks))

    def units(self, of_each: Iterable[T]) -> Sequence[Sequence[T]]:
        """Sort what there is of each answer into units: builds, or the answers of one build."""
        if self.builds < 2:
            return [[one] for one in of_each]
        builds: dict[int, list[T]] = {}
        for answer, one in zip(self, of_each, strict=True):
            builds.setdefault(answer.given.build, []).append(one)
        return list(builds.values())

    def to(self, query: str) -> Sequence[JudgedAnswer]:
        """The answers to a query: all of them or none."""
        return self if self and query in self[0].rankings else ()


@dataclass(frozen=True)
class Sides:
    """Today's run and the baseline's, of the ranking or of a ``stage`` before it.

    A single answer has an order of its own (``has_order``): only of
    it can be said that ties stand otherwise, and which score a document has. Several answers tell
    how far unchanged code wavers (``tells_noise``): what they differ in is no change.
    ``as_returned``: nothing is put into the baseline's order.
    """

    suite: Suite
    run: Run
    baseline_run: Run | None = None
    stage: str = ""
    as_returned: bool = False

    @property
    def has_order(self) -> bool:
        """True where each query of today has one answer, whose ranking its values are of."""
        return len(self.run.answers) == 1

    @cached_property
    def tells_noise(self) -> bool:
        """True where a side has several answers to a query, which unchanged code gave."""
        return any(len(run.answers) > 1 for run in (self.run, self.baseline_run) if run)

    @cached_property
    def stages(self) -> Mapping[str, Sides]:
        """Both sides of each stage before the ranking, as far as today's retriever tells.

        A baseline that holds no query yet holds nothing of stages either, and lacks none.
        """
        then = self.baseline_run
        before = then.stages if then else {}
        if then and not then.answered:
            before = {**dict.fromkeys(self.run.stages, then), **before}
        return {
            name: Sides(self.suite, run, before.get(name), name, self.as_returned)
            for name, run in self.run.stages.items()
        }

    def stage_of(self, measure: Measure) -> Sides | None:
        """The sides that a measure is taken of.

        None where that is a stage of which nothing is known.
        """
        return self.stages.get(measure.stage) if measure.stage else self

    # -- what was asked, and what came -------------------------------------------------------------

    @cached_property
    def depth(self) -> int:
        """The number of a query's results that are looked at."""
        return self.suite.depth_of(self.stage)

    @cached_property
    def compared_depth(self) -> int:
        """The depth of the shallower side."""
        then = self.baseline_run.depth if self.baseline_run else None
        return min(self.depth, then or self.depth)

    @cached_property
    def asked(self) -> Sequence[Query]:
        """The queries that were asked, answered or not."""
        known = self.run.answered | self.run.faults.keys()
        return [query for query in self.suite.queries if query.id in known]

    @cached_property
    def empty(self) -> Sequence[Query]:
        """The queries that returned nothing and should have, in every answer."""
        returned = self.answers.returned
        return [q for q in self.asked if not q.expects_nothing and returned.get(q.id) == 0]

    @cached_property
    def duplicated(self) -> Mapping[str, list[str]]:
        """The documents that a ranking holds more than once, by query.

        The ranking is that of any answer.
        """
        found: dict[str, list[str]] = {}
        for answer in self.run.answers:
            for id, ranking in answer.rankings.items():
                ids = () if ranking.distinct else ranking.ids[: self.depth]
                if len({*ids}) < len(ids) and id not in found:
                    found[id] = [document for document, times in Counter(ids).items() if times > 1]
        return found

    # -- rankings ----------------------------------------------------------------------------------

    @cached_property
    def rankings(self) -> Mapping[str, Ids]:
        """Today's first answer to each query, in the suite's order."""
        rankings, depth = self.run.first.rankings, self.depth
        asked = (query.id for query in self.suite.queries)
        return {id: rankings[id].collapsed(depth) for id in asked if id in rankings}

    @cached_property
    def before(self) -> Mapping[str, Ids]:
        """The baseline's first answer to the queries on both sides.

        A ranking that is today's own is the same object.
        """
        today, then = self.run.first.rankings, self._then
        return {
            id: ids if then[id].ids == today[id].ids else then[id].collapsed(self.depth)
            for id, ids in self.rankings.items()
            if id in then
        }

    @property
    def aligned(self) -> Mapping[str, Ids]:
        """Today's first answer to the queries on both sides, ties in the baseline's order."""
        return self.answers[0].aligned

    @cached_property
    def answers(self) -> Side:
        """Today's answers."""
        return self._side(self.run, self.rankings)

    @cached_property
    def answers_before(self) -> Side:
        """The baseline's answers to the queries on both sides."""
        return self._side(self.baseline_run, self.before) if self.baseline_run else Side()

    def _side(self, run: Run, first: Mapping[str, Ids]) -> Side:
        """The answers of a run to the queries of its ``first`` one."""
        return Side(self.judged(answer, first, run is self.run) for answer in run.answers)

    def judged(self, answer: Answer, first: Mapping[str, Ids], of_today: bool) -> JudgedAnswer:
        """An answer of a side as it is judged."""
        run = self.run if of_today else self.baseline_run
        rankings = first
        if run and answer is not run.first:
            rankings = {id: answer.rankings[id].collapsed(self.depth) for id in first}
        return JudgedAnswer(answer, rankings, *self._aligned(answer, rankings, of_today))

    @property
    def _then(self) -> Mapping[str, Ranking]:
        return self.baseline_run.first.rankings if self.baseline_run else {}

    @cached_property
    def _tells_ties_before(self) -> bool:
        return not (self.as_returned or made_up(self._then.values()))

    def _aligned(
        self, answer: Answer, rankings: Mapping[str, Ids], of_today: bool
    ) -> tuple[Mapping[str, Ids], Mapping[str, Cut]]:
        """The rankings with ties in the baseline's order, and the ties at their ends.

        In the baseline's own answers nothing can be gone.
        """
        given = answer.rankings.values()
        if not self.before or rankings is self.before:
            return self.before, {}
        if made_up(given) or not self._tells_ties_before:
            return {id: rankings[id] for id in self.before}, {}
        asked, scaled = max(self.depth, self.run.depth or 0), end_in_one_score(given)
        depth = self.compared_depth
        aligned: dict[str, Ids] = {}
        cuts: dict[str, Cut] = {}
        for id, old in self.before.items():
            now, then = answer.rankings[id], self._then[id]
            same = self._came_alike(id, answer)
            ids = in_baseline_order(rankings[id], now, old, then, same)
            cut = cut_of(ids, now, old, then, depth=depth, asked=asked, scaled=scaled)
            if cut:
                found = filter(same, cut.found) if of_today else cut.before
                cuts[id] = cut = cut._replace(found=frozenset(found))
                ids = cut.settled(ids, old)
            aligned[id] = ids
        return aligned, cuts

    def _came_alike(self, query: str, answer: Answer) -> Callable[[str], bool]:
        """Give what tells whether a document's result has the text of before, if those are read."""
        if not (self.suite.by_text and self.baseline_run):
            return lambda document: True
        then = self.baseline_run.first

        def came_alike(document: str) -> bool:
            return text_in(answer, query, document) == text_in(then, query, document)

        return came_alike

    # -- what differs ------------------------------------------------------------------------------

    @cached_property
    def reordered(self) -> frozenset[str]:
        """The ids of the queries that have another order as returned than the one that is compared.

        Several answers are compared as their means, which have no order.
        """
        if not self.has_order:
            return frozenset()
        return frozenset(id for id, ids in self.aligned.items() if ids != self.rankings[id])

    @cached_property
    def changed(self) -> Mapping[str, None]:
        """The queries whose rankings changed, ties aside.

        They are looked at as deep as both sides were asked for. Of several answers those count that
        came now and not before, or the other way.
        """
        depth = self.compared_depth
        changed: dict[str, None] = {}
        for id in self.before:
            now = [answer.aligned[id][:depth] for answer in self.answers]
            then = [answer.aligned[id][:depth] for answer in self.answers_before]
            if now != then and {*now} != {*then}:
                changed[id] = None
        return changed

    @cached_property
    def replaced(self) -> frozenset[str]:
        """The queries with other documents than before, be they of equal scores."""
        depth = self.compared_depth
        return frozenset(
            id
            for answer in self.answers
            for id in answer.cuts
            if {*answer.rankings[id][:depth]} != {*self.before[id][:depth]}
        )

    @cached_property
    def unsettled(self) -> Mapping[str, Sequence[str]]:
        """The documents that mattered of which a tie at the cut tells nothing, by query."""
        found: dict[str, Sequence[str]] = {}
        for answer in self.answers if not self.stage else ():
            for id, cut in answer.cuts.items():
                mattered = self._mattering(id, cut.moved(answer.aligned[id]))
                if cut.unknown and mattered:
                    found.setdefault(id, mattered)
        return found

    @property
    def to_settle(self) -> Collection[str]:
        """The queries of which a deeper answer may tell how a tie fell that mattered."""
        return {
            id
            for answer in self.answers
            for id, cut in answer.cuts.items()
            if cut.unknown
            and not ((deeper := answer.given.rankings[id].deeper) and deeper.ids)
            and self._mattering(id, [*cut.moved(answer.aligned[id]), *cut.came])
        }

    def _mattering(self, id: str, documents: Sequence[str]) -> Sequence[str]:
        """The relevant ones; all where nobody said what is, or a limit is on whole rankings."""
        query = self.suite.by_id[id]
        compares = any(measure.definition.compares for measure in self.suite.limited)
        if query.expects_nothing:
            return ()
        if compares or not query.judgments.relevant:
            return documents
        return [document for document in documents if document in query.judgments.relevant]

    @cached_property
    def renumbered(self) -> bool:
        """True where the baseline seems to hold other document ids.

        Then hardly any of them is returned or judged today.
        """
        suite = self.suite
        by_id = () if suite.by_text else self.before
        top = {document for id in by_id for document in self.before[id][: suite.top_k]}
        judged = (query.judgments.grades for query in suite.queries)
        known: set[str] = set()
        for ids in chain(self.rankings.values(), judged):
            if len(known) >= KNOWN * len(top):  # also where passages are found by their words
                return False
            known.update(top.intersection(ids))
        return len(known) < KNOWN * len(top)

    @property
    def unanswered_then(self) -> tuple[str, ...]:
        """The answered queries that the baseline asked, and had no answer to."""
        faults = self.baseline_run.faults if self.baseline_run else {}
        return tuple(id for id in self.rankings if id in faults)

    @property
    def new(self) -> tuple[str, ...]:
        """The answered queries that the baseline never asked."""
        return tuple(id for id in self.rankings if self.is_new(self.suite.by_id[id]))

    def is_new(self, query: Query) -> bool:
        """Tell whether there is a baseline, but none of this query: it was not asked then."""
        then = self.baseline_run
        return then is not None and not (query.id in then.answered or query.id in then.faults)


def causes_of(faults: Mapping[str, Fault]) -> Sequence[Cause]:
    """The reasons why queries have no ranking, the most frequent first.

    Those that failed alike stand together, whatever numbers and ids their messages hold.
    """
    alike: dict[str, list[str]] = {}
    for id, fault in faults.items():
        alike.setdefault(fault.cause, []).append(id)
    groups = sorted(alike.values(), key=len, reverse=True)
    return [Cause(faults[ids[0]].message, tuple(ids)) for ids in groups]


# -- several answers -------------------------------------------------------------------------------


def median_rank(ranks: Sequence[int | None]) -> int | None:
    """The middle rank, the better of two; a document that was not returned ranks last."""
    ordered = sorted(ranks, key=lambda rank: (rank is None, rank or 0))
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def median_ranks(answers: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The middle rank of every document, best first.

    Those that fewer than half of the answers hold have none.
    """
    if len(answers) == 1:
        return dict(answers[0])
    found: dict[str, int] = {}
    for document in counted_in(answers):
        rank = median_rank([ranks.get(document) for ranks in answers])
        if rank is not None:
            found[document] = rank
    return dict(sorted(found.items(), key=lambda item: item[1]))


def counted_in(answers: Iterable[Iterable[str]]) -> dict[str, int]:
    """The number of answers that hold each document."""
    often: dict[str, int] = {}
    for documents in answers:
        for document in documents:
            often[document] = often.get(document, 0) + 1
    return often
