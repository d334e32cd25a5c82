"""Scenarios: a change of search, suites and baselines against the base branch in git."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.end_to_end.shop import (
    AGAINST_MAIN,
    QUERIES,
    STRICT,
    VARYING_SEARCH,
    Shop,
    find,
    list_docs,
    lose,
    make_suite,
    mark_rest_slow,
    sink,
)

BOTH_GATES = pytest.mark.parametrize(
    "gate", [STRICT, pytest.param((), marks=pytest.mark.slow)], ids=["strict", "normal"]
)
LIMITS = "thresholds: {ndcg@10: {min: 0.8, max_drop: 0.02}}\n"
BROKEN = QUERIES[:6]


def find_first(query: str) -> str:
    return f"must_find: [{list_docs(query)[0]}]"


def find_first_at_rank_2(query: str) -> str:
    return f"must_find: {{{list_docs(query)[0]}: 2}}"


BASE = make_suite(head=LIMITS, extra=find_first_at_rank_2)


# -- Honest work -----------------------------------------------------------------------------------


def test_query_added_and_query_removed_pass(shop: Shop) -> None:
    """S3: adds one query that has no baseline and removes another."""
    shop.write_suite(make_suite(head=LIMITS))
    shop.start_change()
    shop.write_suite(make_suite([*QUERIES[1:], "new query"], LIMITS))
    shop.write_rankings(find([*QUERIES, "new query"]))

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("PASSED", 0)
    assert (build.coverage["new"], build.coverage["removed"]) == (1, 1)
    assert "1 new" in build.last
    assert "1 removed" in build.last
    assert QUERIES[0] in shop.list_calls()


@pytest.mark.parametrize(
    ("extra", "docs", "verdict"),
    [
        ("must_find: [missing]", [], ("FAILED", 1)),
        ("thresholds: {ndcg@10: 0.9}", [], ("FAILED", 1)),
        ("thresholds: {ndcg@10: {max_drop: 0}}", [], ("PASSED", 0)),
    ],
)
def test_new_query_must_meet_rules_and_minimums(
    shop: Shop, extra: str, docs: list[str], verdict: tuple[str, int]
) -> None:
    """S3: rules and minimums apply to a new query, drops do not."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.write_suite(make_suite([*QUERIES, "new query"], extra={"new query": extra}))
    shop.write_rankings({**find(), "new query": docs})

    assert shop.build(AGAINST_MAIN).verdict == verdict


def test_changed_grade_is_not_a_regression(shop: Shop) -> None:
    """S4: a document is re-graded, and rankings are identical."""
    shop.write_suite(make_suite(head=LIMITS))
    shop.start_change()
    shop.write_suite(make_suite(head=LIMITS).replace("red-kettle-1: 3", "red-kettle-1: 1"))

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("PASSED", 0)
    assert "changed judgments" in build.text
    assert "1 query regraded" in build.last


HONEST: dict[str, Callable[[Shop], object]] = {
    "a suite grows": lambda shop: None,
    "tags": lambda shop: (
        shop.write_suite(
            make_suite(head=LIMITS, extra=lambda q: f"{find_first_at_rank_2(q)}, tags: [head]")
        )
        and None
    ),
    "another order": lambda shop: (
        shop.write_suite(make_suite(QUERIES[::-1], LIMITS, find_first_at_rank_2)) and None
    ),
    "split": lambda shop: None,
    "renamed": lambda shop: None,
    "renamed with its baseline": lambda shop: None,
    "minimum raised": lambda shop: shop.write_suite(BASE.replace("min: 0.8", "min: 0.9")),
    "drop narrowed": lambda shop: shop.write_suite(BASE.replace("0.02", "0.01")),
    "ids": lambda shop: (
        shop.write_suite(BASE.replace("{query: red lamp", "{id: x, query: red lamp")) and None
    ),
    "a comment": lambda shop: shop.write_suite(f"# words\n{BASE}"),
    "grades": lambda shop: (
        shop.write_suite(BASE.replace("red-lamp-3: 1", "red-lamp-3: 2")) and None
    ),
    "nine queries removed, minimum lowered": lambda shop: (
        shop.write_suite(
            make_suite(QUERIES[9:], LIMITS.replace("0.8", "0.5"), find_first_at_rank_2)
        )
        and None
    ),
    "one query removed": lambda shop: (
        shop.write_suite(make_suite(QUERIES[1:], LIMITS, find_first_at_rank_2)) and None
    ),
    "a baseline that is recorded again": lambda shop: shop.record(),
    "another suite": lambda shop: (
        shop.write_suite(make_suite(QUERIES[:3], LIMITS), "second.ir.yaml") and None
    ),
}


@pytest.mark.parametrize("edit", mark_rest_slow(4, HONEST))
@BOTH_GATES
def test_honest_work_passes(shop: Shop, edit: str, gate: tuple[str, ...]) -> None:
    """S35, S36, S65, S66: sound search, and suites that grow, move, split or lose queries."""
    shop.write_suite(BASE)
    shop.start_change()
    HONEST[edit](shop)
    shop.commit()

    build = shop.build(AGAINST_MAIN, *gate)

    assert build.verdict == ("PASSED", 0), build.text
    assert not build.data["base_checks"] or not build.list_failed("base_checks")
    assert len(build.data["causes"]) <= 1


def test_merged_suites_pass(shop: Shop) -> None:
    """S35: two suites are merged, and one of them is deleted."""
    shop.write_suite(make_suite(QUERIES[:8], LIMITS))
    shop.write_suite(make_suite(QUERIES[8:], LIMITS), "more.ir.yaml")
    shop.start_change()
    shop.write_suite(make_suite(QUERIES, LIMITS))
    shop.remove("more.ir.yaml")

    assert shop.build(AGAINST_MAIN, *STRICT).verdict == ("PASSED", 0)


@BOTH_GATES
def test_fixed_known_issue_that_is_closed_passes(shop: Shop, gate: tuple[str, ...]) -> None:
    """S35: a known issue that holds again is no failure of the base side."""
    issue = f"{find_first(QUERIES[0])}, known_issue: SEARCH-1"
    shop.write_suite(make_suite(extra={QUERIES[0]: issue}))
    shop.break_search(QUERIES[:1], lose)
    shop.start_change()
    shop.write_suite(make_suite(extra={QUERIES[0]: find_first(QUERIES[0])}))
    shop.write_rankings(find())
    shop.record()

    assert shop.build(AGAINST_MAIN, *gate).verdict == ("PASSED", 0)


def test_removed_queries_and_lowered_minimum_are_named(shop: Shop) -> None:
    """S36: sound search, nine queries removed and a minimum lowered."""
    shop.write_suite(BASE)
    shop.start_change()
    shop.write_suite(make_suite(QUERIES[9:], LIMITS.replace("0.8", "0.5"), find_first_at_rank_2))

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("PASSED", 0)
    assert "9 queries removed" in build.last
    assert "1 threshold lowered" in build.last


def test_threshold_that_replaces_a_default_check_is_an_addition(shop: Shop) -> None:
    """S65: sound search, and writes a threshold that replaces a default check, under strict."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.write_suite(make_suite(head="thresholds: {ndcg@10: {max_drop: 0.1}}\n"))

    build = shop.build(AGAINST_MAIN, *STRICT)

    assert build.verdict == ("PASSED", 0)
    assert "1 threshold added" in build.last
    assert "threshold removed" not in build.text


def test_removed_query_is_named_under_strict(shop: Shop) -> None:
    """S66: sound search, removes one of 20 queries, under strict."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.write_suite(make_suite(QUERIES[1:]))

    build = shop.build(AGAINST_MAIN, *STRICT)

    assert build.verdict == ("PASSED", 0)
    assert "19 compared" in build.last
    assert "1 removed" in build.last
    assert "could not be compared" not in build.text


@BOTH_GATES
def test_first_baseline_of_a_suite_passes(shop: Shop, gate: tuple[str, ...]) -> None:
    """S67: the first baseline of a suite that main already has, with a minimum and a rule."""
    shop.write_suite(BASE)
    shop.commit()
    shop.start_branch()
    shop.record()

    build = shop.build(AGAINST_MAIN, *gate)

    assert build.verdict == ("PASSED", 0)
    assert build.coverage["new"] == 20
    assert "unanswered" not in build.text
    assert "no answer" not in build.text


def test_improvement_without_a_baseline_update_is_named(shop: Shop) -> None:
    """S68: improves seven queries and does not update the baseline."""
    shop.write_suite(make_suite())
    shop.break_search(QUERIES[:7], lambda docs: sink(docs, 1))
    shop.start_change()
    shop.write_rankings(find())

    build = shop.build(AGAINST_MAIN)
    strict_build = shop.build(AGAINST_MAIN, *STRICT)

    assert build.verdict == ("PASSED", 0)
    assert "baseline out of date: 7 rankings differ" in build.last
    assert "--ir-update-baseline" in build.text
    assert strict_build.verdict == ("INCOMPLETE", 1)


def test_requests_without_any_baseline_are_named(shop: Shop) -> None:
    """S67: requests of the base branch that never got a baseline answer, and get none now."""
    shop.write_suite(make_suite(QUERIES[:10]))
    shop.record()
    shop.write_suite(make_suite(head="thresholds: {ndcg@10: 0.5}\n"))
    shop.commit()
    shop.start_branch()
    shop.write("README.md", "A change of something else\n")

    assert shop.build(AGAINST_MAIN).verdict == ("PASSED", 0)
    build = shop.build(AGAINST_MAIN, *STRICT)

    assert build.verdict == ("INCOMPLETE", 1)
    assert "10 queries have no baseline" in build.text


# -- A change that breaks search and edits what would object --------------------------------------


def suite_with(extra: Callable[[str], str] | dict[str, str], queries: object = QUERIES) -> str:
    return make_suite(queries, LIMITS, extra)  # type: ignore[arg-type]


def change_broken(extra: Callable[[str], str]) -> str:
    """Return the base suite, in which the broken queries have other keys."""
    return suite_with(lambda q: extra(q) if q in BROKEN else find_first_at_rank_2(q))


def regrade(text: str) -> str:
    for query in BROKEN:
        first, second, third = list_docs(query, 3)
        returned = sink(list_docs(query))
        for old, new in zip((first, second, third), returned, strict=False):
            text = text.replace(f"{old}: ", f"{new}: ", 1)
    return text


def without_judgments(text: str) -> str:
    lines = []
    for line in text.splitlines():
        query = line.partition("query: ")[2].partition(",")[0]
        lines.append(f"  - {{query: {query}}}" if query in BROKEN else line)
    return "\n".join(lines) + "\n"


def reword(text: str) -> str:
    for query in BROKEN:
        text = text.replace(f"query: {query},", f"query: good {query},")
    return text


LOOSE = "thresholds: {ndcg@10: {min: 0.1, max_drop: 0.9}}\n"
EDITS: dict[str, str] = {
    "loosened": make_suite(head=LOOSE),
    "regraded": regrade(make_suite(head=LIMITS)),
    "removed": make_suite(QUERIES[6:], LIMITS, find_first_at_rank_2),
    "without judgments": without_judgments(BASE.replace("must_find", "must_find")),
    "reworded": reword(BASE),
    "known issues": change_broken(lambda q: f"{find_first_at_rank_2(q)}, known_issue: S-1").replace(
        "max_drop: 0.02", "max_drop: 0.9"
    ),
    "weight 0": make_suite(
        head="thresholds: {weighted ndcg@10: {min: 0.8, max_drop: 0.02}}\n",
        extra=lambda q: "weight: 0" if q in BROKEN else "",
    ),
    "from a file": "queries: queries.txt\njudgments: grades.csv\nthresholds: {ndcg@10: {max_drop: 0.9}}\n",
    "another retriever": f"retriever: old_retriever\n{BASE}",
    "baseline: retriever": "baseline: {retriever: old_retriever}\n" + make_suite(),
    "only warns": BASE.replace("max_drop: 0.02", "max_drop: 0.02, warn: true").replace(
        "must_find", "must_find_any"
    ),
}


def write_files(shop: Shop) -> None:
    """Write the queries as files, and a second fixture that returns the old rankings."""
    shop.write("queries.txt", "\n".join(QUERIES) + "\n")
    rows = ["query,doc,grade"]
    for query in QUERIES:
        rows += [
            f"{query},{doc},{grade}" for doc, grade in zip(list_docs(query, 3), "321", strict=False)
        ]
    shop.write("grades.csv", "\n".join(rows) + "\n")
    conftest = shop.read("conftest.py")
    shop.write("conftest.py", f"{conftest}\n{OLD_RETRIEVER}")
    shop.write("old.json", shop.read("rankings.json"))


OLD_RETRIEVER = """
@pytest.fixture
def old_retriever():
    old = json.loads(RANKINGS.with_name("old.json").read_text())
    return lambda query, k: old.get(query, [])[:k]
"""


def answer_reworded(shop: Shop) -> None:
    rankings = find(QUERIES, BROKEN)
    for query in BROKEN:
        rankings[f"good {query}"] = list_docs(query)
    shop.write_rankings(rankings)


@BOTH_GATES
@pytest.mark.parametrize("edit", mark_rest_slow(3, EDITS))
def test_no_edit_of_the_suite_hides_a_broken_search(
    shop: Shop, edit: str, gate: tuple[str, ...]
) -> None:
    """S33, S34, S63: six queries get worse, and the suite is edited so that it passes."""
    shop.write_suite(BASE)
    shop.start_change()
    write_files(shop)
    answer_reworded(shop)
    shop.write_suite(EDITS[edit])
    shop.commit()

    build = shop.build(AGAINST_MAIN, *gate)

    assert build.outcome in ("REVIEW", "FAILED"), build.text
    if build.outcome == "REVIEW":
        assert build.status == (1 if gate else 0)
        assert "shop" in build.last
        assert build.data["base_checks"]
        assert build.data["edits"]
        assert "main" in build.data["headline"]
    else:
        assert build.status == 1


EDITED_REVIEW = ["loosened", "regraded", "removed", "weight 0", "another retriever", "known issues"]


@pytest.mark.parametrize("edit", mark_rest_slow(1, EDITED_REVIEW))
def test_edited_suite_leads_to_a_review(shop: Shop, edit: str) -> None:
    """S33, S34, S63: the report names the base checks, their values, and the edits."""
    shop.write_suite(BASE)
    shop.start_change()
    write_files(shop)
    answer_reworded(shop)
    shop.write_suite(EDITS[edit])

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0), build.text
    failing = {check["label"]: check for check in build.data["base_checks"]}
    assert "ndcg@10" in failing
    assert failing["ndcg@10"]["baseline_value"] == pytest.approx(1)
    assert failing["ndcg@10"]["value"] == pytest.approx(0.839, abs=0.001)
    assert "ndcg@10 1.000 0.839" in build.text or "red-kettle-1 is at rank 5" in build.text


def test_moved_queries_are_still_compared(shop: Shop) -> None:
    """S34: the broken queries move to another suite, where nothing is written."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.break_search(BROKEN)
    shop.write_suite(make_suite(QUERIES[6:]))
    shop.write_suite(make_suite(BROKEN), "moved.ir.yaml")

    assert shop.build(AGAINST_MAIN).verdict == ("FAILED", 1)


@pytest.mark.parametrize("extra", ["weight: 0", "must_find: [none], known_issue: S-1"])
def test_weight_0_and_known_issues_stay_in_the_default_checks(shop: Shop, extra: str) -> None:
    """S34: without weighted metrics, checks 2 and 3 keep queries of weight 0 and known issues."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.break_search(BROKEN)
    shop.write_suite(make_suite(extra=dict.fromkeys(BROKEN, extra)))

    assert shop.build(AGAINST_MAIN).verdict == ("FAILED", 1)


def test_queries_that_expect_no_results_now_need_a_review(shop: Shop) -> None:
    """S34: the broken queries get 'expect_no_results'."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.break_search(BROKEN, lambda docs: [])
    lines = []
    for line in make_suite().splitlines():
        query = line.partition("query: ")[2].partition(",")[0]
        expects = f"  - {{query: {query}, expect_no_results: true}}"
        lines.append(expects if query in BROKEN else line)
    shop.write_suite("\n".join(lines) + "\n")

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0), build.text


def test_edits_in_two_ways_need_a_review(shop: Shop) -> None:
    """S34: two queries are removed, two lose their judgments, two are re-graded."""
    shop.write_suite(BASE)
    shop.start_change()
    shop.break_search(BROKEN)
    suite = make_suite(QUERIES[2:], LIMITS)
    for query in BROKEN[2:4]:
        line = next(line for line in suite.splitlines() if f"query: {query}," in line)
        suite = suite.replace(line, f"  - {{query: {query}}}")
    for query in BROKEN[4:6]:
        for old, new in zip(list_docs(query, 3), sink(list_docs(query)), strict=False):
            suite = suite.replace(f"{old}: ", f"{new}: ", 1)
    shop.write_suite(suite)

    assert shop.build(AGAINST_MAIN).verdict == ("REVIEW", 0)


def test_change_of_search_alone_is_failed_once(shop: Shop) -> None:
    """S33: without edits the current suites fail themselves."""
    shop.write_suite(BASE)
    shop.start_change()
    shop.break_search(BROKEN)

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("FAILED", 1)
    assert not build.data["base_checks"]


# -- Baselines -------------------------------------------------------------------------------------


def test_updated_baseline_needs_a_review(shop: Shop) -> None:
    """S16: updates the baseline file in the same pull request."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.break_search()
    shop.build("--ir-update-baseline")
    shop.commit()

    build = shop.build(AGAINST_MAIN)
    strict_build = shop.build(AGAINST_MAIN, *STRICT)

    assert build.verdict == ("REVIEW", 0)
    assert strict_build.verdict == ("REVIEW", 1)
    assert "10 baseline answers edited" in build.last
    assert "dropped significantly, by 0.268" in build.text
    assert QUERIES[0] in build.text


def test_drop_below_the_committed_baseline_fails(shop: Shop) -> None:
    """S16: FAILED for whatever is worse than the committed baseline as well."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.break_search()
    shop.build("--ir-update-baseline")
    shop.break_search(QUERIES[:10], lambda docs: sink(docs, 8))

    assert shop.build(AGAINST_MAIN).verdict == ("FAILED", 1)


def test_renumbered_queries_are_compared(shop: Shop) -> None:
    """S18: ids of queries are renumbered, and rankings get worse."""
    numbers = {query: f"id: q{number}" for number, query in enumerate(QUERIES)}
    others = {query: f"id: q{number}" for number, query in enumerate(QUERIES[::-1])}
    shop.write_suite(make_suite(extra=numbers))
    shop.start_change()
    shop.break_search()
    shop.write_suite(make_suite(extra=others))

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("FAILED", 1)
    assert build.coverage["compared"] == 20
    assert "q19" in str(build.data["worse"])


@pytest.mark.parametrize("moves_baseline", [True, False])
def test_renamed_suite_is_compared(shop: Shop, moves_baseline: bool) -> None:
    """S19: suite and baseline are renamed, or only the suite, and rankings get worse."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.git("mv", "shop.ir.yaml", "market.ir.yaml")
    if moves_baseline:
        shop.git("mv", ".ir-baseline/shop.jsonl", ".ir-baseline/market.jsonl")
    shop.break_search()
    shop.commit()

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("FAILED", 1)
    assert build.coverage["compared"] == 20
    assert "shop" in str(build.data["edits"])


def test_parametrized_fixture_needs_a_review(shop: Shop) -> None:
    """S19: the fixture is parametrised, and rankings get worse."""
    shop.write_suite(make_suite())
    shop.start_change()
    code = shop.read("conftest.py").replace('scope="session"', 'params=["a", "b"]')
    shop.write("conftest.py", code)
    shop.break_search()

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0)
    assert build.data["base_checks"]
    assert any(query in build.text for query in QUERIES[:10])


def test_parameter_that_is_gone_needs_a_review(shop: Shop) -> None:
    """A retriever with a broken search is dropped, and the other one of the fixture is sound."""
    shop.write_suite(make_suite())
    code = shop.read("conftest.py").replace('scope="session"', 'params=["a", "b"]')
    shop.write("conftest.py", code)
    shop.start_change()
    shop.write("conftest.py", code.replace('["a", "b"]', '["b"]'))

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0)
    assert shop.build(AGAINST_MAIN, *STRICT).verdict == ("REVIEW", 1)
    assert "did not run for retriever[a] of main" in build.text
    assert "20 queries" in build.text
    assert "shop.a.jsonl" in build.text


def test_updates_for_different_queries_merge(shop: Shop) -> None:
    """S20: two branches update the baseline for different queries and merge."""
    shop.write_suite(make_suite())
    shop.start_change()
    better = lambda docs: [docs[0], docs[1], docs[2], "new", *docs[3:]]  # noqa: E731
    shop.break_search(QUERIES[:1], better)
    shop.record()
    shop.commit()
    shop.git("checkout", "-q", "main")
    shop.break_search(QUERIES[-1:], better)
    shop.record()
    shop.commit()
    shop.git("checkout", "-q", "change")
    shop.git("-c", "user.name=a", "-c", "user.email=a@b.c", "merge", "-q", "-X", "ours", "main")
    shop.break_search([QUERIES[0], QUERIES[-1]], better)

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("PASSED", 0)
    assert "out of date" not in build.last


def test_conflict_in_the_baseline_names_the_query_and_the_command(shop: Shop) -> None:
    """S21: a merge conflict in the baseline, on one query that both sides changed."""
    shop.write_suite(make_suite())
    shop.start_change()
    lines = shop.read(".ir-baseline/shop.jsonl").splitlines()
    number = next(i for i, line in enumerate(lines) if '"query":"red lamp"' in line)
    conflict = ["<<<<<<< HEAD", lines[number], "=======", lines[number], ">>>>>>> main"]
    shop.write(
        ".ir-baseline/shop.jsonl", "\n".join(lines[:number] + conflict + lines[number + 1 :])
    )

    for arguments in ([], [AGAINST_MAIN]):
        build = shop.build(*arguments)

        assert build.verdict == ("ERROR", 2)
        assert "red lamp" in build.text
        assert "--ir-update-baseline" in build.text
    shop.record()
    assert shop.build(AGAINST_MAIN).verdict == ("PASSED", 0)


def test_known_issue_of_the_baseline_passes(shop: Shop) -> None:
    """S6: the baseline already breaks a rule, and the change does not touch it."""
    issue = f"{find_first(QUERIES[0])}, known_issue: SEARCH-212"
    shop.write_suite(make_suite(extra={QUERIES[0]: issue}))
    shop.break_search(QUERIES[:1], lose)
    shop.record()

    known = shop.build()
    shop.write_rankings(find())
    fixed = shop.build()

    assert known.verdict == ("PASSED", 0)
    assert "SEARCH-212" in known.text
    assert fixed.verdict == ("FAILED", 1)
    assert (
        "Known issue SEARCH-212 is fixed. Remove known_issue at shop.ir.yaml:2"
        in fixed.text.replace("`", "")
    )


def test_expired_known_issue_breaks_no_pull_request(shop: Shop) -> None:
    """S6: after its date a known issue fails in a plain run, and is a notice against a branch."""
    issue = f"{find_first(QUERIES[0])}, known_issue: {{id: SEARCH-212, until: 2026-01-31}}"
    shop.write_suite(make_suite(extra={QUERIES[0]: issue}))
    shop.break_search(QUERIES[:1], lose)
    shop.build("--ir-update-baseline")
    shop.commit()
    shop.start_branch()

    plain = shop.build()
    against_main = shop.build(AGAINST_MAIN)

    assert plain.verdict == ("FAILED", 1)
    assert against_main.verdict == ("PASSED", 0)
    for build in (against_main, plain):
        assert "SEARCH-212 expired on 2026-01-31" in build.text


# -- New suites that would dilute ------------------------------------------------------------------


@pytest.mark.parametrize("addition", ["favorable copies", "easy queries"])
def test_added_suite_dilutes_nothing(shop: Shop, addition: str) -> None:
    """S58: nine of 20 queries lose one rank, and a suite is added that favors the change."""
    easy = [f"easy {number}" for number in range(200)]
    shop.write_suite(make_suite())
    shop.start_change()
    worse = find([*QUERIES, *easy], QUERIES[:9], lambda docs: sink(docs, 1))
    shop.write_rankings(worse)
    if addition == "easy queries":
        shop.write_suite(make_suite(easy), "easy.ir.yaml")
    else:
        lines = ["queries:"]
        for query in QUERIES:
            lines.append(f"  - {{query: {query}, relevant: {{{worse[query][0]}: 3}}}}")
        shop.write_suite("\n".join(lines) + "\n", "copies.ir.yaml")

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("FAILED", 1)
    failed = [check for check in build.data["checks"] if check["outcome"] == "FAILED"]
    assert "shop" in {check["subject"] for check in failed}
    if addition == "easy queries":
        assert build.coverage["new"] == 200
        assert [check["value"] for check in failed] == [pytest.approx(2**-9)]


def test_retriever_that_returns_the_old_answers_needs_a_review(shop: Shop) -> None:
    """S63: breaks search and points the suite at another fixture that returns the old answers."""
    shop.write_suite(make_suite())
    shop.start_change()
    write_files(shop)
    shop.break_search()
    shop.write_suite("retriever: old_retriever\n" + make_suite())

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0)
    assert "retriever" in str(build.data["edits"])
    assert build.list_failed("base_checks") == ["no statistically significant drop"]


@pytest.mark.parametrize("deletes", [False, True])
def test_lowered_gate_does_not_help(shop: Shop, deletes: bool) -> None:
    """S64: breaks search, widens the drop, and lowers 'ir_gate' or deletes the ini file."""
    shop.write("tests/search/pytest.ini", "[pytest]\nir_gate = strict\n")
    for name in ("conftest.py", "rankings.json"):
        shop.write(f"tests/search/{name}", shop.read(name))
    head = "thresholds: {ndcg@10: {max_drop: 0.02}}\n"
    shop.write_suite(make_suite(head=head), "tests/search/shop.ir.yaml")
    shop.start_change("tests/search")
    shop.write_rankings(find(QUERIES, QUERIES[:10]), "tests/search")
    shop.write_suite(make_suite(head=head.replace("0.02", "0.9")), "tests/search/shop.ir.yaml")
    if deletes:
        shop.remove("tests/search/pytest.ini")
    else:
        shop.write("tests/search/pytest.ini", "[pytest]\n")

    build = shop.build(AGAINST_MAIN, "tests/search")

    assert build.verdict == ("REVIEW", 1)
    assert "main has ir_gate = strict" in build.text.replace("`", "")


def test_repeated_search_of_main_is_compared_by_its_means(shop: Shop) -> None:
    """S23: unchanged code, and an index that answers differently with each build."""
    shop.write_suite(make_suite(head="repeat: 3\n"))
    answers = {}
    for number, query in enumerate(QUERIES):
        docs = list_docs(query)
        rankings = [docs, sink(docs, 1), docs]
        answers[query] = rankings[number % 3 :] + rankings[: number % 3]
    shop.vary(answers)
    shop.start_change()

    assert VARYING_SEARCH.strip() in shop.read("conftest.py")
    assert shop.build(AGAINST_MAIN, *STRICT).verdict == ("PASSED", 0)
    shop.vary({query: [sink(docs, 4) for docs in rankings] for query, rankings in answers.items()})
    assert shop.build(AGAINST_MAIN).verdict == ("FAILED", 1)


# -- Checks that can no longer be made -------------------------------------------------------------

COMPARED = f"baseline: {{retriever: old_retriever}}\n{LIMITS.replace('min: 0.8, ', '')}"


@pytest.mark.parametrize("head", ["", COMPARED.replace("old_retriever", "retriever")])
def test_comparison_with_another_retriever_is_made_for_main(shop: Shop, head: str) -> None:
    """S34: the suite is no longer compared with the retriever that main compares it with."""
    write_files(shop)
    shop.write_suite(make_suite(head=COMPARED))
    shop.commit()
    shop.start_branch()
    assert shop.build(AGAINST_MAIN, *STRICT).verdict == ("PASSED", 0)
    shop.break_search()
    shop.write_suite(make_suite(head=head or "thresholds: {ndcg@10: 0.5}\n"))

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0), build.text
    assert build.list_failed("base_checks") == ["ndcg@10"]


def test_retriever_to_compare_with_that_is_gone_needs_a_review(shop: Shop) -> None:
    """S53: the retriever that main compares a suite with is deleted."""
    conftest = shop.read("conftest.py")
    write_files(shop)
    shop.write_suite(make_suite(head=COMPARED))
    shop.commit()
    shop.start_branch()
    shop.break_search()
    shop.write("conftest.py", conftest)
    shop.write_suite(make_suite(head="thresholds: {ndcg@10: 0.5}\n"))

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0), build.text
    assert "can no longer be checked for main" in build.text


STAGED = """
class Search:
    def search(self, query, k):
        return [f"{query.replace(' ', '-')}-{number}" for number in range(1, 13)][:k]

    def stages(self, query, k):
        return {"candidates": self.search(query, k)}

@pytest.fixture
def retriever():
    return Search()
"""


def test_stage_that_is_gone_needs_a_review(shop: Shop) -> None:
    """S53: the retriever no longer says what its stages returned, and the threshold is removed."""
    shop.write_conftest(STAGED)
    shop.write_suite(make_suite(head="thresholds: {candidates recall@10: 0.9}\n"))
    shop.start_change()
    shop.write_conftest(STAGED.replace("def stages", "def other_stages"))
    shop.write_suite(make_suite())

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0), build.text
    assert "candidates recall@10" in build.top
