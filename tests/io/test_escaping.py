"""Texts of others in each medium: nothing acts, and nothing is lost."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.io.escaping import (
    clip,
    escape_csv_cell,
    escape_log_line,
    escape_log_lines,
    escape_markdown,
    escape_markdown_code,
    escape_page_text,
    escape_workflow_message,
    escape_workflow_property,
    make_file_name,
    quote_command,
    quote_word,
    unescape_csv_cell,
)

ACTIVE_PARTS = (
    *("::", "##[", "##vso[", "\n", "\r", "\x1b[2J", "\x9b", "\u202e", "\u200b", " ", "a", "@"),
    *("=", "'", "%0A", "\ud800", "#1", "www.", "://", "`", "$(x)", '"', "\\", "-", "%PATH%"),
)
TEXTS = st.text(st.characters(), max_size=30) | st.lists(
    st.sampled_from(ACTIVE_PARTS), max_size=8
).map("".join)


class TestTerminal:
    @given(TEXTS)
    def test_a_line_commands_nothing(self, text: str) -> None:
        line = escape_log_line(text)

        assert line.isprintable()
        assert not line.lstrip().startswith("::")
        assert not re.search(r"##\w*\[", line)

    @pytest.mark.parametrize("text", ["red shoes", "größe 42", "crème :: brûlée", "#1 [x]", "靴"])
    def test_a_harmless_text_stays_as_it_is(self, text: str) -> None:
        assert escape_log_line(text) == escape_page_text(text) == text

    def test_spaces_of_all_kinds_are_shown_as_spaces(self) -> None:
        for space in "\xa0\u2007\u2009\u202f\u205f\u3000":
            assert escape_log_line(f"14{space}days") == "14 days"

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("p\u0430yp\u0430l", "p⟨U+0430⟩yp⟨U+0430⟩l"),
            ("sku-\u04301, sku-a1", "sku-⟨U+0430⟩1, sku-a1"),
            ("the \u0397ouse", "the ⟨U+0397⟩ouse"),
            ("sku\u200d-1", "sku⟨U+200D⟩-1"),
            ("\u200esku-1\ufe0f", "⟨U+200E⟩sku-1⟨U+FE0F⟩"),
            ("d\u3164\u034f1", "d⟨U+3164⟩⟨U+034F⟩1"),
        ],
    )
    def test_deceptive_letters_are_revealed(self, text: str, shown: str) -> None:
        assert escape_log_line(text) == escape_page_text(text) == shown
        assert escape_markdown_code(text).strip("`") == shown

    @pytest.mark.parametrize(
        "text",
        ["кофе 3D", "SMSка", "болт М8х20", "Ηλλο", "ﾘｰﾓｺﾝ A4", "σ-field", "1\ufe0f\u20e3 ❤\ufe0f"],
    )
    def test_other_scripts_stay_as_they_are(self, text: str) -> None:
        assert escape_log_line(text) == escape_page_text(text) == text

    def test_the_output_of_a_program_keeps_its_lines(self) -> None:
        output = (
            "ok\t1\n::error ::x\n  ::stop-commands::y\r\n#\x1b[0m#vso[task.complete]\n##[error]z\n"
            "\x1b[31mred\x1b[0m \x1b]0;title\x07text"
        )

        lines = escape_log_lines(output).splitlines()

        assert lines[0] == "ok      1"
        assert lines[-1] == "red text"
        for line in lines:
            assert line.isprintable()
            assert not line.lstrip().startswith("::")
            assert not re.search(r"##\w*\[", line)

    def test_a_long_text_is_clipped(self) -> None:
        assert clip("abcdef", 4) == "abc…"
        assert clip("abcd", 4) == "abcd"


@given(TEXTS)
def test_a_workflow_command_cannot_be_left(text: str) -> None:
    for escaped in (escape_workflow_message(text), escape_workflow_property(text)):
        assert not set(escaped) & set("\n\r")
        assert not re.search(r"##\w*\[", escaped)
        escaped.encode()
    assert not set(escape_workflow_property(text)) & set(":,")


@given(TEXTS)
def test_markdown_stays_text(text: str) -> None:
    markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py is missing")
    parser = markdown_it.MarkdownIt("js-default", {"html": True, "linkify": False})

    escaped = escape_markdown(text)

    (inline,) = [token for token in parser.parse(f"x {escaped} x") if token.type == "inline"]
    assert {child.type for child in inline.children or ()} <= {"text", "text_special"}
    assert "://" not in escaped
    assert not re.search(r"(^|[^A-Za-z0-9_])@\w", escaped)


@pytest.mark.parametrize(
    "text", ["@someone", "cc @org/team", "see #12", "GH-12", "o/r#3", "https://x.example", "www.x"]
)
def test_markdown_notifies_nobody_and_links_nothing(text: str) -> None:
    escaped = escape_markdown(text)

    assert "\u200b" in escaped
    assert escaped.replace("\u200b", "").replace("\\", "") == text
    assert escape_markdown("ndcg@10") == "ndcg@10"


@given(TEXTS)
def test_a_code_span_cannot_be_closed(text: str) -> None:
    markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py is missing")
    if not text.strip():
        return

    rendered = markdown_it.MarkdownIt().render(f"x {escape_markdown_code(text)} x")

    assert rendered.count("<code>") == 1
    assert rendered.startswith("<p>x <code>")
    assert rendered.endswith("</code> x</p>\n")


class TestCsv:
    @given(TEXTS)
    def test_a_cell_is_no_formula_and_comes_back(self, text: str) -> None:
        cell = escape_csv_cell(text)

        assert not cell.startswith(("\t", "\r", "\n"))
        for start in re.split(r"[;|\t\r\n]", cell):
            assert not start.lstrip(" ").startswith(tuple("=+-@＝＋－＠"))
        assert unescape_csv_cell(cell) == text

    @pytest.mark.parametrize(
        "text", ["=1+1", "'=1", "''@x", "'a'", "-", "", "\tx", "x; '=1", "＝1"]
    )
    def test_a_cell_survives_a_file(self, text: str) -> None:
        file = io.StringIO(newline="")
        csv.writer(file).writerow([escape_csv_cell(text), "x"])

        ((cell, _),) = csv.reader(io.StringIO(file.getvalue(), newline=""))

        assert unescape_csv_cell(cell) == text


class TestFileNames:
    @given(TEXTS, TEXTS)
    def test_a_name_belongs_to_one_text(self, text: str, other: str) -> None:
        names = [make_file_name(text), make_file_name(other)]

        assert (names[0] == names[1]) == (text == other)
        for name in names:
            assert not set(name) & set('/\\:*?"<>|.\0')
            assert not name.endswith(" ")
            assert name.upper() not in ("CON", "PRN", "AUX", "NUL", "COM1", "LPT9")

    @pytest.mark.parametrize(
        ("text", "name"),
        [("bm25", "bm25"), ("a/b.c", "a%2Fb%2Ec"), ("con", "%63on"), ("a%2F", "a%252F")],
    )
    def test_a_name_is_readable_and_short(self, text: str, name: str) -> None:
        assert make_file_name(text) == name
        assert len(make_file_name(text * 500)) < 130


class TestCommands:
    @given(st.lists(TEXTS.filter(lambda text: "\0" not in text), min_size=1, max_size=3))
    def test_a_shell_reads_every_word_as_it_was(self, words: list[str]) -> None:
        words = [word.encode("utf-8", "replace").decode() for word in words]

        command = quote_command(["printf", r"%s\0", *words])

        assert command.isprintable()
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        result = subprocess.run(
            ["bash", "-c", command], env=environment, capture_output=True, check=True
        )
        # Bash keeps no characters that its own escapes cannot name.
        assert result.stdout.decode().split("\0")[:-1] == words

    def test_a_path_is_never_an_option(self) -> None:
        command = quote_command(
            ["pytest", "--ir-suite"], ["-oir_command=sh run.ir.yaml", "@args", "a b.ir.yaml"]
        )

        assert command == (
            "pytest --ir-suite './-oir_command=sh run.ir.yaml' ./@args 'a b.ir.yaml'"
        )

    def test_options_need_no_quotes(self) -> None:
        assert quote_word("--ir-baseline=git:main") == "--ir-baseline=git:main"
        assert quote_word("größe") == "'größe'"
