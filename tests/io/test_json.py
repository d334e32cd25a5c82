"""JSON is read within bounds and written on one line."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.io.decoding import (
    JsonError,
    encode_json_line,
    exceeds_nesting,
    parse_json,
)

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
