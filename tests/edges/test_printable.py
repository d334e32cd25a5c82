"""Texts of a stranger in each medium: nothing acts, nothing is lost."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from pytest_irquality.edges.printable import (
    as_read,
    csv_cell,
    file_name,
    from_csv,
    html,
    markdown,
    markdown_code,
    terminal,
    visible,
    workflow,
    workflow_property,
)

ANY = st.text(st.characters(), max_size=30)  # half surrogate pairs too
HOSTILE = st.lists(
    st.sampled_from(
        ["::", "##[", "##vso[", "\n", "\r", "\x1b[2J", "\x9b", "\u202e", " ", "a", "@", "=", "'", "%0A", "\ud800", "#1", "www.", "://", "`"]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@given(HOSTILE | ANY)
def test_a_terminal_shows_one_line_that_commands_nothing(text: str) -> None:
    said = terminal(text)
    assert said.isprintable()
    assert not said.lstrip().startswith("::")
    assert not any(mark in said for mark in ("##[", "##vso[", "##teamcity["))
    assert terminal(text) == text or not text.isprintable() or "::" in text or "##" in text


@pytest.mark.parametrize("space", "\xa0\u2007\u2009\u202f\u205f\u3000")
def test_a_space_is_shown_as_one_whatever_its_kind(space: str) -> None:
    assert terminal(f"14{space}days") == as_read(f"14{space}days") == "14 days"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p\u0430yp\u0430l", "p⟨U+0430⟩yp⟨U+0430⟩l"),
        ("sku-\u04301, sku-a1", "sku-⟨U+0430⟩1, sku-a1"),
        ("the \u0397ouse", "the ⟨U+0397⟩ouse"),
        ("d\u0585c_1", "d⟨U+0585⟩c_1"),
        ("sku\u200d-1", "sku⟨U+200D⟩-1"),
        ("\u200esku-1\ufe0f", "⟨U+200E⟩sku-1⟨U+FE0F⟩"),
        ("caf\xe9\u200c\u200c1", "caf\xe9⟨U+200C⟩⟨U+200C⟩1"),
        ("d\u3164\u034f1", "d⟨U+3164⟩⟨U+034F⟩1"),
    ],
)
def test_letters_that_only_look_like_others_are_shown_as_what_they_are(
    text: str, said: str
) -> None:
    assert (
        terminal(text) == visible(text) == workflow(text) == markdown_code(text).strip("`") == said
    )


@pytest.mark.parametrize(
    "text",
    [
        "кофе 3D",
        "SMSка",
        "болт М8х20",
        "Ηello".replace("ello", "λλο"),
        "ﾘｰﾓｺﾝ A4",
        "naïve café",
        "σ-field",
        "葛\U000e0100城 1\ufe0f\u20e3 ❤\ufe0f",
    ],
)
def test_words_of_other_scripts_stay_as_they_are(text: str) -> None:
    assert terminal(text) == visible(text) == text


@given(HOSTILE | ANY)
def test_a_workflow_command_cannot_be_left(text: str) -> None:
    for said in (workflow(text), workflow_property(text)):
        assert "\n" not in said
        assert "\r" not in said
        assert "##[" not in said
        said.encode()
    assert not set(workflow_property(text)) & set(":,")


@given(HOSTILE | ANY)
def test_markdown_stays_text(text: str) -> None:
    parser = MarkdownIt("js-default", {"html": True, "linkify": False})
    (inline,) = [t for t in parser.parse(f"x {markdown(text)} x") if t.type == "inline"]
    kinds = {child.type for child in inline.children or ()}
    assert kinds <= {"text", "text_special"}
    assert not set(html(text)) & set("<>\n")
    for said in (markdown(text), html(text)):
        assert "://" not in said
        assert not re.search(r"(^|[^A-Za-z0-9_])@\w", said)


@pytest.mark.parametrize(
    "text", ["@someone", "cc @org/team", "see #12", "GH-12", "o/r#3", "https://evil.example/x", "www.evil.example", "a@b.example", "é@someone"]
)  # fmt: skip
def test_markdown_notifies_nobody_and_links_nothing(text: str) -> None:
    said = markdown(text)
    assert "\u200b" in said
    assert said.replace("\u200b", "").replace("\\", "") == text
    assert markdown("ndcg@10") == "ndcg@10"


def test_a_code_span_cannot_be_closed() -> None:
    assert MarkdownIt().render(markdown_code("a``b`\n<x>")).count("<code>") == 1


@given(HOSTILE | ANY)
def test_csv_cells_begin_no_formula_and_come_back(text: str) -> None:
    cell = csv_cell(text)
    assert not cell.startswith(("\t", "\r", "\n"))
    for begins in re.split(r"[;|\t\r\n]", cell):  # whatever a spreadsheet takes for the separator
        assert not begins.lstrip(" ").startswith(tuple("=+-@＝＋－＠"))
    assert from_csv(cell) == text


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "'=1",
        "''@x",
        "'quoted'",
        "-",
        "",
        "'",
        "\tx",
        "a=1",
        "x;=1",
        "x; '=1",
        "＝1",
        "\n=1",
    ],
)
def test_csv_round_trip_through_a_file(text: str) -> None:
    file = io.StringIO(newline="")
    csv.writer(file).writerow([csv_cell(text), "x"])
    ((cell, _),) = csv.reader(io.StringIO(file.getvalue(), newline=""))
    assert from_csv(cell) == text


@given(ANY, ANY)
def test_names_of_files_are_those_of_one_text(one: str, other: str) -> None:
    names = [file_name(one), file_name(other)]
    assert (names[0] == names[1]) == (one == other)
    for name in names:
        assert not set(name) & set('/\\:*?"<>|.\0')
        assert not name.endswith(" ")
        assert name.upper() not in ("CON", "PRN", "AUX", "NUL", "COM1", "LPT9")


@pytest.mark.parametrize(
    ("text", "name"),
    [("bm25", "bm25"), ("a/b.c", "a%2Fb%2Ec"), ("con", "%63on"), ("COM1", "%43OM1"), ("a%2F", "a%252F"), ("x ", "x%20"), ("c:d", "c%3Ad")],
)  # fmt: skip
def test_names_of_files(text: str, name: str) -> None:
    assert file_name(text) == name
    assert len(file_name(text * 500)) < 130
