"""Passages in place of ids, for ``match: text``.

All that follows knows only documents and ranks.

A passage is found at the rank of the first result whose text holds it, whatever chunk that is. The
result then stands for the passage: of several that it is the first to hold, for the one with the
highest grade, which is the one gain it has. The others stand besides it, at its rank. A result's
own id that reads like a passage is marked, and so stands for nothing but the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from math import inf

from pytest_irquality.metrics import Hits, Judgments, Measure, Scores, evaluate
from pytest_irquality.passages import find_in, letters, normal, sought
from pytest_irquality.retrieval.run import Answer, Fault, Ranking, Run, deeper_than
from pytest_irquality.suite.model import Query, Suite

MARK = " (id)"


Wanted = Mapping[str, float]
"""The passages that a query looks for in texts, with their grades."""


def wanted_by(suite: Suite, query: Query) -> Wanted:
    """The passages that a query looks for."""
    rules = [*query.rules, *suite.rules_of_all]
    grades = dict.fromkeys((document for rule in rules for document in rule.documents), -inf)
    grades.update(query.judgments.grades)
    return grades


def by_passages(suite: Suite, run: Run, today: Run | None = None) -> Run:
    """The run with passages for ids where results hold them.

    The run itself where the suite goes by ids.

    A query with a result of which no text is known has a fault: a run file of ids alone cannot be
    matched. A chunk of a baseline goes by the id that ``today`` has for its text, so that new ids
    for the same chunks are no drift.
    """
    if not suite.by_text:
        return run
    wanted = {query.id: wanted_by(suite, query) for query in (*suite.queries, *suite.reworded)}
    return _found_in(suite, wanted, run, today)


def _found_in(
    suite: Suite, wanted: Mapping[str, Wanted], run: Run, today: Run | None, stage: str = ""
) -> Run:
    """A run, all its answers, its stages and its variants by the passages that they hold."""
    same_ids = today.first if today else None
    depth = suite.depth_of(stage)
    found = [_in_answer(depth, run.read, wanted, one, same_ids) for one in run.answers]
    everywhere = set(found[0][0].rankings).intersection(*(answer.rankings for answer, _ in found))
    faults = dict(run.faults)
    for _, of_answer in found:
        for id, fault in of_answer.items():
            faults.setdefault(id, fault)
    stages = {
        name: _found_in(suite, wanted, before, today and today.stages.get(name), name)
        for name, before in run.stages.items()
    }
    return replace(
        run,
        answers=tuple(answer.only(everywhere) for answer, _ in found),
        faults=faults,
        stages=stages,
        variants=run.variants and _found_in(suite, wanted, run.variants, None),
    )


def _in_answer(
    depth: int, read: int | None, wanted: Mapping[str, Wanted], answer: Answer, today: Answer | None
) -> tuple[Answer, Mapping[str, Fault]]:
    """One answer by the passages that it holds, and why some queries have none."""
    if today is not None:
        answer = _by_ids_of(today, answer, wanted.keys())
    passages = {passage for found in wanted.values() for passage in found}
    answer = _marked(passages, answer, wanted.keys())
    rankings = dict(answer.rankings)
    faults: dict[str, Fault] = {}
    for id in [id for id in wanted if id in rankings]:
        if fault := _without_text(rankings[id].ids[:read], answer.texts):
            del rankings[id]
            faults[id] = fault
        else:
            rankings[id] = _by_what_it_holds(wanted[id], rankings[id], answer.texts, depth)
            if (deeper := rankings[id].deeper) and not _without_text(deeper.ids, answer.texts):
                deeper = _by_what_it_holds(wanted[id], deeper, answer.texts, deeper_than(depth))
                rankings[id] = replace(rankings[id], deeper=deeper)
    chunks = _chunks_of(rankings[id] for id in wanted if id in rankings)
    return replace(answer, rankings=rankings, titles={**answer.titles, **chunks}), faults


def _without_text(ids: Iterable[str], texts: Mapping[str, str]) -> Fault | None:
    for id in ids:
        if id not in texts:
            return Fault(f"'match: text' needs the text of each result, and of {id} there is none")
    return None


def _chunks_of(rankings: Iterable[Ranking]) -> Mapping[str, str]:
    """The chunk of each passage, as its title: ``in chunk-7``.

    Nothing where queries found it in several chunks.
    """
    chunks: dict[str, set[str]] = {}
    for ranking in rankings:
        for passage, chunk in ranking.holders.items():
            chunks.setdefault(passage, set()).add(chunk)
    return {passage: f"in {min(found)}" for passage, found in chunks.items() if len(found) == 1}


def _by_what_it_holds(
    wanted: Wanted, ranking: Ranking, texts: Mapping[str, str], depth: int
) -> Ranking:
    """The ranking with the passage that each result brings.

    Each result brings the best of those that no better one has brought.
    """
    left = {passage: sought(passage) for passage in wanted}
    names: dict[str, str] = {}
    besides: dict[str, str] = {}
    holders: dict[str, str] = {}
    for id in dict.fromkeys(ranking.ids[:depth]):
        held = [passage for passage, words in left.items() if find_in(words, texts.get(id, ""))]
        for passage in held:
            del left[passage]
            holders[passage] = id
        if held:
            names[id] = max(held, key=wanted.__getitem__)
            besides.update({other: names[id] for other in held if other != names[id]})
    ids = tuple(names.get(id, id) for id in ranking.ids)
    return replace(ranking, ids=ids, besides=besides, holders=holders, own=ranking.ids)


def _by_ids_of(today: Answer, answer: Answer, queries: Set[str]) -> Answer:
    """The answer with the ids that ``today`` has for its texts, whatever their form.

    An id that means another text by now is marked.
    """
    known: dict[str, list[str]] = {}
    for id, text in today.texts.items():  # a text may be that of several chunks
        known.setdefault(letters(text), []).append(id)
    names = {}
    for id, text in answer.texts.items():
        same = known.get(letters(text), [])  # as the words of the same text are
        alike = (one for one in same if _alike(text, today.texts[one]))
        names[id] = next(alike, f"{id} (then)" if id in today.texts else id)
        if names[id] in same:
            same.remove(names[id])
    return _renamed(answer, names, queries)


def _alike(text: str, other: str) -> bool:
    return text == other or normal(text).line == normal(other).line


def _marked(passages: Set[str], answer: Answer, queries: Iterable[str]) -> Answer:
    """The answer with every id marked that is also a passage, so that it is not taken for one.

    What the mark is depends on the passages alone: both sides of a comparison mark alike. No
    passage ends in it, and an id that does is marked again, so that different ids stay different.
    """
    mark = MARK
    while any(passage.endswith(mark) for passage in passages):
        mark += MARK
    names = {id: id + mark for id in answer.texts if id in passages or id.endswith(mark)}
    return _renamed(answer, names, queries)


def _renamed(answer: Answer, names: Mapping[str, str], queries: Iterable[str]) -> Answer:
    """The answer with other ids for some of the results of these queries."""
    if not names:
        return answer

    def renamed_in(ranking: Ranking) -> Ranking:
        ids = tuple(names.get(id, id) for id in ranking.ids)
        return replace(ranking, ids=ids, deeper=ranking.deeper and renamed_in(ranking.deeper))

    renamed = {
        query: renamed_in(ranking) for query in queries if (ranking := answer.rankings.get(query))
    }
    titles = {names.get(id, id): title for id, title in answer.titles.items()}
    texts = {names.get(id, id): text for id, text in answer.texts.items()}
    return replace(
        answer,
        rankings={**answer.rankings, **renamed},
        titles={**answer.titles, **titles},
        texts={**answer.texts, **texts},
    )


def text_in(answer: Answer, query: str, document: str) -> str:
    """The text of the result that is a document, or stands for a passage, as words alone."""
    ranking = answer.rankings[query]
    for one in filter(None, (ranking, ranking.deeper)):
        if document in one.ids:
            return normal(answer.texts.get(one.raw[one.ids.index(document)], "")).line
    return ""


def ranks_of(ids: Sequence[str], ranking: Ranking) -> dict[str, int]:
    """The rank of everything that the first of a ranking's documents are or hold."""
    ranks = dict(zip(ids, range(1, len(ids) + 1), strict=True))
    ranks.update(
        {passage: ranks[holder] for passage, holder in ranking.besides.items() if holder in ranks}
    )
    return ranks


def one_gain_each(suite: Suite, answer: Answer) -> Mapping[str, Judgments]:
    """The judgments by query, without the passages that share a result with a better one.

    Such a result has one gain, so the best ranking has no more: two chunks made one never cost.
    """
    shared = {id: ranking.besides for id, ranking in answer.rankings.items() if ranking.besides}
    if not shared:
        return suite.qrels
    fewer = {}
    for id, besides in shared.items():
        judgments = suite.qrels[id]
        grades = {name: grade for name, grade in judgments.grades.items() if name not in besides}
        fewer[id] = Judgments(grades, judgments.relevant_from)
    return {**suite.qrels, **fewer}


def recall_counts_passages(suite: Suite, answer: Answer, hits: Hits, scores: Scores) -> Scores:
    """The scores, but where a result holds several passages recall has found each of them."""
    values = dict(scores.values)
    for id, ids in zip(hits.queries, hits.rankings, strict=True):
        if not answer.rankings[id].besides:
            continue
        ranks, row = ranks_of(ids, answer.rankings[id]), list(values[id])
        for place, measure in enumerate(scores.measures):
            if measure.definition.name == "recall":
                row[place] = _of_all_found(suite, id, measure, ranks)
        values[id] = tuple(row)
    return Scores(scores.measures, values)


def _of_all_found(
    suite: Suite, query: str, measure: Measure, ranks: Mapping[str, int]
) -> float | None:
    """A measure of everything found up to its cutoff, be it several at one rank."""
    k = measure.k or 0
    found = [document for document, rank in ranks.items() if rank <= k]
    deep = replace(measure, k=max(k, len(found)))
    scores = evaluate(suite.qrels, {query: found}, [deep], undefined=suite.undefined)
    return scores.value(query, deep)
