"""The story of a run: what every report says first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_irquality.report.html import html_report
from pytest_irquality.report.markdown import markdown_report
from pytest_irquality.report.text import summary
from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.findings import Change, Finding, RankedDocument
from pytest_irquality.verdict.result import (
    Mean,
    Outcome,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)
from pytest_irquality.wording.moves import moves
from pytest_irquality.wording.stories import steps_of, worst_first
from pytest_irquality.wording.story import Story
from tests.report.made import check, compared, floor, moved, query, suite


def lost(id: str, before: float, now: float, **more: object) -> QueryResult:
    return query(id, now, before=(before,), compared=(now,), **more)


def result_of(*queries: QueryResult, **more: object) -> SuiteResult:
    """Compared queries, with the mean that follows from them."""
    pairs = [(q.before[0] or 0.0, q.compared[0] or 0.0) for q in queries if q.before and q.compared]
    before, now = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    worse = sum(b > n for b, n in pairs)
    better = sum(b < n for b, n in pairs)
    change = Change(before, now, len(pairs), better, worse, len(pairs) - worse - better)
    made = compared(*queries, means=(Mean("ndcg@10", None, now, len(pairs), 0, change=change),))
    return replace(made, **{"verdicts": (), **more})  # type: ignore[arg-type]


def test_how_many_lost_and_which_lost_most() -> None:
    queries = [lost(f"q{n}", 1.0, value) for n, value in enumerate((0.2, 0.7, 0.8, 1.0))]
    story = Story(result_of(*queries, lost("up", 0.5, 0.75)))
    assert story.tally == "3 worse, 1 better, 1 unchanged"
    assert story.mean.startswith("the mean fell")
    assert [query.id for query in story.losers] == ["q0", "q1", "q2"]
    assert [story.in_words(query).lost for query in story.losers[:2]] == ["−0.800", "−0.300"]


def test_nothing_is_lost_by_rounding() -> None:
    story = Story(result_of(lost("a", 0.5, 0.5 - 1e-12), lost("b", 1.0, 1.0)))
    assert story.tally == "2 queries are unchanged in ndcg@10"
    assert story.mean == ""


def test_the_order_is_that_of_the_figures_that_are_shown() -> None:
    """A weight counts only where the measure has it: else the list would look unsorted."""
    heavy, light = lost("heavy", 1.0, 0.9, weight=5.0), lost("light", 1.0, 0.7)
    plain = result_of(heavy, light)
    assert [q.id for q in Damage(plain).worse] == ["light", "heavy"]
    (mean,) = plain.means
    name = "weighted ndcg@10"
    weighted = replace(plain, measures=(name,), shown=(name,), means=(replace(mean, measure=name),))
    assert [q.id for q in Damage(weighted).worse] == ["heavy", "light"]


def test_without_a_baseline_damage_is_the_distance_from_one() -> None:
    made = suite(query("good", 0.9), query("bad", 0.1), query("half", 0.5))
    damage = Damage(made)
    assert [round(damage.loss(q), 9) for q in made.queries] == [0.1, 0.9, 0.5]
    assert Story(made).tally == ""


def test_where_lower_is_better_a_rise_is_the_loss() -> None:
    made = result_of(lost("a", 1.0, 4.0), lost("b", 3.0, 1.0))
    mean = replace(made.means[0], higher_is_better=False)
    story = Story(replace(made, means=(mean,)))
    (worst,) = story.losers
    assert (worst.id, story.in_words(worst).lost) == ("a", "+3.000")


def test_failures_are_ordered_by_damage_and_what_lost_nothing_follows_in_the_files_order() -> None:
    queries = [
        lost("same", 1.0, 1.0),
        lost("also", 0.5, 0.5),
        lost("little", 1.0, 0.9),
        lost("much", 1.0, 0.1),
    ]
    verdicts = tuple(check(q.id, "failed") for q in queries)
    made = result_of(*queries, verdicts=verdicts)
    assert [v.query for v in Damage(made).failures] == ["much", "little", "same", "also"]


def test_a_limit_counts_what_its_queries_lost() -> None:
    queries = [lost("a", 1.0, 0.6, tags=("x",)), lost("b", 1.0, 0.9, tags=("y",))]
    tag = replace(floor(0.5, 0.8, "failed", "y"), scope="tag", check="y")
    guard = Finding("a", "lost_all_relevant", False, ranked=(RankedDocument("d", None, 1),))
    each = Verdict("g", "guard", 1, "failed", (guard,), "each_query")
    whole = floor(0.5, 0.8, "failed")
    damage = Damage(result_of(*queries, verdicts=(tag, each, whole)))
    assert [round(damage.of(v), 9) for v in (tag, each, whole)] == [0.1, 0.4, 0.5]
    assert damage.failures == [whole, each, tag]


def test_documents_that_rose_in_several_worse_queries_are_named() -> None:
    def made(n: int) -> QueryResult:
        return lost(
            f"q{n}",
            1.0,
            0.5,
            ranking=(ShownDocument(1, "mat", "A mat", 0.0, before=4),),
            missing=(ShownDocument(None, "chair", "A chair", 2.0, True, before=1),),
        )

    damage = Damage(result_of(*map(made, range(3))))
    assert [(d.id, times) for d, times in damage.risen] == [("mat", 3)]
    causes = Story(result_of(*map(made, range(3)))).causes
    assert "rose in several queries that got worse: A mat (mat) in 3" in causes
    assert Damage(result_of(*map(made, range(2)))).risen == []


def test_the_worst_suite_comes_first() -> None:
    little = result_of(lost("a", 1.0, 0.9), verdicts=(check("a", "failed"),), suite="little")
    much = result_of(lost("a", 1.0, 0.1), verdicts=(check("a", "failed"),), suite="much")
    green = result_of(lost("a", 1.0, 0.0), suite="green")
    assert [story.result.suite for story in worst_first([green, little, much])] == [
        "much",
        "little",
        "green",
    ]


@pytest.mark.parametrize(
    ("before", "rank", "words"),
    [(1, 3, "d 1 → 3"), (1, None, "d 1 → not returned"), (3, 1, ""), (None, 5, "")],
)
def test_moves_are_those_of_relevant_documents_that_sank(
    before: int | None, rank: int | None, words: str
) -> None:
    document = ShownDocument(rank, "d", None, 1.0, True, before=before)
    assert moves(query("q", ranking=(document,))) == words


def test_a_query_that_lost_all_tells_in_every_report_what_came_instead() -> None:
    came = (ShownDocument(1, "sku-9", "Desk lamp"), ShownDocument(2, "sku-8"))
    result = compared(moved("desk", 0.9, 0.0, ranking=came), verdicts=(check("desk", "failed"),))
    assert "now first: Desk lamp (sku-9); " in html_report([result])
    assert "now first: sku-9; " in markdown_report([result])
    assert "now first: Desk lamp (sku-9); " in "\n".join(summary([result], width=200))
    assert "now first: sku-9; " in "\n".join(summary([result], width=80))
    assert "now first" not in html_report([compared(moved("desk", 0.9, 0.1))])


def test_what_to_do_next() -> None:
    commands = [step.command for step in steps_of([Story(compared())])]
    assert commands == [
        "pytest --ir-suite shop.ir.yaml::desk shop.ir.yaml::ndcg-10",
        "",
        "pytest --ir-suite --ir-update-baseline shop.ir.yaml",
    ]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("error", "Some queries had no answer"),
        ("not evaluated", "Not everything was evaluated"),
        ("fixed", "A known issue is fixed"),
    ],
)
def test_a_build_that_is_red_without_a_failure_says_why(outcome: Outcome, said: str) -> None:
    story = Story(suite(query("a"), verdicts=(check("a", outcome),)))
    assert (story.state, story.verdict) == ("failed", said)
