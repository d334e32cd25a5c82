"""Pull requests in which a gate is easily talked into green, each a real suite and a real ``pytest --ir-suite``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from pytest_irquality.retrieval import Ranking
from pytest_irquality.verdict.ties import in_baseline_order
from tests.conftest import Project

LIMITS = "thresholds: {ndcg@3: {max_drop: 0.05}}\n"
NAMES = [f"q{n}" for n in range(20)]


def twenty(limits: str = LIMITS) -> str:
    lines = [f"  - {{query: {name}, relevant: [d{n}]}}\n" for n, name in enumerate(NAMES)]
    return f"queries:\n{''.join(lines)}top_k: 3\ndepth: 10\n{limits}"


def others(n: int) -> list[str]:
    return [f"x{n}-{rank}" for rank in range(9)]


def hits(ids: Sequence[str], scores: Sequence[float]) -> list[tuple[str, float]]:
    return list(zip(ids, scores, strict=True))


Scores = Callable[[int], Sequence[float]]


def good_first(scores: Scores) -> dict[str, object]:
    return {name: hits([f"d{n}", *others(n)], scores(n)) for n, name in enumerate(NAMES)}


def good_last(scores: Scores) -> dict[str, object]:
    return {name: hits([*others(n), f"d{n}"], scores(n)) for n, name in enumerate(NAMES)}


def compared(project: Project, before: Mapping[str, object], now: Mapping[str, object]) -> str:
    """What a run says after the answers changed from ``before`` to ``now``."""
    project.answers(before)
    assert project.run("--ir-update-baseline").ret == 0
    project.answers(now)
    return str(project.run().stdout)


def distinct(n: int) -> list[float]:
    return [20 + n - rank / 7 for rank in range(10)]


def grades(n: int) -> list[float]:
    return [11.0] * (1 + n % 9) + [10.0] * (9 - n % 9)


def constant(n: int) -> list[float]:
    return [7.0 + n] * 10


def rounded(n: int) -> list[float]:
    return [float(round(score)) for score in distinct(n)]


@pytest.mark.parametrize("scores", [grades, constant, rounded], ids=lambda scores: scores.__name__)
def test_s17_a_tie_that_the_change_made_is_judged_as_returned(
    project: Project, scores: Scores
) -> None:
    project.suite(twenty())
    told = compared(project, good_first(distinct), good_last(scores))
    assert project.outcomes()["ndcg-3"] == "failed"
    assert project.outcomes()["each_query-lost_all_relevant"] == "failed"
    assert "ndcg@3 fell 1.000 → 0.000" in told
    assert "20 of 20 (100 %) rankings changed" in told


def test_a_tie_that_is_none_any_more_is_judged_as_returned(project: Project) -> None:
    project.suite(twenty())
    compared(project, good_first(constant), good_last(distinct))
    assert project.outcomes()["ndcg-3"] == "failed"


def test_documents_that_were_tied_and_are_exchange_only_the_places_they_hold() -> None:
    """`a` and `b` were tied and are; `c` came between them, and that is no whim of the engine's."""
    before = Ranking(("a", "b", "x", "c"), (5.0, 5.0, 4.0, 3.0))
    now = Ranking(("b", "c", "a", "x"), (7.0, 7.0, 7.0, 4.0))
    assert in_baseline_order(now.ids, now, before.ids, before, 10) == ("a", "c", "b", "x")


@pytest.mark.parametrize(
    ("now", "scores", "stands_in"),
    [
        (["a", "b", "y"], [9.0, 8.0, 7.0], True),
        (["a", "b", "y"], [9.0, 8.5, 7.0], False),
        (["b", "a", "y"], [9.0, 8.0, 7.0], False),
        (["a", "b", "y"], [9.0, 8.0, 6.0], False),
        (["a", "y", "z"], [9.0, 7.0, 7.0], False),
        (["a", "b", "y"], [9.0, 8.0, float("nan")], False),
    ],
    ids=["same above", "other score above", "other order above", "other tie", "one gone", "nan"],
)
def test_at_the_cut_the_baseline_stands_in_only_below_what_is_identical(
    now: list[str], scores: list[float], stands_in: bool
) -> None:
    before, today = Ranking(("a", "b", "x"), (9.0, 8.0, 7.0)), Ranking(tuple(now), tuple(scores))
    aligned = in_baseline_order(today.ids, today, before.ids, before, 3)
    assert aligned == (before.ids if stands_in else today.ids)


def scaled(n: int) -> list[float]:
    return [(1 - rank / 9) ** (1 + n / 20) for rank in range(10)]


def test_a_last_document_whose_score_is_always_zero_is_no_tie(project: Project) -> None:
    """Scaled between 1 and 0, whatever comes last scores 0: another document there is another document."""
    project.suite(twenty("thresholds: {recall@10: {max_drop: 0.05}}\n"))
    now = {name: hits([*others(n), f"y{n}"], scaled(n)) for n, name in enumerate(NAMES)}
    compared(project, good_last(scaled), now)
    assert project.outcomes()["recall-10"] == "failed"
