"""Mask the secrets that requests contain wherever an answer or an error repeats them.

A service may repeat a key in another encoding: escaped in JSON, as an HTML entity, percent-encoded,
in base64 or in hex. Mask a text before anything is cut off, because half a key matches nothing.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable
from contextlib import suppress
from html.entities import html5
from string import Template
from typing import Any

MIN_SECRET_LENGTH = 8
MASK = "***"


class MaskedText(str):
    """A text in which a secret was masked, so it cannot be the id of a document."""

    __slots__ = ()


class Secrets:
    """Texts that must not appear in a report, log or file.

    Args:
        values: The secrets. Values of fewer than eight characters are ignored, because they would
            occur in unrelated words.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        secrets = {value for value in values if len(value) >= MIN_SECRET_LENGTH}
        alternatives: list[str] = []
        self._numbers: set[float] = set()
        # The longest first, because one secret may begin with another.
        for secret in sorted(secrets, key=lambda secret: (-len(secret), secret)):
            alternatives += _make_alternatives(secret)
            with suppress(ValueError):
                self._numbers.add(float(secret))
        self._pattern = re.compile("|".join(alternatives)) if alternatives else None

    @classmethod
    def from_environment(cls, templates: Iterable[str]) -> Secrets:
        """Create it from the environment variables that templates such as ``$TOKEN`` name."""
        values = []
        for template in templates:
            for name in find_variables(template):
                value = os.environ.get(name, "")
                values += [value, value.strip()]
        return cls(values)

    def __bool__(self) -> bool:
        return self._pattern is not None

    def mask(self, text: str) -> str:
        """Replace every secret in a text, in any of its encodings, by ``***``.

        Returns:
            The same text, or a ``MaskedText`` if a secret was replaced.
        """
        if self._pattern is None:
            return text
        masked, count = self._pattern.subn(MASK, text)
        return MaskedText(masked) if count else text

    def mask_json(self, value: Any) -> Any:
        """Mask the texts and numbers of a value that was read from JSON, keys included."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list):
            return [self.mask_json(item) for item in value]
        if isinstance(value, dict):
            return {self.mask(key): self.mask_json(item) for key, item in value.items()}
        if isinstance(value, int | float) and not isinstance(value, bool):
            is_secret = value in self._numbers or self._pattern.search(repr(value))
            return MaskedText(MASK) if is_secret else value
        return value


def find_variables(template: str) -> list[str]:
    """Return the names of the environment variables that a text has as ``$NAME`` or ``${NAME}``."""
    matches = Template.pattern.finditer(template)
    names = [match["named"] or match["braced"] for match in matches]
    return [name for name in names if name]


def _make_alternatives(secret: str) -> list[str]:
    """Return patterns that match a secret in its encodings.

    Each pattern starts with a literal character, so that the search skips most of a text quickly.
    """
    rest = "".join(f"(?:{'|'.join(_encode_character(character))})" for character in secret[1:])
    alternatives = [first + rest for first in _encode_character(secret[0])]
    data = secret.encode()
    alternatives += [_match_base64(data, offset) for offset in range(3)]
    first, rest = data.hex()[0], _ignore_case(data.hex()[1:])
    alternatives += [digit + rest for digit in {first, first.upper()}]
    return alternatives


def _encode_character(character: str) -> list[str]:
    """Return patterns for a character as text, in JSON, in HTML, percent-encoded and in bytes.

    A character beyond the 16-bit range is a pair of escapes in JSON.
    """
    encodings = [re.escape(character)]
    if character.lower() != character.upper():
        encodings = [re.escape(character.lower()), re.escape(character.upper())]
    utf16 = character.encode("utf-16-be", "surrogatepass")
    in_json = ""
    for index in range(0, len(utf16), 2):
        # JSON inside JSON doubles the backslash.
        in_json += r"\\\\*[uU]" + _ignore_case(utf16[index : index + 2].hex())
    encodings.append(in_json)
    if character in "\"'\\/":
        encodings.append(r"\\\\*" + re.escape(character))
    percent = in_bytes = ""
    for byte in character.encode("utf-8", "surrogatepass"):
        digits = _ignore_case(f"{byte:02x}")
        percent += f"%(?:25)?{digits}"
        in_bytes += rf"\\\\*x{digits}"
    encodings += [percent, in_bytes]
    if character == " ":
        encodings.append(r"\+")
    code = ord(character)
    encodings += [f"&#0*{code};?", f"&#[xX]0*{_ignore_case(f'{code:x}')};?"]
    if not character.isalnum():
        for name, meaning in html5.items():
            if meaning == character and name.endswith(";"):
                encodings.append(f"&{name}")
    return encodings


def _ignore_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)


def _match_base64(data: bytes, offset: int) -> str:
    """Return a pattern for base64 and base64url, with or without the escapes of JSON and URLs.

    Base64 encodes three bytes at a time, so a secret may begin at one of three offsets. Characters
    that also encode bytes before or after the secret are left out.
    """
    encoded = b64encode(bytes(offset) + data).decode()
    first = (offset * 8 + 5) // 6
    end = (offset + len(data)) * 8 // 6
    plus, slash = r"(?:\+|-|%2[bB]|\\+u002[bB])", r"(?:\\*/|_|%2[fF]|\\+u002[fF])"
    patterns = {"+": plus, "/": slash}
    return "".join(patterns.get(character, character) for character in encoded[first:end])
