"""Decisions on builds: both branches, outcomes, exit statuses, and what a report must name."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation.decide import decide
from pytest_irquality.evaluation.evaluate import Branch, BranchEvaluator, BuildFacts, SuiteKey
from pytest_irquality.evaluation.results import DefaultCheck, EvaluationContext, Outcome
from pytest_irquality.io.text import write
from pytest_irquality.metrics import Judgments, parse_metric
from pytest_irquality.retrieval.run import Provenance, QueryError, Ranking, Run
from pytest_irquality.suite.model import (
    KnownIssue,
    Query,
    RetrieverId,
    RunKey,
    Settings,
    Suite,
    Threshold,
)
from pytest_irquality.suite.rules import ExpectNoResults, MustFind, Rule
from tests.builders import (
    EMPTY,
    GOOD,
    SWAPPED,
    WORSE,
    make_query,
    make_repeated_run,
    make_run,
    make_suite,
    make_threshold,
    rank,
)
from tests.evaluation.decision_builders import (
    LAST_SWAPPED,
    RETRIEVER,
    answer,
    decide_on,
    get_text,
    list_codes,
    list_failed,
    list_suite_codes,
    make_branch,
    make_runs,
    merge,
)

SHOP = make_suite("shop")
SHOP_RUN = make_run(SHOP)
SHOP_BASE = make_branch([SHOP], SHOP_RUN, name="main")
SHOP_KEY = SuiteKey(SHOP.path)


def edit_queries(count: int, **fields: object) -> Suite:
    """Edit the first queries of the shop."""
    edited = [replace(query, **fields) for query in SHOP.queries[:count]]  # type: ignore[arg-type]
    return make_suite("shop", [*edited, *SHOP.queries[count:]])


# -- Without a base branch -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_sampled", "gains", "outcome"),
    [
        pytest.param(False, False, Outcome.FAILED, id="one lost, none gained"),
        pytest.param(False, True, Outcome.REVIEW, id="one lost, one gained"),
        pytest.param(True, False, Outcome.PASSED, id="from a file"),
    ],
)
def test_one_lost_head_query(is_sampled: bool, gains: bool, outcome: Outcome) -> None:
    """S1: one inline head query loses all its relevant documents, others move by a little."""
    queries = [make_query(f"shop {n}", {"best": 1}, is_sampled=is_sampled) for n in range(20)]
    suite = make_suite("shop", queries)
    at_2, at_4 = rank("x", "best"), rank("x", "y", "z", "best")
    baseline_run = merge(
        answer(queries, rank("best")), answer(queries[1:2], at_2), answer(queries[2:3], at_4)
    )
    run = merge(baseline_run, answer(queries[:1], EMPTY))
    run = merge(run, answer(queries[1:2], at_4), answer(queries[2:3], at_2))
    if gains:
        baseline_run = merge(baseline_run, answer(queries[3:4], EMPTY))

    decision = decide_on([suite], run, baseline_run)

    assert decision.outcome is outcome
    assert "lost-query" in list_suite_codes(decision)
    (result,) = (r for r in decision.current.shared_results if "ndcg" in str(r.text))
    assert str(result.text).startswith("no significant drop in ndcg@10 (p = ")


def test_queries_that_return_nothing_fail() -> None:
    """S2: an analyzer bug: 3 of 20 queries return nothing."""
    decision = decide_on([SHOP], make_run(SHOP, worse=3, ranking=EMPTY), SHOP_RUN)

    assert decision.outcome is Outcome.FAILED
    assert decision.exit_status == 1


def test_one_query_is_new_and_another_removed() -> None:
    """S3: adds one query that has no baseline and removes another."""
    suite = make_suite("shop", [*SHOP.queries[1:], make_query("new")])

    decision = decide_on([suite], make_run(suite, SHOP), SHOP_RUN, base=SHOP_BASE)

    assert decision.outcome is Outcome.PASSED
    assert (decision.coverage.compared, decision.coverage.new) == (19, 1)
    assert decision.coverage.removed == 1
    assert decision.coverage.base_only == 1
    assert "1 query removed" in get_text(decision, "suites-edited")


def test_regraded_document_passes() -> None:
    """S4: a document is re-graded, rankings are identical."""
    suite = edit_queries(1, judgments=Judgments({"best": 1, "good": 3}))

    decision = decide_on([suite], SHOP_RUN, SHOP_RUN, base=SHOP_BASE)

    assert decision.outcome is Outcome.PASSED
    assert "1 query regraded" in get_text(decision, "suites-edited")


ISSUE = KnownIssue("SEARCH-212", date(2027, 3, 1))
MUST_FIND = MustFind({"missing": None})


@pytest.mark.parametrize(
    ("today", "has_base", "is_fixed", "outcome"),
    [
        pytest.param(date(2027, 3, 1), False, False, Outcome.PASSED, id="the last day"),
        pytest.param(date(2027, 3, 2), False, False, Outcome.FAILED, id="expired, plain"),
        pytest.param(date(2027, 3, 2), True, False, Outcome.PASSED, id="expired, git:"),
        pytest.param(date(2027, 3, 1), False, True, Outcome.FAILED, id="holds again"),
    ],
)
def test_known_issue(today: date, has_base: bool, is_fixed: bool, outcome: Outcome) -> None:
    """S6: the baseline itself already breaks a rule; the change does not touch it."""
    suite = edit_queries(1, rules=(MUST_FIND,), known_issue=ISSUE)
    run = SHOP_RUN
    if is_fixed:
        fixed = rank("best", "good", "fair", "missing")
        run = merge(run, answer(SHOP.queries[:1], fixed))
    base = make_branch([suite], SHOP_RUN, name="main") if has_base else None

    decision = decide_on([suite], run, SHOP_RUN, base=base, today=today)

    assert decision.outcome is outcome


def test_closed_known_issue_that_holds_again_passes() -> None:
    """S35: a fixed known issue is closed. That it holds again is no failure of the base side."""
    fixed = merge(SHOP_RUN, answer(SHOP.queries[:1], rank("best", "good", "fair", "missing")))
    base_suite = edit_queries(1, rules=(MUST_FIND,), known_issue=ISSUE)
    suite = edit_queries(1, rules=(MUST_FIND,))
    base = make_branch([base_suite], SHOP_RUN, name="main")

    decision = decide_on([suite], fixed, fixed, base=base, strict=True)

    assert decision.outcome is Outcome.PASSED
    assert get_text(decision, "suites-edited").count("1 known issue removed") == 1


def test_retriever_error_fails() -> None:
    """S7: the retriever raises on 2 of 200 queries."""
    suite = make_suite(queries=200)
    answers = {query.request: (GOOD,) for query in suite.queries[2:]}
    errors = {query.request: QueryError("boom", "boom") for query in suite.queries[:2]}

    decision = decide_on([suite], Run(answers, errors), make_run(suite))

    assert decision.outcome is Outcome.FAILED
    assert decision.coverage.no_answer == 2
    assert decision.coverage.compared == 198


@pytest.mark.parametrize("kind", ["empty", "same list", "shuffled"])
def test_broken_retrievers_fail(kind: str) -> None:
    """S14: an empty retriever, one that returns the same list for every query, one that shuffles."""
    queries = [make_query(f"shop {n}", {f"{n}-1": 3, f"{n}-2": 2}) for n in range(20)]
    suite = make_suite("shop", queries)
    before = {query.id: (rank(f"{n}-1", f"{n}-2", "x", "y"),) for n, query in enumerate(queries)}
    now = {
        "empty": dict.fromkeys(before, (EMPTY,)),
        "same list": dict.fromkeys(before, (rank("0-1", "0-2", "x", "y"),)),
        "shuffled": {key: (rank(*reversed(r[0].doc_ids)),) for key, r in before.items()},
    }

    decision = decide_on([suite], Run(now[kind]), Run(before))

    assert decision.outcome is Outcome.FAILED


@pytest.mark.parametrize("change_count", [30])
def test_slow_drop_is_noticed(change_count: int) -> None:
    """S30: thirty changes, each -0.002. With a history, a notice of the slow loss."""
    history = [2.0] + [1.0 - 0.002 * number for number in range(change_count)]
    low = merge(SHOP_RUN, answer(SHOP.queries[:2], WORSE))  # a mean of 0.951
    facts = BuildFacts(history={SHOP_KEY: history})

    decision = decide_on([SHOP], low, low, facts=facts)

    assert decision.outcome is Outcome.PASSED
    assert get_text(decision, "slow-drop") == (
        "shop ndcg@10 is dropping slowly (−0.049 over 30 builds)"
    )


@pytest.mark.parametrize("history", [[1.0] * 30, [0.95] * 30, [1.0, 0.95]])
def test_drop_of_this_build_is_no_slow_drop(history: list[float]) -> None:
    low = merge(SHOP_RUN, answer(SHOP.queries[:2], WORSE))

    decision = decide_on([SHOP], low, low, facts=BuildFacts(history={SHOP_KEY: history}))

    assert "slow-drop" not in list_codes(decision)


@pytest.mark.parametrize(
    ("loss", "builds", "is_noticed"),
    [(0.021, 5, True), (0.019, 5, False), (0.021, 4, False), (0.021, 31, False)],
)
def test_slow_drop_exceeds_a_limit_within_the_last_builds(
    loss: float, builds: int, is_noticed: bool
) -> None:
    history = [1.0 + loss] + [1.0] * (builds - 1)

    decision = decide_on([SHOP], SHOP_RUN, SHOP_RUN, facts=BuildFacts(history={SHOP_KEY: history}))

    assert ("slow-drop" in list_codes(decision)) is is_noticed


def test_queries_that_newly_return_nothing_fail_without_judgments() -> None:
    """S32: AND instead of OR: eight queries newly return nothing, three always did."""
    queries = [make_query(f"query {n}", {}) for n in range(20)]
    suite = make_suite("shop", queries)
    baseline_run = merge(answer(queries, GOOD), answer(queries[17:], EMPTY))
    run = merge(baseline_run, answer(queries[:8], EMPTY))

    decision = decide_on([suite], run, baseline_run)

    (result,) = list_failed(decision)
    assert result.check is DefaultCheck.UNRECOGNIZABLE


def test_reversed_order_fails() -> None:
    """S39: eight queries, a baseline, no thresholds; the order of the engine is reversed."""
    suite = make_suite(queries=8)

    decision = decide_on(
        [suite], make_run(suite, worse=8, ranking=rank("fair", "good", "best")), make_run(suite)
    )

    (result,) = list_failed(decision)
    assert result.check is DefaultCheck.SIGNIFICANT_DROP
    assert len(result.query_ids) == 8


@pytest.mark.parametrize(
    ("now", "outcome"),
    [
        pytest.param(rank("a", "b"), Outcome.FAILED, id="S40: every result is different"),
        pytest.param(rank("junk", "best", "good", "fair"), Outcome.FAILED, id="S74: junk first"),
        pytest.param(GOOD, Outcome.PASSED, id="S40: nothing changed"),
    ],
)
def test_suite_without_judgments(now: Ranking, outcome: Outcome) -> None:
    """S40 and S74: no judgments at all."""
    queries = [make_query(f"query {n}", {}) for n in range(20)]
    suite = make_suite("shop", queries)

    decision = decide_on([suite], answer(queries, now), answer(queries, GOOD))

    assert decision.outcome is outcome


def test_one_of_several_tags_collapses() -> None:
    """S15 at this level: a broken threshold fails although the overall mean rises."""
    suite = make_suite(thresholds=[make_threshold(min=0.9)])
    baseline_run = make_run(suite, worse=20, ranking=EMPTY)

    decision = decide_on([suite], make_run(suite, worse=20), baseline_run)

    assert decision.outcome is Outcome.FAILED


def test_gains_and_losses() -> None:
    """S71: two slightly worse and three better."""
    baseline_run = merge(SHOP_RUN, answer(SHOP.queries[2:5], WORSE))

    decision = decide_on([SHOP], make_run(SHOP, worse=2, ranking=SWAPPED), baseline_run)

    assert decision.outcome is Outcome.PASSED
    assert get_text(decision, "stale-baseline") == "shop baseline out of date: 5 rankings differ"


def test_rise_from_zero_fails() -> None:
    """S72: `zero_results: {max_rise: 10%}` and none in the baseline, four now."""
    from pytest_irquality.suite.model import Bound, BoundUnit

    bound = Bound(0.1, BoundUnit.BASELINE_FRACTION, "10%")
    threshold = Threshold(parse_metric("zero_results"), max_rise=bound)
    queries = [make_query(f"ungraded {n}", {}) for n in range(4)]
    suite = make_suite("shop", [*SHOP.queries, *queries], thresholds=[threshold])
    baseline_run = merge(SHOP_RUN, answer(queries, GOOD))

    decision = decide_on([suite], merge(baseline_run, answer(queries, EMPTY)), baseline_run)

    (result,) = list_failed(decision)
    assert result.check == threshold


# -- Stale baselines -------------------------------------------------------------------------------


def test_improvement_without_an_update_leaves_a_stale_baseline() -> None:
    """S68: improves seven queries and does not update the baseline."""
    baseline_run = make_run(SHOP, worse=7)

    normal = decide_on([SHOP], SHOP_RUN, baseline_run)
    strict = decide_on([SHOP], SHOP_RUN, baseline_run, strict=True)

    assert normal.outcome is Outcome.PASSED
    assert get_text(normal, "stale-baseline") == "shop baseline out of date: 7 rankings differ"
    assert "update the baseline" in str(normal.notices[-1].next_step)
    assert strict.outcome is Outcome.INCOMPLETE
    assert (normal.exit_status, strict.exit_status) == (0, 1)


def test_update_that_runs_now_is_not_asked_for() -> None:
    facts = BuildFacts(is_update=True)

    decision = decide_on([SHOP], SHOP_RUN, make_run(SHOP, worse=7), facts=facts)

    assert list_codes(decision) == []


def test_undone_improvement_fails_under_run() -> None:
    """S68: later another change undoes it: FAILED under run:, and git: cannot see it."""
    poor_run = make_run(SHOP, worse=5, ranking=SWAPPED)
    poor_file = (Baseline(poor_run),)
    base = make_branch([SHOP], SHOP_RUN, committed=poor_file)

    under_run = decide_on([SHOP], poor_run, poor_run, base=base)
    under_git = decide_on([SHOP], poor_run, poor_run, base=make_branch([SHOP], poor_run))

    assert under_run.outcome is Outcome.FAILED
    assert under_git.outcome is Outcome.PASSED


def test_stale_baseline_is_named_under_run() -> None:
    """Both sides of `run:` answer alike, and the committed file is older than both."""
    base = make_branch([SHOP], SHOP_RUN, committed=(Baseline(make_run(SHOP, worse=2)),))

    decision = decide_on([SHOP], SHOP_RUN, make_run(SHOP, worse=2), base=base)

    assert "2 rankings differ" in get_text(decision, "stale-baseline")


def test_nondeterministic_search_within_its_range_is_not_stale() -> None:
    baseline_run = make_repeated_run(SHOP, *[(GOOD, WORSE, GOOD)] * 20)
    run = make_repeated_run(SHOP, *[(SWAPPED, GOOD, GOOD)] * 20)

    decision = decide_on([SHOP], run, baseline_run)

    assert decision.outcome is Outcome.PASSED
    assert list_codes(decision) == []


def test_base_requests_without_a_baseline_are_named() -> None:
    """Nobody ever recorded them, so nothing protects them."""
    baseline_run = answer(SHOP.queries[2:], GOOD)
    base = make_branch([SHOP], baseline_run, name="main")

    normal = decide_on([SHOP], SHOP_RUN, baseline_run, base=base)
    strict = decide_on([SHOP], SHOP_RUN, baseline_run, base=base, strict=True)

    assert (normal.outcome, strict.outcome) == (Outcome.PASSED, Outcome.INCOMPLETE)
    assert get_text(normal, "missing-baseline") == (
        'shop 2 queries have no baseline, neither on main nor in this change: "shop 0", "shop 1"'
    )


def test_update_accepts_a_drop_and_shows_it() -> None:
    """An update decides before it writes, and its report shows what the new baseline accepts."""
    threshold = make_threshold(min=0.3, max_drop=0.01)
    suite = make_suite(thresholds=[threshold])
    run = make_run(suite, worse=8, ranking=EMPTY)
    facts = BuildFacts(is_update=True)

    decision = decide_on([suite], run, SHOP_RUN, facts=facts, strict=True)

    accepted = [result.check for result in decision.current.results if result.is_warning]
    assert accepted == [threshold, DefaultCheck.LOST_QUERIES]
    assert (decision.outcome, decision.exit_status) == (Outcome.PASSED, 0)


def test_update_accepts_no_broken_minimum() -> None:
    suite = make_suite(thresholds=[make_threshold(min=0.9, max_drop=0.01)])
    run = make_run(suite, worse=8)

    decision = decide_on([suite], run, SHOP_RUN, facts=BuildFacts(is_update=True))

    assert (decision.outcome, decision.exit_status) == (Outcome.FAILED, 1)


@pytest.mark.parametrize("thresholds", [[], [make_threshold(max_drop=0.1)]])
def test_baseline_that_an_update_records_is_not_missing(thresholds: list[Threshold]) -> None:
    suite = make_suite("shop", thresholds=thresholds)

    update = decide_on([suite], SHOP_RUN, None, facts=BuildFacts(is_update=True), strict=True)
    plain = decide_on([suite], SHOP_RUN, None)

    assert (update.outcome, update.exit_status) == (Outcome.PASSED, 0)
    assert plain.outcome is Outcome.INCOMPLETE


@pytest.mark.parametrize("fields", [{"is_probe_suite": True}, {"baseline_retriever": "old"}])
def test_suite_that_needs_no_baseline_misses_none(fields: dict[str, object]) -> None:
    suite = replace(SHOP, **fields)  # type: ignore[arg-type]
    runs = {**make_runs(SHOP_RUN), **make_runs(SHOP_RUN, RetrieverId("old"))}

    decision = decide(Branch(suites=(suite,)), runs, make_branch([suite], name="main"))

    assert "missing-baseline" not in list_codes(decision)


# -- Both branches: what is compared with what -----------------------------------------------------


def test_drop_against_the_base_branch_fails() -> None:
    decision = decide_on([SHOP], make_run(SHOP, worse=8), SHOP_RUN, base=SHOP_BASE)

    assert decision.outcome is Outcome.FAILED
    assert decision.base_failures == ()
    assert list_codes(decision) == []


@pytest.mark.parametrize(
    "suites",
    [
        pytest.param([], id="removed, excluded or not matched"),
        pytest.param([make_suite("help")], id="another suite is left"),
    ],
)
def test_base_suite_is_evaluated_if_the_change_does_not_collect_it(suites: list[Suite]) -> None:
    """S37, S51, S52: the change breaks a suite and keeps it from being collected."""
    run = make_run(SHOP, *suites, worse=5)

    decision = decide_on(suites, run, make_run(*suites, worse=5), base=SHOP_BASE, strict=True)

    assert decision.outcome is Outcome.REVIEW
    assert decision.exit_status == 1
    assert list_codes(decision)[:2] == ["base-fails", "nothing-left"]
    assert get_text(decision, "base-fails").startswith("shop fails for main. ndcg@10 dropped")


def test_deleted_suite_with_sound_search_is_for_review() -> None:
    """S37: a suite of which no request and no id is left is REVIEW with sound search, too."""
    decision = decide_on([], SHOP_RUN, SHOP_RUN, base=SHOP_BASE)

    assert (decision.outcome, decision.exit_status) == (Outcome.REVIEW, 0)
    assert list_codes(decision) == ["nothing-left", "suites-edited"]
    assert decision.coverage.removed == 20


@pytest.mark.parametrize(
    ("suites", "outcome"),
    [
        pytest.param([make_suite("help")], Outcome.REVIEW, id="replaced"),
        pytest.param(
            [replace(make_suite("help"), name="shop", path="shop.ir.yaml")],
            Outcome.REVIEW,
            id="all queries replaced",
        ),
        pytest.param([make_suite("boots", SHOP.queries[:1])], Outcome.PASSED, id="one query moved"),
        pytest.param([edit_queries(1, text="reworded")], Outcome.PASSED, id="one query reworded"),
    ],
)
def test_base_suite_of_which_nothing_is_left_is_for_review(
    suites: list[Suite], outcome: Outcome
) -> None:
    run = make_run(SHOP, *suites)

    decision = decide_on(suites, run, run, base=SHOP_BASE)

    assert decision.outcome is outcome
    assert ("nothing-left" in list_codes(decision)) is (outcome is Outcome.REVIEW)


def test_suite_deleted_with_its_retriever_is_for_review() -> None:
    """S53: deletes the only suite together with its retriever."""
    base = replace(
        SHOP_BASE, missing_retrievers={RunKey(RETRIEVER): write("fixture 'retriever' not found")}
    )

    decision = decide(Branch(), {}, base)

    assert decision.outcome is Outcome.REVIEW
    assert get_text(decision, "suite-not-run") == (
        "shop did not run for main, because the retriever 'retriever' is not available"
        " (fixture 'retriever' not found)"
    )


def test_renamed_suite_is_compared() -> None:
    """S19: suite and baseline are renamed, or only the suite; rankings also get worse."""
    boots = replace(SHOP, name="boots", path="boots.ir.yaml")

    decision = decide_on([boots], make_run(SHOP, worse=10), SHOP_RUN, base=SHOP_BASE)

    assert decision.outcome is Outcome.FAILED
    assert decision.coverage.compared == 20
    assert "shop: suite removed, boots: suite added" in get_text(decision, "suites-edited")
    assert decision.base_failures == ()  # It is the same failure under another name.


def test_renumbered_queries_are_compared() -> None:
    """S18: ids of queries and judgments are renumbered, rankings also get worse."""
    queries = [replace(query, id=f"q{n}") for n, query in enumerate(SHOP.queries)]

    decision = decide_on(
        [make_suite("shop", queries)], make_run(SHOP, worse=10), SHOP_RUN, base=SHOP_BASE
    )

    assert decision.outcome is Outcome.FAILED
    assert decision.coverage.compared == 20


PARAMETERS = [RetrieverId(parameter="bm25"), RetrieverId(parameter="dense")]


@pytest.mark.parametrize("has_expanded_base_suites", [False, True])
def test_parametrised_fixture_against_an_unparametrised_base(
    has_expanded_base_suites: bool,
) -> None:
    """S19: the fixture is parametrised; rankings also get worse."""
    suites = tuple(replace(SHOP, retriever=parameter) for parameter in PARAMETERS)
    worse = make_run(SHOP, worse=10)
    runs = {RunKey(PARAMETERS[0]): SHOP_RUN, RunKey(PARAMETERS[1]): worse}
    base = replace(SHOP_BASE, suites=suites) if has_expanded_base_suites else SHOP_BASE

    decision = decide(Branch(suites=suites), runs, base)

    assert decision.outcome is Outcome.REVIEW
    assert decision.base is not None
    assert len(decision.base.evaluations) == 2
    assert [failure.retriever for failure in decision.base_failures] == [PARAMETERS[1]]
    assert decision.coverage.new == 40
    assert decision.coverage.removed == 0


@pytest.mark.parametrize("has_expanded_base_suites", [False, True])
def test_unparametrised_fixture_against_a_parametrised_base(has_expanded_base_suites: bool) -> None:
    """The one run of the current branch is compared with each of the base's."""
    baselines = (
        Baseline(SHOP_RUN, PARAMETERS[0]),
        Baseline(make_run(SHOP, worse=10), PARAMETERS[1]),
    )
    base_suites = [SHOP]
    if has_expanded_base_suites:
        base_suites = [replace(SHOP, retriever=parameter) for parameter in PARAMETERS]
    base = Branch("main", suites=tuple(base_suites), baselines=baselines)

    decision = decide(Branch(suites=(SHOP,)), make_runs(make_run(SHOP, worse=10)), base)

    assert decision.base is not None
    assert len(decision.base.evaluations) == 2
    assert decision.outcome is Outcome.REVIEW
    assert len(decision.base_failures) == 1


def test_parameter_that_is_gone_is_for_review() -> None:
    suites = [replace(SHOP, retriever=parameter) for parameter in PARAMETERS]
    baselines = tuple(Baseline(SHOP_RUN, parameter) for parameter in PARAMETERS)
    base = Branch("main", suites=tuple(suites), baselines=baselines)
    current = Branch(suites=(suites[0],), baselines=baselines)

    decision = decide(current, {RunKey(PARAMETERS[0]): SHOP_RUN}, base)

    assert decision.outcome is Outcome.REVIEW
    assert "retriever[dense]" in get_text(decision, "suite-not-run")


def test_suite_pointed_at_another_retriever_is_for_review() -> None:
    """S63: breaks search and points the suite at a fixture that returns the old answers."""
    old = RetrieverId("old_retriever")
    suite = replace(SHOP, retriever=old)
    runs = {**make_runs(make_run(SHOP, worse=10)), **make_runs(SHOP_RUN, old)}
    current = Branch(suites=(suite,), baselines=(Baseline(SHOP_RUN, old),))

    decision = decide(current, runs, SHOP_BASE)

    assert decision.outcome is Outcome.REVIEW
    assert decision.coverage.new == 20
    text = "retriever old_retriever instead of retriever"
    assert text in get_text(decision, "suites-edited")
    assert len(decision.base_failures) == 1


@pytest.mark.parametrize(
    ("now", "committed", "outcome"),
    [
        pytest.param(10, 10, Outcome.REVIEW, id="as committed"),
        pytest.param(12, 2, Outcome.FAILED, id="worse than committed"),
    ],
)
def test_baseline_updated_in_the_same_change(now: int, committed: int, outcome: Outcome) -> None:
    """S16: updates the baseline file in the same pull request."""
    committed_run = make_run(SHOP, worse=committed)

    decision = decide_on([SHOP], make_run(SHOP, worse=now), committed_run, base=SHOP_BASE)

    assert decision.outcome is outcome
    if outcome is Outcome.REVIEW:
        text = get_text(decision, "base-fails")
        assert "10 of 20 queries worse" in text
        assert text.endswith("This change commits 10 answers as the new baseline")


@pytest.mark.parametrize(
    ("committed_run", "outcome"),
    [
        pytest.param(make_run(SHOP, worse=8), Outcome.REVIEW, id="edited by the change"),
        pytest.param(SHOP_RUN, Outcome.FAILED, id="not edited"),
    ],
)
def test_edited_answers_replace_those_of_the_code_of_the_base(
    committed_run: Run, outcome: Outcome
) -> None:
    """S16 under `run:`: the base's code answers as it should, and so do its committed answers."""
    code_run = make_run(SHOP, worse=20, ranking=rank("best", "good", "fair", "more"))
    base = make_branch([SHOP], code_run, committed=(Baseline(SHOP_RUN),))

    decision = decide_on([SHOP], make_run(SHOP, worse=8), committed_run, base=base)

    assert decision.outcome is outcome


def test_unedited_answers_do_not_replace_those_of_the_code_of_the_base() -> None:
    """The committed baseline is as bad as the current answers, and the code is not."""
    bad_run = make_run(SHOP, worse=8)
    base = make_branch([SHOP], SHOP_RUN, committed=(Baseline(bad_run),))

    decision = decide_on([SHOP], bad_run, bad_run, base=base)

    assert decision.outcome is Outcome.FAILED


def test_run_without_any_stored_file() -> None:
    """S22: `run:origin/main` without any stored file is the same as with a stored baseline."""
    base = make_branch([SHOP], SHOP_RUN, committed=())

    worse = decide_on([SHOP], make_run(SHOP, worse=8), None, base=base)
    same = decide_on([SHOP], SHOP_RUN, None, base=base, strict=True)

    assert (worse.outcome, same.outcome) == (Outcome.FAILED, Outcome.PASSED)


@pytest.mark.parametrize(
    ("code_run", "outcome"),
    [
        pytest.param(Run(), Outcome.REVIEW, id="nothing ran"),
        pytest.param(answer(SHOP.queries[1:], GOOD), Outcome.REVIEW, id="one query did not run"),
        pytest.param(
            Run(answer(SHOP.queries[1:], GOOD).answers, {"shop 0": QueryError("boom")}),
            Outcome.PASSED,
            id="one query raised",
        ),
    ],
)
def test_query_that_the_code_of_the_base_did_not_run_is_not_new(
    code_run: Run, outcome: Outcome
) -> None:
    """`run:` without an answer of the base's code must not pass as a suite of new queries."""
    base = make_branch([SHOP], code_run, committed=(Baseline(SHOP_RUN),), name="main")

    decision = decide_on([SHOP], SHOP_RUN, SHOP_RUN, base=base)

    assert decision.outcome is outcome


def test_deleted_baseline_still_counts() -> None:
    decision = decide_on([SHOP], make_run(SHOP, worse=8), None, base=SHOP_BASE)

    assert decision.outcome is Outcome.FAILED
    assert decision.coverage.compared == 20


@pytest.mark.parametrize(
    ("owner", "outcome"), [("shop", Outcome.PASSED), ("boots", Outcome.FAILED)]
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_answer_in_the_file_of_the_suite_counts(
    owner: str, outcome: Outcome, is_reversed: bool
) -> None:
    """Two files answer the same requests, and the current answers are those of one of them."""
    run = make_run(SHOP, worse=8)
    other = "boots" if owner == "shop" else "shop"
    baselines = [
        Baseline(run, suite_path=f"{owner}.ir.yaml", path="1"),
        Baseline(SHOP_RUN, suite_path=f"{other}.ir.yaml", path="2"),
    ]
    if is_reversed:
        baselines.reverse()

    decision = decide(Branch(suites=(SHOP,), baselines=tuple(baselines)), make_runs(run))

    assert decision.outcome is outcome


def test_all_files_of_a_branch_are_one_baseline() -> None:
    """S35: suites are split and merged, so answers can be in the files of other suites."""
    halves = (
        Baseline(answer(SHOP.queries[:10], GOOD), suite_path="shop.ir.yaml", path="1"),
        Baseline(answer(SHOP.queries[10:], GOOD), suite_path="gone.ir.yaml", path="2"),
    )
    current = Branch(suites=(SHOP,), baselines=halves)

    decision = decide(current, make_runs(SHOP_RUN))

    assert decision.coverage.compared == 20


def test_baseline_of_another_retriever_does_not_count() -> None:
    current = Branch(suites=(SHOP,), baselines=(Baseline(SHOP_RUN, RetrieverId("other")),))

    decision = decide(current, make_runs(SHOP_RUN))

    assert decision.coverage.compared == 0
    assert decision.outcome is Outcome.INCOMPLETE


@pytest.mark.parametrize(
    ("folders", "outcome"),
    [
        pytest.param({"": 0, "tests": 5}, Outcome.PASSED, id="the folder of the suite"),
        pytest.param({"": 0}, Outcome.FAILED, id="another folder"),
        pytest.param({}, Outcome.INCOMPLETE, id="no such retriever"),
    ],
)
def test_retriever_to_compare_with_is_the_nearest(
    folders: dict[str, int], outcome: Outcome
) -> None:
    """`baseline: old`: two conftests define the fixture, and one is in the suite's folder."""
    retriever = RetrieverId("new", "tests")
    suite = make_suite(
        retriever=retriever, baseline_retriever="old", thresholds=[make_threshold(max_drop=0.01)]
    )
    runs = {RunKey(retriever): make_run(suite, worse=5)}
    for folder, worse in folders.items():
        runs[RunKey(RetrieverId("old", folder))] = make_run(suite, worse=worse)

    decision = decide(Branch(suites=(suite,)), runs)

    assert decision.outcome is outcome


# -- New queries -----------------------------------------------------------------------------------


def test_first_baseline_is_new() -> None:
    """S67: the first baseline of a suite that main already has, with a minimum; `strict`."""
    suite = make_suite(thresholds=[make_threshold(min=0.9)])
    base = make_branch([suite], name="main")

    decision = decide_on([suite], SHOP_RUN, SHOP_RUN, base=base, strict=True)

    assert decision.outcome is Outcome.PASSED
    assert decision.coverage.new == 20
    assert list_codes(decision) == []


def test_baseline_that_the_change_adds_makes_queries_new() -> None:
    """A comparison with the added answers would prove nothing."""
    run = make_run(SHOP, worse=20)

    decision = decide_on([SHOP], run, run, base=make_branch([SHOP]))

    assert decision.coverage.new == 20
    assert decision.coverage.compared == 0
    assert decision.outcome is Outcome.PASSED


def test_easy_new_suite_does_not_dilute_the_drop() -> None:
    """S58: nine of 20 queries lose one rank; adds 200 easy queries."""
    easy = make_suite("easy", 200)
    run = merge(make_run(easy), make_run(SHOP, worse=9, ranking=SWAPPED))

    decision = decide_on([SHOP, easy], run, make_run(SHOP, easy), base=SHOP_BASE)

    assert decision.outcome is Outcome.FAILED
    assert decision.coverage.new == 200


def test_new_queries_in_an_old_suite_dilute_nothing() -> None:
    """S58, in the same file."""
    new_queries = [make_query(f"new {n}") for n in range(900)]
    suite = make_suite("shop", [*SHOP.queries, *new_queries])
    run = merge(answer(new_queries, GOOD), make_run(SHOP, worse=9, ranking=SWAPPED))

    decision = decide_on([suite], run, make_run(suite), base=SHOP_BASE)

    assert decision.outcome is Outcome.FAILED


def test_copies_graded_to_the_new_results_hide_nothing() -> None:
    """S58: a new suite has the same queries, graded so that they improve."""
    regraded = [make_query(q.text, {"junk-1": 3, "junk-2": 2}) for q in SHOP.queries[:5]]
    copies = make_suite("copies", regraded)

    decision = decide_on([SHOP, copies], make_run(SHOP, worse=5), SHOP_RUN, base=SHOP_BASE)

    assert decision.outcome is Outcome.FAILED


def test_new_suite_with_its_baseline_passes_under_strict() -> None:
    """S35: a suite is added."""
    new_suite = make_suite("new")
    run = make_run(SHOP, new_suite)

    decision = decide_on([SHOP, new_suite], run, run, base=SHOP_BASE, strict=True)

    assert decision.outcome is Outcome.PASSED
    assert decision.coverage.new == 20


# -- Edits of suites -------------------------------------------------------------------------------

RULE = MustFind({"best": 1})
STRICT_SHOP = make_suite(
    queries=[replace(query, rules=(RULE,)) for query in SHOP.queries],
    thresholds=[make_threshold(min=0.9), make_threshold("recall@10", max_drop=0.05)],
)
STRICT_BASE = make_branch([STRICT_SHOP], SHOP_RUN, name="main")


def test_loosened_suite_is_for_review() -> None:
    """S33: six queries get worse; lowers the minimum, widens the drop, removes the rules."""
    loosened = make_suite(
        thresholds=[
            make_threshold(min=0.5, max_drop=0.9),
            make_threshold("recall@10", max_drop=0.9),
        ]
    )

    decision = decide_on([loosened], make_run(SHOP, worse=6), SHOP_RUN, base=STRICT_BASE)

    assert decision.outcome is Outcome.REVIEW
    rules = [f for f in decision.base_failures if isinstance(f.check, Rule)]
    assert len(rules) == 6
    minimum = next(f for f in decision.base_failures if f.label == "ndcg@10")
    assert minimum.value == pytest.approx(0.8526, abs=1e-4)
    assert minimum.bound == 0.9
    summary = get_text(decision, "suites-edited")
    assert "1 threshold lowered" in summary
    assert "20 rules removed" in summary
    assert "1 allowed drop widened" in summary
    assert decision.notices[0].code == "base-fails"


HIDING_EDITS = {
    "regraded": edit_queries(8, judgments=Judgments({"junk-1": 3})),
    "removed": make_suite("shop", SHOP.queries[8:]),
    "no results expected": edit_queries(8, rules=(ExpectNoResults(),), judgments=Judgments({})),
    "reworded": make_suite(
        "shop", [*(replace(q, text=f"{q.text}!") for q in SHOP.queries[:8]), *SHOP.queries[8:]]
    ),
}


@pytest.mark.parametrize("name", HIDING_EDITS)
def test_edits_that_hide_broken_queries_are_for_review(name: str) -> None:
    """S34: the broken queries are re-graded, removed, or get another text."""
    suite = HIDING_EDITS[name]
    run = merge(make_run(suite), make_run(SHOP, worse=8))
    if name == "no results expected":
        # The search returns nothing for them now.
        run = make_run(SHOP, worse=8, ranking=EMPTY)

    decision = decide_on([suite], run, SHOP_RUN, base=SHOP_BASE)

    assert decision.outcome is Outcome.REVIEW
    assert "base-fails" in list_codes(decision)
    assert "suites-edited" in list_codes(decision)


def hide(queries: Sequence[Query], edit: str) -> list[Query]:
    """Edit broken queries so that they no longer count."""
    if edit == "removed":
        return []
    fields: dict[str, dict[str, object]] = {
        "regraded": {"judgments": Judgments({"junk-1": 3})},
        "no judgments": {"judgments": Judgments({})},
        "no results expected": {"rules": (ExpectNoResults(),), "judgments": Judgments({})},
        "known issue": {"known_issue": KnownIssue("X")},
    }
    if edit == "reworded":
        return [replace(query, text=f"{query.text}!") for query in queries]
    return [replace(query, **fields[edit]) for query in queries]  # type: ignore[arg-type]


EDITS = ["removed", "regraded", "no judgments", "no results expected", "known issue", "reworded"]


@pytest.mark.parametrize(
    ("first", "second"), list(itertools.combinations_with_replacement(EDITS, 2))
)
def test_two_edits_at_a_time_hide_nothing(first: str, second: str) -> None:
    """S34: each alone and two at a time."""
    edited = [*hide(SHOP.queries[:4], first), *hide(SHOP.queries[4:8], second)]
    suite = make_suite(
        "shop", [*edited, *SHOP.queries[8:]], thresholds=[make_threshold(max_drop=0.9)]
    )
    run = merge(make_run(suite), make_run(SHOP, worse=8))

    decision = decide_on([suite], run, SHOP_RUN, base=SHOP_BASE)

    assert decision.outcome >= Outcome.REVIEW
    assert any(f.check is DefaultCheck.SIGNIFICANT_DROP for f in decision.base_failures)


@pytest.mark.parametrize(
    ("suites", "failed"),
    [
        pytest.param(
            [edit_queries(8, known_issue=KnownIssue("X"))],
            DefaultCheck.SIGNIFICANT_DROP,
            id="known issue",
        ),
        pytest.param([edit_queries(8, weight=0.0)], DefaultCheck.SIGNIFICANT_DROP, id="weight 0"),
        pytest.param(
            [make_suite("shop", SHOP.queries[8:]), make_suite("other", SHOP.queries[:8])],
            DefaultCheck.SIGNIFICANT_DROP,
            id="moved",
        ),
        pytest.param(
            [edit_queries(8, judgments=Judgments({}))],
            DefaultCheck.UNRECOGNIZABLE,
            id="judgments removed",
        ),
    ],
)
def test_edits_that_hide_nothing_fail(suites: Sequence[Suite], failed: DefaultCheck) -> None:
    """S34: FAILED where the current side still counts the queries."""
    decision = decide_on(suites, make_run(SHOP, worse=8), SHOP_RUN, base=SHOP_BASE)

    assert decision.outcome is Outcome.FAILED
    assert failed in {result.check for result in list_failed(decision)}


@pytest.mark.parametrize(
    "suites",
    [
        pytest.param([replace(SHOP, name="boots", path="boots.ir.yaml")], id="renamed"),
        pytest.param(
            [make_suite("odd", SHOP.queries[1::2]), make_suite("even", SHOP.queries[::2])],
            id="split",
        ),
        pytest.param([make_suite("shop", SHOP.queries[9:])], id="nine queries removed"),
        pytest.param([make_suite(thresholds=[make_threshold(min=0.9)])], id="a minimum added"),
        pytest.param([edit_queries(20, tags=("head",))], id="re-tagged"),
        pytest.param([make_suite("shop", SHOP.queries[::-1])], id="another order"),
        pytest.param(
            [make_suite("shop", [*SHOP.queries, make_query("shop 0", id="again")])], id="a copy"
        ),
    ],
)
def test_honest_edits_pass_if_the_search_is_sound(suites: list[Suite]) -> None:
    """S35, S36, S65, S66: nothing that the base branch requires got worse; `strict`."""
    decision = decide_on(suites, SHOP_RUN, SHOP_RUN, base=SHOP_BASE, strict=True)

    assert (decision.outcome, decision.exit_status) == (Outcome.PASSED, 0)
    assert len(decision.notices) <= 1


def test_merged_suites_pass() -> None:
    """S35: suites are merged."""
    odd, even = make_suite("odd", SHOP.queries[1::2]), make_suite("even", SHOP.queries[::2])
    base = make_branch([odd, even], SHOP_RUN, name="main")

    decision = decide_on([SHOP], SHOP_RUN, SHOP_RUN, base=base, strict=True)

    assert decision.outcome is Outcome.PASSED


def test_removed_queries_and_a_lowered_minimum_are_information() -> None:
    """S36: sound search; nine queries removed and a minimum lowered."""
    base_suite = make_suite(thresholds=[make_threshold(min=0.9)])
    suite = make_suite("shop", SHOP.queries[9:], thresholds=[make_threshold(min=0.5)])
    base = make_branch([base_suite], SHOP_RUN, name="main")

    decision = decide_on([suite], SHOP_RUN, SHOP_RUN, base=base)

    assert decision.outcome is Outcome.PASSED
    assert get_text(decision, "suites-edited") == (
        "shop this change edits suites (9 queries removed, 1 threshold lowered)"
    )


def test_one_removed_query_is_counted() -> None:
    """S66: sound search; removes one of 20 queries; `strict`."""
    suite = make_suite("shop", SHOP.queries[1:])

    decision = decide_on([suite], SHOP_RUN, SHOP_RUN, base=SHOP_BASE, strict=True)

    assert decision.outcome is Outcome.PASSED
    assert str(decision.coverage.describe()) == "19 queries: 19 compared (and 1 removed)"


def test_lost_query_of_the_base_that_another_one_outweighs_is_for_review() -> None:
    """A removed query lost everything, while another gained its first relevant document."""
    baseline_run = merge(SHOP_RUN, answer(SHOP.queries[1:2], EMPTY))
    base = make_branch([SHOP], baseline_run, name="main")
    suite = make_suite("shop", SHOP.queries[1:])
    run = merge(SHOP_RUN, answer(SHOP.queries[:1], EMPTY))

    decision = decide_on([suite], run, baseline_run, base=base)

    assert decision.outcome is Outcome.REVIEW
    assert get_text(decision, "base-fails").startswith("shop needs a review for main. ")


# -- The gate --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("current_strict", "base_strict", "option", "exit_status"),
    [
        (False, False, None, 0),
        (True, False, None, 1),
        (False, True, None, 1),
        (True, True, False, 0),
        (False, False, True, 1),
    ],
)
def test_stricter_gate_counts(
    current_strict: bool, base_strict: bool, option: bool | None, exit_status: int
) -> None:
    """S64: breaks search, widens the drop and lowers `ir_gate`."""
    loose = make_suite(thresholds=[make_threshold(max_drop=0.9)])
    current = make_branch([loose], SHOP_RUN, is_strict=current_strict)
    base = replace(SHOP_BASE, is_strict=base_strict)

    decision = decide(current, make_runs(make_run(SHOP, worse=8)), base, strict_override=option)

    assert (decision.outcome, decision.exit_status) == (Outcome.REVIEW, exit_status)
    if base_strict and option is None:
        assert str(decision.gate_source) == "main has `ir_gate = strict`"
        assert "gate lowered" in get_text(decision, "suites-edited")
    elif option is not None:
        assert "command line" in str(decision.gate_source)


def test_outcomes_are_ordered() -> None:
    names = [outcome.name for outcome in sorted(Outcome)]

    assert names == ["PASSED", "INCOMPLETE", "REVIEW", "FAILED", "ERROR"]


@pytest.mark.parametrize(
    ("not_run", "strict", "exit_status"), [(4, False, 0), (4, True, 1), (5, False, 1)]
)
def test_incomplete_build_fails_below_four_in_five(
    not_run: int, strict: bool, exit_status: int
) -> None:
    """S38: last night's saved run lacks answers."""
    run = answer(SHOP.queries[not_run:], GOOD)

    decision = decide_on([SHOP], run, SHOP_RUN, strict=strict)

    assert (decision.outcome, decision.exit_status) == (Outcome.INCOMPLETE, exit_status)
    assert decision.coverage.not_run == not_run
    if not_run == 5:
        assert get_text(decision, "large-gap") == "Only 15 of 20 queries were compared"


def test_queries_without_a_baseline_are_not_missed_in_the_comparison() -> None:
    new_queries = [make_query(f"new {n}") for n in range(20)]
    suite = make_suite("shop", [*SHOP.queries, *new_queries])

    decision = decide_on([suite], SHOP_RUN, SHOP_RUN)

    assert decision.coverage.not_run == 20
    assert (decision.outcome, decision.exit_status) == (Outcome.INCOMPLETE, 0)


def test_suite_without_its_retriever() -> None:
    current = make_branch([SHOP], SHOP_RUN)
    broken = replace(current, missing_retrievers={RunKey(RETRIEVER): "raised ImportError"})

    skipped = decide(current, {})
    failed = decide(broken, {})

    assert (skipped.outcome, skipped.exit_status) == (Outcome.INCOMPLETE, 1)
    assert (failed.outcome, failed.exit_status) == (Outcome.ERROR, 2)
    assert "raised ImportError" in get_text(failed, "suite-not-run")


def test_gap_is_not_hidden_by_a_review() -> None:
    """The change removes one suite, and most queries of the other did not run."""
    boots = make_suite("boots")
    base = make_branch([SHOP, boots], make_run(SHOP, boots))
    run = merge(make_run(boots), answer(SHOP.queries[:1], GOOD))

    decision = decide_on([SHOP], run, SHOP_RUN, base=base)

    assert (decision.outcome, decision.exit_status) == (Outcome.REVIEW, 1)


def test_file_that_cannot_be_used_is_an_error() -> None:
    """S21, S31: a suite or baseline that cannot be read."""
    errors = {"boots.ir.yaml": "boots.ir.yaml:1: unknown key\nboots.ir.yaml:2: unknown key"}
    broken = make_branch([SHOP], SHOP_RUN, errors=errors, name="main")

    current = decide(broken, make_runs(make_run(SHOP, worse=8)))
    base = decide(make_branch([SHOP], SHOP_RUN), make_runs(SHOP_RUN), base=broken)

    assert (current.outcome, current.exit_status) == (Outcome.ERROR, 2)
    assert (base.outcome, base.exit_status) == (Outcome.REVIEW, 0)
    assert get_text(base, "cannot-be-used") == (
        "boots.ir.yaml cannot be used on main. boots.ir.yaml:1: unknown key (1 more)"
    )


def test_base_query_that_did_not_run_is_named() -> None:
    suite = make_suite("shop", SHOP.queries[1:])

    decision = decide_on([suite], make_run(suite), SHOP_RUN, base=SHOP_BASE)

    assert decision.outcome is Outcome.REVIEW
    assert get_text(decision, "base-not-answered") == (
        'shop 1 query of main could not be evaluated: "shop 0"'
    )


def test_query_that_did_not_run_for_both_sides_is_incomplete() -> None:
    """S38 under `git:`: what the current side counts as not run is not for review as well."""
    run = answer(SHOP.queries[1:], GOOD)

    decision = decide_on([SHOP], run, SHOP_RUN, base=SHOP_BASE)

    assert (decision.outcome, decision.exit_status) == (Outcome.INCOMPLETE, 0)


# -- Sessions --------------------------------------------------------------------------------------


def make_context(suite: Suite, selected: Sequence[Query], **fields: object) -> EvaluationContext:
    """Select the items of some queries on the command line."""
    query_ids = {query.id for query in selected}
    return EvaluationContext(
        selected_items=frozenset(query_ids),
        deselected_query_ids=frozenset(suite.queries_by_id.keys() - query_ids),
    )


def test_selection_on_the_command_line_is_not_held_against_a_run() -> None:
    context = make_context(SHOP, SHOP.queries[:2])
    current = make_branch([SHOP], SHOP_RUN, contexts={SHOP_KEY: context})
    base = replace(SHOP_BASE, contexts={SHOP_KEY: context})

    decision = decide(current, make_runs(answer(SHOP.queries[:2], GOOD)), base)

    assert (decision.outcome, decision.exit_status) == (Outcome.PASSED, 0)
    assert (decision.coverage.compared, decision.coverage.not_run) == (2, 18)
    assert decision.coverage.comparable == 2
    assert decision.current.shared_results == ()


def test_selection_of_all_items_is_no_selection() -> None:
    context = EvaluationContext(selected_items=frozenset(item.name for item in SHOP.items))
    current = make_branch([SHOP], SHOP_RUN, contexts={SHOP_KEY: context})

    decision = decide(current, make_runs(make_run(SHOP, worse=8)))

    assert [result.check for result in list_failed(decision)] == [DefaultCheck.SIGNIFICANT_DROP]


def test_suite_that_the_command_line_leaves_out_is_no_gap() -> None:
    boots = make_suite("boots")
    context = make_context(boots, [])
    contexts = {SuiteKey(boots.path): context}
    current = make_branch([SHOP, boots], make_run(SHOP, boots), contexts=contexts)
    base = replace(current, name="main", suites=(SHOP, boots))

    decision = decide(current, make_runs(make_run(SHOP)), base)

    assert (decision.outcome, decision.exit_status) == (Outcome.PASSED, 0)
    assert decision.coverage.not_run == 20
    assert list_codes(decision) == []


def test_checks_that_addopts_leaves_out_make_a_run_incomplete() -> None:
    """S38: 60 checks deselected by `addopts`."""
    context = EvaluationContext(selected_items=frozenset(query.id for query in SHOP.queries[:18]))
    current = make_branch([SHOP], SHOP_RUN, contexts={SHOP_KEY: context})
    facts = BuildFacts(addopts_selection="-m smoke", addopts_deselected_count=60)

    decision = decide(current, make_runs(answer(SHOP.queries[:18], GOOD)), facts=facts)

    assert decision.outcome is Outcome.INCOMPLETE
    assert get_text(decision, "deselected-in-addopts") == (
        "60 checks did not run, because 'addopts' leaves them out"
    )


def test_addopts_that_leaves_nothing_is_an_error() -> None:
    decision = decide(Branch(), {}, facts=BuildFacts(addopts_selection="--collect-only"))

    assert (decision.outcome, decision.exit_status) == (Outcome.ERROR, 2)
    assert "`--collect-only`" in get_text(decision, "nothing-selected")


def test_build_without_suites_does_not_pass() -> None:
    assert decide(Branch(), {}).outcome is Outcome.INCOMPLETE


def test_command_line_may_leave_out_all_suites() -> None:
    contexts = {SHOP_KEY: make_context(SHOP, [])}

    decision = decide(make_branch([SHOP], SHOP_RUN, contexts=contexts), {})

    assert (decision.outcome, decision.coverage.not_run) == (Outcome.PASSED, 20)


def test_saved_runs_that_only_addopts_names_make_a_run_incomplete() -> None:
    """S62: `addopts = --ir-runs=DIR` with a run of another commit."""
    saved = replace(SHOP_RUN, provenance=Provenance("kept", commit="d49ba9d0123"))
    facts = BuildFacts(addopts_saved_runs="kept")

    decision = decide_on([SHOP], saved, SHOP_RUN, base=SHOP_BASE, facts=facts)

    assert (decision.outcome, decision.exit_status) == (Outcome.INCOMPLETE, 0)
    assert get_text(decision, "saved-runs-in-addopts") == (
        "The current code did not run: 'addopts' has `--ir-runs=kept`,"
        " and the answers are from commit d49ba9d"
    )


def test_saved_runs_of_another_commit_hide_no_gap() -> None:
    """Sampled queries may lack answers, but an old run that has only half of them is a gap."""
    queries = [make_query(f"shop {number}", is_sampled=True) for number in range(10)]
    suite = make_suite(queries=queries, settings=Settings(max_errors=10))
    errors = {query.request: QueryError("down") for query in queries[:5]}
    old = Provenance("kept", commit="d49ba9d0123", is_interrupted=True)
    run = replace(answer(queries[5:], GOOD), errors=errors, provenance=old)
    current = make_branch([suite], make_run(suite), commit="0123456789a")

    decision = decide(current, make_runs(run))

    assert (decision.outcome, decision.exit_status) == (Outcome.INCOMPLETE, 1)
    outcomes = {notice.code: notice.outcome for notice in decision.notices}
    assert outcomes["saved-runs-of-another-commit"] is Outcome.PASSED
    assert outcomes["interrupted"] is outcomes["large-gap"] is Outcome.INCOMPLETE


@pytest.mark.parametrize("is_known_by_run", [False, True])
def test_interrupted_session_is_incomplete(is_known_by_run: bool) -> None:
    run = replace(SHOP_RUN, provenance=Provenance(is_interrupted=is_known_by_run))
    facts = BuildFacts(is_interrupted=not is_known_by_run)

    decision = decide_on([SHOP], run, SHOP_RUN, facts=facts)

    assert decision.outcome is Outcome.INCOMPLETE
    assert list_codes(decision) == ["interrupted"]


@pytest.mark.parametrize(
    ("worse", "has_code_changes", "is_asked"),
    [(0, True, True), (0, False, False), (1, True, False)],
)
def test_equal_answers_are_questioned(worse: int, has_code_changes: bool, is_asked: bool) -> None:
    """S46: all rankings of both sides of `run:` are equal although code changed."""
    base = make_branch([SHOP], SHOP_RUN, committed=(Baseline(SHOP_RUN),), name="main")
    facts = BuildFacts(has_code_changes=has_code_changes)
    run = make_run(SHOP, worse=worse, ranking=LAST_SWAPPED)

    decision = decide_on([SHOP], run, SHOP_RUN, base=base, facts=facts)

    assert decision.outcome is Outcome.PASSED
    assert ("equal-answers" in list_codes(decision)) is is_asked
    if is_asked:
        assert get_text(decision, "equal-answers") == (
            "Code changed, but all 20 rankings match main. Do both branches search the same index?"
        )


def test_finished_evaluations_are_not_made_again() -> None:
    current = make_branch([SHOP], SHOP_RUN)
    runs = make_runs(make_run(SHOP, worse=8))
    evaluation = BranchEvaluator(current, runs).evaluate_suite(SHOP)

    decision = decide(current, runs, evaluations={SHOP_KEY: evaluation})

    assert decision.current.evaluations[0] is evaluation
    assert decision.outcome is Outcome.FAILED


def test_same_data_gives_the_same_decision() -> None:
    """S13: the same run in another order gives the same outcome and the same texts."""
    suites = [make_suite(name) for name in ("a", "b", "c")]
    run, baseline_run = make_run(*suites, worse=3), make_run(*suites)
    shuffled = Run(dict(reversed(list(run.answers.items()))))

    first = decide_on(suites, run, baseline_run)
    second = decide_on(suites, shuffled, baseline_run)

    assert first.current.results == second.current.results
    assert first.notices == second.notices
