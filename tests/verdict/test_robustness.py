"""What a query's other wordings lose, and the limits on that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pytest_irquality import SuiteError, judge, load_suite, retrieve
from pytest_irquality.suite import Suite
from pytest_irquality.verdict.result import SuiteResult

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


def outcome(result: SuiteResult, check: str) -> str:
    verdict = result.verdict(check)
    assert verdict
    return verdict.outcome


def test_the_loss_is_from_the_queries_that_have_something_to_lose(tmp_path: Path) -> None:
    (robustness,) = judged(suite(tmp_path), GOOD).robustness
    (loss,) = robustness.losses
    assert (robustness.kind, robustness.variants, robustness.queries) == ("variants", 4, 3)
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
    result = judged(suite(tmp_path, f"robustness: {{variants: {{{limits}}}}}\n"), GOOD)
    assert result.verdicts[-1].label.startswith("robustness: variants: ")
    assert result.verdicts[-1].outcome == expected


def test_limits_of_a_tag_and_of_one_query(tmp_path: Path) -> None:
    of_tag = "tags: {head: {robustness: {variants: {mrr@10: {max_drop: 0.2}}}}}\n"
    assert outcome(judged(suite(tmp_path, of_tag), GOOD), "head-robustness-variants-mrr-10") == (
        "failed"
    )
    of_query = SUITE.replace(
        "    tags: [head]\n",
        "    tags: [head]\n    robustness: {variants: {mrr@10: {max_drop: 0.2}}}\n",
    )
    assert outcome(judged(suite(tmp_path, text=of_query), GOOD), "office-chair") == "failed"


def test_an_engine_that_loses_the_queries_too_is_not_robust(tmp_path: Path) -> None:
    """It has nothing to lose, so nothing was measured, and nothing passes."""
    more = "robustness: {variants: {mrr@10: {max_drop: 0.1}}}\n"
    result = judged(suite(tmp_path, more), {query: ["x"] for query in GOOD})
    assert outcome(result, "robustness-variants-mrr-10") == "failed"


def test_a_variant_that_finds_nothing_is_named(tmp_path: Path) -> None:
    result = judged(suite(tmp_path), {**GOOD, "offce chair": []})
    assert [variant.text for variant in result.robustness[0].empty] == ["offce chair"]


def test_failed_calls_of_variants_are_counted_apart(tmp_path: Path) -> None:
    def search(query: str) -> list[str]:
        if query == "offce chair":
            raise OSError("down")
        return list(GOOD[query])

    held = suite(tmp_path, "errors: {max: 0}\n")
    result = judge(held, retrieve(held, search))
    assert result.robustness[0].unanswered == 1
    assert not result.failed


def test_generated_kinds_of_the_suite_and_of_a_tag(tmp_path: Path) -> None:
    made = suite(tmp_path, "perturb: [case]\ntags: {head: {perturb: [space, case]}}\n")
    kinds = {kind: len(variants) for kind, variants in made.variants_of.items()}
    assert kinds == {"variants": 4, "case": 6, "space": 2}
    assert len({variant.id for variant in made.reworded}) == len(made.reworded)


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ("perturb: [tyop]\n", "nothing is known of the perturbation 'tyop'; did you mean 'typo'?"),
        (
            "robustness: {typo: {mrr@10: {max_drop: 0.1}}}\n",
            "no query has variants of the kind 'typo'; write 'perturb: [typo]'",
        ),
        (
            "robustness: {variants: {latency_p95: {max: 1s}}}\n",
            "latency_p95 says nothing of how variants are found",
        ),
        ("robustness: {variants: {mrr@10: {max_rise: 0.1}}}\n", "max_drop is meant"),
        ("repeat: 0\n", "'repeat' must be a whole number of at least 1"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, more: str, error: str) -> None:
    with pytest.raises(SuiteError) as raised:
        suite(tmp_path, more)
    assert error in str(raised.value)


def test_slices_by_length_may_carry_limits(tmp_path: Path) -> None:
    text = SUITE + "  - query: chair\n    relevant: [a]\n"
    limits = 'tags: {"@length:1": {mrr@10: 0.9}, "@length:2-3": {mrr@10: 0.6}}\n'
    result = judged(suite(tmp_path, limits, text), {**GOOD, "chair": ["a"]})
    assert outcome(result, "length-1-mrr-10") == "passed"
    assert outcome(result, "length-2-3-mrr-10") == "failed"
    assert [mean.tag for mean in result.means] == [None, "head", "@length:1", "@length:2-3"]


def test_each_tag_leaves_the_slices_by_length_out(tmp_path: Path) -> None:
    text = SUITE + "  - query: chair\n    relevant: [a]\n"
    each = suite(tmp_path, "each_tag: {mrr@10: 0.9}\n", text)
    assert outcome(judged(each, {**GOOD, "chair": ["x"]}), "each_tag-mrr-10") == "passed"
