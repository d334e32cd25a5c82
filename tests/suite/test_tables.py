"""Tables of keys: what one line of a table brings, and what a forgotten one does."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import pytest
import yaml

from docs.tools import reference, renew
from pytest_irquality import SuiteError
from pytest_irquality.suite import Suite, load_suite
from pytest_irquality.suite.key_tables import (
    Key,
    complete,
    key,
    keys_of,
    read_table,
    required,
    table,
)
from pytest_irquality.suite.keys import (
    QUERY_KEYS,
    SUITE_KEYS,
    SuiteSettings,
    WrittenQuery,
    WrittenSuite,
)
from pytest_irquality.suite.model import Query
from pytest_irquality.suite.values import COUNT, FROM_0, TEXT, TEXTS, choice
from pytest_irquality.suite.yaml import Document


@dataclass(frozen=True, kw_only=True)
class Retry:
    times: int = required(COUNT, "How often to ask again.")
    on: tuple[str, ...] = key(TEXTS, "After which failures.", ("timeout",), "`[timeout]`")
    pace: Literal["slow", "fast"] = key(choice("slow", "fast"), "How soon.", "slow", name="speed")


def read(text: str) -> Retry:
    document = Document.of_text("s.yaml", text)
    event = document.root()
    found = list(document.tried(lambda event: read_table(Retry, document, event, "'retry'"), event))
    document.finish()
    return found[0]


def test_a_line_of_a_table_is_read_into_its_field() -> None:
    assert read("{times: 3, on: [429, 5xx], speed: fast}") == Retry(
        times=3, on=("429", "5xx"), pace="fast"
    )
    assert read("times: 1") == Retry(times=1, on=("timeout",), pace="slow")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "1:1: 'retry' has no 'times'"),
        ("{time: 1}", "1:2: unknown key 'time' in 'retry'; did you mean 'times'?"),
        ("{times: 0}", "1:9: 'times' must be a whole number of at least 1, not '0'"),
        ("{times: 1, speed: quick}", "1:19: 'speed' must be slow or fast, not 'quick'"),
        ("{times: 1, pace: fast}", "1:12: unknown key 'pace' in 'retry'"),
    ],
)
def test_errors_come_from_the_table(text: str, said: str) -> None:
    with pytest.raises(SuiteError) as error:
        read(text)
    assert str(error.value) == f"s.yaml:{said}"


def test_so_does_its_schema() -> None:
    schema = table(Retry, "how often to ask again").schema
    assert schema["required"] == ["times"]
    assert schema["properties"]["speed"]["enum"] == ["slow", "fast"]
    assert (
        schema["properties"]["on"]["description"] == "After which failures. Default: `[timeout]`."
    )


def test_a_default_that_does_not_speak_for_itself_needs_words() -> None:
    with pytest.raises(TypeError, match="say in words"):
        key(TEXT, "A thing.", None)


def test_a_kind_without_an_entry_fails_at_import() -> None:
    kinds = ("a", "b")
    assert complete(kinds, {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    with pytest.raises(TypeError, match="no entry for b"):
        complete(kinds, {"a": 1})
    with pytest.raises(TypeError, match="an entry for c, which is none of a, b"):
        complete(kinds, {"a": 1, "b": 2, "c": 3})


# What a line of each table may hold, so that every key is read once: one that is not here fails below.
SOMETHING = {
    "suite": "Shop", "retriever": "engine", "top_k": 5, "depth": 50, "params": {"a": 1},
    "grades": {"good": 2}, "relevant_from": 0.5, "undefined": "zero", "id_field": "meta.id", "text_field": "meta.text",
    "retry": {"times": 2, "on": ["429", "timeout"]},
    "corpus": {"files": "chunks.jsonl", "missing": "fail"},
    "match": "text", "concurrency": 2, "timeout": "5s",
    "errors": {"max": 1}, "metrics": ["mrr@5"], "thresholds": {"mrr@5": 0.1},
    "tags": {"head": {"mrr@5": 0.2}}, "each_tag": {"mrr@5": 0.3}, "each_query": {"mrr@5": 0.4},
    "baseline": {"retriever": "other"}, "judgments": [], "repeat": 2,
    "robustness": {"mrr@5": 0.1}, "trend": {"mrr@5": {"max_drop": 0.03}},
    "rate": "600/min", "show": ["price"], "audit": {"dead": 1},
}  # fmt: skip
EACH_QUERY = {
    "query": "chair", "id": "q", "tags": "head", "why": "sells", "relevant": ["d"],
    "must_find": ["d"], "must_find_any": ["d"], "must_not_find": ["e"], "in_order": ["d", "f"],
    "thresholds": {"mrr@5": 0.5}, "weight": 2, "params": {"b": 2}, "known_issue": "S-1",
    "expect_no_results": False,
    "variants": ["a chair"],
}  # fmt: skip


def test_every_key_is_read(tmp_path: Path) -> None:
    assert set(SOMETHING) | {"queries"} == set(SUITE_KEYS), "give the new key a value in SOMETHING"
    assert set(EACH_QUERY) == set(QUERY_KEYS), "give the new key a value in EACH_QUERY"
    path = tmp_path / "s.ir.yaml"
    path.write_text(yaml.safe_dump({**SOMETHING, "queries": [EACH_QUERY]}), encoding="utf-8")
    suite = load_suite(path)
    for name, entry in keys_of(SuiteSettings).items():
        default = next(field.default for field in fields(Suite) if field.name == entry.field)
        assert getattr(suite, entry.field) != default, name
    assert set(suite.places) == {*SUITE_KEYS}


def test_what_a_hand_made_suite_leaves_out_is_the_default() -> None:
    by_hand = Suite("s", "s.yaml", (Query("q", "chair"),))
    written = WrittenSuite(queries=(WrittenQuery(query="chair"),))
    for entry in keys_of(SuiteSettings).values():
        assert getattr(by_hand, entry.field) == getattr(written, entry.field)
    assert by_hand.params is not Suite("t", "t.yaml", ()).params


@pytest.mark.parametrize("name", renew.DRAWN)
def test_drawn_files_are_current(name: str) -> None:
    assert (renew.ROOT / name).read_text("utf-8") == renew.DRAWN[name](), (
        "run python -m docs.tools.renew"
    )


def test_the_reference_has_every_key() -> None:
    page = reference.page()
    for keys, _ in reference.TABLES.values():
        for name, entry in keys.items():
            assert re.search(rf"^- `{name}`.*: {re.escape(entry.help)}", page, re.M), name
            assert entry.help.endswith("."), name


def test_a_table_of_bounds_may_be_written_out() -> None:
    entry = Key(FROM_0, "How many.", "0")
    assert entry.schema == {
        "type": "integer", "minimum": 0, "description": "How many. Default: 0.",
    }  # fmt: skip
