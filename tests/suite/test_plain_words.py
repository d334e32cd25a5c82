"""Mistakes that YAML's parser tells in its own words, told in a reader's, whichever parser reads."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_irquality.suite import SuiteError, load_suite

MISTAKES = {
    "tab": ("queries:\n\t- query: a\n", "2:1: not YAML: a tab; lines are indented with spaces"),
    "colon": (
        "queries:\n  - query: hose: reel\n",
        "2:16: not YAML: ': ' within a text; put the text in quotes",
    ),
    "sign": ("queries: @all\n", "1:10: not YAML: a text cannot begin with '@'; put it in quotes"),
    "quote": ('queries:\n  - query: "a\n', "not YAML: a quote that is never closed"),
    "list": ("queries: [{query: a}\n", "a list that begins with '[' and is not closed with ']'"),
    "mapping": ("queries: {a: 1\n", "a mapping that begins with '{' and is not closed with '}'"),
    "top": (
        "- query: a\n",
        "1:1: the suite must be a mapping, not a list; write 'queries:' above it",
    ),
    "single": (
        "queries:\n  - query: a\n    relevant: 1054\n",
        "3:15: 'relevant' must be a mapping, not a single value; write [1054]",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("parser", ["SafeLoader", "CSafeLoader"])
def test_a_mistake_is_told_in_plain_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: str, parser: str
) -> None:
    loader = getattr(yaml, parser, None)
    if loader is None:
        pytest.skip("this PyYAML has no libyaml")
    monkeypatch.setattr("pytest_irquality.suite.yaml.Loader", loader)
    text, said = MISTAKES[mistake]
    path = tmp_path / "shop.ir.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError) as raised:
        load_suite(path)
    assert said in str(raised.value)
