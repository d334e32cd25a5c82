"""Whether a drop is accepted where each query has several answers, none of which is like another."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_irquality.metrics import Judgments, Measure, parse_measure
from pytest_irquality.retrieval import Answer, Ranking, Run
from pytest_irquality.suite import Query, Suite
from pytest_irquality.suite.demands import Bound, MaxDrop, Min
from pytest_irquality.suite.model import Check, Limits, Place
from pytest_irquality.verdict import judge
from pytest_irquality.verdict.accepted import Accepting
from pytest_irquality.wording.acceptance import accepted

MRR, RBO = parse_measure("mrr@10"), parse_measure("rbo@3")
MANY = 8


def suite(measure: Measure, bound: Bound, judged: bool = True) -> Suite:
    judgments = Judgments({"good": 1} if judged else {})
    queries = tuple(Query(f"q{n}", f"text {n}", judgments) for n in range(MANY))
    check = Check("limit", "limit", Place(1), Limits(measure, (bound,)))
    return Suite("s", "s.ir.yaml", queries, metrics=(measure,), checks=(check,))


DROP = suite(MRR, MaxDrop(0.05))


def side(steady: str, **others: str) -> Run:
    """A side whose answers are strings of ranks: ``"121"`` has the good document at rank 1, 2 and 1; 0 is lost.

    Each query begins one answer later than the one before, for no engine wavers in all of them at once.
    """
    ranks = {f"q{n}": steady for n in range(MANY)} | others
    answers = (
        Answer(
            {
                id: ranked(int(written[(at + n) % len(written)]))
                for n, (id, written) in enumerate(ranks.items())
            }
        )
        for at in range(len(steady))
    )
    return Run("", tuple(answers))


def ranked(rank: int) -> Ranking:
    return Ranking((*("x", "y", "z")[: rank - 1], "good") if rank else ("x", "y", "z"))


def outcome(base: Run, committed: Run, today: Run, of: Suite = DROP) -> str:
    (verdict,) = judge(of, today, of.checks, before=base, accepting=Accepting(committed)).verdicts
    return verdict.outcome


BASE = side("111")
ACCEPTED: Sequence[tuple[str, Run, Run]] = [
    ("as it was committed", side("111", q0="222"), side("111", q0="222")),
    ("it wavers as what was committed", side("121", q0="232"), side("211", q0="223")),
    ("better than what was committed", side("121", q0="333"), side("211", q0="232")),
    ("one answer was committed", side("1", q0="2"), side("111", q0="222")),
    ("one answer is asked", side("112", q0="223"), side("1", q0="2")),
]
FAILED: Sequence[tuple[str, Run, Run]] = [
    ("one more query fell", side("111", q0="222"), side("111", q0="222", q1="333")),
    ("it fell further, by more than the noise", side("121", q0="222"), side("112", q0="000")),
    ("the first answer alone is the committed one", side("111", q0="222"), side("111", q0="200")),
    ("it wavers since the change alone", side("111", q0="111"), side("111", q0="100")),
    ("all fell within the noise of each", side("131", q0="333"), side("333", q0="333")),
]


@pytest.mark.parametrize(("committed", "today"), [case[1:] for case in ACCEPTED], ids=[c[0] for c in ACCEPTED])  # fmt: skip
def test_what_is_not_lower_than_committed_by_more_than_the_noise_is_accepted(
    committed: Run, today: Run
) -> None:
    assert outcome(BASE, committed, today) == "accepted"


@pytest.mark.parametrize(("committed", "today"), [case[1:] for case in FAILED], ids=[c[0] for c in FAILED])  # fmt: skip
def test_what_is_lower_fails(committed: Run, today: Run) -> None:
    assert outcome(BASE, committed, today) == "failed"


def test_queries_that_nobody_judged_must_return_what_was_committed() -> None:
    unjudged = suite(RBO, Min(0.9), judged=False)
    committed = side("111", q0="333", q1="333", q2="333")
    assert outcome(BASE, committed, committed, unjudged) == "accepted"
    assert outcome(BASE, committed, side("111", q0="000", q1="000", q2="000"), unjudged) == "failed"


def test_both_sides_keep_all_their_answers() -> None:
    # The base's other answers to q1 count: at rank 1, 3 and 3 it lost nothing.
    base = side("111", q1="133")
    assert outcome(base, side("111", q0="222", q1="133"), side("111", q0="222", q1="313")) == (
        "accepted"
    )


def test_of_several_answers_it_is_said_that_they_are_no_worse_but_for_noise() -> None:
    """One of three answers was lost at once: what is found in none now is no worse, but for noise."""
    committed, today = side("111", q0="001"), side("111", q0="000")
    result = judge(DROP, today, DROP.checks, before=BASE, accepting=Accepting(committed))
    assert [verdict.outcome for verdict in result.verdicts] == ["accepted"]
    assert accepted(result)[1:] == (
        "committed with other rankings, and returned no worse, but for noise: 'text 0'",
    )


def test_of_a_single_answer_that_is_not_said() -> None:
    accepting = Accepting(side("1", q0="2"))
    result = judge(DROP, side("1", q0="2"), DROP.checks, before=side("1"), accepting=accepting)
    assert accepted(result)[1:] == ("committed with other rankings, and returned so: 'text 0'",)
