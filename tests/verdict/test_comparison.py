"""Judging a run against a baseline: both are given as plain runs."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pytest_irquality import judge, load_suite
from pytest_irquality.report.text import summary
from pytest_irquality.retrieval import Answer, Ranking, Run
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.verdict.findings import RankedDocument
from pytest_irquality.wording import sentences
from pytest_irquality.wording.notes import notes as notes_of
from pytest_irquality.wording.reasons import reason

Lists = Mapping[str, Sequence[str]]


def run_of(
    lists: Lists,
    scores: Mapping[str, Sequence[float]] | None = None,
    titles: Mapping[str, str] | None = None,
    **more: Any,
) -> Run:
    given = scores or {}
    rankings = {
        id: Ranking(tuple(ids), tuple(given[id]) if id in given else None)
        for id, ids in lists.items()
    }
    return Run("", (Answer(rankings, titles or {}),), **more)


def judged(path: Path, text: str, now: Run, before: Run | None, **more: Any) -> SuiteResult:
    file = path / "s.ir.yaml"
    file.write_text(text, encoding="utf-8")
    suite = load_suite(file, shown="s.ir.yaml")
    return judge(
        suite, now, suite.checks, before=before, **more
    )  # what is written, without the default guard


def outcomes(result: SuiteResult) -> dict[str, str]:
    return {verdict.label: verdict.outcome for verdict in result.verdicts if verdict.query is None}


def notes(result: SuiteResult) -> str:
    return "\n".join(notes_of(result))


def twenty(limits: str) -> str:
    return (
        "queries:\n"
        + "".join(f"  - {{query: q{n}, relevant: [d{n}]}}\n" for n in range(20))
        + limits
    )


FIRST = {f"q{n}": [f"d{n}", "x", "y"] for n in range(20)}
SUNK = ["x", "y", "{}"]


def sunk(count: int) -> dict[str, list[str]]:
    return {
        id: [place.format(ids[0]) for place in SUNK] if n < count else list(ids)
        for n, (id, ids) in enumerate(FIRST.items())
    }


@pytest.mark.parametrize(
    ("limit", "outcome", "said"),
    [
        ("max_drop: 0.05", "failed", "mrr@10 fell 1.000 → 0.933, by 0.067: more than max_drop 0.050 (2 worse, 0 better of 20 queries)"),
        ("max_drop: 7%", "passed", "by 6.7 %: within max_drop 7.0 %"),
        ("max_drop: 6%", "failed", "by 7 %: more than max_drop 6 %"),
        ("max_significant_drop: 0.01", "passed", "more than max_significant_drop 0.010, which may be chance (p = 0.25)"),
        ("max_significant_drop: 0.1", "passed", "within max_significant_drop 0.100"),
    ],
)  # fmt: skip
def test_limits_on_a_drop(tmp_path: Path, limit: str, outcome: str, said: str) -> None:
    result = judged(
        tmp_path, twenty(f"thresholds: {{mrr: {{{limit}}}}}\n"), run_of(sunk(2)), run_of(FIRST)
    )
    assert outcomes(result) == {"mrr@10": outcome}
    finding = result.verdicts[-1].findings[0]
    assert said in sentences.demand(result, finding)
    assert finding.value == pytest.approx(2 / 30)
    change = next(mean.change for mean in result.means if mean.tag is None)
    assert change
    assert (change.worse, change.better, change.equal, change.queries) == (2, 0, 18, 20)


def test_a_significant_drop_fails_and_several_are_corrected_together(tmp_path: Path) -> None:
    text = twenty(
        "thresholds: {mrr: {max_significant_drop: 0.01}, ndcg: {max_significant_drop: 0.01}, recall: {max_significant_drop: 0}}\n"
    )
    result = judged(tmp_path, text, run_of(sunk(5)), run_of(FIRST))
    assert outcomes(result) == {"mrr@10": "passed", "ndcg@10": "passed", "recall@10": "passed"}
    change = result.means[0].change
    assert change
    assert change.p == pytest.approx(1 / 32)
    assert change.adjusted == pytest.approx(3 / 32)
    result = judged(tmp_path, text, run_of(sunk(9)), run_of(FIRST))
    assert outcomes(result) == {"mrr@10": "failed", "ndcg@10": "failed", "recall@10": "passed"}
    assert "which chance does not explain (p = 0.006, corrected for several limits)" in reason(
        result, result.verdicts[-3]
    )


def test_a_rise_where_lower_is_better(tmp_path: Path) -> None:
    text = twenty("thresholds: {zero_results: {max_rise: 1}, rank_of_first: {max_rise: 10%}}\n")
    now = {**FIRST, "q1": [], "q2": []}
    result = judged(tmp_path, text, run_of(now), run_of(FIRST))
    assert outcomes(result) == {"zero_results": "failed", "rank_of_first@10": "failed"}
    assert "zero_results rose 0 → 2, by 2: more than max_rise 1" in reason(
        result, result.verdicts[-2]
    )


def test_a_drop_without_a_baseline_is_never_a_false_green(tmp_path: Path) -> None:
    text = twenty(
        "thresholds: {mrr: {min: 0.5, max_drop: 0.1}}\neach_query: {mrr: {max_drop: 0.1}, rbo@3: 0.5}\n"
    )
    result = judged(tmp_path, text, run_of(FIRST), None)
    assert set(outcomes(result).values()) == {"failed"}
    assert [len(verdict.broken) for verdict in result.verdicts[-3:]] == [1, 1, 1]
    assert "there is no baseline; make one with `--ir-update-baseline`" in reason(
        result, result.verdicts[-1]
    )


def test_a_baseline_that_is_too_shallow_is_an_error_that_says_so(tmp_path: Path) -> None:
    text = twenty("thresholds: {recall@50: {max_drop: 0.1}, recall@10: {max_drop: 0.1}}\n")
    result = judged(tmp_path, text, run_of(FIRST), run_of(FIRST, depth=10))
    assert outcomes(result) == {"recall@50": "failed", "recall@10": "passed"}
    assert "it reads 50 results and the baseline holds 10; renew it" in reason(
        result, result.verdicts[-2]
    )


GUARD = "each_query: {lost_all_relevant: %s, new_zero_results: fail}\n"


@pytest.mark.parametrize(
    ("level", "lost", "outcome"),
    [
        ("fail", 1, "failed"),
        ("warn", 1, "passed"),
        ("{max: 2}", 2, "passed"),
        ("{max: 2}", 3, "failed"),
        ("fail", 0, "passed"),
    ],
)
def test_the_guard_on_lost_queries(tmp_path: Path, level: str, lost: int, outcome: str) -> None:
    now = {id: ["x", "y"] if n < lost else ids for n, (id, ids) in enumerate(FIRST.items())}
    result = judged(
        tmp_path, twenty(GUARD % level), run_of(now, titles={"d0": "Office chair"}), run_of(FIRST)
    )
    assert outcomes(result) == {
        "each_query: lost_all_relevant": outcome,
        "each_query: new_zero_results": "passed",
    }
    findings = result.verdicts[-2].findings
    assert (
        reason(result, result.verdicts[-2])
        == "3 queries lost all their relevant documents: 'q0', 'q1', 'q2'; 2 are allowed"
    ) == (lost == 3)
    if lost:
        assert len(findings) == lost
        assert (
            sentences.sentence(result, result.verdicts[-2], findings[0])
            == "'q0' lost all its relevant documents of the top 10: Office chair (d0) 1 → not returned"
        )
        assert findings[0].ranked == (RankedDocument("d0", None, 1, title="Office chair"),)
    assert len(sentences.warnings(result)) == (lost if outcome == "passed" else 0)


def test_the_guard_on_queries_that_return_nothing_now(tmp_path: Path) -> None:
    result = judged(tmp_path, twenty(GUARD % "ignore"), run_of({**FIRST, "q3": []}), run_of(FIRST))
    assert outcomes(result) == {"each_query: new_zero_results": "failed"}
    assert (
        reason(result, result.verdicts[-1])
        == "'q3' returns nothing now; it returned 3 results before"
    )


def test_updating_shows_drops_and_fails_floors_only(tmp_path: Path) -> None:
    text = twenty(
        "thresholds: {mrr: {min: 0.99}, ndcg: {max_drop: 0.01}}\neach_query: {lost_all_relevant: fail}\n"
    )
    now = {**sunk(3), "q9": ["x"]}
    result = judged(tmp_path, text, run_of(now), run_of(FIRST), updating=True)
    assert outcomes(result) == {
        "mrr@10": "failed",
        "ndcg@10": "passed",
        "each_query: lost_all_relevant": "passed",
    }
    assert any("ndcg@10 fell 1.000 →" in warning for warning in sentences.warnings(result))


TIED = "queries: [{query: a, relevant: [d1]}]\nthresholds: {mrr: {max_drop: 0}, rbo@2: 1}\neach_query: {lost_all_relevant: fail}\ntop_k: 2\ndepth: 2\n"


REORDERED = "1 of 1 (100 %) rankings differ in equal scores only, which is no drift: 'a' d1 "
FURTHER = "1 of 1 (100 %) rankings differ in equal scores only, which is no drift"


@pytest.mark.parametrize(
    ("now", "scores", "said"),
    [
        (["d2", "d1"], [3.0, 3.0], REORDERED),
        (["d0", "d3", "d1", "d9"], [5.0, 3.0, 3.0, 1.0], FURTHER),
        (["d3", "d4", "d2", "d1"], [3.0, 3.0, 3.0, 3.0], FURTHER),
    ],
    ids=["reordered", "beyond the cut", "both beyond the cut"],
)
def test_ties_are_no_drift(tmp_path: Path, now: list[str], scores: list[float], said: str) -> None:
    before = run_of(
        {"a": ["d0", "d1"] if "d0" in now else ["d1", "d2"]},
        {"a": [5.0, 3.0] if "d0" in now else [3.0, 3.0]},
    )
    result = judged(tmp_path, TIED, run_of({"a": now}, {"a": scores}), before)
    assert set(outcomes(result).values()) == {"passed"}
    assert said in notes(result)
    assert ("none of 1 rankings changed" in notes(result)) == (said == REORDERED)
    query = result.queries[0]
    assert query.before
    assert query.compared
    assert query.before[0] == query.compared[0]


def test_the_same_order_without_ties_is_drift(tmp_path: Path) -> None:
    result = judged(
        tmp_path,
        TIED,
        run_of({"a": ["d2", "d1"]}, {"a": [3.0, 2.0]}),
        run_of({"a": ["d1", "d2"]}, {"a": [3.0, 3.0]}),
    )
    assert outcomes(result) == {
        "mrr@2": "failed",
        "rbo(p=0.9)@2": "failed",
        "each_query: lost_all_relevant": "passed",
    }


@pytest.mark.parametrize("made_up", [[1.0, 1.0, 1.0], [1.0, 0.5, 0.25]], ids=["ones", "by rank"])
def test_scores_that_are_alike_for_every_query_tell_no_ties(
    tmp_path: Path, made_up: list[float]
) -> None:
    """Nothing but the documents can tell then, and all of them are others."""
    text = "top_k: 3\n" + twenty(
        "thresholds: {mrr: {max_drop: 0}, rbo@3: 0.9}\neach_query: {lost_all_relevant: fail}\n"
    )
    scores = dict.fromkeys(FIRST, made_up)
    lost = {id: ["u", "v", "w"] for id in FIRST}
    result = judged(tmp_path, text, run_of(lost, scores), run_of(FIRST, scores))
    assert set(outcomes(result).values()) == {"failed"}
    assert "20 of 20 (100 %) rankings changed" in notes(result)
    last = {id: ["x", "y", f"d{n}"] for n, id in enumerate(FIRST)}
    result = judged(tmp_path, text, run_of(lost, scores), run_of(last, scores))
    assert set(outcomes(result).values()) == {"failed"}


def test_a_document_lost_below_other_ones_than_before_is_no_tie(tmp_path: Path) -> None:
    """The score at the cut may be that of before by accident: 0 is the last of every list under min-max scaling."""
    before = run_of({"a": ["d0", "d1"]}, {"a": [1.0, 0.0]})
    result = judged(tmp_path, TIED, run_of({"a": ["d2", "d3"]}, {"a": [1.0, 0.0]}), before)
    assert set(outcomes(result).values()) == {"failed"}


def test_a_deeper_ranking_than_the_baselines_is_no_change_by_itself(tmp_path: Path) -> None:
    text = "depth: 3\n" + twenty("thresholds: {success@2: 1}\ntop_k: 2\n")
    before = run_of({id: ids[:2] for id, ids in FIRST.items()}, depth=2)
    result = judged(tmp_path, text, run_of(FIRST), before)
    assert "none of 20 rankings changed" in notes(result)


def test_new_and_left_queries_are_said_and_only_floors_apply(tmp_path: Path) -> None:
    text = "queries: [{query: old, relevant: [a], tags: [t]}, {query: new, relevant: [b], tags: [u]}]\n"
    text += "thresholds: {mrr: {max_drop: 0}}\neach_tag: {mrr: {max_drop: 0}}\neach_query: {mrr: {max_drop: 0}, rbo@5: 1}\n"
    before = run_of({"old": ["a"]})
    result = judged(
        tmp_path,
        text,
        run_of({"old": ["a"], "new": ["x"]}),
        before,
        baseline=Baseline("b.jsonl", 2, left=("gone",)),
    )
    assert set(outcomes(result).values()) == {"passed"}
    assert "1 query is new: floors apply, drops do not: 'new'" in notes(result)
    assert "1 query of the baseline left the suite: 'gone'" in notes(result)
    assert [query.new for query in result.queries] == [False, True]
    assert result.baseline
    assert result.baseline.left == ("gone",)


def test_a_drop_of_what_no_judgment_defines_is_never_a_false_green(tmp_path: Path) -> None:
    text = "queries: [{query: a, tags: [t]}, {query: b, tags: [u], relevant: [d]}]\n%s: {mrr: {max_drop: 0.1}}\n"
    both = run_of({"a": ["x"], "b": ["d"]})
    for scope in ("thresholds", "each_tag", "each_query"):
        unjudged = (text % scope).replace("[d]", "[]")
        result = judged(tmp_path, unjudged, both, both)
        assert set(outcomes(result).values()) == {"failed"}, scope
        assert "mrr@10 is undefined: no query here has a relevant document" in reason(
            result, result.verdicts[-1]
        )
        assert set(outcomes(judged(tmp_path, text % scope, both, both)).values()) == {"passed"}


def test_churn_without_judgments(tmp_path: Path) -> None:
    text = "queries: [{query: a}, {query: b}]\nthresholds: {rbo@3: {min: 0.9}}\n"
    before = run_of({"a": ["1", "2", "3"], "b": ["1", "2", "3"]})
    result = judged(tmp_path, text, run_of({"a": ["3", "2", "9"], "b": ["1", "2", "3"]}), before)
    assert outcomes(result) == {"rbo(p=0.9)@3": "failed"}


def test_a_verdict_on_significance_is_the_same_for_a_part_of_the_checks(tmp_path: Path) -> None:
    file = tmp_path / "s.ir.yaml"
    limit = "{max_significant_drop: 0.01}"
    file.write_text(twenty(f"thresholds: {{mrr: {limit}, ndcg: {limit}}}\n"), encoding="utf-8")
    suite = load_suite(file)
    alone = judge(suite, run_of(sunk(5)), suite.checks[-1:], before=run_of(FIRST))
    assert outcomes(alone) == {"ndcg@10": "passed"}
    assert "corrected for several limits" in sentences.demand(alone, alone.verdicts[0].findings[0])


KNOWN = "thresholds: {mrr: {max_drop: 0.1, known_issue: X-1}}\n"


def test_a_known_issue_covers_no_missing_baseline(tmp_path: Path) -> None:
    assert outcomes(judged(tmp_path, twenty(KNOWN), run_of(FIRST), None)) == {"mrr@10": "failed"}
    assert outcomes(judged(tmp_path, twenty(KNOWN), run_of(sunk(9)), run_of(FIRST))) == {
        "mrr@10": "known"
    }
    assert outcomes(judged(tmp_path, twenty(KNOWN), run_of(FIRST), run_of(FIRST))) == {
        "mrr@10": "fixed"
    }


def test_a_known_issue_is_not_fixed_where_nothing_is_compared(tmp_path: Path) -> None:
    new = judged(
        tmp_path,
        twenty(KNOWN),
        run_of(FIRST),
        run_of({}),
        baseline=Baseline("git:main b", new="suite"),
    )
    assert outcomes(new) == {"mrr@10": "passed"}
    assert outcomes(judged(tmp_path, twenty(KNOWN), run_of(FIRST), None, updating=True)) == {
        "mrr@10": "passed"
    }


def test_the_table_tells_figures_apart_from_the_limits_they_break(tmp_path: Path) -> None:
    limits = "thresholds: {mrr: {min: 0.9334, max_drop: 0.0666}}\n"
    table = "\n".join(
        summary([judged(tmp_path, twenty(limits), run_of(sunk(2)), run_of(FIRST))], 200)
    )
    assert re.search(r"✗ mrr@10  1\.0000 → 0\.9333  ≥ 0\.9334, drop ≤ 0\.0666", table)


def test_the_row_of_each_tag_shows_the_tag_nearest_to_its_limit(tmp_path: Path) -> None:
    text = "".join(
        f"  - {{query: q{n}, tags: [{'ab'[n % 2]}], relevant: [d{n}]}}\n" for n in range(20)
    )
    text = f"queries:\n{text}each_tag: {{mrr: {{min: 0.1, max_drop: 0.3}}}}\n"
    now = {
        id: ids if n % 2 else ["x", "y", ids[0]]
        for n, (id, ids) in enumerate(FIRST.items())
        if n < 10
    } | {id: ids for n, (id, ids) in enumerate(FIRST.items()) if n >= 10}
    table = "\n".join(summary([judged(tmp_path, text, run_of(now), run_of(FIRST))], 200))
    assert "✗ each_tag: mrr@10, a  1.000 → 0.667  drop ≤ 0.3, ≥ 0.1" in table


def test_what_the_suite_cannot_tell_is_said(tmp_path: Path) -> None:
    text = twenty("thresholds: {mrr: {max_drop: 0.01}}\n")
    few = notes(judged(tmp_path, text, run_of(sunk(3)), run_of(FIRST)))
    assert (
        "only 3 of 20 queries changed in mrr@10: no test could tell this from"
        " chance; the failures above do not rest on it" in few
    )
    many = notes(judged(tmp_path, text, run_of(sunk(9)), run_of(FIRST)))
    assert "chance" not in many  # which the headline says
    same = notes(judged(tmp_path, text, run_of(FIRST), run_of(FIRST)))
    assert "none of 20 rankings changed" in same
    assert "chance" not in same


def test_unjudged_documents_that_turn_the_verdict_are_named(tmp_path: Path) -> None:
    now = {id: ["new", *ids] for id, ids in FIRST.items()}
    text = twenty("thresholds: {mrr: {max_drop: 0.1}}\n")
    said = notes(judged(tmp_path, text, run_of(now, titles={"new": "Fresh"}), run_of(FIRST)))
    assert "without unjudged documents 'mrr@10' would hold" in said
    assert "judge these first: Fresh (new) (20 queries, best rank 1)" in said


def test_new_unjudged_documents_are_named_wherever_queries_got_worse(tmp_path: Path) -> None:
    now = {id: [*ids, "below"] for id, ids in FIRST.items()}
    now |= {"q0": ["new", *FIRST["q0"]], "q1": ["new", *FIRST["q1"]]}
    before = {**FIRST, "q2": ["x", *FIRST["q2"]]}
    said = notes(judged(tmp_path, twenty(""), run_of(now), run_of(before)))
    words = (
        "not judged, and new in the top 10 of queries that got worse: new (2 queries, best rank 1)"
    )
    assert words in said
    assert "would hold" not in said
    assert "not judged" not in notes(judged(tmp_path, twenty(""), run_of(before), run_of(before)))


def test_relevant_documents_that_left_every_ranking_are_named(tmp_path: Path) -> None:
    now = {**FIRST, "q4": ["x", "y"]}
    said = notes(
        judged(
            tmp_path, twenty(""), run_of(now, titles={}), run_of(FIRST, titles={"d4": "Oak desk"})
        )
    )
    assert "1 relevant document of the baseline is in no ranking now: Oak desk (d4)" in said


def test_weighted_means_and_counts_change_as_they_should(tmp_path: Path) -> None:
    others = "".join(f", {{query: {name}, relevant: [d]}}" for name in "bcde")
    text = f"queries: [{{query: a, relevant: [d], weight: 4}}{others}]\n"
    text += "thresholds: {weighted mrr: {max_drop: 0.2}, zero_results: {max_rise: 0}}\n"
    both = run_of({name: ["x", "d"] for name in "abcde"})
    now = run_of({"a": ["x", "y", "d"], "b": ["d"]} | {name: ["x", "y", "d"] for name in "cde"})
    result = judged(tmp_path, text, now, both)
    assert outcomes(result) == {"weighted mrr@10": "passed", "zero_results": "passed"}
    assert result.verdicts[-2].findings[0].value == pytest.approx((7 / 6 - 1 / 2) / 8)
    change = result.means[0].change
    assert change
    assert change.low is not None
    assert change.high is not None
    assert change.low < change.difference < change.high


def test_the_default_guard_watches_wherever_there_is_a_baseline(tmp_path: Path) -> None:
    file = tmp_path / "s.ir.yaml"
    file.write_text(twenty(""), encoding="utf-8")
    suite, lost = load_suite(file), run_of({**FIRST, "q7": ["x"]})
    assert not judge(suite, lost).failed
    result = judge(suite, lost, before=run_of(FIRST))
    assert result.failed
    guard = result.verdict("each_query-lost_all_relevant")
    assert guard
    assert reason(result, guard).startswith("'q7' lost all its relevant documents")
    file.write_text(twenty("each_query: {lost_all_relevant: ignore}\n"), encoding="utf-8")
    assert not judge(load_suite(file), lost, before=run_of(FIRST)).failed


STRICT = (
    "thresholds: {mrr: {max_drop: 0}, ndcg: {max_drop: 0, max_significant_drop: 0}, zero_results: {max_rise: 0}, rbo@5: 1}\n"
    "each_query: {recall@3: {max_drop: 0}, lost_all_relevant: fail, new_zero_results: fail}\n"
)
documents = st.sampled_from([f"d{n}" for n in range(8)])
scored = st.lists(
    st.tuples(documents, st.integers(0, 3)), max_size=12, unique_by=lambda hit: hit[0]
).map(lambda hits: sorted(hits, key=lambda hit: -hit[1]))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_change_that_changes_nothing_is_an_alarm(data: st.DataObject) -> None:
    """Ties in another order, deeper than the cut too; queries added and removed; judgments added, changed and removed."""
    names = [f"q{n}" for n in range(data.draw(st.integers(1, 5)))]
    full = {name: data.draw(scored) for name in names}
    depth = data.draw(st.integers(5, 8))

    def cut(shuffled: bool) -> Run:
        rankings = {}
        for name, hits in full.items():
            ordered = data.draw(st.permutations(hits)) if shuffled else hits
            ordered = sorted(ordered, key=lambda hit: -hit[1])
            own = 10 * names.index(name)  # no engine's scores are alike for all queries
            ids = tuple(id for id, _ in ordered)
            scores = tuple(float(own + score) for _, score in ordered)
            # Who asks today asks once more for a tie at the cut.
            deeper = Ranking(ids, scores) if shuffled else None
            rankings[name] = Ranking(ids[:depth], scores[:depth], deeper=deeper)
        return Run("", (Answer(rankings),))

    before, now = cut(False), cut(True)
    kept = data.draw(st.sets(st.sampled_from(names)))
    before = before.only(kept)
    grades = {
        name: data.draw(st.dictionaries(documents, st.integers(0, 3), max_size=3)) for name in names
    }
    undefined = (
        "skip" if any(grade for graded in grades.values() for grade in graded.values()) else "zero"
    )
    queries = json.dumps([{"query": name, "relevant": graded} for name, graded in grades.items()])
    text = f"depth: {depth}\ntop_k: 5\nundefined: {undefined}\n{STRICT}queries: {queries}\n"
    with tempfile.TemporaryDirectory() as folder:
        result = judged(
            Path(folder),
            text,
            now,
            before,
            baseline=Baseline("b", len(kept), new="" if kept else "suite"),
        )
    assert set(outcomes(result).values()) == {"passed"}
