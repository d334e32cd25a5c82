from __future__ import annotations

from hypothesis import given, strategies as st

from pytest_irquality.io.text import CodePart, DataPart, DocPart, write
from pytest_irquality.reports.query_rows import TextColumn
from pytest_irquality.reports.terminal import fit, format_table, measure_width, render_plain, wrap


def test_wide_character_takes_two_columns_and_a_mark_none() -> None:
    assert measure_width("赤い靴") == 6
    assert measure_width("e\u0301") == 1


def test_fit_shortens_wide_characters_to_columns() -> None:
    assert fit("赤い靴を探す", 7) == "赤い靴…"
    assert fit("short", 7) == "short"


def test_wrap_indents_the_lines_after_the_first() -> None:
    assert wrap("one two three four", 9) == ["one two", "  three", "  four"]
    assert wrap("one two", 9, "  ") == ["  one two"]


def test_wrap_breaks_a_word_that_is_longer_than_a_line() -> None:
    assert wrap("赤い靴を探す", 6, hanging="") == ["赤い靴", "を探す"]


@given(st.text(max_size=200), st.integers(10, 60))
def test_no_wrapped_line_is_too_wide(text: str, width: int) -> None:
    lines = wrap(text, width)

    assert all(measure_width(line) <= width for line in lines)
    joined = "".join(line.strip() for line in lines)
    assert joined.replace(" ", "") == "".join(text.split())


def test_table_aligns_columns_and_leaves_out_empty_ones() -> None:
    columns = [TextColumn("query"), TextColumn("tags"), TextColumn("now", is_number=True)]

    table = format_table(columns, [["靴", "", "1.000"], ["shoes", "", "10.000"]], 80)

    assert table == ["query     now", "靴      1.000", "shoes  10.000"]


def test_narrow_table_leaves_out_ranked_columns_and_shortens_flexible_ones() -> None:
    columns = [
        TextColumn("query", width=24),
        TextColumn("now", is_number=True),
        TextColumn("came instead", width=24, rank=1),
    ]
    row = ["a very long query about shoes", "0.5", "something that came instead"]

    table = format_table(columns, [row], 28)

    assert table == ["query                    now", "a very long query abou…  0.5"]


def test_data_is_printable_and_documents_have_titles() -> None:
    text = write(DocPart("sku-1", "Red Shoe"), " ", DataPart("\x1b[2J"), " ", CodePart("id_field"))

    assert render_plain(text) == "Red Shoe (sku-1) \\x1b[2J id_field"
    assert render_plain(text, max_title=5).startswith("Red… \\x1b")
