"""``match: text``: what stands in a suite are passages, found in whatever chunks come back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_irquality import judge, retrieve
from pytest_irquality.metrics import Judgments, parse_measure
from pytest_irquality.retrieval import Answer, Run
from pytest_irquality.suite import Query, Suite
from pytest_irquality.suite.model import Check, Place
from pytest_irquality.suite.rules import InOrder, MustFind, MustNotFind, Rule
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.wording.notes import notes
from pytest_irquality.wording.reasons import reason
from tests.conftest import Project

MEASURES = (
    "recall@1",
    "recall@2",
    "recall@10",
    "ndcg@10",
    "precision@2",
    "map@10",
    "mrr@10",
)


def suite(relevant: dict[str, float], *rules: Rule, **given: Any) -> Suite:
    query = Query("q", "q", Judgments(relevant), rules)
    measures = tuple(map(parse_measure, MEASURES))
    checks = (Check("q", "q", Place(1), query, "query"),)
    return Suite("s", "s", (query,), match="text", metrics=measures, checks=checks, **given)


def scores(result: SuiteResult) -> dict[str, float | None]:
    return dict(zip(result.measures, result.query("q").values, strict=True))


def judged(suite: Suite, *texts: str) -> SuiteResult:
    hits = [{"id": f"c{n}", "text": text} for n, text in enumerate(texts, 1)]
    return judge(suite, retrieve(suite, lambda query: hits))


def test_a_passage_is_found_whatever_its_case_white_space_and_unicode_form() -> None:
    result = judged(
        suite({"The ﬁrst  CAFE\u0301": 1}), "elsewhere", "… the first\ncafé of the town"
    )
    assert scores(result)["mrr@10"] == 0.5
    assert [(d.rank, d.id, d.title) for d in result.query("q").ranking] == [
        (1, "c1", "elsewhere"),
        (2, "The ﬁrst  CAFE\u0301", "in c2"),
    ]


def test_recall_counts_passages_and_other_measures_results() -> None:
    result = judged(
        suite({"alpha": 1, "beta": 3, "gamma": 1}),
        "alpha and beta",
        "nothing",
        "gamma, and alpha again",
    )
    found = scores(result)
    assert found["recall@1"] == pytest.approx(2 / 3)
    assert found["recall@2"] == pytest.approx(2 / 3)
    assert found["recall@10"] == 1.0
    assert found["precision@2"] == 0.5
    assert found["map@10"] == pytest.approx((1 + 2 / 3) / 2)
    # One gain a result, the highest newly credited: 3, 0, 1; alpha shares its result, and so leaves the ideal.
    assert found["ndcg@10"] == pytest.approx((3 + 1 / 2) / (3 + 0.6309297535714575))
    shown = [(document.rank, document.id) for document in result.query("q").ranking]
    assert shown == [(1, "beta"), (1, "alpha"), (2, "c2"), (3, "gamma")]
    assert not result.query("q").missing


def test_rules_count_passages() -> None:
    rules = (
        MustFind({"alpha": 1, "beta": 1}),
        MustNotFind({"secret": 10}),
        InOrder({"beta": 10, "gamma": 10}),
    )
    result = judged(suite({"alpha": 1}, *rules), "alpha beta", "gamma with a secret")
    verdict = result.verdict("q")
    assert verdict is not None
    assert [(finding.ok, finding.kind) for finding in verdict.findings] == [
        (True, "must_find"),
        (True, "must_find"),
        (False, "must_not_find"),
        (True, "in_order"),
    ]
    assert "in c2 (secret) must not be in the top 10: it is at rank 2" in reason(result, verdict)


def test_a_passage_is_credited_once_and_copies_of_a_chunk_are_collapsed() -> None:
    chunks = [
        {"id": id, "text": text}
        for id, text in (("x", "alpha"), ("x", "alpha"), ("y", "alpha too"))
    ]
    wanted = suite({"alpha": 1})
    result = judge(wanted, retrieve(wanted, lambda query: chunks))
    assert [document.id for document in result.query("q").ranking] == ["alpha", "y"]
    assert scores(result)["precision@2"] == 0.5
    assert any("returned a result more than once" in note for note in notes(result))


def test_an_id_is_never_a_passage() -> None:
    rules = (MustFind({"refunds": 1}), MustNotFind({"secret": 10}))
    wanted = suite({"refunds": 1}, *rules)
    hits = [
        {"id": "refunds", "text": "cookies and tracking", "title": "Cookies"},
        {"id": "x", "text": "Refunds are paid within 14 days"},
        {"id": "secret", "text": "nothing to see"},
    ]
    run = retrieve(wanted, lambda query: hits)
    result = judge(wanted, run)
    verdict = result.verdict("q")
    assert verdict is not None
    assert [finding.ok for finding in verdict.findings] == [False, True]
    assert "in x (refunds) must be in the top 1: it is at rank 2" in reason(result, verdict)
    assert [(d.rank, d.id, d.title, d.grade) for d in result.query("q").ranking] == [
        (1, "refunds (id)", "Cookies", 0),
        (2, "refunds", "in x", 1),
        (3, "secret (id)", "nothing to see", 0),
    ]
    assert (scores(result)["mrr@10"], len(result.query("q").ranking)) == (0.5, 3)
    assert not any("more than once" in note for note in notes(result))
    assert run.first.rankings["q"].ids == ("refunds", "x", "secret")
    lost = judge(wanted, retrieve(wanted, lambda query: hits[:1]), before=run)
    assert scores(lost)["recall@10"] == 0
    assert [(d.id, d.before) for d in lost.query("q").missing] == [("refunds", 2)]
    assert any("in no ranking now: " in note and "(refunds)" in note for note in notes(lost))
    assert "none of 1 rankings changed" in notes(judge(wanted, run, before=run))


def test_an_id_that_another_query_looks_for_is_no_passage_either() -> None:
    queries = tuple(Query(id, id, Judgments({id: 1})) for id in ("alpha", "beta"))
    wanted = Suite("s", "s", queries, match="text", metrics=(parse_measure("mrr@10"),))
    run = retrieve(wanted, lambda query: [{"id": "alpha", "text": "of beta"}])
    result = judge(
        wanted, run, before=retrieve(wanted, lambda query: [{"id": "b", "text": "alpha, beta"}])
    )
    assert [query.values for query in result.queries] == [(0.0,), (1.0,)]
    assert [(d.rank, d.id, d.title) for query in result.queries for d in query.ranking] == [
        (1, "alpha (id)", "of beta"),
        (1, "beta", "in alpha (id)"),
    ]
    assert any("in no ranking now: of beta (alpha)" in note for note in notes(result))


def test_ids_stay_apart_whatever_ids_and_passages_look_like() -> None:
    wanted = suite({"a": 1, "a (id)": 1})
    hits = [
        {"id": id, "text": f"text {n}"}
        for n, id in enumerate(("a", "a (id)", "a (id)*", "a (id) (id)"))
    ]
    result = judge(wanted, retrieve(wanted, lambda query: hits))
    assert len({d.id for d in result.query("q").ranking} | {"a", "a (id)"}) == 6
    assert (scores(result)["recall@10"], len(result.query("q").ranking)) == (0, 4)


def test_chunks_that_share_an_id_are_told_apart() -> None:
    chunks = {"q": [("file", "one two"), ("file", "alpha two")], "r": [("file", "beta two")]}
    queries = (Query("q", "q", Judgments({"alpha": 1})), Query("r", "r", Judgments({"beta": 1})))
    wanted = Suite("s", "s", queries, match="text", metrics=(parse_measure("mrr@10"),))
    run = retrieve(wanted, lambda query: [{"id": id, "text": text} for id, text in chunks[query]])
    assert len(run.first.texts) == 3
    result = judge(wanted, run)
    assert [query.values for query in result.queries] == [(0.5,), (1.0,)]


def test_plain_texts_are_passages_too() -> None:
    wanted = suite({"alpha": 1})
    result = judge(wanted, retrieve(wanted, lambda query: ["some beta", "some alpha"]))
    assert scores(result)["mrr@10"] == 0.5


def test_judged_shares_do_not_apply() -> None:
    result = judged(suite({"alpha": 1}), "beta", "alpha")
    assert (result.judged, result.returned) == (0, 0)
    assert not any("unjudged" in note for note in notes(result))


def test_a_baseline_is_matched_by_its_own_texts() -> None:
    wanted = suite({"alpha": 1, "beta": 1})
    before = retrieve(wanted, lambda query: [{"id": "old-1", "text": "alpha and beta"}])
    same = judge(
        wanted,
        retrieve(wanted, lambda query: [{"id": "new-7", "text": "alpha and beta!"}]),
        before=before,
    )
    assert all(mean.change is None or not mean.change.difference for mean in same.means)
    assert not same.failed
    lost = judge(
        wanted, retrieve(wanted, lambda query: [{"id": "new-7", "text": "gamma"}]), before=before
    )
    assert lost.failed
    assert (
        next(
            mean.change.before for mean in lost.means if mean.change and mean.measure == "recall@1"
        )
        == 1.0
    )


def test_new_ids_for_the_same_chunks_are_no_drift() -> None:
    wanted = suite({"alpha": 1})
    texts = ("beta", "alpha", "gamma")

    def run(*ids: str) -> Run:
        return retrieve(
            wanted,
            lambda query: [{"id": id, "text": text} for id, text in zip(ids, texts, strict=True)],
        )

    same = judge(wanted, run("n1", "n2", "n3"), before=run("o1", "o2", "o3"))
    assert "none of 1 rankings changed" in notes(same)
    swapped = judge(wanted, run("n1", "n2", "n3"), before=run("n3", "n2", "n1"))
    assert "none of 1 rankings changed" in notes(swapped)
    twice = [{"id": id, "text": "beta"} for id in ("n1", "n2")]
    doubled = retrieve(wanted, lambda query: twice)
    old = retrieve(wanted, lambda query: [{**hit, "id": f"o-{hit['id']}"} for hit in twice])
    assert "none of 1 rankings changed" in notes(judge(wanted, doubled, before=old))
    answer = run("n1", "n2", "x").first
    answer = replace(answer, texts={"n1": "eta", "n2": "alpha", "x": "gamma"})
    then = Run("", (answer,))
    other = judge(wanted, run("n1", "n2", "n3"), before=then)
    assert [(d.id, d.grade) for d in other.query("q").ranking_before] == [
        ("n1 (then)", 0),
        ("alpha", 1),
        ("n3", 0),
    ]


def test_a_run_without_texts_is_said_once_a_query() -> None:
    wanted = suite({"alpha": 1})
    result = judge(wanted, retrieve(wanted, lambda query: ["c1", "c2"]))
    assert "'match: text' needs the text of each hit, and these are ids alone" in (
        result.query("q").fault or ""
    )
    by_id = retrieve(Suite("s", "s", wanted.queries), lambda query: ["c1"])
    assert by_id.first.texts == {}
    result = judge(wanted, Run("", (Answer(by_id.first.rankings),)))
    assert (
        result.query("q").fault
        == "'match: text' needs the text of each result, and of c1 there is none"
    )


def test_it_end_to_end(project: Project) -> None:
    project.suite(
        """
match: text
metrics: [recall@2, ndcg@2]
thresholds: {recall@2: 1.0}
queries:
  - query: refunds
    relevant: ["paid within 14 days", Keep the receipt]
    must_find: {"paid within 14 days": 1}
  - query: delivery
    relevant: [by courier]
    must_find: [by courier]
"""
    )
    project.answers(
        {
            "refunds": [
                {"id": "k-1", "content": "Refunds are paid within\n14 days. Keep the receipt!"}
            ],
            "delivery": [{"id": "k-2", "content": "We deliver on foot."}],
        }
    )
    result = project.run()
    assert project.outcomes() == {"refunds": "passed", "delivery": "failed", "recall-2": "failed"}
    result.stdout.fnmatch_lines(["*by courier must be in the top 10: it was not returned*"])


def test_judged_is_refused_where_it_does_not_apply(project: Project) -> None:
    project.suite(
        "match: text\nthresholds: {judged@10: {warn_below: 0.5}}\nqueries: [{query: a, relevant: [b]}]\n"
    )
    result = project.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        ["*shop.ir.yaml:2:14: judged@10 does not apply under 'match: text': *"]
    )


def test_two_chunks_made_one_never_cost() -> None:
    wanted = suite({"alpha": 1, "beta": 1})
    for texts in (("alpha", "beta"), ("alpha and beta",), ("alpha and beta", "gamma")):
        values = scores(judged(wanted, *texts))
        assert (values["ndcg@10"], values["map@10"], values["recall@10"]) == (1, 1, 1), texts
    assert scores(judged(wanted, "alpha", "gamma"))["ndcg@10"] == pytest.approx(0.613, abs=5e-4)


def test_what_is_wrong_with_match(project: Project) -> None:
    for text, said in {
        "match: {text: 0.85}": "*:1:8: 'match' must be text, not a mapping*",
        "match: words": "*:1:8: 'match' must be id or text*",
    }.items():
        project.suite(f"{text}\nqueries: [{{query: a, relevant: [b]}}]\n")
        project.run().stdout.fnmatch_lines([said])


def test_an_ellipsis_is_a_gap(project: Project) -> None:
    project.suite(
        "match: text\nqueries:\n  - query: a\n    relevant:\n"
        "      - the limit is … raised by a team\n      - the limit is … raised\n"
        "      - the limit\xa0goes\n    must_find: [the limit is … raised by a team]\n"
        "    thresholds: {recall@10: {min: 0.3}}\n"
    )
    project.answers({"a": ["Then the limit is, if need be, raised by a team."]})
    result = project.run()
    result.assert_outcomes(passed=1)


def test_a_no_break_space_is_shown_as_a_space(project: Project) -> None:
    project.suite("queries: [{query: 'paid in\xa014\xa0days', must_find: ['d\xa01']}]\n")
    project.answers({"paid in\xa014\xa0days": ["d2"]})
    result = project.run()
    assert "paid in 14 days" in result.stdout.str()
    assert "xa0" not in result.stdout.str()
