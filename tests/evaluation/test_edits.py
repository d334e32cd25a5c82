"""What a change edits in suites, by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_irquality.evaluation.edits import SuiteEdit, find_edits, summarize_edits
from pytest_irquality.evaluation.evaluate import Branch
from pytest_irquality.metrics import Judgments, parse_metric
from pytest_irquality.suite.model import KnownIssue, RetrieverId, Suite
from pytest_irquality.suite.rules import ExpectNoResults, MustFind
from tests.builders import WORSE, make_query, make_run, make_suite, make_threshold
from tests.evaluation.decision_builders import answer, make_branch, merge

FLOOR = make_threshold(min=0.9)
DROP = make_threshold("recall@10", max_drop=0.05)
RULE = MustFind({"best": None})
SHOP = make_suite(
    queries=[make_query(f"shop {number}", rules=(RULE,)) for number in range(4)],
    thresholds=[FLOOR, DROP],
)
FIRST = SHOP.queries[0]


def edit_first(**fields: object) -> Suite:
    """Edit the first query."""
    edited = replace(FIRST, **fields)  # type: ignore[arg-type]
    return replace(SHOP, queries=(edited, *SHOP.queries[1:]))


def edit_thresholds(*thresholds: object) -> Suite:
    return make_suite(queries=SHOP.queries, thresholds=list(thresholds))  # type: ignore[arg-type]


def find(current: Suite, base: Suite = SHOP) -> tuple[SuiteEdit, ...]:
    return find_edits(Branch(suites=(current,)), Branch(suites=(base,)))


def list_texts(current: Suite) -> list[str]:
    return [str(text) for edit in find(current) for text in edit.texts]


@pytest.mark.parametrize(
    ("suite", "texts"),
    [
        pytest.param(SHOP, [], id="nothing"),
        pytest.param(replace(SHOP, queries=SHOP.queries[3:]), ["3 queries removed"], id="removed"),
        pytest.param(
            replace(SHOP, queries=(*SHOP.queries, make_query("new"))), ["1 query added"], id="added"
        ),
        pytest.param(edit_first(text="reworded"), ["1 query reworded"], id="reworded"),
        pytest.param(edit_first(id="renumbered"), [], id="another id"),
        pytest.param(edit_first(tags=("head",)), [], id="another tag"),
        pytest.param(edit_first(params={"lang": "de"}), ["1 query reworded"], id="parameters"),
        pytest.param(
            edit_first(judgments=Judgments({"junk": 1})), ["1 query regraded"], id="regraded"
        ),
        pytest.param(edit_first(judgments=Judgments({})), ["1 query regraded"], id="ungraded"),
        pytest.param(edit_first(rules=()), ["1 rule removed"], id="rule removed"),
        pytest.param(
            edit_first(rules=(ExpectNoResults(),)),
            ["1 rule removed", "1 rule added"],
            id="rule replaced",
        ),
        pytest.param(edit_first(weight=0.0), ["1 weight edited"], id="weight"),
        pytest.param(
            edit_first(known_issue=KnownIssue("SEARCH-1")), ["1 known issue added"], id="issue"
        ),
        pytest.param(edit_thresholds(FLOOR), ["1 threshold removed"], id="threshold removed"),
        pytest.param(
            edit_thresholds(FLOOR, DROP, make_threshold("mrr@10", min=0.5)),
            ["1 threshold added"],
            id="threshold added",
        ),
        pytest.param(
            edit_thresholds(make_threshold(min=0.5), DROP), ["1 threshold lowered"], id="lowered"
        ),
        pytest.param(
            edit_thresholds(make_threshold(min=0.95), DROP), ["1 threshold raised"], id="raised"
        ),
        pytest.param(
            edit_thresholds(FLOOR, make_threshold("recall@10", max_drop=0.9)),
            ["1 allowed drop widened"],
            id="widened",
        ),
        pytest.param(
            edit_thresholds(FLOOR, make_threshold("recall@10", max_drop=0.01)),
            ["1 allowed drop narrowed"],
            id="narrowed",
        ),
        pytest.param(
            edit_thresholds(FLOOR, replace(DROP, is_warning=True)),
            ["1 threshold edited"],
            id="warns",
        ),
        pytest.param(
            edit_thresholds(FLOOR, make_threshold("recall@10", min=0.5)),
            ["1 threshold edited"],
            id="another bound",
        ),
        pytest.param(
            replace(SHOP, retriever=RetrieverId("other")),
            ["retriever other instead of retriever"],
            id="retriever",
        ),
        pytest.param(
            replace(SHOP, metrics=(parse_metric("mrr@10"),)), ["'metrics' edited"], id="metric"
        ),
        pytest.param(
            replace(SHOP, settings=replace(SHOP.settings, depth=100)),
            ["'depth' edited"],
            id="depth",
        ),
    ],
)
def test_edits_have_names(suite: Suite, texts: list[str]) -> None:
    assert list_texts(suite) == texts


def test_query_in_another_suite_has_moved() -> None:
    kept = replace(SHOP, queries=SHOP.queries[1:])
    other = make_suite("help", [FIRST])

    edits = find_edits(Branch(suites=(kept, other)), Branch(suites=(SHOP,)))

    assert [str(text) for text in edits[0].texts] == ["1 query moved"]
    assert [str(text) for text in edits[1].texts] == ["suite added"]


def test_renamed_suite_is_a_removed_and_an_added_one() -> None:
    boots = replace(SHOP, name="boots", path="boots.ir.yaml", queries=SHOP.queries[1:])

    old, new = find(boots)

    texts = [str(text) for text in old.texts]
    assert texts == ["suite removed", "1 query removed", "3 queries moved"]
    assert not old.removes_all_queries
    assert [str(text) for text in new.texts] == ["suite added"]


def test_deleted_suite_leaves_nothing() -> None:
    (edit,) = find_edits(Branch(), Branch(suites=(SHOP,)))

    assert edit.removes_all_queries
    assert [str(text) for text in edit.texts] == ["suite removed", "4 queries removed"]


def test_suite_that_cannot_be_read_is_not_removed() -> None:
    current = Branch(errors={SHOP.path: "line 1: unknown key"})

    assert find_edits(current, Branch(suites=(SHOP,))) == ()


def test_same_ids_in_another_suite_are_other_queries() -> None:
    """An id such as ``1`` occurs in many suites."""
    base = make_suite("shop", [make_query("red shoes", id="1")])
    other = make_suite("help", [make_query("warranty", id="1")])

    edits = find_edits(Branch(suites=(other,)), Branch(suites=(base,)))

    assert edits[0].removes_all_queries


def test_reworded_suite_with_its_ids_is_still_there() -> None:
    base = make_suite("shop", [make_query("red shoes", id="1")])
    suite = make_suite("shop", [make_query("red boots", id="1")])

    (edit,) = find(suite, base)

    assert not edit.removes_all_queries


def test_suite_that_the_command_line_leaves_out_is_not_removed() -> None:
    from pytest_irquality.evaluation.evaluate import SuiteKey
    from pytest_irquality.evaluation.results import EvaluationContext

    context = EvaluationContext(
        selected_items=frozenset(), deselected_query_ids=frozenset(SHOP.queries_by_id)
    )
    base = Branch(suites=(SHOP,), contexts={SuiteKey(SHOP.path): context})

    assert find_edits(Branch(), base) == ()


def test_committed_answers_that_the_change_edits_are_counted() -> None:
    run = make_run(SHOP)
    edited = merge(run, answer(SHOP.queries[:2], WORSE))

    edits = find_edits(make_branch([SHOP], edited), make_branch([SHOP], run))

    assert [str(text) for edit in edits for text in edit.texts] == ["2 baseline answers edited"]


def test_first_baseline_is_no_edit() -> None:
    assert find_edits(make_branch([SHOP], make_run(SHOP)), make_branch([SHOP])) == ()


def test_lowered_gate_is_an_edit() -> None:
    edits = find_edits(Branch(suites=(SHOP,)), Branch(suites=(SHOP,), is_strict=True))

    assert [str(text) for text in edits[0].texts] == ["gate lowered"]


def test_summary_adds_up_the_edits_of_all_suites() -> None:
    boots = make_suite("boots", 6)
    base = Branch(suites=(SHOP, boots))
    current = Branch(
        suites=(
            replace(edit_thresholds(make_threshold(min=0.5), DROP), queries=SHOP.queries[1:]),
            replace(boots, queries=boots.queries[3:]),
        )
    )

    summary = summarize_edits(find_edits(current, base))

    assert str(summary) == "4 queries removed, 1 threshold lowered"


def test_diff_shows_the_lines_of_suites_and_their_files() -> None:
    suite = replace(SHOP, files=("qrels.csv",))
    base = Branch(suites=(suite,), texts={SHOP.path: "a\nb\n", "qrels.csv": "q,d,3\n"})
    current = Branch(suites=(suite,), texts={SHOP.path: "a\nc\n", "qrels.csv": "q,d,1\n"})

    (edit,) = find_edits(current, base)

    assert edit.diff.splitlines() == [
        "--- a/shop.ir.yaml",
        "+++ b/shop.ir.yaml",
        "@@ -1,2 +1,2 @@",
        " a",
        "-b",
        "+c",
        "--- a/qrels.csv",
        "+++ b/qrels.csv",
        "@@ -1 +1 @@",
        "-q,d,3",
        "+q,d,1",
    ]
