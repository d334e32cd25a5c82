"""What a query's other wordings lose, and the limits on that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pytest_irquality import SuiteError, judge, load_suite, retrieve
from pytest_irquality.suite import Suite
from pytest_irquality.verdict.findings import Robustness
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.answers import wordings_said
from pytest_irquality.wording.reasons import reason

SUITE = """\
metrics: [mrr@10]
queries:
  - query: office chair
    relevant: [a]
    tags: [head]
    variants: [offce chair, chair for the office]
  - query: garden hose
    relevant: [b]
    variants: [hose for gardens]
  - query: lost cause
    relevant: [c]
    variants: [a lost cause]
"""
GOOD = {
    "office chair": ["a"],
    "garden hose": ["x", "b"],
    "lost cause": ["x"],
    "offce chair": ["x", "a"],
    "chair for the office": ["a"],
    "hose for gardens": ["x", "b"],
    "a lost cause": ["x"],
}


def suite(tmp_path: Path, more: str = "", text: str = SUITE) -> Suite:
    path = tmp_path / "shop.ir.yaml"
    path.write_text(text + more, encoding="utf-8")
    return load_suite(path)


def judged(suite: Suite, answers: Mapping[str, Sequence[str]]) -> SuiteResult:
    return judge(suite, retrieve(suite, lambda query: answers[query]))


def variants_of(result: SuiteResult) -> Robustness:
    assert result.robustness
    return result.robustness


def outcome(result: SuiteResult, check: str) -> str:
    verdict = result.verdict(check)
    assert verdict
    return verdict.outcome


def test_the_loss_is_from_the_queries_that_have_something_to_lose(tmp_path: Path) -> None:
    robustness = variants_of(judged(suite(tmp_path), GOOD))
    (loss,) = robustness.losses
    assert (robustness.variants, robustness.queries) == (4, 3)
    assert (loss.change.queries, loss.change.before, loss.change.now) == (2, 0.75, 0.625)
    assert [(worst.text, worst.own, worst.value) for worst in loss.worst] == [
        ("offce chair", 1.0, 0.5)
    ]


def test_headline_means_rules_and_guards_do_not_see_variants(tmp_path: Path) -> None:
    result = judged(suite(tmp_path), GOOD)
    assert [(mean.value, mean.queries) for mean in result.means if mean.tag is None] == [(0.5, 3)]
    assert [query.text for query in result.queries] == ["office chair", "garden hose", "lost cause"]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("mrr@10: {max_drop: 0.13}", "passed"),
        ("mrr@10: {max_drop: 0.12}", "failed"),
        ("mrr@10: {max_drop: 20%}", "passed"),
        ("mrr@10: {max_drop: 10%}", "failed"),
        ("mrr@10: {min: 0.5}", "passed"),
        ("mrr@10: {min: 0.6}", "failed"),
        ("zero_results: {max: 0}", "passed"),
        ("rank_of_first@10: {max_rise: 0.3}", "passed"),
        ("rank_of_first@10: {max_rise: 0.1}", "failed"),
    ],
)
def test_limits(tmp_path: Path, limits: str, expected: str) -> None:
    result = judged(suite(tmp_path, f"robustness: {{{limits}}}\n"), GOOD)
    assert result.verdicts[-1].label.startswith("robustness: ")
    assert result.verdicts[-1].outcome == expected


def test_an_engine_that_loses_the_queries_too_is_not_robust(tmp_path: Path) -> None:
    """It has nothing to lose, so nothing was measured, and nothing passes."""
    more = "robustness: {mrr@10: {max_drop: 0.1}}\n"
    result = judged(suite(tmp_path, more), {query: ["x"] for query in GOOD})
    assert outcome(result, "robustness-mrr-10") == "failed"


def test_a_variant_that_finds_nothing_is_named(tmp_path: Path) -> None:
    result = judged(suite(tmp_path), {**GOOD, "offce chair": []})
    assert [variant.text for variant in variants_of(result).empty] == ["offce chair"]
    assert "1 finds nothing: 'offce chair'" in wordings_said(result)
    lossy = judged(suite(tmp_path), {**GOOD, "offce chair": ["x"]})
    assert [*wordings_said(lossy)] == [
        "4 variants of 3 queries",
        "mrr@10: 0.750 for the queries, 0.500 for their variants; most: 'offce chair' 1.000 → 0.000",
    ]


def test_failed_calls_of_variants_are_counted_apart(tmp_path: Path) -> None:
    def search(query: str) -> list[str]:
        if query == "offce chair":
            raise OSError("down")
        return list(GOOD[query])

    held = suite(tmp_path, "errors: {max: 0}\n")
    result = judge(held, retrieve(held, search))
    assert variants_of(result).unanswered == 1
    assert not result.failed


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (
            "robustness: {latency_p95: {max: 1s}}\n",
            "latency_p95 says nothing of how variants are found",
        ),
        ("robustness: {mrr@10: {max_rise: 0.1}}\n", "max_drop is meant"),
        (
            "robustness: {mrr@10: {max_significant_drop: 0.1}}\n",
            "max_significant_drop is a test against the baseline; for variants use max_drop",
        ),
        ("tags: {head: {robustness: {mrr@10: 0.1}}}\n", "in the limit of robustness"),
        ("repeat: 0\n", "'repeat' must be a whole number of at least 1"),
        ("repeat: 1001\n", "'repeat' is at most 1000, not 1001"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, more: str, error: str) -> None:
    with pytest.raises(SuiteError) as raised:
        suite(tmp_path, more)
    assert error in str(raised.value)


def test_limits_on_variants_that_no_query_has_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="no query has variants; write some under 'variants'"):
        suite(tmp_path, text="queries: [{query: a, relevant: [d]}]\nrobustness: {mrr@10: 0.1}\n")


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (
            "mrr@10: {max_drop: 0.1}",
            "mrr@10 is 0.750 for the queries and 0.500 for their variants, by 0.250: more than max_drop"
            " 0.100 (1 worse, 0 better of 2 queries): 'offce chair' 1.000 → 0.000",
        ),
        (
            "zero_results: {max: 0}",
            "variants: zero_results is 1, above its ceiling 0: 'offce chair'",
        ),
        (
            "mrr@10: {min: 0.5}",
            "variants: mrr@10 is 0.375, below its floor 0.500: 'offce chair' 1.000 → 0.000",
        ),
        (
            "rank_of_first@10: {max_rise: 1}",
            "rank_of_first@10 is 4.667 for the queries and 6.333 for their variants, by 1.667:"
            " more than max_rise 1.000 (1 worse, 0 better of 3 queries): 'offce chair' 1.000 →"
            " 11.000",
        ),
    ],
)
def test_a_broken_limit_names_the_texts_that_broke_it(
    tmp_path: Path, limits: str, said: str
) -> None:
    answers = {**GOOD, "offce chair": []}
    result = judged(suite(tmp_path, f"robustness: {{{limits}}}\n"), answers)
    verdict = result.verdicts[-1]
    assert verdict.outcome == "failed"
    assert reason(result, verdict) == said


def test_variants_that_fail_are_no_pass(tmp_path: Path) -> None:
    """A search that raises for what is mistyped is not robust, though `errors` does not count it."""

    def search(query: str) -> list[str]:
        if query not in ("office chair", "garden hose", "lost cause", "hose for gardens"):
            raise OSError("no such word")
        return list(GOOD[query])

    more = "robustness: {mrr@10: {max_drop: 0.1}}\n"
    held = suite(tmp_path, more)
    result = judge(held, retrieve(held, search))
    verdict = result.verdicts[-1]
    assert verdict.outcome == "failed"
    assert reason(result, verdict) == (
        "mrr@10 is undecided: 3 of 4 variants were not answered ('offce chair', 'chair for the"
        " office', 'a lost cause'): OSError: no such word"
    )
    allowed = suite(tmp_path, more + "errors: {max: 3}\n")
    assert not judge(allowed, retrieve(allowed, search)).failed


def test_an_updated_baseline_excuses_no_loss_of_variants(tmp_path: Path) -> None:
    held = suite(tmp_path, "robustness: {mrr@10: {max_drop: 0.12}}\n")
    run = retrieve(held, lambda query: GOOD[query])
    assert judge(held, run, before=run, updating=True).failed


def test_variants_from_files(tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text(
        'id,query,variants\nq1,office chair,"offce chair|chair, office"\nq2,hose,\n',
        encoding="utf-8",
    )
    (tmp_path / "more.jsonl").write_text(
        '{"id": "q3", "query": "tap", "variants": ["faucet", "water tap"]}\n', encoding="utf-8"
    )
    path = tmp_path / "s.ir.yaml"
    path.write_text(
        "queries: [queries.csv, more.jsonl]\nmetrics: [zero_results]\n", encoding="utf-8"
    )
    made = load_suite(path)
    assert {(variant.of, variant.text) for variant in made.reworded} == {
        ("q1", "offce chair"),
        ("q1", "chair, office"),
        ("q3", "faucet"),
        ("q3", "water tap"),
    }
