from __future__ import annotations

from pytest_irquality.evaluation.comparison import QueryStatus
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.reports.query_rows import QUERY_COLUMNS, Direction, QueryRow
from tests.reports.builders import (
    EMPTY,
    GOOD,
    LOST,
    SWAPPED,
    WORSE,
    make_query,
    make_run,
    make_suite,
    make_view,
    rank,
)


def build_rows(now: dict[str, object], before: dict[str, object] | None = None) -> list[QueryRow]:
    suite = make_suite(queries=[make_query(text) for text in now])
    old = None if before is None else make_run(suite, before)  # type: ignore[arg-type]
    view = make_view(suite, make_run(suite, now), old)  # type: ignore[arg-type]
    return list(view.suites[0].rows)


def test_direction_follows_the_primary_metric() -> None:
    rows = build_rows(
        {"worse": WORSE, "better": GOOD, "same": GOOD},
        {"worse": GOOD, "better": SWAPPED, "same": GOOD},
    )

    assert [row.direction for row in rows] == [
        Direction.WORSE,
        Direction.BETTER,
        Direction.UNCHANGED,
    ]
    assert [str(row.change) for row in rows] == ["−0.491", "+0.078", "0.000"]


def test_moves_name_relevant_documents_that_explain_the_loss() -> None:
    (row,) = build_rows({"table": WORSE}, {"table": GOOD})

    assert str(row.describe_moves()) == (
        "Oak Table (best:table) 1 → 4, Pine Table (good:table) 2 → 5 and 1 more"
    )
    assert str(row.replacement) == "now first: Garden Hose (junk-1:table)"


def test_gain_says_what_was_there_before() -> None:
    (row,) = build_rows({"table": GOOD}, {"table": SWAPPED})

    assert str(row.describe_moves()) == "Oak Table (best:table) 2 → 1"
    assert str(row.replacement) == "was first: Pine Table (good:table)"


def test_lost_document_comes_before_one_that_is_lower() -> None:
    (row,) = build_rows({"table": rank("good", "fair")}, {"table": GOOD})

    assert str(row.describe_ranks(row.moves[0])) == "1 → not retrieved"


def test_empty_answer_says_that_nothing_is_returned() -> None:
    (row,) = build_rows({"table": EMPTY}, {"table": GOOD})

    assert row.is_newly_empty
    assert str(row.replacement) == "nothing is returned"


def test_query_without_an_answer_has_its_error() -> None:
    rows = build_rows({"table": "TimeoutError", "chair": GOOD}, {"table": GOOD, "chair": GOOD})

    assert rows[0].status is QueryStatus.NO_ANSWER
    assert rows[0].outcome is Outcome.FAILED
    assert str(rows[0].describe_moves()) == "TimeoutError"


def test_query_without_judgments_shows_what_was_first() -> None:
    suite = make_suite(queries=[make_query("table", {})])

    view = make_view(suite, make_run(suite, worse=1), make_run(suite))

    (row,) = view.changed
    assert row.direction is Direction.CHANGED
    assert str(row.describe_moves()) == "Oak Table (best:table) 1 → 4"


def test_new_query_has_a_value_and_no_change() -> None:
    (row,) = build_rows({"table": SWAPPED})

    assert (row.direction, row.status) == (Direction.NONE, QueryStatus.NEW)
    assert (row.before, str(row.now), row.change) == (None, "0.922", None)


def test_every_column_has_a_heading_and_reads_every_row() -> None:
    rows = build_rows({"a": LOST, "b": GOOD, "c": "boom"}, {"a": GOOD, "c": GOOD})

    for column in QUERY_COLUMNS:
        assert column.heading
        assert len([column.read(row) for row in rows]) == 3
