"""Scenarios: a change of the search, a suite with a baseline, and what the default checks say."""

from __future__ import annotations

import json
import re

import pytest

from tests.end_to_end.shop import QUERIES, Shop, find, list_docs, lose, make_suite, sink

UNJUDGED = "queries:\n" + "".join(f"  - {{query: {query}}}\n" for query in QUERIES)
LOST, SUNK, RISEN, GAINED = QUERIES[:4]


def write_s1(shop: Shop, suite: str, *, gains: bool = False) -> None:
    shop.write_suite(suite)
    before = find()
    before[RISEN] = sink(list_docs(RISEN), 1)
    before[GAINED] = lose(list_docs(GAINED)) if gains else list_docs(GAINED)
    shop.write_rankings(before)
    shop.record()
    now = {**before, LOST: lose(list_docs(LOST)), SUNK: sink(list_docs(SUNK), 1)}
    shop.write_rankings({**now, RISEN: list_docs(RISEN), GAINED: list_docs(GAINED)})


@pytest.mark.parametrize(
    ("gains", "verdict"), [(False, ("FAILED", 1)), (True, ("REVIEW", 0))], ids=["lost", "balanced"]
)
def test_lost_query_is_never_a_silent_pass(
    shop: Shop, gains: bool, verdict: tuple[str, int]
) -> None:
    """S1: one query loses all its relevant documents, another sinks, a third rises."""
    write_s1(shop, make_suite(), gains=gains)

    build = shop.build()

    assert build.verdict == verdict
    notices = [notice["text"] for notice in build.data["notices"]]
    assert any(text.startswith(f'"{LOST}" lost all its relevant documents') for text in notices)
    assert "red-kettle-1 1 → not retrieved" in build.text
    if not gains:
        assert "drop in the mean alone is not statistically significant" in build.text
        assert "failure does not depend on it" in build.text


def test_lost_query_from_a_file_is_named_and_passes(shop: Shop) -> None:
    """S1: queries from a file are a sample, so one loss is no significant loss."""
    shop.write("queries.txt", "\n".join(QUERIES))
    grades = "query,doc,grade\n"
    for query in QUERIES:
        grades += "".join(
            f"{query},{doc},{grade}\n" for doc, grade in zip(list_docs(query), "321", strict=False)
        )
    shop.write("grades.csv", grades)
    write_s1(shop, "queries: queries.txt\njudgments: grades.csv\n")

    build = shop.build()

    assert build.verdict == ("PASSED", 0)
    assert LOST in build.text
    assert "lost all its relevant documents" in str(build.data["notices"])


def test_queries_without_results_fail_and_are_named(shop: Shop) -> None:
    """S2: an analyzer bug, so three of twenty queries return nothing."""
    shop.write_suite(make_suite(head="thresholds: {ndcg@10: 0.9, zero_results: {max: 0}}\n"))
    shop.break_search(QUERIES[:3], lambda docs: [])

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert "zero_results is 3" in build.text
    assert "ndcg@10 is 0.850" in build.text
    for query in QUERIES[:3]:
        assert query in build.text


def test_few_queries_without_an_answer_fail_and_the_others_are_evaluated(shop: Shop) -> None:
    """S7: the retriever raises on 2 of 200 queries."""
    queries = [f"item {number}" for number in range(200)]
    head = "thresholds: {ndcg@10: 0.9}\n"
    shop.write_suite(make_suite(queries, head))
    broken = dict.fromkeys((queries[7], queries[150]), "index is down")
    shop.write_rankings({**find(queries), **broken})

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert build.coverage["no_answer"] == 2
    assert build.coverage["new"] == 198
    assert "2 queries have no answer" in build.text
    assert "198 new, 2 no answer" in build.last
    outcomes = {check["label"]: check["outcome"] for check in build.data["checks"]}
    assert outcomes["ndcg@10"] == "INCOMPLETE"
    assert build.result.stdout.str().count("raise RuntimeError(result)") == 1
    assert build.result.parseoutcomes()["errors"] == 3


def test_broad_small_drop_is_significant(shop: Shop) -> None:
    """S12: 200 queries, ndcg@10 down by 0.03, and no query dramatic."""
    queries = [f"item {number}" for number in range(200)]

    def tag(query: str) -> str:
        return f"tags: [{'head' if int(query.split()[1]) < 50 else 'tail'}]"

    shop.write_suite(make_suite(queries, extra=tag))
    shop.write_rankings(find(queries))
    shop.record()
    shop.write_rankings(find(queries, queries[::10], lambda docs: sink(docs, 1)))

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert "no statistically significant drop" in build.list_failed()
    assert "p < 0.001" in build.text
    assert "interval" in str(build.data)
    assert "tail" in build.text or "head" in build.text
    assert build.data["suites"][0]["primary"]["change"] == pytest.approx(-0.030, abs=0.001)


def test_tag_that_collapses_fails_while_the_mean_rises(shop: Shop) -> None:
    """S15: one tag collapses while the overall mean rises."""
    small = QUERIES[0]
    head = "thresholds: {ndcg@10: {max_drop: 0}}\neach_tag: {ndcg@10: {max_drop: 0.1}}\n"
    tags = dict.fromkeys(QUERIES, "tags: [big]")
    shop.write_suite(make_suite(head=head, extra={**tags, small: "tags: [small]"}))
    before = find(QUERIES, QUERIES[1:], lambda docs: sink(docs, 1))
    shop.write_rankings(before)
    shop.record()
    shop.write_rankings(find(QUERIES, [small]))

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    failed = [check for check in build.data["checks"] if check["outcome"] == "FAILED"]
    assert [check["label"] for check in failed] == ["small ndcg@10"]
    assert failed[0]["baseline_value"] == pytest.approx(1)
    assert failed[0]["value"] == pytest.approx(0.463, abs=0.001)
    assert "small" in build.text


def test_more_empty_results_lead_the_report(shop: Shop) -> None:
    """S32: AND instead of OR, so eight queries newly return nothing, and three always did."""
    empty: dict[str, list[str]] = {key: [] for key in QUERIES[:3]}
    shop.write_suite(make_suite())
    shop.write_rankings({**find(), **empty})
    shop.record()
    shop.write_rankings({**find(), **{key: [] for key in QUERIES[:11]}})

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert "8 queries now return nothing" in build.data["headline"]
    assert QUERIES[3] in build.text


def test_reversed_ranking_fails_without_any_threshold(shop: Shop) -> None:
    """S39: eight queries, a baseline, no thresholds, and the order is reversed."""
    queries = QUERIES[:8]
    shop.write_suite(make_suite(queries))
    shop.record()
    shop.break_search(QUERIES, lambda docs: list(docs[9::-1]))

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert build.list_failed() == ["no statistically significant drop"]
    assert queries[0] in build.text


@pytest.mark.parametrize("changes", [False, True])
def test_queries_without_judgments_are_compared(shop: Shop, changes: bool) -> None:
    """S40: no judgments at all, and every result is different."""
    shop.write_suite(UNJUDGED)
    shop.record()
    if changes:
        shop.break_search(QUERIES, lambda docs: [f"other-{doc}" for doc in docs])

    build = shop.build()

    assert build.verdict == (("FAILED", 1) if changes else ("PASSED", 0))
    if changes:
        assert "first result changed for 20 of 20 queries" in build.text


def test_junk_on_top_of_a_list_fails(shop: Shop) -> None:
    """S74: one unrelated document is first for all queries of a list without judgments."""
    shop.write_suite(UNJUDGED)
    shop.record()
    shop.break_search(QUERIES, lambda docs: ["junk", *docs])

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert "first result changed for 20 of 20 queries" in build.top
    assert "junk" in build.text


def test_drops_in_two_suites_are_pooled(shop: Shop) -> None:
    """S41: 4 of 20 queries get worse in one suite, 3 of 20 in another, none better."""
    others = [f"large {query}" for query in QUERIES]
    shop.write_suite(make_suite(), "a.ir.yaml")
    shop.write_suite(make_suite(others), "b.ir.yaml")
    shop.write_rankings(find([*QUERIES, *others]))
    shop.record()
    shop.write_rankings(find([*QUERIES, *others], [*QUERIES[:4], *others[:3]]))

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    failed = [check for check in build.data["checks"] if check["outcome"] == "FAILED"]
    assert [check["subject"] for check in failed] == ["a, b"]
    assert failed[0]["value"] == pytest.approx(2**-7)
    lines = {suite["name"]: suite["line"] for suite in build.data["suites"]}
    assert lines == {"a": "4 of 20 queries worse, 0 better", "b": "3 of 20 queries worse, 0 better"}


def test_search_that_became_flaky_does_not_excuse_itself(shop: Shop) -> None:
    """S54: with repeats, a steady search returns nothing in two of three answers."""
    shop.write_suite(make_suite(head="repeat: 3\n"))
    steady = {query: [list_docs(query)] for query in QUERIES}
    shop.vary(steady)
    shop.record()
    flaky = {query: [[], list_docs(query), []] for query in QUERIES[:4]}
    shop.vary({**steady, **flaky})

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert build.list_failed() == ["no large drops in a few changed queries"]
    (failed,) = [check for check in build.data["checks"] if check["outcome"] == "FAILED"]
    assert "−2.667" in failed["text"]
    assert "unchanged code" not in build.text
    for query in QUERIES[:3]:
        assert query in build.text


def test_search_that_was_as_flaky_before_passes(shop: Shop) -> None:
    """S54: a baseline that varies as much as the current run."""
    shop.write_suite(make_suite(head="repeat: 3\n"))
    answers = {query: [list_docs(query)] for query in QUERIES}
    for number, query in enumerate(QUERIES[:4]):
        rankings = [[], [], list_docs(query)]
        answers[query] = rankings[number % 3 :] + rankings[: number % 3]
    shop.vary(answers)
    shop.record()
    shop.vary({query: rankings[::-1] for query, rankings in answers.items()})

    assert shop.build().verdict == ("PASSED", 0)


def test_variants_count_as_queries(shop: Shop) -> None:
    """S55: all variants return nothing, and the queries themselves are as before."""
    variants = {query: f"variants: [{query}z]" for query in QUERIES}
    zero = "thresholds: {zero_results: {max: 20}}\n"
    shop.write_suite(make_suite(head=zero, extra=variants))
    typos = {f"{query}z": list_docs(query) for query in QUERIES}
    shop.write_rankings({**find(), **typos})
    shop.record()
    shop.write_rankings({**find(), **{key: [] for key in typos}})

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert "red kettlez" in build.text
    assert build.data["suites"][0]["line"].startswith("20 of 40 queries worse")
    assert build.coverage["compared"] == 40
    assert build.data["suites"][0]["primary"]["change"] == 0
    tests = [check for check in build.data["checks"] if "significant" in check["label"]]
    assert tests[0]["value"] == pytest.approx(2**-20)
    zero_results = [check for check in build.data["checks"] if check["label"] == "zero_results"]
    assert zero_results[0]["value"] == 20


def test_variants_that_find_nothing_are_named(shop: Shop) -> None:
    """S24: an analyzer finds every correctly typed query and no mistyped one."""
    typed = QUERIES[:5]
    shop.write_suite(make_suite(extra={query: f"variants: [{query}z]" for query in typed}))
    typos = {f"{query}z": list_docs(query) for query in typed}
    shop.write_rankings({**find(), **typos})
    shop.record()
    shop.write_rankings(find())

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert (
        "queries that lost all relevant documents do not outnumber those that gained one"
        in build.list_failed()
    )
    row = next(row for row in build.data["worse"] if row["query"] == "red kettlez")
    assert "variant" in row["tags"]
    assert build.data["suites"][0]["primary"]["change"] == 0


@pytest.mark.parametrize(
    ("metrics", "primary"),
    [
        ("weighted ndcg@10", "weighted ndcg@10"),
        ("judged@10, zero_results", "ndcg@10"),
        ("latency_p95, mrr@10", "mrr@10"),
        pytest.param("latency_p95", "ndcg@10", marks=pytest.mark.slow),
        pytest.param("overlap@10", "ndcg@10", marks=pytest.mark.slow),
    ],
)
def test_metrics_never_switch_off_the_default_checks(
    shop: Shop, metrics: str, primary: str
) -> None:
    """S56: ten of 20 queries get worse, and 'metrics' has latency, counts or weights first."""
    shop.write_suite(make_suite(head=f"metrics: [{metrics}]\n"))
    shop.record()
    shop.break_search()

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert build.data["suites"][0]["metric"] == primary
    assert build.data["worse"][0]["metric"] == primary
    assert primary in build.text
    assert "latency" not in build.data["headline"]


@pytest.mark.parametrize(
    "threshold", ["ndcg@10: 0.1", "zero_results: {max: 3}", "recall@10: {min: 0.5}"]
)
def test_minimum_replaces_no_default_check(shop: Shop, threshold: str) -> None:
    """S57: half of 20 queries get worse, and the suite writes a minimum and no drop."""
    shop.write_suite(make_suite(head=f"thresholds: {{{threshold}}}\n"))
    shop.record()
    shop.break_search()

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert build.list_failed() == ["no statistically significant drop"]


def test_unchanged_suites_take_no_part_in_the_correction(shop: Shop) -> None:
    """S59: six of 20 queries lose one rank, and three other suites do not change."""
    others = [f"large {query}" for query in QUERIES]
    shop.write_suite(make_suite())
    for number in range(3):
        part = others[number * 5 : number * 5 + 5]
        shop.write_suite(make_suite(part), f"other{number}.ir.yaml")
    shop.write_rankings(find([*QUERIES, *others]))
    shop.record()
    shop.write_rankings(find([*QUERIES, *others], QUERIES[:6], lambda docs: sink(docs, 1)))

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    (failed,) = [check for check in build.data["checks"] if check["outcome"] == "FAILED"]
    assert failed["subject"] == "shop"
    assert failed["value"] == pytest.approx(2**-6)


def test_unchanged_retrievers_take_no_part_in_the_correction(shop: Shop) -> None:
    """S59: six of 20 queries lose one rank, and four other retrievers do not change."""
    shop.write_suite(make_suite())
    code = """
import json
from pathlib import Path

@pytest.fixture(params=["a", "b", "c", "d", "e"])
def retriever(request):
    name = "rankings.json" if request.param == "a" else "others.json"
    rankings = json.loads(Path(__file__).with_name(name).read_text())
    return lambda query, k: rankings.get(query, [])[:k]
"""
    shop.write_conftest(code)
    shop.write("others.json", shop.read("rankings.json"))
    shop.record()
    shop.break_search(QUERIES[:6], lambda docs: sink(docs, 1))

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    (failed,) = [check for check in build.data["checks"] if check["outcome"] == "FAILED"]
    assert failed["value"] == pytest.approx(2**-6)


def test_suites_with_different_metrics_are_pooled(shop: Shop) -> None:
    """S60: two of five queries get worse in each of four suites with four different metrics."""
    metrics = ["mrr@10", "ndcg@10", "map@10", "precision@3"]
    for number, metric in enumerate(metrics):
        part = QUERIES[number * 5 : number * 5 + 5]
        shop.write_suite(make_suite(part, f"metrics: [{metric}]\n"), f"suite{number}.ir.yaml")
    shop.record()
    worse = [query for number in range(4) for query in QUERIES[number * 5 : number * 5 + 2]]
    shop.break_search(worse)

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    (failed,) = [check for check in build.data["checks"] if check["outcome"] == "FAILED"]
    assert failed["subject"] == "suite0, suite1, suite2, suite3"
    assert failed["value"] == pytest.approx(2**-8)
    assert "ndcg@10" in failed["text"]


@pytest.mark.parametrize("better", [3, 0])
def test_better_queries_are_named_as_clearly_as_worse_ones(shop: Shop, better: int) -> None:
    """S71: two slightly worse and three better."""
    risen = QUERIES[2 : 2 + better]
    shop.write_suite(make_suite())
    shop.write_rankings(find(QUERIES, risen, lambda docs: sink(docs, 1)))
    shop.record()
    shop.break_search(QUERIES[:2], lambda docs: [docs[1], docs[0], *docs[2:]])

    build = shop.build()

    assert build.verdict == ("PASSED", 0)
    for query in (*QUERIES[:2], *risen):
        assert query in build.text
    assert f"2 of 20 queries worse, {better} better" in build.data["suites"][0]["line"]


def test_numbers_next_to_a_suite_are_its_own(shop: Shop) -> None:
    """S71: three suites fail at once."""
    for number in range(3):
        part = QUERIES[number * 6 : number * 6 + 6]
        shop.write_suite(make_suite(part, "thresholds: {ndcg@10: 0.95}\n"), f"s{number}.ir.yaml")
    shop.record()
    shop.break_search(QUERIES[:9])

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    lines = [suite["line"] for suite in build.data["suites"]]
    assert sorted(lines) == [
        "3 of 6 queries worse, 0 better",
        "6 of 6 queries worse, 0 better",
        "6 queries unchanged",
    ]


def test_rise_from_zero_is_more_than_any_percentage(shop: Shop) -> None:
    """S72: no query without results in the baseline, and four now."""
    shop.write_suite(make_suite(head="thresholds: {zero_results: {max_rise: 10%}}\n"))
    shop.record()
    shop.break_search(QUERIES[:4], lambda docs: [])

    build = shop.build()

    assert build.verdict == ("FAILED", 1)
    assert "zero_results" in build.list_failed()


def test_batches_keep_the_params_of_each_query(shop: Shop) -> None:
    """S72: 'batch' with different params for each query."""
    code = """
class Search:
    def batch(self, queries, k, shop):
        return [[f"{shop}-{query}"] for query in queries]

@pytest.fixture
def retriever():
    return Search()
"""
    shop.write_conftest(code)
    queries = ""
    for name in "abcd":
        queries += (
            f"  - {{query: q, id: {name}, params: {{shop: {name}}}, must_find: [{name}-q]}}\n"
        )
    shop.write_suite("queries:\n" + queries)

    assert shop.build().verdict == ("PASSED", 0)


@pytest.mark.parametrize(("count", "verdict"), [(2, ("PASSED", 0)), (3, ("FAILED", 1))])
def test_too_few_queries_to_test_are_named(
    shop: Shop, count: int, verdict: tuple[str, int]
) -> None:
    """S73: two graded queries fall from 1.000 to 0.406, with three it fails."""
    queries = QUERIES[:count]
    shop.write_suite(make_suite(queries))
    shop.record()
    shop.break_search(queries, lambda docs: sink(docs, 6))

    build = shop.build()

    assert build.verdict == verdict
    for query in queries:
        assert query in build.text
    assert "≤ 1" not in build.text
    if count == 2:
        assert "too few to test" in build.text
    else:
        assert "-1.7" in build.text


def test_broken_searches_fail_with_the_suites_of_the_example(shop: Shop) -> None:
    """S14: an empty search, one that returns the same list for all queries, one that shuffles."""
    shop.write_suite(make_suite())
    shop.record()
    same = list_docs(QUERIES[0])
    for change in (lambda docs: [], lambda docs: same, lambda docs: docs[::-1]):
        shop.break_search(QUERIES, change)

        build = shop.build()

        assert build.verdict == ("FAILED", 1)
        assert QUERIES[5] in str(build.data["worse"])


def test_slow_drop_over_many_builds_is_a_notice(shop: Shop) -> None:
    """S30: thirty changes, each −0.002."""
    shop.write_suite(make_suite())
    shop.record()
    shop.commit()
    assert shop.build("--ir-history=history.jsonl").verdict == ("PASSED", 0)
    (line,) = shop.read("history.jsonl").splitlines()
    entry = json.loads(line)
    lines = []
    for number in range(30):
        values = {**entry["values"], "ndcg@10": 1 - 0.002 * number}
        lines.append(json.dumps({**entry, "commit": f"{number:040}", "values": values}))
    shop.write("history.jsonl", "\n".join(lines) + "\n")
    shop.break_search(QUERIES[:4], lambda docs: sink(docs, 1))
    shop.record()
    shop.commit()

    build = shop.build("--ir-history=history.jsonl")

    assert build.verdict == ("PASSED", 0)
    assert "dropping slowly (−0.060 over 30 builds)" in build.text


def test_two_runs_give_equal_bytes(shop: Shop) -> None:
    """S13: the same run twice and in another order."""
    shop.write_suite(make_suite(QUERIES[:5]), "a.ir.yaml")
    shop.write_suite(make_suite(QUERIES[5:8]), "b.ir.yaml")
    shop.record()
    shop.break_search(QUERIES[:4])
    reports = set()
    for arguments in ([], ["b.ir.yaml", "a.ir.yaml"], []):
        build = shop.build(*arguments)
        del build.data["timing"]
        reports.add(re.sub(r"(a|b)\.ir\.yaml (a|b)\.ir\.yaml", "", str(build.data)))

    assert len(reports) == 1
