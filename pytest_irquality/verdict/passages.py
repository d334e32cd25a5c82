"""``match: text``: a run told by passages, so that everything after it can go on speaking of documents and ranks.

A passage is found at the rank of the first result whose text contains it, whatever chunk that is. The result then
stands for the passage: of several that it is the first to contain, for the one with the highest grade, which is the one
gain it has. The others stand besides it, at its rank. A result's own id that reads like a passage is marked, and so
stands for nothing but the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from math import inf
from unicodedata import normalize

from pytest_irquality.metrics import Scores, evaluate
from pytest_irquality.retrieval.run import Fault, Ranking, Run
from pytest_irquality.suite.model import Query, Suite

COUNT_PASSAGES = ("recall", "set_recall")
MARK = " (id)"


def by_passages(suite: Suite, run: Run, today: Run | None = None) -> Run:
    """The run with passages for ids where results contain them; the run itself where the suite matches by id.

    A query with a result of which no text is known has a fault: a run file of ids alone cannot be matched. A chunk of a
    baseline goes by the id that ``today`` has for its text, so that new ids for the same chunks are no drift.
    """
    if suite.match == "id":
        return run
    if today is not None:
        run = _by_ids_of(today, run)
    passages = {query.id: _wanted(suite, query) for query in suite.queries}
    run = _apart_from(set().union(*passages.values()), run)
    folded = cache(lambda id: fold(run.texts[id]))
    rankings: dict[str, Ranking] = {}
    faults = dict(run.faults)
    chunks: dict[str, set[str]] = {}
    for id, ranking in run.rankings.items():
        if (wanted := passages.get(id)) is not None:
            if lacks := next((result for result in ranking.ids if result not in run.texts), None):
                faults[id] = Fault(
                    f"'match: text' needs the text of each result, and of {lacks} there is none"
                )
                continue
            found = _found(
                wanted, {result: folded(result) for result in ranking.ids[: suite.depth]}
            )
            named = {result: max(held, key=wanted.__getitem__) for result, held in found.items()}
            ids = tuple(named.get(result, result) for result in ranking.ids)
            besides = {
                other: named[result]
                for result, held in found.items()
                for other in held
                if other not in ids
            }
            rankings[id] = replace(ranking, ids=ids, besides=besides)
            for result, held in found.items():
                for passage in held:
                    chunks.setdefault(passage, set()).add(result)
    where = {
        passage: f"in {min(results)}" for passage, results in chunks.items() if len(results) == 1
    }
    return replace(run, rankings=rankings, faults=faults, titles={**run.titles, **where})


def _by_ids_of(today: Run, run: Run) -> Run:
    """The run with the ids that ``today`` has for its texts; an id that means another text by now is marked."""
    known: dict[str, list[str]] = {}
    for id, text in today.texts.items():  # a text may be that of several chunks
        known.setdefault(text, []).append(id)
    names = {}
    for id, text in run.texts.items():
        own = f"{id} (then)" if id in today.texts else id
        names[id] = known[text].pop(0) if known.get(text) else own
    return _renamed(run, names)


def _apart_from(passages: Set[str], run: Run) -> Run:
    """The run with every id marked that is also a passage, so that it is not taken for one.

    What the mark is depends on the passages alone: both sides of a comparison mark alike. No passage ends in it, and an
    id that does is marked again, so that different ids stay different.
    """
    mark = MARK
    while any(passage.endswith(mark) for passage in passages):
        mark += MARK
    return _renamed(run, {id: id + mark for id in run.texts if id in passages or id.endswith(mark)})


def _renamed(run: Run, names: Mapping[str, str]) -> Run:
    """The run with other ids for some of its results."""
    if not names:
        return run
    return replace(
        run,
        rankings={
            query: replace(ranking, ids=tuple(names.get(id, id) for id in ranking.ids))
            for query, ranking in run.rankings.items()
        },
        titles={names.get(id, id): title for id, title in run.titles.items()},
        texts={names.get(id, id): text for id, text in run.texts.items()},
    )


def ranks_of(ids: Sequence[str], ranking: Ranking) -> dict[str, int]:
    """The rank of everything that the first of a ranking's documents are or hold."""
    ranks = dict(zip(ids, range(1, len(ids) + 1), strict=True))
    ranks.update(
        {passage: ranks[holder] for passage, holder in ranking.besides.items() if holder in ranks}
    )
    return ranks


def recall_counts_passages(
    suite: Suite, run: Run, rankings: Mapping[str, Sequence[str]], scores: Scores
) -> Scores:
    """The scores, but where a result holds several passages recall has found each of them."""
    places = [
        place
        for place, measure in enumerate(suite.measures)
        if measure.definition.name in COUNT_PASSAGES
    ]
    values = dict(scores.values)
    for id in (id for id in rankings if places and run.rankings[id].besides):
        ranks, row = ranks_of(rankings[id], run.rankings[id]), list(values[id])
        for place in places:
            measure = suite.measures[place]
            found = [
                document
                for document, rank in ranks.items()
                if measure.k is None or rank <= measure.k
            ]
            deep = measure if measure.k is None else replace(measure, k=max(measure.k, len(found)))
            row[place] = evaluate(
                suite.qrels, {id: found}, [deep], undefined=suite.undefined
            ).values[id][0]
        values[id] = tuple(row)
    return Scores(scores.measures, values)


def fold(text: str) -> str:
    """A text by its words alone: case, white space and Unicode's ways to write the same character aside."""
    return " ".join(normalize("NFKC", normalize("NFKC", text).casefold()).split())


def _wanted(suite: Suite, query: Query) -> Mapping[str, float]:
    """Every passage that a judgment or a rule of the query names, with its grade."""
    rules = [*query.rules, *(check.rule for check in suite.checks if check.rule)]
    grades = query.judgments.grades
    return {
        **grades,
        **{passage: -inf for rule in rules for passage in rule.documents if passage not in grades},
    }


def _found(wanted: Iterable[str], texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The results that are the first to contain passages, with those passages."""
    found: dict[str, list[str]] = {}
    for passage in wanted:
        words = fold(passage)
        if words and (
            first := next((result for result, text in texts.items() if words in text), None)
        ):
            found.setdefault(first, []).append(passage)
    return found
