"""Read JSON that others may have written, with bounded nesting, and write JSON lines."""

from __future__ import annotations

import json
from typing import Any

MAX_NESTING = 40


class JsonError(ValueError):
    """A text is not JSON, or is nested too deeply."""


def parse_json(data: str | bytes, max_nesting: int = MAX_NESTING) -> Any:
    """Parse JSON.

    Args:
        data: The text, or bytes in UTF-8, UTF-16 or UTF-32.
        max_nesting: How many lists and objects may be inside each other.

    Raises:
        JsonError: The data is not JSON, or is nested more deeply. The message fits in one line.
    """
    try:
        value = json.loads(data)
    except RecursionError:
        raise _make_nesting_error(max_nesting) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise JsonError(f"This is not JSON: {error.msg} ({place})") from None
    except ValueError as error:  # bytes that cannot be decoded, or a number of too many digits
        raise JsonError(f"This is not JSON: {error}") from None
    if exceeds_nesting(value, max_nesting):
        raise _make_nesting_error(max_nesting)
    return value


def exceeds_nesting(value: object, max_nesting: int = MAX_NESTING) -> bool:
    """Return whether lists and dicts are nested more deeply."""
    level: list[Any] = [[value]]
    for _ in range(max_nesting + 1):
        deeper: list[Any] = []
        for container in level:
            children = container.values() if isinstance(container, dict) else container
            deeper += [child for child in children if type(child) in (list, dict)]
        if not deeper:
            return False
        level = deeper
    return True


def encode_json_line(value: object) -> bytes:
    """Encode a value as one compact line of JSON in UTF-8, with its line end.

    Raises:
        ValueError: A number is not finite.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which only an escape sequence can represent
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
        return text.encode() + b"\n"


def _make_nesting_error(max_nesting: int) -> JsonError:
    return JsonError(f"The JSON is nested more than {max_nesting} levels deep")
