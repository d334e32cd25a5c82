"""``pytest --help``: every option in one full sentence, with its default, among its like."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_irquality.plugin import hooks
from tools.options import Noted


def declared() -> Noted:
    noted = Noted()
    hooks.pytest_addoption(noted)  # type: ignore[arg-type]
    return noted


@pytest.mark.parametrize(
    ("name", "about"),
    [(names[0], about) for some in declared().groups.values() for names, about in some],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_option_is_one_sentence_with_its_default(name: str, about: dict[str, Any]) -> None:
    sentence = about["help"]
    assert re.fullmatch(r"[A-Z].*[^.]\.", sentence), sentence
    assert "\n" not in sentence
    if about.get("action") != "store_true":
        assert "(default: " in sentence


def test_options_stand_among_their_like(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--help")
    groups = list(declared().groups)
    assert len(groups) > 3
    seen = [line.rstrip(":") for line in result.outlines if line.rstrip(":") in groups]
    assert seen == groups
