"""Several answers to each query: what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from pytest_irquality.metrics import Judgments, parse_measure
from pytest_irquality.retrieval import Answer, Ranking, Run
from pytest_irquality.suite import Query, Suite
from pytest_irquality.suite.demands import LostAllRelevant, MaxSignificantDrop
from pytest_irquality.suite.model import Check, Limits, Place
from pytest_irquality.suite.rules import (
    ExpectNoResults,
    InOrder,
    MustFind,
    MustFindAny,
    MustNotFind,
    Rule,
)
from pytest_irquality.verdict import judge

MEASURES = tuple(map(parse_measure, ("mrr@10", "zero_results", "latency_p95")))
SUITE = Suite(
    "s",
    "s.ir.yaml",
    (Query("q1", "chair", Judgments({"good": 1})), Query("q2", "hose", Judgments({"good": 1}))),
    metrics=MEASURES,
)


def side(*answers: Mapping[str, Sequence[str]], builds: Sequence[int] = ()) -> Run:
    given = (
        Answer(
            {id: Ranking((*ids,), seconds=0.1 * number) for id, ids in answer.items()},
            build=builds[number - 1] if builds else 0,
        )
        for number, answer in enumerate(answers, 1)
    )
    return Run("", tuple(given))


def values(run: Run, before: Run | None = None) -> dict[str, float | None]:
    result = judge(SUITE, run, before=before)
    return {mean.measure: mean.value for mean in result.means if mean.tag is None}


def test_a_value_is_the_mean_over_the_answers() -> None:
    run = side({"q1": ["good"], "q2": []}, {"q1": ["x", "good"], "q2": []}, {"q1": [], "q2": []})
    assert values(run) == {
        "mrr@10": pytest.approx((1 + 0.5 + 0) / 3 / 2),
        "zero_results": 1.0,  # q1 is empty in one answer of three, q2 in all
        "latency_p95": pytest.approx(0.3),  # over all six calls
    }


def test_both_sides_may_have_several() -> None:
    now = side({"q1": ["good"], "q2": ["x"]}, {"q1": ["x", "good"], "q2": ["x"]})
    before = side({"q1": ["good"], "q2": ["good"]}, {"q1": ["good"], "q2": ["x", "good"]})
    result = judge(SUITE, now, before=before)
    change = result.means[0].change
    assert change is not None
    assert change.before == pytest.approx(0.875)
    assert change.now == pytest.approx(0.375)
    assert (change.worse, change.better) == (2, 0)
    assert change.queries == 2


def test_the_baseline_may_know_more_queries() -> None:
    before = side({"q1": ["good"], "q2": ["good"]}, {"q1": ["good"], "q2": ["good"]})
    change = judge(SUITE, side({"q1": ["good"]}), before=before).means[0].change
    assert change is not None
    assert (change.before, change.now, change.queries) == (1.0, 1.0, 1)


def test_a_documents_rank_before_is_that_of_the_baseline() -> None:
    # The first answers of both sides are the same, and the second of the baseline has more.
    before = side({"q1": ["x"]}, {"q1": ["x", "y", "good"]})
    (query,) = judge(SUITE, side({"q1": ["x"]}), before=before).queries
    assert [(one.id, one.rank, one.before) for one in query.missing] == [("good", None, 3)]


# -- guards and rules ------------------------------------------------------------------------------------------------

FOUND, LOST = {"q1": ["good"]}, {"q1": ["x"]}


def one_query(query: Query, *, guard: bool = False) -> Suite:
    checks = [Check("own", "own", Place(1), query, "query")]
    if guard:
        lost = LostAllRelevant()
        checks = [Check("guard", "guard", Place(1), lost, "each_query")]
    return Suite("s", "s.ir.yaml", (query,), metrics=MEASURES[:1], checks=tuple(checks))


@pytest.mark.parametrize(
    ("rule", "answers", "outcome", "warned"),
    [
        (MustFind({"good": 1}), [FOUND, FOUND, LOST], "passed", 1),
        (MustFind({"good": 1}), [LOST, LOST, LOST], "failed", 0),
        (MustFindAny({"good": 1, "y": 1}), [LOST, FOUND, LOST], "passed", 2),
        (InOrder({"good": 1, "x": 1}), [FOUND, LOST, FOUND], "passed", 1),
        (MustNotFind({"x": 3}), [FOUND, FOUND, LOST], "failed", 1),
        (ExpectNoResults({}), [{"q1": []}, {"q1": []}, LOST], "failed", 1),
    ],
)
def test_rules_over_answers(
    rule: Rule, answers: list[dict[str, list[str]]], outcome: str, warned: int
) -> None:
    query = Query("q1", "chair", Judgments({"good": 1}), rules=(rule,))
    if rule.expects_nothing:
        query = replace(query, judgments=Judgments({}))
    (verdict,) = judge(one_query(query), side(*answers)).verdicts
    assert verdict.outcome == outcome
    if warned:
        assert [f.broken_in for f in verdict.findings if not f.ok] == [warned]
        assert [f.answers for f in verdict.findings if not f.ok] == [3]


@pytest.mark.parametrize(
    ("now", "before", "outcome"),
    [
        ([LOST], [FOUND], "failed"),
        ([LOST] * 3, [FOUND] * 3, "failed"),
        ([LOST, LOST, FOUND], [FOUND] * 3, "passed"),  # one answer still finds it
        ([LOST] * 3, [FOUND, FOUND, LOST], "passed"),  # it wavered before
        ([LOST, FOUND], [FOUND], "passed"),
    ],
)
def test_the_guard_over_answers(
    now: list[dict[str, list[str]]], before: list[dict[str, list[str]]], outcome: str
) -> None:
    query = Query("q1", "chair", Judgments({"good": 1}))
    suite = one_query(query, guard=True)
    (verdict,) = judge(suite, side(*now), suite.checks, before=side(*before)).verdicts
    assert verdict.outcome == outcome


def test_wavering_elsewhere_excuses_a_loss_and_names_it() -> None:
    queries = [Query(f"q{n}", f"text {n}", Judgments({"good": 1})) for n in range(12)]
    guard = Check("guard", "guard", Place(1), LostAllRelevant(), "each_query")
    suite = Suite("s", "s.ir.yaml", (*queries,), metrics=MEASURES[:1], checks=(guard,))
    good, bad = Ranking(("good",)), Ranking(("x",))

    def answers(patterns: Sequence[str]) -> Run:
        given = (
            Answer(
                {f"q{n}": good if p[(a + n) % 3] == "1" else bad for n, p in enumerate(patterns)}
            )
            for a in range(3)
        )
        return Run("", tuple(given))

    # q0 was lost outright; the others are found in three answers of six, scattered over both sides
    wavers = ["110"] * 11
    before, now = answers(["111", *wavers]), answers(["000", *(["100"] * 11)])
    (verdict,) = judge(suite, now, suite.checks, before=before).verdicts
    assert verdict.outcome == "passed"
    assert [(f.subject, f.ok, f.wavering) for f in verdict.findings] == [("q0", False, 11)]


def test_a_drop_must_exceed_what_unchanged_code_does() -> None:
    limits = Limits(MEASURES[0], (MaxSignificantDrop(0.01),))
    queries = tuple(Query(f"q{n}", f"text {n}", Judgments({"good": 1})) for n in range(12))
    check = Check("mrr", "mrr", Place(1), limits)
    suite = Suite("s", "s.ir.yaml", queries, metrics=MEASURES[:1], checks=(check,))

    def answer(found: int) -> dict[str, list[str]]:
        return {f"q{n}": ["good"] if n < found else ["x", "good"] for n in range(12)}

    def outcome(now: Sequence[int], before: Sequence[int]) -> str:
        sides = [side(*map(answer, found)) for found in (now, before)]
        return judge(suite, sides[0], suite.checks, before=sides[1]).verdicts[0].outcome

    assert outcome([2], [12]) == "failed"
    assert outcome([2, 2], [12, 12]) == "failed"
    assert outcome([2, 12], [12, 12]) == "passed"  # today's answers differ by as much
    assert outcome([2, 3, 2], [12, 11, 12]) == "failed"


def test_what_unchanged_code_does() -> None:
    now = side(
        {"q1": ["good", "a"], "q2": ["x"]},
        {"q1": ["a", "b"], "q2": ["x"]},
        builds=[0, 1],
    )
    noise = judge(SUITE, now).noise
    assert noise is not None
    assert (noise.answers, noise.builds, noise.wavering) == (2, 2, 1)
    assert judge(SUITE, side({"q1": ["good"], "q2": []})).noise is None


@pytest.mark.parametrize(
    ("rule", "answers", "outcome"),
    [
        (InOrder, (["a", "c", "b"], ["b", "a", "c"]), "failed"),  # out of order, at another pair
        (InOrder, (["a", "c", "b"], ["a", "b", "c"]), "passed"),
        (InOrder, (["b", "a", "c"], ["b", "a", "c"]), "failed"),
        (MustFind, (["a", "b"], ["b", "c"]), "failed"),  # each lacks another one
        (MustFind, (["a", "b"], ["b", "c", "a"]), "passed"),
        (MustFindAny, (["a"], ["c"]), "passed"),
    ],
)
def test_a_rule_that_no_answer_keeps_is_broken(
    rule: type[Rule], answers: Sequence[Sequence[str]], outcome: str
) -> None:
    query = Query("q1", "chair", rules=(rule(dict.fromkeys("abc", 10)),))
    check = Check("chair", "chair", Place(1), query, "query")
    run = side(*({"q1": ids} for ids in answers))
    (verdict,) = judge(Suite("s", "s.ir.yaml", (query,)), run, [check]).verdicts
    assert verdict.outcome == outcome
    assert {finding.fails for finding in verdict.broken} in (set(), {True})
