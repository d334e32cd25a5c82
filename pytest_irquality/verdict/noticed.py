"""Facts that a run gives rise to, beside its verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from math import inf

from pytest_irquality.suite.lint import unmatched
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.accepted import acceptance
from pytest_irquality.verdict.classes import Skipped
from pytest_irquality.verdict.comparison import SIGNIFICANT, Comparison
from pytest_irquality.verdict.findings import RankedDocument
from pytest_irquality.verdict.guards import blind
from pytest_irquality.verdict.renumbered import renumbered
from pytest_irquality.verdict.result import Verdict
from pytest_irquality.verdict.sides import Side, Sides
from pytest_irquality.verdict.verdicts import Verdicts, on_answers

FEW = 3
OF_GRADED = ("recall", "r_cap", "set_recall")
"""Measures whose whole is all that is relevant, of which nobody knows more than was graded."""


def noticed(judged: Verdicts) -> Iterator[facts.Fact]:
    """Every fact, the most general first."""
    comparison, accepting = judged.comparison, judged.accepting
    sides, baseline = comparison.sides, comparison.baseline
    if accepting and any(verdict.accepted for verdict in judged.all):
        yield acceptance(comparison, accepting, baseline.source if baseline else "")
    yield from _retrieval(comparison)
    yield from _unknown_ids(sides)
    if sides.run.retries:
        yield facts.Retried(sides.run.retries)
    yield from _stages(comparison.sides)
    yield from _few_results(sides)
    yield from _notes_on_files(sides)
    if baseline is not None:
        if judged.updating and sides.changed:
            yield facts.Replacing()
        yield from renumbered(sides)
        yield from _queries_on_one_side(comparison)
        yield from _movement(comparison)
    yield from _unjudged(comparison, judged.pardoned)
    if baseline is not None:
        yield from _resolution(comparison, judged.all)
    if not sides.run.faults and len(sides.asked) == len(sides.suite.queries):
        yield from _in_no_ranking(comparison)
    if not sides.suite.gated:
        yield facts.NothingGated()
    elif _unnoticed(sides, judged.all, judged.skipped.keys()):
        yield facts.Unnoticed(len(sides.asked))


def _notes_on_files(sides: Sides) -> Iterator[facts.Fact]:
    """The notes on what a suite's files hold; a wrong id in one of them is no footnote."""
    suite = sides.suite
    missed = unmatched(suite)
    if missed:
        yield facts.Unmatched(missed, missed)
    yield from map(facts.Remark, suite.notes if missed else (*suite.unasked, *suite.notes))


def _unnoticed(sides: Sides, verdicts: Sequence[Verdict], skipped: Set[str]) -> bool:
    """Tell whether no check minds that nothing was returned for any query.

    A check that was broken before may, and one whose queries were ``skipped``.
    """
    checks = {check.name for check in on_answers(sides.suite.checks)}
    judged = {verdict.check for verdict in verdicts} | skipped
    whole = checks == judged and not sides.run.interrupted
    held = all(verdict.outcome in ("passed", "known") for verdict in verdicts)
    return whole and held and not sides.run.failed and not any(sides.rankings.values())


def _retrieval(comparison: Comparison) -> Iterator[facts.Fact]:
    sides, suite, asked = comparison.sides, comparison.suite, comparison.sides.asked
    if sides.run.interrupted:
        yield facts.Interrupted(len(asked))
    elif len(asked) < len(suite.queries):
        yield facts.Selected(len(asked), len(suite.queries))
    failed = sides.run.failed
    if failed:
        yield facts.Unanswered(tuple(failed), len(asked), suite.max_errors)
    if skipped := tuple(id for id in sides.run.faults if id not in failed):
        yield Skipped(skipped, len(asked))
    if sides.empty:
        yield _returned_nothing(sides)
    yield from _without_relevant(comparison)
    if sides.duplicated:
        id, twice = next(iter(sides.duplicated.items()))
        yield facts.ReturnedTwice(
            len(sides.duplicated), len(asked), id, comparison.document(twice[0])
        )


def _returned_nothing(sides: Sides) -> facts.Fact:
    """The queries that came back empty, with what the baseline says of each."""
    ids = tuple(query.id for query in sides.empty)
    return facts.ReturnedNothing(
        ids,
        len(sides.asked),
        newly=tuple(id for id in ids if sides.answers_before.returned.get(id)),
        compared=sum(id in sides.before for id in ids),
        undefined=sum(not sides.suite.defines(query) for query in sides.empty),
    )


def _unknown_ids(sides: Sides) -> Iterator[facts.Fact]:
    """The ids of retriever and suite, where they have none in common."""
    for query in sides.suite.queries:
        if not query.judgments.grades.keys().isdisjoint(sides.rankings.get(query.id, ())):
            return  # the first, as a rule
    known, returned = _ids_of(sides), dict.fromkeys(chain(*sides.rankings.values()))
    if sides.suite.match == "text" or not known or not returned:
        return
    if known.keys().isdisjoint(chain(returned, *sides.before.values())):
        yield facts.UnknownIds(tuple(returned)[:FEW], tuple(known)[:FEW])


def _ids_of(sides: Sides) -> Mapping[str, None]:
    """The documents that the suite grades, then those that its rules rely on."""
    queries = sides.suite.queries
    of_rules = (rule.relied_on for query in queries for rule in query.rules)
    graded = (query.judgments.grades for query in queries)
    return dict.fromkeys(chain(*graded, *of_rules))


def _few_results(sides: Sides) -> Iterator[facts.Fact]:
    """Queries with fewer results than the cutoff of measures."""
    k, depth = sides.suite.top_k, sides.suite.depth
    raw = {id: sides.run.first.rankings[id].raw for id, ids in sides.rankings.items() if ids}
    documents = {id: len(sides.rankings[id]) for id in raw}
    # Enough results, and too few documents: several results are chunks of one.
    fewer = [n for id, n in documents.items() if n < k <= len(raw[id][:depth])]
    if len(documents) > 1 and max(documents.values()) < k and _cuts_short(sides):
        fewer = [*documents.values()]
    if fewer:
        yield facts.FewerThanAsked(len(fewer), len(documents), k, min(fewer))


def _cuts_short(sides: Sides) -> bool:
    """Tell whether more results could have been worth anything: a relevant document is missing."""
    relevant = ((query.judgments.relevant, sides.rankings.get(query.id)) for query in sides.asked)
    return any(ids and not set(wanted).issubset(ids) for wanted, ids in relevant)


def _stages(sides: Sides) -> Iterator[facts.Fact]:
    """The queries whose candidates could not be had, of any stage."""
    unknown = sides.run.unanswered.keys() - sides.run.faults.keys()
    asked = tuple(query.id for query in sides.asked if query.id in unknown)
    if asked:
        yield facts.CandidatesUnknown(asked, len(sides.asked))


def _queries_on_one_side(comparison: Comparison) -> Iterator[facts.Fact]:
    sides, baseline = comparison.sides, comparison.baseline
    if baseline is None:
        return
    if baseline.new:
        yield facts.NewSuite(baseline.source, first=baseline.new == "baseline")
        return
    if baseline.of:
        yield facts.TakenOver(baseline.source, baseline.of)
    other = sides.suite.baseline_retriever is not None
    for ids, unanswered in ((sides.unanswered_then, True), (sides.new, other)):
        if ids:
            yield facts.NewQueries(ids, len(sides.rankings), baseline.source, unanswered)
    if baseline.left:
        yield facts.LeftSuite(baseline.left)


def _movement(comparison: Comparison) -> Iterator[facts.Fact]:
    """The number of changed rankings, of those that differ in ties only, and ties untold."""
    sides = comparison.sides
    total, depth = len(sides.before), sides.compared_depth
    if not total:
        return
    others = sides.replaced.difference(sides.changed)
    if sides.changed or not others:
        yield facts.Moved(len(sides.changed), total)
    yield from _unsettled(comparison)
    # Of several answers no two need have one order.
    reordered = [] if sides.tells_noise else [*_reordered(sides)]
    if reordered or others:
        first = next(iter(reordered), "")
        moved = tuple(_swapped(comparison, first, depth)) if first else ()
        yield facts.TiesMoved(len(reordered) + len(others), total, first, moved)
    if sides.tells_noise:
        yield from blind(comparison)


def _reordered(sides: Sides) -> Iterator[str]:
    """The queries with the documents of before in another order, by ties alone."""
    depth, others = sides.compared_depth, sides.changed.keys() | sides.replaced
    for id, ids in sides.before.items():
        if id not in others and ids[:depth] != sides.rankings[id][:depth]:
            yield id


def _unsettled(comparison: Comparison) -> Iterator[facts.Fact]:
    """The documents of which nobody knows whether a tie at the cut hides them."""
    if unsettled := comparison.sides.unsettled:
        named = [(id, tuple(_at(comparison, id, some))) for id, some in unsettled.items()]
        yield facts.Unsettled(tuple(named))


def _at(comparison: Comparison, query: str, documents: Iterable[str]) -> Iterator[RankedDocument]:
    """Some documents of a query with their ranks on both sides."""
    sides = comparison.sides
    now, before = sides.answers.ranks(query), sides.answers_before.ranks(query)
    for document in documents:
        yield comparison.document(document, now.get(document), before.get(document))


def _swapped(comparison: Comparison, query: str, depth: int) -> Iterator[RankedDocument]:
    """The documents of the baseline's ranking that stand elsewhere in today's."""
    sides = comparison.sides
    ranks = {document: rank for rank, document in enumerate(sides.rankings[query][:depth], 1)}
    for rank, document in enumerate(sides.before[query][:depth], 1):
        if ranks.get(document) != rank:
            yield comparison.document(document, ranks.get(document), rank)


def _resolution(comparison: Comparison, verdicts: Sequence[Verdict]) -> Iterator[facts.Fact]:
    """The first measure that changed, where the suite cannot tell its change from chance."""
    for measure in comparison.suite.measures:
        change = comparison.over(measure, None)
        if change is None or change.p is None:
            continue
        decided = 0.5 ** (change.better + change.worse) < SIGNIFICANT
        got_worse = measure.sign * change.difference < 0
        if not decided or (got_worse and (change.judged_p or 0.0) >= SIGNIFICANT):
            yield facts.Resolution(str(measure), change, decided, _rest_on_no_test(verdicts))
        return


def _rest_on_no_test(verdicts: Sequence[Verdict]) -> bool:
    """Tell whether checks failed, and none of them by a test."""
    failed = [verdict for verdict in verdicts if verdict.outcome == "failed"]
    broken = chain(*(verdict.broken for verdict in failed))
    return bool(failed) and not any(finding.demand.tested for finding in broken)


def _unjudged(comparison: Comparison, pardoned: Sequence[str]) -> Iterator[facts.Fact]:
    """The verdicts that rest on unjudged documents, and those new where queries got worse."""
    if pardoned:
        yield facts.RestsOnUnjudged(tuple(pardoned))
    sides, top = comparison.sides, comparison.suite.top_k
    if next(renumbered(sides), None):
        return  # every document is new
    ranks: dict[str, list[int]] = {}
    for id in sides.rankings if pardoned else comparison.worse:
        grades, before = comparison.suite.by_id[id].judgments.grades, sides.answers_before.ranks(id)
        for rank, document in enumerate(sides.answers.shown(id)[:top], 1):
            if document not in grades and before.get(document, inf) > top:
                ranks.setdefault(document, []).append(rank)

    def heaviest_first(document: str) -> tuple[float, str]:
        return -sum(1 / rank for rank in ranks[document]), document

    first = [
        facts.Unjudged(comparison.document(document, min(ranks[document])), len(ranks[document]))
        for document in sorted(ranks, key=heaviest_first)[:FEW]
    ]
    if first:
        yield facts.JudgeFirst(tuple(first), len(ranks), of_worse=not pardoned)


def _in_no_ranking(comparison: Comparison) -> Iterator[facts.Fact]:
    """Relevant documents that the baseline found and no ranking holds any more.

    They may have left the index.
    """
    now, scoring = comparison.sides, comparison.scoring
    relevant = set(chain(*(query.judgments.relevant for query in now.asked)))
    # Most stand in their own query's ranking, where scoring found them; only others are looked for.
    first = now.answers[0]
    sought = relevant.difference(*(scoring.judged_ranks(first, id) for id in first.rankings))
    # A document that an equal score replaced at the cut is not lost.
    aligned = (ids for id, ids in now.aligned.items() if ids is not now.rankings[id])
    returned = _among(sought, [*aligned, *now.unsettled.values()])
    returned |= _returned(sought, now.answers)
    before = _returned(sought, now.answers_before)
    if lost := sorted(before - returned):
        yield facts.InNoRanking(tuple(comparison.document(document) for document in lost))
    never = sought - returned - before
    recall = next((str(one) for one in now.suite.metrics if one.definition.name in OF_GRADED), "")
    if now.suite.by_text:
        recall = ""  # passages are written down, not graded
    if never or (recall and relevant):
        named = tuple(map(comparison.document, sorted(never)[:FEW]))
        yield facts.NeverFound(len(never), len(relevant), recall, named)


def _returned(names: set[str], side: Side) -> set[str]:
    """The documents and passages of some that stand in rankings, or are held by a result."""
    found: set[str] = set()
    for answer in side:
        held = (answer.given.rankings[id].besides for id in answer.rankings)
        found |= _among(names, answer.rankings.values()) | _among(names, filter(None, held))
    return found


def _among(names: set[str], rankings: Iterable[Iterable[str]]) -> set[str]:
    found: set[str] = set()
    for ids in rankings:
        found.update(names.intersection(ids))
    return found


def _without_relevant(comparison: Comparison) -> Iterator[facts.Fact]:
    """Queries without a relevant document, graded or not, or that the suite has no grade at all."""
    if comparison.suite.says_nothing:
        yield facts.NothingExpected()
        return
    asked = comparison.sides.asked
    unknown = [q for q in asked if not (q.expects_nothing or q.judgments.relevant)]
    for graded in (False, True):
        ids = tuple(q.id for q in unknown if bool(q.judgments.grades) == graded)
        if ids:
            score_0 = comparison.suite.defines(comparison.suite.by_id[ids[0]])
            changed = sum(id in comparison.sides.changed for id in ids)
            yield facts.WithoutRelevant(ids, len(asked), score_0, graded, changed)
