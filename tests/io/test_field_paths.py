"""Dotted paths read data of results and stop at code."""

from __future__ import annotations

import os
import types
from typing import Any

import pytest

from pytest_irquality.io.field_paths import get_field, is_data


class Hit:
    """A hit as engines return it."""

    score = 1.0

    def __init__(self) -> None:
        self.payload = {"_id": "d1", "made": self.as_row, "a.b": "dotted", "tags": ["x", "y"]}
        self.frames = (1 for _ in "x")
        self.module = os
        self.kind = Hit

    @property
    def broken(self) -> str:
        raise RuntimeError("no value")

    def as_row(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("payload._id", "d1"),
        ("payload.tags.1", "y"),
        ("score", 1.0),
        ("payload", {**Hit().payload}),
        ("payload.tags.9", None),
        ("payload.none", None),
        ("none", None),
        ("broken", None),
        ("", None),
        ("payload.tags.", None),
    ],
)
def test_keys_indexes_and_public_attributes_are_read(path: str, value: Any) -> None:
    hit = Hit()
    if path == "payload":
        value = hit.payload

    assert get_field(hit, path) == value


def test_a_key_with_dots_wins_over_nested_keys() -> None:
    hit = {"meta.source": "flat", "meta": {"source": "nested", "page": 3}}

    assert get_field(hit, "meta.source") == "flat"
    assert get_field(hit, "meta.page") == 3


@pytest.mark.parametrize("index", ["²", "①", "٠", "-1", "1.5", "0x0", "9" * 5000])
def test_only_ascii_digits_are_an_index(index: str) -> None:
    assert get_field({"tags": ["t1", "t2"]}, f"tags.{index}") is None
    assert get_field({"tags": ["t1", "t2"]}, "tags.1") == "t2"


@pytest.mark.parametrize(
    "path",
    [
        "as_row.__globals__.os.environ.PATH",
        "payload.made.__func__",
        "payload.made",
        "__class__.__name__",
        "module.name",
        "module.environ.PATH",
        "kind.score",
        "frames.gi_frame.f_code.co_name",
        "__dict__.payload._id",
        "as_row",
    ],
)
def test_a_path_stops_at_code_and_private_names(path: str) -> None:
    assert get_field(Hit(), path) is None


def test_code_is_not_data() -> None:
    assert not any(map(is_data, (os, Hit, len, Hit.as_row, [].append, types.FunctionType)))
    assert all(map(is_data, ("x", 1, [], {}, Hit(), None)))


def test_a_very_deep_path_has_no_value() -> None:
    value: dict[str, Any] = {"a": 1}
    for _ in range(50):
        value = {"a": value}

    assert get_field(value, ".".join("a" * 51)) is None
