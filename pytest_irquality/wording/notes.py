"""What a reader of the figures must know, a line each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import fsum, inf

from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Check
from pytest_irquality.verdict.comparison import SIGNIFICANT, Comparison
from pytest_irquality.verdict.measured import Measured, texts
from pytest_irquality.verdict.result import Baseline, Verdict
from pytest_irquality.wording.numbers import (
    EQUAL,
    NAMED,
    and_more,
    apart,
    count,
    probability,
    share,
)

MADE_UP = {
    "row numbers": re.compile(r"\d+"),
    "ids that the engine made up": re.compile(
        r"[0-9a-f]{16,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I
    ),
}


NEW = {
    "suite": "{suite} is new: {source} does not exist, so no limit on a drop applies",
    "baseline": "the first baseline of {suite} comes with this change: {source} does not exist, so no limit on a drop"
    " applies",
}


def notes(
    sides: Comparison,
    baseline: Baseline | None,
    verdicts: Sequence[Verdict],
    pardoned: Sequence[str],
) -> Iterator[str]:
    """Every line, the most general first. ``pardoned``: what would hold if unjudged documents were left out."""
    now = sides.measured
    yield from _retrieval(now)
    yield from _unknown_ids(now)
    yield from now.suite.notes
    if baseline is not None:
        yield from _queries_on_one_side(now, baseline)
        yield from _movement(now)
        yield from _judgments(sides, baseline)
        yield from _resolution(sides, verdicts)
    yield from _unjudged(now, pardoned)
    yield from _in_no_ranking(now)
    if not any(map(can_fail, now.suite.checks)):
        yield "nothing gated: this suite has no rule and no limit that could fail"


def _retrieval(now: Measured) -> Iterator[str]:
    suite, asked = now.suite, now.asked
    if now.run.interrupted:
        yield f"PARTIAL: interrupted after {count(len(asked), 'query', 'queries')}"
    elif len(asked) < len(suite.queries):
        yield f"only {share(len(asked), len(suite.queries))} queries were selected; every figure is over these"
    if now.faults:
        allowed = f"; 'errors' allows {suite.max_errors}" if suite.max_errors else ""
        faulty = share(len(now.faults), len(asked))
        yield f"{faulty} queries could not be answered and are in no figure{allowed}: {now.causes(now.faults)}"
    if now.empty:
        yield f"{share(len(now.empty), len(asked))} queries returned nothing and score 0: {texts(now.empty)}"
    undefined = [q for q in asked if not q.expects_nothing and not q.judgments.relevant]
    if undefined:
        what = "score 0" if suite.undefined == "zero" else "are left out of relevance means"
        yield f"{share(len(undefined), len(asked))} queries have no relevant document and {what}"
    if now.duplicated and suite.duplicates == "collapse":
        id, twice = next(iter(now.duplicated.items()))
        more = and_more(len(now.duplicated), 1)
        yield (
            f"{share(len(now.duplicated), len(asked))} queries returned a document more than once, credited once"
            f" and the ranks closed up: {suite.by_id[id].quoted} returned {now.name(twice[0])} twice{more}"
        )


def _unknown_ids(now: Measured) -> Iterator[str]:
    """That retriever and suite speak of documents by different ids, as it seems where they have none in common."""
    rules = [
        rule for query in now.suite.queries for rule in query.rules if rule.kind != "must_not_find"
    ]
    known = dict.fromkeys(
        document for query in now.suite.queries for document in query.judgments.grades
    )
    known.update(dict.fromkeys(document for rule in rules for document in rule.documents))
    in_common = any(
        not known.keys().isdisjoint(ids) for ids in now.rankings.values()
    )  # the first, as a rule
    returned = (
        {}
        if in_common
        else dict.fromkeys(document for ids in now.rankings.values() for document in ids)
    )
    if now.suite.match == "text" or not known or not returned:
        return
    kinds = (
        (words, pattern)
        for words, pattern in MADE_UP.items()
        if all(map(pattern.fullmatch, returned))
    )
    looks = next((words for words, pattern in kinds if not any(map(pattern.fullmatch, known))), "")
    ids, names = (", ".join(list(some)[:NAMED]) for some in (returned, known))
    which = f"they look like {looks} ({ids})" if looks else f"they are {ids}"
    yield (
        f"no query returned any document that this suite names: {which}, and the suite names {names}; if a result keeps"
        " that id in another place, say where with 'id_field'"
    )


def _queries_on_one_side(now: Measured, baseline: Baseline) -> Iterator[str]:
    if baseline.new:
        yield NEW[baseline.new].format(suite=now.suite.path, source=baseline.source)
        return
    if baseline.of:
        yield f"compared with {baseline.source}, the baseline of {baseline.of}; the next update takes it over"
    new = [query for query in now.asked if now.is_new(query) and query.id in now.rankings]
    if new and now.suite.baseline_retriever:
        lacks = share(len(new), len(now.rankings))
        yield f"{baseline.source} has no answer to {lacks} queries, to which no limit on a drop applies: {texts(new)}"
    elif new and not now.before:
        yield f"none of today's queries is in the baseline ({baseline.source}): no limit on a drop applies"
    elif new:
        yield f"{count(len(new), 'query is', 'queries are')} new: floors apply, drops do not: {texts(new)}"
    version, before = now.run.version, baseline.version
    if version != before and version and before and not now.suite.baseline_retriever:
        yield f"the retriever is of version {version} now; the baseline is that of version {before}"
    if baseline.renamed:
        yield (
            f"{count(baseline.renamed, 'query has', 'queries have')} another id in the baseline, and"
            " the same text and params: compared with it"
        )
    if baseline.left:
        named = ", ".join(map(repr, baseline.left[:NAMED])) + and_more(len(baseline.left))
        yield f"{count(len(baseline.left), 'query', 'queries')} of the baseline left the suite: {named}"


def _movement(now: Measured) -> Iterator[str]:
    """How many rankings changed; those that differ in the order of ties only are told apart, and shown."""
    total = len(now.before)
    if not total:
        return
    if now.moved:
        yield f"{share(len(now.moved), total)} {'ranking' if total == 1 else 'rankings'} changed"
    else:
        yield (
            f"none of {total} rankings changed" if total > 1 else "the one ranking has not changed"
        )
    depth = now.compared_depth
    tied = [
        id
        for id, ids in now.before.items()
        if id not in now.moved and ids[:depth] != now.rankings[id][:depth]
    ]
    if tied:
        before, after = now.before[tied[0]][:depth], now.rankings[tied[0]][:depth]
        ranks = {document: rank for rank, document in enumerate(after, 1)}
        moves = [
            f"{now.name(document)} {rank} → {ranks.get(document, 'below the cut')}"
            for rank, document in enumerate(before, 1)
            if ranks.get(document) != rank
        ]
        shown_moves = ", ".join(moves[:NAMED]) + and_more(len(moves))
        text = now.suite.by_id[tied[0]].quoted
        only = f"{share(len(tied), total)} rankings differ in the order of equal scores only, which is no drift"
        yield f"{only}: {text} {shown_moves}"


def _judgments(sides: Comparison, baseline: Baseline) -> Iterator[str]:
    """What changed because judgments did: the baseline's own rankings score otherwise than when they were saved."""
    for measure in sides.measured.suite.measures:
        then = baseline.means.get(str(measure))
        whole = not baseline.left and len(sides.measured.before) == baseline.queries
        if not whole or then is None or sides.over(measure, None) is None:
            continue
        value = sides.measured.aggregate_before(measure).value
        if value is not None and abs(value - then) > EQUAL:
            was, today = apart(then, value, measure.unit)
            yield (
                f"judgments changed since the baseline was saved: {measure} of its rankings was {was}, and is {today}"
                " today; the change above is that of rankings alone"
            )
            return


def _resolution(sides: Comparison, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """One sentence on what this suite cannot tell: of the first measure that changed."""
    suite = sides.measured.suite
    changes = ((measure, sides.over(measure, None)) for measure in suite.measures)
    measure, change = next(((m, c) for m, c in changes if c and c.p is not None), (None, None))
    if measure is None or change is None or change.p is None:
        return
    moved, n = change.better + change.worse, change.queries
    low, high = measure.range
    weights = [pair.weight for pair in sides.pairs(measure, suite.queries)]
    worth = (high - low) * max(weights) / fsum(weights)
    bounded = measure.aggregate == "mean" and worth < inf
    apart = f"one query is worth up to {worth:.2g} {measure} here; " if bounded else ""
    rest = [verdict for verdict in verdicts if verdict.outcome == "failed"]
    tests = any(
        finding.kind == "max_significant_drop" for verdict in rest for finding in verdict.broken
    )
    stands = "; the failures above do not rest on it" if rest and not tests else ""
    if 0.5**moved >= SIGNIFICANT:
        only = (
            f"only {moved} of {n} queries changed in {measure}"
            if moved < n
            else f"only {count(n, 'query is', 'queries are')} compared"
        )
        yield f"{apart}{only}: no test could tell this from chance{stands}"
        return
    least = (
        ""
        if change.detectable is None
        else f"; {n} queries can show a worsening of about {change.detectable:.2g}"
    )
    worse = change.difference < 0 if measure.higher_is_better else change.difference > 0
    if not worse:
        said = f"{measure} got no worse{stands}"
    elif change.p >= SIGNIFICANT:
        said = f"the mean of {measure} alone cannot be told from chance ({probability(change.p)}){stands}"
    else:
        said = f"the change of {measure} is more than chance ({probability(change.p)})"
    yield f"{apart}{said}{least}"


def _unjudged(now: Measured, pardoned: Sequence[str]) -> Iterator[str]:
    """Whether the verdict rests on documents that nobody judged, and which of them to judge first."""
    if not pardoned:
        return
    yield f"without unjudged documents {', '.join(map(repr, pardoned[:NAMED]))}{and_more(len(pardoned))} would hold"
    seen: dict[str, list[int]] = {}
    for id, ids in now.rankings.items():
        grades = now.suite.by_id[id].judgments.grades
        for rank, document in enumerate(ids[: now.suite.top_k], 1):
            if document not in grades:
                seen.setdefault(document, []).append(rank)
    first = sorted(seen, key=lambda document: (-sum(1 / rank for rank in seen[document]), document))
    named = ", ".join(
        f"{now.name(document)} ({count(len(seen[document]), 'query', 'queries')}, best rank {min(seen[document])})"
        for document in first[:NAMED]
    )
    yield f"judge these first: {named}{and_more(len(first))}"


def _in_no_ranking(now: Measured) -> Iterator[str]:
    """Relevant documents that the baseline found and no ranking holds any more: they may have left the index."""
    if now.faults or len(now.asked) < len(now.suite.queries):
        return
    relevant = {document for query in now.asked for document in query.judgments.relevant}

    def found(run: Run | None, rankings: Mapping[str, Sequence[str]]) -> set[str]:
        passages = [run.rankings[id].besides for id in rankings] if run else []
        return set().union(
            *map(relevant.intersection, rankings.values()), *map(relevant.intersection, passages)
        )

    returned, before = found(now.run, now.rankings), found(now.baseline_run, now.before)
    lost = sorted(before - returned)
    if lost:
        named = ", ".join(map(now.name, lost[:NAMED])) + and_more(len(lost))
        what = count(
            len(lost),
            "relevant document of the baseline is",
            "relevant documents of the baseline are",
        )
        yield f"{what} in no ranking now: {named}"
    never = len(relevant - returned - before)
    if never:
        yield f"{share(never, len(relevant))} relevant documents are in no ranking{' of either side' if before else ''}"


def can_fail(check: Check) -> bool:
    """Whether a check demands anything."""
    if check.query:
        return bool(check.query.rules) or any(
            b.fails for limits in check.query.thresholds for b in limits.bounds
        )
    if check.guard:
        return check.guard.most is not None
    return check.rule is not None or any(
        bound.fails for bound in (check.limits.bounds if check.limits else ())
    )
