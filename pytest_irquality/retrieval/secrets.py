"""Headers made of the environment, and what may therefore stand in no report, log or kept run."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable
from string import Template
from typing import Any
from urllib.parse import quote, quote_plus

from pytest_irquality.retrieval.call import RetrieverError

SHORTEST = 4  # characters of a secret; fewer stand in too many words
END = 120  # characters of either end of what is quoted of an answer or a log


class Secrets:
    """Values, in the forms in which an answer or an error may repeat them."""

    def __init__(self, values: Iterable[str]) -> None:
        plain = [value for value in values if len(value) >= SHORTEST]
        in_json = [json.dumps(value)[1:-1] for value in plain]
        escaped = [value.replace("/", r"\/") for value in in_json]
        encoded = [quote(value, safe="") for value in plain]
        forms = {*plain, *in_json, *escaped, *encoded, *map(quote, plain), *map(quote_plus, plain)}
        either = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
        self.pattern = re.compile(either, re.IGNORECASE) if forms else None

    @classmethod
    def named_in(cls, headers: Iterable[str]) -> Secrets:
        """The values of the variables that headers name."""
        return cls(
            os.environ.get(name, "").strip() for line in headers for name in _variables(line)
        )

    def mask(self, text: str) -> str:
        """A text without them."""
        return self.pattern.sub("***", text) if self.pattern else text

    def masked(self, value: Any) -> Any:
        """A value that was read from JSON, without the secrets in it."""
        if self.pattern is None:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list):
            return [self.masked(one) for one in value]
        if isinstance(value, dict):
            return {self.mask(name): self.masked(one) for name, one in value.items()}
        return value

    def quoted(self, said: bytes) -> str:
        """The words of a service, both ends on one line, without secrets and the tags of a page."""
        text = self.mask(said.decode("utf-8", "replace"))
        if text.lstrip().startswith("<"):
            text = self.mask(html.unescape(re.sub("<[^<>]*>", " ", text)))
        text = " ".join(text.split())
        return text if len(text) <= 2 * END else f"{text[:END]} … {text[-END:]}"


def header(line: str) -> tuple[str, str]:
    """The name and the value of a line of ``ir_headers``. Raises ``RetrieverError``."""
    for variable in _variables(line):
        if not os.environ.get(variable, "").strip():
            raise RetrieverError(f"ir_headers: the environment has no {variable}")
    try:
        name, value = line.split(":", 1)
        return name.strip().title(), Template(value).substitute(os.environ).strip()
    except ValueError:
        raise RetrieverError("ir_headers: a line is 'Name: value', with $$ for a $") from None


def _variables(text: str) -> list[str]:
    """The names of the environment that a text holds as ``$NAME`` or ``${NAME}``."""
    found = (match["named"] or match["braced"] for match in Template.pattern.finditer(text))
    return [name for name in found if name]
