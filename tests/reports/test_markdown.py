from __future__ import annotations

from markdown_it import MarkdownIt

from pytest_irquality.reports.pull_request import MAX_CHARACTERS, render_markdown
from pytest_irquality.reports.view_model import OUTPUT_MARKER
from tests.reports.builders import LOST, make_query, make_run, make_suite, make_threshold, make_view


def parse_tables(text: str) -> list[list[list[str]]]:
    """Return the cells of every table."""
    tables: list[list[list[str]]] = []
    is_cell = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type in ("th_open", "td_open"):
            is_cell = True
        elif token.type == "inline" and is_cell:
            tables[-1][-1].append(token.content)
            is_cell = False
    return tables


def test_heading_has_the_outcome_and_the_suite() -> None:
    suite = make_suite("Shop search", thresholds=[make_threshold("ndcg@10", min=0.9)])

    text = render_markdown(make_view(suite, make_run(suite, worse=10), make_run(suite)))

    lines = text.splitlines()
    assert lines[0] == f"<!-- {OUTPUT_MARKER} -->"
    assert lines[1] == "## ✗ FAILED: Shop search"
    assert lines[3] == "**Search got worse for 10 of 20 queries**"


def test_thresholds_and_worst_queries_are_tables_with_titles() -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])

    text = render_markdown(make_view(suite, make_run(suite, worse=10), make_run(suite)))

    tables = parse_tables(text.partition("<details>")[0])
    assert tables[0][1] == ["✗", "ndcg@10", "1.000", "0.754", "−0.246", "below 0.9"]
    assert tables[1][0][:2] == ["query", "before"]  # No query has tags.
    assert len(tables[1]) == 4
    assert tables[1][1][4] == "Oak Table 1 → 4, Pine Table 2 → 5 and 1 more"
    assert "best:shop" not in text.partition("<details>")[0]


def test_next_step_has_a_command_to_copy() -> None:
    suite = make_suite()

    text = render_markdown(make_view(suite, make_run(suite, worse=10), make_run(suite)))

    assert "- Rerun what failed: `pytest --ir-suite shop.ir.yaml`" in text


def test_data_is_neither_markup_nor_a_mention() -> None:
    suite = make_suite("a|b", [make_query("<img src=x> @someone `code` | [x](y)")] * 1)

    text = render_markdown(make_view(suite, make_run(suite, worse=1), make_run(suite)))

    assert "<img" not in text
    assert "@someone" not in text
    assert "\\`code\\`" in text
    assert "a\\|b" in text


def test_build_without_suites_has_a_report() -> None:
    text = render_markdown(make_view([], make_run([])))

    assert "## ⚠ INCOMPLETE" in text


def test_report_fits_a_comment() -> None:
    queries = [make_query(f"{'long query ' * 400} {number}") for number in range(40)]
    suite = make_suite("shop", queries)

    text = render_markdown(make_view(suite, make_run(suite, worse=40), make_run(suite)))

    assert len(text) <= MAX_CHARACTERS
    assert text.endswith("\n")


def test_check_that_was_not_evaluated_is_in_the_details() -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.1, max_drop=0.1)])

    text = render_markdown(make_view(suite, make_run(suite)))

    details = text.partition("<details>")[2]
    assert "| ⚠ | shop: ndcg@10 | " in details


def test_suites_without_changes_are_counted_if_there_are_many() -> None:
    suites = [make_suite(f"suite {number:02}", 8) for number in range(30)]
    run = make_run(suites, {query.text: LOST for query in suites[0].queries[:6]})

    text = render_markdown(make_view(suites, run, make_run(suites)))

    assert "… and 29 more suites, which passed without any change" in text
    assert "| suite 01 |" not in text.partition("<details>")[0]
