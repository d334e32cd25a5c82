"""Measures that no installed tool has, against their definitions written out: slow, plain, over the whole ranking."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose, log2, prod

from hypothesis import given

from pytest_irquality.metrics import Judgments, evaluate, parse_measure

from .cases import batch, seeds, thousands

Grades = list[int]  # of the ranking, best first; 0 where unjudged


def dcg(grades: Grades, everything: Grades, k: int) -> float:
    return sum(max(grade, 0) / log2(rank + 1) for rank, grade in enumerate(grades[:k], 1))


def dcg_exponential(grades: Grades, everything: Grades, k: int) -> float:
    return sum(
        (2.0 ** max(grade, 0) - 1) / log2(rank + 1) for rank, grade in enumerate(grades[:k], 1)
    )


def expected_reciprocal_rank(grades: Grades, everything: Grades, k: int) -> float:
    content = [(2.0 ** max(grade, 0) - 1) / 2**4 for grade in grades]
    return sum(
        prod(1 - c for c in content[:i]) * content[i] / (i + 1) for i in range(min(k, len(grades)))
    )


def rank_biased_precision(grades: Grades, everything: Grades, k: int) -> float:
    return sum((1 - 0.8) * 0.8**i for i, grade in enumerate(grades[:k]) if grade >= 1)


def average_precision(grades: Grades, k: int) -> tuple[float, int]:
    at = [
        sum(g >= 1 for g in grades[:rank]) / rank
        for rank in range(1, min(k, len(grades)) + 1)
        if grades[rank - 1] >= 1
    ]
    return sum(at), len(at)


def relevant(everything: Grades) -> int:
    return sum(grade >= 1 for grade in everything)


def average_precision_by_min(grades: Grades, everything: Grades, k: int) -> float:
    total, _ = average_precision(grades, k)
    return total / min(k, relevant(everything))


def average_precision_by_found(grades: Grades, everything: Grades, k: int) -> float:
    total, found = average_precision(grades, k)
    return total / found if found else 0


def rank_of_first(grades: Grades, everything: Grades, k: int) -> float:
    return next((rank for rank, grade in enumerate(grades[:k], 1) if grade >= 1), k + 1)


def f1(grades: Grades, everything: Grades, k: int) -> float:
    hits = sum(grade >= 1 for grade in grades[:k])
    p, r = hits / k, hits / relevant(everything)
    return 2 * p * r / (p + r) if hits else 0


BOOK: dict[str, Callable[[Grades, Grades, int], float]] = {
    "dcg": dcg,
    "dcg(gains=exp)": dcg_exponential,
    "err": expected_reciprocal_rank,
    "rbp(p=0.8)": rank_biased_precision,
    "map(by=min)": average_precision_by_min,
    "map(by=found)": average_precision_by_found,
    "rank_of_first": rank_of_first,
    "f1": f1,
}


CUTOFFS = (1, 2, 3, 5, 10, 20)


@thousands
@given(seeds)
def test_measures_are_as_defined(seed: int) -> None:
    cases = batch(seed)
    for case in cases.values():
        case.grades["never retrieved"] = 1
    measures = {
        parse_measure(f"{name}@{k}"): (by_the_book, k)
        for name, by_the_book in BOOK.items()
        for k in CUTOFFS
    }
    qrels = {query: Judgments(case.grades) for query, case in cases.items()}
    scores = evaluate(qrels, {query: case.ranking for query, case in cases.items()}, [*measures])
    for query, case in cases.items():
        grades = [case.grades.get(document, 0) for document in case.ranking]
        everything = [*case.grades.values()]
        for measure, (by_the_book, k) in measures.items():
            expected = by_the_book(grades, everything, k)
            value = scores.value(query, measure)
            assert value is not None
            assert isclose(value, expected, rel_tol=1e-12, abs_tol=1e-12), (str(measure), case)
