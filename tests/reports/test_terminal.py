from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_irquality.evaluation.decide import decide
from pytest_irquality.evaluation.evaluate import Branch
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.io.text import DataPart, write
from pytest_irquality.reports.build_view import build_view
from pytest_irquality.reports.terminal import (
    format_failure,
    measure_width,
    render_lines,
    render_terminal,
)
from pytest_irquality.reports.view_model import View
from pytest_irquality.suite.rules import MustNotFind
from tests.reports.builders import (
    GOOD,
    LOST,
    SETTINGS,
    SWAPPED,
    WORSE,
    make_decision,
    make_query,
    make_run,
    make_suite,
    make_threshold,
    make_view,
)


def make_busy_view() -> View:
    """Make a view with more of everything than fifteen lines can hold."""
    queries = []
    for number in range(20):
        tag = "head" if number < 8 else "tail"
        queries.append(make_query(f"日本語の長い検索クエリ {number}", tags=(tag,)))
    thresholds = [make_threshold("ndcg@10", min=0.99), make_threshold("mrr@10", min=0.99)]
    metrics = ["ndcg@10", "recall@10", "mrr@10", "map@10"]
    suite = make_suite("shop", queries, metrics=metrics, thresholds=thresholds)
    before = make_run(suite, {query.text: SWAPPED for query in queries[15:]})
    now = make_run(suite, {queries[14].text: "TimeoutError: " + "long " * 60}, worse=10)
    settings = replace(SETTINGS, written={"report": "ir-report.html"})
    return make_view(suite, now, before, settings=settings)


def test_section_shows_what_got_worse_and_what_to_do() -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])
    view = make_view(suite, make_run(suite, worse=2, ranking=LOST), make_run(suite))

    lines = render_terminal(view).splitlines()

    assert lines[0] == (
        '"shop 0" and "shop 1" lost all their relevant documents. Search got worse for 2'
    )
    assert lines[4:6] == [
        "metric   before    now  change  threshold",
        "ndcg@10   1.000  0.900  −0.100  minimum 0.9",
    ]
    assert lines[6].split()[:4] == ["query", "before", "now", "change"]
    assert lines[7].startswith("▼  shop 0   1.000  0.000  −1.000  Oak Table 1 → not retrieved")
    assert lines[-1] == (
        "FAILED shop (shop.ir.yaml): 1 of 5 checks failed; 20 queries: 20 compared"
    )


def test_only_lines_about_failures_are_red() -> None:
    query = make_query("FAILED ✗ shoes")
    suite = make_suite("shop", [query], thresholds=[make_threshold("ndcg@10", min=0.9)])
    failed = make_view(suite, make_run(suite, worse=1), make_run(suite))
    passed = make_view(suite, make_run(suite), make_run(suite))

    red = [line.text for line in render_lines(failed, verbosity=1) if line.is_red]

    assert red[-1].startswith("FAILED shop (shop.ir.yaml)")
    assert len(red) > 1
    assert not any("shoes" in line for line in red)
    assert not any(line.is_red for line in render_lines(passed, verbosity=1))


def test_section_has_at_most_fifteen_lines_of_eighty_columns() -> None:
    lines = render_terminal(make_busy_view()).splitlines()

    assert len(lines) == 15
    assert max(map(measure_width, lines)) <= 80


def test_continuation_of_the_last_paragraph_is_indented() -> None:
    lines = render_terminal(make_busy_view()).splitlines()

    start = next(index for index, line in enumerate(lines) if line.startswith("FAILED"))
    assert all(line.startswith("  ") for line in lines[start + 1 :])


def test_verbose_section_shows_every_query_and_notice() -> None:
    view = make_busy_view()

    text = render_terminal(view, verbosity=1, columns=120)

    assert all(row.query.text in text for row in view.worse)
    assert "compared with .ir-baseline" in text


def test_quiet_section_is_one_short_line() -> None:
    suite = make_suite()
    view = make_view(suite, make_run(suite, worse=10), make_run(suite))

    (line,) = render_terminal(view, verbosity=-1).splitlines()

    assert line == (
        "FAILED shop (shop.ir.yaml): Search got worse for 10 of 20 queries; 20 queries: 20 compared"
    )


def test_both_directions_have_the_same_room() -> None:
    """Verdict case 22: five queries are named without -v."""
    suite = make_suite()
    now = make_run(suite, {"shop 0": SWAPPED, "shop 1": SWAPPED})
    before = make_run(suite, {"shop 5": WORSE, "shop 6": WORSE, "shop 7": WORSE})

    text = render_terminal(make_view(suite, now, before))

    for name in ("▼  shop 0", "▼  shop 1", "▲  shop 5", "▲  shop 6", "▲  shop 7"):
        assert name in text


def test_many_suites_have_one_line_each_and_a_count_of_the_others() -> None:
    suites = [make_suite(f"suite {number:02}", 8) for number in range(30)]
    answers = {query.text: WORSE for suite in suites[:5] for query in suite.queries[:6]}
    view = make_view(suites, make_run(suites, answers), make_run(suites))

    lines = render_terminal(view).splitlines()

    assert sum(line.startswith("✗  suite") for line in lines) == 4
    assert "   and 26 more suites with -v" in lines
    assert len(lines) <= 15


def test_data_cannot_act_on_a_terminal_or_a_ci_system() -> None:
    text = "\x1b[2J\n::error ::forged"
    suite = make_suite("sh\x1bop", [make_query(text)], path="shop.ir.yaml")
    view = make_view(suite, make_run(suite, worse=1), make_run(suite))

    output = render_terminal(view, verbosity=1)

    assert "\x1b" not in output
    assert not any(line.lstrip().startswith("::") for line in output.splitlines())


def test_broken_rules_are_named_next_to_broken_thresholds() -> None:
    query = make_query("office chair", rules=(MustNotFind({"best:office-chair": None}),))
    suite = make_suite("shop", [query], thresholds=[make_threshold("ndcg@10", min=0.99)])
    view = make_view(suite, make_run(suite, worse=1, ranking=WORSE))

    lines = render_terminal(view).splitlines()

    assert lines[0].startswith("2 of 3 checks failed.")
    assert any(line.startswith('✗ "office chair": ') for line in lines)


def test_wrapping_makes_no_workflow_command() -> None:
    """GitHub also reads a command after the spaces of a continuation line."""
    suite = make_suite(
        "shop", [make_query(f"red shoes for winter and rain ::error ::{n}") for n in range(9)]
    )
    view = make_view(suite, make_run(suite, worse=9, ranking=LOST), make_run(suite))

    for columns in range(40, 120):
        for line in render_terminal(view, verbosity=1, columns=columns).splitlines():
            assert not line.lstrip().startswith("::")


def test_many_mistakes_of_a_suite_keep_the_section_short() -> None:
    mistakes = "\n".join(f"shop.ir.yaml:{number}: unknown key 'x'" for number in range(1, 11))
    branch = Branch(errors={"shop.ir.yaml": write(DataPart(mistakes))})
    view = build_view(decide(branch, {}), SETTINGS)

    lines = render_terminal(view).splitlines()

    assert "shop.ir.yaml:1: unknown key 'x' (9 more)" in " ".join(lines)
    assert len(lines) <= 15
    assert "\\n" not in "".join(lines)
    assert any(line.startswith("ERROR shop.ir.yaml: ") for line in lines)


def fail(suite_name: str = "shop", **options: object) -> str:
    """Format the failure of a suite whose minimum is broken."""
    thresholds = [make_threshold("ndcg@10", min=0.99)]
    suite = make_suite(suite_name, 3, thresholds=thresholds)
    decision = make_decision(suite, make_run(suite, worse=1), make_run(suite))
    (evaluation,) = decision.current.evaluations
    failed = [result for result in evaluation.results if result.outcome is Outcome.FAILED]
    return format_failure(failed, evaluation)


def test_failed_threshold_says_its_value_and_its_place() -> None:
    assert fail().splitlines() == [
        "ndcg@10 is 0.836, below the minimum 0.99",
        "  at shop.ir.yaml:3",
    ]


def test_failed_query_shows_the_ranks_of_its_documents_once() -> None:
    query = make_query(
        "oak table", thresholds=(make_threshold("ndcg@10", min=0.9),), why="from a ticket"
    )
    suite = make_suite(queries=[query])
    decision = make_decision(suite, make_run(suite, {"oak table": LOST}), make_run(suite))
    (evaluation,) = decision.current.evaluations
    failed = [result for result in evaluation.results if result.item == "oak-table"]

    lines = format_failure(failed, evaluation).splitlines()

    assert lines[0] == '"oak table": ndcg@10 is 0.000, below the minimum 0.9'
    assert lines[1] == "  why: from a ticket"
    assert lines[2].split() == ["rank", "before", "document", "grade", "finding"]
    assert lines[3].split() == ["1", "Garden", "Hose", "(junk-1:oak-table)", "unjudged"]
    assert lines[6].split()[:5] == ["–", "1", "Oak", "Table", "(best:oak-table)"]
    assert lines[-1] == "  at shop.ir.yaml:3"


def test_query_without_results_says_so() -> None:
    suite = make_suite(queries=[make_query("table", {})])
    decision = make_decision(suite, make_run(suite, {"table": GOOD}))
    (evaluation,) = decision.current.evaluations
    result = replace(evaluation.results[0], query_ids=("table",))

    text = format_failure([result], evaluation)

    assert "Oak Table (best:table)" in text


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_fit_the_terminal(columns: int) -> None:
    lines = render_terminal(make_busy_view(), columns=columns).splitlines()

    assert max(map(measure_width, lines)) <= columns
