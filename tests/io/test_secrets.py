"""Secrets are masked in every encoding that an answer may have."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.io.secrets import MaskedText, Secrets, find_variables

ENCODINGS: dict[str, Callable[[str], str]] = {
    "text": str,
    "upper case": str.upper,
    "JSON": json.dumps,
    "JSON in JSON": lambda secret: json.dumps(json.dumps(secret)),
    "JSON with escaped slashes": lambda secret: json.dumps(secret).replace("/", r"\/"),
    "JSON with every character escaped": lambda secret: "".join(
        f"\\u{ord(character):04X}" for character in secret
    ),
    "percent": quote,
    "percent with slashes": lambda secret: quote(secret, safe=""),
    "percent of every byte": lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
    "percent twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "form": quote_plus,
    "HTML": html.escape,
    "HTML decimal": lambda secret: "".join(f"&#{ord(character)};" for character in secret),
    "HTML hexadecimal": lambda secret: "".join(f"&#x{ord(character):X};" for character in secret),
    "HTML names": lambda secret: secret.replace("+", "&plus;").replace("/", "&sol;"),
    "repr": lambda secret: repr(secret)[1:-1],
    "repr of bytes": lambda secret: repr(secret.encode())[2:-1],
    "hex": lambda secret: secret.encode().hex(),
    "hex in upper case": lambda secret: secret.encode().hex().upper(),
}


@pytest.mark.parametrize(
    "secret", ["7aK+33/Qz=w!19(m)40", 'pass "word" <&> \\ 100%', "73519846220", "schlüssel-é"]
)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_secret_is_masked_in_every_encoding(secret: str, encoding: str) -> None:
    text = ENCODINGS[encoding](secret).strip('"')

    masked = Secrets([secret]).mask(f"before {text} after")

    assert "***" in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert text not in masked


@given(
    st.integers(0, 2),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40),
)
def test_a_secret_is_masked_in_base64_at_every_offset(offset: int, secret: str) -> None:
    data = b"abc"[:offset] + secret.encode() + b"after"

    for encoded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
        masked = Secrets([secret]).mask(encoded.decode())

        # All characters are masked but those at either end that depend on other bytes, too.
        hidden_count = len(encoded) - len(masked.replace("***", ""))
        assert hidden_count >= len(secret) * 8 // 6 - 2


def test_a_short_value_is_no_secret() -> None:
    assert not Secrets(["1234567"])
    assert Secrets(["1234567"]).mask("1234567") == "1234567"
    assert Secrets(["12345678"])


def test_numbers_and_keys_of_json_are_masked() -> None:
    secrets = Secrets(["73519846220"])
    value = {"id": 73519846220, "float": 7.351984622e10, "73519846220": [True, 1, None, "x"]}

    masked = secrets.mask_json(value)

    assert masked == {"id": "***", "float": "***", "***": [True, 1, None, "x"]}
    assert isinstance(masked["id"], MaskedText)
    assert secrets.mask_json([1735198462201]) == ["***"]


def test_a_masked_text_can_be_told_from_another() -> None:
    secrets = Secrets(["s3cr3t-t0ken"])

    assert isinstance(secrets.mask("id-s3cr3t-t0ken"), MaskedText)
    assert not isinstance(secrets.mask("id-***"), MaskedText)


def test_the_longer_of_two_secrets_is_masked_first() -> None:
    secrets = Secrets(["s3cr3t-t0ken", "s3cr3t-t0ken-extended"])

    assert secrets.mask("s3cr3t-t0ken-extended") == "***"


def test_secrets_come_from_the_variables_of_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "  s3cr3t-t0ken\n")
    monkeypatch.setenv("SHORT", "x")
    lines = ["Authorization: Bearer ${API_KEY}", "X-Price: $$5 $SHORT", "X-None: $MISSING"]

    secrets = Secrets.from_environment(lines)

    assert [find_variables(line) for line in lines] == [["API_KEY"], ["SHORT"], ["MISSING"]]
    assert secrets.mask("no s3cr3t-t0ken, no x") == "no ***, no x"
