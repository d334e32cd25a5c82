"""What holds of every measure, whatever the ranking."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_irquality.metrics import DEFINITIONS, Judgments, Measure, evaluate, parse_measure

from .cases import Case, cases

EXTRA = [
    "map(by=min)@3",
    "map(by=found)@3",
    "ndcg(gains=exp)@3",
    "f(beta=2)@3",
    "map(rel=2)@3",
    "rbp(p=0.5)@3",
]
NAMES = [name if name != "iprec" else "iprec@0.5" for name in DEFINITIONS]
ALL = [parse_measure(name, top_k) for name in NAMES for top_k in (1, 3, 20)] + [
    parse_measure(name) for name in EXTRA
]
RELEVANCE = [measure for measure in ALL if measure.needs_relevant]
# Moving a relevant document up into the cutoff adds a precision to the sum but also one to what it is divided by.
MAY_FALL = {"map(by=found)@3"}
often = settings(max_examples=300, deadline=None, database=None)


def values(
    case: Case, ranking: list[str], measures: list[Measure] = ALL, **more: Any
) -> dict[Measure, float | None]:
    scores = evaluate({"q": Judgments(case.grades)}, {"q": ranking}, measures, **more)
    return dict(zip(measures, scores.values["q"], strict=True))


@often
@given(cases, st.sampled_from(["skip", "zero"]), st.lists(st.sampled_from("abcd"), unique=True))
def test_values_are_within_their_range(case: Case, undefined: str, before: list[str]) -> None:
    found = values(
        case, case.ranking, undefined=undefined, seconds={"q": 0.1}, before={"q": before}
    )
    for measure, value in found.items():
        low, high = measure.range
        assert value is None or low <= value <= high, measure


@often
@given(cases, st.data())
def test_moving_a_better_document_up_never_lowers_a_measure(
    case: Case, data: st.DataObject
) -> None:
    """Nor raises one where lower is better. An unjudged document and one of grade 0 or less are of the same worth."""
    assume(len(case.ranking) > 1)
    worth = [max(case.grades.get(document, 0), 0) for document in case.ranking]
    climbs = [place for place in range(1, len(worth)) if worth[place] > worth[place - 1]]
    assume(climbs)
    place = data.draw(st.sampled_from(climbs))
    better = case.ranking.copy()
    better[place - 1], better[place] = better[place], better[place - 1]
    old, new = values(case, case.ranking), values(case, better)
    for measure in RELEVANCE:
        if str(measure) not in MAY_FALL:
            was, now = old[measure], new[measure]
            assert (was is None) == (now is None)
            assert was is None or now is None or improved(measure, was, now), measure


def improved(measure: Measure, was: float, now: float) -> bool:
    """Not worse, but for the last bit of a sum."""
    return now >= was - 1e-12 if measure.higher_is_better else now <= was + 1e-12


@often
@given(cases, st.permutations([f"d{number}" for number in range(14)]))
def test_names_of_documents_do_not_matter(case: Case, others: list[str]) -> None:
    renamed = dict(zip([f"d{number}" for number in range(14)], others, strict=True))
    grades = {renamed[document]: grade for document, grade in case.grades.items()}
    ranking = [renamed[document] for document in case.ranking]
    assert values(case, case.ranking) == values(Case(grades, ranking), ranking)


@often
@given(cases, st.data())
def test_a_duplicate_changes_nothing(case: Case, data: st.DataObject) -> None:
    assume(case.ranking)
    copied = case.ranking.copy()
    for document in data.draw(st.lists(st.sampled_from(case.ranking), min_size=1, max_size=3)):
        copied.insert(data.draw(st.integers(0, len(copied))), document)
    assert values(case, copied) == values(case, [*dict.fromkeys(copied)])


@often
@given(cases)
def test_a_perfect_ranking_has_an_ndcg_of_exactly_one(case: Case) -> None:
    best = sorted(case.grades, key=case.grades.__getitem__, reverse=True)
    assume(best and case.grades[best[0]] > 0)
    measures = [
        parse_measure(f"ndcg(gains={gains})@{k}") for gains in ("lin", "exp") for k in (1, 3, 20)
    ]
    assert set(values(case, best, measures).values()) == {1.0}


@often
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
