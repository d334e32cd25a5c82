"""The gate over builds against the judge: whatever the suite and the builds, the same checks are red."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, given, settings, strategies as st

from pytest_irquality.retrieval.run import Answer, Ranking, Run
from pytest_irquality.suite.by_default import guarded
from pytest_irquality.suite.model import Suite
from pytest_irquality.suite.reader import load_suite
from pytest_irquality.verdict import judge
from pytest_irquality.verdict.broken_builds import broken_builds
from pytest_irquality.verdict.build_gate import Gate, Unit
from pytest_irquality.verdict.together import judged_together

DOCUMENTS = [f"d{number}" for number in range(9)]

QUERIES = """
queries:
  - {query: a, relevant: {d0: 3, d1: 1}, tags: [one], must_find: {d0: 3}, weight: 3}
  - {query: b, relevant: [d1], tags: [one, two], must_find_any: [d1, d2]}
  - {query: c, relevant: [d2, d3], tags: [two], must_not_find: [d8]}
  - {query: d, relevant: [d4], in_order: [d4, d5, d6]}
  - {query: e, relevant: [d5], thresholds: {mrr@10: {min: 0.2, max_drop: 0.4}}}
  - {query: f, relevant: [d6], known_issue: never mind, must_find: [d6]}
  - {query: g, expect_no_results: true}
  - {query: h}
  - {query: i, relevant: [d7], tags: [one]}
  - {query: j, relevant: [d0], tags: [one]}
  - {query: k, relevant: [d3], tags: [two]}
  - {query: l, relevant: [d2], tags: [two]}
"""
SUITES = {
    "defaults": "metrics: [ndcg@5, recall@3]",
    "drops": """
metrics: [ndcg@5, recall@3, weighted ndcg@5]
thresholds:
  ndcg@5: {max_drop: 0.05, max_significant_drop: 0.01}
  recall@3: {max_drop: 20%, max_significant_drop: 0.02}
  weighted ndcg@5: {max_drop: 0.1}
  zero_results: {max: 1, max_rise: 1}
tags:
  one: {mrr@5: {max_drop: 0.1, max_significant_drop: 0.05}}
""",
    "floors": """
metrics: [ndcg@5]
thresholds: {ndcg@5: {min: 0.5, warn_below: 0.9}, zero_results: {max: 10%}, recall@5: {min: 0.6}}
each_tag: {ndcg@5: {min: 0.3, max_drop: 0.2}}
each_query:
  recall@5: {max_drop: 0.5}
  must_not_find: {d7: 1}
  lost_all_relevant: {max: 1}
  new_zero_results: fail
  nothing_in_common: {max: 2}
""",
    "what compares": """
metrics: [ndcg@5]
thresholds: {rbo: {min: 0.6}, ndcg@5: {max_drop: 0.1}}
each_query: {lost_all_relevant: ignore, rbo: {min: 0.1}}
errors: {max: 1}
""",
}


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Suite]:
    loaded = {}
    for name, text in SUITES.items():
        path = tmp_path_factory.mktemp("suite") / "shop.ir.yaml"
        path.write_text(text + QUERIES, encoding="utf-8")
        loaded[name] = guarded(load_suite(path))
    return loaded


def answer(draw: Random, build: int, steady: float) -> Answer:
    """Rankings that change now and then from a build to the next, with ties and some that are empty."""
    rankings = {}
    for query in "abcdefghijkl":
        own = Random(query) if draw.random() < steady else draw
        ids = own.sample(DOCUMENTS, own.choice([0, 5, 5, 5, 7]) if query != "g" else 0)
        scores = sorted((own.randrange(4) / 2 for _ in ids), reverse=True)
        rankings[query] = Ranking(tuple(ids), tuple(scores))
    return Answer(rankings, build=build)


def side(units: Sequence[Unit]) -> Run:
    return Run("", tuple(one for unit in units for one in unit))


def judged(suite: Suite, before: Sequence[Unit], now: Sequence[Unit]) -> set[str]:
    assume(not broken_builds(suite, side(before), "baseline"))  # which the judge leaves out
    results = judged_together([judge(suite, side(now), suite.checks, before=side(before))])
    return {verdict.check for verdict in results[0].verdicts if verdict.outcome == "failed"}


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    of_each=st.tuples(
        st.sampled_from([(1, 1), (3, 3), (1, 3), (5, 1)]),
        st.sampled_from([1, 1, 3]),
        st.sampled_from([0.3, 0.8, 0.95]),
    ),
    name=st.sampled_from(sorted(SUITES)),
)
def test_the_same_checks_are_red_as_where_each_is_judged_alone(
    suites: dict[str, Suite],
    seed: int,
    of_each: tuple[tuple[int, int], int, float],
    name: str,
) -> None:
    shape, repeats, steady = of_each
    suite, draw = suites[name], Random(seed)
    before, now = (
        [
            tuple(answer(draw, place + number, steady) for _ in range(repeats))
            for number in range(many)
        ]
        for place, many in zip((0, 50), shape, strict=True)
    )
    gate = Gate(suite, side([*before, *now]))
    assert gate.red(before, now) == judged(suite, before, now)
    assert gate.red(now, before) == judged(suite, now, before), "what is kept of the first misled"
    lost = dict.fromkeys(draw.sample("abcdefghijk", 3), Ranking(("d8", "d5"), (1.0, 0.5)))
    harmed = [
        tuple(replace(one, rankings={**one.rankings, **lost}) for one in unit) for unit in now
    ]
    assert gate.red(before, harmed) == judged(suite, before, harmed)
    assert gate.red(before, now) == judged(suite, before, now), "harm is not kept"


def test_the_cases_are_of_both_kinds(suites: dict[str, Suite]) -> None:
    """Each check of each suite is red in some case and holds in another, or the test above says little."""
    for suite in suites.values():
        seen: dict[str, set[bool]] = {}
        for seed in range(60):
            draw = Random(seed)
            builds = [(answer(draw, number, draw.choice([0.3, 0.9])),) for number in range(2)]
            gate = Gate(suite, side(builds))
            red = gate.red(builds[:1], builds[1:])
            for check in gate.checks:
                seen.setdefault(check.name, set()).add(check.name in red)
        assert all(len(both) == 2 for name, both in seen.items() if name != "g"), seen
