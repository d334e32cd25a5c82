"""Worked examples of the field, with the slips of well-known tutorials put right."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_irquality.metrics import Judgments, evaluate, parse_measure


def score(
    name: str, grades: Sequence[float], relevant_from: float = 1, unfound: int = 0
) -> float | None:
    """A measure of a ranking whose documents carry these grades, and of which `unfound` relevant ones are missing."""
    ranking = [f"d{rank}" for rank in range(1, len(grades) + 1)]
    judged = dict(zip(ranking, grades, strict=True)) | {
        f"missing{number}": 1.0 for number in range(unfound)
    }
    measure = parse_measure(name)
    return evaluate({"q": Judgments(judged, relevant_from)}, {"q": ranking}, [measure]).value(
        "q", measure
    )


def letters(pattern: str) -> list[float]:
    return [float(letter == "R") for letter in pattern]


def at_ranks(*ranks: int) -> list[float]:
    return [float(rank in ranks) for rank in range(1, 9)]


@pytest.mark.parametrize(("pattern", "expected"), [("RIRRRRIIIR", 0.775), ("IRIIRRRIRR", 0.5212)])
def test_average_precision_of_two_rankings(pattern: str, expected: float) -> None:
    assert score("map@10", letters(pattern)) == pytest.approx(expected, abs=5e-5)


def test_mean_average_precision_of_both() -> None:
    ranking = [f"d{rank}" for rank in range(10)]
    patterns = {"q1": "RIRRRRIIIR", "q2": "IRIIRRRIRR"}
    qrels = {
        query: Judgments(dict(zip(ranking, letters(pattern), strict=True)))
        for query, pattern in patterns.items()
    }
    measure = parse_measure("map@10")
    mean = evaluate(qrels, dict.fromkeys(patterns, ranking), [measure]).aggregate(measure)
    assert mean.value == pytest.approx(0.6481, abs=5e-5)


@pytest.mark.parametrize(("k", "expected"), [*enumerate([0, 0.25, 0.25, 0.5, 0.75, 0.75, 1, 1], 1)])
def test_recall_grows_with_the_cutoff(k: int, expected: float) -> None:
    assert score(f"recall@{k}", at_ranks(2, 4, 5, 7)) == expected


@pytest.mark.parametrize(
    ("ranks", "expected"), [((2, 4, 5, 7), 0.5429), ((1, 4, 5, 7), 0.6679), ((5, 8), 0.225)]
)
def test_average_precision_at_8(ranks: tuple[int, ...], expected: float) -> None:
    assert score("map@8", at_ranks(*ranks)) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "expected"), [("ndcg@2", 0.3869), ("ndcg@8", 0.7283), ("dcg@8", 7.85)]
)
def test_graded_gains(name: str, expected: float) -> None:
    digits = 0.005 if name == "dcg@8" else 5e-5
    assert score(name, [0, 4, 1, 3, 4, 1, 3, 2]) == pytest.approx(expected, abs=digits)


FRACTIONS = [(1.0, 0.5, 0.3, 0.1), (0.7, 1.0, 0.2, 0.1), (0.4, 0.2, 1.0, 0.1)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ndcg@2", (1.0, 0.9232, 0.4202)),
        ("precision@2", (1.0, 1.0, 0.0)),
        ("mrr@2", (1, 1, 0)),
        ("mrr@3", (1, 1, 1 / 3)),
    ],
)
def test_fractional_grades(name: str, expected: tuple[float, ...]) -> None:
    values = [score(name, grades, relevant_from=0.5) for grades in FRACTIONS]
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
        ("f1@3", 2 * (2 / 3) * (2 / 5) / (2 / 3 + 2 / 5)),
        ("success@3", 1),
        ("rprec", 2 / 5),
        ("rank_of_first@3", 1),
        ("rbp(p=0.5)@3", 0.5 * (1 + 0.25)),
        ("zero_results", 0),
        ("judged@3", 1),
    ],
)
def test_two_found_of_five(name: str, expected: float) -> None:
    assert score(name, [1, 0, 1], unfound=3) == pytest.approx(expected, abs=1e-12)


def test_expected_reciprocal_rank_by_hand() -> None:
    """Chapelle's cascade: content with chance 3/16 at rank 1, and 15/16 at rank 2 if not before."""
    assert score("err@2", [2, 4]) == pytest.approx(3 / 16 + (13 / 16) * (15 / 16) / 2, abs=1e-12)
    assert score("err(max=2)@1", [2]) == pytest.approx(3 / 4, abs=1e-12)


def test_exponential_gains_by_hand() -> None:
    assert score("dcg(gains=exp)@2", [1, 3]) == pytest.approx(1 + 7 / 1.584962500721156, abs=1e-12)
    assert score("ndcg(gains=exp)@1", [1, 3]) == pytest.approx(1 / 7, abs=1e-12)
