"""What holds of every measure, whatever the ranking."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pytest_irquality.metrics import Judgments, Measure, evaluate, parse_measure
from pytest_irquality.metrics.catalogue import DEFINITIONS

from .cases import DOCUMENTS, Case, batch, seeds, some_of, thousands

EXTRA = [
    "map(by=min)@3",
    "map(by=found)@3",
    "ndcg(gains=exp)@3",
    "map(rel=2)@3",
    "rbp(p=0.5)@3",
]
ALL = [parse_measure(name, top_k) for name in DEFINITIONS for top_k in (1, 3, 20)] + [
    parse_measure(name) for name in EXTRA
]
RELEVANCE = [measure for measure in ALL if measure.needs_relevant]
# Moving a relevant document up into the cutoff adds a precision to the sum but also one to what it is divided by.
MAY_FALL = {"map(by=found)@3"}
ROWS = dict[str, dict[Measure, float | None]]


def values(
    cases: dict[str, Case],
    rankings: dict[str, list[str]],
    measures: list[Measure] = ALL,
    **more: Any,
) -> ROWS:
    """Every measure of other rankings for the same queries."""
    qrels = {query: Judgments(case.grades) for query, case in cases.items()}
    scores = evaluate(qrels, rankings, measures, **more)
    return {query: dict(zip(measures, row, strict=True)) for query, row in scores.values.items()}


def returned(cases: dict[str, Case]) -> dict[str, list[str]]:
    return {query: case.ranking for query, case in cases.items()}


@pytest.mark.parametrize("undefined", ["skip", "zero"])
@thousands
@given(seeds)
def test_values_are_within_their_range(undefined: str, seed: int) -> None:
    cases, draw = batch(seed), Random(seed)
    before = {query: some_of(DOCUMENTS, draw) for query in cases}
    seconds = dict.fromkeys(cases, 0.1)
    found = values(cases, returned(cases), undefined=undefined, seconds=seconds, before=before)
    for query, row in found.items():
        for measure, value in row.items():
            low, high = measure.range
            assert value is None or low <= value <= high, (str(measure), cases[query])


@thousands
@given(seeds)
def test_moving_a_better_document_up_never_lowers_a_measure(seed: int) -> None:
    """Nor raises one where lower is better. An unjudged document and one of grade 0 or less are of the same worth."""
    cases, draw = batch(seed), Random(seed)
    climbed = {query: climb(case, draw) for query, case in cases.items()}
    was, now = values(cases, returned(cases)), values(cases, climbed)
    for query, case in cases.items():
        for measure in RELEVANCE:
            if str(measure) not in MAY_FALL:
                old, new = was[query][measure], now[query][measure]
                assert improved(measure, old, new), (str(measure), case, climbed[query])


def climb(case: Case, draw: Random) -> list[str]:
    """The ranking with one document before its neighbour of less worth, where there are such two."""
    worth = [max(case.grades.get(document, 0), 0) for document in case.ranking]
    climbs = [place for place in range(1, len(worth)) if worth[place] > worth[place - 1]]
    better = case.ranking.copy()
    if climbs:
        place = draw.choice(climbs)
        better[place - 1], better[place] = better[place], better[place - 1]
    return better


def improved(measure: Measure, was: float | None, now: float | None) -> bool:
    """Not worse, but for the last bit of a sum; and as undefined as before."""
    if was is None or now is None:
        return was is now
    return now >= was - 1e-12 if measure.higher_is_better else now <= was + 1e-12


@thousands
@given(seeds)
def test_names_of_documents_do_not_matter(seed: int) -> None:
    cases, draw = batch(seed), Random(seed)
    renamed = dict(zip(DOCUMENTS, draw.sample(DOCUMENTS, len(DOCUMENTS)), strict=True))
    others = {
        query: Case(
            {renamed[document]: grade for document, grade in case.grades.items()},
            [renamed[document] for document in case.ranking],
        )
        for query, case in cases.items()
    }
    assert values(cases, returned(cases)) == values(others, returned(others))


@thousands
@given(seeds)
def test_a_duplicate_changes_nothing(seed: int) -> None:
    cases, draw = batch(seed), Random(seed)
    copied = {query: with_duplicates(case.ranking, draw) for query, case in cases.items()}
    first = {query: [*dict.fromkeys(ranking)] for query, ranking in copied.items()}
    assert values(cases, copied) == values(cases, first)


def with_duplicates(ranking: list[str], draw: Random) -> list[str]:
    copied = ranking.copy()
    for document in draw.choices(ranking, k=3) if ranking else ():
        copied.insert(draw.randint(0, len(copied)), document)
    return copied


@thousands
@given(seeds)
def test_a_perfect_ranking_has_an_ndcg_of_exactly_one(seed: int) -> None:
    cases = {query: case for query, case in batch(seed).items() if gain(case)}
    best = {
        query: sorted(case.grades, key=case.grades.__getitem__, reverse=True)
        for query, case in cases.items()
    }
    measures = [
        parse_measure(f"ndcg(gains={gains})@{k}") for gains in ("lin", "exp") for k in (1, 3, 20)
    ]
    for row in values(cases, best, measures).values():
        assert set(row.values()) == {1.0}


def gain(case: Case) -> bool:
    return any(grade > 0 for grade in case.grades.values())


@settings(max_examples=300)
@given(st.lists(st.floats(0, 5), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_fractional_grades_keep_within_bounds(grades: list[float], draw: Any) -> None:
    """The sum of an ideal ranking and of one nearly so may differ in their last bit either way."""
    judged = {str(number): grade for number, grade in enumerate(grades)}
    ranking = sorted(judged)
    draw.shuffle(ranking)
    measures = [
        parse_measure(name) for name in ("ndcg@10", "ndcg@3", "err(max=5)@10", "ndcg(gains=exp)@10")
    ]
    for value in evaluate({"q": Judgments(judged)}, {"q": ranking}, measures).values["q"]:
        assert value is None or 0 <= value <= 1
