"""Small things that a verdict hangs on, each once lost without any test noticing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_irquality import judge, load_suite, retrieve
from pytest_irquality.metrics import parse_measure
from pytest_irquality.report.text import summary
from pytest_irquality.retrieval import Run
from pytest_irquality.storage.history import Entry
from pytest_irquality.suite.demands import MaxDrop
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.verdict.pool import pool
from pytest_irquality.verdict.trend import steps, trend
from pytest_irquality.wording.caveats import caveats
from pytest_irquality.wording.notes import notes
from tests.conftest import Project
from tests.verdict.test_comparison import FIRST, judged, outcomes, run_of, sunk, twenty


def test_a_drop_of_exactly_the_limit_holds_whatever_its_binary_fractions(tmp_path: Path) -> None:
    """0.8 − 0.7 is 0.10000000000000009."""
    ids = [f"d{n}" for n in range(8)]
    text = f"queries: [{{query: a, relevant: {ids}}}]\nthresholds: {{p@10: {{max_drop: %s}}}}\n"
    before = run_of({"a": [*ids, "x", "y"]})
    now = run_of({"a": [*ids[:7], "x", "y", "z"]})
    assert set(outcomes(judged(tmp_path, text % "0.1", now, before)).values()) == {"passed"}
    assert set(outcomes(judged(tmp_path, text % "0.0999", now, before)).values()) == {"failed"}


@pytest.mark.parametrize(("top_k", "listed"), [(3, 10), (15, 15), (30, 20)])
def test_as_many_documents_are_listed_as_count_and_neither_few_nor_many(
    tmp_path: Path, top_k: int, listed: int
) -> None:
    text = f"top_k: {top_k}\ndepth: 40\nqueries: [{{query: a, relevant: [d]}}]\n"
    (query,) = judged(tmp_path, text, run_of({"a": [f"x{n}" for n in range(40)]}), None).queries
    assert [document.rank for document in query.ranking] == [*range(1, listed + 1)]


def test_where_lower_is_better_a_rise_is_worse(tmp_path: Path) -> None:
    text = twenty("thresholds: {rank_of_first: {max_rise: 0.1}}\n")
    result = judged(tmp_path, text, run_of(sunk(2)), run_of(FIRST))
    assert outcomes(result) == {"rank_of_first@10": "failed"}
    change = next(mean.change for mean in result.means if mean.measure == "rank_of_first@10")
    assert change
    assert (change.worse, change.better) == (2, 0)
    assert change.p == 0.25
    assert set(outcomes(judged(tmp_path, text, run_of(FIRST), run_of(sunk(2)))).values()) == {
        "passed"
    }


def test_a_query_of_weight_0_is_in_no_weighted_change(tmp_path: Path) -> None:
    text = "queries: [{query: a, relevant: [d], weight: 0}, {query: b, relevant: [d]}]\n"
    text += "thresholds: {weighted mrr: {max_drop: 0}}\n"
    before, now = run_of({"a": ["d"], "b": ["d"]}), run_of({"a": ["x"], "b": ["d"]})
    result = judged(tmp_path, text, now, before)
    assert outcomes(result) == {"weighted mrr@10": "passed"}
    change = result.means[0].change
    assert change
    assert (change.queries, change.worse, change.equal) == (1, 0, 1)
    finding = result.verdicts[-1].findings[0]
    assert (finding.queries, finding.of) == (1, 1)


def test_a_known_issue_that_an_update_excuses_is_not_fixed(tmp_path: Path) -> None:
    text = twenty("thresholds: {mrr: {max_drop: 0.01, known_issue: X-1}}\n")
    result = judged(tmp_path, text, run_of(sunk(5)), run_of(FIRST), updating=True)
    assert outcomes(result) == {"mrr@10": "passed"}
    result = judged(tmp_path, text, run_of(FIRST), run_of(FIRST), updating=True)
    assert outcomes(result) == {"mrr@10": "fixed"}


def test_a_broken_rule_rests_on_no_judgment(tmp_path: Path) -> None:
    """Without the unjudged document the rule would hold as well, but it is the rule that says no."""
    text = (
        "queries: [{query: a, relevant: {d: 1, z: 0}, must_find: {d: 1}, thresholds: {mrr: 1}}]\n"
    )
    result = judged(tmp_path, text, run_of({"a": ["new", "d"]}), run_of({"a": ["d"]}))
    assert result.failed
    assert "would hold" not in "\n".join(notes(result))


def test_a_tag_of_queries_that_expect_nothing_defines_no_measure(tmp_path: Path) -> None:
    text = (
        "undefined: zero\nqueries:\n  - {query: a, relevant: [d], tags: [real]}\n"
        "  - {query: zzz, expect_no_results: true, tags: [none]}\n"
        "each_tag: {mrr: {min: 0.5, max_drop: 0.1}}\n"
    )
    both = run_of({"a": ["d"], "zzz": []})
    result = judged(tmp_path, text, both, both)
    assert outcomes(result)["each_tag: mrr@10"] == "passed"


def test_a_lists_grade_is_the_lowest_that_counts_as_relevant(tmp_path: Path) -> None:
    text = "relevant_from: 2\nqueries: [{query: a, relevant: [d]}, {query: b, relevant: {e: 1}}]\n"
    path = tmp_path / "s.ir.yaml"
    path.write_text(text + "thresholds: {recall@10: 1}\n", encoding="utf-8")
    suite = load_suite(path)
    assert suite.by_id["a"].judgments.grades == {"d": 2.0}
    assert suite.by_id["b"].judgments.relevant == frozenset()


def test_rules_on_every_query_are_asked_as_deep_as_they_read(tmp_path: Path) -> None:
    path = tmp_path / "s.ir.yaml"
    path.write_text(
        "queries: [{query: a, relevant: [d]}]\neach_query: {must_not_find: {x: 30}}\n",
        encoding="utf-8",
    )
    suite = load_suite(path)
    assert suite.depth == 30
    ids = [f"d{n}" for n in range(29)]
    assert judge(suite, run_of({"a": [*ids, "x"]})).failed
    assert not judge(suite, run_of({"a": [*ids, "y", "x"]})).failed


def test_limits_claim_their_names_before_queries(project: Project) -> None:
    project.suite(
        "queries: [{query: ndcg@10, relevant: [d], must_find: [d]}]\nthresholds: {ndcg@10: 0.5}\n"
    )
    project.answers({"ndcg@10": ["d"]})
    project.run("--collect-only", "-q").stdout.fnmatch_lines(
        ["shop.ir.yaml::query-ndcg-10", "shop.ir.yaml::ndcg-10"]
    )


def test_a_folder_of_baselines_may_be_flat_or_as_deep_as_the_suites(project: Project) -> None:
    project.suite("queries: [{query: a, relevant: [d]}]\n", "deep/shop.ir.yaml")
    project.answers({"a": ["d"]})
    project.run("--ir-update-baseline", "--ir-baseline=kept", "deep")
    nested, flat = project.path / "kept/deep/shop.jsonl", project.path / "kept/shop.jsonl"
    for path in (nested, flat):
        assert path.is_file()
        project.run("--ir-baseline=kept", "deep")
        source = project.data["suites"][0]["baseline"]["source"]
        assert source == path.relative_to(project.path).as_posix()
        nested.replace(flat) if path is nested else flat.unlink()


@pytest.mark.parametrize("lost", [0, 3])
def test_holm_counts_every_limit_of_the_suite_whatever_was_selected(
    tmp_path: Path, lost: int
) -> None:
    text = twenty("thresholds: {mrr: {max_significant_drop: 0}, ndcg: {max_significant_drop: 0}}\n")
    file = tmp_path / "s.ir.yaml"
    file.write_text(text, encoding="utf-8")
    suite = load_suite(file)

    def adjusted(result: SuiteResult) -> float | None:
        change = next(mean.change for mean in result.means if mean.measure == "mrr@10")
        return change.adjusted if change else None

    def now(run: Run, names: set[str]) -> SuiteResult:
        checks = [check for check in suite.checks if check.name in names]
        return judge(suite, run, checks, before=run_of(FIRST))

    run = run_of(sunk(6 - lost))
    alone = adjusted(now(run, {"mrr-10"}))
    assert alone is not None
    assert alone == adjusted(now(run, {"mrr-10", "ndcg-10"}))


def test_the_interval_is_around_the_change_where_lower_is_better_too(tmp_path: Path) -> None:
    text = twenty("thresholds: {rank_of_first: {max_rise: 0.1}, mrr: {max_drop: 0.1}}\n")
    changes = {
        mean.measure: mean.change
        for mean in judged(tmp_path, text, run_of(sunk(9)), run_of(FIRST)).means
    }
    for measure in ("rank_of_first@10", "mrr@10"):
        change = changes[measure]
        assert change is not None
        assert change.low is not None
        assert change.high is not None
        assert change.low < change.difference < change.high


def test_holm_counts_no_limit_of_which_not_every_query_was_asked(tmp_path: Path) -> None:
    text = twenty(
        "thresholds: {ndcg: {max_significant_drop: 0}}\ntags: {few: {mrr: {max_significant_drop: 0}}}\n"
    )
    for n in range(10):
        text = text.replace(f"relevant: [d{n}]}}", f"relevant: [d{n}], tags: [few]}}")
    file = tmp_path / "s.ir.yaml"
    file.write_text(text, encoding="utf-8")
    suite = load_suite(file)
    asked = {f"q{n}" for n in range(10)}
    checks = [check for check in suite.checks if check.tag == "few"]
    result = judge(suite, run_of(sunk(6)).only(asked), checks, before=run_of(FIRST))
    (change,) = [finding.change for verdict in result.verdicts for finding in verdict.findings]
    assert change
    assert change.p is not None
    assert change.adjusted == change.p


@pytest.mark.parametrize(
    ("more", "scale"),
    [
        ("", (("not relevant", 0.0), ("relevant", 1.0))),
        ("relevant_from: 2\n", (("0", 0.0), ("1", 1.0), ("2", 2.0))),
        ("grades: {good: 1, fine: 1, bad: 0}\n", (("bad", 0.0), ("good / fine", 1.0))),
    ],
)
def test_a_judge_may_give_the_grades_that_the_suite_has(
    tmp_path: Path, more: str, scale: object
) -> None:
    path = tmp_path / "s.ir.yaml"
    path.write_text(f"{more}queries: [{{query: a, relevant: {{d: 1}}}}]\n", encoding="utf-8")
    suite = load_suite(path)
    assert pool(suite, [retrieve(suite, lambda query: ["d"])], 10).scale == scale


def test_a_known_issue_says_that_it_excuses_a_drop_of_any_size(tmp_path: Path) -> None:
    """It takes the place of the default limit, so nothing else would tell."""
    text = twenty("thresholds: {mrr: {max_drop: 0.01, known_issue: X-1}}\n")
    result = judged(tmp_path, text, run_of(sunk(19)), run_of(FIRST))
    assert outcomes(result) == {"mrr@10": "known"}
    assert "known issue X-1 excuses a drop of any size in mrr@10" in caveats(result)
    assert "known issue X-1: mrr@10 fell 1.000 → 0.367, by" in "\n".join(summary([result], 200))


def test_ungraded_queries_that_changed_are_counted(tmp_path: Path) -> None:
    """One grade is enough to hold a suite to its means, which the others are not in."""
    text = (
        "queries: [{query: a, relevant: [d]}, {query: b}, {query: c}, {query: e, must_find: d}]\n"
    )
    before = {"a": ["d"], "b": ["d"], "c": ["d"], "e": ["d"]}
    now = {**before, "b": ["x"], "e": ["d", "x"]}
    said = "3 of 4 queries without a relevant document"
    assert caveats(judged(tmp_path, text, run_of(before), run_of(before))) == (said,)
    changed = judged(tmp_path, text, run_of(now), run_of(before))
    assert caveats(changed) == (f"{said}, 2 of them with other results",)


@pytest.mark.parametrize(
    ("accepted", "over", "summed"),
    [(None, 9, "abcd"), (0, 9, "bcd"), (1, 9, "cd"), (3, 9, ""), (None, 2, "cd"), (1, 1, "d")],
)
def test_a_trend_is_over_every_change_since_the_last_that_was_accepted(
    accepted: int | None, over: int, summed: str
) -> None:
    made = Entry("s.ir.yaml", "", "", {})
    changes = [
        replace(made, commit=of, baseline=of, changes={"mrr@10": -0.25}, accepted=n == accepted)
        for n, of in enumerate("abcd")
    ]
    assert steps(changes, "mrr@10", over) == [(commit, -0.25) for commit in summed]
    finding = trend(changes, parse_measure("mrr@10"), MaxDrop(0.25), over)
    assert (finding.ok, finding.value) == (len(summed) < 2, 0.25 * len(summed))
    assert finding.since == summed[:1]
