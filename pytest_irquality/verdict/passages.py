"""``match: text``: a run with passages in place of ids, so that all that follows knows only
documents and ranks.

A passage is found at the rank of the first result whose text holds it, whatever chunk that is. The
result then stands for the passage: of several that it is the first to hold, for the one with the
highest grade, which is the one gain it has. The others stand besides it, at its rank. A result's
own id that reads like a passage is marked, and so stands for nothing but the result.

A query may name documents and passages. Its results go by their documents' ids, so that chunks of
one document are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import inf

from pytest_irquality.metrics import Judgments, Scores, evaluate
from pytest_irquality.passages import find, normal
from pytest_irquality.retrieval.results import document_of
from pytest_irquality.retrieval.run import Fault, Ranking, Run, one_side
from pytest_irquality.suite.model import Query, Suite

COUNT_PASSAGES = ("recall", "all_relevant")
MARK = " (id)"


@dataclass(frozen=True)
class Wanted:
    """What a query looks for, with its grades: passages in texts, and documents by id."""

    passages: Mapping[str, float]
    documents: Mapping[str, float]
    ids_too: bool


def wanted_by(suite: Suite, query: Query) -> Wanted | None:
    """What a query looks for, None where it goes by ids alone."""
    by_text = suite.by_text(query)
    if not by_text and not query.passages:
        return None
    rules = [*query.rules, *suite.rules_of_all]
    grades = dict.fromkeys((document for rule in rules for document in rule.documents), -inf)
    grades.update(query.judgments.grades)
    passages = {name: grade for name, grade in grades.items() if by_text or name in query.passages}
    documents = {name: grade for name, grade in grades.items() if name not in passages}
    return Wanted(passages, documents, not by_text)


def by_passages(suite: Suite, run: Run, today: Run | None = None) -> Run:
    """The run with passages for ids where results hold them; the run itself where the suite goes by
    ids.

    A query with a result of which no text is known has a fault: a run file of ids alone cannot be
    matched. A chunk of a baseline goes by the id that ``today`` has for its text, so that new ids
    for the same chunks are no drift.
    """
    wanted = {
        query.id: found
        for query in (*suite.queries, *suite.reworded)
        if (found := wanted_by(suite, query))
    }
    return _found_in(suite, wanted, run, today) if wanted else run


def _found_in(
    suite: Suite,
    wanted: Mapping[str, Wanted],
    run: Run,
    today: Run | None,
    of_candidates: bool = False,
) -> Run:
    """A run, all its answers, its candidates and its variants by the passages that they hold."""
    by_text = {id for id, found in wanted.items() if not found.ids_too}
    if today is not None:
        run = _by_ids_of(today, run, by_text)
    passages = {passage for found in wanted.values() for passage in found.passages}
    run = _apart_from(passages, run, wanted.keys())
    depth = suite.candidates_depth if of_candidates else suite.depth
    rankings = dict(run.rankings)
    faults = dict(run.faults)
    for id, found in wanted.items():
        if id not in rankings:
            continue
        ranking = rankings[id]
        without_text = next((result for result in ranking.ids if result not in run.texts), None)
        if without_text is None:
            rankings[id] = _by_what_it_holds(found, ranking, run.texts, depth)
        else:
            del rankings[id]
            message = f"needs the text of each result, and of {without_text} there is none"
            faults[id] = Fault(f"'match: text' {message}")
    candidates = run.candidates
    if candidates:
        before = today.candidates if today else None
        candidates = _found_in(suite, wanted, candidates, before, of_candidates=True)
    first = replace(
        run,
        rankings=rankings,
        faults=faults,
        titles={**run.titles, **_chunks_of(rankings[id] for id in wanted if id in rankings)},
        again=(),
        variants=None,
        candidates=candidates,
    )
    others = [_found_in(suite, wanted, other, today) for other in run.again]
    variants = run.variants and _found_in(suite, wanted, run.variants, None)
    return replace(one_side([first, *others]), variants=variants)


def _chunks_of(rankings: Iterable[Ranking]) -> Mapping[str, str]:
    """Where each passage was found, as its title: ``in chunk-7``; nothing where queries found it in
    several chunks.
    """
    chunks: dict[str, set[str]] = {}
    for ranking in rankings:
        for passage, chunk in ranking.holders.items():
            chunks.setdefault(passage, set()).add(chunk)
    return {passage: f"in {min(found)}" for passage, found in chunks.items() if len(found) == 1}


def _by_what_it_holds(
    wanted: Wanted, ranking: Ranking, texts: Mapping[str, str], depth: int
) -> Ranking:
    """The ranking with the best passage or document that each result is the first to bring for its
    id.
    """
    grades = {**wanted.documents, **wanted.passages}
    left = {passage: normal(passage) for passage in wanted.passages}
    documents = {id: document_of(id, texts[id]) if wanted.ids_too else id for id in ranking.ids}
    names: dict[str, str] = {}
    besides: dict[str, str] = {}
    holders: dict[str, str] = {}
    for id in dict.fromkeys(ranking.ids[:depth]):
        text = normal(texts[id])
        found = [passage for passage, words in left.items() if find(words, text)]
        document = documents[id]
        is_new = document in wanted.documents and document not in names.values()
        held = [*found, *([document] if is_new and document not in besides else [])]
        if not held:
            continue
        names[id] = max(held, key=grades.__getitem__)
        besides.update({other: names[id] for other in held if other != names[id]})
        holders.update(dict.fromkeys(found, id))
        for passage in found:
            del left[passage]
    ids = tuple(names.get(id) or besides.get(documents[id], documents[id]) for id in ranking.ids)
    return replace(ranking, ids=ids, besides=besides, holders=holders, own=ranking.ids)


def _by_ids_of(today: Run, run: Run, queries: Set[str]) -> Run:
    """The run with the ids that ``today`` has for its texts, whatever their form; an id that means
    another text by now is marked.
    """
    known: dict[str, list[str]] = {}
    for id, text in today.texts.items():  # a text may be that of several chunks
        known.setdefault(normal(text).line, []).append(id)
    names = {}
    for id, text in run.texts.items():
        own = f"{id} (then)" if id in today.texts else id
        same = known.get(normal(text).line)
        names[id] = same.pop(0) if same else own
    return _renamed(run, names, queries)


def _apart_from(passages: Set[str], run: Run, queries: Iterable[str]) -> Run:
    """The run with every id marked that is also a passage, so that it is not taken for one.

    What the mark is depends on the passages alone: both sides of a comparison mark alike. No
    passage ends in it, and an id that does is marked again, so that different ids stay different.
    """
    mark = MARK
    while any(passage.endswith(mark) for passage in passages):
        mark += MARK
    names = {id: id + mark for id in run.texts if id in passages or id.endswith(mark)}
    return _renamed(run, names, queries)


def _renamed(run: Run, names: Mapping[str, str], queries: Iterable[str]) -> Run:
    """The run with other ids for some of the results of these queries."""
    if not names:
        return run
    renamed = {
        query: replace(ranking, ids=tuple(names.get(id, id) for id in ranking.ids))
        for query in queries
        if (ranking := run.rankings.get(query))
    }
    return replace(
        run,
        rankings={**run.rankings, **renamed},
        titles={**run.titles, **{names.get(id, id): title for id, title in run.titles.items()}},
        texts={**run.texts, **{names.get(id, id): text for id, text in run.texts.items()}},
    )


def ranks_of(ids: Sequence[str], ranking: Ranking) -> dict[str, int]:
    """The rank of everything that the first of a ranking's documents are or hold."""
    ranks = dict(zip(ids, range(1, len(ids) + 1), strict=True))
    ranks.update(
        {passage: ranks[holder] for passage, holder in ranking.besides.items() if holder in ranks}
    )
    return ranks


def one_gain_each(suite: Suite, run: Run, rankings: Iterable[str]) -> Mapping[str, Judgments]:
    """The judgments by query, without the passages that share a result with a better one.

    Such a result has one gain, so the best ranking has no more: two chunks made one never cost.
    """
    shared = {id: run.rankings[id].besides for id in rankings if run.rankings[id].besides}
    if not shared:
        return suite.qrels
    fewer = {}
    for id, besides in shared.items():
        judgments = suite.qrels[id]
        grades = {name: grade for name, grade in judgments.grades.items() if name not in besides}
        fewer[id] = Judgments(grades, judgments.relevant_from)
    return {**suite.qrels, **fewer}


def recall_counts_passages(
    suite: Suite,
    run: Run,
    queries: Iterable[str],
    rankings: Mapping[str, Sequence[str]],
    scores: Scores,
) -> Scores:
    """The scores, but where a result holds several passages recall has found each of them."""
    places = [
        place
        for place, measure in enumerate(suite.measures)
        if measure.definition.name in COUNT_PASSAGES
    ]
    values = dict(scores.values)
    for id in (id for id in queries if places and run.rankings[id].besides):
        ranks, row = ranks_of(rankings[id], run.rankings[id]), list(values[id])
        for place in places:
            measure = suite.measures[place]
            k = measure.k or 0
            found = [document for document, rank in ranks.items() if rank <= k]
            deep = replace(measure, k=max(k, len(found)))
            row[place] = evaluate(
                suite.qrels, {id: found}, [deep], undefined=suite.undefined
            ).values[id][0]
        values[id] = tuple(row)
    return Scores(scores.measures, values)
