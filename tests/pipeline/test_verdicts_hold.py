"""Pull requests in which a gate is easily talked into green, each a real suite and a real ``pytest --ir-suite``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.retrieval import Ranking
from pytest_irquality.verdict.ties import cut_of, in_baseline_order
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
    return str(project.run("-v").stdout)


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
    assert in_baseline_order(now.ids, now, before.ids, before, bool) == ("a", "c", "b", "x")


@pytest.mark.parametrize(
    ("now", "scores", "further", "aligned", "unknown"),
    [
        ("aby", [9, 8, 7], {"x": 7}, "abx", ""),
        ("aby", [9, 8, 7], {"z": 7, "x": 7, "w": 6}, "abx", ""),
        ("aby", [9, 8, 7], {"z": 7, "w": 6}, "aby", ""),
        ("aby", [9, 8, 7], {"x": 6}, "aby", ""),
        ("aby", [9, 8, 7], {}, "aby", "x"),
        ("aby", [9, 8, 7], {str(n): 7 for n in range(9)}, "aby", "x"),
        ("aby", [9, 8.5, 7], {"x": 7}, "aby", None),
        ("bay", [9, 8, 7], {"x": 7}, "bay", None),
        ("aby", [9, 8, 6], {"x": 6}, "aby", None),
        ("ayz", [9, 7, 7], {"x": 7}, "ayz", None),
        ("aby", [9, 8, float("nan")], {"x": float("nan")}, "aby", None),
    ],
    ids=["found", "found among others", "the tie ends", "lower now", "no more came", "no end", "other score above",
         "other order above", "other tie", "a longer tie", "nan"],
)  # fmt: skip
def test_at_the_cut_only_what_is_found_further_down_is_tied(
    now: str, scores: list[float], further: dict[str, float], aligned: str, unknown: str | None
) -> None:
    before = Ranking(tuple("abx"), (9.0, 8.0, 7.0))
    deeper = Ranking((*now, *further), (*scores, *further.values()))
    today = Ranking(tuple(now), tuple(scores), deeper=deeper)
    cut = cut_of(today.ids, today, before.ids, before, depth=3, asked=3, scaled=False)
    if unknown is None or cut is None:
        assert (cut, aligned) == (None, now) if unknown is None else False
    else:
        assert cut.settled(today.ids, before.ids) == tuple(aligned)
        assert "".join(cut.unknown) == unknown


ids = st.permutations("abcdefgh")


@given(before=ids, now=ids, above=st.integers(0, 3), deep=st.integers(4, 8))
def test_settled_ends_hold_what_is_there_and_no_more(
    before: list[str], now: list[str], above: int, deep: int
) -> None:
    """Whatever the order: nothing that is returned on both sides goes, nothing comes that was nowhere seen."""
    scores = [9.0] * above + [7.0] * (8 - above)
    then = Ranking(tuple(before[:4]), tuple(scores[:4]))
    deeper = Ranking(tuple(now[:deep]), tuple(scores[:deep]))
    today = Ranking(tuple(now[:4]), tuple(scores[:4]), deeper=deeper)
    cut = cut_of(today.ids, today, then.ids, then, depth=4, asked=4, scaled=False)
    if cut is None:
        return
    settled = cut.settled(today.ids, then.ids)
    assert len({*settled}) == 4
    assert {*settled} <= {*today.ids} | ({*deeper.ids} & {*then.ids})
    assert {*settled} >= {*today.ids} & {*then.ids}
    places = {id: place for place, id in enumerate(then.ids)}
    for place, id in enumerate(settled):
        assert id not in cut.found or places[id] == place


def scaled(n: int) -> list[float]:
    return [(1 - rank / 9) ** (1 + n / 20) for rank in range(10)]


def test_a_last_document_whose_score_is_always_zero_is_no_tie(project: Project) -> None:
    """Scaled between 1 and 0, whatever comes last scores 0: another document there is another document."""
    project.suite(twenty("thresholds: {recall@10: {max_drop: 0.05}}\n"))
    now = {name: hits([*others(n), f"y{n}"], scaled(n)) for n, name in enumerate(NAMES)}
    compared(project, good_last(scaled), now)
    assert project.outcomes()["recall-10"] == "failed"
