"""The history of builds: appending, reading, series."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.baselines.history import (
    HistoryEntry,
    append_history,
    compute_digest,
    read_history,
    select_series,
)
from pytest_irquality.baselines.sources import BaselineError
from tests.baselines.builders import make_run


def make_entry(commit: str = "c1", value: float = 0.5, **fields: Any) -> HistoryEntry:
    return HistoryEntry("shop.ir.yaml", "retriever", commit, values={"ndcg@10": value}, **fields)


def test_entries_are_appended_and_read(tmp_path: Path) -> None:
    path = tmp_path / "deep/history.jsonl"
    entries = [
        make_entry("c1", date="2026-11-27", changes={"ndcg@10": -0.1}, outcome="PASSED"),
        make_entry("c2"),
    ]
    assert read_history(path) == ()

    append_history(path, entries[:1])
    append_history(path, entries[1:])

    assert read_history(path) == tuple(entries)


def test_a_rerun_replaces_its_entry_and_another_night_does_not(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_history(path, [make_entry("c1", 0.5, baseline="a"), make_entry("c2", 0.6)])

    append_history(path, [make_entry("c1", 0.7, baseline="a"), make_entry("c1", 0.8, baseline="b")])
    append_history(path, [make_entry("", 0.9), make_entry("", 0.9)])

    values = [entry.values["ndcg@10"] for entry in read_history(path)]
    assert values == [0.7, 0.6, 0.8, 0.9, 0.9]


def test_a_series_has_the_values_of_one_suite_and_retriever() -> None:
    entries = [
        make_entry("c1", 0.5),
        HistoryEntry("other.ir.yaml", "retriever", "c1", values={"ndcg@10": 0.9}),
        HistoryEntry("shop.ir.yaml", "retriever", "c2", values={"mrr@10": 0.9}),
        make_entry("c3", 0.6),
    ]

    series = select_series(entries, "shop.ir.yaml", "retriever", "ndcg@10")

    assert [(entry.commit, value) for entry, value in series] == [("c1", 0.5), ("c3", 0.6)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "This is not JSON"),
        ("[]", "This is not a line of a history"),
        ('{"format": "pytest-irquality run"}', "This is not a line of a history"),
        ('{"format": "pytest-irquality history"}', "'suite_path' is missing"),
        ('{"format": "pytest-irquality history", "suite_path": 1}', "'suite_path' is not valid"),
        (
            '{"format": "pytest-irquality history", "suite_path": "s", "values": {"a": NaN}}',
            "'values' is not valid",
        ),
        (
            '{"format": "pytest-irquality history", "suite_path": "s", "changes": [1]}',
            "'changes' is not valid",
        ),
    ],
)
def test_another_file_is_refused_and_left_alone(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "history.jsonl"
    append_history(path, [make_entry()])
    content = path.read_text() + line + "\n"
    path.write_text(content)

    with pytest.raises(BaselineError) as caught:
        append_history(path, [make_entry("c2")])

    assert str(caught.value).startswith(f"{path}:2: {message}")
    assert path.read_text() == content


def test_keys_of_later_versions_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    data = {"format": "pytest-irquality history", "suite_path": "s", "new": 1}
    path.write_text(json.dumps(data) + "\n")

    assert read_history(path) == (HistoryEntry("s"),)


def test_a_digest_changes_with_the_rankings_only() -> None:
    run = make_run({"a": [("d1", 1.0)], "b": ["d2"]})

    assert compute_digest(run) == compute_digest(make_run({"b": ["d2"], "a": [("d1", 2.0)]}))
    assert compute_digest(run) != compute_digest(make_run({"a": ["d1"], "b": ["d3"]}))
