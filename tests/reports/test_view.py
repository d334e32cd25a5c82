from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from pytest_irquality.baselines.history import HistoryEntry
from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation.decide import decide
from pytest_irquality.evaluation.evaluate import Branch, BuildFacts, SuiteKey
from pytest_irquality.evaluation.results import EvaluationContext, Outcome
from pytest_irquality.metrics import Metric, make_own_metric, parse_metric
from pytest_irquality.reports.build_view import build_query_details, build_view
from pytest_irquality.reports.json_report import render_json
from pytest_irquality.reports.sentences import create_node_id
from pytest_irquality.reports.tiles import format_check_values
from pytest_irquality.reports.view_model import View, ViewSettings
from pytest_irquality.retrieval.run import Provenance, Ranking
from pytest_irquality.suite.mistakes import Location
from pytest_irquality.suite.model import Bound, BoundUnit, KnownIssue, RetrieverId, Threshold
from pytest_irquality.suite.rules import MustFind
from tests.reports.builders import (
    EMPTY,
    GOOD,
    LOST,
    SETTINGS,
    SWAPPED,
    WORSE,
    make_query,
    make_run,
    make_suite,
    make_threshold,
    make_view,
    rank,
)


def get_sentences(view: View) -> tuple[str, str, str]:
    return str(view.headline), str(view.summary), str(view.last_paragraph)


def test_first_run_says_how_to_compare() -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])

    view = make_view(suite, make_run(suite))

    assert get_sentences(view) == (
        "All 2 checks passed",
        "Nothing was compared, because there is no baseline yet.",
        "PASSED shop (shop.ir.yaml): all 2 checks passed; 20 queries: 20 new",
    )
    assert view.next_steps[0].command == "pytest --ir-update-baseline"


def test_green_build_shows_the_value_of_every_metric() -> None:
    suite = make_suite(metrics=["ndcg@10", "recall@10", "mrr@10"])

    view = make_view(suite, make_run(suite), make_run(suite))

    assert str(view.headline) == "No query got worse or better, and all 4 checks passed"
    tiles = [(tile.label, str(tile.value)) for tile in view.suites[0].tiles]
    assert tiles == [("ndcg@10", "1.000"), ("recall@10", "1.000"), ("mrr@10", "1.000")]


def test_loss_names_its_size_the_damaged_tag_and_the_significance() -> None:
    queries = [make_query(f"q{n}", tags=("head" if n < 8 else "tail",)) for n in range(20)]
    suite = make_suite(queries=queries)
    before = make_run(suite, {"q19": SWAPPED})

    view = make_view(suite, make_run(suite, worse=7), before)

    assert get_sentences(view) == (
        "Search got worse for 7 of 20 queries",
        "Queries tagged 'head' lost most: their ndcg@10 fell from 1.000 to 0.570. 1 query got"
        " better. A new result that nobody has graded is first for 7 queries that got worse. The drop is"
        " statistically significant (p = 0.008).",
        "FAILED shop (shop.ir.yaml): 1 of 4 checks failed; 20 queries: 20 compared",
    )
    assert [row.query.text for row in view.worse[:2]] == ["q0", "q1"]
    assert [row.query.text for row in view.better] == ["q19"]


def test_gains_are_named_as_losses_are() -> None:
    """Verdict case 22."""
    suite = make_suite()
    now = make_run(suite, {"shop 0": SWAPPED, "shop 1": SWAPPED})
    before = make_run(suite, {"shop 5": WORSE, "shop 6": WORSE, "shop 7": WORSE})

    view = make_view(suite, now, before)

    assert str(view.headline) == "Search got better for 3 of 20 queries and worse for 2"
    assert str(view.last_paragraph).endswith("; baseline out of date: 5 rankings differ")


def test_failure_that_does_not_rest_on_the_mean_says_so() -> None:
    """Scenario S1: one inline query loses all its relevant documents."""
    suite = make_suite()

    view = make_view(suite, make_run(suite, {"shop 0": LOST}), make_run(suite))

    assert view.outcome is Outcome.FAILED
    assert "not statistically significant (p = 0.50)" in str(view.summary)
    assert "the failure does not depend on it" in str(view.summary)


def test_newly_empty_queries_are_in_the_headline_and_named_below() -> None:
    """Scenario S32."""
    suite = make_suite()

    view = make_view(suite, make_run(suite, worse=8, ranking=EMPTY), make_run(suite))

    assert str(view.headline) == (
        "Search got worse for 8 of 20 queries, and 8 queries now return nothing"
    )
    assert '"shop 0"' in str(view.causes[0].text)


def test_ungraded_list_says_what_changed_at_the_top() -> None:
    """Verdict case 27 and scenario S74."""
    suite = make_suite(queries=[make_query(f"q{n}", {}) for n in range(20)])
    junk_first = rank("junk-1", "best", "good", "fair")

    view = make_view(suite, make_run(suite, worse=20, ranking=junk_first), make_run(suite))

    assert view.outcome is Outcome.FAILED
    assert str(view.headline) == "The first result changed for 20 of 20 queries"
    assert len(view.changed) == 20


def test_unreachable_engine_is_said_once_and_first() -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])
    answers: dict[str, Any] = {query.text: "ConnectError: refused" for query in suite.queries}

    view = make_view(suite, make_run(suite, answers), make_run(suite))

    assert str(view.headline) == "No query got an answer"
    assert [str(message.text) for message in view.causes] == [
        "20 queries have no answer: ConnectError: refused"
    ]
    assert str(view.next_steps[0].text).startswith("Check that the search engine is running")
    assert [check.outcome for check in view.checks].count(Outcome.FAILED) == 1


def test_errors_are_listed_once_each_with_their_queries() -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.99)])
    answers: dict[str, Ranking | str] = {"shop 3": "TimeoutError: 2 s", "shop 9": SWAPPED}
    answers |= {f"shop {number}": "ConnectError: refused" for number in (0, 1)}

    view = make_view(suite, make_run(suite, answers), make_run(suite, {"shop 9": SWAPPED}))

    assert str(view.headline) == "3 of 20 queries got no answer"
    assert [str(message.text) for message in view.causes[:2]] == [
        '2 queries have no answer: ConnectError: refused ("shop 0", "shop 1")',
        '1 query has no answer: TimeoutError: 2 s ("shop 3")',
    ]


def test_lost_query_is_the_headline() -> None:
    """Scenario S1."""
    suite = make_suite()

    view = make_view(suite, make_run(suite, {"shop 4": LOST, "shop 7": WORSE}), make_run(suite))

    assert str(view.headline) == '"shop 4" lost all its relevant documents'
    assert str(view.summary).startswith("Search got worse for 2 of 20 queries.")
    assert view.reasons == ()


def test_many_broken_rules_are_one_reason() -> None:
    queries = []
    for number in range(6):
        text = f"q{number}"
        queries.append(make_query(text, rules=(MustFind({f"best:{text}": 1}),)))
    suite = make_suite(queries=queries)
    now = make_run(suite, worse=5, ranking=SWAPPED)

    view = make_view(suite, now)

    assert [str(reason) for reason in view.reasons] == [
        '5 queries break their rules: "q0", "q1", "q2" and 2 more'
    ]


def test_broken_threshold_that_only_warns_looks_broken() -> None:
    warning = make_threshold("ndcg@10", min=0.99, warn=True)
    suite = make_suite(thresholds=[warning, make_threshold("recall@10", min=0.1)])

    view = make_view(suite, make_run(suite, worse=1))

    tile = view.suites[0].tiles[0]
    assert (tile.mark, tile.status) == ("⚠", "below 0.99 (warning)")
    assert view.outcome is Outcome.PASSED
    assert "1 failing check only warns." in str(view.summary)


def test_values_over_other_queries_than_the_compared_ones_say_so() -> None:
    suite = make_suite(queries=2)
    before = make_run(make_suite(queries=1))

    view = make_view(suite, make_run(suite, {"shop 1": LOST}), before)

    (tile,) = view.suites[0].tiles
    assert (str(tile.value), tile.note) == ("0.500", "1 compared query: 1.000 → 1.000")


def test_drop_over_several_suites_marks_the_tile_of_each() -> None:
    suites = [make_suite("kettles"), make_suite("lamps"), make_suite("chairs")]
    answers = {query.text: WORSE for suite in suites[:2] for query in suite.queries[:4]}

    view = make_view(suites, make_run(suites, answers), make_run(suites))

    marks = {suite.name: suite.tiles[0].status for suite in view.suites}
    assert marks == {"kettles": "significant drop", "lamps": "significant drop", "chairs": ""}
    assert str(view.last_paragraph).startswith("FAILED kettles, lamps: ")


def test_ungraded_rankings_are_described_in_words() -> None:
    suite = make_suite(queries=[make_query(f"q{n}", {}) for n in range(20)])

    view = make_view(suite, make_run(suite, worse=2, ranking=SWAPPED), make_run(suite))

    assert str(view.summary) == (
        "2 of 20 rankings differ. On average, 100% of the first ten results are the same."
    )
    assert view.suites[0].shown_tiles == ()


def test_gaps_are_named_next_to_a_loss() -> None:
    suite = make_suite()
    now = make_run(suite, {"shop 19": "TimeoutError"}, worse=10)

    view = make_view(suite, now, make_run(suite))

    assert str(view.summary).startswith("1 query has no answer.")
    assert "19 compared, 1 no answer" in str(view.last_paragraph)


def test_ids_that_differ_are_the_headline() -> None:
    """Verdict case 21."""
    queries = [make_query(f"q{n}", {"p-best": 3}) for n in range(5)]
    suite = make_suite(queries=queries, thresholds=[make_threshold("ndcg@10", min=0.5)])

    view = make_view(suite, make_run(suite))

    assert str(view.headline).startswith("No result has an ID that the suite names")
    assert "`id_field`" in str(view.next_steps[0].text)


def test_fixed_known_issue_is_named_first() -> None:
    issue = KnownIssue("SEARCH-212", location=Location("shop.ir.yaml", 14))
    rule = MustFind({"best:couch": None}, location=Location("shop.ir.yaml", 12))
    couch = make_query("couch", rules=(rule,), known_issue=issue)
    suite = make_suite(queries=[couch, make_query("lamp")])

    view = make_view(suite, make_run(suite), make_run(suite))

    assert str(view.headline) == 'Known issue SEARCH-212 is fixed for "couch"'
    assert view.next_steps[0].location == "shop.ir.yaml:14"


def test_review_leads_with_the_base_checks_their_values_and_the_edits() -> None:
    """Scenario S33."""
    base_suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])
    loose = make_threshold("ndcg@10", min=0.2, max_drop=0.9)
    suite = make_suite(queries=15, thresholds=[loose])
    now = make_run([suite, base_suite], worse=10)

    view = make_view(suite, now, make_run(base_suite), base_suite)

    headline, summary, last = get_sentences(view)
    assert headline == (
        "Search got worse for 10 of 20 queries, which this branch's suites accept, unlike main's"
    )
    assert summary.startswith("2 checks of main fail.")
    assert "; failing for main: no statistically significant drop, ndcg@10; " in last
    assert "5 queries removed, 1 threshold lowered" in last
    check = view.base_checks[1]
    assert format_check_values(check) == ("1.000", "0.754", "0.9")


def test_deleted_suite_shows_the_numbers_of_the_base_suite() -> None:
    """Scenario S52."""
    base_suite = make_suite()
    branch = make_view([], make_run(base_suite, worse=10), make_run(base_suite), base_suite)

    assert branch.outcome is Outcome.REVIEW
    assert branch.suites[0].is_base
    assert str(branch.last_paragraph).startswith("REVIEW shop (shop.ir.yaml): ")


def test_incomplete_build_says_what_is_out_of_date() -> None:
    suite = make_suite()

    view = make_view(suite, make_run(suite), make_run(suite, worse=7), strict_override=True)

    assert str(view.headline) == "Baseline out of date: 7 rankings differ"
    assert str(view.last_paragraph).startswith(
        "INCOMPLETE shop (shop.ir.yaml): baseline out of date: 7 rankings differ"
    )


def test_suite_that_cannot_be_read_is_the_headline() -> None:
    branch = Branch(errors={"shop.ir.yaml": "shop.ir.yaml:3: unknown key"})

    view = build_view(decide(branch, {}), SETTINGS)

    assert view.outcome is Outcome.ERROR
    assert str(view.headline) == "shop.ir.yaml cannot be used"
    assert "shop.ir.yaml:3: unknown key" in str(view.causes[0].text)
    assert str(view.last_paragraph).startswith("ERROR shop.ir.yaml: cannot be used")
    assert view.next_steps[0].location == "shop.ir.yaml"


def test_suites_are_listed_worst_first_with_their_own_numbers() -> None:
    """Verdict case 23."""
    suites = [make_suite("kettles"), make_suite("lamps"), make_suite("chairs")]
    answers: dict[str, Ranking | str] = {}
    for suite, number in zip(suites, (7, 9, 8), strict=True):
        answers |= dict.fromkeys([query.text for query in suite.queries[:number]], WORSE)

    view = make_view(suites, make_run(suites, answers), make_run(suites))

    assert [suite.name for suite in view.suites] == ["lamps", "chairs", "kettles"]
    assert str(view.suites[0].line) == "9 of 20 queries worse, 0 better"
    assert str(view.headline) == "Search got worse for 24 of 60 queries"
    assert "lamps: 24" not in str(view.last_paragraph)


def test_retrievers_of_one_suite_are_kept_apart() -> None:
    suites = []
    for name in ("fast", "slow"):
        suites.append(make_suite(retriever=RetrieverId(parameter=name)))

    view = make_view(suites, make_run(suites), make_run(suites))

    assert [suite.retriever for suite in view.suites] == ["retriever[fast]", "retriever[slow]"]
    assert [suite.label for suite in view.suites] == ["fast", "slow"]
    assert view.header.suite == "shop"


def test_metric_table_has_the_primary_metric_if_the_suite_lists_only_latency() -> None:
    """Verdict case 08."""
    suite = make_suite(metrics=["zero_results"])

    view = make_view(suite, make_run(suite, worse=10), make_run(suite))

    assert [tile.label for tile in view.suites[0].tiles] == ["ndcg@10", "zero_results"]


def test_broken_threshold_is_the_first_tile() -> None:
    queries = [make_query(f"q{n}", tags=("head",)) for n in range(8)]
    head = ("head", make_threshold("recall@10", min=0.9))
    suite = make_suite(queries=queries, thresholds=[make_threshold("ndcg@10", min=0.1), head])

    view = make_view(suite, make_run(suite, worse=4, ranking=LOST), make_run(suite))

    tile, other = view.suites[0].tiles
    assert (tile.label, tile.status, str(tile.bound)) == ("head recall@10", "below 0.9", "0.9")
    assert (other.label, other.status) == ("ndcg@10", "holds")
    assert tile.bar is not None
    assert (tile.bar.value, tile.bar.bound, tile.bar.baseline) == (0.5, 0.9, 1.0)


def test_header_says_what_was_compared_with_what() -> None:
    suite = make_suite()
    settings = replace(SETTINGS, compared_with="git:main", compared_commit="fedcba9876543210")

    view = make_view(suite, make_run(suite), make_run(suite), settings=settings)

    header = view.header
    assert (header.suite, header.path, header.branch) == ("shop", "shop.ir.yaml", "faster-index")
    assert header.compared_with == "git:main (fedcba9876)"
    assert (header.commit, header.date) == ("0123456789", "28 Nov 2026, 12:30")


def test_history_has_the_values_of_the_primary_metric() -> None:
    suite = make_suite()
    entry = HistoryEntry("shop.ir.yaml", "retriever", "abc", "2026-11-01", {"ndcg@10": 0.9})
    settings = replace(SETTINGS, history=(entry, entry._replace(suite_path="other.ir.yaml")))

    view = make_view(suite, make_run(suite), settings=settings)

    (point,) = view.suites[0].history
    assert (point.value, point.date, point.commit) == (0.9, "2026-11-01", "abc")


def test_rerun_names_the_items_that_failed() -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])
    settings = replace(SETTINGS, node_suffixes={("shop.ir.yaml", "retriever"): "[a]"})

    view = make_view(suite, make_run(suite, worse=10), settings=settings)

    assert view.next_steps[0].command == "pytest --ir-suite 'shop.ir.yaml::ndcg-10[a]'"


def test_new_baseline_is_not_offered_if_most_failures_would_stay() -> None:
    queries = []
    for number in range(9):
        text = f"q{number}"
        queries.append(make_query(text, rules=(MustFind({f"best:{text}": 1}),)))
    suite = make_suite(queries=queries)

    view = make_view(suite, make_run(suite, worse=9), make_run(suite))

    assert view.outcome is Outcome.FAILED
    assert not any(str(step.text).startswith("Or accept") for step in view.next_steps)


def test_no_more_than_three_steps_are_suggested() -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])

    view = make_view(suite, make_run(suite, worse=10, ranking=LOST), make_run(suite))

    assert len(view.next_steps) == 3
    for step in view.next_steps:
        assert step.command or step.location or step.text


def test_strict_base_branch_is_named() -> None:
    """Scenario S64."""
    base_suite = make_suite()
    suite = make_suite(thresholds=[make_threshold("ndcg@10", max_drop=0.9)])
    current = Branch(suites=(suite,))
    base = Branch("main", suites=(base_suite,), is_strict=True)
    run = make_run(suite, {"shop 0": GOOD})

    view = build_view(decide(current, {suite.run_key: run}, base))

    assert "main" in str(view.last_paragraph) or view.exit_status == 0


@pytest.mark.parametrize(
    ("folder", "node_id"),
    [
        ("", "sub/shop.ir.yaml::desk"),
        (".", "sub/shop.ir.yaml::desk"),
        ("sub", "shop.ir.yaml::desk"),
        ("other", "../sub/shop.ir.yaml::desk"),
    ],
)
def test_commands_name_suites_from_the_working_directory(folder: str, node_id: str) -> None:
    settings = ViewSettings(folder=folder)

    assert create_node_id(settings, "sub/shop.ir.yaml", "retriever", "desk") == node_id


def test_changed_query_has_a_command_that_accepts_it_alone() -> None:
    suite = make_suite()
    inline, sampled = suite.queries[0], replace(suite.queries[1], is_sampled=True)
    suite = replace(suite, queries=(inline, sampled), items=suite.items[:1])
    view = make_view(suite, make_run(suite, worse=2), make_run(suite))

    (suite_view,) = view.suites
    commands = [details.acceptance for details in build_query_details(suite_view, SETTINGS)]

    assert commands[0].endswith(f"--ir-update-baseline {suite.path}::{suite.items[0].name}")
    assert commands[1].endswith(f"--ir-update-baseline={sampled.id} {suite.path}")


def test_unchanged_query_has_nothing_to_accept() -> None:
    suite = make_suite()
    view = make_view(suite, make_run(suite), make_run(suite))

    (suite_view,) = view.suites

    assert not any(details.acceptance for details in build_query_details(suite_view, SETTINGS))


# -- Another search as the baseline ----------------------------------------------------------------


def test_another_retriever_is_no_earlier_state() -> None:
    thresholds = [make_threshold("ndcg@10", min=0.1)]
    suite = make_suite(queries=4, thresholds=thresholds, baseline_retriever="bm25_retriever")
    now = make_run(suite, {"shop 0": LOST, "shop 1": SWAPPED})
    before = make_run(suite, {"shop 2": LOST})
    key = suite.run_key._replace(retriever=RetrieverId("bm25_retriever"))

    view = build_view(decide(Branch(suites=(suite,)), {suite.run_key: now, key: before}), SETTINGS)

    assert str(view.headline) == (
        "retriever is better than bm25_retriever for 1 of 4 queries and worse for 2"
    )
    assert str(view.summary) == (
        'Only bm25_retriever finds relevant documents for "shop 0".'
        ' Only retriever finds relevant documents for "shop 2".'
    )
    assert [title for _, title, _ in view.groups] == [
        "Worse than bm25_retriever",
        "Better than bm25_retriever",
        "Found only by bm25_retriever",
    ]
    assert (view.names.before, view.names.now) == ("bm25_retriever", "retriever")
    assert view.header.compared_with == "bm25_retriever"
    (details, *_) = build_query_details(view.suites[0], SETTINGS)
    assert not details.acceptance


def test_trec_run_as_the_baseline_is_called_by_its_file() -> None:
    suite = make_suite()
    before = make_run(suite, provenance=Provenance(source="runs/bm25.run"))

    view = make_view(suite, make_run(suite, worse=7), before)

    assert str(view.headline) == "retriever is worse than bm25.run for 7 of 20 queries"
    assert "accept" not in " ".join(str(step.text) for step in view.next_steps)


def test_most_queries_lost_are_the_headline() -> None:
    suite = make_suite()

    view = make_view(suite, make_run(suite, worse=8, ranking=LOST), make_run(suite))

    assert str(view.headline) == "8 of 20 queries lost all their relevant documents"
    assert str(view.summary).startswith("Search got worse for 8 of 20 queries.")


def test_change_within_the_repeats_of_the_baseline_is_no_difference() -> None:
    suite = make_suite(queries=2)
    good, swapped = make_run(suite), make_run(suite, worse=2, ranking=SWAPPED)
    one, other = good.answers
    before = {key: (*good.answers[key], *swapped.answers[key]) for key in (one, other)}
    now = {one: 2 * good.answers[one], other: 2 * swapped.answers[other]}

    view = make_view(suite, replace(good, answers=now), replace(good, answers=before))

    assert str(view.headline) == "No change beyond the variation of the engine's own answers"
    assert str(view.summary) == (
        "Search got worse for 1 of 2 queries. 1 query got better."
        " ndcg@10 is 0.961, and 0.922 to 1.000 in the repeats of the baseline."
    )


def test_new_baseline_that_accepts_a_loss_is_for_review() -> None:
    suite = make_suite()
    now = make_run(suite, worse=7)
    branches = []
    for name, run in (("", now), ("main", make_run(suite))):
        baselines = (Baseline(run, suite.retriever, suite.path),)
        branches.append(Branch(name, suites=(suite,), baselines=baselines, committed=baselines))
    current, base = branches

    view = build_view(decide(current, {suite.run_key: now}, base), SETTINGS)

    assert str(view.headline) == (
        "Search got worse for 7 of 20 queries, which this branch's new baseline accepts, unlike"
        " main's"
    )
    assert view.next_steps[0].location == ".ir-baseline/shop.jsonl"


def test_checks_that_addopts_leaves_out_are_named() -> None:
    suite = make_suite(queries=[make_query(f"q{n}", rules=(MustFind({"best": 1}),)) for n in "ab"])
    key = SuiteKey(suite.path, suite.retriever)
    context = EvaluationContext(selected_items=frozenset({suite.items[0].name}))
    branch = Branch(suites=(suite,), contexts={key: context})
    facts = BuildFacts(addopts_selection="-k qa", addopts_deselected_count=3)

    view = build_view(decide(branch, {suite.run_key: make_run(suite)}, facts=facts), SETTINGS)

    assert str(view.reasons[0]).startswith('Not run: "qb"')


def test_status_names_the_bound_that_broke() -> None:
    """One of 20 queries is exactly 5%, but one more than before."""
    threshold = Threshold(
        parse_metric("zero_results"),
        location=Location("shop.ir.yaml", 3),
        max=Bound(0.06, BoundUnit.QUERY_FRACTION, "6%"),
        max_rise=Bound(0.06, BoundUnit.BASELINE_FRACTION, "6%"),
    )
    ndcg = make_threshold("ndcg@10", min=0.1, max_drop=0.1)
    suite = make_suite(thresholds=[threshold, ndcg])

    view = make_view(suite, make_run(suite, worse=9, ranking=WORSE), make_run(suite))
    rise = make_view(suite, make_run(suite, {"shop 0": EMPTY}), make_run(suite))

    statuses = {tile.label: tile.status for tile in view.suites[0].tiles}
    assert statuses["ndcg@10"] == "dropped by more than 0.1"
    statuses = {tile.label: tile.status for tile in rise.suites[0].tiles}
    assert statuses["zero_results"] == "rose by more than 6%"


def test_metric_without_a_lowest_value_has_no_bar() -> None:
    metric = make_own_metric("loss", lambda ids, grades, k: -1.0, range=(-inf, 0), cutoff=False)
    bound, location = Bound(-2, text="-2"), Location("shop.ir.yaml", 3)
    suite = make_suite(thresholds=[Threshold(Metric(metric), min=bound, location=location)])

    view = make_view(suite, make_run(suite))

    assert [tile.bar for tile in view.suites[0].tiles if tile.label == "loss"] == [None]
    assert "NaN" not in render_json(view)
