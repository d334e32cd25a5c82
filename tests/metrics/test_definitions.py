"""Values of metrics: worked examples, edge cases, and properties of all metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isclose, log2
from random import Random

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.metrics import (
    METRICS,
    Judgments,
    Metric,
    MetricError,
    compute_overlap,
    parse_metric,
    score_rankings,
)

from .helpers import DOC_IDS, Case, batches, draw_batch, draw_some, score, score_cases, seeds

EVERY_FAMILY = [parse_metric(name, top_k=5) for name in METRICS]
NEEDING_JUDGMENTS = [metric for metric in EVERY_FAMILY if metric.needs_judgments]
WITH_CUTOFF = [metric for metric in NEEDING_JUDGMENTS if metric.cutoff]


def score_grades(
    name: str, grades: Sequence[float], relevant_from: float = 1, missing: int = 0
) -> float | None:
    """Score a ranking of documents with these grades, of which relevant ones are missing."""
    ranking = [f"d{rank}" for rank in range(1, len(grades) + 1)]
    judged = dict(zip(ranking, grades, strict=True))
    judged.update({f"missing-{number}": 1.0 for number in range(missing)})
    return score(name, judged, ranking, relevant_from=relevant_from)


def grades_at(*ranks: int) -> list[float]:
    return [float(rank in ranks) for rank in range(1, 9)]


class TestWorkedExamples:
    """Examples of textbooks and tutorials, with their slips corrected."""

    @pytest.mark.parametrize(
        ("pattern", "expected"), [("RIRRRRIIIR", 0.775), ("IRIIRRRIRR", 0.5212)]
    )
    def test_average_precision_of_two_rankings(self, pattern: str, expected: float) -> None:
        grades = [float(letter == "R") for letter in pattern]

        assert score_grades("map@10", grades) == pytest.approx(expected, abs=5e-5)

    @pytest.mark.parametrize(
        ("cutoff", "expected"), list(enumerate([0, 0.25, 0.25, 0.5, 0.75, 0.75, 1, 1], 1))
    )
    def test_recall_grows_with_the_cutoff(self, cutoff: int, expected: float) -> None:
        assert score_grades(f"recall@{cutoff}", grades_at(2, 4, 5, 7)) == expected

    @pytest.mark.parametrize(
        ("ranks", "expected"), [((2, 4, 5, 7), 0.5429), ((1, 4, 5, 7), 0.6679), ((5, 8), 0.225)]
    )
    def test_average_precision_at_eight(self, ranks: tuple[int, ...], expected: float) -> None:
        assert score_grades("map@8", grades_at(*ranks)) == pytest.approx(expected, abs=5e-5)

    @pytest.mark.parametrize(
        ("name", "expected", "tolerance"),
        [("ndcg@2", 0.3869, 5e-5), ("ndcg@8", 0.7283, 5e-5), ("dcg@8", 7.85, 5e-3)],
    )
    def test_graded_gains(self, name: str, expected: float, tolerance: float) -> None:
        value = score_grades(name, [0, 4, 1, 3, 4, 1, 3, 2])

        assert value == pytest.approx(expected, abs=tolerance)

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("ndcg@2", (1.0, 0.9232, 0.4202)),
            ("precision@2", (1.0, 1.0, 0.0)),
            ("mrr@2", (1, 1, 0)),
            ("mrr@3", (1, 1, 1 / 3)),
        ],
    )
    def test_fractional_grades(self, name: str, expected: tuple[float, ...]) -> None:
        rankings = [(1.0, 0.5, 0.3, 0.1), (0.7, 1.0, 0.2, 0.1), (0.4, 0.2, 1.0, 0.1)]

        values = [score_grades(name, grades, relevant_from=0.5) for grades in rankings]

        assert values == pytest.approx(expected, abs=5e-5)

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("map(by=all)@3", (1 + 2 / 3) / 5),
            ("map(by=min)@3", (1 + 2 / 3) / 3),
            ("map(by=found)@3", (1 + 2 / 3) / 2),
            ("precision@3", 2 / 3),
            ("recall@3", 2 / 5),
            ("r_cap@3", 2 / 3),
            ("r_cap@10", 2 / 5),
            ("success@3", 1),
            ("complete@3", 0),
            ("rprec", 2 / 5),
            ("rank_of_first@3", 1),
            ("zero_results", 0),
            ("judged@3", 1),
        ],
    )
    def test_two_of_five_relevant_documents_returned(self, name: str, expected: float) -> None:
        assert score_grades(name, [1, 0, 1], missing=3) == pytest.approx(expected, abs=1e-12)

    def test_exponential_gains(self) -> None:
        dcg = score_grades("dcg(gains=exp)@2", [1, 3])

        assert dcg == pytest.approx(1 + 7 / 1.584962500721156, abs=1e-12)
        assert score_grades("ndcg(gains=exp)@1", [1, 3]) == pytest.approx(1 / 7, abs=1e-12)

    @pytest.mark.parametrize(
        ("ranking", "cutoff", "expected"),
        [("ab", 2, 1), ("axb", 2, 0), ("axb", 3, 1), ("ax", 3, 0), ("", 3, 0), ("ab", 1, 0)],
    )
    def test_complete_needs_all_relevant_documents(
        self, ranking: str, cutoff: int, expected: float
    ) -> None:
        grades = {"a": 1, "b": 2, "x": 0}

        assert score(f"complete@{cutoff}", grades, ranking) == expected


class TestUndefined:
    """Queries without relevant documents, judgments or results."""

    @pytest.mark.parametrize("metric", NEEDING_JUDGMENTS, ids=str)
    @pytest.mark.parametrize("grades", [{}, {"a": 0}, {"a": -1, "b": 0}])
    def test_a_query_without_relevant_documents_has_no_value_or_that_of_trec_eval(
        self, metric: Metric, grades: dict[str, float]
    ) -> None:
        worst = 6 if metric.definition.name == "rank_of_first" else 0

        assert score(metric, grades, "ab") is None
        assert score(metric, grades, "ab", undefined="zero") == worst
        assert not metric.is_defined_for(Judgments(grades))

    @pytest.mark.parametrize("metric", NEEDING_JUDGMENTS, ids=str)
    def test_an_empty_ranking_has_the_worst_value(self, metric: Metric) -> None:
        worst = 6 if metric.definition.name == "rank_of_first" else 0

        assert score(metric, {"a": 1, "b": 0}, []) == worst
        assert metric.is_defined_for(Judgments({"a": 1}))

    def test_graded_metrics_need_a_positive_grade_and_binary_ones_a_relevant_document(self) -> None:
        """As in trec_eval, nDCG uses grades below the relevance level."""
        grades = {"a": 1.0, "b": 2.0}

        assert score("ndcg@2", grades, "ab", relevant_from=5) == pytest.approx(0.8597186998521972)
        assert score("map@2", grades, "ab", relevant_from=5) is None
        assert score("map(rel=2)@2", grades, "ab", relevant_from=5) == 0.5

    def test_the_fraction_of_judged_results_is_undefined_without_results(self) -> None:
        assert score("judged@5", {"a": 1}, []) is None
        assert score("judged@5", {"a": 1}, [], undefined="zero") is None

    def test_undefined_queries_do_not_shift_others(self) -> None:
        judgments = [Judgments({}), Judgments({"a": 1}), Judgments({"a": 0}), Judgments({"b": 1})]

        columns = score_rankings([parse_metric("mrr@3")], judgments, ["ab"] * 4)

        assert columns == [[None, 1, None, 0.5]]

    def test_another_word_for_undefined_is_refused(self) -> None:
        with pytest.raises(MetricError, match="'skip' or 'zero', not 'drop'"):
            score("mrr@3", {"a": 1}, "a", undefined="drop")


class TestGrades:
    """Which documents count as relevant, judged and unjudged."""

    def test_rel_overrides_the_relevance_level_of_the_suite(self) -> None:
        names = ["mrr@3", "mrr(rel=2)@3", "mrr(rel=3)@3", "mrr(rel=4)@3"]
        metrics = [parse_metric(name) for name in names]

        columns = score_rankings(metrics, [Judgments({"a": 1, "b": 2, "c": 3})], ["abc"])

        assert columns == [[1], [1 / 2], [1 / 3], [None]]

    def test_a_fraction_may_separate_relevant_documents(self) -> None:
        assert score("precision@2", {"a": 0.5, "b": 0.4}, "ab", relevant_from=0.5) == 0.5

    def test_a_negative_grade_means_unjudged(self) -> None:
        grades = {"a": -1.0, "b": 1.0}

        assert score("judged@2", grades, "ax") == 0
        assert score("judged@2", grades, "ab") == 0.5
        assert score("dcg@1", grades, "ab") == 0

    @pytest.mark.parametrize("grade", [float("nan"), float("inf"), -float("inf")])
    def test_a_grade_must_be_finite(self, grade: float) -> None:
        with pytest.raises(MetricError, match=r"The grade of 'a' is -?(nan|inf)"):
            Judgments({"a": grade})

    @pytest.mark.parametrize("relevant_from", [0, -1, float("nan")])
    def test_a_grade_of_zero_cannot_be_relevant(self, relevant_from: float) -> None:
        with pytest.raises(MetricError, match="must be above 0"):
            Judgments({"a": 1}, relevant_from)

    def test_a_grade_above_the_scale_is_refused(self) -> None:
        judgments = [Judgments({"a": 1}), Judgments({"a": 5000})]

        with pytest.raises(
            MetricError, match="5000 is too high for 'gains=exp', which allows 1000"
        ):
            score_rankings([parse_metric("ndcg(gains=exp)@2")], judgments, ["a", "a"])

    def test_equal_judgments_are_equal(self) -> None:
        assert Judgments({"a": 1}) == Judgments({"a": 1.0})
        assert Judgments({"a": 1}) != Judgments({"a": 1}, relevant_from=2)


class TestRankings:
    """Short rankings, duplicates and what is below the cutoff."""

    def test_fewer_results_than_the_cutoff(self) -> None:
        grades = {"a": 1.0, "b": 1.0}

        assert score("precision@5", grades, "ax") == 1 / 5
        assert score("judged@5", grades, "ax") == 1 / 2
        assert score("r_cap@5", grades, "a") == 1 / 2
        assert score("rprec", grades, "a") == 1 / 2

    @pytest.mark.parametrize("metric", WITH_CUTOFF, ids=str)
    def test_results_below_the_cutoff_do_not_count(self, metric: Metric) -> None:
        worst = 6 if metric.definition.name == "rank_of_first" else 0

        assert score(metric, {"a": 3.0, "b": 3.0}, "vwxyzab") == worst

    @pytest.mark.parametrize("metric", NEEDING_JUDGMENTS, ids=str)
    @pytest.mark.parametrize("ranking", ["xaybzc", "uvwxyzabc"])
    def test_a_deeper_metric_does_not_change_a_shallower_one(
        self, metric: Metric, ranking: str
    ) -> None:
        grades = {"a": 1.0, "b": 2.0, "c": 1.0}
        others = [parse_metric(name) for name in ("map@100", "rprec")]

        columns = score_rankings([*others, metric], [Judgments(grades)], [ranking])

        assert columns[-1] == [score(metric, grades, ranking)]

    @pytest.mark.parametrize("judged_count", [2, 22])
    @pytest.mark.parametrize("name", [*map(str, EVERY_FAMILY), "map(by=found)@3"])
    def test_a_repeated_document_counts_at_its_first_rank(
        self, name: str, judged_count: int
    ) -> None:
        grades = {"a": 1.0, "b": 2.0}
        grades.update({f"other-{number}": 1.0 for number in range(judged_count - 2)})

        assert score(name, grades, "axxbxcdyy") == score(name, grades, "axbcdy")
        assert score(name, grades, "aaba") == score(name, grades, "ab")

    def test_ndcg_does_not_exceed_one_by_the_last_bit_of_a_sum(self) -> None:
        # Summed in this order, the DCG exceeds the ideal one by one bit.
        grades = {
            "a": 0.25829817314563935,
            "b": 0.2582981731456394,
            "c": 0.2582981731456393,
            "d": 2.0799902549065052,
        }
        dcg, ideal = score("dcg@4", grades, "dacb"), score("dcg@4", grades, "dbac")
        assert dcg is not None
        assert ideal is not None
        assert dcg > ideal

        assert score("ndcg@4", grades, "dacb") == 1

    def test_no_document_below_the_deepest_cutoff_is_looked_up(self) -> None:
        class Untouchable(str):
            __slots__ = ()

            def __hash__(self) -> int:
                raise AssertionError("looked below the deepest cutoff")

        metrics = [parse_metric(name) for name in ("ndcg@2", "map(rel=2)@3", "mrr@1", "rprec")]
        ranking = ["x", "a", "y", Untouchable("z")]

        columns = score_rankings(metrics, [Judgments({"a": 2, "b": 1})], [ranking])

        assert columns[1] == [1 / 2]

    def test_r_precision_reads_as_deep_as_there_are_relevant_documents(self) -> None:
        metrics = [parse_metric("mrr@1"), parse_metric("rprec")]

        columns = score_rankings(metrics, [Judgments(dict.fromkeys("abc", 1))], ["xabc"])

        assert columns == [[0], [2 / 3]]

    @pytest.mark.parametrize(("name", "depth"), [("ndcg@7", 7), ("rprec", 3), ("latency_p95", 0)])
    def test_the_needed_depth(self, name: str, depth: int | None) -> None:
        assert parse_metric(name).compute_depth(relevant_count=3) == depth


class TestComparingMetrics:
    """Metrics that compare with a ranking of the baseline."""

    @pytest.mark.parametrize(
        ("ranking", "baseline", "overlap"),
        [
            ("ab", "abz", 1),
            ("ba", "abz", 1),
            ("ac", "abz", 0.5),
            ("", "abz", 0),
            ("", "", 1),
            ("a", "", 0),
            ("aab", "ba", 1),
            ("xa", "a", 1),
        ],
    )
    def test_overlap(self, ranking: str, baseline: str, overlap: float) -> None:
        metrics = [parse_metric("overlap@2")]

        columns = score_rankings(metrics, [Judgments({})], [ranking], baseline_rankings=[baseline])

        assert columns == [[overlap]]
        assert compute_overlap(ranking, baseline, 2) == overlap

    def test_a_query_without_a_baseline_has_no_value(self) -> None:
        metrics = [parse_metric("overlap@2")]
        judgments = [Judgments({})] * 2

        columns = score_rankings(metrics, judgments, ["a", "a"], baseline_rankings=[None, "a"])

        assert columns == [[None, 1]]
        assert score("overlap@2", {}, "a") is None


# Definitions written out, slowly, over the grades of a complete ranking (0 if unjudged).

Grades = list[int]


def is_relevant(grade: float) -> bool:
    return grade >= 1


def count_relevant(grades: Grades) -> int:
    return sum(map(is_relevant, grades))


def define_dcg(grades: Grades, every_grade: Grades, k: int) -> float:
    return sum(max(grade, 0) / log2(rank + 1) for rank, grade in enumerate(grades[:k], 1))


def define_exponential_dcg(grades: Grades, every_grade: Grades, k: int) -> float:
    gains = [2.0 ** max(grade, 0) - 1 for grade in grades[:k]]
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))


def collect_precisions(grades: Grades, k: int) -> list[float]:
    precisions = []
    for rank, grade in enumerate(grades[:k], 1):
        if is_relevant(grade):
            precisions.append(count_relevant(grades[:rank]) / rank)
    return precisions


def define_map_by_min(grades: Grades, every_grade: Grades, k: int) -> float:
    return sum(collect_precisions(grades, k)) / min(k, count_relevant(every_grade))


def define_map_by_found(grades: Grades, every_grade: Grades, k: int) -> float:
    precisions = collect_precisions(grades, k)
    return sum(precisions) / len(precisions) if precisions else 0


def define_rank_of_first(grades: Grades, every_grade: Grades, k: int) -> float:
    ranks = [rank for rank, grade in enumerate(grades[:k], 1) if is_relevant(grade)]
    return ranks[0] if ranks else k + 1


def define_complete(grades: Grades, every_grade: Grades, k: int) -> float:
    return float(count_relevant(grades[:k]) == count_relevant(every_grade))


DEFINED_HERE: dict[str, Callable[[Grades, Grades, int], float]] = {
    "dcg": define_dcg,
    "dcg(gains=exp)": define_exponential_dcg,
    "map(by=min)": define_map_by_min,
    "map(by=found)": define_map_by_found,
    "rank_of_first": define_rank_of_first,
    "complete": define_complete,
}


@batches
@given(seeds)
def test_metrics_that_no_tool_has_equal_their_definition(seed: int) -> None:
    metrics = {}
    for name, define in DEFINED_HERE.items():
        for k in (1, 2, 3, 5, 10, 20):
            metrics[parse_metric(f"{name}@{k}")] = (define, k)
    cases = [Case({**case.grades, "last": 1}, [*case.ranking, "last"]) for case in draw_batch(seed)]

    for case, values in zip(cases, score_cases(cases, metrics), strict=True):
        grades = [case.grades.get(doc_id, 0) for doc_id in case.ranking]
        for metric, (define, k) in metrics.items():
            expected = define(grades, list(case.grades.values()), k)
            value = values[metric]
            assert value is not None
            assert isclose(value, expected, rel_tol=1e-12, abs_tol=1e-12), (str(metric), case)


# Properties of all metrics

ALL = [parse_metric(name, top_k=top_k) for name in METRICS for top_k in (1, 3, 20)] + [
    parse_metric(name)
    for name in ("map(by=min)@3", "map(by=found)@3", "ndcg(gains=exp)@3", "map(rel=2)@3")
]
# A relevant document that enters the cutoff also increases the divisor.
MAY_FALL = "map(by=found)@3"


@pytest.mark.parametrize("undefined", ["skip", "zero"])
@batches
@given(seeds)
def test_values_are_in_their_range(undefined: str, seed: int) -> None:
    cases, draw = draw_batch(seed), Random(seed)
    baseline = [draw_some(DOC_IDS, draw) for _ in cases]

    scores = score_cases(cases, ALL, undefined=undefined, baseline_rankings=baseline)

    for case, values in zip(cases, scores, strict=True):
        for metric, value in values.items():
            low, high = metric.definition.range
            assert value is None or low <= value <= high, (str(metric), case)


@batches
@given(seeds)
def test_a_better_document_that_moves_up_never_makes_a_value_worse(seed: int) -> None:
    cases, draw = draw_batch(seed), Random(seed)
    improved = [move_one_up(case, draw) for case in cases]
    metrics = [metric for metric in ALL if metric.needs_judgments and str(metric) != MAY_FALL]

    before = score_cases(cases, metrics)
    now = score_cases(cases, metrics, improved)

    for case, old_values, new_values in zip(cases, before, now, strict=True):
        for metric in metrics:
            old, new = old_values[metric], new_values[metric]
            if old is None or new is None:
                assert old is new
            elif metric.higher_is_better:
                assert new >= old - 1e-12, (str(metric), case)
            else:
                assert new <= old + 1e-12, (str(metric), case)


def move_one_up(case: Case, draw: Random) -> list[str]:
    """Swap a document with the one above it, which is worth less, if there are such two."""
    worth = [max(case.grades.get(doc_id, 0), 0) for doc_id in case.ranking]
    indexes = [index for index in range(1, len(worth)) if worth[index] > worth[index - 1]]
    ranking = case.ranking.copy()
    if indexes:
        index = draw.choice(indexes)
        ranking[index - 1], ranking[index] = ranking[index], ranking[index - 1]
    return ranking


@batches
@given(seeds)
def test_the_names_of_documents_do_not_matter(seed: int) -> None:
    cases, draw = draw_batch(seed), Random(seed)
    names = dict(zip(DOC_IDS, draw.sample(DOC_IDS, len(DOC_IDS)), strict=True))
    renamed = []
    for case in cases:
        grades = {names[doc_id]: grade for doc_id, grade in case.grades.items()}
        renamed.append(Case(grades, [names[doc_id] for doc_id in case.ranking]))

    assert score_cases(cases, ALL) == score_cases(renamed, ALL)


@batches
@given(seeds)
def test_duplicates_change_nothing(seed: int) -> None:
    cases, draw = draw_batch(seed), Random(seed)
    repeated = []
    for case in cases:
        ranking = case.ranking.copy()
        for doc_id in draw.choices(ranking, k=3) if ranking else ():
            ranking.insert(draw.randint(0, len(ranking)), doc_id)
        repeated.append(ranking)
    first_only = [list(dict.fromkeys(ranking)) for ranking in repeated]

    assert score_cases(cases, ALL, repeated) == score_cases(cases, ALL, first_only)


@batches
@given(seeds)
def test_a_perfect_ranking_has_an_ndcg_of_exactly_one(seed: int) -> None:
    cases = [case for case in draw_batch(seed) if any(grade > 0 for grade in case.grades.values())]
    best = [sorted(case.grades, key=case.grades.__getitem__, reverse=True) for case in cases]
    names = ["ndcg@1", "ndcg@3", "ndcg@20", "ndcg(gains=exp)@1", "ndcg(gains=exp)@20"]

    for values in score_cases(cases, map(parse_metric, names), best):
        assert set(values.values()) == {1.0}


@given(st.lists(st.floats(0, 5), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_fractional_grades_stay_in_range(grades: list[float], draw: Random) -> None:
    judged = {str(number): grade for number, grade in enumerate(grades)}
    ranking = sorted(judged)
    draw.shuffle(ranking)

    for name in ("ndcg@10", "ndcg@3", "ndcg(gains=exp)@10"):
        value = score(name, judged, ranking)
        assert value is None or 0 <= value <= 1
