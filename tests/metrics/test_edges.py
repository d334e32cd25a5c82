"""Edges, decided and documented: nothing relevant, nothing found, duplicates, odd grades."""

from __future__ import annotations

import pytest

from pytest_irquality.metrics import Judgments, Measure, MeasureError, evaluate, parse_measure
from pytest_irquality.metrics.catalogue import DEFINITIONS

ALL = [parse_measure(name, top_k=5) for name in DEFINITIONS]
RELEVANCE = [measure for measure in ALL if measure.needs_relevant]


def one(
    measure: Measure | str, grades: dict[str, float], ranking: list[str], **more: object
) -> float | None:
    if isinstance(measure, str):
        measure = parse_measure(measure)
    relevant_from = more.pop("relevant_from", 1)
    assert isinstance(relevant_from, int | float)
    judgments = {"q": Judgments(grades, relevant_from)}
    return evaluate(judgments, {"q": ranking}, [measure], **more).value("q", measure)  # type: ignore[arg-type]


@pytest.mark.parametrize("measure", RELEVANCE, ids=str)
@pytest.mark.parametrize("grades", [{}, {"a": 0}, {"a": -1, "b": 0}])
def test_without_a_relevant_document_it_is_undefined_or_trec_evals_zero(
    measure: Measure, grades: dict[str, float]
) -> None:
    assert one(measure, grades, ["a", "b"]) is None
    nothing = 6 if measure.definition.name == "rank_of_first" else 0
    assert one(measure, grades, ["a", "b"], undefined="zero") == nothing
    assert not measure.defined_for(Judgments(grades))


@pytest.mark.parametrize("measure", RELEVANCE, ids=str)
def test_no_results_score_zero_and_are_defined(measure: Measure) -> None:
    nothing = 6 if measure.definition.name == "rank_of_first" else 0
    assert one(measure, {"a": 1, "b": 0}, []) == nothing
    assert measure.defined_for(Judgments({"a": 1}))


def test_a_query_without_judgments_is_scored_as_one_without_relevant_documents() -> None:
    recall, judged = parse_measure("recall@5"), parse_measure("judged@5")
    scores = evaluate({}, {"q": ["a"]}, [recall, judged])
    assert scores.values == {"q": (None, 0.0)}


def test_a_query_that_was_not_run_has_no_scores() -> None:
    assert not evaluate({"q": Judgments({"a": 1})}, {}, [parse_measure("mrr")]).values


def test_no_measures_no_values() -> None:
    assert evaluate({}, {"q": ["a"]}, []).values == {"q": ()}


def test_graded_measures_need_a_positive_grade_binary_ones_a_relevant_document() -> None:
    """As trec_eval: relevance level 5 zeroes everything but nDCG, which keeps every grade."""
    grades = {"a": 1.0, "b": 2.0}
    assert one("ndcg@2", grades, ["a", "b"], relevant_from=5) == pytest.approx(
        0.8597186998521972, abs=1e-12
    )
    assert one("map@2", grades, ["a", "b"], relevant_from=5) is None
    assert one("map(rel=2)@2", grades, ["a", "b"], relevant_from=5) == 0.5


def test_rel_overrides_the_suites_level_for_this_measure_alone() -> None:
    names = ["mrr@3", "mrr(rel=2)@3", "mrr(rel=3)@3", "mrr(rel=4)@3"]
    measures = [parse_measure(name) for name in names]
    scores = evaluate({"q": Judgments({"a": 1, "b": 2, "c": 3})}, {"q": ["a", "b", "c"]}, measures)
    assert scores.values["q"] == (1, 1 / 2, 1 / 3, None)


def test_a_fraction_may_separate_relevant_from_not() -> None:
    assert one("precision@2", {"a": 0.5, "b": 0.4}, ["a", "b"], relevant_from=0.5) == 0.5


def test_negative_grades_are_judged_but_neither_relevant_nor_nonrelevant() -> None:
    grades = {"a": -1.0, "b": 1.0}
    assert one("judged@2", grades, ["a", "x"]) == 0.5
    assert one("bpref", grades, ["a", "b"]) == 1
    assert one("bpref", {"a": 0, "b": 1}, ["a", "b"]) == 0
    assert one("dcg@1", grades, ["a", "b"]) == 0


def test_fewer_results_than_k() -> None:
    grades = {"a": 1.0, "b": 1.0}
    assert one("precision@5", grades, ["a", "x"]) == 1 / 5
    assert one("judged@5", grades, ["a", "x"]) == 1 / 2
    assert one("r_cap@5", grades, ["a"]) == 1 / 2
    assert one("rprec", grades, ["a"]) == 1 / 2


def test_judged_share_of_nothing_is_undefined_even_under_zero() -> None:
    assert one("judged@5", {"a": 1}, []) is None
    assert one("judged@5", {"a": 1}, [], undefined="zero") is None


def test_results_below_the_cutoff_count_for_nothing() -> None:
    grades = {"a": 3.0, "b": 3.0}
    for measure in RELEVANCE:
        if measure.definition.takes_cutoff:
            expected = 6 if measure.definition.name == "rank_of_first" else 0
            assert one(measure, grades, [*"vwxyz", "a", "b"]) == expected, measure


@pytest.mark.parametrize("ranking", [["x", "a", "y", "b", "z", "c"], [*"uvwxyz", "a", "b", "c"]])
def test_a_deeper_measure_does_not_change_a_shallower_one(ranking: list[str]) -> None:
    grades = {"a": 1.0, "b": 2.0, "c": 1.0}
    for measure in RELEVANCE:
        deep = [parse_measure("map@100"), measure, parse_measure("bpref"), parse_measure("rprec")]
        together = evaluate({"q": Judgments(grades)}, {"q": ranking}, deep)
        assert together.value("q", measure) == one(measure, grades, ranking), measure


def test_duplicates_are_credited_once_and_ranks_close_up() -> None:
    grades = {"a": 1.0, "b": 1.0}
    for measure in RELEVANCE:
        assert one(measure, grades, ["a", "a", "b", "a"]) == one(measure, grades, ["a", "b"]), (
            measure
        )
    assert one("judged@2", grades, ["a", "a", "x"]) == 1 / 2
    assert one("zero_results", grades, ["a", "a"]) == 0


@pytest.mark.parametrize("others", [0, 20], ids=["few judged", "many judged"])
def test_copies_of_an_unjudged_document_push_no_judged_one_down(others: int) -> None:
    """With `by=found`, what falls out of the cutoff is no longer divided by, so that a copy would raise the value."""
    grades = {"a": 1.0, "b": 2.0} | {f"elsewhere {number}": 1.0 for number in range(others)}
    honest, doubled = ["a", "x", "b", "c", "d", "y"], ["a", "x", "x", "b", "x", "c", "d", "y", "y"]
    for measure in [
        *ALL,
        parse_measure("map(by=found)@3"),
        parse_measure("bpref"),
        parse_measure("rprec"),
    ]:
        assert one(measure, grades, doubled) == one(measure, grades, honest), measure
    assert one("map(by=found)@3", grades, doubled) == (1 + 2 / 3) / 2
    assert one("mrr@3", grades, ["x", "x", "x", "x", "b"]) == 1 / 2


def test_ndcg_does_not_pass_one_by_the_last_bit_of_a_sum() -> None:
    """These grades differ in their last bit; summed in this order, their DCG is above the ideal one by one more."""
    grades = {
        "a": 0.25829817314563935,
        "b": 0.2582981731456394,
        "c": 0.2582981731456393,
        "d": 2.0799902549065052,
    }
    ranking = ["d", "a", "c", "b"]
    dcg, ideal = one("dcg@4", grades, ranking), one("dcg@4", grades, ["d", "b", "a", "c"])
    assert dcg is not None
    assert ideal is not None
    assert dcg > ideal
    assert one("ndcg@4", grades, ranking) == 1


class NeverLookedUp(str):
    """A document id that fails the test when it is looked up anywhere."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise AssertionError("looked below the deepest cutoff")


def test_no_document_below_the_deepest_cutoff_is_looked_up() -> None:
    measures = [parse_measure(name) for name in ("ndcg@2", "map(rel=2)@3", "mrr@1", "rprec")]
    ranking = ["x", "a", "y", NeverLookedUp("z")]
    scores = evaluate({"q": Judgments({"a": 2, "b": 1})}, {"q": ranking}, measures)
    assert scores.values["q"][1] == 1 / 2
    with pytest.raises(AssertionError, match="below the deepest cutoff"):
        evaluate({"q": Judgments({"a": 2})}, {"q": ranking}, [parse_measure("mrr@4")])


def test_rprec_looks_as_deep_as_there_are_relevant_documents() -> None:
    grades = dict.fromkeys("abc", 1.0)
    measures = [parse_measure("mrr@1"), parse_measure("rprec")]
    scores = evaluate({"q": Judgments(grades)}, {"q": ["x", "a", "b", "c"]}, measures)
    assert scores.values["q"] == (0, 2 / 3)


@pytest.mark.parametrize(
    ("name", "depth"), [("ndcg@7", 7), ("rprec", 3), ("bpref", None), ("latency_p95", 0)]
)
def test_how_deep_a_ranking_must_be(name: str, depth: int | None) -> None:
    assert parse_measure(name).depth(relevant_count=3) == depth


def test_zero_results_counts_queries() -> None:
    measure = parse_measure("zero_results")
    scores = evaluate({}, {"q1": [], "q2": ["a"], "q3": []}, [measure])
    assert scores.aggregate(measure).value == 2
    assert scores.aggregate(measure).n == 3


def test_agreement_with_the_baseline() -> None:
    rbo = parse_measure("rbo(p=0.5)@2")
    run = {
        "same": ["a", "b"],
        "swapped": ["b", "a"],
        "half": ["a", "c"],
        "lost": [],
        "both empty": [],
        "new": ["a"],
    }
    before = {query: ["a", "b", "z"] for query in ("same", "swapped", "half", "lost")} | {
        "both empty": []
    }
    scores = evaluate({}, run, [rbo], before=before)
    values = {query: [*row] for query, row in scores.values.items()}
    assert values["same"] == [1]
    assert values["swapped"] == pytest.approx([0.5 / 1.5])
    assert values["half"] == pytest.approx([(1 + 0.25) / 1.5])
    assert values["lost"] == [0]
    assert values["both empty"] == [1]
    assert values["new"] == [None]


@pytest.mark.parametrize("grade", [float("nan"), float("inf"), -float("inf")])
def test_a_grade_is_a_finite_number(grade: float) -> None:
    with pytest.raises(MeasureError, match=r"the grade of 'a' is -?(nan|inf)"):
        Judgments({"a": grade})


@pytest.mark.parametrize("relevant_from", [0, -1, float("nan")])
def test_zero_is_never_relevant(relevant_from: float) -> None:
    with pytest.raises(MeasureError, match="must be above 0"):
        Judgments({"a": 1}, relevant_from)


def test_a_grade_above_the_scale_names_the_query_and_the_way_out() -> None:
    with pytest.raises(
        MeasureError,
        match=r"the query 'q' has the grade 5, but the highest that err@2 can take is 4",
    ):
        one("err@2", {"a": 5}, ["a"])
    assert one("err(max=5)@2", {"a": 5}, ["a"]) == 31 / 32
    with pytest.raises(MeasureError, match="the highest that ndcg"):
        one("ndcg(gains=exp)@2", {"a": 5000}, ["a"])


def test_undefined_is_one_of_three_words() -> None:
    with pytest.raises(MeasureError, match="'skip' or 'judged_zero' or 'zero', not 'drop'"):
        evaluate({}, {}, [], undefined="drop")
