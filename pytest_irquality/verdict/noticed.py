"""What a reader of the figures must know beside the verdicts, as facts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from math import fsum, inf
from typing import Literal

from pytest_irquality.metrics import Measure
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.demands import Audited
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.comparison import SIGNIFICANT, Comparison
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.findings import Cause, Change, Loss, RankedDocument, Stages
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.result import Verdict

FEW = 3
OF_GRADED = ("recall", "r_cap", "set_recall")
"""Measures whose whole is all that is relevant, of which nobody knows more than was graded."""
MADE_UP: Mapping[Literal["row numbers", "made up"], re.Pattern[str]] = {
    "row numbers": re.compile(r"\d+"),
    "made up": re.compile(r"[0-9a-f]{16,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I),
}


def noticed(
    sides: Comparison,
    baseline: Baseline | None,
    verdicts: Sequence[Verdict],
    pardoned: Sequence[str],
    nowhere: Mapping[str, Loss],
) -> Iterator[Fact]:
    """Every fact, the most general first. ``pardoned``: what would hold if unjudged documents were
    left out.
    """
    now = sides.measured
    yield from _retrieval(now)
    yield from _unknown_ids(now)
    if now.run.retries:
        yield facts.Retried(now.run.retries)
    yield from _stages(now)
    yield from _few_results(now)
    yield from _in_no_chunk(now, nowhere)
    yield from map(facts.Remark, now.suite.notes)
    if baseline is not None:
        yield from _queries_on_one_side(now, baseline)
        yield from _movement(now)
        yield from _judgments(sides)
        yield from _resolution(sides, verdicts)
    yield from _unjudged(now, pardoned)
    if not now.run.faults and len(now.asked) == len(now.suite.queries):
        yield from _in_no_ranking(now)
    if not now.suite.gated:
        yield facts.NothingGated()
    elif _unnoticed(now, verdicts):
        yield facts.Unnoticed(len(now.asked))


def _unnoticed(now: Measured, verdicts: Sequence[Verdict]) -> bool:
    """Whether an engine that finds nothing for anything breaks no check of the whole suite but what
    was broken before.
    """
    checks = {check.name for check in now.suite.checks if not isinstance(check.demand, Audited)}
    whole = checks == {verdict.check for verdict in verdicts} and not now.run.interrupted
    held = all(verdict.outcome in ("passed", "known") for verdict in verdicts)
    return whole and held and not now.run.faults and not any(now.rankings.values())


def _retrieval(now: Measured) -> Iterator[Fact]:
    suite, asked = now.suite, now.asked
    if now.run.interrupted:
        yield facts.Interrupted(len(asked))
    elif len(asked) < len(suite.queries):
        yield facts.Selected(len(asked), len(suite.queries))
    if now.run.faults:
        yield facts.Unanswered(tuple(now.run.faults), len(asked), suite.max_errors)
    if now.empty:
        yield _returned_nothing(now)
    yield from _returns_fewer(now)
    undefined = [q for q in asked if not q.expects_nothing and not q.judgments.relevant]
    if undefined:
        yield facts.WithoutRelevant(len(undefined), len(asked), suite.undefined == "zero")
    if now.duplicated:
        id, twice = next(iter(now.duplicated.items()))
        yield facts.ReturnedTwice(len(now.duplicated), len(asked), id, _document(now, twice[0]))


def _returns_fewer(now: Measured) -> Iterator[Fact]:
    """The queries that return fewer results than before; the first is the example."""
    counts = {id: (now.returned_before(id) or 0, now.returned(id) or 0) for id in now.before}
    fewer = [id for id, (before, today) in counts.items() if 0 < today < before]
    if fewer:
        before, today = counts[fewer[0]]
        yield facts.ReturnsFewer(tuple(fewer), len(now.before), before, today)


def _returned_nothing(now: Measured) -> Fact:
    """The queries that came back empty, with what the baseline says of each."""
    ids = _ids(now.empty)
    undefined = sum(not query.judgments.relevant for query in now.empty)
    return facts.ReturnedNothing(
        ids,
        len(now.asked),
        newly=tuple(id for id in ids if now.returned_before(id)),
        compared=sum(id in now.before for id in ids),
        undefined=undefined if now.suite.undefined == "skip" else 0,
    )


def _unknown_ids(now: Measured) -> Iterator[Fact]:
    """That retriever and suite speak of documents by different ids, as it seems where they have
    none in common.
    """
    for query in now.suite.queries:
        if not query.judgments.grades.keys().isdisjoint(now.rankings.get(query.id, ())):
            return  # the first, as a rule
    known, returned = _ids_of(now.suite), dict.fromkeys(chain(*now.rankings.values()))
    if now.suite.match == "text" or not known or not returned:
        return
    if known.keys().isdisjoint(chain(returned, *now.before.values())):
        yield facts.UnknownIds(tuple(returned)[:FEW], tuple(known)[:FEW], _like(returned, known))


def _ids_of(suite: Suite) -> Mapping[str, None]:
    """The documents that a suite grades, then those that its rules rely on."""
    of_rules = (rule.relied_on for query in suite.queries for rule in query.rules)
    graded = (query.judgments.grades for query in suite.queries)
    return dict.fromkeys(chain(*graded, *of_rules))


def _like(
    returned: Mapping[str, None], known: Mapping[str, None]
) -> Literal["", "row numbers", "made up"]:
    """What all returned ids look like and none of the suite's does."""
    for words, pattern in MADE_UP.items():
        if all(map(pattern.fullmatch, returned)) and not any(map(pattern.fullmatch, known)):
            return words
    return ""


def _few_results(now: Measured) -> Iterator[Fact]:
    """That measures see fewer results than their cutoff says, and that some of these hold
    nothing.
    """
    k, depth = now.suite.top_k, now.suite.depth
    raw = {id: now.run.first.rankings[id].raw for id, ids in now.rankings.items() if ids}
    documents = {id: len(now.rankings[id]) for id in raw}
    # Enough results, and too few documents: several results are chunks of one.
    collapsed = [n for id, n in documents.items() if n < k <= len(raw[id][:depth])]
    if collapsed:
        fewest = min(collapsed)
        yield facts.FewerThanAsked(len(collapsed), len(documents), k, fewest, True)
    elif len(documents) > 1 and max(documents.values()) < k:
        most = max(documents.values())
        yield facts.FewerThanAsked(len(documents), len(documents), k, most, False)
    yield from _empty_chunks(now, raw.values())


def _empty_chunks(now: Measured, raw: Collection[Sequence[str]]) -> Iterator[Fact]:
    without_text = {result for result, text in now.run.first.texts.items() if text == ""}
    if without_text:
        empty = [sum(map(without_text.__contains__, results)) for results in raw]
        if any(empty):
            yield facts.EmptyChunks(sum(empty), len(empty) - empty.count(0))


def _stages(now: Measured) -> Iterator[Fact]:
    """Where relevant documents were lost, over all queries whose candidates are known."""
    if now.candidates is None:
        return
    if unknown := now.candidates.run.faults.keys() - now.run.faults.keys():
        asked = tuple(query.id for query in now.asked if query.id in unknown)
        causes = tuple(_causes_of(unknown, now.candidates.causes))
        yield facts.CandidatesUnknown(asked, len(now.asked), causes)
    yield from _lost_in_stages(now, now.candidates.depth)


def _lost_in_stages(now: Measured, depth: int) -> Iterator[Fact]:
    both = [(now.stages(query), now.stages_before(query)) for query in now.asked]
    today = [stages for stages, _ in both if stages]
    then = [before for stages, before in both if stages and before]
    if today:
        before = _together(then) if len(then) == len(today) else None
        yield facts.LostInStages(len(today), now.suite.top_k, depth, _together(today), before)


def _causes_of(queries: Set[str], causes: Sequence[Cause]) -> Iterator[Cause]:
    """The causes of some queries, each with those of them that it concerns."""
    for cause in causes:
        if of_these := tuple(id for id in cause.queries if id in queries):
            yield Cause(cause.message, of_these)


def _together(stages: Sequence[Stages]) -> Stages:
    return Stages(
        sum(one.relevant for one in stages),
        sum(one.found for one in stages),
        sum(one.sunk for one in stages),
        sum(one.never for one in stages),
    )


def _in_no_chunk(now: Measured, nowhere: Mapping[str, Loss]) -> Iterator[Fact]:
    asked: dict[str, str] = {}
    for query in now.suite.queries:
        if now.suite.reads_texts(query):
            for name in query.judgments.relevant:
                if now.suite.by_text(query) or name in query.passages:
                    asked.setdefault(name, query.id)
    lost = [
        facts.Nowhere(asked[passage], passage, loss)
        for passage, loss in nowhere.items()
        if passage in asked
    ]
    if lost:
        yield facts.InNoChunk(tuple(lost), len(asked))


def _queries_on_one_side(now: Measured, baseline: Baseline) -> Iterator[Fact]:
    if baseline.new:
        yield facts.NewSuite(baseline.source, first=baseline.new == "baseline")
        return
    if baseline.of:
        yield facts.TakenOver(baseline.source, baseline.of)
    new = [query for query in now.asked if now.is_new(query) and query.id in now.rankings]
    other = now.suite.baseline_retriever is not None
    if new:
        yield facts.NewQueries(_ids(new), len(now.rankings), baseline.source, other)
    if not other:
        yield from _other_version(now.run.version, baseline.version)
    if baseline.renamed:
        yield facts.Renamed(baseline.renamed)
    if baseline.left:
        yield facts.LeftSuite(baseline.left)


def _other_version(today: str | None, before: str | None) -> Iterator[Fact]:
    if today and before and today != before:
        yield facts.OtherVersion(today, before)


def _movement(now: Measured) -> Iterator[Fact]:
    """How many rankings changed; those that differ in the order of ties only apart."""
    total, depth = len(now.before), now.compared_depth
    if not total:
        return
    yield facts.Moved(len(now.moved), total)
    if now.several:  # of which no two need have one order
        return
    if now.moved and now.suite.baseline_retriever is None:
        yield facts.NoiseUnknown()
    tied = [
        id
        for id, ids in now.before.items()
        if id not in now.moved and ids[:depth] != now.rankings[id][:depth]
    ]
    if tied:
        yield facts.TiesMoved(len(tied), total, tied[0], tuple(_swapped(now, tied[0], depth)))


def _swapped(now: Measured, query: str, depth: int) -> Iterator[RankedDocument]:
    """The documents of the baseline's ranking that stand elsewhere in today's."""
    ranks = {document: rank for rank, document in enumerate(now.rankings[query][:depth], 1)}
    for rank, document in enumerate(now.before[query][:depth], 1):
        if ranks.get(document) != rank:
            yield _document(now, document, ranks.get(document), rank)


def _judgments(sides: Comparison) -> Iterator[Fact]:
    """What changed because judgments did: the baseline's own rankings score otherwise than when
    they were saved.
    """
    for measure in sides.measured.suite.measures:
        change = sides.judged_otherwise(measure)
        if change and (queries := change.better + change.worse):
            name, then, today = str(measure), change.before, change.now
            new = sides.measured.new_judgments
            yield facts.JudgmentsChanged(
                name, measure.unit, then, today, queries, change.queries, new
            )
            return


def _resolution(sides: Comparison, verdicts: Sequence[Verdict]) -> Iterator[Fact]:
    """What this suite can and cannot tell of the first measure that changed."""
    for measure in sides.measured.suite.measures:
        change = sides.over(measure, None)
        if change is None or change.p is None:
            continue
        failed = [verdict for verdict in verdicts if verdict.outcome == "failed"]
        broken = chain(*(verdict.broken for verdict in failed))
        rests_on_test = any(finding.demand.tested for finding in broken)
        yield facts.Resolution(
            measure=str(measure),
            change=change,
            worth=_worth(sides, measure),
            got_worse=_got_worse(measure, change),
            decided=0.5 ** (change.better + change.worse) < SIGNIFICANT,
            significant=(change.p if change.adjusted is None else change.adjusted) < SIGNIFICANT,
            apart=bool(failed) and not rests_on_test,
        )
        return


def _worth(sides: Comparison, measure: Measure) -> float | None:
    """The most that one query can add to the measure's mean; None where there is no most."""
    low, high = measure.range
    if measure.aggregate != "mean" or high - low == inf:
        return None
    weights = [pair.weight for pair in sides.pairs(measure, sides.measured.suite.queries)]
    return (high - low) * max(weights) / fsum(weights)


def _got_worse(measure: Measure, change: Change) -> bool:
    return change.difference < 0 if measure.higher_is_better else change.difference > 0


def _unjudged(now: Measured, pardoned: Sequence[str]) -> Iterator[Fact]:
    """Whether the verdict rests on documents that nobody judged, and which of them to judge
    first.
    """
    if not pardoned:
        return
    yield facts.RestsOnUnjudged(tuple(pardoned))
    ranks: dict[str, list[int]] = {}
    for id, ids in now.rankings.items():
        grades = now.suite.by_id[id].judgments.grades
        for rank, document in enumerate(ids[: now.suite.top_k], 1):
            if document not in grades:
                ranks.setdefault(document, []).append(rank)

    def heaviest_first(document: str) -> tuple[float, str]:
        return -sum(1 / rank for rank in ranks[document]), document

    first = [
        facts.Unjudged(_document(now, document, min(ranks[document])), len(ranks[document]))
        for document in sorted(ranks, key=heaviest_first)[:FEW]
    ]
    yield facts.JudgeFirst(tuple(first), len(ranks))


def _in_no_ranking(now: Measured) -> Iterator[Fact]:
    """Relevant documents that the baseline found and no ranking holds any more: they may have left
    the index.
    """
    relevant = set(chain(*(query.judgments.relevant for query in now.asked)))
    # Most stand in their own query's ranking, where scoring found them; only others are looked for.
    hits = now.hits
    sought = relevant.difference(*map(hits.ranks, range(len(hits.queries))))
    # A document that an equal score replaced at the cut is not lost.
    aligned = (ids for id, ids in now.aligned.items() if ids is not now.rankings[id])
    unchanged = {id for id, ids in now.before.items() if ids is now.rankings[id]}
    on_both_sides = _among(sought, map(now.rankings.__getitem__, unchanged))
    returned = on_both_sides | _among(sought, aligned)
    returned |= _returned(sought, now.run, now.rankings, unchanged)
    before = on_both_sides | _returned(sought, now.baseline_run, now.before, unchanged)
    if lost := sorted(before - returned):
        yield facts.InNoRanking(tuple(_document(now, document) for document in lost))
    never = len(sought - returned - before)
    recall = next((str(one) for one in now.suite.metrics if one.definition.name in OF_GRADED), "")
    if now.suite.readers:
        recall = ""  # passages are written down, not graded
    if never or (recall and relevant):
        found_before = bool(before) or not all(map(relevant.isdisjoint, now.before.values()))
        yield facts.NeverFound(never, len(relevant), found_before, recall)


def _returned(
    names: set[str],
    run: Run | None,
    rankings: Mapping[str, Sequence[str]],
    but_for: set[str],
) -> set[str]:
    """Which of some documents and passages stand in some rankings, or are held by a result.
    ``but_for`` are the queries whose rankings were looked through already.
    """
    if run is None:
        return set()
    held = [answer.rankings[id] for answer in run.answers for id in rankings]
    found = _among(names, (ids for id, ids in rankings.items() if id not in but_for))
    found |= _among(names, (ranking.besides for ranking in held if ranking.besides))
    if len(run.answers) > 1:
        found |= _among(names, (ranking.ids for ranking in held))
    return found


def _among(names: set[str], rankings: Iterable[Iterable[str]]) -> set[str]:
    found: set[str] = set()
    for ids in rankings:
        found.update(names.intersection(ids))
    return found


def _ids(queries: Sequence[Query]) -> tuple[str, ...]:
    return tuple(query.id for query in queries)


def _document(
    now: Measured, id: str, rank: int | None = None, before: int | None = None
) -> RankedDocument:
    return RankedDocument(id, rank, before, title=now.title(id))
