"""Every class that travels as JSON comes back as it was, and foreign data is told from ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from pytest_irquality.edges.codec import decode, encode, fits, members_of, restored
from pytest_irquality.pipeline.base.messages import BaseAnswers, Collected, FromBase
from pytest_irquality.storage.history import Entry
from pytest_irquality.storage.stored import Header
from pytest_irquality.verdict.facts import Fact, TiesMoved
from pytest_irquality.verdict.findings import RankedDocument
from pytest_irquality.verdict.pool import Pool
from pytest_irquality.verdict.result import Mean, QueryResult, ShownDocument, SuiteResult, Verdict

SENT = (
    SuiteResult,
    QueryResult,
    ShownDocument,
    Verdict,
    Mean,
    Pool,
    Entry,
    BaseAnswers,
    Collected,
    FromBase,
)

PLAIN: dict[Any, Any] = {str: "\N{SNOWMAN}\ud800", int: 7, float: 0.1, bool: True}


def filled(kind: Any, empty: bool = False) -> Any:
    """A value of a type in which nothing is left out, or all that may be."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if origin in (Union, UnionType):
        assert parts[1:] == (type(None),)
        return None if empty else filled(parts[0])
    if origin in (tuple, Sequence):
        if parts[-1] is Ellipsis or origin is Sequence:
            return () if empty else (filled(parts[0]), filled(parts[0], empty=True))
        return tuple(filled(part, empty) for part in parts)
    if origin in (dict, Mapping):
        return {} if empty else {"a name": filled(parts[1])}
    if origin is Literal:
        return parts[-1]
    if kind is Fact:
        return TiesMoved(1, 2, "q", (filled(RankedDocument),))
    hints = get_type_hints(kind)
    names = kind._fields if issubclass(kind, tuple) else [field.name for field in fields(kind)]
    return kind(**{name: filled(hints[name], empty) for name in names})


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("kind", [*SENT, *members_of(Fact)])
def test_what_is_sent_comes_back_as_it_was(kind: type, empty: bool) -> None:
    value = filled(kind, empty)
    text = encode(value)
    family = Fact if issubclass(kind, Fact) else kind
    assert fits(json.loads(text), family)
    assert decode(text, family) == value


ENTRY = json.loads(encode(Entry("s", "", "c", {"mrr": 0.5}, changes={"mrr": -0.1})))


def test_a_line_of_the_history_that_another_wrote_is_read() -> None:
    assert fits(ENTRY, Entry)
    assert restored(json.loads(json.dumps(ENTRY)), Entry).values == {"mrr": 0.5}


@pytest.mark.parametrize(
    "wrong",
    [
        [], None, "x", {"accepted": 0}, {"baseline": None}, {"commit": 1}, {"values": []}, {"values": {"mrr": [0.5]}},
        {"values": {"mrr": float("nan")}}, {"values": {"mrr": float("inf")}}, {"values": {"mrr": "ab"}},
        {"values": {"mrr": 10**400}}, {"changes": {"mrr": True}}, {"changes": {"mrr": None}}, {"unknown": 1},
    ],
)  # fmt: skip
def test_what_is_declared_otherwise_does_not_fit(wrong: Any) -> None:
    assert not fits({**ENTRY, **wrong} if isinstance(wrong, dict) else wrong, Entry)


@pytest.mark.parametrize(
    "wrong",
    [{"depth": 0}, {"depth": 10**7}, {"candidates": 0}, {"suite": "s" * 5000}, {"suite": 1}],
)
def test_a_type_may_be_narrowed_by_a_test(wrong: dict[str, Any]) -> None:
    header = {"suite": "s", "path": "p", "depth": 1, "shard": None}
    assert fits(header, Header)
    assert not fits({**header, **wrong}, Header)


def test_one_kind_of_a_family_is_not_another() -> None:
    assert all(is_dataclass(kind) for kind in members_of(Fact))
    assert fits({"kind": "interrupted", "queries": 3}, Fact)
    assert not fits({"kind": "interrupted", "text": "x"}, Fact)
    assert not fits({"kind": "no_such_kind"}, Fact)
