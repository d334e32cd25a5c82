"""The one decoder: encodings, line ends, compression, and clear errors."""

from __future__ import annotations

import codecs
import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.io import decoding
from pytest_irquality.io.decoding import (
    MAX_LINE_LENGTH,
    DecodeError,
    JsonError,
    decode_text,
    encode_json_line,
    exceeds_nesting,
    open_lines,
    open_text_blocks,
    parse_json,
    read_text,
    split_lines,
)
from pytest_irquality.io.files import FileError

from .helpers import write_file

ENCODINGS = {
    "UTF-8": "é\nb\n".encode(),
    "UTF-8 with BOM": codecs.BOM_UTF8 + "é\nb\n".encode(),
    "UTF-16 little endian": codecs.BOM_UTF16_LE + "é\nb\n".encode("utf-16-le"),
    "UTF-16 big endian": codecs.BOM_UTF16_BE + "é\nb\n".encode("utf-16-be"),
    "joined files with BOM": codecs.BOM_UTF8 + "é\n".encode() + codecs.BOM_UTF8 + b"b\n",
    "CRLF": "é\r\nb\r\n".encode(),
    "CR": "é\rb\r".encode(),
}


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_reader_decodes_every_encoding(
    tmp_path: Path, name: str, is_compressed: bool
) -> None:
    data = gzip.compress(ENCODINGS[name], mtime=0) if is_compressed else ENCODINGS[name]
    path = write_file(tmp_path / "queries.txt", data)

    assert decode_text(data, "queries.txt") == read_text(path) == "é\nb\n"
    assert list(open_lines(path)) == list(split_lines(data, "x")) == [(1, "é"), (2, "b")]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_decoding_equals_that_of_python(text: str) -> None:
    expected = re.sub("^\ufeff+", "", re.sub("\r\n?", "\n", text), flags=re.MULTILINE)

    assert decode_text(text.encode(), "x") == expected
    assert decode_text(text.encode("utf-16"), "x") == expected


def test_lines_across_blocks_are_joined(tmp_path: Path) -> None:
    lines = ["é" * 50_000, "", "b" * 200_000, "c\r" * 0, "last"]
    path = write_file(tmp_path / "long.txt", "\r\n".join(lines))

    assert [text for _, text in open_lines(path)] == lines
    assert "".join(open_text_blocks(path)) == "\n".join(lines)


@pytest.mark.parametrize("data", [b"", codecs.BOM_UTF8])
def test_an_empty_file_has_no_lines(data: bytes) -> None:
    assert decode_text(data, "x") == ""
    assert list(split_lines(data, "x")) == []


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"a\nb\xe9\n", 2, 2, "The byte 0xe9 is not valid UTF-8. Save the file as UTF-8."),
        (b"a\r\nbc\xff", 2, 3, "The byte 0xff"),
        (b"a\n\xc3", 2, 1, "The byte 0xc3"),
        (b"1 0 d1 1\n" * 20_000 + b"1 0 d\0 1\n", 20_001, 6, "A NUL character"),
        ("a b\nc d".encode("utf-16-le"), 1, 2, "UTF-16 without a byte order mark"),
        (b"x" * 100_000 + b"\n" + b"y" * 70_000 + b"\xe9", 2, 70_001, "The byte 0xe9"),
        (gzip.compress(b"a\n" * 1000, mtime=0)[:-9], 0, 0, "The gzip file is damaged"),
        (b"\x1f\x8bnot really", 0, 0, "The gzip file is damaged"),
        (gzip.compress(b"a\n\0", mtime=0), 2, 1, "A NUL character"),
    ],
)
def test_what_is_not_text_is_refused_with_its_place(
    data: bytes, line: int, column: int, message: str
) -> None:
    with pytest.raises(DecodeError) as error:
        decode_text(data, "qrels.txt")

    assert (error.value.line, error.value.column) == (line, column)
    assert message in error.value.message
    assert str(error.value).startswith(f"qrels.txt:{line}: " if line else "qrels.txt: ")


@pytest.mark.parametrize("text", ["tea\n", "thé\n"])
def test_utf_16_without_a_byte_order_mark_is_named(text: str) -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        with pytest.raises(DecodeError, match="seems to be UTF-16 without a byte order mark"):
            decode_text(text.encode(encoding), "x")


def test_lines_before_the_damage_are_read(tmp_path: Path) -> None:
    path = write_file(tmp_path / "run.txt", b"a\n" * 100_000 + b"\xe9\n")
    lines = open_lines(path)

    assert next(lines) == (1, "a")
    with pytest.raises(DecodeError, match=r"run\.txt:100001: The byte 0xe9"):
        list(lines)


def test_a_line_has_a_maximum_length(tmp_path: Path) -> None:
    path = write_file(tmp_path / "long.txt", b"short\n" + b"x" * (MAX_LINE_LENGTH + 1))

    with pytest.raises(DecodeError, match="A line has more than 16,777,216 characters") as error:
        list(open_lines(path))

    assert error.value.line == 2


def test_a_gzip_file_must_not_grow_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "MIN_BOUNDED_GZIP_BYTES", 2**20)
    path = write_file(tmp_path / "bomb.gz", gzip.compress(b"\n" * 2**22, mtime=0))

    for read in (read_text, lambda path: list(open_lines(path))):
        with pytest.raises(DecodeError, match="grows more than 200 times"):
            read(path)


def test_a_text_has_a_maximum_size(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.txt", "x" * (2**20 + 1))
    packed = write_file(tmp_path / "a.gz", gzip.compress(b"x" * (2**20 + 1), mtime=0))

    for file in (path, packed):
        with pytest.raises(DecodeError, match="The file is larger than 1 MiB"):
            read_text(file, limit=2**20)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.txt: No such file"):
        read_text(tmp_path / "none.txt")
    with pytest.raises(FileError, match="No such file"):
        list(open_lines(tmp_path / "none.txt"))


# JSON

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    PLAIN | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_a_value_is_the_same_after_writing_and_reading(value: object) -> None:
    line = encode_json_line(value)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert parse_json(line) == parse_json(line.decode("utf-8", "surrogatepass")) == value


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("inside", ["1", "[]", '"[[["'])
def test_forty_levels_are_allowed(opening: str, closing: str, inside: str) -> None:
    depth = 39 if inside == "[]" else 40

    parse_json(opening * depth + inside + closing * depth)

    for deeper in (depth + 1, 980, 100_000):
        with pytest.raises(JsonError, match="nested more than 40 levels deep"):
            parse_json(opening * deeper + inside + closing * deeper)


def test_a_lower_bound_can_be_given() -> None:
    assert not exceeds_nesting([[1], {"a": 2}], 2)
    assert exceeds_nesting([[1], {"a": []}], 2)
    assert not exceeds_nesting(1, 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"a": 1,}', r"This is not JSON: .* \(line 1, column \d+\)"),
        ("", r"line 1, column 1"),
        ('{\n"a" 1}', r"\(line 2, column 5\)"),
        (b"\xff\xfe\xfa", "This is not JSON: "),
        (f"[{'9' * 10_000}]", "This is not JSON: "),
    ],
)
def test_an_error_fits_in_one_line(data: str | bytes, message: str) -> None:
    with pytest.raises(JsonError, match=message) as error:
        parse_json(data)

    assert "\n" not in str(error.value)


def test_a_number_that_is_not_finite_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode_json_line(float("nan"))
